//! A whole run over cassettes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;

use eval_host_tests::{Ended, FIXTURE, Workbench, guests};
use serde_json::{Value, json};

use crate::BINARY;

const FIRST_CASE: &str = "bench/fixture/cases/001-greets";

fn workbench() -> Workbench {
    Workbench::with_fixture(BINARY)
}

fn run(workbench: &Workbench) -> Ended {
    workbench.eval(["run", "--task-class=fixture"]).run()
}

/// stdout without the record line, which is the only one that differs between two runs.
fn comparable(ended: &Ended) -> String {
    ended.stdout.lines().filter(|line| !line.starts_with(r#"{"kind":"record""#)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_solved_examples_all_pass_and_are_chained() {
    let workbench = workbench();
    let ended = run(&workbench).expect_code(0);
    let cases = ended.lines("case");
    assert_eq!(cases.len(), 3);
    cases.iter().for_each(is_a_metered_pass);
    assert_eq!(ended.line("aggregate")["passed_count"], cases.len());
    let record = ended.record_path(workbench.path());
    assert_eq!(fs::metadata(&record).expect("the record").permissions().mode() & 0o7777, 0o600);
    assert!(ended.stderr.contains("a new chain begins with this record"), "{}", ended.stderr);
}

fn is_a_metered_pass(case: &Value) {
    assert_eq!(case["outcome"], "scored", "{case}");
    assert_eq!(case["score"]["passed"], true, "{case}");
    assert!(case["fuel_used"].as_u64().expect("fuel") > 0);
    assert!(case["peak_memory_bytes"].as_u64().expect("memory") > 0);
}

#[test]
fn a_second_run_has_the_same_run_id_and_is_chained_to_the_first() {
    let workbench = workbench();
    let (first, second) = (run(&workbench).expect_code(0), run(&workbench).expect_code(0));
    assert_eq!(comparable(&first), comparable(&second));
    let read = |ended: &Ended| fs::read(ended.record_path(workbench.path())).expect("a record");
    let (first_bytes, second_bytes) = (read(&first), read(&second));
    let record: Value = serde_json::from_slice(&second_bytes).expect("JSON");
    assert_eq!(record["run_id"], first.line("aggregate")["run_id"]);
    assert_eq!((first.line("record")["seq"].as_u64(), record["seq"].as_u64()), (Some(1), Some(2)));
    let hash = <sha2::Sha256 as sha2::Digest>::digest(&first_bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(record["prev_hash"], hex);
    assert!(!second.stderr.contains("a new chain begins"));
}

/// A bench of more cases than there are workers, and the same with a rubric that looks for differences wherever it can.
fn benches() -> [(&'static str, Workbench); 2] {
    let bench = || Workbench::with_fixture_of(24, BINARY);
    let observed = bench();
    observed.replace_rubric(FIXTURE, guests::OBSERVES_EVERYTHING);
    [("judged", bench()), ("observed", observed)]
}

#[test]
fn concurrency_changes_no_byte_of_stdout() {
    for (how, workbench) in benches() {
        let run = |jobs| workbench.eval(["run", "--task-class", FIXTURE, jobs]).run().expect_code(0);
        let [one, two, eight] = ["-j1", "-j2", "-j8"].map(|jobs| comparable(&run(jobs)));
        assert_eq!(one, two, "{how}");
        assert_eq!(one, eight, "{how}");
    }
}

#[test]
fn the_surroundings_of_the_process_change_no_byte_of_stdout() {
    for ((how, here), (_, elsewhere)) in benches().into_iter().zip(benches()) {
        let plain = run(&here).expect_code(0);
        assert_eq!(plain.lines("case").len(), 24, "{how}");
        assert_eq!(comparable(&in_other_surroundings(&elsewhere)), comparable(&plain), "{how}");
    }
}

fn in_other_surroundings(elsewhere: &Workbench) -> Ended {
    let benches = elsewhere.path().join("bench");
    elsewhere
        .eval(["run", "--task-class", FIXTURE, "--bench-root", benches.to_str().expect("UTF-8")])
        .env("TZ", "Pacific/Kiritimati")
        .env("LC_ALL", "tr_TR.UTF-8")
        .env("RUST_LOG", "trace")
        .env("XDG_CACHE_HOME", elsewhere.path().join("cache"))
        .run()
        .expect_code(0)
}

#[test]
fn a_case_that_does_not_load_costs_that_case_and_never_passes_silently() {
    let workbench = workbench();
    symlink("/etc/passwd", workbench.path().join(FIRST_CASE).join("input/link")).expect("a link");
    let ended = run(&workbench).expect_code(1);
    let error = ended.line("load_error");
    assert_eq!(error["folder"], "fixture/cases/001-greets");
    assert_eq!(error["field"], "input/link");
    assert!(error["message"].as_str().expect("text").contains("symbolic link"));
    assert_eq!(ended.lines("case").len(), 2, "the other cases go on");
    assert_eq!(ended.line("aggregate")["had_load_errors"], true);
}

#[test]
fn a_wrong_key_in_a_case_file_is_named_with_its_line() {
    let workbench = workbench();
    let file = workbench.path().join(FIRST_CASE).join("case.toml");
    let text = fs::read_to_string(&file).expect("case.toml");
    fs::write(&file, format!("colour = \"red\"\n{text}")).expect("case.toml");
    let ended = run(&workbench).expect_code(1);
    let error = ended.line("load_error");
    assert_eq!(error["field"], "colour");
    let message = error["message"].as_str().expect("text");
    assert!(message.starts_with("case.toml: line 1: `colour`: unknown field"), "{error}");
}

#[test]
fn a_missing_cassette_is_a_fault_of_the_harness_and_never_a_live_call() {
    let workbench = workbench();
    fs::remove_file(workbench.path().join(FIRST_CASE).join("cassette.json")).expect("a cassette");
    let ended = run(&workbench).expect_code(1);
    let faulted: Vec<_> = ended.lines("case").into_iter().filter(|case| case["outcome"] != "scored").collect();
    assert_eq!(faulted.len(), 1);
    assert_eq!(faulted[0]["outcome"], "harness_fault");
    assert_eq!(faulted[0]["score"]["failure_modes"], json!(["cassette_missing"]));
    assert_eq!(ended.line("aggregate")["block_severity_failure_modes"], json!(["cassette_missing"]));
}

#[test]
fn a_stale_cassette_is_a_warning_and_strictly_a_fault() {
    let workbench = workbench();
    fs::write(workbench.path().join(FIRST_CASE).join("input/NOTES.md"), "added later\n").expect("a file");
    let lenient = run(&workbench);
    let warning = "001-greets: the cassette is stale: it was made for other input";
    assert!(lenient.stderr.contains(&format!("warning: {warning}")), "{}", lenient.stderr);
    assert_eq!(lenient.line("aggregate")["warnings"], json!([warning]));
    let strict = workbench.eval(["run", "--task-class=fixture", "--strict-cassettes"]).run().expect_code(1);
    assert_eq!(strict.lines("case")[0]["score"]["failure_modes"], json!(["cassette_stale"]));
}

#[test]
fn cassettes_of_another_folder_are_replayed_and_a_bad_answer_exits_5() {
    let workbench = workbench();
    let cassettes = workbench.path().join("other");
    fs::create_dir(&cassettes).expect("a folder");
    for entry in fs::read_dir(workbench.fixture().join("cases")).expect("cases") {
        let case = entry.expect("a case").path();
        let text = fs::read_to_string(case.join("cassette.json")).expect("a cassette");
        let mut cassette: Value = serde_json::from_str(&text).expect("JSON");
        cassette["kind"] = "recorded".into();
        cassette["output"] = json!({"action": "patch", "diff": "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n"});
        let name = case.file_name().expect("a name").to_str().expect("UTF-8").to_owned() + ".json";
        fs::write(cassettes.join(name), cassette.to_string()).expect("a cassette");
    }
    let ended = workbench.eval(["run", "--task-class=fixture", "--cassettes=other"]).run().expect_code(5);
    assert_eq!(ended.line("aggregate")["passed_count"], 0);
}

#[test]
fn a_rubric_that_does_not_match_its_pin_is_not_run() {
    let workbench = workbench();
    let rubric = workbench.fixture().join("rubric.wasm");
    let mut bytes = fs::read(&rubric).expect("the rubric");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&rubric, bytes).expect("the rubric");
    let ended = run(&workbench).expect_code(1);
    assert!(ended.stderr.contains("but its pin says"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_stdout_that_cannot_be_written_loses_no_record() {
    let workbench = workbench();
    let mut command = workbench.eval(["run", "--task-class=fixture"]).into_command();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = command.stdout(Stdio::from(full)).stderr(Stdio::piped()).output().expect("it runs");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("the record was committed, but the report of it could not be written to stdout"),
        "{stderr}"
    );
    let _ = workbench.eval(["verify"]).run().expect_code(0);
    assert_eq!(fs::read_dir(workbench.path().join(".codegenie/eval/runs")).expect("runs").count(), 1);
}

/// Gives a case's both dates.
fn date_case(case_file: &Path, added_at: &str, last_validated_at: &str) {
    let text = fs::read_to_string(case_file).expect("case.toml");
    let dated = |line: &str| match line.split_once(" = ") {
        Some(("added_at", _)) => format!("added_at = \"{added_at}\"\n"),
        Some(("last_validated_at", _)) => format!("last_validated_at = \"{last_validated_at}\"\n"),
        _ => format!("{line}\n"),
    };
    fs::write(case_file, text.lines().map(dated).collect::<String>()).expect("case.toml");
}

#[test]
fn cases_at_the_ends_of_the_calendar_run_and_replay() {
    let workbench = workbench();
    let file = workbench.path().join(FIRST_CASE).join("case.toml");
    for (added_at, last_validated_at) in [
        ("9999-12-31", "9999-12-31"),
        ("9999-12-30", "9999-12-31"),
        ("-009999-01-01", "9999-12-31"),
        ("-009999-01-01", "-009999-01-01"),
        ("0000-01-01", "0000-01-01"),
    ] {
        date_case(&file, added_at, last_validated_at);
        let ended = run(&workbench).expect_code(0);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        let reminder = format!(" days ago, on {last_validated_at}: check that it still holds");
        assert_eq!(ended.stderr.contains(&reminder), last_validated_at != "9999-12-31", "{}", ended.stderr);
    }
    let _verified = workbench.eval(["verify", "--replay", "--since=9999-12-31"]).run().expect_code(0);
    let _verified = workbench.eval(["verify", "--replay", "--since=0000-01-01T00:00:00Z"]).run().expect_code(0);
    let far = workbench.eval(["verify", "--since=-000001-12-31T00:00:00Z"]).run().expect_code(2);
    assert!(far.stderr.contains("it must be in the years 0 to 9999"), "{}", far.stderr);
    date_case(&file, "10000-01-01", "10000-01-01");
    let ended = run(&workbench).expect_code(1);
    assert!(ended.stderr.contains("`added_at`"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_case_that_nobody_validated_for_long_is_a_reminder_and_no_part_of_the_report() {
    let workbench = workbench();
    date_case(&workbench.path().join(FIRST_CASE).join("case.toml"), "2020-02-03", "2020-02-03");
    let ended = run(&workbench).expect_code(0);
    assert!(ended.stderr.contains("warning: 001-greets: last validated "), "{}", ended.stderr);
    assert!(ended.stderr.contains(" days ago, on 2020-02-03: check that it still holds"), "{}", ended.stderr);
    assert_eq!(ended.line("aggregate")["warnings"], json!([]));
}
