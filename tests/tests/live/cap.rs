//! Never a surprise on the bill.

use std::fs;

use super::desk::{ANSWER, Desk, Running, until};

/// An agent that says when it has started, and answers when the test lets it.
fn patient(settings: &str) -> Desk {
    let script =
        format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
    Desk::new(settings, &script)
}

#[test]
fn a_run_stops_before_its_cap_and_says_so() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    fs::write(desk.shared().join("go"), "").expect("go");
    let ended = desk.live(6, ["--max-cost-usd", "1.00", "-j", "4"]).run().expect_code(2);
    let outcomes: Vec<_> = ended.lines("case").iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["scored", "scored", "scored", "skipped", "skipped", "skipped"]);
    let aggregate = ended.line("aggregate");
    assert_eq!((&aggregate["aborted"], &aggregate["skipped"]), (&true.into(), &3.into()));
    assert_eq!(
        aggregate["block_severity_failure_modes"].as_array().expect("modes").last(),
        Some(&"skipped_cost_cap".into())
    );
    assert_eq!(desk.lines("paid").len(), 3);
    assert_eq!(desk.records().len(), 1);
}

#[test]
fn a_case_that_overshoots_counts_and_ends_what_is_outstanding() {
    let script = r#"echo "$id" >> "$desk/paid"
if test "$id" = "$(cat "$desk/first")"; then
  until test "$(wc -l < "$desk/paid")" = 2; do sleep 0.01; done
  echo '{"output":{},"cost_usd":7.5}'
else sleep 1000; fi"#;
    let desk = Desk::new("max_cost_usd_per_case = 0.50", script);
    fs::write(desk.shared().join("first"), &desk.cases(1)[0]).expect("the first case");
    let ended = desk.live(4, ["--max-cost-usd", "1.00", "-j", "2"]).run().expect_code(2);
    let lines = ended.lines("case");
    let costs: Vec<_> = lines.iter().map(|line| line["score"]["cost_usd"].as_f64().expect("a cost")).collect();
    assert_eq!(costs, [7.5, 0.5, 0.0, 0.0]);
    assert_eq!(lines[1]["outcome"], "skipped");
    assert_eq!(desk.processes(), Vec::<String>::new());
}

#[test]
fn two_runs_that_are_started_together_spend_one_cap() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    let first = Running::start(desk.live(6, ["--max-cost-usd", "1.00", "-j", "1"]));
    until("the first agent starts", || desk.lines("paid").len() == 1);
    let mut second = Running::start(desk.live(6, ["--max-cost-usd", "1.00", "-j", "1"]));
    second.says(&format!("waiting for another live run of `fixture` (process {}", first.child.id()));
    let held = desk.live(6, ["--no-wait"]).run().expect_code(1);
    assert!(held.stderr.contains("--no-wait"), "{}", held.stderr);
    fs::write(desk.shared().join("go"), "").expect("go");
    assert_eq!(first.end().0, Some(2));
    let (code, stdout, stderr) = second.end();
    assert_eq!((code, desk.records().len()), (Some(2), 1), "{stdout}{stderr}");
    assert_eq!(desk.lines("paid").len(), 3, "together they spent at most $1.00");
}

/// Whoever waits does not know what a case costs, but for what it finds in the ledger.
#[test]
fn two_runs_whose_agents_ignore_their_budget_spend_one_cap() {
    let desk = Desk::new(
        "",
        r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{"output":{},"cost_usd":0.60}'"#,
    );
    let cap = ["--max-cost-usd=1.00", "-j1"];
    let first = Running::start(desk.live(3, cap));
    until("the first agent starts", || desk.lines("paid").len() == 1);
    let mut second = Running::start(desk.live(3, cap));
    second.says("waiting for another live run");
    fs::write(desk.shared().join("go"), "").expect("go");
    assert_eq!(first.end().0, Some(2));
    let (code, stdout, stderr) = second.end();
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    let why = "error: other runs spent $0.60 of the cap of $1.00 while this one waited, and a case has cost $0.60\n\
               hint: start it again, or raise the cap with --max-cost-usd";
    assert!(stderr.contains(why), "{stderr}");
    assert_eq!((desk.lines("paid").len(), desk.records().len()), (1, 1));
    assert!(!desk.path().join(".codegenie/eval/journals/fixture.jsonl").exists(), "it never began");
    let _ = desk.live(3, cap).run().expect_code(2);
    assert_eq!(desk.lines("paid").len(), 2, "a run that did not wait begins anew");
}

#[test]
fn a_killed_run_lets_the_next_one_go_on_and_what_it_had_set_aside_counts() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    let first = Running::start(desk.live(6, ["--max-cost-usd", "1.00", "-j", "1"]));
    until("the first agent starts", || desk.lines("paid").len() == 1);
    let mut second = Running::start(desk.live(6, ["--max-cost-usd", "1.00", "-j", "1"]));
    second.says("waiting for another live run");
    first.signal("KILL");
    second.says("was not resumed: 0 of its 6 cases were paid for");
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, _, stderr) = second.end();
    assert_eq!(code, Some(2), "{stderr}");
    assert_eq!(desk.lines("paid").len(), 3, "one by the killed run, two by the other");
    drop(first);
    assert_eq!(desk.processes(), Vec::<String>::new(), "the killed run's agent was ended too");
}

