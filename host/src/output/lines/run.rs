//! The lines of `run` and `merge`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{LINES_VERSION, Line};
use crate::description::RunDescription;
use crate::run::event::Recorded;
use eval_evidence::record::Mode;
use eval_model::case::ReadCase;
use eval_model::ids::{CaseId, Digest, RunId, TaskClassName};
use eval_model::money::Usd;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, CaseResult, LoadErrorEntry, Selection};
use eval_model::score::BenchScore;

#[derive(Serialize)]
pub(crate) struct CaseLine<'a> {
    pub(super) case_id: &'a CaseId,
    pub(super) outcome: OutcomeClass,
    pub(super) score: &'a BenchScore,
    pub(super) fuel_used: Option<u64>,
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) cost_is_estimate: bool,
}

impl<'a> From<&'a CaseResult<BenchScore>> for Line<'a> {
    fn from(result: &'a CaseResult<BenchScore>) -> Self {
        Self::Case(CaseLine {
            case_id: &result.case_id,
            outcome: result.outcome,
            score: &result.score,
            fuel_used: result.fuel_used,
            peak_memory_bytes: result.peak_memory_bytes,
            cost_is_estimate: result.cost_is_estimate,
        })
    }
}

impl<'a> From<&'a LoadErrorEntry> for Line<'a> {
    fn from(entry: &'a LoadErrorEntry) -> Self {
        Self::LoadError(entry)
    }
}

#[derive(Serialize)]
pub(crate) struct AggregateLine<'a> {
    pub(super) schema_version: u32,
    pub(super) task_class: &'a TaskClassName,
    pub(super) run_id: RunId,
    pub(super) selection: &'a Selection,
    pub(super) attempted: u64,
    pub(super) skipped: u64,
    pub(super) outcomes: &'a BTreeMap<OutcomeClass, u64>,
    pub(super) passed_count: u64,
    pub(super) mean_score: f64,
    pub(super) lower_bound_95: f64,
    pub(super) total_cost_usd: f64,
    pub(super) estimated_cost_usd: f64,
    pub(super) recorded_cost_usd: f64,
    pub(super) block_severity_failure_modes: &'a BTreeSet<String>,
    pub(super) aborted: bool,
    pub(super) had_load_errors: bool,
    pub(super) warnings: &'a [String],
}

impl<'a> AggregateLine<'a> {
    pub(crate) fn new(task_class: &'a TaskClassName, run_id: RunId, report: &'a BenchRunReport) -> Self {
        Self {
            schema_version: LINES_VERSION,
            task_class,
            run_id,
            selection: &report.selection,
            attempted: report.attempted,
            skipped: report.skipped,
            outcomes: &report.outcomes,
            passed_count: report.passed_count,
            mean_score: report.mean_score,
            lower_bound_95: report.lower_bound_95,
            total_cost_usd: report.total_cost_usd,
            estimated_cost_usd: report.estimated_cost_usd(BenchScore::cost_usd),
            recorded_cost_usd: report.recorded_cost_usd,
            block_severity_failure_modes: &report.block_severity_failure_modes,
            aborted: report.aborted,
            had_load_errors: report.had_load_errors,
            warnings: &report.warnings,
        }
    }
}

impl<'a> From<&'a Recorded> for Line<'a> {
    fn from(recorded: &'a Recorded) -> Self {
        Self::Record { path: &recorded.path, seq: recorded.seq }
    }
}

#[derive(Serialize)]
pub(crate) struct PlannedCaseLine<'a> {
    pub(super) case_id: &'a CaseId,
    pub(super) case_digest: Digest,
    pub(super) input_digest: Digest,
}

impl<'a> From<&'a ReadCase> for Line<'a> {
    fn from(case: &'a ReadCase) -> Self {
        Self::PlannedCase(PlannedCaseLine {
            case_id: &case.case.case_id,
            case_digest: case.case_digest,
            input_digest: case.input_digest,
        })
    }
}

#[derive(Serialize)]
pub(crate) struct PlanLine<'a> {
    pub(super) task_class: &'a TaskClassName,
    pub(super) mode: Mode,
    pub(super) cases: usize,
    pub(super) load_errors: usize,
    pub(super) rubric_digest: Digest,
    pub(super) registration_digest: Digest,
    /// What the cap, or the most that every case may cost, allows at most.
    pub(super) largest_possible_cost_usd: f64,
}

impl<'a> PlanLine<'a> {
    /// Of a run with so many cases that load, and so many that do not.
    pub(crate) fn new(run: &'a RunDescription, mode: Mode, cases: usize, load_errors: usize, largest: Usd) -> Self {
        Self {
            task_class: &run.task_class,
            mode,
            cases,
            load_errors,
            rubric_digest: run.rubric_digest,
            registration_digest: run.registration_digest,
            largest_possible_cost_usd: largest.dollars(),
        }
    }
}
