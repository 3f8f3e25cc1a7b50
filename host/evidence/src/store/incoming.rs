//! How objects come into a store: into a pack of the run's own as the run goes, durable together, named last.
//!
//! The pack has a draft's name until all of it is durable, so that a crash cannot leave a torn pack under a name that promises its
//! content. Any number of objects costs one fsync of the pack and one of its folder. An object that the store has already is not
//! stored again.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::FlockOperation;

use super::objects::ReadObjectError;
use super::packs::{Packs, hold};
use super::reader::{DRAFT_PREFIX, StoreReader};
use crate::files::{Audience, Dir, FileError, LockError, Share};
use crate::pack::{PackDraft, PackName, Span, index, scan};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::Digest;

/// Why an object was not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepObjectError {
    /// The content is known to be right, so what is there is not.
    #[error("an object that is stored already was changed")]
    Existing(#[source] ReadObjectError),
    #[error("the objects of the run were stored before this one came")]
    Late,
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
    packs: &'a Packs,
    /// How many packs the store had when the run began.
    packs_before: usize,
    /// What was kept, by the first half of each digest. Two objects that share it would cost the run its record, which must find every
    /// object that it names.
    kept: Mutex<HashSet<u128, BuildHasherDefault<FirstBytes>>>,
    /// `None` when it was published.
    draft: Mutex<Option<Draft>>,
}

/// A pack under a name that nothing refers to. The lock on its file says that the run is alive.
#[derive(Debug)]
struct Draft {
    dir: Arc<Dir>,
    name: String,
    pack: PackDraft,
    is_published: bool,
}

impl<'a> IncomingObjects<'a> {
    /// Begins a pack, and takes away those of runs that died. Under the store's lock, so that nobody sweeps it between its making
    /// and its locking.
    pub(super) fn begin(store: &'a StoreReader, patience: Duration) -> Result<Self, KeepObjectError> {
        let _lock = store.root().lock(Share::Nobody, patience)?;
        let packs = store.packs();
        packs.shelf().sweep()?;
        let packs_before = packs.refresh()?;
        let draft = Draft::begin(packs.shelf().dir())?;
        Ok(Self { packs, packs_before, kept: Mutex::default(), draft: Mutex::new(Some(draft)) })
    }

    /// Keeps content under its BLAKE3. It is durable when a record is appended, and not before.
    pub fn keep(&self, content: &[u8]) -> Result<Digest, KeepObjectError> {
        let digest = Digest::of(content);
        self.keep_as(digest, content).map(|()| digest)
    }

    /// The same for whoever has hashed the content already. What is kept under a wrong digest is found by every verification.
    pub fn keep_as(&self, digest: Digest, content: &[u8]) -> Result<(), KeepObjectError> {
        if !lock(&self.kept).insert(half_of(digest)) {
            return Ok(());
        }
        match self.packs.check(digest) {
            Ok(()) => Ok(()),
            Err(ReadObjectError::Missing { .. }) => {
                let mut draft = lock(&self.draft);
                let draft = draft.as_mut().ok_or(KeepObjectError::Late)?;
                let appended = draft.pack.append(digest, content);
                Ok(appended.map_err(|error| draft.failed(error))?)
            }
            Err(error) => Err(KeepObjectError::Existing(error)),
        }
    }

    /// Makes everything durable, the pack before its name. The caller holds the store's lock.
    pub(super) fn settle(&self) -> Result<(), KeepObjectError> {
        let dir = self.packs.shelf().dir();
        let mut unpublished = lock(&self.draft);
        if let Some(draft) = unpublished.as_mut() {
            if self.packs.refresh()? > self.packs_before {
                self.leave_out_what_came_since(draft)?;
            }
            if !draft.pack.places().is_empty() {
                let name = draft.publish()?;
                self.packs.add(name, draft.pack.places());
                *unpublished = None;
                // From here on the packs know.
                *lock(&self.kept) = HashSet::default();
            }
        }
        // Also when nothing is new: whoever wrote the others may not have come to this point.
        Ok(dir.sync()?)
    }

