//! What is said to those who ask for something that is not there.

use std::fs;

use eval_host_tests::{FIXTURE, Workbench, copy_tree};

use crate::BINARY;

#[test]
fn a_run_without_a_task_class_is_a_usage_error() {
    let ended = Workbench::empty(BINARY).eval(["run"]).run().expect_code(2);
    assert!(ended.stderr.contains("--task-class <NAME>"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn an_unknown_task_class_exits_3_and_lists_those_there_are() {
    let workbench = Workbench::with_fixture(BINARY);
    let ended = workbench.eval(["run", "--task-class=nope"]).run().expect_code(3);
    assert_eq!(ended.stderr, "error: no task class `nope` in `bench`; there is only `fixture`\n");
    assert!(!workbench.path().join(".codegenie").exists(), "nothing is created for a run that never began");
}

#[test]
fn a_name_that_is_no_slug_is_refused_before_any_file_is_opened() {
    for name in ["../x", "/etc", "a/b", ".", "-rf", "A", &"x".repeat(65)] {
        let ended = Workbench::empty(BINARY).eval(["run", &format!("--task-class={name}")]).run().expect_code(2);
        assert!(ended.stderr.contains("is not a task class"), "{}", ended.stderr);
    }
}

#[test]
fn a_bench_without_cases_exits_4() {
    let workbench = Workbench::with_fixture(BINARY);
    fs::remove_dir_all(workbench.fixture().join("cases")).expect("cases");
    let ended = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(4);
    assert_eq!(ended.stderr, "error: the bench has no cases: add one below `bench/fixture/cases`\n");
}

#[test]
fn a_selection_that_matches_nothing_exits_4() {
    let workbench = Workbench::with_fixture(BINARY);
    let ended = workbench.eval(["run", "--task-class=fixture", "--cases=zzz*"]).run().expect_code(4);
    assert!(ended.stderr.starts_with("error: no case of `fixture` is selected\nhint: "), "{}", ended.stderr);
}

#[test]
fn a_missing_bench_root_says_what_to_do() {
    let workbench = Workbench::empty(BINARY);
    let ended = workbench.eval(["run", "--task-class=a", "--bench-root=absent"]).run().expect_code(2);
    let expected = "error: the bench root `absent` cannot be used\n  caused by: not found\nhint: ";
    assert!(ended.stderr.starts_with(expected), "{}", ended.stderr);
}

#[test]
fn two_folders_that_register_one_name_are_both_named() {
    let workbench = Workbench::with_fixture(BINARY);
    let benches = workbench.path().join("bench");
    copy_tree(&benches.join(FIXTURE), &benches.join("other"));
    let ended = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(1);
    assert_eq!(
        ended.stderr,
        "error: TaskClassAlreadyRegistered: `fixture` is registered by both `bench/fixture` and \
         `bench/other`: rename one of them\n"
    );
}

#[test]
fn help_explains_the_exit_codes_and_goes_to_stdout() {
    let ended = Workbench::empty(BINARY).eval(["--help"]).run().expect_code(0);
    assert!(ended.stdout.contains("Exit codes:"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
}
