//! Takes away a folder with all that an agent left in it, however deep it is nested and whatever rights it has taken from its folders.
//!
//! Nothing here recurses, follows a link, or holds more than a few folders open: what lies deeper than that is moved up first.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat};

/// How many folders are held open at once.
const MOST_DEPTH: usize = 64;

/// A folder that is being emptied.
struct Level {
    folder: OwnedFd,
    /// Its name in the level above.
    name: CString,
    /// The folders in it that are still there.
    folders: Vec<CString>,
}

/// Removes a folder with all below it.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    let name = CString::new(folder.as_os_str().as_encoded_bytes())?;
    let mut levels = vec![Level::enter(CWD, name)?];
    let mut moved: u64 = 0;
    loop {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { break };
        match level.folders.pop() {
            Some(inner) if depth == MOST_DEPTH => {
                moved += 1;
                move_up(&mut levels, &inner, moved)?;
            }
            Some(inner) => {
                let entered = Level::enter(&level.folder, inner)?;
                levels.push(entered);
            }
            None => {
                let Some(Level { name, .. }) = levels.pop() else { break };
                match levels.last() {
                    Some(above) => unlinkat(&above.folder, &name, AtFlags::REMOVEDIR)?,
                    None => unlinkat(CWD, &name, AtFlags::REMOVEDIR)?,
                }
            }
        }
    }
    Ok(())
}

/// Moves a folder of the deepest level to the first one, under a name that nobody has there.
fn move_up(levels: &mut [Level], inner: &CStr, number: u64) -> io::Result<()> {
    let ([first, ..], Some(deepest)) = (&*levels, levels.last()) else { return Ok(()) };
    let name = CString::new(format!("eval-host moved {number} up"))?;
    if statat(&first.folder, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // A folder without rights cannot be moved: its entry for the one above is in it.
    own(&deepest.folder, inner)?;
    renameat(&deepest.folder, inner, &first.folder, &name)?;
    levels[0].folders.push(name);
    Ok(())
}

impl Level {
    /// Opens a folder and removes all from it that is no folder.
    fn enter(above: impl std::os::fd::AsFd, name: CString) -> io::Result<Self> {
        own(&above, &name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(&above, &name, flags, Mode::empty())?;
        let mut folders = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                _ if is_folder(&folder, &entry)? => folders.push(entry.file_name().to_owned()),
                _ => unlinkat(&folder, entry.file_name(), AtFlags::empty())?,
            }
        }
        Ok(Self { folder, name, folders })
    }
}

/// Gives the owner all rights to a folder. A link in its place is refused when it is opened.
fn own(above: impl std::os::fd::AsFd, name: &CStr) -> io::Result<()> {
    let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        && !Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU)
    {
        chmodat(&above, name, Mode::RWXU, AtFlags::empty())?;
    }
    Ok(())
}

fn is_folder(folder: &OwnedFd, entry: &rustix::fs::DirEntry) -> io::Result<bool> {
    match entry.file_type() {
        FileType::Unknown => {
            let stat = statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        }
        kind => Ok(kind == FileType::Directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::mkdirat;

    #[test]
    fn folders_are_removed_however_deep_they_are_nested() {
        let scratch = tempfile::tempdir().expect("a folder");
        let top = scratch.path().join("top");
        std::fs::create_dir(&top).expect("a folder");
        let open = |above: &OwnedFd| openat(above, c"d", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let mut folder = openat(CWD, &top, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).expect("a folder");
        for _ in 0..3_000 {
            mkdirat(&folder, c"d", Mode::RWXU).expect("a folder in it");
            openat(&folder, c"f", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).expect("a file in it");
            folder = open(&folder).expect("a folder");
        }
        remove(&top).expect("removed");
        assert!(!top.exists());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let scratch = tempfile::tempdir().expect("a folder");
        let (top, outside) = (scratch.path().join("top"), scratch.path().join("outside"));
        std::fs::create_dir(&top).and_then(|()| std::fs::create_dir(&outside)).expect("two folders");
        std::fs::write(outside.join("kept"), "").expect("a file");
        std::os::unix::fs::symlink(&outside, top.join("link")).expect("a link");
        remove(&top).expect("removed");
        assert!(outside.join("kept").exists() && !top.exists());
        std::os::unix::fs::symlink(&outside, &top).expect("a link");
        assert!(remove(&top).is_err());
        assert!(outside.join("kept").exists());
    }
}
