//! From the cases of a run to its committed record: aggregate, chain.
//!
//! A run whose record is not committed has no result, so there is one function with one way to succeed.

use std::collections::BTreeSet;

use eval_evidence::chain::Position;
use eval_evidence::record::{EvalRunRecord, Mode, OutputKind, SCHEMA_MINOR, SCHEMA_VERSION, Sut};
use eval_evidence::store::Receipt;
use eval_evidence::verified::{AnnounceRunError, VerifiedStore};
use eval_model::advice::Exit;
use eval_model::ids::{Digest, RunId};
use eval_model::money::Usd;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, Figures, Report, RunFacts, aggregate};
use eval_model::score::BenchScore;
use eval_model::utc::UtcMillis;
use eval_sandbox::{PRICE_LIST_VERSION, RUBRIC_WORLD, WASMTIME_VERSION};

use super::cases::{AnswerSource, CasesDone, EvidenceOfCases, Run};
use super::error::RunError;
use super::event::{Event, Recorded};

/// What a record says of a live run that only its end can tell.
pub(crate) struct LiveFacts<'a> {
    /// Gives the marker that announced the run. It is asked when the cases are done, so that a run that is put together
    /// from shards is announced only if it can be.
    pub(crate) started_marker: &'a dyn Fn() -> Result<Digest, AnnounceRunError>,
    /// What was charged for agents that were lost with the process that had started them.
    pub(crate) lost_usd: f64,
    /// How many of the shards that it was put together from were announced in other stores.
    pub(crate) shards_elsewhere: u64,
    /// Who answered in the run that it continues.
    pub(crate) continued_suts: BTreeSet<Sut>,
    /// Of how the answers were come by.
    pub(crate) warnings: Vec<String>,
}

/// A run whose record is committed.
#[derive(Debug)]
pub(crate) struct Committed {
    /// What was found. The cases are in the record, and were told one by one.
    pub(crate) figures: Figures,
    pub(crate) run_id: RunId,
    /// The most that one of them cost.
    pub(crate) largest_cost: Usd,
    pub(crate) receipt: Receipt,
    /// As the record has it.
    pub(crate) started_at: UtcMillis,
}

