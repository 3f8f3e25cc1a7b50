//! Right answers, spoiled in small ways. Each mutant is wrong, and none may pass: not one that drops a hunk, moves a
//! version by one step, touches another file, deletes a line of a test, or declines for another reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use eval_rubric::golden::{self, GoldenCase};
use vuln_remediation::case::Case;
use vuln_remediation::checks::tests_intact::has_tests;
use vuln_remediation::diff::{self, Diff, FileDiff, Hunk, Kind, Line};
use vuln_remediation::judge;
use vuln_remediation::output::{DeclineReason, Output};
use vuln_remediation::project;
use vuln_remediation::tree::Tree;
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
    let diffs: Vec<Diff> = right
        .iter()
        .filter_map(|output| match output {
            Output::Patch { diff } => Some(diff::parse(diff).unwrap()),
            Output::Decline { .. } => None,
        })
        .collect();
    // A mutant that happens to be another right answer is no mutant.
    let known: Vec<Tree> = diffs.iter().map(|diff| diff::apply(diff, &case.input).unwrap()).collect();
    for diff in &diffs {
        for (kind, what, mutant) in mutants(case, diff) {
            if diff::apply(&mutant, &case.input).is_ok_and(|tree| known.contains(&tree)) {
                continue;
            }
            tally.add(kind, case, id, &what, &Output::Patch { diff: render(&mutant) });
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

type Mutant = (&'static str, String, Diff);

fn mutants(case: &Case, diff: &Diff) -> Vec<Mutant> {
    let mut all = dropped_hunks(diff);
    all.extend(moved_versions(case, diff));
    all.extend(touched_files(case, diff));
    all.extend(deleted_test_lines(case, diff));
    all
}

fn dropped_hunks(diff: &Diff) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (f, file) in diff.files.iter().enumerate() {
        for h in 0..file.hunks.len() {
            let mut mutant = diff.clone();
            mutant.files[f].hunks.remove(h);
            mutant.files.retain(|file| !file.hunks.is_empty());
            all.push(("drop a hunk", format!("{} hunk {h}", file.path), mutant));
        }
    }
    all
}

/// For every package that the answer brings in: the version below and the one above, with the right checksums.
fn moved_versions(case: &Case, diff: &Diff) -> Vec<Mutant> {
    let after = diff::apply(diff, &case.input).unwrap();
    let project = project::read(case.task.ecosystem, &after, &case.registry).unwrap();
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
            if mutant != *diff {
                all.push((kind, format!("{} {version}", package.name), mutant));
            }
        }
    }
    all
}

/// Writes another version, and its checksums, wherever the answer writes the right one.
fn with_version(case: &Case, diff: &Diff, name: &str, from: &Version, to: &Version) -> Diff {
    let checksums = |version| case.registry.release(name, version).map(|r| r.checksums.clone()).unwrap_or_default();
    let sums: Vec<(String, String)> = checksums(from).into_iter().zip(checksums(to)).collect();
    let mut mutant = diff.clone();
    for line in mutant.files.iter_mut().flat_map(|file| &mut file.hunks).flat_map(|hunk| &mut hunk.lines) {
        if let Line::Add(text) = line {
            *text = text.replace(from.text(), to.text());
            for (old, new) in &sums {
                *text = text.replace(old, new);
            }
        }
    }
    mutant
}

fn touched_files(case: &Case, diff: &Diff) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (path, text) in case.input.iter().filter(|(path, _)| diff.file(path).is_none()) {
        for (what, line) in [("a word", "touched\n"), ("a comment", "# touched\n"), ("a blank line", "\n")] {
            let mut mutant = diff.clone();
            mutant.files.push(appended(path, text, line));
            all.push(("touch another file", format!("{path}: {what}"), mutant));
        }
    }
    for path in ["NOTES.md", "src/extra.txt", "constraints.txt"] {
        let hunk = Hunk { skip: 0, lines: vec![Line::Add("# new\n".to_owned())] };
        let mut mutant = diff.clone();
        mutant.files.push(FileDiff { path: path.to_owned(), kind: Kind::Create, hunks: vec![hunk] });
        all.push(("touch another file", format!("{path}: new"), mutant));
    }
    all
}

fn appended(path: &str, text: &str, line: &str) -> FileDiff {
    let hunk = Hunk { skip: text.lines().count(), lines: vec![Line::Add(line.to_owned())] };
    FileDiff { path: path.to_owned(), kind: Kind::Modify, hunks: vec![hunk] }
}

fn deleted_test_lines(case: &Case, diff: &Diff) -> Vec<Mutant> {
    let mut all = Vec::new();
    let is_free = |path: &str| diff.file(path).is_none();
    for (path, text) in case.input.iter().filter(|(path, text)| has_tests(path, text) && is_free(path)) {
        for (skip, line) in text.split_inclusive('\n').enumerate() {
            let hunk = Hunk { skip, lines: vec![Line::Remove(line.to_owned())] };
            let mut mutant = diff.clone();
            mutant.files.push(FileDiff { path: path.clone(), kind: Kind::Modify, hunks: vec![hunk] });
            all.push(("delete a line of a test", format!("{path}:{}", skip + 1), mutant));
        }
    }
    all
}

fn render(diff: &Diff) -> String {
    let mut text = String::new();
    for file in &diff.files {
        let (old, new) = (format!("a/{}", file.path), format!("b/{}", file.path));
        let null = || "/dev/null".to_owned();
        let (old, new) = match file.kind {
            Kind::Create => (null(), new),
            Kind::Modify => (old, new),
            Kind::Delete => (old, null()),
        };
        write!(text, "--- {old}\n+++ {new}\n").unwrap();
        file.hunks.iter().for_each(|hunk| render_hunk(hunk, &mut text));
    }
    text
}

fn render_hunk(hunk: &Hunk, text: &mut String) {
    let old = hunk.lines.iter().filter(|line| line.in_old().is_some()).count();
    let new = hunk.lines.iter().filter(|line| line.in_new().is_some()).count();
    let start = if old == 0 { hunk.skip } else { hunk.skip + 1 };
    writeln!(text, "@@ -{start},{old} +{start},{new} @@").unwrap();
    for line in &hunk.lines {
        let (sign, content) = match line {
            Line::Context(content) => (' ', content),
            Line::Remove(content) => ('-', content),
            Line::Add(content) => ('+', content),
        };
        text.push(sign);
        text.push_str(content);
        if !content.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}
