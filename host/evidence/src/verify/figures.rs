//! Whether a report follows from its cases, and whether each case can have ended as it says: so that nobody need believe a
//! mean, and nobody can invent a score where there is nothing to replay.
//!
//! It looks at a record alone, on every verification. That a score is what the rubric gives needs objects,
//! and is [`super::replay`]'s business. It never corrects a figure and never serialises one in order to
//! compare.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Mode, OutputKind, RecordedRun, RecordedScore, ScoreFields, Sut};
use eval_model::contract::{Meter, RawScore};
use eval_model::ids::{CaseId, RecordHash};
use eval_model::money::is_possible_cost;
use eval_model::outcome::{HostMode, OutcomeClass};
use eval_model::report::{CaseResult, exact_mean, lower_bound_95, run_id};
use eval_model::score::BenchScore;

/// What a record says that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    #[error("its {figure} does not follow from its cases")]
    Figure { figure: &'static str },
    #[error("{what}")]
    Source { what: &'static str },
    #[error("case `{case_id}` {what}")]
    Case { case_id: CaseId, what: &'static str },
    #[error("its agents were in a cage that cannot be: {why}")]
    Cage { why: &'static str },
    #[error("it says that it continues `{record}`, and no earlier record of its task class here has that hash")]
    NothingContinued { record: RecordHash },
    #[error("it continues record {seq}, {what}")]
    Continued { seq: u64, what: &'static str },
    #[error("it continues record {seq}, and its case `{case_id}` has {what} than there")]
    ContinuedCase { seq: u64, case_id: CaseId, what: &'static str },
}

/// The first contradiction, if there is one.
pub fn contradiction(record: &RecordedRun) -> Option<Contradiction> {
    let case = |case: &CaseResult<RecordedScore>| {
        let what = impossible(record, case)?;
        Some(Contradiction::Case { case_id: case.case_id.clone(), what })
    };
    let figure = || Some(Contradiction::Figure { figure: wrong_figure(record)? });
    let source = || Some(Contradiction::Source { what: impossible_source(record)? });
    let cage = || Some(Contradiction::Cage { why: record.confinement.as_ref()?.cage()?.contradiction()? });
    source().or_else(cage).or_else(|| record.report.cases.iter().find_map(case)).or_else(figure)
}

/// Why a run cannot have got its answers as the record says. What its cassettes say is [`super::answers`]' business.
fn impossible_source(record: &RecordedRun) -> Option<&'static str> {
    let was_started = |sut: &Sut| sut.command_digest.is_some();
    let has_files_or_command = |sut: &Sut| was_started(sut) || !sut.files.is_empty();
    let is_live = record.output_kinds.contains(&OutputKind::Live);
    let checks = match record.mode {
        Mode::Live => [
            (
                "it is of a live run, and has outputs of another kind, or of none",
                !is_live || record.output_kinds.len() > 1,
            ),
            ("it is of a live run, and names no agent, or agents of several commands", is_not_one_command(record)),
            ("it is of a live run, and does not say what was started", !record.suts.iter().all(was_started)),
            ("it is of a live run, and names no marker that announced it", record.started_marker.is_none()),
            ("it is of a live run, and does not say how its agents were confined", record.confinement.is_none()),
            ("it is of a live run, and had no cap that can be", !record.max_cost_usd.is_some_and(is_possible_cost)),
        ],
        Mode::Cassette => [
            ("it is of cassettes, and has live outputs", is_live),
            ("it is of cassettes, and has no output kind or system under test", has_no_source(record)),
            ("it is of cassettes, and says that an agent was started", record.suts.iter().any(has_files_or_command)),
            (
                "it is of cassettes, and names the marker or the shards of a live run",
                record.started_marker.is_some() || record.shards_elsewhere > 0,
            ),
            (
                "it is of cassettes, and says how agents were confined, or under which cap",
                record.confinement.is_some() || record.max_cost_usd.is_some(),
            ),
            ("it is of cassettes, and continues a live run", record.continues.is_some()),
        ],
    };
    checks.into_iter().find(|(_, is_so)| *is_so).map(|(what, _)| what)
}

/// Whether there are no systems under test, or some that differ in what was started. A run starts one command, which may say anew
/// for every case what it is called and which model it asks; one that continues another has the answers of both.
fn is_not_one_command(record: &RecordedRun) -> bool {
    let started: BTreeSet<_> = record.suts.iter().map(|sut| (sut.command_digest, &sut.files)).collect();
    started.is_empty() || (started.len() > 1 && record.continues.is_none())
}

/// Whether there are cassettes and nobody who made them.
fn has_no_source(record: &RecordedRun) -> bool {
    let has_cassettes = record.cassette_digest_set.values().any(Option::is_some);
    has_cassettes == record.output_kinds.is_empty() || has_cassettes == record.suts.is_empty()
}

/// Why a case cannot have ended as the record says.
fn impossible(record: &RecordedRun, case: &CaseResult<RecordedScore>) -> Option<&'static str> {
    let score = case.score.fields();
    let has_output = record.output_digest_set.get(&case.case_id).is_some_and(Option::is_some);
    let verdict = match case.outcome {
        OutcomeClass::Scored => impossible_score(record, &score, has_output),
        outcome => impossible_fault(outcome, &score, has_output),
    };
    verdict.or_else(|| impossible_traces(case, has_output)).or_else(|| impossible_answer(record, case, has_output))
}

/// A verdict of the rubric: on an output, and such as the host admits.
fn impossible_score(record: &RecordedRun, score: &ScoreFields, has_output: bool) -> Option<&'static str> {
    if !has_output {
        return Some("has a verdict and no output that it could be about");
    }
    let meter = Meter { cost_usd: score.cost_usd, duration_seconds: score.duration_seconds };
    let claim = RawScore {
        passed: score.passed,
        score: score.score,
        breakdown: score.breakdown.clone().into_iter().collect(),
        failure_modes: score.failure_modes.clone(),
        cost_usd: score.cost_usd,
        duration_seconds: score.duration_seconds,
    };
    let admitted = BenchScore::admit(claim, meter, &record.block_modes);
    let is_as_admitted = |admitted: BenchScore| admitted.failure_modes() == score.failure_modes;
    (!admitted.is_ok_and(is_as_admitted)).then_some("has a verdict that the host takes from no rubric")
}

/// A fault: no points whatever, and one reason, which is the host's own and of the outcome's class.
fn impossible_fault(outcome: OutcomeClass, score: &ScoreFields, has_output: bool) -> Option<&'static str> {
    if score.passed || score.score != 0.0 || !score.breakdown.is_empty() {
        return Some("ended in a fault, which scores 0, and has a score all the same");
    }
    let [mode] = score.failure_modes.as_slice() else { return Some("ended in a fault, and not in exactly one") };
    match HostMode::of(mode) {
        Some(mode) if mode.class() != outcome => Some("has a failure mode of another outcome than its own"),
        Some(mode) if mode.has_output() != has_output => {
            Some("has an output and a failure mode that exclude each other")
        }
        Some(_) => None,
        None => Some("ended in a fault that the host does not have"),
    }
}

/// What a case leaves besides its score: a meter that ran forward, and traces of a rubric only where one ran.
fn impossible_traces(case: &CaseResult<RecordedScore>, has_output: bool) -> Option<&'static str> {
    let score = case.score.numbers();
    let rubric_left_something =
        case.fuel_used.is_some() || case.peak_memory_bytes.is_some() || case.logs_digest.is_some();
    let lacks_figures = case.fuel_used.is_none() || case.peak_memory_bytes.is_none();
    let checks = [
        ("cost less than nothing, or took less time", score.cost_usd < 0.0 || score.duration_seconds < 0.0),
        ("has traces of a rubric, which had no output to run on", rubric_left_something && !has_output),
        ("has no trace of the rubric that scored it", lacks_figures && case.outcome == OutcomeClass::Scored),
    ];
    checks.into_iter().find(|(_, is_so)| *is_so).map(|(what, _)| what)
}

