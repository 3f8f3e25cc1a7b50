//! Opening what has a name in a directory, and nothing that this name leads to.
//!
//! `openat2` has the kernel promise it: nothing outside of the directory is reached, and no link is followed, be it one of `/proc`'s. A
//! kernel or a filter of system calls that refuses `openat2` costs no promise, because the caller hands over one plain name: there is
//! nothing on the way to it, and what lies under it is not followed either.
//!
//! Nothing here waits: a FIFO is opened as if its other end were there, and a terminal does not become this process's own.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};

const CAREFULLY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Whether this process has learned that it may not call `openat2`.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Opens what lies under a plain name: one without a slash, and neither `.` nor `..`.
pub(super) fn open(dir: BorrowedFd<'_>, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if REFUSED.load(Ordering::Relaxed) {
        return by_name(dir, name, flags);
    }
    match by_resolution(dir, name, flags) {
        // An old kernel, or a filter. `EPERM` may also be about the file, and then it is said again.
        Err(errno @ (Errno::NOSYS | Errno::PERM)) => {
            let opened = by_name(dir, name, flags);
            REFUSED.fetch_or(errno == Errno::NOSYS || opened.is_ok(), Ordering::Relaxed);
            opened
        }
        result => result,
    }
}

/// As the kernel resolves it.
fn by_resolution(dir: BorrowedFd<'_>, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| fs::openat2(dir, name, flags | CAREFULLY, Mode::empty(), BENEATH))
}

/// As every kernel can.
fn by_name(dir: BorrowedFd<'_>, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| fs::openat(dir, name, flags | CAREFULLY, Mode::empty()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::{AsFd as _, AsRawFd as _};
    use std::os::unix::fs::symlink;

    use super::*;

    type Open = fn(BorrowedFd<'_>, &Path, OFlags) -> Result<OwnedFd, Errno>;

    /// Where `openat2` is refused the same is opened, and the same refused for the same reason.
    #[test]
    fn a_kernel_without_the_call_keeps_every_promise() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        fs::write(temp.path().join("file"), "x").expect("a file");
        fs::create_dir(temp.path().join("dir")).expect("a folder");
        symlink("file", temp.path().join("link")).expect("a link");
        symlink("dir", temp.path().join("link-to-dir")).expect("a link");
        symlink("absent", temp.path().join("dangling")).expect("a link");
        rustix::fs::mknodat(rustix::fs::CWD, temp.path().join("fifo"), rustix::fs::FileType::Fifo, Mode::RUSR, 0)
            .expect("a FIFO");
        let (here, process) = (File::open(temp.path()).expect("it opens"), File::open("/proc/self").expect("it opens"));
        let found = |open: Open, dir: &File, name: &str, flags| match open(dir.as_fd(), Path::new(name), flags) {
            Ok(fd) => Ok(fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("the kernel names it")),
            // Both mean that something else lies there, which a look at it tells.
            Err(Errno::LOOP) => Err(Errno::NOTDIR),
            Err(errno) => Err(errno),
        };
        let directory = OFlags::RDONLY | OFlags::DIRECTORY;
        let here_all = ["file", "fifo", "dir", "link", "link-to-dir", "dangling", "absent"].map(|name| (&here, name));
        let mut refused = Vec::new();
        for (dir, name) in here_all.into_iter().chain([(&process, "exe"), (&process, "cwd"), (&process, "status")]) {
            for flags in [OFlags::RDONLY, directory, OFlags::RDWR] {
                let resolved = found(by_resolution, dir, name, flags);
                assert_eq!(resolved, found(by_name, dir, name, flags), "{name} {flags:?}");
                refused.extend(resolved.is_err().then_some((name, flags)));
            }
        }
        for name in ["link", "link-to-dir", "dangling", "absent", "exe", "cwd"] {
            assert_eq!(refused.iter().filter(|(refused, _)| *refused == name).count(), 3, "{name}");
        }
        assert!(!refused.contains(&("file", OFlags::RDONLY)) && !refused.contains(&("dir", directory)));
    }
}
