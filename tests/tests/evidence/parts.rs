//! Asking about a part of the evidence: one task class, or what is new.

use std::fs;
use std::path::Path;

use eval_host_tests::packs::remove_object;
use eval_host_tests::{FIXTURE, guests};
use serde_json::Value;

use crate::{run, verified, workbench};

#[test]
fn a_task_class_that_the_evidence_does_not_have_is_not_ok() {
    let workbench = workbench();
    let record = run(&workbench, "001*");
    for command in ["verify", "log"] {
        let ended = workbench.eval([command, "--task-class=fixtuer"]).run().expect_code(3);
        assert!(ended.stderr.contains("no record of `fixtuer`"), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("it has records of `fixture`; name another store with --out"),
            "{}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "");
    }
    let _ended = workbench.eval(["export", record.to_str().expect("UTF-8"), "--to=record.tar"]).run().expect_code(0);
    let _ended = workbench.eval(["verify", "record.tar", "--task-class=typo"]).run().expect_code(3);
    // A class that was wiped is one that was there, and a file that nobody can attribute may be of any class.
    fs::remove_file(&record).expect("removed");
    assert_eq!(verified(&workbench, &["--task-class=fixture"]).0, "TAMPERED");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    fs::write(&record, "{").expect("written");
    assert_eq!(verified(&workbench, &["--task-class=fixture"]).0, "TAMPERED");
}

#[test]
fn a_rubric_that_overflows_its_stack_is_evidence_like_any_other() {
    let workbench = workbench();
    workbench.replace_rubric(FIXTURE, guests::RECURSES_FOREVER);
    let record = read(&run(&workbench, "001*"));
    let case = &record["report"]["cases"][0];
    assert_eq!(case["score"]["failure_modes"][0], "rubric_trap: stack_overflow");
    // How deep a stack is depends on the machine, so nothing is recorded that would.
    for figure in ["fuel_used", "peak_memory_bytes", "logs_digest"] {
        assert_eq!(case[figure], Value::Null, "{figure}");
    }
    let (state, ended) = verified(&workbench, &["--replay"]);
    assert_eq!((state.as_str(), &ended.line("verification")["replay"]["replayed"]), ("OK", &1.into()));
}

#[test]
fn since_limits_what_is_reported_and_never_what_counts() {
    let workbench = workbench();
    let first = read(&run(&workbench, "002*"));
    let second = read(&run(&workbench, "001*"));
    let since = format!("--since={}", second["finished_at"].as_str().expect("a moment"));
    let (state, ended) = verified(&workbench, &[&since]);
    assert_eq!((state.as_str(), &ended.line("verification")["classes"][0]["records"]), ("OK", &1.into()));
    // An object that the first record alone names.
    let cases = first["case_digest_set"].as_object().expect("a map");
    let object = cases.values().next().and_then(Value::as_str).expect("a digest");
    remove_object(&workbench.path().join(".codegenie/eval"), object);
    let (state, all) = verified(&workbench, &[]);
    assert_eq!((state.as_str(), all.line("verification")["findings"][0]["seq"].as_u64()), ("UNVERIFIABLE", Some(1)));
    let (state, ended) = verified(&workbench, &[&since]);
    assert_eq!((state.as_str(), &ended.line("verification")["findings"]), ("UNVERIFIABLE", &serde_json::json!([])));
    assert!(ended.stderr.contains("note: findings about records that were finished before"), "{}", ended.stderr);
}

fn read(record: &Path) -> Value {
    serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON")
}
