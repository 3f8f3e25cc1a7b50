//! What the bench's own files say about failure modes must be what the rubric does.

use crate::MigrationChainguardDistroless;
use crate::failure::{Mode, Severity};
use eval_rubric::golden::{self, Outcome};
use eval_rubric::{Answer, CaseFiles, Rubric, RubricError};
use serde::Deserialize;
use std::collections::BTreeMap;
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
    let cases = golden::load(&bench()).unwrap_or_else(|failure| panic!("{failure}"));
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

/// The verdict on the right answer of the first case, with some of the case's own files replaced.
fn verdict_with(replaced: &[(&str, String)]) -> Result<bool, RubricError> {
    let golden = golden::load(&bench()).unwrap_or_else(|failure| panic!("{failure}")).remove(0);
    let folders = ["input", "expected"].map(|folder| (folder, golden.files.read_tree(folder).unwrap()));
    let files = folders.into_iter().flat_map(|(folder, tree)| {
        tree.into_iter().map(move |(path, content)| (format!("{folder}/{path}"), content)).collect::<Vec<_>>()
    });
    let mut files: BTreeMap<String, Vec<u8>> = files.collect();
    files.extend(replaced.iter().map(|(path, text)| ((*path).to_owned(), text.clone().into_bytes())));
    let answer = Answer::new(golden.tests["right"].output.to_string(), 0.0, 0.0);
    let files = CaseFiles::in_memory(files);
    MigrationChainguardDistroless::judge(&golden.case, &answer, &files).map(|verdict| verdict.is_passed())
}

#[test]
fn a_case_whose_own_answer_is_not_right_is_malformed_and_says_why() {
    assert!(matches!(verdict_with(&[]), Ok(true)));
    let solution = bench_file("cases/001-python-flask/expected/solution.diff");
    let verdict = bench_file("cases/001-python-flask/expected/verdict.toml");
    let wrong = [
        (
            "expected/solution.diff",
            solution.replace("/app/venv /app/venv", "/app/venv /srv"),
            "startup_program_missing",
        ),
        ("expected/solution.diff", solution.replace("@@ -1,4", "@@ -2,4"), "diff_does_not_apply"),
        ("expected/verdict.toml", verdict.replace("app.py", "main.py"), "wrong_startup_command"),
    ];
    for (path, text, mode) in wrong {
        let Err(RubricError::MalformedCase(why)) = verdict_with(&[(path, text)]) else { panic!("{mode}") };
        assert!(why.contains("expected/solution.diff") && why.contains(mode), "{why}");
    }
}
