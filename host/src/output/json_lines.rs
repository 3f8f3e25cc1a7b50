//! The machine's view: one JSON object per line. The shapes here are a promise (`docs/json-lines.md`): keys may be added,
//! none is renamed.
//!
//! All lines but `record` are byte-identical between two machines that score the same answers, so nothing here knows the
//! time, a path of the host or how the work was spread over threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;

use super::Steadfast;
use crate::run::event::{Event, Reporter};
use eval_model::ids::{CaseId, RunId, TaskClassName};
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, CaseResult, LoadErrorEntry, Selection};
use eval_model::score::BenchScore;

/// The version of the lines. It changes when a program that reads them could misunderstand one.
pub(crate) const LINES_VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Case(CaseLine<'a>),
    LoadError(&'a LoadErrorEntry),
    Aggregate(AggregateLine<'a>),
    Record { path: &'a str, seq: u64 },
    AnswerSet { path: &'a str },
}

#[derive(Serialize)]
struct CaseLine<'a> {
    case_id: &'a CaseId,
    outcome: OutcomeClass,
    score: &'a BenchScore,
    fuel_used: Option<u64>,
    peak_memory_bytes: Option<u64>,
}

impl<'a> From<&'a CaseResult<BenchScore>> for CaseLine<'a> {
    fn from(result: &'a CaseResult<BenchScore>) -> Self {
        Self {
            case_id: &result.case_id,
            outcome: result.outcome,
            score: &result.score,
            fuel_used: result.fuel_used,
            peak_memory_bytes: result.peak_memory_bytes,
        }
    }
}

#[derive(Serialize)]
struct AggregateLine<'a> {
    schema_version: u32,
    task_class: &'a TaskClassName,
    run_id: RunId,
    selection: &'a Selection,
    attempted: u64,
    skipped: u64,
    outcomes: &'a BTreeMap<OutcomeClass, u64>,
    passed_count: u64,
    mean_score: f64,
    lower_bound_95: f64,
    total_cost_usd: f64,
    recorded_cost_usd: f64,
    block_severity_failure_modes: &'a BTreeSet<String>,
    aborted: bool,
    had_load_errors: bool,
    warnings: &'a [String],
}

impl<'a> AggregateLine<'a> {
    fn new(task_class: &'a TaskClassName, run_id: RunId, report: &'a BenchRunReport) -> Self {
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
            recorded_cost_usd: report.recorded_cost_usd,
            block_severity_failure_modes: &report.block_severity_failure_modes,
            aborted: report.aborted,
            had_load_errors: report.had_load_errors,
            warnings: &report.warnings,
        }
    }
}

/// Writes the machine's view of a run.
pub(crate) struct JsonLines<W> {
    out: Steadfast<W>,
}

impl<W: Write> JsonLines<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out: Steadfast::new(out) }
    }

    /// The first error of the writer, if there was one.
    pub(crate) fn finish(self) -> Result<(), io::Error> {
        self.out.finish()
    }
}

impl<W: Write> Reporter for JsonLines<W> {
    fn event(&mut self, event: &Event<'_>) {
        let line = match event {
            Event::CaseFinished(result) => Line::Case((*result).into()),
            Event::LoadError(entry) => Line::LoadError(entry),
            Event::Aggregated { task_class, run_id, report } => {
                Line::Aggregate(AggregateLine::new(task_class, *run_id, report))
            }
            Event::Recorded(recorded) => Line::Record { path: &recorded.path, seq: recorded.seq },
            Event::AnswerSetWritten { path } => Line::AnswerSet { path },
            Event::RunStarted { .. } | Event::Warning(_) | Event::Notice(_) | Event::Answered(_) => return,
        };
        self.out.line(&serde_json::to_string(&line).expect("names and finite numbers serialise"));
    }
}
