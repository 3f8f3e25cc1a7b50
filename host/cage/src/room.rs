//! What files and folders take on the disk, however deep they are nested.
//!
//! The kernel takes no path of 4096 bytes or more, and an agent can nest folders further than that. So what lies deep is named from
//! a folder on the way that is held open. What cannot be measured is said, and never taken for nothing.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

/// What the smallest file takes: a folder full of empty files fills a disk too.
pub(crate) const LEAST_BYTES: u64 = 4096;

/// The kernel's unit of `st_blocks`.
pub(crate) const BLOCK: u64 = 512;

/// How long a name from an open folder gets before the next folder is held open: with another name behind it, it is still a path.
const MOST_NAME_BYTES: usize = 3_500;

/// Folders are nested so deep that not all of those on the way can be held open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooDeep;

/// Something that is still to be measured, by its name from a folder that is open, or from where this process is.
struct Waiting {
    from: Option<Rc<OwnedFd>>,
    name: Vec<u8>,
}

/// The room that folders take with all below them. A file with several names is counted once.
pub(crate) fn room(folders: &[PathBuf]) -> Result<u64, TooDeep> {
    let whole = |path: &PathBuf| Waiting { from: None, name: path.as_os_str().as_encoded_bytes().to_vec() };
    let mut waiting: Vec<Waiting> = folders.iter().map(whole).collect();
    let mut seen = BTreeSet::new();
    let mut sum: u64 = 0;
    while let Some(next) = waiting.pop() {
        // What is gone by now takes nothing.
        let Some(stat) = next.stat() else { continue };
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let is_other_name = stat.st_nlink > 1 && !is_folder && !seen.insert((stat.st_dev, stat.st_ino));
        if !is_other_name {
            let bytes = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK);
            sum = sum.saturating_add(bytes.max(LEAST_BYTES));
        }
        if is_folder {
            next.enter(&mut waiting)?;
        }
    }
    Ok(sum)
}

impl Waiting {
    fn path(&self) -> CString {
        // Names that the kernel gave have no zero byte.
        CString::new(self.name.as_slice()).unwrap_or_default()
    }

    fn stat(&self) -> Option<Stat> {
        let path = self.path();
        match &self.from {
            Some(folder) => statat(folder, path, AtFlags::SYMLINK_NOFOLLOW).ok(),
            None => statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok(),
        }
    }

    /// Adds what lies in this folder.
    fn enter(self, waiting: &mut Vec<Self>) -> Result<(), TooDeep> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.path();
        let opened = match &self.from {
            Some(folder) => openat(folder, path, flags, Mode::empty()),
            None => openat(CWD, path, flags, Mode::empty()),
        };
        let folder = match opened {
            Ok(folder) => folder,
            Err(Errno::MFILE | Errno::NFILE) => return Err(TooDeep),
            Err(_) => return Ok(()),
        };
        let entries = match Dir::read_from(&folder) {
            Ok(entries) => entries,
            Err(Errno::MFILE | Errno::NFILE) => return Err(TooDeep),
            Err(_) => return Ok(()),
        };
        let (from, above) = if self.name.len() > MOST_NAME_BYTES {
            (Some(Rc::new(folder)), Vec::new())
        } else {
            (self.from, [self.name, b"/".to_vec()].concat())
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                waiting.push(Self { from: from.clone(), name: [above.as_slice(), name].concat() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the test makes files as an agent would")]

    use std::fs;

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_file_with_two_names_takes_room_once_and_an_empty_one_takes_some() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = [folder.path().to_owned()];
        let empty = room(&own).expect("it is measured");
        fs::write(folder.path().join("a"), vec![1; 1 << 20]).expect("a file");
        let with_a = room(&own).expect("it is measured");
        assert!(with_a >= empty + (1 << 20), "{empty} {with_a}");
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).expect("another name");
        assert_eq!(room(&own), Ok(with_a));
        fs::write(folder.path().join("c"), "").expect("an empty file");
        assert_eq!(room(&own), Ok(with_a + LEAST_BYTES));
    }

    #[test]
    fn what_lies_deeper_than_a_path_can_say_takes_room_too() {
        const DEPTH: u64 = 200;
        let scratch = tempfile::tempdir().expect("a folder");
        let name = CString::new(vec![b'd'; 200]).expect("a name");
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = openat(CWD, scratch.path(), flags, Mode::empty()).expect("a folder");
        let mut folder = top.try_clone().expect("the same folder");
        for _ in 0..DEPTH {
            mkdirat(&folder, &name, Mode::RWXU).expect("a folder in it");
            folder = openat(&folder, &name, flags, Mode::empty()).expect("that folder");
        }
        assert!(room(&[scratch.path().to_owned()]).expect("it is measured") > DEPTH * LEAST_BYTES);
        // Whoever made them removes them: no path is long enough.
        std::process::Command::new("rm").arg("-r").arg(scratch.keep()).status().expect("they are removed");
    }
}
