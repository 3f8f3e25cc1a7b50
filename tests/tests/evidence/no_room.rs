//! A machine that gives less than it should: files that may not grow, too little memory. That costs a run and never a record, and
//! nothing of it is chained as if it were a rubric's fault.

use std::fs;

use eval_host_tests::{Ended, Workbench};

use crate::{BINARY, run, verified};

/// A workbench with so many cases that a record of nine does not fit where there is no room.
fn workbench() -> Workbench {
    Workbench::with_fixture_of(12, BINARY)
}

fn records(workbench: &Workbench) -> usize {
    let names = fs::read_dir(workbench.path().join(".codegenie/eval/runs")).expect("records");
    names
        .filter(|entry| entry.as_ref().is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with('.')))
        .count()
}

/// Runs under a limit of the shell's. It ends as it would have without, or with an error, or it is killed.
#[track_caller]
fn limited(workbench: &Workbench, limit: &str) -> Ended {
    let before = records(workbench);
    let ended = workbench.eval(["run", "--task-class=fixture", "--cases=00*"]).after(limit).run();
    match ended.code {
        Some(0) => assert_eq!(records(workbench), before + 1),
        Some(1) => assert!(ended.stderr.contains("error: "), "{limit}: {}", ended.stderr),
        None => {}
        code => panic!("{limit}: exit {code:?}: {}", ended.stderr),
    }
    let (state, said) = verified(workbench, &[]);
    assert!(["OK", "INCOMPLETE"].contains(&state.as_str()), "{limit}: {}", said.stderr);
    assert_eq!(verified(workbench, &[]).0, "OK", "what was left is finished");
    assert!(records(workbench) >= before, "{limit}: a record is gone");
    ended
}

#[test]
fn a_limit_on_the_size_of_files_costs_a_run_and_never_a_record() {
    let workbench = workbench();
    run(&workbench, "00*");
    // With the signal ignored a write fails; without, it kills.
    for on_the_signal in ["trap '' XFSZ", "trap - XFSZ"] {
        for blocks in [0, 1, 8, 16] {
            let ended = limited(&workbench, &format!("{on_the_signal}\nulimit -f {blocks}"));
            assert_ne!(ended.code, Some(0), "{blocks} blocks: a run that has no room fails");
        }
        assert_eq!(limited(&workbench, &format!("{on_the_signal}\nulimit -f 65536")).code, Some(0));
    }
    assert_eq!(verified(&workbench, &["--replay"]).0, "OK");
}

#[test]
fn what_the_machine_lacks_is_never_a_fault_of_the_rubric() {
    let workbench = workbench();
    run(&workbench, "00*");
    for kilobytes in [200_000, 600_000, 900_000, 1_200_000, 2_000_000] {
        limited(&workbench, &format!("ulimit -v {kilobytes}"));
    }
    assert_eq!(verified(&workbench, &["--replay"]).0, "OK");
}
