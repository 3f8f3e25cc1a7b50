//! The store's lock: one writer at a time, for as long as a commit takes.
//!
//! What is locked is the store's directory itself. There is no lock file that could be deleted or replaced while it is held,
//! and a store on a read-only filesystem can be locked too. The kernel lets go of the lock when its holder dies.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::fs::{self, AtFlags, CWD, FlockOperation, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::dir::{Dir, FileError};
use eval_model::advice::Advice;

/// How long to wait between two attempts. A commit takes a few milliseconds.
const PAUSE: Duration = Duration::from_millis(10);

/// Why a store could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("the store `{}` has been locked by {holder} for {} s; wait for it to end, or end it", path.display(), waited.as_secs())]
    Timeout { path: PathBuf, holder: Holder, waited: Duration },
    #[error("the store `{}` was moved or replaced while it was in use; nothing was written", path.display())]
    Replaced { path: PathBuf },
    #[error(transparent)]
    Io(#[from] FileError),
}

impl Advice for LockError {}

/// Who holds a lock, as far as the kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pid: Option<u32>,
    /// It does not end by itself.
    is_stopped: bool,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pid {
            Some(pid) if self.is_stopped => {
                write!(f, "process {pid}, which is stopped (`kill -CONT {pid}` lets it go on),")
            }
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

/// The lock, held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    /// A description of its own, because a lock belongs to the description and not to the process.
    _held: OwnedFd,
}

/// Who else may hold the lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// Other readers.
    Readers,
    Nobody,
}

/// Locks a directory, waiting for at most `patience`.
pub(super) fn lock(dir: &Dir, share: Share, patience: Duration) -> Result<Lock, LockError> {
    let error = |errno: Errno| FileError { action: "lock", path: dir.path().to_owned(), source: errno.into() };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = retry_on_intr(|| fs::openat(dir.fd(), ".", flags, Mode::empty())).map_err(error)?;
    let operation = match share {
        Share::Readers => FlockOperation::NonBlockingLockShared,
        Share::Nobody => FlockOperation::NonBlockingLockExclusive,
    };
    let mut waited = Duration::ZERO;
    loop {
        match retry_on_intr(|| fs::flock(&fd, operation)) {
            Ok(()) => return Ok(Lock { _held: fd }),
            Err(Errno::WOULDBLOCK) if waited < patience => {
                thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(LockError::Timeout { path: dir.path().to_owned(), holder: holder(dir), waited });
            }
            Err(errno) => return Err(error(errno).into()),
        }
    }
}

/// Locks a directory against everybody else.
pub fn lock_alone(dir: &Dir, patience: Duration) -> Result<Lock, LockError> {
    lock(dir, Share::Nobody, patience)
}

/// Fails if the directory's path does not lead to it any more: then another process may be writing what is taken for it.
pub(super) fn check_in_place(dir: &Dir) -> Result<(), LockError> {
    let here = dir.stat()?;
    let there = retry_on_intr(|| fs::statat(CWD, dir.path(), AtFlags::SYMLINK_NOFOLLOW));
    match there {
        Ok(there) if same_file(&here, &there) => Ok(()),
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Err(LockError::Replaced { path: dir.path().to_owned() }),
        Err(errno) => {
            let source = errno.into();
            Err(FileError { action: "examine", path: dir.path().to_owned(), source }.into())
        }
    }
}

fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Looks the holder up in the kernel's list. This is a hint for people: where the list cannot be read, nobody is named.
fn holder(dir: &Dir) -> Holder {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = dir.stat().ok().and_then(|stat| holder_in(&locks, &stat));
    Holder { pid, is_stopped: pid.is_some_and(is_stopped) }
}

/// What the kernel says of the process behind its name, which may have any characters but is in parentheses.
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
}

fn holder_in(locks: &str, stat: &Stat) -> Option<u32> {
    let (major, minor) = (fs::major(stat.st_dev), fs::minor(stat.st_dev));
    let file = format!("{major:02x}:{minor:02x}:{}", stat.st_ino);
    let line =
        locks.lines().find(|line| line.contains(" FLOCK ") && line.split_whitespace().any(|word| word == file))?;
    line.split_whitespace().nth(4)?.parse().ok().filter(|pid| *pid != 0)
}

#[cfg(test)]
mod tests {
    use super::super::dir::Missing;
    use super::*;

    #[test]
    fn a_held_lock_is_waited_for_and_then_its_holder_named() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_path(temp.path(), Missing::Fail).expect("it opens");
        let held = lock(&dir, Share::Nobody, Duration::ZERO).expect("free");
        let error = lock(&dir, Share::Readers, PAUSE).expect_err("held").to_string();
        let expected = format!("has been locked by process {} for 0 s", std::process::id());
        assert!(error.contains(&expected), "{error}");
        drop(held);
        lock(&dir, Share::Nobody, Duration::ZERO).expect("free again");
    }

    #[test]
    fn readers_share_the_lock() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_path(temp.path(), Missing::Fail).expect("it opens");
        let _one = lock(&dir, Share::Readers, Duration::ZERO).expect("free");
        let _other = lock(&dir, Share::Readers, Duration::ZERO).expect("shared");
        assert!(matches!(lock(&dir, Share::Nobody, Duration::ZERO), Err(LockError::Timeout { .. })));
    }

    #[test]
    fn a_directory_that_was_moved_away_is_noticed() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_path(&temp.path().join("store"), Missing::Create).expect("it is made");
        check_in_place(&dir).expect("in place");
        std::fs::rename(temp.path().join("store"), temp.path().join("elsewhere")).expect("moved");
        assert!(matches!(check_in_place(&dir), Err(LockError::Replaced { .. })));
        std::fs::create_dir(temp.path().join("store")).expect("another one");
        assert!(matches!(check_in_place(&dir), Err(LockError::Replaced { .. })));
    }
}
