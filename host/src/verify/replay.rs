//! Scores recorded cases again, from the objects alone, and demands the same bytes.
//!
//! Nothing of the bench is needed and nothing of it is looked at: the rubric, its limits, the case's files and the output all
//! come from the evidence. What a replay gives is compared with the text in the record, never with something made from it.
//! That a case with nothing to replay has no score either is checked on every verification, by [`super::figures`].

use std::collections::BTreeSet;
use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::case::{RestoreCaseError, restore_case};
use super::finding::{Finding, Problem, State};
use super::walk::Verification;
use crate::bench::Registration;
use crate::chain::Link;
use crate::contract::{Meter, RubricRunner, RunnerError, ScoreRequest};
use crate::ids::{CaseId, Digest};
use crate::pipeline::log_object;
use crate::record::{RecordedRun, RecordedScore};
use crate::report::CaseResult;
use crate::sandbox::{LimitError, Limits, RawLimits, Sandbox};
use crate::score::{BenchScore, CaseFault, OutcomeClass};
use crate::store::{Evidence, ReadObjectError};

/// The one failure mode of a rubric that a replay is not expected to give again: the machine's clock ran out.
const CLOCK_FAULT: &str = "rubric_timeout";

/// Makes rubrics run again. It should not use a compile cache: what is in there was not verified.
pub(crate) trait RubricLoader {
    fn load(&self, component: &[u8], limits: Limits) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>>;
}

impl RubricLoader for Sandbox {
    fn load(&self, component: &[u8], limits: Limits) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>> {
        Ok(Box::new(Sandbox::load(self, component)?.prepare(limits)))
    }
}

/// What a replay needs besides the evidence.
#[derive(Clone, Copy)]
pub(crate) struct ReplaySettings<'a> {
    pub(crate) loader: &'a dyn RubricLoader,
    /// The version that runs now. Under another one than a record's, fuel may differ.
    pub(crate) wasmtime_version: &'a str,
    pub(crate) workers: NonZeroUsize,
}

