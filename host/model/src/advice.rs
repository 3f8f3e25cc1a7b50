//! What an error means to whoever started the program: the exit code it gives, and what to do about it.
//!
//! Every error that can reach a person implements [`Advice`] where it is defined, so that no command decides by hand what a
//! failure of something below it means.

use std::error::Error;

/// How the program ended, for the shell. Which of them wins when several apply, README.md says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything worked and the answer is yes.
    Ok,
    /// The command line is wrong, or the cost cap was reached.
    UsageOrCap,
    TaskClassNotFound,
    /// The bench has no cases, or none was selected.
    NoCases,
    /// The chain, the last-seen head or a replay does not hold, or it is not known whether a record was committed.
    EvidenceBroken,
    /// Something of the harness or the bench failed: load errors, a rubric that does not load, a record not written.
    HarnessError,
    /// Nothing was chained; a live run can be resumed.
    Interrupted,
    /// Everything worked and the answer is no.
    AnswerIsNo,
}

impl Exit {
    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::HarnessError => 1,
            Self::UsageOrCap => 2,
            Self::TaskClassNotFound => 3,
            Self::NoCases => 4,
            Self::AnswerIsNo => 5,
            Self::EvidenceBroken => 6,
            Self::Interrupted => 130,
        }
    }
}

/// An error that knows what it means to whoever reads it.
pub trait Advice: Error {
    /// The exit code that it gives.
    fn exit(&self) -> Exit {
        Exit::HarnessError
    }

    /// What to do about it, where its own text does not say.
    fn hint(&self) -> Option<String> {
        None
    }
}
