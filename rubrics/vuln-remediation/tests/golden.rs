//! The golden tests of the bench, run natively: for every case the right answer and wrong ones of several kinds, each
//! with the score and the failure modes that it must give.

use std::collections::BTreeSet;
use std::path::PathBuf;

use eval_rubric::golden::{self, GoldenCase, Outcome};
use vuln_remediation::VulnRemediation;
use vuln_remediation::failure::Failure;

fn bench() -> Vec<GoldenCase> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation");
    golden::load(&folder).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn every_golden_answer_gets_the_score_that_it_must_get() {
    let failures = golden::check::<VulnRemediation>(&bench());
    let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} golden tests failed:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn every_case_has_a_right_answer_and_wrong_ones_of_two_kinds() {
    for golden in bench() {
        let (mut right, mut wrong) = (0, BTreeSet::new());
        for test in golden.tests.values() {
            match &test.expect {
                Outcome::Score { passed: true, score, failure_modes } => {
                    assert_eq!((*score, failure_modes.len()), (1.0, 0), "{}", golden.case.case_id);
                    right += 1;
                }
                Outcome::Score { failure_modes, .. } => {
                    wrong.insert(failure_modes.clone());
                }
                Outcome::Fault { .. } => {}
            }
        }
        assert!(
            right >= 1 && wrong.len() >= 2,
            "{}: {right} right, {} kinds of wrong",
            golden.case.case_id,
            wrong.len()
        );
    }
}

#[test]
fn every_failure_mode_is_reached_by_a_golden_test() {
    let mut reached = BTreeSet::new();
    for golden in bench() {
        for test in golden.tests.values() {
            if let Outcome::Score { failure_modes, .. } = &test.expect {
                reached.extend(failure_modes.iter().cloned());
            }
        }
    }
    let unreached: Vec<&str> =
        Failure::ALL.map(Failure::name).into_iter().filter(|name| !reached.contains(*name)).collect();
    assert!(unreached.is_empty(), "{unreached:?}");
}
