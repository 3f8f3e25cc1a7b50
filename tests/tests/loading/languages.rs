//! Rubrics in languages whose runtime is a part of the component, as the makers of the languages' tools publish them: heavier than
//! anything else that anybody loads. `tests/install.sh` makes them.

use std::fs;
use std::path::PathBuf;

use eval_host_tests::{Ended, FIXTURE, Workbench, project_root};

use crate::BINARY;

fn component(name: &str) -> Vec<u8> {
    let path: PathBuf = project_root().join("target/tools/components").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}: run tests/install.sh", path.display()))
}

/// Runs the fixture with this rubric, which passes whatever it is given and counts its fields.
fn run(name: &str) -> Ended {
    let workbench = Workbench::with_fixture(BINARY);
    workbench.replace_rubric(FIXTURE, &component(name));
    workbench.eval(["run", "--task-class=fixture"]).run()
}

#[track_caller]
fn scores(name: &str) {
    let ended = run(name).expect_code(0);
    let fields: Vec<_> = ended.lines("case").iter().map(|case| case["score"]["breakdown"]["fields"].clone()).collect();
    assert_eq!(fields, [2.0, 1.0, 1.0]);
}

#[test]
fn a_rubric_in_python_on_cpython_loads_and_scores() {
    scores("python.wasm");
}

#[test]
fn a_rubric_in_javascript_on_starlingmonkey_loads_and_scores() {
    scores("javascript.wasm");
}

#[test]
fn a_rubric_in_javascript_on_quickjs_loads_and_scores() {
    scores("quickjs.wasm");
}

#[test]
fn python_that_was_not_kept_from_sockets_is_refused_for_them_alone() {
    let ended = run("python-with-sockets.wasm").expect_code(1);
    assert!(ended.stderr.contains("imports `wasi:sockets/network@"), "{}", ended.stderr);
    assert!(ended.stderr.contains("but a rubric has no network"), "{}", ended.stderr);
    assert!(ended.stderr.contains("componentize-py --stub-wasi"), "{}", ended.stderr);
}

#[test]
fn a_rubric_that_is_built_for_asynchronous_calls_is_told_how_to_be_built_without() {
    let ended = run("quickjs-async.wasm").expect_code(1);
    assert!(ended.stderr.contains("the component is built for asynchronous calls"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--backend-qjs-disable-async"), "{}", ended.stderr);
}
