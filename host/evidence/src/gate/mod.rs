//! The gate: whether evidence is enough for the next tier. A pure function of a record, its replay, the state of its chain and the
//! bench as it is now, and nobody's permission.
//!
//! It believes no score that it has not seen derived again ([`evidence`] replays the record that is judged), and no answer whose
//! source nobody can show. Evidence counts for the bench as it is now: another rubric or other cases than it has are another
//! bench's evidence, and what blocks a promotion is what the registration says now. A verdict is read by a human, who changes the
//! tier in a reviewed pull request. Nothing in this program can do that: [`apply`] always fails.

mod apply;
mod bench;
mod evidence;
mod reason;
mod source;
mod verdict;

pub use apply::{PromotionMustBeHumanAuthorized, apply};
pub use bench::{BenchCommit, BenchNow, Standards, case_set_digest};
pub use evidence::{Body, JudgedRecord, NoEvidence, gather};
pub use reason::{Reason, Remark};
pub use source::{AnswerSource, ProvenRun};
pub use verdict::{BenchRead, Figures, LiveRuns, PromotionVerdict, RecordRead, ReplayResult, judge};

#[cfg(test)]
mod tests;
