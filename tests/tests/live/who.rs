//! Who answered: what an agent is called, by whom, and where that is to be read.

use std::fs;

use serde_json::{Value, json};

use super::desk::{Desk, TASK_CLASS};

/// Says who it is, with a model of its own for the second case. The third case is a fault, of which nobody knows whose.
const NAMED: &str = r#"model=small; case "$id" in 002-*) model=large;; 003-*) exit 3;; esac
echo "{\"output\":{\"action\":\"patch\",\"diff\":\"\"},\"cost_usd\":0.01,\"agent\":{\"name\":\"An agent\",\"version\":\"2.0\",\"model\":\"$model\"}}""#;

/// The name, version and model of each system under test of a record.
fn names(record: &Value) -> Value {
    let suts = record["suts"].as_array().expect("a list").iter();
    suts.map(|sut| json!([sut["name"], sut["version"], sut["model"]])).collect()
}

fn read(path: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a record")).expect("JSON")
}

#[test]
fn an_agent_is_called_what_it_says_wherever_somebody_reads_it() {
    let desk = Desk::new("", NAMED);
    let ended = desk.live(3, ["--sut-version=3.1"]).run().expect_code(5);
    let record = ended.record_path(desk.path());
    let file = record.file_name().expect("a name").to_str().expect("UTF-8");
    let shown = desk.eval(["show", file]).run().expect_code(0);
    let logged = desk.eval(["log"]).run().expect_code(0);
    let listed = desk.eval(["list"]).run().expect_code(0);
    let name = "An agent 3.1 (large), An agent 3.1 (small)";
    for (said, before) in [
        (&ended.stderr, "\nanswered by: "),
        (&shown.stdout, "\n  answered by   "),
        (&logged.stdout, "  by "),
        (&listed.stderr, " by "),
    ] {
        assert!(said.contains(&format!("{before}{name}")), "{said}");
    }
    let sut = |model: &str| json!({"name": "An agent", "version": "3.1", "model": model});
    assert_eq!(listed.line("task_class")["last_run_by"], json!([sut("large"), sut("small")]));
}

#[test]
fn the_script_that_answered_is_known_by_its_digest() {
    let desk = Desk::new("", NAMED);
    let record = desk.live(1, []).run().expect_code(5).record_path(desk.path());
    let script = blake3::hash(&fs::read(desk.path().join("agent.sh")).expect("a script")).to_string();
    assert_eq!(read(&record)["suts"][0]["files"]["agent.sh"], json!(script));
    let shown = desk.eval(["show"]).args([record.file_name().expect("a name")]).run().expect_code(0);
    assert!(shown.stdout.contains(&format!("\n  agent's file  {script} agent.sh\n")), "{}", shown.stdout);
}

#[test]
fn shards_and_cassettes_keep_who_answered() {
    let desk = Desk::new("", NAMED);
    let whole = desk.live(3, ["--record=recorded", "--out=whole"]).run().expect_code(5);
    let whole = names(&read(&whole.record_path(desk.path())));
    let answer_sets = ["1/2", "2/2"].map(|shard| {
        let ended = desk.live(3, ["--shard", shard]).run().expect_code(0);
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    let merged = desk.eval(["merge", &answer_sets[0], &answer_sets[1]]).run().expect_code(5);
    assert_eq!(names(&read(&merged.record_path(desk.path()))), whole);
    let replayed = desk.eval(["run", "--task-class", TASK_CLASS, "--limit=3", "--cassettes=recorded"]);
    let replayed = replayed.run().expect_code(5);
    assert_eq!(names(&read(&replayed.record_path(desk.path()))), whole);
    let _ = desk.eval(["verify"]).run().expect_code(0);
}

#[test]
fn a_name_that_no_agent_could_give_is_no_flag() {
    let desk = Desk::new("", "");
    for bad in ["--sut-name=", "--sut-name=a\tb", "--sut-version=\u{1b}[31m"] {
        let refused = desk.live(1, [bad]).run().expect_code(2);
        assert!(
            refused.stderr.contains("a text of 1 to 200 characters without control characters"),
            "{}",
            refused.stderr
        );
    }
    let task_class = format!("--task-class={TASK_CLASS}");
    let refused = desk.eval(["run", &task_class, "--sut-name=a"]).run().expect_code(2);
    assert!(refused.stderr.contains("--live"), "{}", refused.stderr);
}

#[test]
fn another_script_behind_the_same_command_does_not_go_on_with_a_run() {
    let desk = Desk::new("", NAMED);
    let shards = ["1/2", "2/2"].map(|shard| {
        let ended = desk.live(2, ["--shard", shard]).run().expect_code(0);
        let script = desk.path().join("agent.sh");
        let text = fs::read_to_string(&script).expect("a script");
        fs::write(&script, format!("{text}# another\n")).expect("written");
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    let refused = desk.eval(["merge", &shards[0], &shards[1]]).run().expect_code(2);
    let expected = "the answer sets do not fit together: another file `agent.sh`, which the agent's command names";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}
