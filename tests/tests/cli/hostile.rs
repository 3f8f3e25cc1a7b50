//! A hostile rubric in a whole run: a fault of its case, and of nothing else.

use std::fs;

use eval_host_tests::{Ended, FIXTURE, Workbench, guests};
use serde_json::{Value, json};

use crate::BINARY;

/// A bench with three cases whose rubric is `component`, and in which the answers tell the guest what to do.
fn workbench(component: &[u8], asked: [&str; 3]) -> Workbench {
    let workbench = Workbench::with_fixture(BINARY);
    workbench.replace_rubric(FIXTURE, component);
    let cases = workbench.fixture().join("cases");
    let mut names: Vec<_> = fs::read_dir(&cases).expect("cases").map(|entry| entry.expect("a case").path()).collect();
    names.sort();
    assert_eq!(names.len(), asked.len());
    for (case, asked) in names.iter().zip(asked) {
        let path = case.join("cassette.json");
        let mut cassette: Value = serde_json::from_slice(&fs::read(&path).expect("it")).expect("JSON");
        cassette["output"] = json!({ "do": asked });
        fs::write(path, cassette.to_string()).expect("a cassette");
    }
    workbench
}

fn run(workbench: &Workbench) -> Ended {
    workbench.eval(["run", "--task-class=fixture"]).run().expect_code(5)
}

fn outcomes(ended: &Ended) -> Vec<(String, Value)> {
    let outcome =
        |case: Value| (case["outcome"].as_str().expect("text").to_owned(), case["score"]["failure_modes"].clone());
    ended.lines("case").into_iter().map(outcome).collect()
}

#[test]
fn a_rubric_that_loops_for_ever_runs_out_of_fuel_in_every_case_and_the_run_ends() {
    let workbench = workbench(guests::LOOPS_FOREVER, ["", "", ""]);
    let ended = run(&workbench);
    let fault = ("rubric_fault".to_owned(), json!(["rubric_fuel_exhausted"]));
    assert_eq!(outcomes(&ended), [fault.clone(), fault.clone(), fault]);
    assert_eq!(ended.line("aggregate")["block_severity_failure_modes"], json!(["rubric_fuel_exhausted"]));
    let _ = workbench.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn a_score_of_one_and_a_half_is_refused_and_the_other_cases_go_on() {
    let workbench = workbench(guests::LIES, ["negative-zero", "one-and-a-half", "negative-zero"]);
    let ended = run(&workbench);
    let cases = outcomes(&ended);
    let fault = json!(["rubric_malformed: score: 1.5 is outside of [0, 1]"]);
    assert_eq!(cases[1], ("rubric_fault".to_owned(), fault));
    assert_eq!((cases[0].0.as_str(), cases[2].0.as_str()), ("scored", "scored"));
    assert_eq!(ended.line("aggregate")["outcomes"]["scored"], 2);
}

#[test]
fn what_a_case_says_of_itself_does_not_reach_the_terminal_unescaped() {
    let workbench = Workbench::with_fixture(BINARY);
    let path = workbench.fixture().join("cases/001-greets/case.toml");
    let text = fs::read_to_string(&path).expect("a case");
    fs::write(&path, format!("\"\\r\\u001b[2KOK\" = 1\n{text}")).expect("a hostile one");
    let run = workbench.eval(["run", "--task-class=fixture", "--cases=00*"]).run().expect_code(1);
    let fence = workbench.eval(["fence"]).run().expect_code(5);
    for ended in [run, fence] {
        assert!(ended.stderr.contains(r"\r\u{1b}[2KOK"), "{}", ended.stderr);
        let raw = ended.stderr.chars().filter(|character| character.is_control() && *character != '\n').count();
        assert_eq!(raw, 0, "{:?}", ended.stderr);
    }
}
