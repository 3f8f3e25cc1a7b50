//! The way of one case through a run: read and digest → answer → judge, on as many threads as asked, with the results in the
//! order of the case ids whatever the threads do.
//!
//! It prints nothing and names neither the clock nor the sandbox: time comes in as a function, the rubric as a
//! [`RubricRunner`], and all that happened goes out as events. One case is in memory per thread; what is kept of it is its result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;

use jiff::civil::Date;

use eval_evidence::anchor::NoteSigner;
use eval_evidence::cassette::Cassette;
use eval_evidence::files::Dir;
use eval_evidence::record::{OutputKind, Sut};
use eval_evidence::store::IncomingObjects;
use eval_model::case::ReadCase;
use eval_model::contract::{CapturedStream, RubricRunner};
use eval_model::ids::{CaseId, Digest};
use eval_model::judge::{Judgement, judge, streams_object};
use eval_model::outcome::{NoOutput, OutcomeClass};
use eval_model::report::{CaseResult, FinishedCase, LoadErrorEntry};
use eval_model::utc::UtcMillis;
use eval_model::workers::{Taken, in_order};

use super::error::RunError;
use super::event::Event;
use crate::answers::{Answer, CassetteError, ObtainedAnswer, StoredAnswer, read_cassette};
use crate::bench::{Bench, InputRoot, LoadedCase};
use crate::description::RunDescription;
use crate::live::live_run::{LiveRun, LiveRunError};

/// Days after which a case should be looked at again.
const STALE_AFTER_DAYS: i64 = 90;

const HOURS_PER_DAY: i64 = 24;

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

/// A run that is ready to take its cases through the stages.
#[derive(Clone)]
pub(crate) struct Run<'a> {
    pub(crate) description: RunDescription,
    pub(crate) bench: &'a Bench,
    pub(crate) input_root: &'a InputRoot,
    pub(crate) rubric: &'a dyn RubricRunner,
    /// How many cases are worked on at once.
    pub(crate) concurrency: NonZeroUsize,
    pub(crate) clock: &'a (dyn Fn() -> UtcMillis + Sync),
    /// Whoever has the key vouches for the record.
    pub(crate) signer: Option<&'a NoteSigner>,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("description", &self.description)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// What the record says of a case besides its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CaseEvidence {
    pub(crate) case_digest: Digest,
    pub(crate) cassette_digest: Option<Digest>,
    pub(crate) output_digest: Option<Digest>,
    /// What its agent was told that it may spend.
    pub(crate) budget_usd: Option<f64>,
    /// `None` for a case that nobody was asked.
    pub(crate) answered_by: Option<AnsweredBy>,
}

/// Whoever was asked for a case's answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnsweredBy {
    pub(crate) sut: Sut,
    pub(crate) kind: OutputKind,
    /// What was answered, also if the run did not score it.
    pub(crate) output: Option<Digest>,
}

/// The same of all cases of a run, in their order, as a record has it.
#[derive(Debug, Default)]
pub(crate) struct EvidenceOfCases {
    pub(crate) cases: Vec<(CaseId, Digest)>,
    pub(crate) cassettes: Vec<(CaseId, Option<Digest>)>,
    pub(crate) outputs: Vec<(CaseId, Option<Digest>)>,
    pub(crate) budgets: Vec<(CaseId, Option<f64>)>,
    /// Who answered, with an output of each, or with none.
    pub(crate) answered_by: BTreeMap<Sut, Option<Digest>>,
    pub(crate) kinds: BTreeSet<OutputKind>,
}

impl EvidenceOfCases {
    fn add(&mut self, case_id: &CaseId, case: CaseEvidence) {
        self.cases.push((case_id.clone(), case.case_digest));
        self.cassettes.push((case_id.clone(), case.cassette_digest));
        self.outputs.push((case_id.clone(), case.output_digest));
        self.budgets.push((case_id.clone(), case.budget_usd));
        if let Some(answered) = case.answered_by {
            self.kinds.insert(answered.kind);
            let output = self.answered_by.entry(answered.sut).or_default();
            *output = output.or(answered.output);
        }
    }
}