    /// Another run may have stored some of the objects meanwhile, and each is stored once. Then the pack is written anew.
    fn leave_out_what_came_since(&self, draft: &mut Draft) -> Result<(), KeepObjectError> {
        let flushed = draft.pack.flush();
        let failed = |error| draft.failed(error);
        flushed.map_err(failed)?;
        let span = draft.span().map_err(failed)?;
        let mut own = Vec::new();
        let is_whole = scan(&span, &mut |seen| own.push((seen.header.digest, seen.offset)));
        is_whole.map_err(|error| failed(io::Error::other(error)))?;
        let is_stored = |digest| match self.packs.check(digest) {
            Ok(()) => Ok(true),
            Err(ReadObjectError::Missing { .. }) => Ok(false),
            Err(error) => Err(KeepObjectError::Existing(error)),
        };
        let mut left = Vec::new();
        for (digest, offset) in &own {
            if !is_stored(*digest)? {
                left.push((*digest, *offset));
            }
        }
        if left.len() == own.len() {
            return Ok(());
        }
        let mut again = Draft::begin(&draft.dir)?;
        for (digest, offset) in left {
            let content = span.content_at(offset, digest).map_err(failed)?.unwrap_or_default();
            again.pack.append(digest, &content).map_err(failed)?;
        }
        *draft = again;
        Ok(())
    }
}

impl Draft {
    fn begin(dir: &Arc<Dir>) -> Result<Self, KeepObjectError> {
        loop {
            let mut number = [0; 8];
            getrandom::fill(&mut number).map_err(KeepObjectError::Random)?;
            let name = format!("{DRAFT_PREFIX}{:016x}", u64::from_be_bytes(number));
            let file = dir.create(&name, Audience::Owner)?;
            let held = hold(&file, FlockOperation::NonBlockingLockExclusive);
            let draft = Self { dir: dir.clone(), name, pack: PackDraft::begin(file), is_published: false };
            // Who sweeps holds the store's lock; anybody else who locks what he finds must not make this draft look dead.
            if held.map_err(|errno| FileError::io("locked", &dir.path().join(&draft.name), errno))? {
                return Ok(draft);
            }
        }
    }

    fn failed(&self, error: io::Error) -> FileError {
        FileError::io("written", &self.dir.path().join(&self.name), error)
    }

    fn span(&self) -> io::Result<Span> {
        Ok(Span::new(self.pack.file().try_clone()?, 0, self.pack.size()))
    }

    /// Makes the pack durable and gives it its name.
    fn publish(&mut self) -> Result<PackName, FileError> {
        self.pack.flush().map_err(|error| self.failed(error))?;
        self.dir.sync_file(self.pack.file(), &self.name)?;
        let name = self.pack.name();
        self.dir.rename_new(&self.name, &self.dir, &name.to_string())?;
        self.is_published = true;
        if self.pack.places().len() >= index::FEWEST {
            self.write_index(&name.index_name());
        }
        Ok(name)
    }

    /// An index is a hint, and without it the pack is read whole: so it needs no fsync, and one that cannot be written costs no run
    /// its record. One that lies there already is of a pack that is gone.
    fn write_index(&self, name: &str) {
        let _ = self.dir.unlink(name);
        if self.dir.write_new(name, &index::encode(self.pack.places())).is_err() {
            let _ = self.dir.unlink(name);
        }
    }
}

impl Drop for Draft {
    /// What is still called a draft is no evidence. What cannot be taken away is swept by the next run.
    fn drop(&mut self) {
        if !self.is_published {
            let _ = self.dir.unlink(&self.name);
        }
    }
}

fn half_of(digest: Digest) -> u128 {
    let (half, _) = digest.as_bytes().split_at(16);
    u128::from_be_bytes(half.try_into().expect("it is half of 32"))
}

/// What is hashed is a digest, so any of its bytes do; and a hash that is drawn at random needs random numbers, which may fail.
#[derive(Debug, Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        let first = bytes.first_chunk().copied().map_or(0, u64::from_ne_bytes);
        self.0 = first;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What is behind the lock is whole whenever it is free, whatever a thread that held it did afterwards.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
