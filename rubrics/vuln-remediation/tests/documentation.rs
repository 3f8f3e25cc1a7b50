//! The rubric, the bench's registration and its README name the same failure modes with the same severity.

use std::fs;
use std::path::PathBuf;

use eval_rubric::Disposition;
use eval_rubric::golden;
use vuln_remediation::failure::Failure;

fn bench_file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_failure_mode_is_in_the_readme_with_its_severity() {
    let readme = bench_file("README.md");
    for failure in Failure::ALL {
        let severity = if failure.is_block() { "block" } else { "fail" };
        let row = format!("| `{}` | {severity} |", failure.name());
        assert!(readme.contains(&row), "README.md lacks the row {row}");
    }
}

#[test]
fn the_registration_lists_the_failure_modes_of_block_severity_and_no_others() {
    let registration: toml::Table = toml::from_str(&bench_file("registration.toml")).unwrap();
    let listed: Vec<String> = registration["failure_modes"]["block"].clone().try_into().unwrap();
    let blocking: Vec<&str> = Failure::ALL.into_iter().filter(|f| f.is_block()).map(Failure::name).collect();
    assert_eq!(listed, blocking);
}

#[test]
fn the_readme_counts_the_cases_as_they_are() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation");
    let cases = golden::load(&folder).unwrap_or_else(|failure| panic!("{failure}"));
    let disposed = |disposition| cases.iter().filter(|golden| golden.case.disposition == disposition).count();
    let sentence = format!(
        "Of the {} cases {} are positive, {} negative and {} ambiguous",
        cases.len(),
        disposed(Disposition::Positive),
        disposed(Disposition::Negative),
        disposed(Disposition::Ambiguous)
    );
    assert!(bench_file("README.md").contains(&sentence), "README.md does not say: {sentence}");
}
