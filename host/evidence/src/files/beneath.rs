//! Opening what has a name in a directory, and nothing that this name leads to.
//!
//! `openat2` has the kernel promise it: nothing outside of the directory is reached, and no link is followed, be it one of `/proc`'s. A
//! kernel or a filter of system calls that refuses `openat2` costs no promise, because the caller hands over one plain name: there is
//! nothing on the way to it, and what lies under it is not followed either.
//!
//! Nothing here waits: a FIFO is opened as if its other end were there, and a terminal does not become this process's own.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};

const CAREFULLY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Whether this process has learned that it may not call `openat2`.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Opens what lies under a plain name: one without a slash, and neither `.` nor `..`.
pub(super) fn open(dir: impl AsFd, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if REFUSED.load(Ordering::Relaxed) {
        return by_name(dir, name, flags);
    }
    match by_resolution(&dir, name, flags) {
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
fn by_resolution(dir: impl AsFd, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| fs::openat2(&dir, name, flags | CAREFULLY, Mode::empty(), BENEATH))
}

/// As every kernel can.
fn by_name(dir: impl AsFd, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| fs::openat(&dir, name, flags | CAREFULLY, Mode::empty()))
}
