//! How objects come into a store: written as the run goes, durable together, named last.
//!
//! An object is written into a folder of the run's own first and gets its name in `objects/` only when its bytes are durable,
//! so that a crash cannot leave a torn object under a name that promises its content. Any number of objects costs one
//! `syncfs` and one directory fsync. The files of a bench with thirty cases (600 of 2 KiB) took 220 to 260 ms with an fsync
//! each and 28 to 49 ms with one `syncfs`, on a virtual disk that answers an fsync in 0.4 ms; a disk that really has a cache to
//! flush takes longer.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::objects::{self, ReadObjectError};
use super::reader::StoreReader;
use crate::files::{Dir, FileError, Kind, Lock, LockError, Share};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::Digest;

/// Why an object was not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepObjectError {
    /// The content is known to be right, so what is there is not.
    #[error("an object that is stored already was changed")]
    Existing(#[source] ReadObjectError),
    #[error("the operating system gave no random number")]
    Random(#[source] getrandom::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Advice for KeepObjectError {
    fn exit(&self) -> Exit {
        match self {
            Self::Existing(error) => error.exit(),
            _ => Exit::HarnessError,
        }
    }
}

/// The objects of one run on their way into the store. None of them is evidence until a record is appended with them.
#[derive(Debug)]
pub struct IncomingObjects<'a> {
    staging: &'a Dir,
    objects: &'a Dir,
    pub(super) name: String,
    dir: Dir,
    /// Says that the run is alive. Whoever can take this lock may sweep the folder.
    _alive: Lock,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    all: BTreeSet<Digest>,
    new: BTreeSet<Digest>,
}

impl<'a> IncomingObjects<'a> {
    /// Makes the run's folder, and takes away the folders of runs that died. Under the store's lock, so that nobody sweeps
    /// a folder between its making and its locking.
    pub(super) fn begin(store: &'a StoreReader, staging: &'a Dir, patience: Duration) -> Result<Self, KeepObjectError> {
        let _lock = store.root().lock(Share::Nobody, patience)?;
        sweep(staging)?;
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(KeepObjectError::Random)?;
        let name = format!("{:016x}", u64::from_be_bytes(number));
        let dir = staging.child_or_new(&name)?;
        let alive = dir.lock(Share::Nobody, Duration::ZERO)?;
        Ok(Self { staging, objects: store.objects(), name, dir, _alive: alive, kept: Mutex::default() })
    }

    /// Keeps content under its BLAKE3. It is durable when a record is appended, and not before.
    pub fn keep(&self, bytes: &[u8]) -> Result<Digest, KeepObjectError> {
        let digest = Digest::of(bytes);
        if !self.kept().all.insert(digest) {
            return Ok(digest);
        }
        match objects::check(self.objects, digest) {
            Ok(()) => Ok(digest),
            Err(ReadObjectError::Missing { .. }) => {
                self.dir.write_new(&digest.to_string(), bytes)?;
                self.kept().new.insert(digest);
                Ok(digest)
            }
            Err(error) => Err(KeepObjectError::Existing(error)),
        }
    }

    pub(super) fn has(&self, digest: Digest) -> bool {
        self.kept().all.contains(&digest)
    }

    /// Makes everything durable, content before names. The caller holds the store's lock.
    pub(super) fn settle(&self) -> Result<(), KeepObjectError> {
        let new = std::mem::take(&mut self.kept().new);
        if !new.is_empty() {
            self.dir.sync_filesystem()?;
        }
        for digest in new {
            self.name_object(digest)?;
        }
        // Also when nothing is new: whoever wrote the others may not have come to this point.
        Ok(self.objects.sync()?)
    }

    fn name_object(&self, digest: Digest) -> Result<(), KeepObjectError> {
        let name = digest.to_string();
        match self.dir.rename_new(&name, self.objects, &name) {
            // Another run stored the same content in the meantime.
            Err(error) if error.is_taken() => objects::check(self.objects, digest).map_err(KeepObjectError::Existing),
            other => Ok(other?),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // The sets are whole whenever the lock is free, whatever a thread that held it did afterwards.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IncomingObjects<'_> {
    /// Whatever is still here is no evidence. What cannot be taken away is swept by the next run.
    fn drop(&mut self) {
        let _ = remove(self.staging, &self.name, &self.dir);
    }
}

/// Takes away the folders of runs that died. The caller holds the store's lock. What is no folder is no run's: file managers
/// leave theirs everywhere.
fn sweep(staging: &Dir) -> Result<(), FileError> {
    let folders = staging.entries()?.into_iter().filter(|(_, kind)| *kind == Kind::Directory);
    for name in folders.filter_map(|(name, _)| name.into_string().ok()) {
        let Some(dir) = staging.child_if_any(&name)? else { continue };
        if dir.lock(Share::Nobody, Duration::ZERO).is_ok() {
            remove(staging, &name, &dir)?;
        }
    }
    Ok(())
}

fn remove(staging: &Dir, name: &str, dir: &Dir) -> Result<(), FileError> {
    for file in dir.names()? {
        dir.unlink(file)?;
    }
    staging.remove_child(name)
}