/// All that the cases of a run gave, before it is aggregated.
#[derive(Debug, Default)]
pub(crate) struct CasesDone {
    pub(crate) finished: Vec<FinishedCase>,
    pub(crate) evidence: EvidenceOfCases,
    pub(crate) load_errors: Vec<LoadErrorEntry>,
    /// Deterministic warnings, which go into the report.
    pub(crate) warnings: Vec<String>,
}

/// How one case ended.
struct CaseEnd {
    end: Result<(FinishedCase, CaseEvidence), LoadErrorEntry>,
    /// What a live agent wrote to stderr.
    agent_said: CapturedStream,
    answer: Option<StoredAnswer>,
    /// Facts about the bench, which go into the report.
    warnings: Vec<String>,
    /// What depends on today's date, and so must not reach the report.
    reminders: Vec<String>,
}

impl Run<'_> {
    /// Takes every case of the run to its end. What a record names is kept in `objects`, if there is a record to be.
    pub(super) fn cases(
        &self,
        answers: &AnswerSource<'_>,
        objects: Option<&IncomingObjects<'_>>,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> Result<CasesDone, RunError> {
        let names = self.description.names();
        emit(&Event::RunStarted { task_class: &self.description.task_class, selected: names.len() });
        let worker = CaseWorker { run: self, answers, objects, today: (self.clock)().date() };
        let mut done = CasesDone::default();
        let work = |place, name: &String| worker.run(place, name);
        in_order(self.concurrency, &names, work, is_worse, |taken| match taken {
            Taken::Result(end) => done.take(end, emit),
            Taken::AllForNow => emit(&Event::Pause),
        })?;
        Ok(done)
    }
}

/// The first failure is told, unless it is an interruption: a worker that finds the run broken says that it was interrupted.
fn is_worse(_: &RunError, first: &RunError) -> bool {
    matches!(first, RunError::Live(LiveRunError::Interrupted))
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
                if finished.result.outcome == OutcomeClass::SutFault {
                    emit(&Event::AgentSaid(&case.agent_said));
                }
                self.evidence.add(&finished.result.case_id, evidence);
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
    Failed(RunError),
}

/// What a thread needs to take cases through the stages.
struct CaseWorker<'a> {
    run: &'a Run<'a>,
    answers: &'a AnswerSource<'a>,
    objects: Option<&'a IncomingObjects<'a>>,
    today: Date,
}

