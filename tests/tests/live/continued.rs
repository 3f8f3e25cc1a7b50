//! What a cost cap left out is answered later, in one complete record, and nothing is asked twice.

use std::fs;

use eval_host_tests::Ended;
use serde_json::Value;

use super::desk::{ANSWER, Desk, Running, until};

const RUNS: &str = ".codegenie/eval/runs/";

/// An agent that writes down for which case it was started, and answers when the test lets it.
fn desk() -> Desk {
    let script =
        format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    go(&desk);
    desk
}

fn go(desk: &Desk) {
    fs::write(desk.shared().join("go"), "").expect("go");
}

/// Three of six cases, which is what a dollar pays for.
fn capped(desk: &Desk) -> Ended {
    desk.live(6, ["--max-cost-usd", "1.00", "-j", "2"]).run().expect_code(2)
}

fn record(ended: &Ended, desk: &Desk) -> Value {
    serde_json::from_slice(&fs::read(ended.record_path(desk.path())).expect("a record")).expect("JSON")
}

fn path(ended: &Ended) -> String {
    ended.line("record")["path"].as_str().expect("a path").to_owned()
}

/// What was spent, in cents.
fn cents(ended: &Ended) -> Option<f64> {
    ended.line("aggregate")["total_cost_usd"].as_f64().map(|cost| (cost * 100.0).round())
}

/// How often an agent was started for each of the first cases.
fn starts(desk: &Desk, cases: usize) -> Vec<usize> {
    let paid = desk.lines("paid");
    desk.cases(cases).iter().map(|case| paid.iter().filter(|paid| *paid == case).count()).collect()
}

#[test]
fn a_capped_run_is_continued_to_one_complete_record_and_every_agent_is_started_once() {
    let desk = desk();
    let first = capped(&desk);
    let whole = desk.continued(&path(&first), ["--max-cost-usd=1.80", "-j2"]).run().expect_code(5);
    assert_eq!(starts(&desk, 6), [1; 6]);
    assert_eq!((whole.lines("case").len(), cents(&whole)), (6, Some(180.0)));
    let (first, whole) = (record(&first, &desk), record(&whole, &desk));
    assert_eq!((&whole["continues"], &whole["report"]["aborted"]), (&whole["prev_hash"], &false.into()));
    assert_eq!((&whole["max_cost_usd"], &whole["report"]["selection"]["selected"]), (&1.8.into(), &6.into()));
    let three_cases = |record: &Value| record["report"]["cases"].as_array().expect("cases")[..3].to_vec();
    assert_eq!(three_cases(&whole), three_cases(&first));
    let verified = desk.eval(["verify", "--replay"]).run().expect_code(0);
    assert_eq!(verified.line("verification")["state"], "OK");
}

#[test]
fn the_command_that_answers_the_rest_is_printed_and_only_if_there_is_a_rest() {
    let desk = desk();
    let first = capped(&desk);
    let continued = format!("--continue {} --max-cost-usd=1.80`", path(&first));
    let told = first.stderr.lines().find(|line| line.contains("3 cases skipped at the cost cap")).expect("it is told");
    assert!(told.ends_with(&continued) && told.contains(" --live ") && !told.contains("--limit"), "{told}");
    let whole = desk.continued(&path(&first), ["--max-cost-usd=1.80"]).run().expect_code(5);
    assert!(!whole.stderr.contains("skipped at the cost cap"), "{}", whole.stderr);
}

