//! Agents that work, hang, fork, flood, lie, spy and die, all in one run.

use std::fs;

use eval_host_tests::packs::object;

use super::desk::{ANSWER, Desk};

#[test]
fn every_way_an_agent_can_end_has_its_own_outcome_and_leaves_nothing_behind() {
    let script = format!(
        r#"
echo "$id" >> "$desk/order"
case "$id" in
"$(sed -n 1p "$desk/cases")") echo '{ANSWER}' ;;
"$(sed -n 2p "$desk/cases")") sh -c 'sleep 1000 & sleep 1000' & setsid sleep 1000 & sleep 1000 ;;
"$(sed -n 3p "$desk/cases")") (sleep 1000 &) ; (setsid sleep 1000 &) ; exit 0 ;;
"$(sed -n 4p "$desk/cases")") yes ;;
"$(sed -n 5p "$desk/cases")") echo '{{"output":{{}},"cost_usd":-5}}' ;;
"$(sed -n 6p "$desk/cases")")
  test "$(find .. -name expected -o -name 'right.txt' | wc -l)" = 0 || exit 8
  for name in $(ls -A ..); do
    case "$name" in home | says | tmp | workspace) ;; *) exit 9 ;; esac
  done
  test -d "$HOME" && test -z "$(ls -A "$HOME")" && test -d "$TMPDIR" || exit 10
  echo '{ANSWER}' ;;
"$(sed -n 7p "$desk/cases")") echo "before the end" >&2; kill -KILL $$ ;;
"$(sed -n 8p "$desk/cases")") printf '{{"output":{{"a":1,"a":2}},"cost_usd":0.1}}' ;;
"$(sed -n 9p "$desk/cases")") echo '{{"output":{{}}}}' ;;
esac"#
    );
    let desk = Desk::new("timeout_seconds = 2\nmax_cost_usd_per_case = 0.50", &script);
    let cases = desk.cases(9);
    fs::write(desk.shared().join("cases"), cases.join("\n")).expect("the cases");
    let ended = desk.live(9, ["-j", "4"]).run().expect_code(5);

    let outcomes: Vec<_> = ended
        .lines("case")
        .iter()
        .map(|line| {
            let score = &line["score"];
            let modes = score["failure_modes"].as_array().expect("modes");
            let fault = modes.first().and_then(|mode| mode.as_str()).unwrap_or_default().to_owned();
            let fault = if line["outcome"] == "scored" { String::new() } else { fault };
            (
                line["outcome"].as_str().expect("an outcome").to_owned(),
                fault,
                score["cost_usd"].as_f64().expect("a cost"),
            )
        })
        .collect();
    let fault = |mode: &str, cost| ("sut_fault".to_owned(), mode.to_owned(), cost);
    let scored = ("scored".to_owned(), String::new(), 0.30);
    assert_eq!(
        outcomes,
        [
            scored.clone(),
            fault("timeout", 0.50),
            fault("harness_error: missing_response: nothing on stdout", 0.50),
            fault("harness_error: too_much_output: more than 8388608 bytes on stdout", 0.50),
            fault("harness_error: impossible_cost: the cost is negative, -5", 0.50),
            scored,
            fault("harness_error: signal: killed by signal 9", 0.50),
            fault("harness_error: malformed_response: `output`: the key `a` occurs twice at line 1 column 13", 0.10),
            fault("harness_error: missing_cost: the answer does not say what it cost", 0.50),
        ]
    );
    assert_eq!(desk.processes(), Vec::<String>::new());
    assert_eq!(fs::read_dir(desk.path().join("tmp")).expect("a folder").count(), 0, "no workspace is left");
    let aggregate = ended.line("aggregate");
    assert!((aggregate["total_cost_usd"].as_f64().expect("a cost") - 3.70).abs() < 1e-9);

    let record = fs::read_to_string(ended.record_path(desk.path())).expect("a record");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    let died = &record["report"]["cases"][6];
    assert_eq!(died["cost_is_estimate"], true);
    let log = died["agent_log_digest"].as_str().expect("the end of its stderr");
    let log = String::from_utf8(object(&desk.path().join(".codegenie/eval"), log)).expect("text");
    assert!(log.ends_with("before the end\n\n"), "{log}");
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn what_leaves_its_group_and_wipes_its_environment_does_not_outlive_its_agent() {
    // Nothing but their command lines says whose they are. One works on in its folder, the other has left.
    let script = format!(
        r#"env -i setsid sh -c 'echo $$ >> "$0/near"; while :; do sleep 1; done' "$desk" </dev/null >/dev/null 2>&1 &
(env -i setsid sh -c 'cd /; echo $$ >> "$0/far"; while :; do sleep 1; done' "$desk" </dev/null >/dev/null 2>&1 &)
until test -s "$desk/near" && test -s "$desk/far"; do sleep 0.01; done
echo '{ANSWER}'"#
    );
    let desk = Desk::new("max_cost_usd_per_case = 0.50\ntimeout_seconds = 30", &script);
    let ended = desk.live(2, ["-j", "2"]).run().expect_code(5);
    let outcomes: Vec<_> = ended.lines("case").iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["scored", "scored"], "{}", ended.stdout);
    assert_eq!(desk.processes(), Vec::<String>::new());
}

