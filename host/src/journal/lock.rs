//! Whose journal it is: an exclusive `flock` on a file beside it, which the kernel frees when its holder dies.
//!
//! The journal itself is renamed and removed, so it cannot carry the lock. The lock's file is never removed: a lock on a file
//! that has lost its name keeps nobody out. What is written in it is for people, and decides nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::{JournalError, open_regular};

/// Most bytes that are read of what a holder says of itself.
const MOST_WORDS: u64 = 4096;

/// The lock, held until this is dropped.
#[derive(Debug)]
pub(super) struct JournalLock {
    _file: File,
}

impl JournalLock {
    /// Takes the lock of the journal at `path`, or fails with what its holder says of itself.
    pub(super) fn take(path: &Path, holder: &str) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), action: "locked", source };
        let options = &mut OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open_regular(options, &path.with_extension("lock")).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                note(&file, holder).map_err(failed)?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                Err(JournalError::Held { path: path.to_owned(), holder: words(&file).map_err(failed)? })
            }
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

fn note(file: &File, holder: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(holder.as_bytes(), 0)
}

fn words(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MOST_WORDS).read_to_end(&mut bytes)?;
    let words: String = String::from_utf8_lossy(&bytes).chars().filter(|character| !character.is_control()).collect();
    Ok(if words.is_empty() { "it has not said who it is yet".to_owned() } else { words })
}
