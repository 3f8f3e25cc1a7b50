//! One run from its plan to its committed record: score the cases, aggregate, chain.
//!
//! A run whose record is not committed has no result, so this is one function with one way to succeed.

use std::collections::{BTreeMap, BTreeSet};

use crate::answers::{CassetteKind, SutName};
use crate::live::live_run::LiveRunError;
use crate::run::event::{Event, Recorded};
use crate::run::pipeline::{CaseEvidence, CasesDone, Plan, RunCasesError, run_cases};
use eval_evidence::chain::Position;
use eval_evidence::record::{EvalRunRecord, GitCommit, Mode, OutputKind, SCHEMA_MINOR, SCHEMA_VERSION, Sut};
use eval_evidence::store::{AppendError, KeepObjectError, Receipt, Snapshot, StoreWriter};
use eval_model::contract::{RubricRunner, RunnerError};
use eval_model::ids::{CaseId, Digest};
use eval_model::report::{BenchRunReport, RunFacts, Selection, aggregate};
use eval_model::score::BenchScore;
use eval_model::utc::UtcMillis;
use eval_sandbox::{RUBRIC_WORLD, WASMTIME_VERSION};

/// What a record says of a run besides what happened to its cases.
#[derive(Debug, Clone)]
pub(crate) struct RunSetting {
    /// The patterns that selected the cases.
    pub(crate) patterns: Vec<String>,
    pub(crate) started_at: UtcMillis,
    pub(crate) bench_git_commit: Option<GitCommit>,
    /// What a record says of a live run besides; `None` when cassettes are replayed.
    pub(crate) live: Option<LiveFacts>,
}

