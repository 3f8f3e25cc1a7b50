//! A lock on a directory: one writer at a time, for as long as a commit takes.
//!
//! What is locked is the directory itself. There is no lock file that could be deleted or replaced while it is held, and a
//! directory on a read-only filesystem can be locked too. The kernel lets go of the lock when its holder dies.

#![expect(clippy::disallowed_methods, reason = "the kernel tells of locks in files of its own")]

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::fs::{self, AtFlags, CWD, FlockOperation, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::dir::Dir;
use super::error::FileError;

/// How long to wait between two attempts. A commit takes a few milliseconds.
const PAUSE: Duration = Duration::from_millis(10);

/// Why a directory could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{}` has been locked by {holder} for {} s; wait for it to end, or end it", path.display(), waited.as_secs())]
    Timeout { path: PathBuf, holder: Holder, waited: Duration },
    #[error("`{}` was moved or replaced while it was in use; nothing was written", path.display())]
    Replaced { path: PathBuf },
    #[error(transparent)]
    File(#[from] FileError),
}

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
pub enum Share {
    /// Other readers.
    Readers,
    Nobody,
}

impl Dir {
    /// Locks this directory, waiting for at most `patience`.
    pub fn lock(&self, share: Share, patience: Duration) -> Result<Lock, LockError> {
        let failed = |errno: Errno| FileError::io("locked", self.path(), errno);
        let fd = self.reopen().map_err(failed)?;
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
                    return Err(LockError::Timeout { path: self.path().to_owned(), holder: holder(self), waited });
                }
                Err(errno) => return Err(failed(errno).into()),
            }
        }
    }

    /// Fails if this directory's path does not lead to it any more: then another process may be writing what is taken for it.
    pub fn check_in_place(&self) -> Result<(), LockError> {
        let here = self.stat()?;
        let there = retry_on_intr(|| fs::statat(CWD, self.path(), AtFlags::SYMLINK_NOFOLLOW));
        match there {
            Ok(there) if same_file(&here, &there) => Ok(()),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Err(LockError::Replaced { path: self.path().to_owned() }),
            Err(errno) => Err(FileError::io("examined", self.path(), errno).into()),
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
    use super::*;
    use crate::files::Missing;

    #[test]
    fn a_held_lock_is_waited_for_and_then_its_holder_named() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_own(temp.path(), Missing::Fail).expect("it opens");
        let held = dir.lock(Share::Nobody, Duration::ZERO).expect("free");
        let error = dir.lock(Share::Readers, PAUSE).expect_err("held").to_string();
        let expected = format!("has been locked by process {} for 0 s", std::process::id());
        assert!(error.contains(&expected), "{error}");
        drop(held);
        dir.lock(Share::Nobody, Duration::ZERO).expect("free again");
    }

    #[test]
    fn readers_share_the_lock() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_own(temp.path(), Missing::Fail).expect("it opens");
        let _one = dir.lock(Share::Readers, Duration::ZERO).expect("free");
        let _other = dir.lock(Share::Readers, Duration::ZERO).expect("shared");
        assert!(matches!(dir.lock(Share::Nobody, Duration::ZERO), Err(LockError::Timeout { .. })));
    }

    #[test]
    fn a_directory_that_was_moved_away_is_noticed() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_own(&temp.path().join("store"), Missing::Create).expect("it is made");
        dir.check_in_place().expect("in place");
        std::fs::rename(temp.path().join("store"), temp.path().join("elsewhere")).expect("moved");
        assert!(matches!(dir.check_in_place(), Err(LockError::Replaced { .. })));
        std::fs::create_dir(temp.path().join("store")).expect("another one");
        assert!(matches!(dir.check_in_place(), Err(LockError::Replaced { .. })));
    }
}
