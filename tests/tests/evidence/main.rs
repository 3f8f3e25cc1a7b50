//! The evidence of a run as its users meet it: verified, replayed, exported, anchored, judged.

mod anchors;
mod attacks;
mod bundles;
mod forger;
mod golden;
mod last_seen;
mod no_room;
mod parts;
mod promotion;
mod signatures;
mod verifier;

use std::path::PathBuf;

use eval_host_tests::{Ended, Workbench};

/// Where cargo put the binary.
const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

/// A workbench with the fixture and nothing run yet.
fn workbench() -> Workbench {
    Workbench::with_fixture(BINARY)
}

/// Runs a few cases, and gives the path of the record.
fn run(workbench: &Workbench, cases: &str) -> PathBuf {
    let cases = format!("--cases={cases}");
    workbench.eval(["run", "--task-class=fixture", &cases]).run().record_path(workbench.path())
}

/// What `verify` says of the evidence, with its exit code checked against it.
#[track_caller]
fn verified(workbench: &Workbench, args: &[&str]) -> (String, Ended) {
    let ended = workbench.eval(["verify"]).args(args).run();
    let state = ended.line("verification")["state"].as_str().expect("a state").to_owned();
    assert_eq!(ended.code, Some(if state == "OK" { 0 } else { 6 }), "{}", ended.stderr);
    (state, ended)
}
