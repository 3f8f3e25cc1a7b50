//! Right answers, spoiled in small ways. Each mutant is wrong, and none may pass: not one that drops a hunk, moves a
//! version by one step, touches another file, deletes a line of a test, or declines for another reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use eval_diff::{Applied, Tree, without_each_hunk};
use eval_rubric::golden::{self, GoldenCase};
use vuln_remediation::case::Case;
use vuln_remediation::checks::tests_intact::has_tests;
use vuln_remediation::judge;
use vuln_remediation::output::{DeclineReason, Output};
use vuln_remediation::patch;
use vuln_remediation::project;
use vuln_remediation::version::Version;

/// Mutants by kind: how many there were, and which passed.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, (usize, Vec<String>)>);

impl Tally {
    fn add(&mut self, kind: &'static str, case: &Case, id: &str, what: &str, output: &Output) {
        let entry = self.0.entry(kind).or_default();
        entry.0 += 1;
        if judge::judge(case, output).is_passed() {
            entry.1.push(format!("{id}: {what}"));
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the share of mutants that pass is a result that people read")]
fn no_mutant_of_a_right_answer_passes() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation");
    let mut tally = Tally::default();
    for golden in golden::load(&folder).unwrap_or_else(|failure| panic!("{failure}")) {
        let case = Case::read(&golden.case, &golden.files).unwrap();
        mutate_case(&golden, &case, &mut tally);
    }
    let mut passed = Vec::new();
    for (kind, (count, wrongly)) in &tally.0 {
        println!("{kind}: {} of {count} mutants wrongly pass", wrongly.len());
        assert!(*count > 0, "{kind}: there is no mutant of this kind");
        passed.extend(wrongly);
    }
    assert_eq!(tally.0.len(), 7, "every kind of mutation is used");
    assert!(passed.is_empty(), "{passed:#?}");
}

fn mutate_case(golden: &GoldenCase, case: &Case, tally: &mut Tally) {
    let id = &golden.case.case_id;
    let right: Vec<Output> = golden
        .tests
        .iter()
        .filter(|(name, _)| name.as_str() == "right" || name.starts_with("also-right"))
        .map(|(_, test)| serde_json::from_value(test.output.clone()).unwrap())
        .collect();
    let patches: Vec<(&str, Applied)> = right
        .iter()
        .filter_map(|output| match output {
            Output::Patch { diff } => Some((diff.as_str(), patch::apply(&case.input, diff).unwrap())),
            Output::Decline { .. } => None,
        })
        .collect();
    // A mutant that happens to be another right answer is no mutant.
    let known: Vec<&Tree> = patches.iter().map(|(_, applied)| &applied.tree).collect();
    for (diff, applied) in &patches {
        for (kind, what, mutant) in mutants(case, diff, applied) {
            if patch::apply(&case.input, &mutant).is_ok_and(|applied| known.contains(&&applied.tree)) {
                continue;
            }
            tally.add(kind, case, id, &what, &Output::Patch { diff: mutant });
        }
    }
    for output in &right {
        if let Output::Decline { explanation, .. } = output {
            mutate_decline(case, id, explanation, tally);
        }
    }
}

fn mutate_decline(case: &Case, id: &str, explanation: &str, tally: &mut Tally) {
    const REASONS: [DeclineReason; 9] = [
        DeclineReason::Withdrawn,
        DeclineReason::VersionNotAffected,
        DeclineReason::PackageNotPresent,
        DeclineReason::FeatureNotEnabled,
        DeclineReason::PlatformNotAffected,
        DeclineReason::NotReachable,
        DeclineReason::NoFixedVersion,
        DeclineReason::OnlyPreReleaseFix,
        DeclineReason::OnlyYankedFix,
    ];
    for reason in REASONS.into_iter().filter(|reason| !case.accepts.decline_reasons.contains(reason)) {
        let output = Output::Decline { reason, explanation: explanation.to_owned() };
        tally.add("decline for another reason", case, id, &format!("{reason:?}"), &output);
    }
    let reason = case.accepts.decline_reasons[0];
    let output = Output::Decline { reason, explanation: "There is nothing to do.".to_owned() };
    tally.add("decline without naming the advisory", case, id, "unexplained", &output);
}

/// The kind, what is wrong, and the diff.
type Mutant = (&'static str, String, String);

fn mutants(case: &Case, diff: &str, applied: &Applied) -> Vec<Mutant> {
    let mut all = dropped_hunks(diff);
    all.extend(moved_versions(case, diff, applied));
    all.extend(touched_files(case, diff, applied));
    all.extend(deleted_test_lines(case, diff, applied));
    all
}

fn dropped_hunks(diff: &str) -> Vec<Mutant> {
    let mutants = without_each_hunk(diff).unwrap().into_iter().enumerate();
    mutants.map(|(h, mutant)| ("drop a hunk", format!("hunk {h}"), mutant)).collect()
}

/// For every package that the answer brings in: the version below and the one above, with the right checksums.
fn moved_versions(case: &Case, diff: &str, applied: &Applied) -> Vec<Mutant> {
    let project = project::read(case.task.ecosystem, &applied.tree, &case.registry).unwrap();
    let old: BTreeSet<(&str, &str)> =
        case.before.packages.iter().map(|package| (package.name.as_str(), package.version.text())).collect();
    let mut all = Vec::new();
    for package in project.packages.iter().filter(|p| !old.contains(&(p.name.as_str(), p.version.text()))) {
        let versions: Vec<Version> = case.registry.versions(&package.name).into_iter().map(|(v, _)| v).collect();
        let Some(at) = versions.iter().position(|version| *version == package.version) else { continue };
        let lower = at.checked_sub(1).and_then(|below| versions.get(below)).map(|v| ("bump one version lower", v));
        let higher = versions.get(at + 1).map(|v| ("bump one version higher", v));
        for (kind, version) in lower.into_iter().chain(higher) {
            let mutant = with_version(case, diff, &package.name, &package.version, version);
            if mutant != diff {
                all.push((kind, format!("{} {version}", package.name), mutant));
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

fn touched_files(case: &Case, diff: &str, applied: &Applied) -> Vec<Mutant> {
    let kind = "touch another file";
    let mut all = Vec::new();
    for (path, text) in case.input.texts().filter(|(path, _)| applied.change(path).is_none()) {
        let last = text.lines().count();
        for (what, line) in [("a word", "touched"), ("a comment", "# touched"), ("a blank line", "")] {
            let mutant = format!("{diff}--- a/{path}\n+++ b/{path}\n@@ -{last},0 +{},1 @@\n+{line}\n", last + 1);
            all.push((kind, format!("{path}: {what}"), mutant));
        }
    }
    for path in ["NOTES.md", "src/extra.txt", "constraints.txt"] {
        let mutant = format!("{diff}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+# new\n");
        all.push((kind, format!("{path}: new"), mutant));
    }
    all
}

fn deleted_test_lines(case: &Case, diff: &str, applied: &Applied) -> Vec<Mutant> {
    let mut all = Vec::new();
    let is_free = |path: &str| applied.change(path).is_none();
    for (path, text) in case.input.texts().filter(|(path, text)| has_tests(path, text) && is_free(path)) {
        for (number, line) in (1..).zip(text.lines()) {
            let mutant = format!("{diff}--- a/{path}\n+++ b/{path}\n@@ -{number} +{},0 @@\n-{line}\n", number - 1);
            all.push(("delete a line of a test", format!("{path}:{number}"), mutant));
        }
    }
    all
}
