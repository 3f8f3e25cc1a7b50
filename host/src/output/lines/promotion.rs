//! The line of `promote-verdict`.

use serde::Serialize;

use super::{LINES_VERSION, Line};
use eval_evidence::gate::{Figures, PromotionVerdict, Reason, RecordRead};
use eval_model::ids::{Digest, RecordHash, RunId, TaskClassName, Tier};
use eval_model::report::PromotionMetric;

#[derive(Serialize)]
pub(crate) struct VerdictLine<'a> {
    pub(super) schema_version: u32,
    pub(super) task_class: &'a TaskClassName,
    pub(super) current_tier: Tier,
    pub(super) target_tier: Tier,
    pub(super) evidence_sufficient: bool,
    pub(super) reasons: Vec<ReasonLine>,
    pub(super) figures: FiguresLine,
    pub(super) record: RecordLine<'a>,
    pub(super) unfinished_runs: u64,
}

impl<'a> From<&'a PromotionVerdict> for Line<'a> {
    fn from(verdict: &'a PromotionVerdict) -> Self {
        Self::Verdict(VerdictLine {
            schema_version: LINES_VERSION,
            task_class: &verdict.task_class,
            current_tier: verdict.current_tier,
            target_tier: verdict.target_tier,
            evidence_sufficient: verdict.evidence_sufficient(),
            reasons: verdict.reasons.iter().map(ReasonLine::from).collect(),
            figures: (&verdict.figures).into(),
            record: (&verdict.record).into(),
            unfinished_runs: verdict.unfinished_runs,
        })
    }
}

#[derive(Serialize)]
pub(super) struct ReasonLine {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl From<&Reason> for ReasonLine {
    fn from(reason: &Reason) -> Self {
        Self { code: reason.code(), message: reason.to_string() }
    }
}

#[derive(Serialize)]
pub(super) struct FiguresLine {
    pub(super) metric: PromotionMetric,
    pub(super) value: f64,
    pub(super) threshold: Option<f64>,
    pub(super) mean_score: f64,
    pub(super) lower_bound_95: f64,
    pub(super) attempted: u64,
    pub(super) passed_count: u64,
    pub(super) passed_needed: Option<u64>,
}

impl From<&Figures> for FiguresLine {
    fn from(figures: &Figures) -> Self {
        Self {
            metric: figures.metric,
            value: figures.value,
            threshold: figures.threshold,
            mean_score: figures.mean_score,
            lower_bound_95: figures.lower_bound_95,
            attempted: figures.attempted,
            passed_count: figures.passed_count,
            passed_needed: figures.passed_needed,
        }
    }
}

#[derive(Serialize)]
pub(super) struct RecordLine<'a> {
    pub(super) file: &'a str,
    pub(super) seq: u64,
    pub(super) hash: RecordHash,
    pub(super) run_id: RunId,
    pub(super) rubric_digest: Digest,
}

impl<'a> From<&'a RecordRead> for RecordLine<'a> {
    fn from(record: &'a RecordRead) -> Self {
        Self {
            file: &record.file,
            seq: record.seq,
            hash: record.hash,
            run_id: record.run_id,
            rubric_digest: record.rubric_digest,
        }
    }
}
