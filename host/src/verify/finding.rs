//! What can be wrong with evidence, and how bad each of it is.
//!
//! There is no finding for "skipped": what was not looked at is not verified.

use std::error::Error;
use std::fmt;

use crate::chain::{Break, Broken, RecordFileName};
use crate::ids::TaskClassName;
use crate::record::ReadRecordError;
use crate::store::{ReadFileError, ReadObjectError};

/// The state of a body of evidence, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Ok,
    /// A crash left something unfinished.
    Incomplete,
    /// Something that is needed is missing or not understood.
    Unverifiable,
    /// Something is not what was written.
    Tampered,
}

impl State {
    pub(crate) const fn as_str(self) -> &'static str {
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
pub(crate) struct Finding {
    /// None when it concerns the whole store, or when nobody can tell.
    pub(crate) task_class: Option<TaskClassName>,
    pub(crate) seq: Option<u64>,
    /// The file to look at, relative to the store, safe to print.
    pub(crate) file: Option<String>,
    pub(crate) problem: Problem,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("its name is not a record's, and nothing else belongs here")]
    ForeignFile,
    #[error("it cannot be read")]
    Unreadable(#[source] ReadFileError),
    #[error("it is not a record's file")]
    NotAFile(#[source] ReadFileError),
    #[error("it was there and is gone")]
    Gone,
    #[error("it does not read as a record")]
    Malformed(#[source] ReadRecordError),
    #[error("it was edited or renamed: a record with this content is called `{expected}`")]
    Misnamed { expected: RecordFileName },
    #[error(transparent)]
    Chain(Break),
    #[error("something it names is not there")]
    ObjectMissing(#[source] ReadObjectError),
    #[error("something it names is not what it was")]
    ObjectChanged(#[source] ReadObjectError),
}

impl Problem {
    pub(crate) fn state(&self) -> State {
        match self {
            Self::Unreadable(_) | Self::ObjectMissing(_) | Self::Malformed(ReadRecordError::Newer { .. }) => {
                State::Unverifiable
            }
            Self::ForeignFile
            | Self::NotAFile(_)
            | Self::Gone
            | Self::Malformed(_)
            | Self::Misnamed { .. }
            | Self::Chain(_)
            | Self::ObjectChanged(_) => State::Tampered,
        }
    }
}

impl From<ReadFileError> for Problem {
    fn from(error: ReadFileError) -> Self {
        match error {
            ReadFileError::Missing { .. } => Self::Gone,
            ReadFileError::Io(_) => Self::Unreadable(error),
            ReadFileError::NotAFile { .. } | ReadFileError::TooLarge { .. } => Self::NotAFile(error),
        }
    }
}

impl From<ReadObjectError> for Problem {
    fn from(error: ReadObjectError) -> Self {
        match error {
            ReadObjectError::Missing { .. } | ReadObjectError::Io { .. } => Self::ObjectMissing(error),
            ReadObjectError::Changed { .. } | ReadObjectError::NotAFile { .. } => Self::ObjectChanged(error),
        }
    }
}

impl From<Broken> for Finding {
    fn from(broken: Broken) -> Self {
        Self {
            task_class: Some(broken.task_class),
            seq: Some(broken.seq),
            file: broken.file.map(|file| format!("runs/{file}")),
            problem: Problem::Chain(broken.what),
        }
    }
}

impl Finding {
    pub(crate) fn state(&self) -> State {
        self.problem.state()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.task_class, self.seq, &self.file) {
            (Some(class), Some(seq), Some(file)) => write!(f, "record {seq} of `{class}` (`{file}`)")?,
            (Some(class), Some(seq), None) => write!(f, "record {seq} of `{class}`")?,
            (Some(class), None, _) => write!(f, "task class `{class}`")?,
            (None, _, Some(file)) => write!(f, "`{file}`")?,
            (None, _, None) => f.write_str("the store")?,
        }
        let mut cause: Option<&dyn Error> = Some(&self.problem);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
