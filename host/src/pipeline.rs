//! The order of the stages for the cases of a run: open → read and digest → answer → score → admit, on as many threads as
//! asked, with the results in the order of the case ids whatever the threads do.
//!
//! It prints nothing and names neither the clock nor the sandbox: time comes in as a date, the rubric as a [`RubricRunner`],
//! and all that happened goes out as events. One case is in memory per thread; what is kept of it is its result.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use jiff::civil::Date;

use crate::bench::{Bench, CaseFolder};
use crate::contract::{CapturedStream, RubricFault, RubricRunner, RunnerError, ScoreRequest, Scored, TrapKind};
use crate::event::Event;
use crate::files::Folder;
use crate::ids::{CaseId, Digest};
use crate::live_run::{LiveRun, LiveRunError};
use crate::report::{CaseResult, FinishedCase, LoadErrorEntry};
use crate::score::{BenchScore, CaseFault, OutcomeClass};
use crate::stage::{InputRoot, StagedCase, stage};
use crate::sut::{
    Answer, Cassette, CassetteError, CassetteKind, CassetteOrigin, Sourced, StoredAnswer, SutName, read_cassette,
};

/// Days after which a case should be looked at again.
const STALE_AFTER_DAYS: i32 = 90;

/// Where the bytes that a record names are kept.
pub(crate) trait ObjectSink: Sync {
    type Error: Send;

    /// Keeps the bytes under their BLAKE3. They need to be durable only when the record is written.
    fn keep(&self, bytes: &[u8]) -> Result<Digest, Self::Error>;
}