#[test]
fn an_agent_that_only_edits_files_answers_with_its_changes_and_can_be_replayed() {
    let desk = Desk::new(
        "capture = \"workspace-diff\"",
        r#"echo "$id" > notes.txt; rm -rf .git; mkdir .git; echo x > .git/HEAD; echo 0.01 > "$EVAL_HOST_COST_FILE""#,
    );
    let live = desk.live(3, ["--record", "recorded", "-j", "2"]).run().expect_code(5);
    let name = &desk.cases(1)[0];
    let cassette = fs::read_to_string(desk.path().join("recorded").join(format!("{name}.json"))).expect("a cassette");
    let cassette: serde_json::Value = serde_json::from_str(&cassette).expect("JSON");
    assert_eq!(
        cassette["output"]["diff"],
        format!(
            "diff --git a/notes.txt b/notes.txt\nnew file mode 100644\n--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+{name}\n"
        )
    );
    // The recorded answers give the same scores, bit for bit, and cost nothing.
    let task_class = super::desk::TASK_CLASS;
    let replayed =
        desk.eval(["run", "--task-class", task_class, "--limit=3", "--cassettes", "recorded", "--strict-cassettes"]);
    let replayed = replayed.run().expect_code(5);
    assert_eq!(replayed.lines("case"), live.lines("case"));
    assert_eq!(replayed.line("aggregate")["run_id"], live.line("aggregate")["run_id"]);
    assert_eq!(replayed.line("aggregate")["total_cost_usd"], 0.0);
}

#[test]
fn nothing_live_happens_where_it_was_not_asked_for() {
    let desk = Desk::new("", r#"echo "$id" >> "$desk/order""#);
    let task_class = super::desk::TASK_CLASS;
    let refused = desk.live(1, []).env("CI", "true").run().expect_code(2);
    assert!(refused.stderr.contains("--allow-live-in-ci"), "{}", refused.stderr);
    let missing = desk.eval(["run", "--task-class", task_class, "--limit=1", "--cassettes", "tmp-empty"]);
    fs::create_dir(desk.path().join("tmp-empty")).expect("a folder");
    let missing = missing.run().expect_code(1);
    assert_eq!(missing.line("case")["score"]["failure_modes"][0], "cassette_missing");
    let planned = desk.live(2, ["--dry-run", "--max-cost-usd", "0.75"]).run().expect_code(0);
    assert_eq!(planned.lines("planned_case").len(), 2);
    assert_eq!(planned.line("plan")["largest_possible_cost_usd"], 0.75);
    assert_eq!(desk.lines("order"), Vec::<String>::new(), "no agent was started");
    assert!(!desk.path().join("bench").join(format!(".{task_class}.runlock")).exists(), "a dry run takes no lock");
}