#[test]
fn answers_that_are_taken_over_are_recorded_as_those_of_the_run_that_is_complete() {
    let desk = desk();
    let first = capped(&desk);
    let whole = desk.continued(&path(&first), ["--record=cassettes"]).run().expect_code(5);
    let whole = record(&whole, &desk);
    let cassettes = desk.path().join("cassettes");
    assert_eq!(fs::read_dir(&cassettes).expect("a folder").count(), 6, "those that were taken over too");
    for case in desk.cases(6) {
        let cassette = fs::read(cassettes.join(format!("{case}.json"))).expect("a cassette");
        let cassette: Value = serde_json::from_slice(&cassette).expect("JSON");
        assert_eq!(cassette["provenance"]["started_marker"], whole["started_marker"]);
    }
    let replayed = desk.eval(["run", "--task-class=fixture", "--limit=6", "--cassettes=cassettes"]);
    assert_eq!(replayed.run().expect_code(5).line("aggregate")["run_id"], whole["run_id"]);
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn a_continuation_that_is_capped_again_is_continued_once_more() {
    let desk = desk();
    let first = capped(&desk);
    let second = desk.continued(&path(&first), ["--max-cost-usd=1.50"]).run().expect_code(2);
    assert_eq!(starts(&desk, 6), [1, 1, 1, 1, 1, 0]);
    assert!(second.stderr.contains("1 case skipped at the cost cap"), "{}", second.stderr);
    let again = desk.continued(&path(&first), ["--max-cost-usd=5"]).run().expect_code(2);
    let name = path(&second).replace(RUNS, "");
    assert!(again.stderr.contains(&format!("is continued already, by record 2 (`{name}`)")), "{}", again.stderr);
    assert!(again.stderr.contains(&format!("`--continue {name}` goes on from there")), "{}", again.stderr);
    let whole = desk.continued("2", ["--max-cost-usd=5"]).run().expect_code(5);
    assert_eq!(starts(&desk, 6), [1; 6]);
    assert_eq!((cents(&whole), desk.records().len()), (Some(180.0), 3));
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn what_an_agent_cost_that_the_cap_stopped_is_counted_and_its_case_asked_again() {
    let script = r#"echo "$id" >> "$desk/paid"
if test -e "$desk/go"; then echo '{"output":{},"cost_usd":0.25}'
elif test "$id" = "$(cat "$desk/first")"; then
  until test "$(wc -l < "$desk/paid")" = 2; do sleep 0.01; done
  echo '{"output":{},"cost_usd":7.5}'
else sleep 1000; fi"#;
    let desk = Desk::new("max_cost_usd_per_case = 0.50", script);
    let cases = desk.cases(4);
    fs::write(desk.shared().join("first"), &cases[0]).expect("the first case");
    let first = desk.live(4, ["--max-cost-usd=1.00", "-j2"]).run().expect_code(2);
    go(&desk);
    let whole = desk.continued(&path(&first), ["--max-cost-usd=10"]).run().expect_code(5);
    assert_eq!(cents(&whole), Some(875.0), "7.50, 0.50 for the one that was stopped, and three times 0.25");
    let stopped =
        format!("{}: an earlier agent was started for it and stopped when the cost cap was reached", cases[1]);
    let warnings = record(&whole, &desk)["report"]["warnings"].to_string();
    assert!(warnings.contains(&stopped), "{warnings}");
    assert_eq!(starts(&desk, 4), [1, 2, 1, 1]);
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn a_continuation_that_is_stopped_in_its_middle_is_resumed() {
    let desk = desk();
    let first = capped(&desk);
    fs::remove_file(desk.shared().join("go")).expect("wait");
    let args = ["--max-cost-usd=3.00", "-j1"];
    let mut run = Running::start(desk.continued(&path(&first), args));
    until("a further agent starts", || desk.lines("paid").len() == 4);
    run.signal("INT");
    run.says("draining");
    run.signal("INT");
    let (code, _, stderr) = run.end();
    assert_eq!(code, Some(130), "{stderr}");
    let command = format!("--continue {} --max-cost-usd=3.00 -j1 --resume`", path(&first));
    assert!(stderr.contains(&command), "{stderr}");
    let killed = Running::start(desk.continued(&path(&first), args).args(["--resume"]));
    until("its agent starts again", || desk.lines("paid").len() == 5);
    killed.signal("KILL");
    drop(killed);
    go(&desk);
    let other = desk.live(6, args).args(["--resume"]).run().expect_code(2);
    assert!(other.stderr.contains("another --continue"), "{}", other.stderr);
    let whole = desk.continued(&path(&first), args).args(["--resume"]).run().expect_code(5);
    assert_eq!(starts(&desk, 6), [1, 1, 1, 3, 1, 1]);
    assert_eq!(cents(&whole), Some(240.0), "six answers, and two agents that were lost");
    assert_eq!(desk.records().len(), 2);
    assert_eq!(desk.processes(), Vec::<String>::new());
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[track_caller]
fn refused(desk: &Desk, record: &str, args: [&str; 1], expected: &str) {
    let refused = desk.continued(record, args).run().expect_code(2);
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_continued_says_why_and_costs_nothing() {
    let desk = desk();
    let _ = capped(&desk);
    for flag in ["--cases=*", "--limit=2", "--failing-from=1", "--shard=1/2", "--dry-run"] {
        refused(&desk, "1", [flag], "cannot be used with");
    }
    let _ = desk.eval(["run", "--task-class=fixture", "--continue=1"]).run().expect_code(2);
    refused(&desk, "1", ["--max-cost-usd=1.00"], "$0.90 of the cap of $1.00 is spent already");
    refused(&desk, "1", ["--max-cost-usd=1.00"], " --continue 1 --max-cost-usd=1.80`");
    refused(&desk, "1", ["--sut=true"], "cannot be continued by this run: another command");
    refused(&desk, "1", ["--sut-name=another"], "cannot be continued by this run: another --sut-name");
    refused(&desk, "nowhere/else.json", ["-j1"], "the store has no record `nowhere/else.json`");
    let _ = desk.eval(["keygen", "--name=mine", "--key=secret"]).run().expect_code(0);
    refused(&desk, "1", ["--key=secret"], "continue without --key");
    assert_eq!((desk.lines("paid").len(), desk.records().len()), (3, 1));
}

#[test]
fn a_run_is_continued_on_the_bench_that_it_was_begun_on_and_not_beyond_its_end() {
    let desk = desk();
    let _ = capped(&desk);
    let name = &desk.cases(1)[0];
    let input = desk.path().join("bench/fixture/cases").join(name).join("input/new.txt");
    fs::write(&input, "new").expect("another input");
    refused(&desk, "1", ["-j1"], &format!("cases that are not as they were: `{name}`"));
    fs::remove_file(input).expect("as it was");
    let _ = desk.continued("1", []).run().expect_code(5);
    refused(&desk, "2", ["-j1"], "nothing was skipped");
    assert_eq!((desk.lines("paid").len(), desk.records().len()), (6, 2));
}

#[test]
fn a_capped_run_that_a_key_signed_is_continued_under_that_key() {
    let desk = desk();
    let _ = desk.eval(["keygen", "--name=mine", "--key=secret"]).run().expect_code(0);
    let first = desk.live(6, ["--max-cost-usd=1.00", "--key=secret"]).run().expect_code(2);
    let _ = desk.continued(&path(&first), ["--key=secret"]).run().expect_code(5);
    let is_note = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "note");
    assert_eq!(desk.records().iter().filter(is_note).count(), 2);
}