/// Who answered in a live run.
#[derive(Debug, Clone)]
pub(crate) struct LiveFacts {
    pub(crate) sut: Sut,
    /// The marker that announced the run.
    pub(crate) started_marker: Digest,
    /// What was charged for agents that were lost with the process that had started them.
    pub(crate) lost_usd: f64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EvaluateError {
    #[error("none of the {load_errors} selected cases could be loaded, so there is nothing to record")]
    NothingAttempted { load_errors: usize },
    #[error("the cost cap leaves nothing for any of the {skipped} cases, so there is nothing to record")]
    NothingAffordable { skipped: usize },
    #[error(transparent)]
    Live(LiveRunError),
    #[error("the evidence could not be kept")]
    Keep(#[source] KeepObjectError),
    #[error("`{case_id}` could not be scored, so there is no result")]
    Runner {
        case_id: CaseId,
        #[source]
        error: RunnerError,
    },
    #[error(transparent)]
    Append(AppendError),
}

impl From<RunCasesError> for EvaluateError {
    fn from(error: RunCasesError) -> Self {
        match error {
            RunCasesError::Keep(error) => Self::Keep(error),
            RunCasesError::Live(error) => Self::Live(error),
            RunCasesError::Runner { case_id, error } => Self::Runner { case_id, error },
        }
    }
}

/// Scores the planned cases and commits their record.
pub(crate) fn evaluate(
    plan: &Plan<'_>,
    setting: &RunSetting,
    runner: &dyn RubricRunner,
    store: &StoreWriter,
    known: &Snapshot,
    clock: &dyn Fn() -> UtcMillis,
    emit: &mut dyn FnMut(&Event<'_>),
) -> Result<(BenchRunReport, Receipt), EvaluateError> {
    let task_class = &plan.bench.registration.task_class;
    emit(&Event::RunStarted { task_class, selected: plan.names.len() });
    let incoming = store.incoming().map_err(EvaluateError::Keep)?;
    let CasesDone { finished, evidence, load_errors, warnings } = run_cases(plan, runner, Some(&incoming), emit)?;
    let facts = RunFacts {
        selection: Selection {
            patterns: setting.patterns.clone(),
            cases_in_bench: plan.bench.case_names().len() as u64,
            selected: plan.names.len() as u64,
        },
        lost_usd: setting.live.as_ref().map_or(0.0, |live| live.lost_usd),
        load_errors,
        warnings,
    };
    let (load_errors, skipped) = (facts.load_errors.len(), finished.len());
    let Some(report) = aggregate(finished, facts, &plan.bench.registration.standards.block_modes) else {
        return Err(match skipped {
            0 => EvaluateError::NothingAttempted { load_errors },
            skipped => EvaluateError::NothingAffordable { skipped },
        });
    };
    emit(&Event::Aggregated { task_class, run_id: report.run_id(task_class), report: &report });
    for bytes in [&plan.bench.rubric, &plan.bench.registration_bytes] {
        incoming.keep(bytes).map_err(EvaluateError::Keep)?;
    }
    let receipt = store
        .append(known, task_class, &incoming, |position| record(plan, setting, position, &evidence, &report, clock()))
        .map_err(EvaluateError::Append)?;
    emit(&Event::Recorded(&Recorded {
        path: receipt.path.display().to_string(),
        seq: receipt.link.position.seq,
        // Not what was known before the run: another may have been first.
        chain_begins: receipt.link.position.seq == 1,
    }));
    Ok((report, receipt))
}

/// Answers and scores the cases of a shard, without a store: what is worth keeping is told as [`Event::Answered`].
pub(crate) fn answer_shard(
    plan: &Plan<'_>,
    runner: &dyn RubricRunner,
    emit: &mut dyn FnMut(&Event<'_>),
) -> Result<CasesDone, EvaluateError> {
    let task_class = &plan.bench.registration.task_class;
    emit(&Event::RunStarted { task_class, selected: plan.names.len() });
    Ok(run_cases(plan, runner, None, emit)?)
}

fn record(
    plan: &Plan<'_>,
    setting: &RunSetting,
    position: &Position,
    evidence: &BTreeMap<CaseId, CaseEvidence>,
    report: &BenchRunReport,
    finished_at: UtcMillis,
) -> EvalRunRecord<BenchScore> {
    let bench = plan.bench;
    let digests = |digest: fn(&CaseEvidence) -> Option<Digest>| {
        evidence.iter().map(|(case_id, evidence)| (case_id.clone(), digest(evidence))).collect()
    };
    let answered: Vec<_> = evidence.values().filter_map(|evidence| evidence.answered_by.as_ref()).collect();
    let live = setting.live.as_ref();
    let live_sut = live.map(|live| live.sut.clone());
    EvalRunRecord {
        schema_version: SCHEMA_VERSION,
        schema_minor: SCHEMA_MINOR,
        store_id: position.store_id,
        task_class: position.task_class.clone(),
        seq: position.seq,
        prev_hash: position.prev_hash,
        run_id: report.run_id(&position.task_class),
        mode: if live.is_some() { Mode::Live } else { Mode::Cassette },
        suts: answered.iter().map(|(sut, _)| recorded_sut(sut)).chain(live_sut).collect(),
        output_kinds: answered
            .iter()
            .map(|(_, kind)| output_kind(*kind))
            .chain(live.map(|_| OutputKind::Live))
            .collect::<BTreeSet<_>>(),
        started_at: setting.started_at,
        finished_at,
        started_marker: live.map(|live| live.started_marker),
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        wasmtime_version: WASMTIME_VERSION.to_owned(),
        bench_git_commit: setting.bench_git_commit.clone(),
        rubric_digest: bench.rubric_digest,
        registration_digest: Digest::of(&bench.registration_bytes),
        rubric_world: RUBRIC_WORLD.to_owned(),
        limits: bench.registration.limits.into(),
        block_modes: bench.registration.standards.block_modes.clone(),
        case_digest_set: evidence.iter().map(|(id, evidence)| (id.clone(), evidence.case_digest)).collect(),
        cassette_digest_set: digests(|evidence| evidence.cassette_digest),
        output_digest_set: digests(|evidence| evidence.output_digest),
        budget_usd_set: evidence.iter().map(|(id, evidence)| (id.clone(), evidence.budget_usd)).collect(),
        report: report.clone(),
    }
}

fn recorded_sut(sut: &SutName) -> Sut {
    Sut { name: sut.name.clone(), version: sut.version.clone(), command_digest: None }
}

fn output_kind(kind: CassetteKind) -> OutputKind {
    match kind {
        CassetteKind::Recorded => OutputKind::Recorded,
        CassetteKind::SolvedExample => OutputKind::SolvedExample,
    }
}