/// Where an answer came from: a cassette in a run of cassettes, an agent that was told its budget in a live one.
fn impossible_answer(record: &RecordedRun, case: &CaseResult<RecordedScore>, has_output: bool) -> Option<&'static str> {
    let budget = record.budget_usd_set.get(&case.case_id).copied().flatten();
    let has_cassette = record.cassette_digest_set.get(&case.case_id).is_some_and(Option::is_some);
    let mode = case.score.fields().failure_modes.first().and_then(|mode| HostMode::of(mode));
    let is_of_cassettes = matches!(mode, Some(HostMode::CassetteMissing | HostMode::CassetteStale));
    let checks = match record.mode {
        Mode::Cassette => [
            ("was replayed, and is said to have an estimated cost", case.cost_is_estimate),
            ("was replayed, and is said to have had an agent with a budget", budget.is_some()),
            (
                "has no cassette, and did not end for want of one",
                has_cassette == (mode == Some(HostMode::CassetteMissing)),
            ),
            ("was replayed, and is said to have been left out for its cost", mode == Some(HostMode::SkippedCostCap)),
        ],
        Mode::Live => [
            ("had an agent with an impossible budget", budget.is_some_and(|budget| !is_possible_cost(budget))),
            ("has an output, and no budget that its agent was told", has_output && budget.is_none()),
            ("was answered live, and is said to be from a cassette", has_cassette),
            ("was answered live, and ended for want of a cassette", is_of_cassettes),
        ],
    };
    checks.into_iter().find(|(_, is_so)| *is_so).map(|(what, _)| what)
}

