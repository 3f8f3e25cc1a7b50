//! The cache of compiled code. Its entries are machine code that nothing authenticates, so its directory must be nobody
//! else's: made by us with mode 0700, owned by us, and no link.

#![expect(clippy::disallowed_methods, reason = "wasmtime's cache takes a path, which is checked and not held")]

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use wasmtime::{Cache, CacheConfig};

/// Why a directory cannot hold compiled code.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error("the compile cache needs an absolute path, and `{}` is none", path.display())]
    NotAbsolute { path: PathBuf },
    #[error("failed to prepare the compile cache at `{}`", path.display())]
    Prepare { path: PathBuf, source: io::Error },
    #[error("the compile cache at `{}` is not a directory of its own: remove what is there", path.display())]
    NotADirectory { path: PathBuf },
    #[error(
        "the compile cache at `{}` belongs to user {owner}, not to {user}: code in it could be anybody's; remove it or use \
         another directory",
        path.display()
    )]
    NotOurs { path: PathBuf, owner: u32, user: u32 },
    #[error(
        "the compile cache at `{}` has mode {mode:o}, so that others can reach the code in it: run `chmod 700` on it, or \
         remove it if others had write access",
        path.display()
    )]
    NotPrivate { path: PathBuf, mode: u32 },
    #[error("wasmtime refused the compile cache at `{}`", path.display())]
    Refused { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
}

/// Opens the cache at `path`, which is created if it is missing.
pub(super) fn open(path: &Path) -> Result<Cache, CacheError> {
    let owned = || path.to_owned();
    if !path.is_absolute() {
        return Err(CacheError::NotAbsolute { path: owned() });
    }
    create(path).map_err(|source| CacheError::Prepare { path: owned(), source })?;
    check(path)?;
    let mut config = CacheConfig::new();
    config.with_directory(path);
    Cache::new(config).map_err(|source| CacheError::Refused { path: owned(), source: source.into() })
}

fn create(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn check(path: &Path) -> Result<(), CacheError> {
    let owned = || path.to_owned();
    let metadata = fs::symlink_metadata(path).map_err(|source| CacheError::Prepare { path: owned(), source })?;
    if !metadata.is_dir() {
        return Err(CacheError::NotADirectory { path: owned() });
    }
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(CacheError::NotOurs { path: owned(), owner, user });
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(CacheError::NotPrivate { path: owned(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_missing_directory_is_made_private() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let path = parent.path().join("a/cache");
        create(&path).expect("nothing is in the way");
        check(&path).expect("it is ours alone");
        assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o777, 0o700);
    }

    #[test]
    fn a_directory_that_others_can_reach_is_refused() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let path = parent.path().join("cache");
        create(&path).expect("nothing is in the way");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        assert!(matches!(check(&path), Err(CacheError::NotPrivate { mode: 0o755, .. })));
    }

    #[test]
    fn a_link_and_a_relative_path_are_refused() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let path = parent.path().join("link");
        symlink(parent.path(), &path).expect("a link");
        assert!(matches!(open(&path), Err(CacheError::NotADirectory { .. })));
        assert!(matches!(open(Path::new("cache")), Err(CacheError::NotAbsolute { .. })));
    }
}