/// How a replay differs from the record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayProblem {
    #[error("case `{case_id}` scores `{replayed}` when it is replayed, and the record says `{recorded}`")]
    Score { case_id: CaseId, recorded: String, replayed: String },
    #[error("case `{case_id}` ends as `{}` when it is replayed, and the record says `{}`", replayed.as_str(), recorded.as_str())]
    Outcome { case_id: CaseId, recorded: OutcomeClass, replayed: OutcomeClass },
    #[error("case `{case_id}` writes other logs when it is replayed")]
    Logs { case_id: CaseId },
    #[error("case `{case_id}` uses {replayed:?} fuel when it is replayed, and the record says {recorded:?}")]
    Fuel { case_id: CaseId, recorded: Option<u64>, replayed: Option<u64> },
    #[error("the block-severity failure modes do not follow from its cases")]
    BlockModes,
    #[error("case `{case_id}` was not scored, so it cannot have a score")]
    ScoredWithoutOutput { case_id: CaseId },
    #[error("case `{case_id}` cannot be restored")]
    Case {
        case_id: CaseId,
        #[source]
        source: RestoreCaseError,
    },
    #[error("the output of case `{case_id}` is not UTF-8 text")]
    OutputText { case_id: CaseId },
    #[error("an object that is needed cannot be had")]
    Object(#[source] ReadObjectError),
    #[error("its registration does not read as one: {0}")]
    Registration(String),
    #[error("its limits are beyond what this program grants")]
    Limits(#[source] LimitError),
    #[error("its rubric does not load")]
    Rubric(#[source] Box<dyn Error + Send + Sync>),
    #[error("its rubric could not be run")]
    Runner(#[source] RunnerError),
}

impl ReplayProblem {
    pub(super) fn state(&self) -> State {
        let missing =
            |error: &ReadObjectError| matches!(error, ReadObjectError::Missing { .. } | ReadObjectError::Io { .. });
        match self {
            Self::Limits(_) | Self::Rubric(_) | Self::Runner(_) => State::Unverifiable,
            Self::Object(error) | Self::Case { source: RestoreCaseError::Object(error), .. } if missing(error) => {
                State::Unverifiable
            }
            _ => State::Tampered,
        }
    }
}

/// What a replay came to.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) records: u64,
    pub(crate) replayed: u64,
    /// Cases that ended in a fault of the clock or of the system under test, or were skipped: there is nothing to replay.
    pub(crate) nothing_to_replay: u64,
    /// Cases that used other fuel than recorded, under another version of wasmtime.
    pub(crate) other_fuel: u64,
    pub(crate) findings: Vec<Finding>,
}

/// Replays those of the verified records that `select` wants.
pub(crate) fn replay(
    evidence: &dyn Evidence,
    verification: &Verification,
    settings: ReplaySettings<'_>,
    select: &dyn Fn(&Link) -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Replay {
    let links: Vec<&Link> = verification.links.values().filter(|link| select(link)).collect();
    let mut replayer = Replayer { evidence, settings, prepared: None, replay: Replay::default() };
    for (index, link) in links.iter().enumerate() {
        progress(index, links.len());
        replayer.replay_record(link);
    }
    replayer.replay
}

struct Replayer<'a> {
    evidence: &'a dyn Evidence,
    settings: ReplaySettings<'a>,
    /// The rubric of the record before, which is most often this one's too.
    prepared: Option<(Digest, RawLimits, Box<dyn RubricRunner>)>,
    replay: Replay,
}

impl Replayer<'_> {
    fn replay_record(&mut self, link: &Link) {
        self.replay.records += 1;
        // The walk has read this file as a record with this hash. If it is another one now, that is a finding too.
        let name = link.file_name();
        let record = match self.evidence.record(name.as_str()).map(|bytes| RecordedRun::read(&bytes)) {
            Ok(Ok((record, again))) if again == *link => record,
            _ => return self.report(link, Problem::Gone),
        };
        match self.replay_cases(&record) {
            Ok(problems) => problems.into_iter().for_each(|problem| self.report(link, Problem::Replay(problem))),
            Err(problem) => self.report(link, Problem::Replay(problem)),
        }
    }

    fn report(&mut self, link: &Link, problem: Problem) {
        self.replay.findings.push(Finding {
            task_class: Some(link.position.task_class.clone()),
            seq: Some(link.position.seq),
            file: Some(format!("runs/{}", link.file_name())),
            problem,
        });
    }

    fn replay_cases(&mut self, record: &RecordedRun) -> Result<Vec<ReplayProblem>, ReplayProblem> {
        let block = self.block_modes(record)?;
        self.prepare(record)?;
        let Some((_, _, runner)) = &self.prepared else { return Ok(Vec::new()) };
        let same_version = record.wasmtime_version == self.settings.wasmtime_version;
        let case_replayer = CaseReplayer { evidence: self.evidence, runner: runner.as_ref(), record, block: &block };
        let ends = case_replayer.replay_all(self.settings.workers);
        let mut problems: Vec<_> = block_problem(record, &block).into_iter().collect();
        for end in ends {
            match end {
                CaseReplay::NothingToReplay => self.replay.nothing_to_replay += 1,
                CaseReplay::Same => self.replay.replayed += 1,
                CaseReplay::Differs(ReplayProblem::Fuel { .. }) if !same_version => {
                    self.replay.replayed += 1;
                    self.replay.other_fuel += 1;
                }
                CaseReplay::Differs(problem) => {
                    self.replay.replayed += 1;
                    problems.push(problem);
                }
            }
        }
        Ok(problems)
    }

    fn block_modes(&self, record: &RecordedRun) -> Result<BTreeSet<String>, ReplayProblem> {
        let bytes = self.evidence.object(record.registration_digest).map_err(ReplayProblem::Object)?;
        let text = String::from_utf8(bytes).map_err(|_| ReplayProblem::Registration("not UTF-8 text".to_owned()))?;
        let registration =
            Registration::parse(&text).map_err(|error| ReplayProblem::Registration(error.to_string()))?;
        Ok(registration.block_modes)
    }

    fn prepare(&mut self, record: &RecordedRun) -> Result<(), ReplayProblem> {
        let is_prepared =
            |(digest, limits, _): &(Digest, RawLimits, _)| (*digest, *limits) == (record.rubric_digest, record.limits);
        if self.prepared.as_ref().is_some_and(is_prepared) {
            return Ok(());
        }
        let component = self.evidence.object(record.rubric_digest).map_err(ReplayProblem::Object)?;
        let limits = Limits::within_maxima(record.limits).map_err(ReplayProblem::Limits)?;
        let runner = self.settings.loader.load(&component, limits).map_err(ReplayProblem::Rubric)?;
        self.prepared = Some((record.rubric_digest, record.limits, runner));
        Ok(())
    }
}

/// How the replay of one case ended.
enum CaseReplay {
    NothingToReplay,
    Same,
    Differs(ReplayProblem),
}

struct CaseReplayer<'a> {
    evidence: &'a dyn Evidence,
    runner: &'a dyn RubricRunner,
    record: &'a RecordedRun,
    block: &'a BTreeSet<String>,
}