/// The first figure of the report that does not follow.
fn wrong_figure(record: &RecordedRun) -> Option<&'static str> {
    let report = &record.report;
    let scores = || report.cases.iter().map(|case| (case.outcome, case.score.numbers()));
    let attempted = || scores().filter(|(outcome, _)| *outcome != OutcomeClass::Skipped).map(|(_, score)| score);
    let count = attempted().count() as u64;
    let skipped = report.cases.len() as u64 - count;
    let mut outcomes: BTreeMap<_, u64> = OutcomeClass::ALL.map(|class| (class, 0)).into();
    for (outcome, _) in scores() {
        *outcomes.entry(outcome).or_default() += 1;
    }
    let mean = exact_mean(attempted().map(|score| score.score));
    let cases = report.cases.iter().map(|case| (&case.case_id, case.score.text()));
    let selected = (report.cases.len() + report.load_errors.len()) as u64;
    let selection = &report.selection;
    let checks = [
        ("run_id", record.run_id == run_id(&record.task_class, cases)),
        ("selection", selection.selected == selected && selection.cases_in_bench >= selected),
        ("count of attempted cases", report.attempted == count),
        ("count of skipped cases", report.skipped == skipped),
        ("count per outcome", report.outcomes == outcomes),
        ("passed_count", report.passed_count == attempted().filter(|score| score.passed).count() as u64),
        ("mean_score", mean.map(f64::to_bits) == Some(report.mean_score.to_bits())),
        ("lower_bound_95", lower_bound_95(report.mean_score, count).to_bits() == report.lower_bound_95.to_bits()),
        ("aborted", report.aborted == (skipped > 0)),
        ("had_load_errors", report.had_load_errors != report.load_errors.is_empty()),
        (
            "block_severity_failure_modes",
            report.block_severity_failure_modes == record.block_severity_modes(&record.block_modes),
        ),
    ];
    checks.into_iter().find(|(_, holds)| !holds).map(|(figure, _)| figure).or_else(|| wrong_cost(record))
}