/// Where the cassettes of a run lie.
#[derive(Debug)]
pub(crate) enum CassetteSource {
    /// Each case's own.
    Default,
    /// `<folder>/<case-id>.json`.
    Folder(Folder),
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseEvidence {
    pub(crate) case_digest: Digest,
    pub(crate) cassette_digest: Option<Digest>,
    pub(crate) output_digest: Option<Digest>,
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
pub(crate) enum RunCasesError<E> {
    /// Evidence cannot be kept: without evidence there is no result.
    Keep(E),
    Live(LiveRunError),
    /// A case could not be scored here: what this machine lacks is no fault of the case.
    Runner {
        case_id: CaseId,
        error: RunnerError,
    },
}

/// Runs every selected case.
pub(crate) fn run_cases<S: ObjectSink>(
    plan: &Plan<'_>,
    runner: &dyn RubricRunner,
    sink: &S,
    emit: &mut dyn FnMut(&Event<'_>),
) -> Result<CasesDone, RunCasesError<S::Error>> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let failure = Mutex::new(None);
    let mut done = CasesDone::default();
    thread::scope(|scope| {
        for _ in 0..plan.concurrency.get().min(plan.names.len()) {
            let (sender, next, failure) = (sender.clone(), &next, &failure);
            scope.spawn(move || {
                let worker = CaseWorker { plan, runner, sink };
                while let Some((index, name)) = take_next(next, &plan.names) {
                    match worker.run(index, name) {
                        Ok(end) => {
                            let _ = sender.send((index, end));
                        }
                        Err(error) => {
                            next.store(plan.names.len(), Ordering::Relaxed);
                            note_failure(&mut failure.lock().expect("no worker panics while it holds the lock"), error);
                        }
                    }
                }
            });
        }
        drop(sender);
        collect_in_order(&receiver, &mut done, emit);
    });
    match failure.into_inner().expect("no worker panicked") {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

/// Keeps the first failure, but for an interruption: a worker that finds the run broken says that it was interrupted.
fn note_failure<E>(first: &mut Option<RunCasesError<E>>, error: RunCasesError<E>) {
    if matches!(first, None | Some(RunCasesError::Live(LiveRunError::Interrupted))) {
        *first = Some(error);
    }
}

fn take_next<'a>(next: &AtomicUsize, names: &'a [String]) -> Option<(usize, &'a String)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    names.get(index).map(|name| (index, name))
}

/// Holds back what finished early, so that everything downstream sees the cases in order.
fn collect_in_order(
    receiver: &mpsc::Receiver<(usize, CaseEnd)>,
    done: &mut CasesDone,
    emit: &mut dyn FnMut(&Event<'_>),
) {
    let mut early = BTreeMap::new();
    let mut due = 0;
    for (index, end) in receiver {
        early.insert(index, end);
        while let Some(end) = early.remove(&due) {
            done.take(end, emit);
            due += 1;
        }
    }
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
struct CaseWorker<'a, S> {
    plan: &'a Plan<'a>,
    runner: &'a dyn RubricRunner,
    sink: &'a S,
}

impl<S: ObjectSink> CaseWorker<'_, S> {
    fn run(&self, index: usize, name: &str) -> Result<CaseEnd, RunCasesError<S::Error>> {
        let bench = self.plan.bench;
        let _turn = match &self.plan.answers {
            AnswerSource::Live(live_run) => Some(live_run.turn(index)),
            AnswerSource::Cassettes { .. } | AnswerSource::Stored(_) => None,
        };
        let not_loaded = |entry| CaseEnd { end: Err(entry), answer: None, warnings: Vec::new(), reminders: Vec::new() };
        let folder = match bench.open_case(name) {
            Ok(folder) => folder,
            Err(entry) => return Ok(not_loaded(entry)),
        };
        let staged = match stage(&folder, self.plan.input_root) {
            Ok(staged) => staged,
            Err(error) => return Ok(not_loaded(bench.load_error(name, &error))),
        };
        let sourced = match self.answer(index, &folder, &staged) {
            Ok(sourced) => sourced,
            Err(NoAnswer::NotLoaded(entry)) => return Ok(not_loaded(entry)),
            Err(NoAnswer::Live(error)) => return Err(RunCasesError::Live(error)),
        };
        let tell = self.plan.tell_answers;
        let answer = tell.then(|| StoredAnswer::new(&staged.case.case_id, staged.case_digest, &sourced));
        let (finished, output_digest) = self.score_and_keep(&staged, &sourced)?;
        let evidence = CaseEvidence {
            case_digest: staged.case_digest,
            cassette_digest: sourced.cassette.as_ref().map(|cassette| cassette.digest),
            output_digest,
            answered_by: sourced.cassette.map(|cassette| (cassette.sut, cassette.kind)),
        };
        let reminders = validation_reminder(&folder, self.plan.today).into_iter().collect();
        Ok(CaseEnd { end: Ok((finished, evidence)), answer, warnings: sourced.warnings, reminders })
    }

    fn score_and_keep(
        &self,
        staged: &StagedCase,
        sourced: &Sourced,
    ) -> Result<(FinishedCase, Option<Digest>), RunCasesError<S::Error>> {
        for bytes in staged.files.values() {
            self.keep(bytes)?;
        }
        self.keep(&staged.manifest)?;
        let finished = self.score(staged, sourced)?;
        let output = sourced.answer.output.as_ref().ok();
        Ok((finished, output.map(|json| self.keep(json.as_bytes())).transpose()?))
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest, RunCasesError<S::Error>> {
        self.sink.keep(bytes).map_err(RunCasesError::Keep)
    }

    fn answer(&self, index: usize, folder: &CaseFolder, staged: &StagedCase) -> Result<Sourced, NoAnswer> {
        match &self.plan.answers {
            AnswerSource::Cassettes { source, strict } => {
                self.replay(source, *strict, folder, staged).map_err(NoAnswer::NotLoaded)
            }
            AnswerSource::Live(run) => run.answer(index, staged).map_err(NoAnswer::Live),
            AnswerSource::Stored(answers) => {
                let stored = answers.get(&staged.case.case_id).cloned();
                let missing = || {
                    self.plan.bench.load_error_entry(
                        staged.case.case_id.as_str(),
                        String::new(),
                        "no bundle has an answer for it".to_owned(),
                    )
                };
                stored.map(StoredAnswer::into_sourced).ok_or_else(|| NoAnswer::NotLoaded(missing()))
            }
        }
    }

    fn replay(
        &self,
        source: &CassetteSource,
        strict: bool,
        folder: &CaseFolder,
        staged: &StagedCase,
    ) -> Result<Sourced, LoadErrorEntry> {
        let name = staged.case.case_id.as_str();
        let (read, pin) = match (source, &folder.file.cassette) {
            (CassetteSource::Folder(cassettes), _) => (read_cassette(cassettes, &format!("{name}.json")), None),
            (CassetteSource::Default, Some(pin)) => (read_cassette(&folder.folder, &pin.file_name), pin.blake3),
            (CassetteSource::Default, None) => (read_cassette(&folder.folder, "cassette.json"), None),
        };
        match read {
            Ok(cassette) => Ok(check_cassette(cassette, pin, strict, staged)),
            Err(CassetteError::File(error)) if error.is_missing() => {
                let answer = Answer::none(CaseFault::CassetteMissing);
                Ok(Sourced { answer, cassette: None, warnings: Vec::new() })
            }
            Err(CassetteError::File(error)) => Err(self.plan.bench.load_error(name, &error)),
            Err(CassetteError::Malformed { file_name, message }) => {
                Err(self.plan.bench.load_error_entry(name, file_name, message))
            }
        }
    }

    fn score(&self, staged: &StagedCase, sourced: &Sourced) -> Result<FinishedCase, RunCasesError<S::Error>> {
        let meter = sourced.answer.meter;
        let block = &self.plan.bench.registration.block_modes;
        let (verdict, scored) = match &sourced.answer.output {
            Ok(output_json) => {
                let request = ScoreRequest {
                    case: &staged.case,
                    case_digest: staged.case_digest,
                    files: &staged.files,
                    output_json,
                    meter,
                };
                let failed = |error| RunCasesError::Runner { case_id: staged.case.case_id.clone(), error };
                let scored = self.runner.score(&request).map_err(failed)?;
                let verdict = scored.result.clone().and_then(|raw| BenchScore::admit(raw, meter, block));
                (verdict.map_err(CaseFault::Rubric), Some(scored))
            }
            Err(fault) => (Err(fault.clone()), None),
        };
        let logs_digest = scored.as_ref().and_then(log_object).map(|log| self.keep(&log)).transpose()?;
        let agent_log = agent_log_object(&sourced.answer);
        let agent_log_digest = agent_log.map(|log| self.keep(&log)).transpose()?;
        // What a cassette cost was paid when it was made.
        let (spent_usd, recorded_usd) =
            if sourced.cassette.is_some() { (0.0, meter.cost_usd) } else { (meter.cost_usd, 0.0) };
        let (outcome, score, fault) = match verdict {
            Ok(score) => (OutcomeClass::Scored, score, None),
            Err(fault) => (fault.class(), BenchScore::faulted(&fault, meter), Some(fault)),
        };
        Ok(FinishedCase {
            result: CaseResult {
                case_id: staged.case.case_id.clone(),
                outcome,
                score,
                fuel_used: scored.as_ref().and_then(|scored| scored.fuel_used),
                peak_memory_bytes: scored.as_ref().and_then(|scored| scored.peak_memory_bytes),
                logs_digest,
                agent_log_digest,
                cost_is_estimate: sourced.answer.cost_is_estimate,
            },
            fault,
            spent_usd,
            recorded_usd,
        })
    }
}

/// A cassette made for other input, or with other bytes than its pin says, is a warning; strictly, it is a fault.
fn check_cassette(cassette: Cassette, pin: Option<Digest>, strict: bool, staged: &StagedCase) -> Sourced {
    let case_id = &staged.case.case_id;
    let mut warnings = Vec::new();
    if cassette.input_digest != staged.input_digest {
        warnings.push(format!("{case_id}: the cassette is stale: it was made for other input"));
    }
    if pin.is_some_and(|pin| pin != cassette.digest) {
        warnings.push(format!("{case_id}: the cassette does not match cassette_blake3"));
    }
    let Cassette { digest, sut, kind, mut answer, .. } = cassette;
    if strict && !warnings.is_empty() {
        answer.output = Err(CaseFault::CassetteStale);
    }
    Sourced { answer, cassette: Some(CassetteOrigin { digest, sut, kind }), warnings }
}

/// What a rubric wrote, as one object: a header per stream that says how much was kept and how much was cut off. How much a
/// guest wrote before its stack was full depends on the machine, and a replay would find other words.
pub(crate) fn log_object(scored: &Scored) -> Option<Vec<u8>> {
    if let Err(RubricFault::Trap(TrapKind::StackOverflow)) = scored.result {
        return None;
    }
    streams_object(&[("stdout", &scored.stdout), ("stderr", &scored.stderr)])
}

/// What a live agent wrote to stderr, in the same form. A replay cannot make it again, so it is an object of its own.
fn agent_log_object(answer: &Answer) -> Option<Vec<u8>> {
    streams_object(&[("stderr", &answer.stderr)])
}

fn streams_object(streams: &[(&str, &CapturedStream)]) -> Option<Vec<u8>> {
    if streams.iter().all(|(_, stream)| **stream == CapturedStream::default()) {
        return None;
    }
    let mut log = Vec::new();
    for (name, stream) in streams {
        let header = format!("{name}: {} bytes kept, {} cut off\n", stream.kept.len(), stream.dropped_bytes);
        log.extend_from_slice(header.as_bytes());
        log.extend_from_slice(&stream.kept);
        log.push(b'\n');
    }
    Some(log)
}

fn validation_reminder(folder: &CaseFolder, today: Date) -> Option<String> {
    let since = folder.file.last_validated_at;
    let days = since.until(today).map_or(0, |span| span.get_days());
    (days > STALE_AFTER_DAYS).then(|| {
        format!("{}: last validated {days} days ago, on {since}: check that it still holds", folder.file.case.case_id)
    })
}
