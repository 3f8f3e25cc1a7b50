//! The golden tests of the bench, run natively.

use eval_rubric::golden::{self, GoldenCase, Outcome};
use migration_chainguard_distroless::MigrationChainguardDistroless;
use std::path::PathBuf;

fn cases() -> Vec<GoldenCase> {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/migration-chainguard-distroless");
    golden::load(&bench).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn every_golden_test_gives_what_it_must() {
    let failures = golden::check::<MigrationChainguardDistroless>(&cases());
    let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{} golden tests fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_case_has_its_right_answer_and_two_kinds_of_wrong_ones() {
    for golden in cases() {
        let id = &golden.case.case_id;
        assert!(golden.tests.contains_key("right"), "{id} has no `right.json`");
        let mut kinds: Vec<Vec<String>> = golden.tests.values().filter_map(|test| wrong(&test.expect)).collect();
        kinds.sort();
        kinds.dedup();
        assert!(kinds.len() >= 2, "{id} has wrong answers of {} kinds", kinds.len());
    }
}

fn wrong(outcome: &Outcome) -> Option<Vec<String>> {
    match outcome {
        Outcome::Score { passed: false, failure_modes, .. } => Some(failure_modes.clone()),
        _ => None,
    }
}
