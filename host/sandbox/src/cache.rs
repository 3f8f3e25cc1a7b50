//! The cache of compiled code. Its entries are machine code that nothing authenticates, so its directory must be nobody
//! else's: made by us with mode 0700, owned by us, and no link.
//!
//! Wasmtime's own cache reads the entries and knows which of them fit. They are not written where they are read: whatever compiles
//! a component writes into a [folder of its own](CodeCache::folder_for_one), and [`CodeCache::keep`] takes the one entry from there
//! under the name of that component. A component that got the better of the compiler has no way to the code of another.

#![expect(clippy::disallowed_methods, reason = "wasmtime's cache takes a path, which is checked and not held")]

use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use wasmtime::{Cache, CacheConfig, Engine};

/// Where wasmtime's cache keeps its entries, in a folder for each of its versions.
const ENTRIES: &str = "modules";

/// What the folders are called in which components are compiled, and how old one is that a killed host left.
const COMPILING: &str = "compiling-";
const ABANDONED_SECONDS: i64 = 24 * 60 * 60;

/// With more than this in the cache, what was not used for longest goes.
const MOST_BYTES: u64 = 512 << 20;

/// Where compiled code is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompileCache {
    /// In this folder, for the next process too.
    Kept(PathBuf),
    /// In a new folder below this one, which goes with the sandbox: nothing that was compiled before is believed.
    Temporary { below: PathBuf },
}

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

/// A folder with compiled code, and wasmtime's way to read it.
pub(super) struct CodeCache {
    pub(super) cache: Cache,
    folder: PathBuf,
    _temporary: Option<Temporary>,
}

/// A folder that goes when this does.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Wasmtime's thread may just be noting that an entry was used, and so put a file where all were removed.
        while fs::remove_dir_all(&self.0).is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty) {}
    }
}

impl CodeCache {
    pub(super) fn open(place: &CompileCache) -> Result<Self, CacheError> {
        match place {
            CompileCache::Kept(path) => Ok(Self { cache: open(path)?, folder: path.clone(), _temporary: None }),
            CompileCache::Temporary { below } => {
                let prepare = |source| CacheError::Prepare { path: below.clone(), source };
                let folder = private_folder("eval-host-compiled-", below).map_err(prepare)?.keep();
                let temporary = Temporary(folder.clone());
                Ok(Self { cache: open(&folder)?, folder, _temporary: Some(temporary) })
            }
        }
    }

    /// A new folder for whatever compiles one component.
    pub(super) fn folder_for_one(&self) -> io::Result<TempDir> {
        private_folder(COMPILING, &self.folder)
    }

    /// Takes the one entry that was written to `from` as the code of `component`. `false`: there is none.
    ///
    /// An entry's name is a hash of the component and of the engine, and an engine that has no compiler has another hash than the
    /// one that compiled for it.
    pub(super) fn keep(&self, from: &Path, engine: &Engine, component: &[u8]) -> io::Result<bool> {
        let Some(entry) = only_entry(&from.join(ENTRIES))? else { return Ok(false) };
        let version = entry.parent().and_then(Path::file_name).unwrap_or(OsStr::new(""));
        let folder = self.folder.join(ENTRIES);
        make_private(&folder)?;
        let folder = folder.join(version);
        make_private(&folder)?;
        fs::rename(entry, folder.join(entry_name(engine, component)))?;
        self.make_room(from);
        Ok(true)
    }

    /// Removes what was not used for longest until what is left is not too much, and what killed hosts left. It is for room on
    /// the disk alone, so whatever goes wrong is left for the next time. What was just made is what time it is.
    fn make_room(&self, just_made: &Path) {
        let _ = fs::symlink_metadata(just_made).and_then(|now| remove_abandoned(&self.folder, now.mtime()));
        let mut entries = entries(&self.folder.join(ENTRIES)).unwrap_or_default();
        entries.sort_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in &entries {
            if bytes <= MOST_BYTES {
                break;
            }
            bytes -= entry.bytes;
            let _ = fs::remove_file(&entry.path);
            let _ = fs::remove_file(entry.path.with_extension(USED));
        }
    }
}

/// A new folder that is ours alone, and is ours whatever the umask.
fn private_folder(prefix: &str, below: &Path) -> io::Result<TempDir> {
    let private = fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix(prefix).permissions(private.clone()).tempdir_in(below)?;
    fs::set_permissions(folder.path(), private)?;
    Ok(folder)
}