impl CaseReplayer<'_> {
    /// Replays every case of the record on some threads; the results are in the order of the cases.
    fn replay_all(&self, workers: NonZeroUsize) -> Vec<CaseReplay> {
        let cases = &self.record.report.cases;
        let next = AtomicUsize::new(0);
        let ends = Mutex::new(Vec::with_capacity(cases.len()));
        thread::scope(|scope| {
            for _ in 0..workers.get().min(cases.len()) {
                scope.spawn(|| {
                    while let Some((index, case)) = take(&next, cases) {
                        let end = self.replay_case(case).unwrap_or_else(CaseReplay::Differs);
                        ends.lock().expect("no thread panics while it holds the lock").push((index, end));
                    }
                });
            }
        });
        let mut ends = ends.into_inner().expect("no thread panicked");
        ends.sort_by_key(|(index, _)| *index);
        ends.into_iter().map(|(_, end)| end).collect()
    }

    fn replay_case(&self, case: &CaseResult<RecordedScore>) -> Result<CaseReplay, ReplayProblem> {
        let case_id = || case.case_id.clone();
        let output = self.record.output_digest_set.get(&case.case_id).copied().flatten();
        let Some(output) = output else {
            return match case.outcome {
                OutcomeClass::Scored => Err(ReplayProblem::ScoredWithoutOutput { case_id: case_id() }),
                _ => Ok(CaseReplay::NothingToReplay),
            };
        };
        if case.outcome == OutcomeClass::RubricFault && case.score.fields().failure_modes == [CLOCK_FAULT] {
            return Ok(CaseReplay::NothingToReplay);
        }
        let case_digest = self.record.case_digest_set[&case.case_id];
        let staged = restore_case(self.evidence, case_digest)
            .map_err(|source| ReplayProblem::Case { case_id: case_id(), source })?;
        let output = self.evidence.object(output).map_err(ReplayProblem::Object)?;
        let output_json = str::from_utf8(&output).map_err(|_| ReplayProblem::OutputText { case_id: case_id() })?;
        let recorded = case.score.fields();
        let meter = Meter { cost_usd: recorded.cost_usd, duration_seconds: recorded.duration_seconds };
        let request = ScoreRequest { case: &staged.case, case_digest, files: &staged.files, output_json, meter };
        let scored = self.runner.score(&request).map_err(ReplayProblem::Runner)?;
        let logs_digest = log_object(&scored).map(|log| Digest::of(&log));
        let verdict =
            scored.result.and_then(|raw| BenchScore::admit(raw, meter, self.block)).map_err(CaseFault::Rubric);
        let (outcome, score) = match &verdict {
            Ok(score) => (OutcomeClass::Scored, score.clone()),
            Err(fault) => (fault.class(), BenchScore::faulted(fault, meter)),
        };
        compare(case, outcome, &score, logs_digest, scored.fuel_used)
    }
}

fn take<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    items.get(index).map(|item| (index, item))
}

fn compare(
    case: &CaseResult<RecordedScore>,
    outcome: OutcomeClass,
    score: &BenchScore,
    logs_digest: Option<Digest>,
    fuel_used: Option<u64>,
) -> Result<CaseReplay, ReplayProblem> {
    let case_id = case.case_id.clone();
    let replayed = score.to_json();
    if replayed != case.score.text().as_bytes() {
        let replayed = String::from_utf8_lossy(&replayed).into_owned();
        return Err(ReplayProblem::Score { case_id, recorded: case.score.text().to_owned(), replayed });
    }
    if outcome != case.outcome {
        return Err(ReplayProblem::Outcome { case_id, recorded: case.outcome, replayed: outcome });
    }
    if logs_digest != case.logs_digest {
        return Err(ReplayProblem::Logs { case_id });
    }
    if fuel_used != case.fuel_used {
        return Err(ReplayProblem::Fuel { case_id, recorded: case.fuel_used, replayed: fuel_used });
    }
    Ok(CaseReplay::Same)
}

/// The block-severity modes that a record states must be those of its cases, under the registration it names.
fn block_problem(record: &RecordedRun, block: &BTreeSet<String>) -> Option<ReplayProblem> {
    (record.block_modes(block) != record.report.block_severity_failure_modes).then_some(ReplayProblem::BlockModes)
}

#[cfg(test)]
mod tests {
    use super::super::walk::{ObjectScope, verify_evidence};
    use super::*;
    use crate::contract::Scored;
    use crate::record::EvalRunRecord;
    use crate::record::fixture::{Grader, Run};
    use crate::score::BenchScore;
    use crate::store::{Snapshot, StoreWriter};
    use std::time::Duration;

    /// A loader that gives the rubric of the fixture, or one that differs from it.
    #[derive(Clone, Copy)]
    enum Loads {
        TheRubric,
        OneThatUsesMoreFuel,
        OneThatSaysMore,
        OneThatScoresOneUlpMore,
        Nothing,
    }

