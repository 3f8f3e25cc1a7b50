//! Right answers with one thing made wrong that the attack on the bench does not know. Not one of them may pass.
//!
//! The kinds are defined so that every mutant is a worse answer: where a change could give an equivalent one, it is left out.
//! A `USER` line counts only if it is `USER root` in front of a step that needs it, because a line that names the user that
//! the image has anyway changes nothing; a `--chown` counts only if the process writes to what it gives away; the variant
//! counts only for the image that the last stage stands on, because a build stage may well have more than it needs.

#![expect(clippy::unwrap_used, reason = "a case that cannot be read must end the test")]
#![expect(clippy::print_stdout, reason = "the share of mutants that pass is the result")]

use eval_diff::{Tree, apply};
use eval_rubric::golden::{self, GoldenCase, Outcome};
use migration_chainguard_distroless::MigrationChainguardDistroless;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A case with its right patch.
struct Solved {
    golden: GoldenCase,
    before: Tree,
    after: Tree,
    writable: Vec<String>,
}

#[derive(Deserialize)]
struct Verdict {
    #[serde(rename = "final")]
    last: Last,
}

#[derive(Deserialize)]
struct Last {
    #[serde(default)]
    writable: Vec<String>,
}

fn solved() -> Vec<Solved> {
    let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/migration-chainguard-distroless");
    let cases = golden::load(&bench).unwrap_or_else(|failure| panic!("{failure}"));
    cases.into_iter().filter_map(solve).collect()
}

fn solve(golden: GoldenCase) -> Option<Solved> {
    let diff = golden.tests["right"].output.get("diff")?.as_str()?.to_owned();
    let before: Tree = golden.files.read_tree("input").unwrap().into_iter().collect();
    let after = apply(&before, &diff).unwrap().tree;
    let verdict: Verdict = toml::from_str(&golden.files.read_text("expected/verdict.toml").unwrap()).unwrap();
    Some(Solved { golden, before, after, writable: verdict.last.writable })
}

impl Solved {
    fn dockerfile(&self) -> &str {
        self.after.text("Dockerfile").unwrap()
    }

    fn passes(&self, diff: &str) -> bool {
        let output: Value = json!({ "action": "patch", "diff": diff });
        match golden::run::<MigrationChainguardDistroless>(&self.golden, &output) {
            Outcome::Score { passed, .. } => passed,
            Outcome::Fault { fault } => panic!("{}: {fault:?} for\n{diff}", self.golden.case.case_id),
        }
    }

    /// The right answer with another Dockerfile.
    fn with_dockerfile(&self, text: &str) -> String {
        let mut after = self.after.clone();
        after.insert("Dockerfile", text);
        difference(&self.before, &after)
    }
}

/// A diff that replaces every changed file as a whole.
fn difference(before: &Tree, after: &Tree) -> String {
    let changed = after.iter().filter(|(path, content)| before.get(path) != Some(*content));
    changed.map(|(path, _)| replacement(path, before.text(path), after.text(path).unwrap())).collect()
}

fn replacement(path: &str, old: Option<&str>, new: &str) -> String {
    let side = |name: &str, text: &str, mark: char| {
        let lines: String = text.lines().map(|line| format!("{mark}{line}\n")).collect();
        (format!("{name}{path}"), usize::from(!text.is_empty()), text.lines().count(), lines)
    };
    let (a, a_start, a_count, a_lines) = side("a/", old.unwrap_or_default(), '-');
    let (b, b_start, b_count, b_lines) = side("b/", new, '+');
    let a = if old.is_some() { a } else { "/dev/null".to_owned() };
    format!("--- {a}\n+++ {b}\n@@ -{a_start},{a_count} +{b_start},{b_count} @@\n{a_lines}{b_lines}")
}

/// One way to make an answer wrong: the diffs of all its mutants.
type Mutation = fn(&Solved) -> Vec<String>;

const MUTATIONS: [(&str, Mutation); 7] = [
    ("an image tag that does not exist", invent_tags),
    ("another variant of the last image", change_variant),
    ("keep the image from before", keep_old_image),
    ("run as root", run_as_root),
    ("drop USER root before a step that needs it", drop_user),
    ("drop --chown of what is written to", drop_chown),
    ("drop a label, port, volume, stop signal or health check; start through a shell", drop_or_weaken),
];

#[test]
fn no_mutant_of_a_right_answer_passes() {
    let solved = solved();
    let mut report = BTreeMap::new();
    for (kind, mutation) in MUTATIONS {
        let mutants: Vec<(&Solved, String)> =
            solved.iter().flat_map(|case| mutation(case).into_iter().map(move |diff| (case, diff))).collect();
        let passing: Vec<String> = mutants
            .iter()
            .filter(|(case, diff)| case.passes(diff))
            .map(|(case, diff)| format!("{}: {kind}\n{diff}", case.golden.case.case_id))
            .collect();
        println!("{:3} of {:3} mutants pass: {kind}", passing.len(), mutants.len());
        report.insert(kind, (mutants.len(), passing));
    }
    let empty: Vec<&&str> = report.iter().filter(|(_, (count, _))| *count == 0).map(|(kind, _)| kind).collect();
    assert!(empty.is_empty(), "no mutants of the kinds {empty:?}");
    let passing: Vec<String> = report.into_values().flat_map(|(_, passing)| passing).collect();
    assert!(passing.is_empty(), "{} mutants pass:\n{}", passing.len(), passing.join("\n"));
}

