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
use crate::contract::{CapturedStream, Meter, RubricRunner, ScoreRequest, Scored};
use crate::event::Event;
use crate::files::Folder;
use crate::ids::{CaseId, Digest};
use crate::report::{CaseResult, FinishedCase, LoadErrorEntry};
use crate::score::{BenchScore, CaseFault, OutcomeClass};
use crate::stage::{InputRoot, StagedCase, stage};
use crate::sut::{Answer, Cassette, CassetteError, CassetteKind, SutName, read_cassette};

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

/// What a run does.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) bench: &'a Bench,
    /// The selected names below `cases/`, sorted.
    pub(crate) names: Vec<String>,
    pub(crate) cassettes: CassetteSource,
    pub(crate) strict_cassettes: bool,
    pub(crate) input_root: &'a InputRoot,
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
    /// Facts about the bench, which go into the report.
    warnings: Vec<String>,
    /// What depends on today's date, and so must not reach the report.
    reminders: Vec<String>,
}

/// Runs every selected case. Stops early only when evidence cannot be kept: without evidence there is no result.
pub(crate) fn run_cases<S: ObjectSink>(
    plan: &Plan<'_>,
    runner: &dyn RubricRunner,
    sink: &S,
    emit: &mut dyn FnMut(&Event<'_>),
) -> Result<CasesDone, S::Error> {
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
                    match worker.run(name) {
                        Ok(end) => {
                            let _ = sender.send((index, end));
                        }
                        Err(error) => {
                            next.store(plan.names.len(), Ordering::Relaxed);
                            failure.lock().expect("no worker panics while it holds the lock").get_or_insert(error);
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

/// What a thread needs to take cases through the stages.
struct CaseWorker<'a, S> {
    plan: &'a Plan<'a>,
    runner: &'a dyn RubricRunner,
    sink: &'a S,
}

/// An answer, and where it came from.
struct Sourced {
    answer: Answer,
    cassette: Option<Cassette>,
    warnings: Vec<String>,
}

impl<S: ObjectSink> CaseWorker<'_, S> {
    fn run(&self, name: &str) -> Result<CaseEnd, S::Error> {
        let bench = self.plan.bench;
        let not_loaded = |entry| CaseEnd { end: Err(entry), warnings: Vec::new(), reminders: Vec::new() };
        let folder = match bench.open_case(name) {
            Ok(folder) => folder,
            Err(entry) => return Ok(not_loaded(entry)),
        };
        let staged = match stage(&folder, self.plan.input_root) {
            Ok(staged) => staged,
            Err(error) => return Ok(not_loaded(bench.load_error(name, &error))),
        };
        let sourced = match self.answer(&folder, &staged) {
            Ok(sourced) => sourced,
            Err(entry) => return Ok(not_loaded(entry)),
        };
        self.keep_case(&staged)?;
        let finished = self.score(&staged, &sourced)?;
        let output_digest = match &sourced.answer.output {
            Ok(json) => Some(self.sink.keep(json.as_bytes())?),
            Err(_) => None,
        };
        let evidence = CaseEvidence {
            case_digest: staged.case_digest,
            cassette_digest: sourced.cassette.as_ref().map(|cassette| cassette.digest),
            output_digest,
            answered_by: sourced.cassette.map(|cassette| (cassette.sut, cassette.kind)),
        };
        let reminders = validation_reminder(&folder, self.plan.today).into_iter().collect();
        Ok(CaseEnd { end: Ok((finished, evidence)), warnings: sourced.warnings, reminders })
    }

    fn keep_case(&self, staged: &StagedCase) -> Result<(), S::Error> {
        for bytes in staged.files.values() {
            self.sink.keep(bytes)?;
        }
        self.sink.keep(&staged.manifest).map(drop)
    }

    fn answer(&self, folder: &CaseFolder, staged: &StagedCase) -> Result<Sourced, LoadErrorEntry> {
        let name = staged.case.case_id.as_str();
        let (read, pin) = match (&self.plan.cassettes, &folder.file.cassette) {
            (CassetteSource::Folder(cassettes), _) => (read_cassette(cassettes, &format!("{name}.json")), None),
            (CassetteSource::Default, Some(pin)) => (read_cassette(&folder.folder, &pin.file_name), pin.blake3),
            (CassetteSource::Default, None) => (read_cassette(&folder.folder, "cassette.json"), None),
        };
        match read {
            Ok(cassette) => Ok(self.check_cassette(cassette, pin, staged)),
            Err(CassetteError::File(error)) if error.is_missing() => {
                let answer = Answer { output: Err(CaseFault::CassetteMissing), meter: Meter::default() };
                Ok(Sourced { answer, cassette: None, warnings: Vec::new() })
            }
            Err(CassetteError::File(error)) => Err(self.plan.bench.load_error(name, &error)),
            Err(CassetteError::Malformed { file_name, message }) => {
                Err(self.plan.bench.load_error_entry(name, file_name, message))
            }
        }
    }

    /// A cassette made for other input, or with other bytes than its pin says, is a warning; strictly, it is a fault.
    fn check_cassette(&self, cassette: Cassette, pin: Option<Digest>, staged: &StagedCase) -> Sourced {
        let case_id = &staged.case.case_id;
        let mut warnings = Vec::new();
        if cassette.input_digest != staged.input_digest {
            warnings.push(format!("{case_id}: the cassette is stale: it was made for other input"));
        }
        if pin.is_some_and(|pin| pin != cassette.digest) {
            warnings.push(format!("{case_id}: the cassette does not match cassette_blake3"));
        }
        let mut answer = cassette.answer.clone();
        if self.plan.strict_cassettes && !warnings.is_empty() {
            answer.output = Err(CaseFault::CassetteStale);
        }
        Sourced { answer, cassette: Some(cassette), warnings }
    }

    fn score(&self, staged: &StagedCase, sourced: &Sourced) -> Result<FinishedCase, S::Error> {
        let meter = sourced.answer.meter;
        let block = &self.plan.bench.registration.block_modes;
        let (verdict, scored) = match &sourced.answer.output {
            Ok(output_json) => {
                let scored = self.runner.score(&ScoreRequest {
                    case: &staged.case,
                    case_digest: staged.case_digest,
                    files: &staged.files,
                    output_json,
                    meter,
                });
                let verdict = scored.result.clone().and_then(|raw| BenchScore::admit(raw, meter, block));
                (verdict.map_err(CaseFault::Rubric), Some(scored))
            }
            Err(fault) => (Err(fault.clone()), None),
        };
        let logs_digest = scored.as_ref().and_then(log_object).map(|log| self.sink.keep(&log)).transpose()?;
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
                peak_memory_bytes: scored.as_ref().map(|scored| scored.peak_memory_bytes),
                logs_digest,
                cost_is_estimate: false,
            },
            fault,
            spent_usd: 0.0,
            recorded_usd: meter.cost_usd,
        })
    }
}

/// What a rubric wrote, as one object: a header per stream that says how much was kept and how much was cut off.
pub(crate) fn log_object(scored: &Scored) -> Option<Vec<u8>> {
    let streams = [("stdout", &scored.stdout), ("stderr", &scored.stderr)];
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
