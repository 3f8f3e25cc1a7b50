//! `rubric attack`, as a curator meets it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use eval_host_tests::{Workbench, guests};
use serde_json::Value;

use crate::BINARY;

pub(crate) const ATTACK: [&str; 3] = ["rubric", "attack", "--task-class=fixture"];

fn workbench() -> Workbench {
    Workbench::with_fixture(BINARY)
}

/// Every file below a folder, and what is in it.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            let bytes = fs::read(&path).expect("a file");
            found.insert(path, bytes);
        }
    }
    found
}

/// Accepts all that survives, for this reason.
pub(crate) fn accept_all(workbench: &Workbench, reason: &str) {
    let kept = workbench.path().join("kept");
    fs::create_dir(&kept).expect("a folder");
    let _ = workbench.eval(ATTACK).args(["--keep=kept"]).run().expect_code(5);
    for (path, bytes) in tree(&kept) {
        let mut test: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(test["equivalent"], "");
        test["equivalent"] = reason.into();
        let target = workbench.fixture().join("tests").join(path.strip_prefix(&kept).expect("it is below"));
        fs::write(target, test.to_string()).expect("a golden test");
    }
}

#[test]
fn what_a_rubric_overlooks_survives_and_is_shown_and_nothing_is_written() {
    let workbench = workbench();
    let before = tree(&workbench.fixture());
    let ended = workbench.eval(ATTACK).run().expect_code(5);
    let survivors = ended.lines("survivor");
    let [overlooked] = &survivors[..] else { panic!("{survivors:?}") };
    assert_eq!((&overlooked["case_id"], &overlooked["mutator"]), (&"003-either-way".into(), &"another-value".into()));
    let diff = overlooked["diff"].as_str().expect("a diff");
    assert!(diff.contains("-.action: \"patch\"\n+.action: \"decline\"\n"), "{diff}");
    assert_eq!(ended.line("attack")["survivors"], survivors.len());
    assert!(ended.stderr.contains("mend the rubric; or accept"), "{}", ended.stderr);
    assert_eq!(tree(&workbench.fixture()), before);
}

#[test]
fn every_mutant_is_counted_once() {
    let ended = workbench().eval(ATTACK).run().expect_code(5);
    let total = ended.line("attack");
    let sum = |key: &str| ended.lines("mutator").iter().map(|line| line[key].as_u64().expect("a number")).sum::<u64>();
    for key in ["mutants", "killed", "survivors", "accepted", "faulted"] {
        assert_eq!(total[key], sum(key), "{key}");
    }
    assert_eq!(sum("mutants"), sum("killed") + sum("survivors") + sum("accepted") + sum("faulted"));
    assert!(sum("killed") > 20, "{}", ended.stderr);
}

#[test]
fn an_attack_gives_the_same_bytes_again_and_with_any_number_of_threads() {
    let workbench = workbench();
    let one = workbench.eval(ATTACK).args(["-j1", "--write"]).run().expect_code(5);
    let record = fs::read(workbench.fixture().join("attack.json")).expect("a record");
    let two = workbench.eval(ATTACK).args(["-j2", "--write"]).run().expect_code(5);
    assert_eq!((&one.stdout, &one.stderr), (&two.stdout, &two.stderr));
    assert_eq!(fs::read(workbench.fixture().join("attack.json")).expect("a record"), record);
}

#[test]
fn what_was_accepted_with_a_reason_is_no_survivor() {
    let workbench = workbench();
    accept_all(&workbench, "the bench does not ask for it");
    let _ = workbench.eval(["rubric", "test", "--task-class=fixture"]).run().expect_code(0);
    let ended = workbench.eval(ATTACK).args(["--write"]).run().expect_code(0);
    assert_eq!(ended.line("attack")["survivors"], 0);
    assert!(ended.line("attack")["accepted"].as_u64() > Some(0));
    let record = fs::read_to_string(workbench.fixture().join("attack.json")).expect("a record");
    assert!(record.contains("\"reason\": \"the bench does not ask for it\""), "{record}");
}

#[test]
fn a_record_is_checked_by_attacking_again() {
    let workbench = workbench();
    accept_all(&workbench, "the bench does not ask for it");
    let unrecorded = workbench.eval(ATTACK).args(["--check"]).run().expect_code(5);
    assert!(unrecorded.stderr.contains("attack.json is not what this attack gives"), "{}", unrecorded.stderr);
    let _ = workbench.eval(ATTACK).args(["--write"]).run().expect_code(0);
    let _ = workbench.eval(ATTACK).args(["--check"]).run().expect_code(0);
    let path = workbench.fixture().join("attack.json");
    let embellished = fs::read_to_string(&path).expect("a record").replacen("\"killed\": ", "\"killed\": 9", 1);
    fs::write(&path, &embellished).expect("a record");
    let _ = workbench.eval(ATTACK).args(["--check"]).run().expect_code(5);
    assert_eq!(fs::read_to_string(&path).expect("a record"), embellished, "nothing is written");
}

#[test]
fn nothing_is_accepted_without_a_reason() {
    let workbench = workbench();
    accept_all(&workbench, " ");
    let ended = workbench.eval(ATTACK).run().expect_code(1);
    assert!(ended.stderr.contains("say in `equivalent` why the answer is as good"), "{}", ended.stderr);
}

#[test]
fn a_bench_adds_mutators_and_wrong_ones_are_refused() {
    let workbench = workbench();
    let path = workbench.fixture().join("mutators.toml");
    let mutator = "[[mutator]]\nname = \"shouts\"\npath = \"*.txt\"\nfind = \"Hello\"\nreplace = \"HELLO\"\n";
    fs::write(&path, mutator).expect("a file");
    let ended = workbench.eval(ATTACK).run().expect_code(5);
    let lines = ended.lines("mutator");
    let own = lines.iter().find(|line| line["mutator"] == "shouts").expect("it was tried");
    assert!(own["killed"].as_u64() > Some(0), "{own}");
    fs::write(&path, format!("{mutator}weight = 1\n")).expect("a file");
    let ended = workbench.eval(ATTACK).run().expect_code(1);
    assert!(ended.stderr.contains("mutators.toml`: line 6: `weight`: unknown field `weight`"), "{}", ended.stderr);
}

#[test]
fn an_answer_that_does_not_pass_is_not_attacked() {
    let workbench = workbench();
    workbench.replace_rubric("fixture", guests::RECURSES_FOREVER);
    let ended = workbench.eval(ATTACK).run().expect_code(5);
    assert!(ended.stderr.contains("does not pass, so its mutants would say nothing"), "{}", ended.stderr);
}

#[test]
fn a_sample_is_never_recorded() {
    let workbench = workbench();
    let _ = workbench.eval(ATTACK).args(["--limit-per-mutator=1", "--write"]).run().expect_code(2);
    let few = workbench.eval(ATTACK).args(["--limit-per-mutator=1"]).run().expect_code(5);
    let all = workbench.eval(ATTACK).run().expect_code(5);
    let mutants = |line: Value| line["mutants"].as_u64().expect("a number");
    assert!(mutants(few.line("attack")) < mutants(all.line("attack")));
}
