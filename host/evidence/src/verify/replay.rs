//! Scores recorded cases again, from the objects alone, and demands the same bytes.
//!
//! Nothing of the bench is needed and nothing of it is looked at: the rubric, its limits, the case's files and the output all
//! come from the evidence. What a replay gives is compared with the text in the record, never with something made from it.
//! That a case with nothing to replay has no score either is checked on every verification, by [`super::figures`].

use std::convert::Infallible;
use std::error::Error;
use std::num::NonZeroUsize;

use eval_model::contract::{Meter, RubricLoader, RubricRunner, RunnerError};
use eval_model::ids::{CaseId, Digest};
use eval_model::judge::{Judgement, judge};
use eval_model::limits::{LimitError, Limits, RawLimits};
use eval_model::outcome::{HostMode, OutcomeClass};
use eval_model::report::CaseResult;
use eval_model::workers::in_order;

use super::case::{RestoreCaseError, restore_case};
use super::finding::{Defect, Finding, State};
use super::verification::Verification;
use crate::chain::Link;
use crate::record::{RecordedRun, RecordedScore};
use crate::store::{Evidence, ReadObjectError};

/// What a replay needs besides the evidence.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a loader is an engine, which has nothing to show")]
pub struct ReplaySettings<'a> {
    /// It should not use a compile cache: what is in there was not verified.
    pub loader: &'a dyn RubricLoader,
    /// Where the loader takes compiled code from.
    pub compiled: Compiled,
    /// What fuel means now.
    pub fuel_terms: FuelTerms<'a>,
    pub workers: NonZeroUsize,
}

/// What a unit of fuel stands for. Under other terms than a record's, its cases may use other fuel, and run out of it elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuelTerms<'a> {
    pub wasmtime_version: &'a str,
    pub price_list_version: u32,
}

impl<'a> FuelTerms<'a> {
    fn of(record: &'a RecordedRun) -> Self {
        Self { wasmtime_version: &record.wasmtime_version, price_list_version: record.price_list_version }
    }
}

/// Where the code of a rubric comes from when it is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiled {
    /// From the component, now.
    Anew,
    /// From the user's cache, which whoever can write there can change.
    Before,
}

impl Compiled {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anew => "anew",
            Self::Before => "before",
        }
    }
}

