//! Appending a record so that it is there, whole, whatever happens next.
//!
//! Under the store's lock: (1) what came since the last look is read, and nothing is added to a chain that is not whole;
//! (2) the objects become durable; (3) it is remembered outside of the store which record is about to be committed, and the
//! record is written under a draft's name and becomes durable; (4) it gets its name,
//! which nothing may have had; (5) the directory becomes durable, and this is the commit point. What fails before (4) is not
//! committed. What fails between (4) and the end of (5) is neither one nor the other, and saying either would be a lie.
//!
//! The draft of a record's signature is durable before (3), and has its name before (4): whoever sees the record sees who signed
//! it, also if a crash left it to be finished, and no crash leaves a signature without the record or a draft of it. What fails
//! before (4) takes the signature away first, and then the draft.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::incoming::{IncomingObjects, KeepObjectError};
use super::objects::ReadObjectError;
use super::open::{self, OpenStoreError, Origin};
use super::reader::{DRAFT_PREFIX, Evidence as _, Snapshot, StoreReader, scan};
use super::started::{self, AnnounceError, Announced, Announcement};
use crate::anchor::{NoteError, NoteSigner, RecordNote};
use crate::chain::{Link, Position, RecordFileName, hash_of};
use crate::files::{Dir, FileError, Lock, LockError, Missing, Share};
use crate::memory::{Intents, MemoryError};
use crate::record::{EvalRunRecord, MOST_RECORD_BYTES, ReadRecordError, RecordedRun};
use crate::verify::{AnswerDefect, Contradiction, Finding, ObjectFacts, continued_contradiction, contradiction};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::score::BenchScore;
use eval_model::utc::UtcMillis;

/// A store that records can be appended to.
#[derive(Debug)]
pub struct StoreWriter {
    started: Dir,
    reader: StoreReader,
    patience: Duration,
    origin: Origin,
    pub(super) intents: Intents,
}

/// Proof that a record is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub link: Link,
    pub path: PathBuf,
}

/// Why an append does not count as committed.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the record of this run of `{task_class}` was not committed")]
    NotCommitted {
        task_class: TaskClassName,
        #[source]
        source: NotCommitted,
    },
    /// The record has its name, but nobody knows whether that will survive.
    #[error(
        "it is unknown whether record {seq} of `{task_class}` (`{}`) is durable; run `eval-host verify` before the next run",
        path.display()
    )]
    Unknown {
        task_class: TaskClassName,
        seq: u64,
        path: PathBuf,
        #[source]
        source: FileError,
    },
}

impl Advice for AppendError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotCommitted { source, .. } => source.exit(),
            Self::Unknown { .. } => Exit::EvidenceBroken,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotCommitted { source, .. } => source.hint(),
            Self::Unknown { .. } => None,
        }
    }
}