/// Cassettes cost nothing now and what they cost when they were made. A live run costs what its cases did, and more if agents
/// were lost together with the process that had started them.
fn wrong_cost(record: &RecordedRun) -> Option<&'static str> {
    let report = &record.report;
    let sum = report.cases.iter().map(|case| case.score.numbers().cost_usd).sum::<f64>() + 0.0;
    let (total_holds, recorded) = match record.mode {
        Mode::Live => (report.total_cost_usd >= sum, 0.0),
        Mode::Cassette => (report.total_cost_usd == 0.0, sum),
    };
    let checks = [
        ("total_cost_usd", total_holds),
        ("recorded_cost_usd", report.recorded_cost_usd.to_bits() == recorded.to_bits()),
    ];
    checks.into_iter().find(|(_, holds)| !holds).map(|(figure, _)| figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Heads, StoreId};
    use crate::record::fixture::Run;
    use serde_json::{Value, json};

    fn bytes() -> Vec<u8> {
        let position = Heads::default().next(StoreId::from_bytes([1; 16]), &"fixture".parse().expect("a task class"));
        Run::new(2).at(&position).to_bytes()
    }

    fn read(bytes: &[u8]) -> RecordedRun {
        RecordedRun::read(bytes).expect("a record").0
    }

    /// What a forger does who knows the rules of the figures: the record with every figure made to follow from its cases.
    fn forged(change: impl FnOnce(&mut Value)) -> RecordedRun {
        let mut value = serde_json::from_slice(&bytes()).expect("JSON");
        change(&mut value);
        let mut record = read(value.to_string().as_bytes());
        let RecordedRun { report, task_class, .. } = &mut record;
        report.outcomes = OutcomeClass::ALL.map(|class| (class, 0)).into();
        for case in &report.cases {
            *report.outcomes.entry(case.outcome).or_default() += 1;
        }
        report.skipped = report.outcomes[&OutcomeClass::Skipped];
        report.attempted = report.cases.len() as u64 - report.skipped;
        let attempted = || report.cases.iter().filter(|case| case.outcome != OutcomeClass::Skipped);
        report.passed_count = attempted().filter(|case| case.score.fields().passed).count() as u64;
        let scores = attempted().map(|case| case.score.fields().score.clamp(0.0, 1.0));
        report.mean_score = exact_mean(scores).unwrap_or(0.0);
        report.lower_bound_95 = lower_bound_95(report.mean_score, report.attempted);
        record.run_id = run_id(task_class, report.cases.iter().map(|case| (&case.case_id, case.score.text())));
        record
    }

    fn first_case(record: &mut Value) -> &mut Value {
        &mut record["report"]["cases"][0]
    }

    /// Makes the first case one that ended in a fault, in every part of the record.
    fn fault(record: &mut Value, outcome: &str, mode: &str, has_output: bool) {
        let case = first_case(record);
        case["outcome"] = json!(outcome);
        case["score"] = json!({"passed": false, "score": 0.0, "breakdown": {}, "failure_modes": [mode],
                               "cost_usd": 0.25, "duration_seconds": 1.5});
        if !has_output {
            for trace in ["fuel_used", "peak_memory_bytes", "logs_digest"] {
                case[trace] = Value::Null;
            }
            record["output_digest_set"]["001-first"] = Value::Null;
        }
        if mode == "cassette_missing" {
            record["cassette_digest_set"]["001-first"] = Value::Null;
        }
        if outcome != "sut_fault" {
            record["report"]["block_severity_failure_modes"] =
                json!([HostMode::of(mode).expect("a mode of the host's").name()]);
        }
        record["report"]["aborted"] = json!(outcome == "skipped");
    }

    /// Makes the run a live one, in every part of the record.
    fn live(record: &mut Value) {
        record["mode"] = json!("live");
        record["output_kinds"] = json!(["live"]);
        record["suts"][0]["command_digest"] = json!("0".repeat(64));
        record["started_marker"] = json!("0".repeat(64));
        record["confinement"] = json!({"caged": {"landlock_abi": 6, "namespaces": ["ipc", "mount", "pid", "user"],
                                                 "network": "open", "read": [], "write": [], "memory_mib": 4096,
                                                 "processes": 512, "workspace_mib": 1024}});
        record["max_cost_usd"] = json!(5.0);
        for case in ["001-first", "002-second"] {
            record["cassette_digest_set"][case] = Value::Null;
            record["budget_usd_set"][case] = json!(1.0);
        }
        record["report"]["total_cost_usd"] = json!(0.5);
        record["report"]["recorded_cost_usd"] = json!(0.0);
    }

    #[track_caller]
    fn says(change: impl FnOnce(&mut Value), expected: &str) {
        let found = contradiction(&forged(change)).map(|contradiction| contradiction.to_string());
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn what_the_host_writes_contradicts_nothing() {
        assert_eq!(contradiction(&read(&bytes())), None);
        assert_eq!(contradiction(&forged(|_| {})), None);
        for (outcome, mode, has_output) in [
            ("sut_fault", "timeout", false),
            ("sut_fault", "harness_error: signal: 9", false),
            ("sut_fault", "output_malformed: no label", true),
            ("rubric_fault", "rubric_timeout", true),
            ("rubric_fault", "rubric_error: ", true),
            ("harness_fault", "cassette_missing", false),
            ("skipped", "skipped_cost_cap", false),
        ] {
            let change = |record: &mut Value| {
                if mode == "skipped_cost_cap" {
                    live(record);
                }
                fault(record, outcome, mode, has_output);
            };
            assert_eq!(contradiction(&forged(change)), None, "{mode}");
        }
    }

    /// The two forgeries by which a replay could be told that there is nothing to replay.
    #[test]
    fn a_fault_cannot_have_a_score() {
        let expected = "case `001-first` ended in a fault, which scores 0, and has a score all the same";
        for (outcome, mode, has_output) in [("sut_fault", "timeout", false), ("rubric_fault", "rubric_timeout", true)] {
            for (field, value) in [("passed", json!(true)), ("score", json!(1.0)), ("breakdown", json!({"fixed": 1.0}))]
            {
                let change = |record: &mut Value| {
                    fault(record, outcome, mode, has_output);
                    first_case(record)["score"][field] = value;
                };
                says(change, expected);
            }
        }
        let clock_fault_as_a_verdict = |record: &mut Value| {
            first_case(record)["score"]["failure_modes"] = json!(["rubric_timeout"]);
            first_case(record)["score"]["score"] = json!(1.0);
        };
        says(clock_fault_as_a_verdict, "case `001-first` has a verdict that the host takes from no rubric");
    }

    #[test]
    fn a_fault_has_one_reason_of_its_own_class_and_an_output_only_if_a_rubric_saw_it() {
        let with_modes = |modes: Value| {
            move |record: &mut Value| {
                fault(record, "sut_fault", "timeout", false);
                first_case(record)["score"]["failure_modes"] = modes;
            }
        };
        says(with_modes(json!([])), "case `001-first` ended in a fault, and not in exactly one");
        says(with_modes(json!(["timeout", "timeout"])), "case `001-first` ended in a fault, and not in exactly one");
        says(with_modes(json!(["bad_luck"])), "case `001-first` ended in a fault that the host does not have");
        let other = "case `001-first` has a failure mode of another outcome than its own";
        says(with_modes(json!(["cassette_missing"])), other);
        let excluded = "case `001-first` has an output and a failure mode that exclude each other";
        says(|record| fault(record, "rubric_fault", "rubric_trap: exit", false), excluded);
        says(|record| fault(record, "sut_fault", "timeout", true), excluded);
        let without_output = |record: &mut Value| record["output_digest_set"]["001-first"] = Value::Null;
        says(without_output, "case `001-first` has a verdict and no output that it could be about");
    }

    #[test]
    fn a_verdict_is_one_that_the_host_admits() {
        let expected = "case `001-first` has a verdict that the host takes from no rubric";
        for (field, value) in [
            ("score", json!(1.5)),
            ("failure_modes", json!(["skipped_cost_cap"])),
            ("failure_modes", json!(["b", "a"])),
            ("failure_modes", json!(["Not a name"])),
            ("breakdown", json!({"llm_view": 1.0})),
        ] {
            says(|record| first_case(record)["score"][field] = value, expected);
        }
    }

    #[test]
    fn the_meter_runs_forward_and_traces_are_left_by_what_ran() {
        says(
            |record| first_case(record)["score"]["cost_usd"] = json!(-1.0),
            "case `001-first` cost less than nothing, or took less time",
        );
        says(
            |record| first_case(record)["peak_memory_bytes"] = Value::Null,
            "case `001-first` has no trace of the rubric that scored it",
        );
        let fuel_without_output = |record: &mut Value| {
            fault(record, "sut_fault", "timeout", false);
            first_case(record)["fuel_used"] = json!(5);
        };
        says(fuel_without_output, "case `001-first` has traces of a rubric, which had no output to run on");
        says(
            |record| first_case(record)["cost_is_estimate"] = json!(true),
            "case `001-first` was replayed, and is said to have an estimated cost",
        );
    }

    #[test]
    fn figures_that_do_not_follow_are_named() {
        let figure = |figure: &str| format!("its {figure} does not follow from its cases");
        says(|record| record["report"]["aborted"] = json!(true), &figure("aborted"));
        says(|record| record["report"]["total_cost_usd"] = json!(0.5), &figure("total_cost_usd"));
        says(|record| record["report"]["recorded_cost_usd"] = json!(0.25), &figure("recorded_cost_usd"));
        says(|record| record["report"]["selection"]["selected"] = json!(1), &figure("selection"));
        let hidden_fault = |record: &mut Value| {
            fault(record, "rubric_fault", "rubric_timeout", true);
            record["report"]["block_severity_failure_modes"] = json!([]);
        };
        says(hidden_fault, &figure("block_severity_failure_modes"));
        let hidden_skip = |record: &mut Value| {
            live(record);
            fault(record, "skipped", "skipped_cost_cap", false);
            record["report"]["aborted"] = json!(false);
        };
        says(hidden_skip, &figure("aborted"));
    }

    #[test]
    fn what_blocks_follows_from_what_the_record_says_is_of_block_severity() {
        let blocked = |record: &mut Value| {
            first_case(record)["score"]["passed"] = json!(false);
            first_case(record)["score"]["failure_modes"] = json!(["cve_still_present"]);
        };
        says(blocked, "its block_severity_failure_modes does not follow from its cases");
        let invented = |record: &mut Value| {
            record["report"]["block_severity_failure_modes"] = json!(["cve_still_present"]);
        };
        says(invented, "its block_severity_failure_modes does not follow from its cases");
        let passed_all_the_same =
            |record: &mut Value| first_case(record)["score"]["failure_modes"] = json!(["cve_still_present"]);
        says(passed_all_the_same, "case `001-first` has a verdict that the host takes from no rubric");
    }

    #[test]
    fn only_a_live_agent_has_a_budget_and_it_is_not_negative() {
        let with_budget = |budget: f64| move |record: &mut Value| record["budget_usd_set"]["001-first"] = json!(budget);
        says(with_budget(0.5), "case `001-first` was replayed, and is said to have had an agent with a budget");
        for impossible in [-0.5, 1e300] {
            let wrong = |record: &mut Value| {
                live(record);
                with_budget(impossible)(record);
            };
            says(wrong, "case `001-first` had an agent with an impossible budget");
        }
        let untold = |record: &mut Value| {
            live(record);
            record["budget_usd_set"]["001-first"] = Value::Null;
        };
        says(untold, "case `001-first` has an output, and no budget that its agent was told");
    }

    #[test]
    fn an_answer_is_from_a_cassette_or_from_an_agent_as_the_run_was() {
        says(
            |record| record["cassette_digest_set"]["001-first"] = Value::Null,
            "case `001-first` has no cassette, and did not end for want of one",
        );
        let skipped = |record: &mut Value| fault(record, "skipped", "skipped_cost_cap", false);
        says(skipped, "case `001-first` was replayed, and is said to have been left out for its cost");
        let from_a_cassette = |record: &mut Value| {
            live(record);
            record["cassette_digest_set"]["001-first"] = json!("0".repeat(64));
        };
        says(from_a_cassette, "case `001-first` was answered live, and is said to be from a cassette");
        let excused = |record: &mut Value| {
            live(record);
            fault(record, "harness_fault", "cassette_missing", false);
        };
        says(excused, "case `001-first` was answered live, and ended for want of a cassette");
        let unannounced = |record: &mut Value| {
            live(record);
            record["started_marker"] = Value::Null;
        };
        says(unannounced, "it is of a live run, and names no marker that announced it");
    }

    #[test]
    fn a_record_says_where_its_answers_are_from_and_nothing_that_cannot_be() {
        says(
            |record| record["output_kinds"] = json!([]),
            "it is of cassettes, and has no output kind or system under test",
        );
        says(|record| record["suts"] = json!([]), "it is of cassettes, and has no output kind or system under test");
        says(|record| record["output_kinds"] = json!(["live"]), "it is of cassettes, and has live outputs");
        let started = |record: &mut Value| record["suts"][0]["command_digest"] = json!("0".repeat(64));
        says(started, "it is of cassettes, and says that an agent was started");
        let hides_a_run = |record: &mut Value| record["started_marker"] = json!("0".repeat(64));
        says(hides_a_run, "it is of cassettes, and names the marker or the shards of a live run");
        let has_shards = |record: &mut Value| record["shards_elsewhere"] = json!(1);
        says(has_shards, "it is of cassettes, and names the marker or the shards of a live run");
        for kinds in [json!([]), json!(["recorded"]), json!(["live", "recorded"])] {
            let other_kinds = |record: &mut Value| {
                live(record);
                record["output_kinds"] = kinds;
            };
            says(other_kinds, "it is of a live run, and has outputs of another kind, or of none");
        }
        let nobody = |record: &mut Value| {
            live(record);
            record["suts"] = json!([]);
        };
        says(nobody, "it is of a live run, and names no agent, or agents of several commands");
        for (field, value) in [("command_digest", json!("1".repeat(64))), ("files", json!({"agent": "1".repeat(64)}))] {
            let two_commands = |record: &mut Value| {
                live(record);
                let mut other = record["suts"][0].clone();
                other[field] = value;
                record["suts"] = json!([record["suts"][0], other]);
            };
            says(two_commands, "it is of a live run, and names no agent, or agents of several commands");
        }
        let several = |record: &mut Value| {
            live(record);
            let mut other = record["suts"][0].clone();
            other["version"] = json!("2");
            record["suts"].as_array_mut().expect("a list").push(other);
        };
        assert_eq!(contradiction(&forged(several)), None, "an agent may say of each answer who gave it");
        let not_started = |record: &mut Value| {
            live(record);
            record["suts"][0]["command_digest"] = Value::Null;
        };
        says(not_started, "it is of a live run, and does not say what was started");
    }

    #[test]
    fn a_live_run_and_no_other_says_how_its_agents_were_confined_and_under_which_cap() {
        let of_a_live_run = |field: &'static str, value: Value, expected: &str| {
            let changed = |record: &mut Value| {
                live(record);
                record[field] = value;
            };
            says(changed, expected);
        };
        let silent = "it is of a live run, and does not say how its agents were confined";
        of_a_live_run("confinement", Value::Null, silent);
        for cap in [Value::Null, json!(-0.5), json!(1e300)] {
            of_a_live_run("max_cost_usd", cap, "it is of a live run, and had no cap that can be");
        }
        let unconfined = |record: &mut Value| {
            live(record);
            record["confinement"] = json!("none");
        };
        assert_eq!(contradiction(&forged(unconfined)), None, "that is the gate's to refuse");
        let of_cassettes = "it is of cassettes, and says how agents were confined, or under which cap";
        says(|record| record["confinement"] = json!("none"), of_cassettes);
        says(|record| record["max_cost_usd"] = json!(5.0), of_cassettes);
        let continues = |record: &mut Value| record["continues"] = json!("0".repeat(64));
        says(continues, "it is of cassettes, and continues a live run");
        let with_files = |record: &mut Value| record["suts"][0]["files"] = json!({"agent.sh": "0".repeat(64)});
        says(with_files, "it is of cassettes, and says that an agent was started");
    }

    #[test]
    fn a_cage_is_one_that_can_be() {
        let with = |field: &'static str, value: Value, why: &str| {
            let changed = |record: &mut Value| {
                live(record);
                record["confinement"]["caged"][field] = value;
            };
            says(changed, &format!("its agents were in a cage that cannot be: {why}"));
        };
        with("landlock_abi", json!(0), "it is without Landlock");
        with("namespaces", json!(["pid"]), "it has some of the namespaces and not all");
        let network = "it has a network namespace without `none` for its network, or the reverse";
        with("network", json!("none"), network);
        with("namespaces", json!(["ipc", "mount", "net", "pid", "user"]), network);
        let old_landlock = |record: &mut Value| {
            live(record);
            record["confinement"]["caged"]["network"] = json!([443]);
            record["confinement"]["caged"]["landlock_abi"] = json!(3);
        };
        let ports = "it is held to TCP ports by a Landlock that knows none";
        says(old_landlock, &format!("its agents were in a cage that cannot be: {ports}"));
    }

    #[test]
    fn a_live_run_costs_at_least_what_its_cases_do() {
        let live = |total: f64, recorded: f64| {
            forged(|record| {
                live(record);
                record["report"]["total_cost_usd"] = json!(total);
                record["report"]["recorded_cost_usd"] = json!(recorded);
            })
        };
        assert_eq!(contradiction(&live(0.5, 0.0)), None);
        assert_eq!(contradiction(&live(0.75, 0.0)), None, "an agent was lost");
        let figure = |figure| Some(Contradiction::Figure { figure });
        assert_eq!(contradiction(&live(0.25, 0.0)), figure("total_cost_usd"));
        assert_eq!(contradiction(&live(0.5, 0.5)), figure("recorded_cost_usd"));
    }
}