/// How a replay differs from the record.
#[derive(Debug, thiserror::Error)]
pub enum ReplayDefect {
    #[error("case `{case_id}` scores `{replayed}` when it is replayed, and the record says `{recorded}`")]
    Score { case_id: CaseId, recorded: String, replayed: String },
    #[error("case `{case_id}` ends as `{}` when it is replayed, and the record says `{}`", replayed.as_str(), recorded.as_str())]
    Outcome { case_id: CaseId, recorded: OutcomeClass, replayed: OutcomeClass },
    #[error("case `{case_id}` writes other logs when it is replayed")]
    Logs { case_id: CaseId },
    #[error("case `{case_id}` uses {replayed:?} fuel when it is replayed, and the record says {recorded:?}")]
    Fuel { case_id: CaseId, recorded: Option<u64>, replayed: Option<u64> },
    #[error("case `{case_id}` uses {replayed:?} bytes of memory when it is replayed, and the record says {recorded:?}")]
    Memory { case_id: CaseId, recorded: Option<u64>, replayed: Option<u64> },
    #[error("case `{case_id}` was not replayed in time: the machine was too busy, or was stopped")]
    Clock { case_id: CaseId },
    #[error(
        "case `{case_id}` runs out of fuel under one wasmtime and price list and not under the other: use the eval-host that \
         wrote the record"
    )]
    OtherFuelTerms { case_id: CaseId },
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
    #[error("its objects are left out of this evidence, so it cannot be replayed; use the store that they are in")]
    LeftOut,
    #[error("an object that the replay needs cannot be read")]
    Object(#[source] ReadObjectError),
    #[error("the record's limits exceed the maxima of this eval-host")]
    Limits(#[source] LimitError),
    #[error("the record's rubric does not load")]
    Rubric(#[source] Box<dyn Error + Send + Sync>),
    #[error("the record's rubric cannot be run")]
    Runner(#[source] RunnerError),
}

impl ReplayDefect {
    pub(super) fn state(&self) -> State {
        let missing =
            |error: &ReadObjectError| matches!(error, ReadObjectError::Missing { .. } | ReadObjectError::Io { .. });
        match self {
            Self::LeftOut
            | Self::Clock { .. }
            | Self::OtherFuelTerms { .. }
            | Self::Limits(_)
            | Self::Rubric(_)
            | Self::Runner(_) => State::Unverifiable,
            Self::Object(error) | Self::Case { source: RestoreCaseError::Object(error), .. } if missing(error) => {
                State::Unverifiable
            }
            _ => State::Tampered,
        }
    }
}

/// What a replay came to.
#[derive(Debug, Default)]
pub struct Replay {
    pub records: u64,
    pub replayed: u64,
    /// Cases that ended in a fault of the clock or of the system under test, or were skipped: there is nothing to replay.
    pub nothing_to_replay: u64,
    /// Cases that used other fuel or memory than recorded, under another version of wasmtime or of the price list.
    pub other_fuel: u64,
    /// Records that were not replayed, because a bundle leaves their objects out.
    pub left_out: u64,
    pub findings: Vec<Finding>,
}

/// Replays those of the verified records that `select` wants.
pub fn replay(
    evidence: &dyn Evidence,
    verification: &Verification,
    settings: ReplaySettings<'_>,
    select: &dyn Fn(&Link) -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Replay {
    let is_left_out =
        |link: &&Link| verification.left_out.contains(&(link.position.task_class.clone(), link.position.seq));
    let selected = verification.links.values().filter(|link| select(link));
    let (left_out, links): (Vec<&Link>, Vec<&Link>) = selected.partition(is_left_out);
    let replay = Replay { left_out: left_out.len() as u64, ..Replay::default() };
    let mut replayer = Replayer { evidence, settings, prepared: None, replay };
    for (index, link) in links.iter().enumerate() {
        progress(index, links.len());
        replayer.replay_record(link);
    }
    replayer.replay
}

/// Replays one verified record, for somebody who relies on its scores: that its objects are left out is a finding here.
pub fn replay_record(
    evidence: &dyn Evidence,
    verification: &Verification,
    settings: ReplaySettings<'_>,
    link: &Link,
) -> Replay {
    let mut replay = replay(evidence, verification, settings, &|other| other == link, &mut |_, _| {});
    if replay.left_out > 0 {
        replay.findings.push(Finding::at(link, Defect::Replay(ReplayDefect::LeftOut)));
    }
    replay
}

struct Replayer<'a> {
    evidence: &'a dyn Evidence,
    settings: ReplaySettings<'a>,
    /// The rubric of the record before, which is most often this one's too.
    prepared: Option<Prepared>,
    replay: Replay,
}

impl Replayer<'_> {
    fn replay_record(&mut self, link: &Link) {
        self.replay.records += 1;
        let Some(record) = self.evidence.verified_record(link) else { return self.report(link, Defect::Gone) };
        match self.replay_cases(&record) {
            Ok(defects) => defects.into_iter().for_each(|defect| self.report(link, Defect::Replay(defect))),
            Err(defect) => self.report(link, Defect::Replay(defect)),
        }
    }

    fn report(&mut self, link: &Link, defect: Defect) {
        self.replay.findings.push(Finding::at(link, defect));
    }

    fn replay_cases(&mut self, record: &RecordedRun) -> Result<Vec<ReplayDefect>, ReplayDefect> {
        self.prepare(record)?;
        let Some(Prepared { runner, .. }) = &self.prepared else { return Ok(Vec::new()) };
        let same_terms = FuelTerms::of(record) == self.settings.fuel_terms;
        let case_replayer = CaseReplayer { evidence: self.evidence, runner: runner.as_ref(), record, same_terms };
        let mut defects = Vec::new();
        for end in case_replayer.replay_all(self.settings.workers) {
            match end {
                CaseReplay::NothingToReplay => self.replay.nothing_to_replay += 1,
                CaseReplay::Same => self.replay.replayed += 1,
                CaseReplay::Differs(ReplayDefect::Fuel { .. } | ReplayDefect::Memory { .. }) if !same_terms => {
                    self.replay.replayed += 1;
                    self.replay.other_fuel += 1;
                }
                CaseReplay::Differs(defect) => {
                    self.replay.replayed += 1;
                    defects.push(defect);
                }
            }
        }
        Ok(defects)
    }

    fn prepare(&mut self, record: &RecordedRun) -> Result<(), ReplayDefect> {
        if self.prepared.as_ref().is_some_and(|prepared| prepared.serves(record)) {
            return Ok(());
        }
        let component = self.evidence.object(record.rubric_digest).map_err(ReplayDefect::Object)?;
        let limits = Limits::within_maxima(record.limits).map_err(ReplayDefect::Limits)?;
        let loaded = self.settings.loader.load(&component, &record.rubric_world, limits);
        self.prepared = Some(Prepared {
            digest: record.rubric_digest,
            world: record.rubric_world.clone(),
            limits: record.limits,
            runner: loaded.map_err(ReplayDefect::Rubric)?,
        });
        Ok(())
    }
}

/// A rubric that is ready to score, and what a record must say for it to serve.
struct Prepared {
    digest: Digest,
    world: String,
    limits: RawLimits,
    runner: Box<dyn RubricRunner>,
}

impl Prepared {
    fn serves(&self, record: &RecordedRun) -> bool {
        (self.digest, self.limits) == (record.rubric_digest, record.limits) && self.world == record.rubric_world
    }
}

/// How the replay of one case ended.
enum CaseReplay {
    NothingToReplay,
    Same,
    Differs(ReplayDefect),
}

struct CaseReplayer<'a> {
    evidence: &'a dyn Evidence,
    runner: &'a dyn RubricRunner,
    record: &'a RecordedRun,
    /// Whether fuel means what it meant when the record was made.
    same_terms: bool,
}

impl CaseReplayer<'_> {
    /// Replays every case of the record on some threads; the results are in the order of the cases.
    fn replay_all(&self, workers: NonZeroUsize) -> Vec<CaseReplay> {
        let mut ends = Vec::new();
        let replay = |_, case: &_| Ok::<_, Infallible>(self.replay_case(case).unwrap_or_else(CaseReplay::Differs));
        match in_order(workers, &self.record.report.cases, replay, |_, _| false, |end| ends.extend(end.result())) {
            Ok(()) => ends,
            Err(never) => match never {},
        }
    }

    fn replay_case(&self, case: &CaseResult<RecordedScore>) -> Result<CaseReplay, ReplayDefect> {
        let case_id = || case.case_id.clone();
        let output = self.record.output_digest_set.get(&case.case_id).copied().flatten();
        let Some(output) = output else {
            return match case.outcome {
                OutcomeClass::Scored => Err(ReplayDefect::ScoredWithoutOutput { case_id: case_id() }),
                _ => Ok(CaseReplay::NothingToReplay),
            };
        };
        // The machine's clock ran out, which a replay is not expected to give again.
        let recorded = case.score.fields();
        if case.outcome == OutcomeClass::RubricFault && recorded.failure_modes == [HostMode::RubricTimeout.name()] {
            return Ok(CaseReplay::NothingToReplay);
        }
        let read = restore_case(self.evidence, self.record.case_digest_set[&case.case_id])
            .map_err(|source| ReplayDefect::Case { case_id: case_id(), source })?;
        let output = self.evidence.object(output).map_err(ReplayDefect::Object)?;
        let output_json = str::from_utf8(&output).map_err(|_| ReplayDefect::OutputText { case_id: case_id() })?;
        let meter = Meter { cost_usd: recorded.cost_usd, duration_seconds: recorded.duration_seconds };
        let judged = judge(self.runner, &read, output_json, meter, &self.record.block_modes);
        let judged = judged.map_err(ReplayDefect::Runner)?;
        if !self.same_terms && ran_out_of_fuel(&recorded.failure_modes) != ran_out_of_fuel(judged.score.failure_modes())
        {
            return Err(ReplayDefect::OtherFuelTerms { case_id: case_id() });
        }
        compare(case, &judged)
    }
}

