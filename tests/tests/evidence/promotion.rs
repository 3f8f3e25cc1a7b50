//! The gate answers, and nothing that it or any other command does changes a bench.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::{run, workbench};

const JUDGE: [&str; 2] = ["--task-class=vuln-remediation", "--target-tier=silver"];

#[test]
fn a_verdict_names_every_reason_and_leaves_a_copy() {
    let workbench = workbench();
    run(&workbench, "00*");
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
    let registration = fs::read_to_string(workbench.path().join("bench/vuln-remediation/registration.toml"));
    let registration = registration.expect("text");
    let line = 1 + registration.lines().position(|line| line.starts_with("current_tier")).expect("a tier");
    let expected = format!("edit line {line} of `bench/vuln-remediation/registration.toml`");
    assert!(ended.stderr.contains("PromotionMustBeHumanAuthorized"), "{}", ended.stderr);
    assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
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
