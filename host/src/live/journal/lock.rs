//! Whose journal it is: an exclusive `flock` on a file beside it, which the kernel frees when its holder dies.
//!
//! The journal itself is renamed and removed, so it cannot carry the lock. The lock's file is never removed: a lock on a file
//! that has lost its name keeps nobody out. What is written in it is for people, and decides nothing.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::writer::JournalError;
use eval_evidence::files::{Audience, Dir, FileError};

/// Most bytes that are read of what a holder says of itself.
const MOST_WORDS: u64 = 4096;

/// How long a lock may be held by a process that is just going, and how often that is looked at.
const MOST_LOOKS: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// The lock, held until this is dropped.
#[derive(Debug)]
pub(super) struct JournalLock {
    _file: File,
}

impl JournalLock {
    /// Takes the lock of the journal of `run`, which lies at `path`, or fails with what its holder says of itself.
    pub(super) fn take(folder: &Dir, run: &str, path: &Path, holder: &str) -> Result<Self, JournalError> {
        let name = format!("{run}.lock");
        let failed = |source| JournalError::File { path: path.to_owned(), action: "locked", source };
        let refused = |action| {
            let lock = folder.path().join(&name);
            move |error: io::Error| failed(FileError::io(action, &lock, error))
        };
        let file = folder.open_or_new(&name, Audience::Owner).map_err(failed)?;
        match lock_in_a_moment(&file) {
            Ok(()) => {
                note(&file, holder).map_err(refused("written"))?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                Err(JournalError::Held { path: path.to_owned(), holder: words(&file).map_err(refused("read"))? })
            }
            Err(TryLockError::Error(error)) => Err(refused("locked")(error)),
        }
    }
}

/// A run that waited for another one may come here before the last of that one is gone.
fn lock_in_a_moment(file: &File) -> Result<(), TryLockError> {
    for _ in 1..MOST_LOOKS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_LOOKS),
            decided => return decided,
        }
    }
    file.try_lock()
}

fn note(file: &File, holder: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(holder.as_bytes(), 0)
}

fn words(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_WORDS).read_to_end(&mut bytes)?;
    let words: String = String::from_utf8_lossy(&bytes).chars().filter(|character| !character.is_control()).collect();
    Ok(if words.is_empty() { "the holder has not written who it is yet".to_owned() } else { words })
}