/// No rubric can say this of itself: the name is the host's.
fn ran_out_of_fuel(failure_modes: &[String]) -> bool {
    failure_modes == [HostMode::RubricFuelExhausted.name()]
}

fn compare(case: &CaseResult<RecordedScore>, judged: &Judgement) -> Result<CaseReplay, ReplayDefect> {
    let case_id = case.case_id.clone();
    // The clock of this machine says nothing about the record.
    if judged.score.failure_modes() == [HostMode::RubricTimeout.name()] {
        return Err(ReplayDefect::Clock { case_id });
    }
    let replayed = judged.score.to_json();
    if replayed != case.score.text().as_bytes() {
        let replayed = String::from_utf8_lossy(&replayed).into_owned();
        return Err(ReplayDefect::Score { case_id, recorded: case.score.text().to_owned(), replayed });
    }
    if judged.outcome() != case.outcome {
        return Err(ReplayDefect::Outcome { case_id, recorded: case.outcome, replayed: judged.outcome() });
    }
    if judged.log_object().as_deref().map(Digest::of) != case.logs_digest {
        return Err(ReplayDefect::Logs { case_id });
    }
    if judged.fuel_used != case.fuel_used {
        return Err(ReplayDefect::Fuel { case_id, recorded: case.fuel_used, replayed: judged.fuel_used });
    }
    if judged.peak_memory_bytes != case.peak_memory_bytes {
        let (recorded, replayed) = (case.peak_memory_bytes, judged.peak_memory_bytes);
        return Err(ReplayDefect::Memory { case_id, recorded, replayed });
    }
    Ok(CaseReplay::Same)
}