#[test]
fn the_right_answer_passes_also_as_a_diff_of_whole_files() {
    for case in solved() {
        assert!(case.passes(&difference(&case.before, &case.after)), "{}", case.golden.case.case_id);
    }
}

fn without(lines: &[&str], dropped: std::ops::RangeInclusive<usize>) -> String {
    lines.iter().enumerate().filter(|(at, _)| !dropped.contains(at)).map(|(_, line)| *line).collect()
}

/// The Dockerfile with each line that `change` takes replaced in turn.
fn with_each_line(case: &Solved, change: impl Fn(usize, &str) -> Option<String>) -> Vec<String> {
    let lines: Vec<&str> = case.dockerfile().split_inclusive('\n').collect();
    let changed = lines.iter().enumerate().filter_map(|(at, line)| Some((at, change(at, line)?)));
    changed
        .map(|(at, new)| {
            let text: String =
                lines.iter().enumerate().map(|(i, line)| if i == at { new.as_str() } else { line }).collect();
            case.with_dockerfile(&text)
        })
        .collect()
}

fn invent_tags(case: &Solved) -> Vec<String> {
    with_each_line(case, |_, line| {
        let (image, rest) = line.strip_prefix("FROM ")?.split_once(':')?;
        let name = rest.split_once(' ').map_or("\n".to_owned(), |(_, name)| format!(" {name}"));
        Some(format!("FROM {image}:0.0.1{name}"))
    })
}

/// The line of the `FROM` that the last stage stands on.
fn base_line(case: &Solved) -> usize {
    let lines: Vec<&str> = case.dockerfile().lines().collect();
    let last = lines.iter().rposition(|line| line.starts_with("FROM ")).unwrap();
    let image = lines[last].split_whitespace().nth(1).unwrap();
    let named = format!(" AS {image}");
    lines.iter().position(|line| line.starts_with("FROM ") && line.ends_with(&named)).unwrap_or(last)
}

fn change_variant(case: &Solved) -> Vec<String> {
    let base = base_line(case);
    let to = |new: &'static str| {
        with_each_line(case, move |at, line| (at == base).then(|| line.replacen(":latest", new, 1)))
    };
    [to(":latest-dev"), to(":latest-slim"), to(":edge")].concat()
}

fn keep_old_image(case: &Solved) -> Vec<String> {
    let base = base_line(case);
    let old = case.before.text("Dockerfile").unwrap().lines().rfind(|line| line.starts_with("FROM ")).unwrap();
    let old = old.split_whitespace().nth(1).unwrap();
    with_each_line(case, |at, line| {
        let image = line.split_whitespace().nth(1)?;
        (at == base).then(|| line.replacen(image, old, 1))
    })
}

fn run_as_root(case: &Solved) -> Vec<String> {
    ["USER root", "USER 0", "USER 0:0", "USER root:root"]
        .iter()
        .map(|user| case.with_dockerfile(&format!("{}{user}\n", case.dockerfile())))
        .collect()
}

fn drop_user(case: &Solved) -> Vec<String> {
    with_each_line(case, |_, line| (line == "USER root\n").then(String::new))
}

fn drop_chown(case: &Solved) -> Vec<String> {
    let arguments = case.dockerfile().lines().filter_map(|line| line.strip_prefix("ARG ")?.split_once('='));
    let arguments: Vec<(&str, &str)> = arguments.collect();
    with_each_line(case, |_, line| {
        let flag = line.split_whitespace().find(|word| word.starts_with("--chown="))?;
        let to = arguments.iter().fold(line.split_whitespace().last()?.to_owned(), |to, (name, value)| {
            to.replace(&format!("${{{name}}}"), value)
        });
        let to = to.trim_end_matches('/');
        let is_written = case.writable.iter().any(|path| path.starts_with(to));
        is_written.then(|| line.replacen(&format!("{flag} "), "", 1))
    })
}

fn drop_or_weaken(case: &Solved) -> Vec<String> {
    const DROPPED: [&str; 5] = ["LABEL ", "EXPOSE ", "VOLUME ", "STOPSIGNAL ", "HEALTHCHECK "];
    let lines: Vec<&str> = case.dockerfile().split_inclusive('\n').collect();
    let dropped = lines.iter().enumerate().filter(|(_, line)| DROPPED.iter().any(|name| line.starts_with(name)));
    let dropped = dropped.map(|(at, _)| case.with_dockerfile(&without(&lines, at..=end_of(&lines, at))));
    let through_shell = with_each_line(case, |_, line| {
        let (name, words) = line.split_once(' ')?;
        let words: Vec<String> = serde_json::from_str(words).ok()?;
        Some(format!("{name} {}\n", words.join(" ")))
    });
    dropped.chain(through_shell).collect()
}

/// The last line of the instruction that starts at `start`.
fn end_of(lines: &[&str], start: usize) -> usize {
    let continues = |line: &str| line.trim_end().ends_with(['\\', '`']);
    (start..lines.len()).find(|at| !continues(lines[*at])).unwrap_or(start)
}
