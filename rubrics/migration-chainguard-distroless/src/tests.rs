//! What the bench's own files say about failure modes must be what the rubric does.

use crate::failure::{Mode, Severity};
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

fn bench_file(name: &str) -> String {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/migration-chainguard-distroless");
    fs::read_to_string(bench.join(name)).unwrap()
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