#[cfg(test)]
mod tests {
    use super::super::walk::verify_evidence;
    use super::*;
    use crate::record::EvalRunRecord;
    use crate::record::fixture::{Grader, Run};
    use crate::store::{Snapshot, StoreWriter};
    use eval_model::contract::{RubricFault, ScoreRequest, Scored};
    use eval_model::score::BenchScore;
    use std::time::Duration;

    /// A loader that gives the rubric of the fixture, or one that differs from it.
    #[derive(Clone, Copy)]
    enum Loads {
        TheRubric,
        OneThatUsesMoreFuel,
        OneThatUsesMoreMemory,
        OneThatSaysMore,
        OneThatScoresOneUlpMore,
        OneThatRunsOutOfFuel,
        Nothing,
    }

    struct Altered(Loads);

    impl RubricRunner for Altered {
        fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
            let mut scored = Grader.score(request)?;
            match self.0 {
                Loads::OneThatUsesMoreFuel => scored.fuel_used = scored.fuel_used.map(|fuel| fuel + 1),
                Loads::OneThatUsesMoreMemory => {
                    scored.peak_memory_bytes = scored.peak_memory_bytes.map(|bytes| bytes + 65_536);
                }
                Loads::OneThatSaysMore => scored.stdout.kept.push(b'!'),
                Loads::OneThatScoresOneUlpMore => {
                    scored.result = scored.result.map(|mut raw| {
                        raw.score = raw.score.next_down();
                        raw
                    });
                }
                Loads::OneThatRunsOutOfFuel => scored.result = Err(RubricFault::FuelExhausted),
                Loads::TheRubric | Loads::Nothing => {}
            }
            Ok(scored)
        }
    }

    impl RubricLoader for Loads {
        fn load(
            &self,
            component: &[u8],
            world: &str,
            _: Limits,
        ) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>> {
            assert_eq!((component, world), (&b"the rubric"[..], "eval-host:rubric/rubric@0.1.0"));
            match self {
                Self::Nothing => Err("it is no component".into()),
                loads => Ok(Box::new(Altered(*loads))),
            }
        }
    }

    /// The terms of the fixture's records.
    const RECORDED: FuelTerms<'_> = FuelTerms { wasmtime_version: "48.0.8", price_list_version: 1 };
    const OTHER_WASMTIME: FuelTerms<'_> = FuelTerms { wasmtime_version: "48.0.9", ..RECORDED };
    const OTHER_PRICES: FuelTerms<'_> = FuelTerms { price_list_version: 2, ..RECORDED };

    fn replayed(
        loads: Loads,
        fuel_terms: FuelTerms<'_>,
        change: impl Fn(&mut EvalRunRecord<BenchScore>),
    ) -> (State, Replay, String) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let user = rustix::process::geteuid().as_raw();
        let store = StoreWriter::open(&temp.path().join("store"), user, Duration::from_secs(60)).expect("a new store");
        for label in 1..=3 {
            let run = Run::new(label);
            let incoming = store.incoming().expect("it takes objects");
            run.keep_objects(&incoming);
            let build = |position: &_| {
                let mut record = run.at(position);
                change(&mut record);
                record
            };
            let task_class = "fixture".parse().expect("a task class");
            store.append(&Snapshot::default(), &task_class, &incoming, build).expect("committed");
        }
        let verification = verify_evidence(store.reader(), &mut |_, _| {}).expect("it can be read");
        assert_eq!(verification.state(), State::Ok, "{:?}", verification.findings);
        let workers = NonZeroUsize::new(2).expect("two");
        let settings = ReplaySettings { loader: &loads, compiled: Compiled::Anew, fuel_terms, workers };
        let replay = replay(store.reader(), &verification, settings, &|link| link.position.seq > 1, &mut |_, _| {});
        let state = replay.findings.iter().map(Finding::state).max().unwrap_or(State::Ok);
        let first = replay.findings.first().map(ToString::to_string).unwrap_or_default();
        (state, replay, first)
    }

    #[test]
    fn the_same_rubric_gives_the_same_bytes() {
        let (state, replay, _) = replayed(Loads::TheRubric, RECORDED, |_| {});
        assert_eq!((state, replay.records, replay.replayed, replay.other_fuel), (State::Ok, 2, 4, 0));
    }

    #[test]
    fn one_unit_in_the_last_place_is_noticed() {
        let (state, replay, first) = replayed(Loads::OneThatScoresOneUlpMore, RECORDED, |_| {});
        assert_eq!((state, replay.findings.len()), (State::Tampered, 4));
        assert!(first.starts_with("record 2 of `fixture`") && first.contains("case `001-first` scores"), "{first}");
    }

    #[test]
    fn fuel_must_be_equal_under_the_same_terms_and_is_counted_under_others() {
        let (state, _, first) = replayed(Loads::OneThatUsesMoreFuel, RECORDED, |_| {});
        assert_eq!(state, State::Tampered);
        assert!(first.contains("uses Some(12346) fuel"), "{first}");
        for terms in [OTHER_WASMTIME, OTHER_PRICES] {
            let (state, replay, _) = replayed(Loads::OneThatUsesMoreFuel, terms, |_| {});
            assert_eq!((state, replay.other_fuel), (State::Ok, 4));
        }
    }

    #[test]
    fn running_out_of_fuel_is_tampering_under_the_same_terms_and_says_nothing_under_others() {
        let (state, ..) = replayed(Loads::OneThatRunsOutOfFuel, RECORDED, |_| {});
        assert_eq!(state, State::Tampered);
        for terms in [OTHER_WASMTIME, OTHER_PRICES] {
            let (state, _, first) = replayed(Loads::OneThatRunsOutOfFuel, terms, |_| {});
            assert_eq!(state, State::Unverifiable);
            assert!(first.contains("case `001-first` runs out of fuel under one wasmtime and price list"), "{first}");
        }
    }

    #[test]
    fn peak_memory_must_be_equal_under_the_same_terms_too() {
        let (state, _, first) = replayed(Loads::OneThatUsesMoreMemory, RECORDED, |_| {});
        assert_eq!(state, State::Tampered);
        assert!(first.contains("uses Some(131072) bytes of memory"), "{first}");
        let (state, replay, _) = replayed(Loads::OneThatUsesMoreMemory, OTHER_WASMTIME, |_| {});
        assert_eq!((state, replay.other_fuel), (State::Ok, 4));
    }

    #[test]
    fn logs_are_part_of_what_is_replayed() {
        let (state, _, first) = replayed(Loads::OneThatSaysMore, RECORDED, |_| {});
        assert_eq!(state, State::Tampered);
        assert!(first.contains("writes other logs"), "{first}");
    }

    #[test]
    fn a_rubric_that_does_not_load_leaves_the_record_unverifiable() {
        let (state, _, first) = replayed(Loads::Nothing, RECORDED, |_| {});
        assert_eq!(state, State::Unverifiable);
        assert!(first.ends_with(": the record's rubric does not load: it is no component"), "{first}");
    }
}
