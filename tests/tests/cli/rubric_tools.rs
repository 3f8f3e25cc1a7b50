//! `rubric inspect`, `rubric score` and `rubric test`, as a rubric author meets them.

use std::fs;

use eval_host_tests::{FIXTURE, Workbench, guests};
use serde_json::json;

use crate::BINARY;

const CASE: &str = "bench/fixture/cases/001-greets";

fn workbench() -> Workbench {
    Workbench::with_fixture(BINARY)
}

#[test]
fn inspect_says_who_grants_what() {
    let ended = workbench().eval(["rubric", "inspect", "bench/fixture/rubric.wasm"]).run().expect_code(0);
    let line = ended.line("inspection");
    assert_eq!(line["world"], "eval-host:rubric/rubric@0.1.0");
    assert_eq!(line["contract_version"], "0.1.0");
    assert_eq!(line["loads"], true);
    for import in line["imports"].as_array().expect("imports") {
        assert!(!import["granted_by"].is_null(), "{import}");
    }
    assert!(ended.stderr.ends_with("it loads\n"), "{}", ended.stderr);
}

#[test]
fn inspect_names_what_is_refused_and_what_to_do() {
    let workbench = workbench();
    fs::write(workbench.path().join("net.wasm"), guests::IMPORTS_HTTP).expect("a file");
    let ended = workbench.eval(["rubric", "inspect", "net.wasm"]).run().expect_code(5);
    let line = ended.line("inspection");
    let imports = line["imports"].as_array().expect("a list");
    let http = imports.iter().find(|import| import["name"] == "wasi:http/outgoing-handler@0.2.6").expect("it is named");
    assert_eq!(http["granted_by"], json!(null));
    assert!(ended.stderr.contains("imports wasi:http/outgoing-handler@0.2.6: REFUSED: "), "{}", ended.stderr);
}

#[test]
fn score_gives_what_a_run_gives() {
    let workbench = workbench();
    let cassette = fs::read_to_string(workbench.path().join(CASE).join("cassette.json")).expect("a cassette");
    let cassette: serde_json::Value = serde_json::from_str(&cassette).expect("JSON");
    fs::write(workbench.path().join("output.json"), cassette["output"].to_string()).expect("an output");
    let scored = workbench
        .eval(["rubric", "score", "--case", CASE, "--output=output.json", "--keep-scratch=kept"])
        .run()
        .expect_code(0);
    let run = workbench.eval(["run", "--task-class=fixture", "--cases=001-*"]).run().expect_code(0);
    assert_eq!(scored.line("case")["score"], run.line("case")["score"]);
    let input = fs::read(workbench.path().join(CASE).join("input/note.txt")).expect("a file");
    assert_eq!(fs::read(workbench.path().join("kept/input/note.txt")).expect("the same"), input);
    assert!(scored.stderr.contains("fuel: "), "{}", scored.stderr);
}

#[test]
fn score_refuses_what_is_no_output_and_no_case() {
    let workbench = workbench();
    fs::write(workbench.path().join("list.json"), "[]").expect("a file");
    let list = workbench.eval(["rubric", "score", "--case", CASE, "--output=list.json"]).run().expect_code(2);
    assert!(list.stderr.starts_with("error: `list.json` is not an output: "), "{}", list.stderr);
    fs::write(workbench.path().join("empty.json"), "{}").expect("a file");
    let nowhere = workbench.eval(["rubric", "score", "--case=bench", "--output=empty.json"]).run().expect_code(2);
    assert!(nowhere.stderr.contains("is not a case's folder"), "{}", nowhere.stderr);
    let malformed = workbench.eval(["rubric", "score", "--case", CASE, "--output=empty.json"]).run().expect_code(5);
    assert_eq!(malformed.line("case")["outcome"], "sut_fault");
}

#[test]
fn the_golden_tests_of_every_bench_hold_in_the_sandbox() {
    for task_class in ["vuln-remediation", "migration-chainguard-distroless"] {
        let workbench = Workbench::with_bench(BINARY, task_class);
        let ended = workbench.eval(["rubric", "test", &format!("--task-class={task_class}")]).run().expect_code(0);
        assert!(ended.lines("golden").len() >= 30, "{}", ended.stderr);
    }
}

#[test]
fn every_golden_test_says_what_it_expected_and_what_it_used() {
    let ended = workbench().eval(["rubric", "test", "--task-class=fixture"]).run().expect_code(0);
    let lines = ended.lines("golden");
    assert_eq!(lines.len(), 9, "{}", ended.stderr);
    for line in &lines {
        assert_eq!((&line["holds"], &line["actual"]), (&true.into(), &line["expected"]), "{line}");
        assert!(line["fuel_used"].as_u64() > Some(0), "{line}");
    }
    let fault = lines.iter().find(|line| line["name"] == "malformed").expect("it is there");
    assert_eq!(fault["actual"], "output_malformed");
    assert!(ended.stderr.starts_with("9 golden tests passed, 0 failed\nmost fuel: "), "{}", ended.stderr);
}

#[test]
fn a_golden_test_that_does_not_hold_shows_what_was_expected_and_what_it_is() {
    let workbench = workbench();
    let path = workbench.fixture().join("tests/001-greets/right.json");
    let mut golden: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("it")).expect("JSON");
    golden["expect"] = json!({"passed": false, "score": 0.25, "failure_modes": ["not_greeted"]});
    fs::write(&path, golden.to_string()).expect("a golden test");
    let ended = workbench.eval(["rubric", "test", "--task-class=fixture"]).run().expect_code(5);
    let expected = "001-greets/right:\n  expected fail 0.25 [not_greeted]\n  actual   pass 1 []\n";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
}

/// What a trap three calls deep shows: names as their author knows them, and none that a terminal would obey.
const BACKTRACE: &str = "  in my_rubric::divide\n  in clear\\u{1b}[2J\n  in judge\n";

#[test]
fn score_shows_the_functions_that_a_trap_was_in_to_people_alone() {
    let workbench = workbench();
    fs::write(workbench.path().join("traps.wasm"), guests::TRAPS_BY_NAME).expect("a file");
    fs::write(workbench.path().join("empty.json"), "{}").expect("a file");
    let score = ["rubric", "score", "--rubric=traps.wasm", "--case", CASE, "--output=empty.json"];
    let ended = workbench.eval(score).run().expect_code(5);
    assert!(ended.stderr.contains(&format!("fault: rubric_trap: other\n{BACKTRACE}")), "{}", ended.stderr);
    assert!(!ended.line("case").to_string().contains("divide"), "{}", ended.stdout);
}

#[test]
fn test_shows_the_functions_that_a_trap_was_in_and_no_record_has_them() {
    let workbench = workbench();
    workbench.replace_rubric(FIXTURE, guests::TRAPS_BY_NAME);
    let tested = workbench.eval(["rubric", "test", "--task-class=fixture"]).run().expect_code(5);
    assert!(tested.stderr.contains(&format!("  actual   rubric_trap: other\n{BACKTRACE}")), "{}", tested.stderr);
    assert!(!tested.stdout.contains("divide"), "{}", tested.stdout);
    let run = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(5);
    let record = fs::read_to_string(run.record_path(workbench.path())).expect("a record");
    assert!(record.contains("rubric_trap: other") && !record.contains("divide"), "{record}");
}