impl Run<'_> {
    /// Scores the cases and commits their record.
    pub(crate) fn commit(
        &self,
        answers: &AnswerSource<'_>,
        store: &VerifiedStore,
        live: Option<&LiveFacts<'_>>,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Committed, RunError> {
        let task_class = &self.description.task_class;
        let incoming = store.writer().incoming().map_err(RunError::Keep)?;
        let CasesDone { finished, evidence, load_errors, warnings } = self.cases(answers, Some(&incoming), emit)?;
        let facts = RunFacts {
            selection: self.description.selection(),
            lost_usd: live.map_or(0.0, |live| live.lost_usd),
            load_errors,
            warnings: live.iter().flat_map(|live| live.warnings.clone()).chain(warnings).collect(),
        };
        let (load_errors, skipped) = (facts.load_errors.len(), finished.len());
        let Some(report) = aggregate(finished, facts, &self.bench.registration.standards.block_modes) else {
            return Err(match skipped {
                0 => RunError::NothingAttempted { load_errors },
                skipped => RunError::NothingAffordable { skipped },
            });
        };
        let run_id = report.run_id(task_class);
        emit(&Event::Aggregated { task_class, run_id, report: &report });
        for bytes in [&self.bench.rubric, &self.bench.registration_bytes] {
            incoming.keep(bytes).map_err(RunError::Keep)?;
        }
        let started_marker = live.map(|live| (live.started_marker)()).transpose().map_err(RunError::Announce)?;
        let announced = (started_marker, live.map_or(0, |live| live.shards_elsewhere));
        let suts = self.suts(&evidence, live);
        let (figures, largest_cost) = (report.figures(), largest_cost(&report));
        let build = |position: &Position| self.record(position, evidence, &suts, report, announced, (self.clock)());
        let known = &store.verification().snapshot;
        let receipt =
            store.writer().append_signed(known, task_class, &incoming, self.signer, build).map_err(RunError::Append)?;
        emit(&Event::Recorded(&Recorded {
            path: receipt.path.display().to_string(),
            seq: receipt.link.position.seq,
            // Not what was known before the run: another may have been first.
            chain_begins: receipt.link.position.seq == 1,
            suts: suts.iter().map(ToString::to_string).collect(),
        }));
        store.remember(&receipt).map_err(RunError::Remember)?;
        Ok(Committed { figures, run_id, largest_cost, receipt, started_at: self.description.started_at })
    }

    /// Who answered, and all who did in the run that this one continues. A live run whose cases nobody was asked has no record.
    fn suts(&self, evidence: &EvidenceOfCases, live: Option<&LiveFacts<'_>>) -> BTreeSet<Sut> {
        let mut suts = Sut::of_answers(evidence.answered_by.clone());
        suts.extend(live.iter().flat_map(|live| live.continued_suts.clone()));
        suts
    }

    fn record(
        &self,
        position: &Position,
        evidence: EvidenceOfCases,
        suts: &BTreeSet<Sut>,
        report: BenchRunReport,
        (started_marker, shards_elsewhere): (Option<Digest>, u64),
        finished_at: UtcMillis,
    ) -> EvalRunRecord<BenchScore> {
        let (run, registration) = (&self.description, &self.bench.registration);
        let live = run.live.as_ref();
        EvalRunRecord {
            schema_version: SCHEMA_VERSION,
            schema_minor: SCHEMA_MINOR,
            store_id: position.store_id,
            task_class: position.task_class.clone(),
            seq: position.seq,
            prev_hash: position.prev_hash,
            run_id: report.run_id(&position.task_class),
            mode: if live.is_some() { Mode::Live } else { Mode::Cassette },
            suts: suts.clone(),
            output_kinds: evidence.kinds.into_iter().chain(live.map(|_| OutputKind::Live)).collect(),
            started_at: run.started_at,
            finished_at,
            started_marker,
            shards_elsewhere,
            continues: live.and_then(|live| live.continues),
            confinement: live.map(|live| live.confinement.clone()),
            max_cost_usd: live.map(|live| live.cap.dollars()),
            harness_version: run.harness_version.clone(),
            wasmtime_version: WASMTIME_VERSION.to_owned(),
            price_list_version: PRICE_LIST_VERSION,
            bench_git_commit: run.bench_commit.as_ref().map(|bench| bench.commit.clone()),
            bench_dirty: run.bench_commit.as_ref().map(|bench| bench.is_dirty),
            rubric_digest: run.rubric_digest,
            registration_digest: run.registration_digest,
            rubric_world: RUBRIC_WORLD.to_owned(),
            limits: registration.limits.into(),
            block_modes: registration.standards.block_modes.clone(),
            case_digest_set: evidence.cases.into_iter().collect(),
            cassette_digest_set: evidence.cassettes.into_iter().collect(),
            output_digest_set: evidence.outputs.into_iter().collect(),
            budget_usd_set: evidence.budgets.into_iter().collect(),
            report,
        }
    }
}

/// The most that a case cost which was not skipped.
fn largest_cost(report: &BenchRunReport) -> Usd {
    let costs = report.cases.iter().filter(|case| case.outcome != OutcomeClass::Skipped);
    costs.filter_map(|case| Usd::from_dollars(case.score.cost_usd())).max().unwrap_or(Usd::ZERO)
}

/// The exit code of a run whose record is committed.
pub(crate) fn exit_of<C>(report: &Report<C>) -> Exit {
    let count = |class| report.outcomes.get(&class).copied().unwrap_or(0);
    if report.had_load_errors || count(OutcomeClass::HarnessFault) > 0 {
        Exit::HarnessError
    } else if report.aborted {
        Exit::UsageOrCap
    } else if report.passed_count < report.attempted || !report.block_severity_failure_modes.is_empty() {
        Exit::AnswerIsNo
    } else {
        Exit::Ok
    }
}
