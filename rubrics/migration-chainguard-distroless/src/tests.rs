//! What the bench's own files say about failure modes must be what the rubric does.

use crate::failure::{Mode, Severity};
use eval_rubric::golden::Outcome;
use serde::Deserialize;
use std::fs;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Registration {
    failure_modes: FailureModes,
}

#[derive(Deserialize)]
struct FailureModes {
    block: Vec<String>,
}

fn bench() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/migration-chainguard-distroless")
}

fn bench_file(name: &str) -> String {
    fs::read_to_string(bench().join(name)).unwrap()
}

#[test]
fn the_registration_blocks_on_exactly_the_modes_of_block_severity() {
    let registration: Registration = toml::from_str(&bench_file("registration.toml")).unwrap();
    let mut block: Vec<&str> =
        Mode::ALL.iter().filter(|mode| mode.severity() == Severity::Block).map(|mode| mode.name()).collect();
    block.sort_unstable();
    assert_eq!(registration.failure_modes.block, block);
}

#[test]
fn the_readme_documents_every_mode_with_its_part_and_severity() {
    let readme = bench_file("README.md");
    for mode in Mode::ALL {
        let severity = if mode.severity() == Severity::Block { "block" } else { "fail" };
        let row = format!("| `{}` | {} | {severity} |", mode.name(), mode.part().name());
        assert!(readme.contains(&row), "README.md lacks the row `{row}`");
    }
}

#[test]
fn every_mode_is_reached_by_a_golden_test() {
    let cases = eval_rubric::golden::load(&bench()).unwrap_or_else(|failure| panic!("{failure}"));
    let expected = cases.iter().flat_map(|case| case.tests.values()).map(|test| &test.expect);
    let reached: Vec<&String> = expected
        .filter_map(|expect| match expect {
            Outcome::Score { failure_modes, .. } => Some(failure_modes),
            Outcome::Fault { .. } => None,
        })
        .flatten()
        .collect();
    let missing = Mode::ALL.iter().map(|mode| mode.name()).filter(|name| !reached.iter().any(|mode| mode == name));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}