impl CaseWorker<'_> {
    /// Takes the case with this place in the order of the run to its end.
    fn run(&self, place: usize, name: &str) -> Result<CaseEnd, RunError> {
        let _turn = match self.answers {
            AnswerSource::Live(live_run) => Some(live_run.turn(place)),
            AnswerSource::Cassettes { .. } | AnswerSource::Stored(_) => None,
        };
        let not_loaded = |entry| CaseEnd {
            end: Err(entry),
            agent_said: CapturedStream::default(),
            answer: None,
            warnings: Vec::new(),
            reminders: Vec::new(),
        };
        let case = match self.run.bench.read_case(name, self.run.input_root) {
            Ok(case) => case,
            Err(entry) => return Ok(not_loaded(entry)),
        };
        let obtained = match self.answer(place, &case) {
            Ok(obtained) => obtained,
            Err(NoAnswer::NotLoaded(entry)) => return Ok(not_loaded(entry)),
            Err(NoAnswer::Failed(error)) => return Err(error),
        };
        let read = &case.read;
        let is_part = self.run.description.shard.is_some();
        let answer = is_part.then(|| StoredAnswer::new(&read.case.case_id, read.case_digest, &obtained));
        self.keep_case(read)?;
        let finished = self.judge(read, &obtained)?;
        if let AnswerSource::Live(live_run) = self.answers {
            live_run.check_outcome(&read.case.case_id, finished.result.outcome).map_err(RunError::Live)?;
        }
        let output = obtained.answer.output.as_ref().ok();
        let evidence = CaseEvidence {
            case_digest: read.case_digest,
            cassette_digest: self.keep_cassette(obtained.cassette.as_ref())?,
            output_digest: output.map(|json| self.keep(json.as_bytes())).transpose()?,
            budget_usd: obtained.answer.budget_usd,
            answered_by: self.answered_by(&obtained),
        };
        let reminders = validation_reminder(&case, self.today).into_iter().collect();
        Ok(CaseEnd {
            end: Ok((finished, evidence)),
            agent_said: obtained.answer.stderr,
            answer,
            warnings: obtained.warnings,
            reminders,
        })
    }

    fn answered_by(&self, obtained: &ObtainedAnswer) -> Option<AnsweredBy> {
        if let Some(cassette) = &obtained.cassette {
            let (sut, kind, output) = (cassette.sut.clone().into(), cassette.kind.into(), cassette.output_digest());
            return Some(AnsweredBy { sut, kind, output });
        }
        let (live, answer) = (self.run.description.live.as_ref()?, &obtained.answer);
        let output = match &answer.output {
            Ok(json) => Some(Digest::of(json.as_bytes())),
            Err(reason) if reason.mode().class() == OutcomeClass::SutFault => None,
            Err(_) => return None,
        };
        let sut = answer.agent.as_ref().map_or_else(|| live.sut.clone(), |agent| agent.of(&live.sut));
        Some(AnsweredBy { sut, kind: OutputKind::Live, output })
    }

    fn keep_case(&self, case: &ReadCase) -> Result<(), RunError> {
        for (digest, bytes) in case.contents() {
            self.keep_as(digest, bytes)?;
        }
        self.keep_as(case.case_digest, &case.manifest)
    }

    /// What a replayed answer came from is evidence of who gave it.
    fn keep_cassette(&self, cassette: Option<&Cassette>) -> Result<Option<Digest>, RunError> {
        let keep =
            |cassette: &Cassette| self.keep_as(cassette.digest, cassette.text().as_bytes()).map(|()| cassette.digest);
        cassette.map(keep).transpose()
    }

    fn keep_as(&self, digest: Digest, bytes: &[u8]) -> Result<(), RunError> {
        self.objects.map_or(Ok(()), |objects| objects.keep_as(digest, bytes).map_err(RunError::Keep))
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, RunError> {
        match self.objects {
            Some(objects) => objects.keep(bytes).map_err(RunError::Keep),
            None => Ok(Digest::of(bytes)),
        }
    }

    fn answer(&self, place: usize, case: &LoadedCase) -> Result<ObtainedAnswer, NoAnswer> {
        match self.answers {
            AnswerSource::Cassettes { source, strict } => {
                self.replay(source, *strict, case).map_err(NoAnswer::NotLoaded)
            }
            AnswerSource::Live(live_run) => {
                live_run.answer(place, &case.read).map_err(|error| NoAnswer::Failed(RunError::Live(error)))
            }
            AnswerSource::Stored(answers) => self.stored(answers, &case.read),
        }
    }

    /// The answer that a shard gave, which must be to the files that the case has.
    fn stored(&self, answers: &BTreeMap<CaseId, StoredAnswer>, case: &ReadCase) -> Result<ObtainedAnswer, NoAnswer> {
        let case_id = &case.case.case_id;
        match answers.get(case_id) {
            Some(stored) if stored.case_digest == case.case_digest => Ok(stored.clone().into_obtained()),
            Some(_) => Err(NoAnswer::Failed(RunError::AnswersOtherFiles { case_id: case_id.clone() })),
            None => {
                let message = "no answer set has an answer to it".to_owned();
                let entry = self.run.bench.load_error_entry(case_id.as_str(), String::new(), message);
                Err(NoAnswer::NotLoaded(entry))
            }
        }
    }

    fn replay(
        &self,
        source: &CassetteSource,
        strict: bool,
        case: &LoadedCase,
    ) -> Result<ObtainedAnswer, LoadErrorEntry> {
        let name = case.read.case.case_id.as_str();
        let (read, pin) = match source {
            CassetteSource::Folder(cassettes) => (read_cassette(cassettes, &format!("{name}.json")), None),
            CassetteSource::Default => {
                let pin = case.file.cassette.as_ref().and_then(|pin| pin.blake3);
                (read_cassette(&case.folder, case.file.cassette_name()), pin)
            }
        };
        match read {
            Ok(cassette) => Ok(check_cassette(cassette, pin, strict, &case.read)),
            Err(CassetteError::File(error)) if error.is_missing() => {
                let answer = Answer::none(NoOutput::CassetteMissing);
                Ok(ObtainedAnswer { answer, cassette: None, warnings: Vec::new() })
            }
            Err(CassetteError::File(error)) => Err(self.run.bench.load_error(name, &error)),
            Err(CassetteError::Malformed { file_name, source }) => {
                Err(self.run.bench.load_error_entry(name, file_name, source.to_string()))
            }
        }
    }

    fn judge(&self, case: &ReadCase, obtained: &ObtainedAnswer) -> Result<FinishedCase, RunError> {
        let meter = obtained.answer.meter;
        let judged = match &obtained.answer.output {
            Ok(output_json) => {
                let block = &self.run.bench.registration.standards.block_modes;
                let failed = |error| RunError::Runner { case_id: case.case.case_id.clone(), error };
                judge(self.run.rubric, case, output_json, meter, block).map_err(failed)?
            }
            Err(reason) => Judgement::without_output(reason.clone(), meter),
        };
        let keep = |log: Option<Vec<u8>>| log.map(|log| self.keep(&log)).transpose();
        // What a cassette cost was paid when it was made.
        let (spent_usd, recorded_usd) =
            if obtained.cassette.is_some() { (0.0, meter.cost_usd) } else { (meter.cost_usd, 0.0) };
        Ok(FinishedCase {
            result: CaseResult {
                case_id: case.case.case_id.clone(),
                outcome: judged.outcome(),
                logs_digest: keep(judged.log_object())?,
                // A replay cannot make an agent's words again, so they are an object of their own.
                agent_log_digest: keep(streams_object(&[("stderr", &obtained.answer.stderr)]))?,
                score: judged.score,
                fuel_used: judged.fuel_used,
                peak_memory_bytes: judged.peak_memory_bytes,
                cost_is_estimate: obtained.answer.cost_is_estimate,
            },
            spent_usd,
            recorded_usd,
        })
    }
}

/// A cassette made for other input, or with other bytes than its pin says, is a warning; strictly, it is a fault.
fn check_cassette(cassette: Cassette, pin: Option<Digest>, strict: bool, case: &ReadCase) -> ObtainedAnswer {
    let case_id = &case.case.case_id;
    let mut warnings = Vec::new();
    if cassette.input_digest != case.input_digest {
        warnings.push(format!("{case_id}: the cassette is stale: it was made for other input"));
    }
    if pin.is_some_and(|pin| pin != cassette.digest) {
        warnings.push(format!("{case_id}: the cassette does not match cassette_blake3"));
    }
    let is_refused = strict && !warnings.is_empty();
    let output = if is_refused { Err(NoOutput::CassetteStale) } else { cassette.output.clone() };
    ObtainedAnswer { answer: Answer::new(output, cassette.meter), cassette: Some(cassette), warnings }
}

fn validation_reminder(case: &LoadedCase, today: Date) -> Option<String> {
    let since = case.file.last_validated_at;
    let days = since.duration_until(today).as_hours() / HOURS_PER_DAY;
    (days > STALE_AFTER_DAYS).then(|| {
        format!("{}: last validated {days} days ago, on {since}: check that it still holds", case.file.case.case_id)
    })
}