    struct Altered(Loads);

    impl RubricRunner for Altered {
        fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
            let mut scored = Grader.score(request)?;
            match self.0 {
                Loads::OneThatUsesMoreFuel => scored.fuel_used = scored.fuel_used.map(|fuel| fuel + 1),
                Loads::OneThatSaysMore => scored.stdout.kept.push(b'!'),
                Loads::OneThatScoresOneUlpMore => {
                    scored.result = scored.result.map(|mut raw| {
                        raw.score = raw.score.next_down();
                        raw
                    });
                }
                Loads::TheRubric | Loads::Nothing => {}
            }
            Ok(scored)
        }
    }

    impl RubricLoader for Loads {
        fn load(&self, component: &[u8], _: Limits) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>> {
            assert_eq!(component, b"the rubric");
            match self {
                Self::Nothing => Err("it is no component".into()),
                loads => Ok(Box::new(Altered(*loads))),
            }
        }
    }

    fn replayed(
        loads: Loads,
        version: &str,
        change: impl Fn(&mut EvalRunRecord<BenchScore>),
    ) -> (State, Replay, String) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let user = rustix::process::geteuid().as_raw();
        let store = StoreWriter::open(&temp.path().join("store"), user, Duration::from_secs(60)).expect("a new store");
        for label in 1..=3 {
            let run = Run::new(label);
            let intake = store.intake().expect("it takes objects");
            run.keep_objects(&intake);
            let build = |position: &_| {
                let mut record = run.at(position);
                change(&mut record);
                record
            };
            let task_class = "fixture".parse().expect("a task class");
            store.append(&Snapshot::default(), &task_class, &intake, build).expect("committed");
        }
        let verification = verify_evidence(store.reader(), ObjectScope::All, &mut |_, _| {}).expect("it can be read");
        assert_eq!(verification.state(), State::Ok, "{:?}", verification.findings);
        let workers = NonZeroUsize::new(2).expect("two");
        let settings = ReplaySettings { loader: &loads, wasmtime_version: version, workers };
        let replay = replay(store.reader(), &verification, settings, &|link| link.position.seq > 1, &mut |_, _| {});
        let state = replay.findings.iter().map(Finding::state).max().unwrap_or(State::Ok);
        let first = replay.findings.first().map(ToString::to_string).unwrap_or_default();
        (state, replay, first)
    }

    #[test]
    fn the_same_rubric_gives_the_same_bytes() {
        let (state, replay, _) = replayed(Loads::TheRubric, "48.0.8", |_| {});
        assert_eq!((state, replay.records, replay.replayed, replay.other_fuel), (State::Ok, 2, 4, 0));
    }

    #[test]
    fn one_unit_in_the_last_place_is_noticed() {
        let (state, replay, first) = replayed(Loads::OneThatScoresOneUlpMore, "48.0.8", |_| {});
        assert_eq!((state, replay.findings.len()), (State::Tampered, 4));
        assert!(first.starts_with("record 2 of `fixture`") && first.contains("case `001-first` scores"), "{first}");
    }

    #[test]
    fn fuel_must_be_equal_under_the_same_version_and_is_counted_under_another() {
        let (state, _, first) = replayed(Loads::OneThatUsesMoreFuel, "48.0.8", |_| {});
        assert_eq!(state, State::Tampered);
        assert!(first.contains("uses Some(12346) fuel"), "{first}");
        let (state, replay, _) = replayed(Loads::OneThatUsesMoreFuel, "48.0.9", |_| {});
        assert_eq!((state, replay.other_fuel), (State::Ok, 4));
    }

    #[test]
    fn logs_are_part_of_what_is_replayed() {
        let (state, _, first) = replayed(Loads::OneThatSaysMore, "48.0.8", |_| {});
        assert_eq!(state, State::Tampered);
        assert!(first.contains("writes other logs"), "{first}");
    }

    #[test]
    fn a_rubric_that_does_not_load_leaves_the_record_unverifiable() {
        let (state, _, first) = replayed(Loads::Nothing, "48.0.8", |_| {});
        assert_eq!(state, State::Unverifiable);
        assert!(first.ends_with("its rubric does not load: it is no component"), "{first}");
    }

    #[test]
    fn block_modes_must_follow_from_the_cases() {
        let add_mode = |record: &mut EvalRunRecord<BenchScore>| {
            record.report.block_severity_failure_modes.insert("cve_still_present".to_owned());
        };
        let (state, _, first) = replayed(Loads::TheRubric, "48.0.8", add_mode);
        assert_eq!(state, State::Tampered);
        assert!(first.contains("block-severity failure modes"), "{first}");
    }
}
