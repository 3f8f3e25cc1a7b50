//! The gate answers, and nothing that it or any other command does changes a bench.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use eval_host_tests::{FIXTURE, Workbench, guests};
use serde_json::Value;

use crate::{run, workbench};

const JUDGE: [&str; 2] = ["--task-class=fixture", "--target-tier=silver"];

#[test]
fn a_verdict_names_every_reason_and_leaves_a_copy() {
    let workbench = workbench();
    run(&workbench, "001*");
    let ended = workbench.eval(["promote-verdict"]).args(JUDGE).run().expect_code(5);
    let verdict = ended.line("verdict");
    assert_eq!((&verdict["evidence_sufficient"], &verdict["current_tier"]), (&false.into(), &"bronze".into()));
    let codes: Vec<_> = verdict["reasons"].as_array().expect("a list").iter().map(|reason| &reason["code"]).collect();
    for code in ["cases_selected", "solved_examples"] {
        assert!(codes.contains(&&code.into()), "{codes:?}");
    }
    let copies = fs::read_dir(workbench.path().join(".codegenie/eval/recommendations")).expect("listed");
    let copies: Vec<_> =
        copies.map(|entry| fs::read_to_string(entry.expect("an entry").path()).expect("text")).collect();
    assert_eq!(copies, [ended.stdout]);
}

#[test]
fn nothing_is_judged_on_evidence_that_does_not_hold() {
    let workbench = workbench();
    run(&workbench, "001*");
    let record = run(&workbench, "001*");
    fs::write(&record, "{}").expect("written");
    let ended = workbench.eval(["promote-verdict"]).args(JUDGE).run().expect_code(6);
    assert!(ended.stderr.contains("the evidence is TAMPERED"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn promote_always_fails_and_says_which_line_a_human_edits() {
    let workbench = workbench();
    run(&workbench, "001*");
    let ended = workbench.eval(["promote"]).args(JUDGE).run().expect_code(5);
    let registration = fs::read_to_string(workbench.fixture().join("registration.toml"));
    let registration = registration.expect("text");
    let line = 1 + registration.lines().position(|line| line.starts_with("current_tier")).expect("a tier");
    let expected = format!("edit line {line} of `bench/fixture/registration.toml`");
    assert!(ended.stderr.contains("PromotionMustBeHumanAuthorized"), "{}", ended.stderr);
    assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
}

#[test]
fn promote_fails_the_same_way_where_there_is_no_evidence() {
    let workbench = workbench();
    let ended = workbench.eval(["promote"]).args(JUDGE).run().expect_code(5);
    assert!(ended.stderr.contains("PromotionMustBeHumanAuthorized"), "{}", ended.stderr);
    assert!(!workbench.path().join(".codegenie").exists(), "nothing was looked at");
}

/// The codes of a verdict's reasons.
fn codes(workbench: &Workbench) -> Vec<String> {
    let verdict = workbench.eval(["promote-verdict"]).args(JUDGE).run().expect_code(5).line("verdict");
    let reasons = verdict["reasons"].as_array().expect("a list");
    reasons.iter().map(|reason| reason["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn evidence_counts_for_the_bench_as_it_is_now() {
    let workbench = workbench();
    let bench = workbench.fixture();
    let registration = fs::read_to_string(bench.join("registration.toml")).expect("text");
    let begin = registration.find("block = [").expect("a block list");
    let end = begin + registration[begin..].find(']').expect("its end") + 1;
    let without = format!("{}block = []{}", &registration[..begin], &registration[end..]);
    // An answer that does harm, scored by a bench that blocks nothing.
    fs::write(bench.join("registration.toml"), without).expect("written");
    let case = bench.join("cases/001-greets");
    let json = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON") };
    let cassette = case.join("cassette.json");
    let mut answer = json(&cassette);
    answer["output"] = json(&bench.join("tests/001-greets/line-lost.json"))["output"].clone();
    fs::write(&cassette, answer.to_string()).expect("written");
    run(&workbench, "00*");
    assert!(!codes(&workbench).contains(&"block_severity_failure_modes".to_owned()));
    fs::write(bench.join("registration.toml"), registration).expect("the real one");
    assert!(codes(&workbench).contains(&"block_severity_failure_modes".to_owned()), "{:?}", codes(&workbench));

    assert!(!codes(&workbench).contains(&"other_cases".to_owned()));
    fs::write(case.join("expected/added.txt"), "another truth").expect("written");
    assert!(codes(&workbench).contains(&"other_cases".to_owned()), "{:?}", codes(&workbench));
    workbench.replace_rubric(FIXTURE, guests::HONEST);
    assert!(codes(&workbench).contains(&"other_rubric".to_owned()), "{:?}", codes(&workbench));
}

/// Every file below a folder, with its bytes.
fn bytes_below(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            bytes_below(&path, files);
        } else {
            files.insert(path.clone(), fs::read(&path).expect("readable"));
        }
    }
}

fn make_read_only(folder: &Path) {
    for entry in fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            make_read_only(&path);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("closed");
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).expect("closed");
}

fn make_writable(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("opened");
    for entry in fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            make_writable(&path);
        }
    }
}

#[test]
fn no_command_that_should_not_writes_to_a_bench() {
    let workbench = workbench();
    let bench = workbench.path().join("bench");
    let read = || {
        let mut files = BTreeMap::new();
        bytes_below(&bench, &mut files);
        files
    };
    make_read_only(&bench);
    let before = read();
    let record = run(&workbench, "001*");
    let record = record.to_str().expect("UTF-8");
    let commands: [&[&str]; 8] = [
        &["verify", "--replay"],
        &["log"],
        &["show", record],
        &["export", record, "--to=record.tar"],
        &["keygen", "--name=k", "--key=secret"],
        &["anchor", "--key=secret"],
        &["promote-verdict", JUDGE[0], JUDGE[1]],
        &["promote", JUDGE[0], JUDGE[1]],
    ];
    for command in commands {
        let ended = workbench.eval([]).args(command).run();
        assert!(matches!(ended.code, Some(0 | 5)), "{command:?}: {}", ended.stderr);
    }
    assert_eq!(read(), before);
    make_writable(&bench);
}