#[test]
fn an_agent_is_told_what_it_may_spend() {
    let desk = Desk::new("", "");
    let agent = desk.path().join("agent.sh");
    let script = format!("#!/bin/sh\ncat >> '{}/requests'\necho '{ANSWER}'\n", desk.shared().display());
    fs::write(agent, script).expect("an agent");
    let _ = desk.live(4, ["--max-cost-usd", "1.00", "-j", "3"]).run().expect_code(2);
    let budgets: Vec<f64> = desk
        .lines("requests")
        .iter()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["budget_usd"].as_f64().expect("a budget")
        })
        .collect();
    assert_eq!(budgets.len(), 3);
    assert_eq!(budgets[0], 1.0, "the first runs alone with everything, because nobody knows yet what a case costs");
    assert_eq!(budgets[1..], [0.3, 0.3], "and then what the costliest case did cost");
}

#[test]
fn agents_that_spend_all_they_are_told_spend_the_cap_together_and_not_more() {
    let desk = Desk::new("", "");
    // The first case is cheap, so that the others run side by side.
    let script = r#"#!/bin/sh
budget=$(sed 's/.*"budget_usd":\([0-9.]*\).*/\1/')
mkdir DESK/first 2>/dev/null && budget=0.1
printf '{"output":{},"cost_usd":%s}' "$budget"
"#;
    let script = script.replace("DESK", desk.shared().to_str().expect("UTF-8"));
    fs::write(desk.path().join("agent.sh"), script).expect("an agent");
    let ended = desk.live(5, ["--max-cost-usd", "1.00", "-j", "4"]).run();
    let spent = ended.line("aggregate")["total_cost_usd"].as_f64().expect("a cost");
    assert!((0.9 - 1e-9..=1.0 + 1e-9).contains(&spent), "{spent}: {}", ended.stdout);
}

#[test]
fn a_free_case_does_not_make_unknown_costs_free() {
    let script = r#"echo "$id" >> "$desk/paid"
case "$id" in 001-*) echo '{"output":{},"cost_usd":0}' ;; *) kill -KILL $$ ;; esac"#;
    let desk = Desk::new("", script);
    let ended = desk.live(5, ["--max-cost-usd", "1.00", "-j", "4"]).run().expect_code(2);
    assert_eq!(ended.line("aggregate")["total_cost_usd"], 1.0);
    assert_eq!(desk.lines("paid").len(), 2, "nobody knows what the second cost, so it was charged all that was left");
}

#[test]
fn a_cost_that_cannot_be_is_a_fault_and_the_record_is_written() {
    let desk = Desk::new("max_cost_usd_per_case = 0.30", r#"echo '{"output":{},"cost_usd":1.7e308}'"#);
    let ended = desk.live(2, ["-j", "2"]).run().expect_code(5);
    assert_eq!(
        ended.lines("case")[0]["score"]["failure_modes"][0],
        "harness_error: impossible_cost: the cost is more than 1000000 dollars"
    );
    assert_eq!(ended.line("aggregate")["total_cost_usd"], 0.6);
    assert_eq!(desk.records().len(), 1);
}

#[test]
fn two_bench_roots_with_one_store_leave_each_other_alone() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    eval_host_tests::copy_tree(&desk.path().join("bench"), &desk.path().join("other"));
    let first = Running::start(desk.live(2, ["-j1"]));
    until("the first agent starts", || desk.lines("paid").len() == 1);
    for resume in [&[][..], &["--resume"]] {
        let second = desk.live(2, ["--bench-root=other"]).args(resume).run().expect_code(1);
        let held = format!("(process {}, since ", first.child.id());
        assert!(second.stderr.contains(&held) && second.stderr.contains("--out"), "{}", second.stderr);
    }
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, _, stderr) = first.end();
    assert_eq!((code, desk.lines("paid").len(), desk.records().len()), (Some(5), 2, 1), "{stderr}");
    let _ = desk.live(2, ["--bench-root=other"]).run().expect_code(5);
}

#[test]
fn a_journal_that_is_a_fifo_is_refused_at_once() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    let journals = desk.path().join(".codegenie/eval/journals");
    let _ = desk.eval(["run", "--task-class", "fixture", "--limit=1"]).run().expect_code(0);
    fs::create_dir_all(&journals).expect("a folder");
    let made = std::process::Command::new("mkfifo").arg(journals.join("fixture.jsonl")).status();
    assert!(made.expect("mkfifo runs").success());
    let refused = desk.live(1, []).run().expect_code(1);
    assert!(refused.stderr.contains("is a FIFO, not a file: move it away"), "{}", refused.stderr);
    assert_eq!(desk.lines("paid").len(), 0);
}
