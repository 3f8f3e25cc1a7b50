//! Runs from their description to their record, on the fixture bench and a runner that is no sandbox: what a run makes of
//! answers, faults and failures, without starting eval-host.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use eval_evidence::record::{RecordedRun, RecordedScore};
use eval_evidence::store::Evidence as _;
use eval_evidence::verified::{StoreMemory, VerifiedStore};
use eval_evidence::verify::FirstUse;
use eval_model::advice::{Advice as _, Exit};
use eval_model::confinement::Confinement;
use eval_model::contract::{CapturedStream, RawScore, RubricFault, RubricRunner, RunnerError, ScoreRequest, Scored};
use eval_model::money::Usd;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{CaseResult, Report};
use eval_model::utc::UtcMillis;

use super::answer_set::{AnswerSet, AnswerSetHeader, MergedRun};
use super::cases::{AnswerSource, CassetteSource, Run};
use super::continued::ContinueError;
use super::error::RunError;
use super::event::Event;
use super::live::{LiveError, LiveOutcome, LiveRequest, Patience};
use super::record::{Committed, exit_of};
use crate::bench::fixture::Fixture;
use crate::bench::select::Wanted;
use crate::bench::{Bench, InputRoot, load_bench};
use crate::description::{LiveDescription, RunDescription};
use crate::live::agent::testing::{program, unconfined};
use crate::live::agent::{AgentCommand, AgentFlags, CommandFiles, LiveSut, RunMark};
use crate::live::interrupt::Interrupt;
use crate::live::resume::Resume;
use crate::live::run_lock::RunLockQueue;

const CASES: [&str; 3] = ["001-greets", "002-leaves-alone", "003-either-way"];

/// Passes every answer but those that say otherwise: `"say"` is what the rubric makes of one.
#[derive(Default)]
struct FakeRunner {
    scored: AtomicUsize,
}

impl RubricRunner for FakeRunner {
    fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
        let scored_before = self.scored.fetch_add(1, Ordering::SeqCst);
        let answer: serde_json::Value = serde_json::from_str(request.output_json).expect("JSON");
        let claim = |passed: bool, modes: &[&str]| RawScore {
            passed,
            score: if passed { 1.0 } else { 0.25 },
            breakdown: Vec::new(),
            failure_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            cost_usd: request.meter.cost_usd,
            duration_seconds: request.meter.duration_seconds,
        };
        let result = match answer["say"].as_str() {
            None => Ok(claim(true, &[])),
            Some("harmful") => Ok(claim(false, &["harmful"])),
            Some("liar") => Ok(RawScore { score: 2.0, ..claim(true, &[]) }),
            // As a clock does that stops a rubric once, and not again.
            Some("once") if self.scored.load(Ordering::SeqCst) == 1 => Err(RubricFault::Timeout),
            Some("once") => Ok(claim(true, &[])),
            Some("out of fuel") => Err(RubricFault::FuelExhausted),
            Some("no machine") => return Err(RunnerError::new("no memory")),
            Some("no machine at first") if scored_before < CASES.len() => return Err(RunnerError::new("no memory")),
            Some("no machine at first") => Ok(claim(true, &[])),
            Some(other) => panic!("{other}"),
        };
        let stdout = CapturedStream { kept: b"scored".to_vec(), dropped_bytes: 0 };
        Ok(Scored {
            result,
            fuel_used: Some(7),
            peak_memory_bytes: Some(65_536),
            stdout,
            stderr: CapturedStream::default(),
        })
    }
}

fn clock() -> UtcMillis {
    "2026-11-17T09:30:00.000Z".parse().expect("a time")
}

/// A bench, a store and a runner, all of one test's own.
struct Desk {
    fixture: Fixture,
    bench: Bench,
    input_root: InputRoot,
    runner: FakeRunner,
    temp: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self::of(Fixture::new())
    }

    fn of(fixture: Fixture) -> Self {
        let bench = load_bench(&fixture.root(), &Fixture::task_class()).expect("a bench");
        let temp = tempfile::tempdir().expect("a folder");
        Self { fixture, bench, input_root: InputRoot::default(), runner: FakeRunner::default(), temp }
    }

    /// A desk whose cases are answered so.
    fn answering(outputs: [&str; 3]) -> Self {
        let fixture = Fixture::new();
        for (case, output) in CASES.iter().zip(outputs) {
            let path = format!("cases/{case}/cassette.json");
            let mut cassette: serde_json::Value = serde_json::from_str(&fixture.read(&path)).expect("JSON");
            cassette["output"] = serde_json::from_str(output).expect("JSON");
            fixture.write(&path, cassette.to_string());
        }
        Self::of(fixture)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.temp.path().join(name)
    }

    fn describe(&self, shard: Option<&str>) -> RunDescription {
        let shard = shard.map(|shard| shard.parse().expect("a shard"));
        RunDescription::new(&self.bench, &Wanted::default(), shard, None, clock())
    }

    fn run(&self, description: RunDescription, threads: usize) -> Run<'_> {
        Run {
            description,
            bench: &self.bench,
            input_root: &self.input_root,
            rubric: &self.runner,
            concurrency: NonZeroUsize::new(threads).expect("threads"),
            clock: &clock,
            signer: None,
        }
    }

    fn store(&self) -> VerifiedStore {
        open_store(&self.path("store"))
    }

    /// Replays the cassettes, and gives what came of it with everything that was told.
    fn replay(&self, threads: usize, strict: bool) -> (Result<Committed, RunError>, Vec<String>) {
        let mut told = Vec::new();
        let answers = AnswerSource::Cassettes { source: CassetteSource::Default, strict };
        let run = self.run(self.describe(None), threads);
        let result = run.commit(&answers, &self.store(), None, &mut |event| told.extend(words(event)));
        (result, told)
    }

    fn records(&self) -> usize {
        self.store().writer().reader().names().expect("a list").len()
    }
}