/// What kept a record from being committed. Nothing of it is in the chain.
#[derive(Debug, thiserror::Error)]
pub enum NotCommitted {
    #[error("the chain is broken, and a broken chain is not continued: {}", join(_0))]
    Broken(Vec<Finding>),
    #[error("the newest record was changed since it was read")]
    HeadChanged,
    #[error("the newest record cannot be read any more")]
    Head(#[source] FileError),
    #[error("the record was made for another place in the chain")]
    Misplaced,
    #[error(
        "the record would have {size} bytes, more than the {MOST_RECORD_BYTES} that can be read back; run fewer cases at once"
    )]
    TooLarge { size: u64 },
    #[error("the record does not survive being read back")]
    Invalid(#[source] ReadRecordError),
    #[error("the record contradicts itself, and so would every verification of the store: {0}")]
    Contradiction(Contradiction),
    #[error("the record contradicts the objects that it names: {0}")]
    Answer(AnswerDefect),
    #[error("eval-host could not remember which record it is about to commit")]
    Intend(#[source] MemoryError),
    #[error("the record names an object that was not stored")]
    Object(#[source] ReadObjectError),
    #[error("the objects were not stored")]
    Objects(#[source] KeepObjectError),
    #[error("the record cannot be signed")]
    Sign(#[source] NoteError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Advice for NotCommitted {
    fn exit(&self) -> Exit {
        match self {
            Self::Broken(_) | Self::HeadChanged => Exit::EvidenceBroken,
            Self::Objects(error) => error.exit(),
            _ => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Intend(error) => error.hint(),
            _ => None,
        }
    }
}

fn join(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("; ")
}

impl StoreWriter {
    /// Opens the store at `path`, which is created if there is none, for the user with the id `user`.
    pub fn open(path: &Path, user: u32, patience: Duration) -> Result<Self, OpenStoreError> {
        Self::from_root(open::open_root(path, Missing::Create)?, user, patience)
    }

    /// The same for a store that exists.
    pub fn open_existing(path: &Path, user: u32, patience: Duration) -> Result<Self, OpenStoreError> {
        Self::from_root(open::open_root(path, Missing::Fail)?, user, patience)
    }

    fn from_root(root: Dir, user: u32, patience: Duration) -> Result<Self, OpenStoreError> {
        open::check_private(&root, user)?;
        open::check_local(&root)?;
        let origin = open::identify(&root, patience)?;
        // Before the reader, which must see the markers that this writer makes.
        let started = root.child_or_new(open::STARTED)?;
        let reader = StoreReader::from_root(root, patience)?;
        for area in [reader.runs(), reader.packs().shelf().dir(), &started] {
            open::check_private(area, user)?;
        }
        Ok(Self { started, reader, patience, origin, intents: Intents::NoneBelieved })
    }

    /// The same with where it is remembered what is about to be committed. Without this no draft is ever finished.
    #[must_use]
    pub fn remembering(self, intents: Intents) -> Self {
        Self { intents, ..self }
    }

    /// Locks the store for itself.
    pub(super) fn lock(&self) -> Result<Lock, LockError> {
        let lock = self.reader.root().lock(Share::Nobody, self.patience)?;
        self.reader.root().check_in_place()?;
        Ok(lock)
    }

    pub fn reader(&self) -> &StoreReader {
        &self.reader
    }

    /// Whether this writer made the store.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Begins to take in the objects of a run.
    pub fn incoming(&self) -> Result<IncomingObjects<'_>, KeepObjectError> {
        IncomingObjects::begin(&self.reader, self.patience)
    }

    /// Keeps an informational copy of a verdict, which is no evidence and which nothing reads.
    pub fn recommend(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.reader.root().child_or_new(open::RECOMMENDATIONS)?.write_new(name, bytes)
    }

    /// Says durably that a live run begins, behind all that were announced before. Its record must name what this gives.
    pub fn announce(
        &self,
        task_class: &TaskClassName,
        started_at: UtcMillis,
        cases: u64,
        what: Announced<'_>,
    ) -> Result<Digest, AnnounceError> {
        // Two runs from two benches may share a store, and both would follow the same marker.
        let _lock = self.lock()?;
        let (markers, findings) = self.reader.started_locked()?;
        if !findings.is_empty() {
            return Err(AnnounceError::Broken(findings));
        }
        let announcement = Announcement { store_id: self.reader.id(), task_class, started_at, cases, what };
        started::announce(&self.started, &markers, &announcement)
    }

    /// Commits one run: its objects, and the record that `build` makes for the place it gets. `known` is what was verified
    /// before the run; an empty one makes this read every record again.
    pub fn append(
        &self,
        known: &Snapshot,
        task_class: &TaskClassName,
        incoming: &IncomingObjects<'_>,
        build: impl FnOnce(&Position) -> EvalRunRecord<BenchScore>,
    ) -> Result<Receipt, AppendError> {
        self.append_signed(known, task_class, incoming, None, build)
    }

    /// The same, signed by whoever has a key.
    pub fn append_signed(
        &self,
        known: &Snapshot,
        task_class: &TaskClassName,
        incoming: &IncomingObjects<'_>,
        signer: Option<&NoteSigner>,
        build: impl FnOnce(&Position) -> EvalRunRecord<BenchScore>,
    ) -> Result<Receipt, AppendError> {
        let not_committed = |source| AppendError::NotCommitted { task_class: task_class.clone(), source };
        let _lock = self.lock().map_err(|error| not_committed(error.into()))?;
        let mut ready = self.prepare(known, task_class, incoming, build).map_err(not_committed)?;
        ready.note = signer.map(|signer| ReadyNote::new(&ready, signer)).transpose().map_err(not_committed)?;
        self.intents.intend(&ready.link).map_err(|error| not_committed(NotCommitted::Intend(error)))?;
        self.write_draft(&ready).map_err(|error| not_committed(error.into()))?;
        self.publish(&ready)
    }

    /// Everything up to where the record could be written.
    fn prepare(
        &self,
        known: &Snapshot,
        task_class: &TaskClassName,
        incoming: &IncomingObjects<'_>,
        build: impl FnOnce(&Position) -> EvalRunRecord<BenchScore>,
    ) -> Result<Ready, NotCommitted> {
        let position = self.next_position(known, task_class)?;
        // Before the record is made, so that what is known of its objects need not be in memory beside it.
        incoming.settle().map_err(NotCommitted::Objects)?;
        let bytes = build(&position).to_bytes();
        let size = bytes.len() as u64;
        if size > MOST_RECORD_BYTES {
            return Err(NotCommitted::TooLarge { size });
        }
        let (record, link) = RecordedRun::read(&bytes).map_err(NotCommitted::Invalid)?;
        if link.position != position {
            return Err(NotCommitted::Misplaced);
        }
        // Answers may come from a file that somebody edited. What no verification would accept must not be chained, because
        // no record is ever removed.
        if let Some(contradiction) = self.contradiction_in(&record)? {
            return Err(NotCommitted::Contradiction(contradiction));
        }
        for digest in record.named_objects() {
            self.reader.check_object(digest).map_err(NotCommitted::Object)?;
        }
        if let Some(defect) = ObjectFacts::new(&self.reader).contradiction(&record) {
            return Err(NotCommitted::Answer(defect));
        }
        let name = link.file_name().as_str().to_owned();
        Ok(Ready { draft: format!("{DRAFT_PREFIX}{name}"), name, bytes, link, note: None })
    }

    /// What a record says that cannot be, of itself or of the record here that it continues.
    pub(super) fn contradiction_in(&self, record: &RecordedRun) -> Result<Option<Contradiction>, FileError> {
        if let Some(found) = contradiction(record) {
            return Ok(Some(found));
        }
        Ok(continued_contradiction(record, &self.reader, &self.reader.names_locked()?))
    }

    fn next_position(&self, known: &Snapshot, task_class: &TaskClassName) -> Result<Position, NotCommitted> {
        let scan = scan(&self.reader, self.reader.names_locked()?, known, &mut |_| {});
        if !scan.findings.is_empty() {
            return Err(NotCommitted::Broken(scan.findings));
        }
        // The records that were read earlier are not read again, but for the one that the new record vouches for.
        if let Some(link) = scan.snapshot.newest(task_class) {
            let name = link.file_name();
            let bytes = self.reader.runs().read(name.as_str(), MOST_RECORD_BYTES).map_err(NotCommitted::Head)?;
            if hash_of(&bytes) != link.hash {
                return Err(NotCommitted::HeadChanged);
            }
        }
        Ok(scan.snapshot.heads().next(self.reader.id(), task_class))
    }

    pub(super) fn write_draft(&self, ready: &Ready) -> Result<(), FileError> {
        let runs = self.reader.runs();
        // The signature's draft first: what a crash leaves of the record is then never without it. Nobody else is writing, so a
        // draft of these names is what a crash left of these very bytes.
        let written = self.draft_note(ready);
        let written = written.and_then(|()| runs.write_draft(&ready.draft, &ready.bytes));
        let written = written.and_then(|()| self.write_note(ready));
        if written.is_err() {
            self.discard_draft(ready);
        }
        written
    }

    fn draft_note(&self, ready: &Ready) -> Result<(), FileError> {
        match &ready.note {
            Some(note @ ReadyNote { bytes, place: NotePlace::Free, .. }) => {
                let runs = self.reader.runs();
                runs.write_draft(&note.draft(), bytes)?;
                runs.sync()
            }
            Some(ReadyNote { place: NotePlace::Again, .. }) | None => Ok(()),
        }
    }

    /// Puts the signature beside the draft, durably.
    fn write_note(&self, ready: &Ready) -> Result<(), FileError> {
        let runs = self.reader.runs();
        match &ready.note {
            None => Ok(()),
            Some(ReadyNote { name, bytes, place: NotePlace::Again }) => runs.replace(name, bytes),
            Some(note @ ReadyNote { name, place: NotePlace::Free, .. }) => {
                // The draft's name before the signature's.
                runs.sync()?;
                runs.rename_new(&note.draft(), runs, name)?;
                runs.sync()
            }
        }
    }

    pub(super) fn publish(&self, ready: &Ready) -> Result<Receipt, AppendError> {
        let runs = self.reader.runs();
        let path = runs.path().join(&ready.name);
        let Position { task_class, seq, .. } = &ready.link.position;
        if let Err(source) = runs.rename_new(&ready.draft, runs, &ready.name) {
            let source = match runs.stat_of(&ready.name) {
                // An error that was reported although the rename took place, or a file that somebody put there.
                Ok(Some(_)) if !source.is_taken() => {
                    return Err(AppendError::Unknown { task_class: task_class.clone(), seq: *seq, path, source });
                }
                _ => source,
            };
            self.discard_draft(ready);
            return Err(AppendError::NotCommitted { task_class: task_class.clone(), source: source.into() });
        }
        match runs.sync() {
            Ok(()) => Ok(Receipt { link: ready.link.clone(), path }),
            Err(source) => Err(AppendError::Unknown { task_class: task_class.clone(), seq: *seq, path, source }),
        }
    }

    /// Takes the draft away again where that is possible. Where it is not, `verify` finds it and says so; the error that led
    /// here is the one to report.
    fn discard_draft(&self, ready: &Ready) {
        if self.discard_note(ready).is_ok() {
            let _ = self.reader.runs().unlink(&ready.draft);
        }
    }

    /// Takes the signature away again, durably: the draft must outlive it.
    fn discard_note(&self, ready: &Ready) -> Result<(), FileError> {
        let Some(note) = ready.note.as_ref().filter(|note| note.place == NotePlace::Free) else { return Ok(()) };
        let runs = self.reader.runs();
        let _ = runs.unlink(note.draft());
        // Where the record's name was taken, the signature may be that of whoever has it.
        if runs.stat_of(&ready.name)?.is_some() {
            return Ok(());
        }
        match runs.unlink(&note.name) {
            Ok(()) => runs.sync(),
            Err(error) if error.is_missing() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A record that only needs to be written.
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) draft: String,
    pub(super) bytes: Vec<u8>,
    pub(super) link: Link,
    pub(super) note: Option<ReadyNote>,
}

/// A signature that only needs to be written.
pub(super) struct ReadyNote {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) place: NotePlace,
}

/// Where a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotePlace {
    /// Where nothing is.
    Free,
    /// Beside the draft that a crash left, perhaps over the same bytes, which may be in memory only.
    Again,
}

impl ReadyNote {
    fn new(ready: &Ready, signer: &NoteSigner) -> Result<Self, NotCommitted> {
        let note = RecordNote::of(&ready.link).sign(signer).map_err(NotCommitted::Sign)?;
        Ok(Self { name: RecordFileName::note_of(&ready.name), bytes: note.into_bytes(), place: NotePlace::Free })
    }

    fn draft(&self) -> String {
        format!("{DRAFT_PREFIX}{}", self.name)
    }
}

#[cfg(test)]
pub(super) mod tests;
