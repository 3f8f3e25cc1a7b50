//! What can be wrong with evidence, and how bad each of it is.
//!
//! There is no finding for "skipped": what was not looked at is not verified.

use std::error::Error;
use std::fmt;

use super::answers::AnswerDefect;
use super::case::RestoreCaseError;
use super::figures::Contradiction;
use super::last_seen::LastSeenDefect;
use super::replay::ReplayDefect;
use crate::anchor::{AnchorDefect, RecordNoteError};
use crate::chain::{Break, Broken, Link, RecordFileName};
use crate::files::{FileError, FileProblem};
use crate::pack::PackError;
use crate::record::ReadRecordError;
use crate::store::{DraftEnd, FinishedDraft, MarkerBreak, ReadMarkerError, ReadObjectError, RefusedDraft, ShardMisfit};
use eval_model::ids::{Digest, RecordHash, TaskClassName};
use eval_model::text::Message;

/// The state of a body of evidence, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Ok,
    /// A crash left something unfinished.
    Incomplete,
    /// Something that is needed is missing or not understood.
    Unverifiable,
    /// Something is not what was written.
    Tampered,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Incomplete => "INCOMPLETE",
            Self::Unverifiable => "UNVERIFIABLE",
            Self::Tampered => "TAMPERED",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong, and where.
#[derive(Debug)]
pub struct Finding {
    /// None when it concerns the whole store, or when nobody can tell.
    pub task_class: Option<TaskClassName>,
    pub seq: Option<u64>,
    /// The file to look at, relative to the store, safe to print.
    pub file: Option<String>,
    pub defect: Defect,
}