fn open_store(path: &Path) -> VerifiedStore {
    let user = rustix::process::geteuid().as_raw();
    let memory = StoreMemory { last_seen: None, first_use: FirstUse::Trust, user };
    VerifiedStore::open(path, memory, Duration::from_secs(60)).expect("a store")
}

/// The report as the record has it.
fn report_of(committed: &Committed) -> Report<Vec<CaseResult<RecordedScore>>> {
    let bytes = fs::read(&committed.receipt.path).expect("the record");
    RecordedRun::read(&bytes).expect("a record").0.report
}

fn words(event: &Event<'_>) -> Option<String> {
    match event {
        Event::RunStarted { selected, .. } => Some(format!("{selected} cases")),
        Event::CaseFinished(result) => Some(format!("{} {}", result.case_id, result.outcome.as_str())),
        Event::LoadError(entry) => Some(entry.to_string()),
        Event::Warning(text) => Some((*text).to_owned()),
        Event::Aggregated { report, .. } => Some(format!("mean {}", report.mean_score)),
        Event::Recorded(recorded) => Some(format!("record {}", recorded.seq)),
        Event::Notice(_) | Event::AgentSaid(_) | Event::Answered(_) | Event::Pause | Event::AnswerSetWritten { .. } => {
            None
        }
    }
}

#[test]
fn a_run_goes_from_its_cases_to_its_record_in_order_whatever_the_threads_do() {
    let desk = Desk::new();
    let expected = ["3 cases", "001-greets scored", "002-leaves-alone scored", "003-either-way scored", "mean 1"];
    for (seq, threads) in [(1, 1), (2, 3)] {
        let (result, told) = desk.replay(threads, false);
        let Committed { figures, receipt, .. } = result.expect("a record");
        assert_eq!(told, [&expected[..], &[&format!("record {seq}")]].concat());
        assert_eq!((exit_of(&figures), receipt.link.position.seq), (Exit::Ok, seq));
    }
    assert_eq!(desk.runner.scored.load(Ordering::SeqCst), 6, "every case is scored once per run");
}

