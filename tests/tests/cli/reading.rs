//! What a case costs in system calls before it is scored, as strace counts them, and what happens where the best of them is refused.

use std::collections::BTreeMap;
use std::fs;

use eval_host_tests::{Ended, Workbench};

use crate::BINARY;

/// How often a shard of a bench of so many cases makes each system call. A shard keeps no objects.
fn calls(cases: usize) -> BTreeMap<String, usize> {
    let workbench = Workbench::with_fixture_of(cases, BINARY);
    let shard = ["run", "--task-class=fixture", "--shard=1/1", "-j1", "--quiet"];
    // What is compiled is in the cache by then.
    let _ = workbench.eval(shard).run().expect_code(0);
    let log = workbench.path().join("strace.log");
    let strace = format!("strace -f -qq -e trace=file,desc -o {} \"$0\" \"$@\"; exit $?", log.display());
    let _ = workbench.eval(shard).after(&strace).run().expect_code(0);
    let log = fs::read_to_string(log).expect("a log");
    let mut calls = BTreeMap::new();
    for line in log.lines() {
        let call = line.split_whitespace().nth(1).and_then(|call| call.split_once('('));
        *calls.entry(call.map_or("", |(name, _)| name).to_owned()).or_default() += 1;
    }
    calls
}

#[test]
fn a_case_is_read_with_few_system_calls() {
    let (few, many) = (calls(10), calls(110));
    let per_case = |call: &str| {
        let [few, many] = [&few, &many].map(|calls| calls.get(call).copied().unwrap_or_default());
        (many - few).div_ceil(100)
    };
    // Its folder with two below it, and four files: `case.toml`, one of the input, one expected, and the cassette.
    let opened = ["openat2", "openat", "open"].map(per_case).iter().sum::<usize>();
    assert_eq!(opened, 7);
    assert_eq!(per_case("close"), 7);
    // A file is examined once and read at once; a folder is listed, and its end found.
    assert_eq!((per_case("fstat"), per_case("read"), per_case("getdents64")), (4, 4, 4));
    // Whether there is a pointer in place of the input.
    assert_eq!(per_case("newfstatat"), 1);
}

/// How often a run makes its files durable, and how many of them are in the store then.
fn durably(cases: usize) -> (usize, usize) {
    let workbench = Workbench::with_fixture_of(cases, BINARY);
    let log = workbench.path().join("strace.log");
    let calls = "fsync,fdatasync,syncfs,sync_file_range,sync,msync";
    let strace = format!("strace -f -qq -e trace={calls} -o {} \"$0\" \"$@\"; exit $?", log.display());
    let _ = workbench.eval(["run", "--task-class=fixture", "--quiet"]).after(&strace).run().expect_code(0);
    let store = workbench.path().join(".codegenie/eval");
    let files: usize = fs::read_dir(&store)
        .expect("a store")
        .map(|entry| fs::read_dir(entry.expect("an entry").path()).map_or(1, Iterator::count))
        .sum();
    (fs::read_to_string(log).expect("a log").lines().count(), files)
}

#[test]
fn a_run_of_many_cases_makes_no_more_files_and_no_more_fsyncs_than_one_of_few() {
    let (few, many) = (durably(3), durably(503));
    assert!(few.0 > 3, "the calls are counted");
    assert_eq!(few.0, many.0);
    assert_eq!((few.1, many.1), (3, 3), "an identity, a record and a pack");
}

#[test]
fn lines_are_written_together() {
    let (few, many) = (calls(10), calls(110));
    // The answers of a shard are written one by one; what is told of them is not.
    assert!(many["write"] - few["write"] < 150, "{} and {}", few["write"], many["write"]);
}

/// Runs the fixture where a system call fails, if any.
fn run(injected: Option<&str>) -> Ended {
    let workbench = Workbench::with_fixture(BINARY);
    let eval = workbench.eval(["run", "--task-class=fixture"]);
    let eval = match injected {
        Some(error) => eval.after(&format!(
            "strace -f -qq -e trace=openat2 -e inject=openat2:error={error} -o /dev/null \"$0\" \"$@\"; exit $?"
        )),
        None => eval,
    };
    eval.run().expect_code(0)
}

#[test]
fn a_kernel_that_refuses_to_resolve_names_gives_the_same_run() {
    let expected = run(None).lines("case");
    for error in ["ENOSYS", "EPERM"] {
        let ended = run(Some(error));
        assert_eq!(ended.lines("case"), expected, "{error}");
        assert_eq!(ended.line("aggregate")["passed_count"], 3, "{error}");
    }
}