#[derive(Debug, thiserror::Error)]
pub enum Defect {
    #[error("only records and their signatures belong in this folder, and this is the name of neither")]
    ForeignFile,
    #[error("it cannot be read")]
    Unreadable(#[source] FileError),
    #[error("it is not a record's file")]
    NotAFile(#[source] FileError),
    #[error("it was there and is gone")]
    Gone,
    #[error("it does not read as a record")]
    Malformed(#[source] ReadRecordError),
    #[error("it was edited or renamed: a record with this content is called `{expected}`")]
    Misnamed { expected: RecordFileName },
    #[error(transparent)]
    Chain(Break),
    #[error("a crash left it unfinished; `eval-host verify` finishes it where it may write")]
    Draft,
    #[error("a crash had left it unfinished; it is record {seq} of `{task_class}` now")]
    DraftCommitted { task_class: TaskClassName, seq: u64 },
    #[error("a crash had left it unfinished, and its place is taken or its content cut; it is kept as `{kept}`")]
    DraftSetAside { kept: String },
    #[error(
        "it is a whole record without a name, and {why}; it is kept as `{kept}`, and nothing of it is in the chain: run again, and a \
         live run with --resume, because its journal is still there"
    )]
    DraftRefused { kept: String, why: RefusedDraft },
    #[error("eval-host cannot read it as the marker of a live run")]
    Marker(#[source] ReadMarkerError),
    #[error(transparent)]
    MarkerChain(MarkerBreak),
    #[error("the marker `{marker}`, which announced the run of this record, is gone")]
    MarkerGone { marker: Digest },
    #[error("a case that the record names cannot be restored")]
    Case(#[source] RestoreCaseError),
    #[error(transparent)]
    Contradiction(Contradiction),
    #[error(transparent)]
    Excerpt(ExcerptDefect),
    #[error(transparent)]
    Answer(AnswerDefect),
    #[error("the marker `{marker}` announced the run of record {seq} of `{task_class}`, and no other")]
    MarkerTaken { marker: Digest, task_class: TaskClassName, seq: u64 },
    #[error("the marker `{marker}` announced a run of `{announced}`")]
    MarkerOfOtherClass { marker: Digest, announced: TaskClassName },
    #[error("it lists the marker `{marker}` as that of a shard of its run")]
    MarkerListed { marker: Digest, source: ShardMisfit },
    #[error(transparent)]
    LastSeen(LastSeenDefect),
    #[error(transparent)]
    Replay(ReplayDefect),
    #[error(transparent)]
    Anchor(AnchorDefect),
    #[error("it is the signature of a record that is not there")]
    SignatureAlone,
    #[error("the note beside it is not its signature")]
    Signature(#[source] RecordNoteError),
    #[error("an object that the record names is missing or unreadable")]
    ObjectMissing(#[source] ReadObjectError),
    #[error("an object that the record names has changed")]
    ObjectChanged(#[source] ReadObjectError),
    #[error("only packs and their indexes belong in this folder, and this is the name of neither")]
    ForeignPack,
    #[error(
        "a crash left it unfinished; no record names what is in it, and `eval-host verify` takes it away where it may write"
    )]
    PackDraft,
    #[error("a crash had left it unfinished; no record names what was in it, and it is taken away")]
    PackTakenAway,
    #[error("it is not the pack that it should be")]
    Pack(#[source] PackError),
    #[error(transparent)]
    PackedObject(ReadObjectError),
    #[error("{more} more objects in it were changed")]
    MorePackedObjects { more: usize },
    #[error("{more} more objects that the record names are missing or unreadable: a pack may be gone")]
    MoreObjectsMissing { more: usize },
    #[error("{more} more objects that the record names have changed")]
    MoreObjectsChanged { more: usize },
}

/// How evidence differs from what it says that it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExcerptDefect {
    #[error("it is not of this evidence: there is no record {seq} of `{task_class}` with the hash `{record}`")]
    NoSuchRecord { task_class: TaskClassName, seq: u64, record: RecordHash },
    #[error("a bundle holds one record and those before it, and this is none of them")]
    SurplusRecord,
    #[error("the record of the bundle does not name the object `{digest}`, and a bundle holds nothing else")]
    SurplusObject { digest: Digest },
    #[error("the objects of a bundle stand in the order of their digests, each once, and these do not")]
    Unsorted,
}

impl Defect {
    pub fn state(&self) -> State {
        match self {
            Self::Unreadable(_)
            | Self::ObjectMissing(_)
            | Self::MoreObjectsMissing { .. }
            | Self::Malformed(ReadRecordError::Newer { .. }) => State::Unverifiable,
            Self::Draft
            | Self::DraftCommitted { .. }
            | Self::DraftSetAside { .. }
            | Self::DraftRefused { .. }
            | Self::PackDraft
            | Self::PackTakenAway => State::Incomplete,
            Self::Pack(PackError::Io(_) | PackError::File(FileError { problem: FileProblem::Io { .. }, .. })) => {
                State::Unverifiable
            }
            Self::Marker(
                ReadMarkerError::Newer { .. }
                | ReadMarkerError::File(FileError { problem: FileProblem::Io { .. }, .. }),
            ) => State::Unverifiable,
            Self::Answer(defect) => defect.state(),
            Self::Signature(RecordNoteError::File(FileError { problem: FileProblem::Io { .. }, .. })) => {
                State::Unverifiable
            }
            Self::LastSeen(defect) => defect.state(),
            Self::Replay(defect) => defect.state(),
            Self::Anchor(defect) => defect.state(),
            Self::ForeignFile
            | Self::Signature(_)
            | Self::SignatureAlone
            | Self::Excerpt(_)
            | Self::NotAFile(_)
            | Self::Marker(_)
            | Self::MarkerChain(_)
            | Self::MarkerGone { .. }
            | Self::MarkerTaken { .. }
            | Self::MarkerOfOtherClass { .. }
            | Self::MarkerListed { .. }
            | Self::Case(_)
            | Self::Contradiction(_)
            | Self::Gone
            | Self::Malformed(_)
            | Self::Misnamed { .. }
            | Self::Chain(_)
            | Self::ObjectChanged(_)
            | Self::ForeignPack
            | Self::Pack(_)
            | Self::PackedObject(_)
            | Self::MorePackedObjects { .. }
            | Self::MoreObjectsChanged { .. } => State::Tampered,
        }
    }
}

impl From<FileError> for Defect {
    fn from(error: FileError) -> Self {
        match error.problem {
            FileProblem::Missing => Self::Gone,
            FileProblem::Io { .. } => Self::Unreadable(error),
            _ => Self::NotAFile(error),
        }
    }
}

impl From<ReadObjectError> for Defect {
    fn from(error: ReadObjectError) -> Self {
        match error {
            ReadObjectError::Missing { .. } | ReadObjectError::Io { .. } => Self::ObjectMissing(error),
            ReadObjectError::Changed { .. } => Self::ObjectChanged(error),
        }
    }
}

impl From<RestoreCaseError> for Defect {
    fn from(error: RestoreCaseError) -> Self {
        match error {
            RestoreCaseError::Object(error) => error.into(),
            error => Self::Case(error),
        }
    }
}

impl From<FinishedDraft> for Finding {
    fn from(finished: FinishedDraft) -> Self {
        let defect = match finished.end {
            DraftEnd::Committed(Link { position, .. }) => {
                Defect::DraftCommitted { task_class: position.task_class, seq: position.seq }
            }
            DraftEnd::SetAside(kept) => Defect::DraftSetAside { kept },
            DraftEnd::Refused { kept, why } => Defect::DraftRefused { kept, why },
            DraftEnd::TakenAway => Defect::PackTakenAway,
        };
        let folder = if matches!(defect, Defect::PackTakenAway) { "packs" } else { "runs" };
        Self::of_file(format!("{folder}/{}", finished.draft), defect)
    }
}

impl From<Broken> for Finding {
    fn from(broken: Broken) -> Self {
        let file = broken.file.map(|file| format!("runs/{file}"));
        Self { file, ..Self::of_class(Some(broken.task_class), Some(broken.seq), Defect::Chain(broken.what)) }
    }
}

impl Finding {
    /// About the record at a place.
    pub fn at(link: &Link, defect: Defect) -> Self {
        let (task_class, seq) = (link.position.task_class.clone(), link.position.seq);
        Self { task_class: Some(task_class), seq: Some(seq), file: Some(format!("runs/{}", link.file_name())), defect }
    }

    /// About a file that has no place.
    pub fn of_file(file: String, defect: Defect) -> Self {
        Self { task_class: None, seq: None, file: Some(file), defect }
    }

    /// About a task class or a place in it, or about the whole store, and about no file.
    pub fn of_class(task_class: Option<TaskClassName>, seq: Option<u64>, defect: Defect) -> Self {
        Self { task_class, seq, file: None, defect }
    }

    pub fn state(&self) -> State {
        self.defect.state()
    }

    /// Whether it says no more than that nobody saw the store before, where a first use must be said.
    pub fn is_first_use(&self) -> bool {
        matches!(self.defect, Defect::LastSeen(LastSeenDefect::NeverSeen))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.task_class, self.seq, &self.file) {
            (Some(class), Some(seq), Some(file)) => write!(f, "record {seq} of `{class}` (`{file}`)")?,
            (Some(class), Some(seq), None) => write!(f, "record {seq} of `{class}`")?,
            (Some(class), None, Some(file)) => write!(f, "`{file}` of `{class}`")?,
            (Some(class), None, None) => write!(f, "task class `{class}`")?,
            (None, _, Some(file)) => write!(f, "`{file}`")?,
            (None, _, None) => f.write_str("the store")?,
        }
        let mut cause: Option<&dyn Error> = Some(&self.defect);
        while let Some(error) = cause {
            // A parser's error quotes what it did not expect, and whoever wrote the file chose that.
            write!(f, ": {}", Message(&error.to_string()))?;
            cause = error.source();
        }
        Ok(())
    }
}