#[test]
fn what_a_rubric_says_and_how_it_fails_is_told_apart() {
    let desk = Desk::answering([r#"{"say":"harmful"}"#, r#"{"say":"liar"}"#, r#"{"say":"out of fuel"}"#]);
    let report = report_of(&desk.replay(2, false).0.expect("a record"));
    let outcomes: Vec<_> = report.cases.iter().map(|case| case.outcome).collect();
    assert_eq!(outcomes, [OutcomeClass::Scored, OutcomeClass::RubricFault, OutcomeClass::RubricFault]);
    let modes: Vec<_> = report.cases.iter().map(|case| case.score.fields().failure_modes.join(",")).collect();
    assert_eq!(modes, ["harmful", "rubric_malformed: score: 2 is outside of [0, 1]", "rubric_fuel_exhausted"]);
    let block: Vec<_> = report.block_severity_failure_modes.iter().map(String::as_str).collect();
    assert_eq!(block, ["harmful", "rubric_fuel_exhausted", "rubric_malformed"]);
    assert_eq!(exit_of(&report), Exit::AnswerIsNo);
}

#[test]
fn a_machine_that_cannot_score_leaves_no_record() {
    let desk = Desk::answering(["{}", r#"{"say":"no machine"}"#, "{}"]);
    let error = desk.replay(1, false).0.expect_err("no result");
    assert_eq!(error.to_string(), "`002-leaves-alone` could not be scored, so there is no result");
    assert_eq!((error.exit(), desk.records()), (Exit::HarnessError, 0));
}

#[test]
fn a_case_that_does_not_load_costs_that_case_and_the_exit_code() {
    let fixture = Fixture::new();
    fixture.remove("cases/002-leaves-alone/expected");
    let desk = Desk::of(fixture);
    let (result, told) = desk.replay(2, false);
    let report = report_of(&result.expect("a record"));
    assert_eq!((report.attempted, report.load_errors.len(), exit_of(&report)), (2, 1, Exit::HarnessError));
    assert_eq!(told[2], "fixture/cases/002-leaves-alone does not load: expected: not found");
    for case in ["001-greets", "003-either-way"] {
        desk.fixture.remove(&format!("cases/{case}/input"));
    }
    let error = desk.replay(2, false).0.expect_err("nothing to record");
    assert!(matches!(error, RunError::NothingAttempted { load_errors: 3 }), "{error}");
}

#[test]
fn a_stale_cassette_is_a_warning_and_strictly_a_fault_and_a_missing_one_is_a_fault() {
    let fixture = Fixture::new();
    fixture.write("cases/001-greets/input/new.txt", "new");
    fixture.remove("cases/003-either-way/cassette.json");
    let desk = Desk::of(fixture);
    let outcomes = |strict| {
        let (result, told) = desk.replay(1, strict);
        assert!(
            told.contains(&"001-greets: the cassette is stale: it was made for other input".to_owned()),
            "{told:?}"
        );
        let report = report_of(&result.expect("a record"));
        report.cases.iter().map(|case| case.score.fields().failure_modes.join(",")).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(false), ["", "", "cassette_missing"]);
    assert_eq!(outcomes(true), ["cassette_stale", "", "cassette_missing"]);
}

#[test]
fn the_shards_of_a_run_give_the_report_of_the_whole_and_answers_to_other_files_none() {
    let desk = Desk::new();
    let whole = report_of(&desk.replay(1, false).0.expect("a record"));
    let sets: Vec<_> = ["1/2", "2/2"]
        .iter()
        .map(|shard| {
            let run = desk.run(desk.describe(Some(shard)), 2);
            let answers = AnswerSource::Cassettes { source: CassetteSource::Default, strict: false };
            let mut path = None;
            let header = AnswerSetHeader::new(run.description.clone(), None);
            let written = run.write_answer_set(&answers, &desk.path("shards"), header, &mut |event| {
                if let Event::AnswerSetWritten { path: written } = event {
                    path = Some((*written).to_owned());
                }
            });
            assert_eq!(written.expect("written").exit(), Exit::Ok);
            AnswerSet::read(Path::new(&path.expect("it is told"))).expect("an answer set")
        })
        .collect();
    let merged = MergedRun::join(sets).expect("one run");
    let merge = || {
        let description = merged.check_bench(merged.run.on_bench(&desk.bench, None)).expect("the same bench");
        desk.run(description, 2).commit(&AnswerSource::Stored(&merged.answers), &desk.store(), None, &mut |_| {})
    };
    assert_eq!(report_of(&merge().expect("a record")), whole);
    desk.fixture.write("cases/002-leaves-alone/input/note.txt", "changed");
    let error = merge().expect_err("the answer is to other files");
    assert_eq!(error.exit(), Exit::UsageOrCap);
    assert!(error.to_string().ends_with("the files of case `002-leaves-alone` differ"), "{error}");
    assert_eq!(desk.records(), 2, "nothing was chained");
}

#[test]
fn an_edited_answer_set_cannot_be_chained_into_a_record_that_no_verification_accepts() {
    let desk = Desk::new();
    let run = desk.run(desk.describe(Some("1/1")), 1);
    let answers = AnswerSource::Cassettes { source: CassetteSource::Default, strict: false };
    let mut path = String::new();
    let header = AnswerSetHeader::new(run.description.clone(), None);
    let mut note_path = |event: &Event<'_>| {
        if let Event::AnswerSetWritten { path: written } = event {
            (*written).clone_into(&mut path);
        }
    };
    run.write_answer_set(&answers, &desk.path("shards"), header, &mut note_path).expect("written");
    let merged = MergedRun::join(vec![AnswerSet::read(Path::new(&path)).expect("an answer set")]).expect("one run");
    let greets = "001-greets".parse().expect("a case id");
    for (field, value) in [("budget_usd", json!(1.0)), ("cost_is_estimate", json!(true)), ("cassette", json!(null))] {
        let mut edited = merged.answers.clone();
        let mut answer = serde_json::to_value(&edited[&greets]).expect("JSON");
        answer[field] = value;
        edited.insert(greets.clone(), serde_json::from_value(answer).expect("an answer"));
        let run = desk.run(merged.run.clone(), 1);
        let refused = run.commit(&AnswerSource::Stored(&edited), &desk.store(), None, &mut |_| {});
        assert!(matches!(refused, Err(RunError::Append(_))), "{field}");
        assert_eq!(desk.records(), 0, "{field}");
    }
}

/// A live run ends every child that its process has left when none of its agents runs, and so the agents of another test.
static ONE_LIVE_RUN: Mutex<()> = Mutex::new(());

/// A live run of the fixture by an agent that is a line of shell.
fn live(desk: &Desk, line: &str, cap: f64, resume: Resume, interrupt: &Interrupt) -> Result<LiveOutcome, LiveError> {
    live_continuing(desk, line, cap, (resume, None), interrupt)
}

/// The same, of what a record left out.
fn live_continuing(
    desk: &Desk,
    line: &str,
    cap: f64,
    (resume, continues): (Resume, Option<&str>),
    interrupt: &Interrupt,
) -> Result<LiveOutcome, LiveError> {
    let flags = AgentFlags { command: Some(line.to_owned()), ..AgentFlags::default() };
    live_as(desk, &flags, None, cap, (resume, continues), interrupt)
}

/// A live run by the agent of these flags, with its answers recorded in a folder.
fn live_as(
    desk: &Desk,
    flags: &AgentFlags,
    record: Option<&str>,
    cap: f64,
    (resume, continues): (Resume, Option<&str>),
    interrupt: &Interrupt,
) -> Result<LiveOutcome, LiveError> {
    let agent = AgentCommand::new(&Fixture::task_class(), None, flags, desk.temp.path()).expect("an agent");
    let cap = Usd::from_dollars(cap).expect("an amount");
    let files = CommandFiles::of(&agent.words, None).expect("readable files");
    let request = LiveRequest {
        agent: &agent,
        files: &files,
        sut: LiveSut {
            command: agent.words.clone(),
            environment: [("PATH".into(), "/usr/bin:/bin".into())].into(),
            capture: agent.settings.capture,
            named: agent.named.clone(),
            timeout: Duration::from_secs(agent.settings.timeout_seconds),
            scratch: desk.temp.path().to_owned(),
            mark: RunMark::new().expect("randomness"),
            reach: unconfined(),
            program: program(),
            family: Arc::default(),
        },
        cap,
        resume,
        continues: continues.map(Into::into),
        patience: Patience::Fail,
        record: record.map(|folder| desk.path(folder)),
        interrupt,
        bench_root: desk.fixture.path(".."),
    };
    let live = LiveDescription {
        sut: agent.sut(&files),
        cap,
        per_case: agent.most_per_case(),
        confinement: Confinement::None,
        continues: None,
    };
    let run = desk.run(desk.describe(None).answered_by(live), 1);
    let queue = RunLockQueue::join(&desk.fixture.path(".."), &Fixture::task_class()).expect("a place");
    let store = desk.path("store");
    let _alone = ONE_LIVE_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    run.conduct(&request, queue, &store, || Ok(open_store(&store)), &mut |_| {})
}

fn record_of(outcome: LiveOutcome) -> serde_json::Value {
    let LiveOutcome::Committed(result) = outcome else { panic!("a record") };
    serde_json::from_slice(&fs::read(&result.0.receipt.path).expect("a record")).expect("JSON")
}

const ANSWER: &str = r#"echo '{"output":{},"cost_usd":0.25}'"#;

#[test]
fn a_live_run_records_what_each_agent_was_told_and_charged() {
    let desk = Desk::new();
    let record = record_of(live(&desk, ANSWER, 5.0, Resume::Nothing, &Interrupt::new()).expect("a record"));
    assert_eq!((&record["mode"], &record["report"]["total_cost_usd"]), (&json!("live"), &json!(0.75)));
    let budgets = &record["budget_usd_set"];
    assert_eq!(budgets["001-greets"], json!(5.0), "nobody knows yet what a case costs");
    assert_eq!(budgets["002-leaves-alone"], json!(1.666_666_666), "an even share of the cap");
    assert_eq!(fs::read_dir(desk.path("store/journals")).expect("a folder").count(), 1, "the lock alone is left");
}

#[test]
fn a_cap_leaves_cases_out_and_they_were_told_nothing() {
    let desk = Desk::new();
    let record = record_of(live(&desk, ANSWER, 0.25, Resume::Nothing, &Interrupt::new()).expect("a record"));
    assert_eq!(record["report"]["aborted"], json!(true));
    assert_eq!(record["budget_usd_set"], json!({"001-greets": 0.25, "002-leaves-alone": null, "003-either-way": null}));
    let nothing = live(&desk, ANSWER, 0.0, Resume::Nothing, &Interrupt::new()).err().expect("nothing is affordable");
    assert_eq!((nothing.exit(), nothing.is_resumable()), (Exit::UsageOrCap, false));
    assert_eq!(nothing.to_string(), "the cap of $0.00 is too low for a single case: nothing is left of it");
    assert_eq!(desk.store().verification().unfinished.len(), 0, "it was not even announced");
}

#[test]
fn an_interrupted_run_is_resumed_without_paying_twice() {
    let desk = Desk::new();
    let interrupt = Interrupt::new();
    let paid = desk.path("paid");
    let line = format!(r#"echo x >> {}; {ANSWER}"#, paid.display());
    let agents = || fs::read_to_string(&paid).map_or(0, |text| text.lines().count());
    let nothing = live(&desk, &line, 5.0, Resume::Earlier, &interrupt).err().expect("nothing to resume");
    assert_eq!(
        (nothing.exit(), nothing.to_string().as_str()),
        (Exit::UsageOrCap, "there is no run of `fixture` to resume")
    );
    desk.fixture.remove("cases/003-either-way/expected");
    interrupt.drain_or_stop();
    let stopped = live(&desk, &line, 5.0, Resume::Nothing, &interrupt).err().expect("interrupted");
    assert_eq!((stopped.exit(), stopped.is_resumable(), agents()), (Exit::Interrupted, true, 0));
    let record = record_of(live(&desk, &line, 5.0, Resume::Earlier, &Interrupt::new()).expect("a record"));
    assert_eq!((&record["report"]["attempted"], agents()), (&json!(2), 2));
    let over = live(&desk, &line, 5.0, Resume::Earlier, &Interrupt::new()).err().expect("it is over");
    assert_eq!(over.exit(), Exit::UsageOrCap);
    assert_eq!(desk.records(), 1);
}

#[test]
fn what_was_paid_for_is_not_paid_for_again_and_other_files_are_not_answered() {
    let desk = Desk::answering(["{}", "{}", "{}"]);
    let paid = desk.path("paid");
    // The second answer cannot be scored on this machine, which ends the run when two agents are paid for.
    let line = format!(
        r#"echo x >> {0}; if [ $(wc -l < {0}) = 2 ]; then echo '{{"output":{{"say":"no machine"}},"cost_usd":0.25}}'; else {ANSWER}; fi"#,
        paid.display()
    );
    let agents = || fs::read_to_string(&paid).expect("agents ran").lines().count();
    let failed = live(&desk, &line, 5.0, Resume::Nothing, &Interrupt::new()).err().expect("no machine");
    assert_eq!((failed.exit(), failed.is_resumable(), agents()), (Exit::HarnessError, true, 2));
    desk.fixture.write("cases/001-greets/input/new.txt", "new");
    let changed = live(&desk, &line, 5.0, Resume::Earlier, &Interrupt::new()).err().expect("the bench changed");
    assert_eq!(changed.exit(), Exit::UsageOrCap);
    assert!(changed.to_string().contains("case `001-greets` changed"), "{changed}");
    desk.fixture.remove("cases/001-greets/input/new.txt");
    let again = live(&desk, &line, 5.0, Resume::Earlier, &Interrupt::new()).err().expect("still no machine");
    assert_eq!((again.exit(), agents()), (Exit::HarnessError, 2), "what is in the journal is scored, not asked again");
}

#[test]
fn a_run_that_has_nothing_to_record_keeps_its_journal() {
    let desk = Desk::answering(["{}", "{}", "{}"]);
    // The second answer cannot be scored on this machine, and nothing is left for the third.
    let then = format!(
        r#"if [ $(wc -l < {}) = 2 ]; then echo '{{"output":{{"say":"no machine"}},"cost_usd":0.25}}'; else {ANSWER}; fi"#,
        desk.path("paid").display()
    );
    let line = counting(&desk, &then);
    let failed = live(&desk, &line, 0.5, Resume::Nothing, &Interrupt::new()).err().expect("no machine");
    assert_eq!((failed.exit(), failed.is_resumable()), (Exit::HarnessError, true));
    let journal = || fs::read_to_string(desk.path("store/journals/fixture.jsonl")).expect("a journal");
    let finished = || journal().lines().filter(|line| line.contains(r#""kind":"finished""#)).count();
    let files = ["cases/001-greets/case.toml", "cases/002-leaves-alone/case.toml"];
    let before = files.map(|file| desk.fixture.read(file));
    files.iter().for_each(|file| desk.fixture.write(file, "broken"));
    let nothing = live(&desk, &line, 0.5, Resume::Earlier, &Interrupt::new()).err().expect("nothing to record");
    assert!(matches!(nothing, LiveError::Run(RunError::NothingAffordable { skipped: 1 })), "{nothing}");
    assert_eq!((nothing.exit(), nothing.is_resumable(), finished()), (Exit::UsageOrCap, true, 2));
    let advice = "its journal is kept: resume it with --resume and a higher --max-cost-usd";
    assert_eq!(nothing.hint().as_deref(), Some(advice));
    files.iter().zip(before).for_each(|(file, text)| desk.fixture.write(file, text));
    let again = live(&desk, &line, 0.5, Resume::Earlier, &Interrupt::new()).err().expect("still no machine");
    let expected = (Exit::HarnessError, 2, 2);
    assert_eq!((again.exit(), finished(), starts(&desk)), expected, "what was paid for is still there");
}

/// An agent that counts its starts, one line each, and answers or does something else.
fn counting(desk: &Desk, then: &str) -> String {
    format!("echo x >> {}; {then}", desk.path("paid").display())
}

fn starts(desk: &Desk) -> usize {
    fs::read_to_string(desk.path("paid")).map_or(0, |text| text.lines().count())
}

/// Runs until the cap, or goes on with a record, and gives the record that came of it.
fn recorded(desk: &Desk, line: &str, cap: f64, continues: Option<&str>) -> serde_json::Value {
    let outcome = live_continuing(desk, line, cap, (Resume::Nothing, continues), &Interrupt::new());
    record_of(outcome.expect("a record"))
}

fn refused(desk: &Desk, line: &str, cap: f64, continues: &str) -> LiveError {
    let outcome = live_continuing(desk, line, cap, (Resume::Nothing, Some(continues)), &Interrupt::new());
    outcome.err().expect("it is refused")
}

#[track_caller]
fn says(error: &LiveError, expected: &str) {
    assert_eq!((error.exit(), error.is_resumable()), (Exit::UsageOrCap, false), "{error}");
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn what_a_cap_left_out_is_answered_later_and_nothing_is_asked_twice() {
    let desk = Desk::new();
    let line = counting(&desk, ANSWER);
    let first = recorded(&desk, &line, 0.25, None);
    assert_eq!((&first["report"]["skipped"], &first["continues"], starts(&desk)), (&json!(2), &json!(null), 1));
    let whole = recorded(&desk, &line, 5.0, Some("1"));
    assert_eq!(starts(&desk), 3, "the first case is not asked again");
    assert_eq!((&whole["report"]["aborted"], &whole["report"]["total_cost_usd"]), (&json!(false), &json!(0.75)));
    assert_eq!(whole["continues"], whole["prev_hash"], "it names the record before it");
    assert_eq!(whole["report"]["cases"][0], first["report"]["cases"][0]);
    assert_eq!(whole["budget_usd_set"]["001-greets"], json!(0.25), "as it was told then");
}

#[test]
fn a_continuation_is_announced_like_every_live_run_and_its_store_holds() {
    let desk = Desk::new();
    let markers = [(0.25, None), (5.0, Some("1"))].map(|(cap, continues)| recorded(&desk, ANSWER, cap, continues));
    assert_ne!(markers[0]["started_marker"], markers[1]["started_marker"]);
    let store = desk.store();
    assert_eq!((store.verification().findings.len(), store.verification().unfinished.len()), (0, 0));
}

#[test]
fn an_agents_fault_and_its_words_are_taken_over_as_they_are() {
    let desk = Desk::new();
    let then = format!(
        r#"if [ $(wc -l < {0}) = 1 ]; then printf 'no\377\n' >&2; echo '["\u001b"'; else {ANSWER}; fi"#,
        desk.path("paid").display()
    );
    let line = counting(&desk, &then);
    let first = recorded(&desk, &line, 0.5, None);
    let fault = &first["report"]["cases"][0];
    assert_eq!((&fault["outcome"], &fault["cost_is_estimate"]), (&json!("sut_fault"), &json!(true)));
    assert!(fault["agent_log_digest"].is_string(), "{fault}");
    let whole = recorded(&desk, &line, 5.0, Some("1"));
    assert_eq!((&whole["report"]["cases"][0], starts(&desk)), (fault, 3), "a fault is an answer");
    assert_eq!(whole["report"]["total_cost_usd"], json!(1.0));
    let warnings = whole["report"]["warnings"].as_array().expect("warnings");
    assert_eq!(warnings.len(), 1, "what there was to warn of is said once: {warnings:?}");
}

#[test]
fn a_continuation_that_is_capped_is_continued_itself() {
    let desk = Desk::new();
    let line = counting(&desk, ANSWER);
    let _ = recorded(&desk, &line, 0.25, None);
    let second = recorded(&desk, &line, 0.5, Some("1"));
    assert_eq!((&second["report"]["skipped"], starts(&desk)), (&json!(1), 2));
    let again = refused(&desk, &line, 5.0, "1");
    says(&again, "is continued already, by record 2 (`");
    assert!(again.hint().is_some_and(|hint| hint.contains("goes on from there")), "{again}");
    let whole = recorded(&desk, &line, 5.0, Some("2"));
    assert_eq!((&whole["report"]["aborted"], starts(&desk)), (&json!(false), 3));
    assert_eq!((&whole["continues"], &whole["report"]["total_cost_usd"]), (&whole["prev_hash"], &json!(0.75)));
    for capped in ["1", "2"] {
        says(&refused(&desk, &line, 5.0, capped), "is continued already");
    }
    says(&refused(&desk, &line, 5.0, "3"), "nothing was skipped");
    assert_eq!((starts(&desk), desk.records()), (3, 3));
}

#[test]
fn a_cap_that_is_spent_already_says_what_would_be_enough() {
    let desk = Desk::new();
    let line = counting(&desk, ANSWER);
    let _ = recorded(&desk, &line, 0.25, None);
    for cap in [0.1, 0.25, 0.4] {
        let error = refused(&desk, &line, cap, "1");
        says(&error, "$0.25 of the cap of $");
        let LiveError::Continue(ContinueError::NothingLeft { enough, .. }) = error else { panic!("{error}") };
        assert_eq!(enough, Usd::from_dollars(0.75).expect("an amount"));
    }
    assert_eq!((starts(&desk), desk.records()), (1, 1));
    assert_eq!(desk.store().verification().unfinished.len(), 0, "nothing was announced");
    let whole = recorded(&desk, &line, 0.75, Some("1"));
    assert_eq!(whole["report"]["aborted"], json!(false));
}

#[test]
fn whatever_is_not_as_it_was_is_named() {
    let desk = Desk::new();
    let line = counting(&desk, ANSWER);
    desk.replay(1, false).0.expect("a record of cassettes");
    says(&refused(&desk, &line, 5.0, "1"), "is not of a live run");
    says(&refused(&desk, &line, 5.0, "2"), "the store has no record `2` of `fixture`");
    says(&refused(&desk, &line, 5.0, "20261117T093000.000Z-00000000.json"), "the store has no record");
    let _ = recorded(&desk, &line, 0.25, None);
    says(&refused(&desk, ANSWER, 5.0, "2"), "another command");
    desk.fixture.write("cases/001-greets/input/new.txt", "new");
    desk.fixture.remove("cases/003-either-way/expected");
    says(
        &refused(&desk, &line, 5.0, "2"),
        "cannot be continued by this run: cases that are not as they were: `001-greets`, `003-either-way`",
    );
    assert_eq!((starts(&desk), desk.records()), (1, 2));
}

#[test]
fn an_interrupted_continuation_is_resumed_and_only_as_what_it_is() {
    let desk = Desk::new();
    let line = counting(&desk, ANSWER);
    let _ = recorded(&desk, &line, 0.25, None);
    let interrupt = Interrupt::new();
    interrupt.drain_or_stop();
    let continuing = (Resume::Nothing, Some("1"));
    let stopped = live_continuing(&desk, &line, 5.0, continuing, &interrupt).err().expect("interrupted");
    assert_eq!((stopped.exit(), stopped.is_resumable(), starts(&desk)), (Exit::Interrupted, true, 1));
    let resume = |continues| live_continuing(&desk, &line, 5.0, (Resume::Earlier, continues), &Interrupt::new());
    says(&resume(None).err().expect("another run"), "another --continue");
    let whole = record_of(resume(Some("1")).expect("a record"));
    assert_eq!((&whole["continues"], starts(&desk)), (&whole["prev_hash"], 3));
    assert_eq!(whole["report"]["total_cost_usd"], json!(0.75));
}

#[test]
fn an_answer_that_ends_otherwise_than_in_the_record_is_not_chained() {
    let desk = Desk::new();
    let line = counting(&desk, r#"echo '{"output":{"say":"once"},"cost_usd":0.25}'"#);
    let _ = recorded(&desk, &line, 0.25, None);
    let outcome = live_continuing(&desk, &line, 5.0, (Resume::Nothing, Some("1")), &Interrupt::new());
    let error = outcome.err().expect("no verification would accept it");
    assert_eq!(
        error.to_string(),
        "the answer to case `001-greets` was rubric_fault in the record that is continued, and is scored here"
    );
    assert_eq!((error.exit(), desk.records(), starts(&desk)), (Exit::HarnessError, 1, 1));
}

/// An agent that says what it is called and, for each case, which model it asks. The second case is a fault.
const NAMED: &str = r#"read request
case "$request" in *001-*) model=one;; *) model=two;; esac
case "$request" in *002-*) exit 3;; esac
echo "{\"output\":{},\"cost_usd\":0.25,\"agent\":{\"name\":\"An agent\",\"version\":\"2.0\",\"model\":\"$model\"}}""#;

/// The name, version and model of each system under test of a record.
fn names(record: &serde_json::Value) -> serde_json::Value {
    let suts = record["suts"].as_array().expect("a list").iter();
    suts.map(|sut| json!([sut["name"], sut["version"], sut["model"]])).collect()
}

fn flags(line: &str) -> AgentFlags {
    AgentFlags { command: Some(line.to_owned()), ..AgentFlags::default() }
}

#[test]
fn two_models_in_one_run_are_two_systems_under_test_and_a_fault_is_none() {
    let desk = Desk::new();
    let record = record_of(live(&desk, NAMED, 5.0, Resume::Nothing, &Interrupt::new()).expect("a record"));
    assert_eq!(names(&record), json!([["An agent", "2.0", "one"], ["An agent", "2.0", "two"]]));
    let started = |sut: &serde_json::Value| (sut["command_digest"].clone(), sut["files"].clone());
    assert_eq!(started(&record["suts"][0]), started(&record["suts"][1]), "they are one command");
    assert_eq!(record["suts"][0]["files"].as_object().expect("files").len(), 1, "the shell; `read` is no file");
}

#[test]
fn the_command_line_wins_over_the_agent_and_the_agent_over_its_command() {
    let desk = Desk::new();
    let says = |agent: &str| format!(r#"echo '{{"output":{{}},"cost_usd":0.25,"agent":{agent}}}'"#);
    let named = |flags: &AgentFlags| {
        let outcome = live_as(&desk, flags, None, 5.0, (Resume::Nothing, None), &Interrupt::new()).expect("a record");
        names(&record_of(outcome))
    };
    let of_command = named(&flags(ANSWER));
    assert_eq!((&of_command[0][0], &of_command[0][2]), (&json!("echo"), &json!(null)));
    assert_eq!(of_command[0][1].as_str().map(str::len), Some(12), "of the command's digest");
    let whole = r#"{"name":"its own","version":"2","model":"m"}"#;
    assert_eq!(named(&flags(&says(whole))), json!([["its own", "2", "m"]]));
    let half = named(&flags(&says(r#"{"name":"its own"}"#)));
    assert_eq!((&half[0][0], half[0][1].as_str().map(str::len)), (&json!("its own"), Some(12)));
    let given = AgentFlags { name: Some("given".parse().expect("a text")), ..flags(&says(whole)) };
    assert_eq!(named(&given), json!([["given", "2", "m"]]));
    let given = AgentFlags { version: Some("7".parse().expect("a text")), ..given };
    assert_eq!(named(&given), json!([["given", "7", "m"]]));
}

#[test]
fn recorded_answers_are_replayed_under_the_names_of_those_who_gave_them() {
    let desk = Desk::new();
    // Besides the agent above: one that always fails, and says who it is or does not.
    let silent = "exit 3".to_owned();
    let failing = format!("{}; exit 3", r#"echo '{"output":{},"cost_usd":0.25,"agent":{"name":"An agent"}}'"#);
    for (index, line) in [NAMED.to_owned(), silent, failing].iter().enumerate() {
        let folder = format!("recorded-{index}");
        let live = live_as(&desk, &flags(line), Some(&folder), 5.0, (Resume::Nothing, None), &Interrupt::new());
        let live = record_of(live.expect("a record"));
        let cassettes = eval_evidence::files::Dir::open_ambient(&desk.path(&folder)).expect("cassettes");
        let answers = AnswerSource::Cassettes { source: CassetteSource::Folder(cassettes), strict: true };
        let run = desk.run(desk.describe(None), 1);
        let replayed = run.commit(&answers, &desk.store(), None, &mut |_| {}).expect("a record");
        let replayed = fs::read(&replayed.receipt.path).expect("a record");
        let replayed = serde_json::from_slice(&replayed).expect("JSON");
        assert_eq!(names(&live), names(&replayed), "{line}");
        assert!(live["suts"].as_array().is_some_and(|suts| !suts.is_empty()), "{line}");
    }
}

#[test]
fn a_resumed_run_knows_who_answered_before() {
    let desk = Desk::new();
    let line = format!(
        r#"read request; case "$request" in *003-*) say='"say":"no machine at first"';; esac; echo x >> {}
echo "{{\"output\":{{$say}},\"cost_usd\":0.25,\"agent\":{{\"name\":\"An agent\",\"version\":\"1\"}}}}""#,
        desk.path("paid").display()
    );
    let failed = live(&desk, &line, 5.0, Resume::Nothing, &Interrupt::new()).err().expect("no machine");
    assert!(failed.is_resumable(), "{failed}");
    let record = record_of(live(&desk, &line, 5.0, Resume::Earlier, &Interrupt::new()).expect("a record"));
    assert_eq!(names(&record), json!([["An agent", "1", null]]));
    assert_eq!(fs::read_to_string(desk.path("paid")).expect("agents ran").lines().count(), 3, "nobody was asked again");
}

#[test]
fn a_program_that_changes_while_it_answers_is_told_of_once() {
    let desk = Desk::new();
    let script = desk.path("agent.sh");
    fs::write(&script, format!("{ANSWER}\necho '# more' >> {}\n", script.display())).expect("a script");
    let record = record_of(live(&desk, "sh ./agent.sh", 5.0, Resume::Nothing, &Interrupt::new()).expect("a record"));
    assert_eq!(
        record["report"]["warnings"],
        json!([
            "001-greets: when its agent had ended, `agent.sh` of the agent's command was another file than before the first \
             case, so this answer and later ones may come from another agent than the record says"
        ])
    );
    assert_eq!(names(&record)[0][0], "agent.sh");
    assert!(record["suts"][0]["files"]["agent.sh"].is_string(), "{}", record["suts"]);
}

#[test]
fn a_continuation_names_whoever_answered_before_and_nobody_for_its_faults() {
    let desk = Desk::new();
    // The first case is answered by somebody with a name, and every later one is a fault of nobody's.
    let named = r#"echo '{"output":{},"cost_usd":0.25,"agent":{"name":"An agent","version":"2"}}'"#;
    let then = format!(r#"if [ $(wc -l < {}) = 1 ]; then {named}; else exit 3; fi"#, desk.path("paid").display());
    let line = counting(&desk, &then);
    let first = recorded(&desk, &line, 0.25, None);
    assert_eq!((names(&first), starts(&desk)), (json!([["An agent", "2", null]]), 1));
    let flags = flags(&line);
    let continued = live_as(&desk, &flags, Some("cassettes"), 5.0, (Resume::Nothing, Some("1")), &Interrupt::new());
    let whole = record_of(continued.expect("a record"));
    assert_eq!((&whole["suts"], starts(&desk)), (&first["suts"], 3));
    let cassette = fs::read(desk.path("cassettes/001-greets.json")).expect("a cassette");
    let cassette: serde_json::Value = serde_json::from_slice(&cassette).expect("JSON");
    assert_eq!(cassette["sut"], json!({"name": "An agent", "version": "2"}), "{cassette}");
    assert_eq!(desk.store().verification().findings.len(), 0);
}

#[test]
fn what_several_systems_answered_is_continued_and_not_recorded_under_any_of_their_names() {
    let desk = Desk::new();
    let line = NAMED.replace("*002-*) exit 3", "*none*) exit 3");
    let first = recorded(&desk, &line, 0.5, None);
    let both = json!([["An agent", "2.0", "one"], ["An agent", "2.0", "two"]]);
    assert_eq!((names(&first), &first["report"]["skipped"]), (both.clone(), &json!(1)));
    let continuing = (Resume::Nothing, Some("1"));
    let refused = live_as(&desk, &flags(&line), Some("cassettes"), 5.0, continuing, &Interrupt::new());
    says(&refused.err().expect("nobody knows whose they are"), "does not say which of them gave which answer");
    let whole = recorded(&desk, &line, 5.0, Some("1"));
    assert_eq!((names(&whole), &whole["report"]["aborted"]), (both, &json!(false)));
    assert_eq!(desk.store().verification().findings.len(), 0);
}
