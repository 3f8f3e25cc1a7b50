//! Why a run has no result, and what that means to whoever started it.

use eval_evidence::store::{AppendError, KeepObjectError};
use eval_evidence::verified::{AnnounceRunError, RememberError};
use eval_model::advice::{Advice, Exit};
use eval_model::contract::RunnerError;
use eval_model::ids::CaseId;

use super::answer_set::WriteAnswerSetError;
use crate::live::live_run::LiveRunError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("none of the {load_errors} selected cases could be loaded, so there is nothing to record")]
    NothingAttempted { load_errors: usize },
    #[error("the cost cap leaves nothing for any of the {skipped} cases, so there is nothing to record")]
    NothingAffordable { skipped: usize },
    #[error("the answer sets were made from another state of the bench: the files of case `{case_id}` differ")]
    AnswersOtherFiles { case_id: CaseId },
    #[error(transparent)]
    Live(LiveRunError),
    /// Without evidence there is no result.
    #[error("the evidence could not be kept")]
    Keep(#[source] KeepObjectError),
    /// What this machine lacks is no fault of the case.
    #[error("`{case_id}` could not be scored, so there is no result")]
    Runner {
        case_id: CaseId,
        #[source]
        error: RunnerError,
    },
    #[error(transparent)]
    Announce(AnnounceRunError),
    #[error(transparent)]
    Append(AppendError),
    /// The record is committed.
    #[error(transparent)]
    Remember(RememberError),
    #[error(transparent)]
    AnswerSet(WriteAnswerSetError),
}

impl RunError {
    /// Whether the record is committed all the same, so that nothing is left to be resumed.
    pub(crate) fn is_committed(&self) -> bool {
        matches!(self, Self::Remember(_))
    }
}

impl Advice for RunError {
    fn exit(&self) -> Exit {
        match self {
            Self::NothingAffordable { .. } | Self::AnswersOtherFiles { .. } => Exit::UsageOrCap,
            Self::Live(error) => error.exit(),
            Self::Announce(error) => error.exit(),
            Self::Append(error) => error.exit(),
            Self::Remember(error) => error.exit(),
            Self::Keep(error) => error.exit(),
            Self::NothingAttempted { .. } | Self::Runner { .. } | Self::AnswerSet(_) => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NothingAffordable { .. } => Some("raise it with --max-cost-usd".to_owned()),
            Self::AnswersOtherFiles { .. } => Some("check out the commit that the shards were run from".to_owned()),
            Self::Live(error) => error.hint(),
            Self::Announce(error) => error.hint(),
            Self::Append(error) => error.hint(),
            _ => None,
        }
    }
}
