//! Killed at any moment, a live run continues.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::desk::{ANSWER, Desk, Running, until};

const CASES: usize = 30;
const KILLS: usize = 20;

fn desk() -> Desk {
    let script = format!(r#"echo "$id" >> "$desk/paid"; sleep 0.1 & wait; echo '{ANSWER}'"#);
    Desk::new("max_cost_usd_per_case = 0.30", &script)
}

/// The cases that were in flight when the process died, by the journal.
fn in_flight(desk: &Desk) -> Vec<String> {
    let mut reserved = Vec::new();
    for line in desk.lines(".codegenie/eval/journals/vuln-remediation.jsonl") {
        // The last line may be torn.
        let Ok(line) = serde_json::from_str::<Value>(&line) else { break };
        let case_id = line["case_id"].as_str().unwrap_or_default().to_owned();
        match line["kind"].as_str().expect("a kind") {
            "process" => reserved.clear(),
            "reserved" => reserved.push(case_id),
            "finished" => reserved.retain(|other| *other != case_id),
            _ => {}
        }
    }
    reserved
}

/// What a record says of its cases, but for how long they took.
fn results(desk: &Desk) -> Vec<Value> {
    let [record] = &desk.records()[..] else { panic!("one record, not {:?}", desk.records()) };
    let mut record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let cases = record["report"]["cases"].as_array_mut().expect("cases");
    for case in cases.iter_mut() {
        case["score"]["duration_seconds"] = Value::Null;
    }
    cases.clone()
}

#[test]
fn a_run_that_is_killed_again_and_again_pays_for_every_case_once_but_for_what_was_in_flight() {
    let desk = desk();
    let cap = ["--max-cost-usd", "100", "-j", "3"];
    let mut may_be_paid: BTreeMap<String, usize> = desk.cases(CASES).into_iter().map(|name| (name, 1)).collect();
    // Moments that differ from kill to kill and are the same in every run of this test.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut done = false;
    for kill in 0..KILLS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(20 + (state >> 33) % 280);
        let journal = desk.path().join(".codegenie/eval/journals/vuln-remediation.jsonl");
        let args = if kill == 0 { desk.live(CASES, cap) } else { desk.live(CASES, cap).args(["--resume"]) };
        let lines_before = desk.lines(".codegenie/eval/journals/vuln-remediation.jsonl").len();
        let mut run = Running::start(args);
        // A moment of the run itself, not of its start.
        until("the run begins", || {
            desk.lines(".codegenie/eval/journals/vuln-remediation.jsonl").len() > lines_before
                || run.child.try_wait().expect("a child").is_some()
        });
        thread::sleep(moment);
        if run.child.try_wait().expect("a child").is_some() {
            done = true;
            break;
        }
        run.signal("KILL");
        drop(run);
        assert!(journal.exists() || !desk.records().is_empty());
        for case in in_flight(&desk) {
            *may_be_paid.entry(case).or_default() += 1;
        }
    }
    if !done {
        let _ = desk.live(CASES, cap).args(["--resume"]).run().expect_code(5);
    }
    assert_eq!(desk.processes(), Vec::<String>::new(), "no agent is left");
    let mut paid: BTreeMap<String, usize> = BTreeMap::new();
    for case in desk.lines("paid") {
        *paid.entry(case).or_default() += 1;
    }
    assert_eq!(paid.len(), CASES, "every case was run");
    for (case, times) in &paid {
        assert!(
            *times <= may_be_paid[case],
            "{case} was paid for {times} times, and may be {} times",
            may_be_paid[case]
        );
    }
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);

    let undisturbed = self::desk();
    let _ = undisturbed.live(CASES, cap).run().expect_code(5);
    assert_eq!(results(&desk), results(&undisturbed));
}