/// The name that wasmtime's cache looks for: the same hash of the same things.
fn entry_name(engine: &Engine, component: &[u8]) -> String {
    struct Sha256Hasher(Sha256);
    impl Hasher for Sha256Hasher {
        fn finish(&self) -> u64 {
            unreachable!("the whole hash is asked for")
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut hasher = Sha256Hasher(Sha256::new());
    // No package of debugging information, and no unsafe intrinsics.
    (engine.precompile_compatibility_hash(), component, None::<&[u8]>, None::<&str>).hash(&mut hasher);
    URL_SAFE_NO_PAD.encode(hasher.0.finalize())
}

/// Compiled code in a cache.
struct Entry {
    path: PathBuf,
    bytes: u64,
    /// In seconds and nanoseconds.
    used: (i64, i64),
}

/// The extension of the file beside an entry that says how often it was used, and when last.
const USED: &str = "stats";

/// The entries in the folders of all versions.
fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for version in fs::read_dir(folder)? {
        for entry in fs::read_dir(version?.path())? {
            let (entry, path) = entry.and_then(|entry| Ok((entry.metadata()?, entry.path())))?;
            if path.extension().is_none() && entry.is_file() {
                let noted = fs::symlink_metadata(path.with_extension(USED)).ok();
                let used = noted.as_ref().unwrap_or(&entry);
                found.push(Entry { bytes: entry.len(), path, used: (used.mtime(), used.mtime_nsec()) });
            }
        }
    }
    Ok(found)
}

/// The entry in a folder in which one component was compiled.
fn only_entry(folder: &Path) -> io::Result<Option<PathBuf>> {
    match entries(folder) {
        Ok(entries) => Ok(entries.into_iter().next().map(|entry| entry.path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove_abandoned(folder: &Path, now: i64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let age = now.saturating_sub(entry.metadata()?.mtime());
        if entry.file_name().as_encoded_bytes().starts_with(COMPILING.as_bytes()) && age > ABANDONED_SECONDS {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Opens the cache at `path`, which is created if it is missing.
fn open(path: &Path) -> Result<Cache, CacheError> {
    let owned = || path.to_owned();
    if !path.is_absolute() {
        return Err(CacheError::NotAbsolute { path: owned() });
    }
    create(path).map_err(|source| CacheError::Prepare { path: owned(), source })?;
    check(path)?;
    wasmtime_cache(path)
}

/// Wasmtime's cache in a folder that is ours.
pub(super) fn wasmtime_cache(path: &Path) -> Result<Cache, CacheError> {
    let mut config = CacheConfig::new();
    config.with_directory(path);
    Cache::new(config).map_err(|source| CacheError::Refused { path: path.to_owned(), source: source.into() })
}

fn create(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    make_private(path)
}

/// Makes a folder that is ours alone, whatever the umask, unless there is something already.
fn make_private(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
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
    use std::os::unix::fs::symlink;

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

    #[test]
    fn what_was_not_used_for_longest_goes_and_so_does_what_a_killed_host_left() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let code = CodeCache::open(&CompileCache::Kept(parent.path().join("cache"))).expect("a cache");
        let entries = code.folder.join("modules/version");
        fs::create_dir_all(&entries).expect("a folder");
        let entry = |name: &str, used: &str| {
            let file = fs::File::create(entries.join(name)).expect("a file");
            file.set_len(MOST_BYTES / 3).expect("a sparse file");
            fs::write(entries.join(name).with_extension(USED), "").expect("a file");
            touch(&entries.join(name).with_extension(USED), used);
        };
        for (name, used) in [("oldest", "2020"), ("newest", "2026"), ("old", "2021"), ("new", "2025")] {
            entry(name, used);
        }
        let (abandoned, busy) =
            (code.folder_for_one().expect("one").keep(), code.folder_for_one().expect("one").keep());
        touch(&abandoned, "2020");
        let just_made = code.folder_for_one().expect("one");
        code.make_room(just_made.path());
        assert!(!abandoned.exists() && busy.exists());
        let mut left: Vec<_> =
            fs::read_dir(&entries).expect("it").map(|entry| entry.expect("it").file_name()).collect();
        left.sort();
        assert_eq!(left, ["new", "new.stats", "newest", "newest.stats", "old", "old.stats"]);
    }

    fn touch(path: &Path, year: &str) {
        let touched = std::process::Command::new("touch").args(["-d", &format!("{year}-01-01")]).arg(path).status();
        assert!(touched.expect("touch starts").success());
    }
}
