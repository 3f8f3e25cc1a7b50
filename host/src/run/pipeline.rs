//! The order of the stages for the cases of a run: open → read and digest → answer → score → admit, on as many threads as
//! asked, with the results in the order of the case ids whatever the threads do.
//!
//! It prints nothing and names neither the clock nor the sandbox: time comes in as a date, the rubric as a [`RubricRunner`],
//! and all that happened goes out as events. One case is in memory per thread; what is kept of it is its result.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use jiff::civil::Date;

use eval_evidence::files::Dir;
use eval_evidence::store::{IncomingObjects, KeepObjectError};
use eval_model::case::ReadCase;
use eval_model::contract::{RubricRunner, RunnerError};
use eval_model::ids::{CaseId, Digest};
use eval_model::judge::{Judgement, judge, streams_object};
use eval_model::outcome::NoOutput;
use eval_model::report::{CaseResult, FinishedCase, LoadErrorEntry};
use eval_model::workers::in_order;

use super::event::Event;
use crate::answers::{
    Answer, Cassette, CassetteError, CassetteKind, CassetteOrigin, Sourced, StoredAnswer, SutName, read_cassette,
};
use crate::bench::{Bench, InputRoot, LoadedCase};
use crate::live::live_run::{LiveRun, LiveRunError};

/// Days after which a case should be looked at again.
const STALE_AFTER_DAYS: i32 = 90;

/// Where the cassettes of a run lie.
#[derive(Debug)]
pub(crate) enum CassetteSource {
    /// Each case's own.
    Default,
    /// `<folder>/<case-id>.json`.
    Folder(Dir),
}

/// Where the answers of a run come from.
#[derive(Debug)]
pub(crate) enum AnswerSource<'a> {
    Cassettes {
        source: CassetteSource,
        /// Makes a stale cassette a fault.
        strict: bool,
    },
    Live(&'a LiveRun<'a>),
    /// What the shards of a run answered.
    Stored(&'a BTreeMap<CaseId, StoredAnswer>),
}

/// What a run does.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) bench: &'a Bench,
    /// The selected names below `cases/`, sorted.
    pub(crate) names: Vec<String>,
    pub(crate) input_root: &'a InputRoot,
    pub(crate) answers: AnswerSource<'a>,
    /// Whether the answers are told as events, for somebody who keeps them.
    pub(crate) tell_answers: bool,
    pub(crate) concurrency: NonZeroUsize,
    pub(crate) today: Date,
}

/// What the record says of a case besides its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CaseEvidence {
    pub(crate) case_digest: Digest,
    pub(crate) cassette_digest: Option<Digest>,
    pub(crate) output_digest: Option<Digest>,
    /// What its agent was told that it may spend.
    pub(crate) budget_usd: Option<f64>,
    pub(crate) answered_by: Option<(SutName, CassetteKind)>,
}

/// All that the cases of a run gave, before it is aggregated.
#[derive(Debug, Default)]
pub(crate) struct CasesDone {
    pub(crate) finished: Vec<FinishedCase>,
    pub(crate) evidence: BTreeMap<CaseId, CaseEvidence>,
    pub(crate) load_errors: Vec<LoadErrorEntry>,
    /// Deterministic warnings, which go into the report.
    pub(crate) warnings: Vec<String>,
}

/// How one case ended.
struct CaseEnd {
    end: Result<(FinishedCase, CaseEvidence), LoadErrorEntry>,
    answer: Option<StoredAnswer>,
    /// Facts about the bench, which go into the report.
    warnings: Vec<String>,
    /// What depends on today's date, and so must not reach the report.
    reminders: Vec<String>,
}

/// Why the cases of a run were not all taken to their ends.
#[derive(Debug)]
pub(crate) enum RunCasesError {
    /// Evidence cannot be kept: without evidence there is no result.
    Keep(KeepObjectError),
    Live(LiveRunError),
    /// A case could not be scored here: what this machine lacks is no fault of the case.
    Runner {
        case_id: CaseId,
        error: RunnerError,
    },
}

