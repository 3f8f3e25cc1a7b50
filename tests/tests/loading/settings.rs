//! What compiling may take is a setting of the machine's.

use eval_host_tests::{FIXTURE, Workbench, bombs};

use crate::BINARY;

#[test]
fn a_setting_that_is_no_number_is_a_usage_error_before_anything_is_loaded() {
    let workbench = Workbench::with_fixture(BINARY);
    for (variable, value) in [
        ("EVAL_HOST_COMPILE_MEMORY_MIB", "2 GiB"),
        ("EVAL_HOST_COMPILE_CPU_SECONDS", "0"),
        ("EVAL_HOST_COMPILE_SECONDS", "-1"),
    ] {
        let eval = workbench.eval(["run", "--task-class=fixture"]).env(variable, value);
        let ended = eval.run().expect_code(2);
        assert_eq!(ended.stderr, format!("error: the setting {variable} is no number above 0\n"));
    }
    let _ = workbench.eval(["run", "--task-class=fixture"]).env("EVAL_HOST_COMPILE_SECONDS", "").run().expect_code(0);
}

/// Limits that this process was given hold for the one that it starts, and are the ones that are named.
#[test]
fn no_limit_is_above_what_the_host_was_given() {
    let workbench = Workbench::with_fixture(BINARY);
    let bomb = bombs::all().into_iter().find(|bomb| bomb.name == "blocks").expect("a bomb");
    workbench.replace_rubric(FIXTURE, &bomb.component);
    let run = |limit: &str| workbench.eval(["run", "--task-class=fixture"]).after(limit).run().expect_code(1).stderr;
    let data = run("ulimit -d 307200");
    assert!(data.contains("takes more than the 300 MiB of memory that it may take"), "{data}");
    let space = run("ulimit -v 1843200");
    assert!(space.contains("takes more than the 1800 MiB of memory that it may take"), "{space}");
    let calls = bombs::all().into_iter().find(|bomb| bomb.name == "calls").expect("a bomb");
    workbench.replace_rubric(FIXTURE, &calls.component);
    let cpu = run("ulimit -t 3");
    assert!(cpu.contains("takes more than the 2 CPU seconds that it may take"), "{cpu}");
}

#[test]
fn nobody_starts_the_compiler_by_hand_and_no_help_shows_it() {
    let workbench = Workbench::with_fixture(BINARY);
    let ended = workbench.eval(["compile-rubric", "native"]).run().expect_code(2);
    assert!(ended.stderr.contains("which start it themselves"), "{}", ended.stderr);
    let help = workbench.eval(["--help"]).run().expect_code(0);
    assert!(!help.stdout.contains("compile-rubric"), "{}", help.stdout);
}
