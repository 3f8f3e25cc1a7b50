//! A pure fold of the cases' outcomes into one report, and the run's identity.
//!
//! There is no overall verdict here: whether a report is good enough is a judgement, and the gate's. The
//! report is generic over how far its scores are trusted: one of `BenchScore`s is what this
//! process admitted and may chain, one of `RecordedScore`s is what a record on disk says.

mod aggregate;
mod statistics;

pub use aggregate::{
    BenchRunReport, CaseResult, Figures, FinishedCase, LoadErrorEntry, PromotionMetric, Report, RunFacts, Selection,
    aggregate, block_severity_modes, run_id,
};
pub use statistics::{exact_mean, lower_bound_95};