/// Runs every selected case. What a record names is kept in `objects`, if there is a record to be.
pub(crate) fn run_cases(
    plan: &Plan<'_>,
    runner: &dyn RubricRunner,
    objects: Option<&IncomingObjects<'_>>,
    emit: &mut dyn FnMut(&Event<'_>),
) -> Result<CasesDone, RunCasesError> {
    let worker = CaseWorker { plan, runner, objects };
    let mut done = CasesDone::default();
    let run = |index, name: &String| worker.run(index, name);
    in_order(plan.concurrency, &plan.names, run, is_worse, |end| done.take(end, emit))?;
    Ok(done)
}

/// The first failure is told, unless it is an interruption: a worker that finds the run broken says that it was interrupted.
fn is_worse(_: &RunCasesError, first: &RunCasesError) -> bool {
    matches!(first, RunCasesError::Live(LiveRunError::Interrupted))
}

impl CasesDone {
    fn take(&mut self, case: CaseEnd, emit: &mut dyn FnMut(&Event<'_>)) {
        for warning in case.warnings.iter().chain(&case.reminders) {
            emit(&Event::Warning(warning));
        }
        self.warnings.extend(case.warnings);
        if let Some(answer) = &case.answer {
            emit(&Event::Answered(answer));
        }
        match case.end {
            Ok((finished, evidence)) => {
                emit(&Event::CaseFinished(&finished.result));
                self.evidence.insert(finished.result.case_id.clone(), evidence);
                self.finished.push(finished);
            }
            Err(entry) => {
                emit(&Event::LoadError(&entry));
                self.load_errors.push(entry);
            }
        }
    }
}

/// Why a case has no answer that could be scored, not even a fault.
enum NoAnswer {
    NotLoaded(LoadErrorEntry),
    Live(LiveRunError),
}

/// What a thread needs to take cases through the stages.
struct CaseWorker<'a> {
    plan: &'a Plan<'a>,
    runner: &'a dyn RubricRunner,
    objects: Option<&'a IncomingObjects<'a>>,
}

impl CaseWorker<'_> {
    fn run(&self, index: usize, name: &str) -> Result<CaseEnd, RunCasesError> {
        let _turn = match &self.plan.answers {
            AnswerSource::Live(live_run) => Some(live_run.turn(index)),
            AnswerSource::Cassettes { .. } | AnswerSource::Stored(_) => None,
        };
        let not_loaded = |entry| CaseEnd { end: Err(entry), answer: None, warnings: Vec::new(), reminders: Vec::new() };
        let case = match self.plan.bench.read_case(name, self.plan.input_root) {
            Ok(case) => case,
            Err(entry) => return Ok(not_loaded(entry)),
        };
        let sourced = match self.answer(index, &case) {
            Ok(sourced) => sourced,
            Err(NoAnswer::NotLoaded(entry)) => return Ok(not_loaded(entry)),
            Err(NoAnswer::Live(error)) => return Err(RunCasesError::Live(error)),
        };
        let read = &case.read;
        let tell = self.plan.tell_answers;
        let answer = tell.then(|| StoredAnswer::new(&read.case.case_id, read.case_digest, &sourced));
        self.keep_case(read)?;
        let finished = self.judge(read, &sourced)?;
        let output = sourced.answer.output.as_ref().ok();
        let evidence = CaseEvidence {
            case_digest: read.case_digest,
            cassette_digest: sourced.cassette.as_ref().map(|cassette| cassette.digest),
            output_digest: output.map(|json| self.keep(json.as_bytes())).transpose()?,
            budget_usd: sourced.answer.budget_usd,
            answered_by: sourced.cassette.map(|cassette| (cassette.sut, cassette.kind)),
        };
        let reminders = validation_reminder(&case, self.plan.today).into_iter().collect();
        Ok(CaseEnd { end: Ok((finished, evidence)), answer, warnings: sourced.warnings, reminders })
    }

    fn keep_case(&self, case: &ReadCase) -> Result<(), RunCasesError> {
        for bytes in case.files.values() {
            self.keep(bytes)?;
        }
        self.keep(&case.manifest).map(drop)
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, RunCasesError> {
        match self.objects {
            Some(objects) => objects.keep(bytes).map_err(RunCasesError::Keep),
            None => Ok(Digest::of(bytes)),
        }
    }

    fn answer(&self, index: usize, case: &LoadedCase) -> Result<Sourced, NoAnswer> {
        match &self.plan.answers {
            AnswerSource::Cassettes { source, strict } => {
                self.replay(source, *strict, case).map_err(NoAnswer::NotLoaded)
            }
            AnswerSource::Live(run) => run.answer(index, &case.read).map_err(NoAnswer::Live),
            AnswerSource::Stored(answers) => {
                let case_id = &case.read.case.case_id;
                let stored = answers.get(case_id).cloned();
                let missing = || {
                    self.plan.bench.load_error_entry(
                        case_id.as_str(),
                        String::new(),
                        "no bundle has an answer for it".to_owned(),
                    )
                };
                stored.map(StoredAnswer::into_sourced).ok_or_else(|| NoAnswer::NotLoaded(missing()))
            }
        }
    }

    fn replay(&self, source: &CassetteSource, strict: bool, case: &LoadedCase) -> Result<Sourced, LoadErrorEntry> {
        let name = case.read.case.case_id.as_str();
        let (read, pin) = match (source, &case.file.cassette) {
            (CassetteSource::Folder(cassettes), _) => (read_cassette(cassettes, &format!("{name}.json")), None),
            (CassetteSource::Default, Some(pin)) => (read_cassette(&case.folder, &pin.file_name), pin.blake3),
            (CassetteSource::Default, None) => (read_cassette(&case.folder, "cassette.json"), None),
        };
        match read {
            Ok(cassette) => Ok(check_cassette(cassette, pin, strict, &case.read)),
            Err(CassetteError::File(error)) if error.is_missing() => {
                let answer = Answer::none(NoOutput::CassetteMissing);
                Ok(Sourced { answer, cassette: None, warnings: Vec::new() })
            }
            Err(CassetteError::File(error)) => Err(self.plan.bench.load_error(name, &error)),
            Err(CassetteError::Malformed { file_name, message }) => {
                Err(self.plan.bench.load_error_entry(name, file_name, message))
            }
        }
    }

    fn judge(&self, case: &ReadCase, sourced: &Sourced) -> Result<FinishedCase, RunCasesError> {
        let meter = sourced.answer.meter;
        let judged = match &sourced.answer.output {
            Ok(output_json) => {
                let block = &self.plan.bench.registration.standards.block_modes;
                let failed = |error| RunCasesError::Runner { case_id: case.case.case_id.clone(), error };
                judge(self.runner, case, output_json, meter, block).map_err(failed)?
            }
            Err(reason) => Judgement::without_output(reason.clone(), meter),
        };
        let keep = |log: Option<Vec<u8>>| log.map(|log| self.keep(&log)).transpose();
        // What a cassette cost was paid when it was made.
        let (spent_usd, recorded_usd) =
            if sourced.cassette.is_some() { (0.0, meter.cost_usd) } else { (meter.cost_usd, 0.0) };
        Ok(FinishedCase {
            result: CaseResult {
                case_id: case.case.case_id.clone(),
                outcome: judged.outcome(),
                logs_digest: keep(judged.log_object())?,
                // A replay cannot make an agent's words again, so they are an object of their own.
                agent_log_digest: keep(streams_object(&[("stderr", &sourced.answer.stderr)]))?,
                score: judged.score,
                fuel_used: judged.fuel_used,
                peak_memory_bytes: judged.peak_memory_bytes,
                cost_is_estimate: sourced.answer.cost_is_estimate,
            },
            spent_usd,
            recorded_usd,
        })
    }
}

/// A cassette made for other input, or with other bytes than its pin says, is a warning; strictly, it is a fault.
fn check_cassette(cassette: Cassette, pin: Option<Digest>, strict: bool, case: &ReadCase) -> Sourced {
    let case_id = &case.case.case_id;
    let mut warnings = Vec::new();
    if cassette.input_digest != case.input_digest {
        warnings.push(format!("{case_id}: the cassette is stale: it was made for other input"));
    }
    if pin.is_some_and(|pin| pin != cassette.digest) {
        warnings.push(format!("{case_id}: the cassette does not match cassette_blake3"));
    }
    let Cassette { digest, sut, kind, mut answer, .. } = cassette;
    if strict && !warnings.is_empty() {
        answer.output = Err(NoOutput::CassetteStale);
    }
    Sourced { answer, cassette: Some(CassetteOrigin { digest, sut, kind }), warnings }
}

fn validation_reminder(case: &LoadedCase, today: Date) -> Option<String> {
    let since = case.file.last_validated_at;
    let days = since.until(today).map_or(0, |span| span.get_days());
    (days > STALE_AFTER_DAYS).then(|| {
        format!("{}: last validated {days} days ago, on {since}: check that it still holds", case.file.case.case_id)
    })
}
