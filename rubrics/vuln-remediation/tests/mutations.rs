//! Right answers that move a package to the next release above or below, with that release's checksums. Each mutant is wrong,
//! and none may pass. The attack on the bench cannot make them: it knows no registry.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input must stop")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use eval_diff::{Applied, Tree};
use eval_rubric::golden::{self, GoldenCase};
use vuln_remediation::case::{Bump, Case};
use vuln_remediation::judge;
use vuln_remediation::output::Output;
use vuln_remediation::patch;
use vuln_remediation::project;
use vuln_remediation::version::Version;

#[test]
fn no_right_answer_moved_by_one_release_passes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation");
    let (mut count, mut passed) = (0, Vec::new());
    for golden in golden::load(&folder).unwrap_or_else(|failure| panic!("{failure}")) {
        let case = Case::read(&golden.case, &golden.files).unwrap();
        // Where the line is left open, the next release may be as good.
        if case.task.policy.versions == Bump::Line {
            continue;
        }
        for (what, diff) in mutants(&golden, &case) {
            count += 1;
            if judge::judge(&case, &Output::Patch { diff }).is_passed() {
                passed.push(format!("{}: {what}", golden.case.case_id));
            }
        }
    }
    assert!(count > 50, "{count}");
    assert!(passed.is_empty(), "{passed:#?}");
}

fn mutants(golden: &GoldenCase, case: &Case) -> Vec<(String, String)> {
    let rights = golden.tests.iter().filter(|(name, _)| name.as_str() == "right" || name.starts_with("also-right"));
    let patches: Vec<(String, Applied)> = rights
        .filter_map(|(_, test)| match serde_json::from_value(test.output.clone()).unwrap() {
            Output::Patch { diff } => Some((diff.clone(), patch::apply(&case.input, &diff).unwrap())),
            Output::Decline { .. } => None,
        })
        .collect();
    // A mutant that happens to be another right answer is no mutant.
    let known: Vec<&Tree> = patches.iter().map(|(_, applied)| &applied.tree).collect();
    let is_wrong = |diff: &str| !patch::apply(&case.input, diff).is_ok_and(|applied| known.contains(&&applied.tree));
    let moved = patches.iter().flat_map(|(diff, applied)| moved_versions(case, diff, applied));
    moved.filter(|(_, diff)| is_wrong(diff)).collect()
}

/// For every package that the answer brings in: the version below and the one above, with the right checksums.
fn moved_versions(case: &Case, diff: &str, applied: &Applied) -> Vec<(String, String)> {
    let project = project::read(case.task.ecosystem, &applied.tree, &case.registry, None).unwrap();
    let old: BTreeSet<(&str, &str)> =
        case.before.packages.iter().map(|package| (package.name.as_str(), package.version.text())).collect();
    let mut all = Vec::new();
    for package in project.packages.iter().filter(|p| !old.contains(&(p.name.as_str(), p.version.text()))) {
        let versions: Vec<Version> = case.registry.versions(&package.name).into_iter().map(|(v, _)| v).collect();
        let Some(at) = versions.iter().position(|version| *version == package.version) else { continue };
        let lower = at.checked_sub(1).and_then(|below| versions.get(below));
        for version in lower.into_iter().chain(versions.get(at + 1)) {
            let mutant = with_version(case, diff, &package.name, &package.version, version);
            if mutant != diff {
                all.push((format!("{} {version}", package.name), mutant));
            }
        }
    }
    all
}

/// Writes another version, and its checksums, wherever the answer writes the right one.
fn with_version(case: &Case, diff: &str, name: &str, from: &Version, to: &Version) -> String {
    let checksums = |version| case.registry.release(name, version).map(|r| r.checksums.clone()).unwrap_or_default();
    let sums: Vec<(String, String)> = checksums(from).into_iter().zip(checksums(to)).collect();
    let moved = |line: &str| {
        let line = line.replace(from.text(), to.text());
        sums.iter().fold(line, |line, (old, new)| line.replace(old, new))
    };
    let is_added = |line: &str| line.starts_with('+') && !line.starts_with("+++ ");
    let lines = diff.split_inclusive('\n');
    lines.map(|line| if is_added(line) { moved(line) } else { line.to_owned() }).collect()
}
