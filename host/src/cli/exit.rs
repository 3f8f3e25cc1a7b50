//! The exit codes, in the one place that defines them. Which of them wins when several apply, README.md says.

use std::process::ExitCode;

/// How the program ended, for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
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

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::HarnessError => 1,
            Exit::UsageOrCap => 2,
            Exit::TaskClassNotFound => 3,
            Exit::NoCases => 4,
            Exit::AnswerIsNo => 5,
            Exit::EvidenceBroken => 6,
            Exit::Interrupted => 130,
        })
    }
}
