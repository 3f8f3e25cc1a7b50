//! The case: what the agent was given, and what the curator accepts.

use std::collections::BTreeSet;
use std::rc::Rc;

use eval_diff::Applied;
use eval_rubric::{BenchCase, CaseFiles, Disposition, RubricError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::advisory::{Advisory, Use};
use crate::output::DeclineReason;
use crate::patch;
use crate::project::{self, Package, Project};
use crate::registry::Registry;
use crate::tree::{self, Tree};
use crate::version::Ecosystem;

/// The files that an answer must not touch: they say what the task is.
pub const EVIDENCE: [&str; 3] = ["advisories.json", "registry.json", "task.json"];

/// A case, read and checked.
#[derive(Debug)]
pub struct Case {
    pub input: Tree,
    pub task: Task,
    pub advisories: Vec<Advisory>,
    pub registry: Registry,
    pub before: Project,
    pub accepts: Accepts,
}

/// `input/task.json`: what is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub ecosystem: Ecosystem,
    /// Ids of the advisories to remediate.
    pub advisories: Vec<String>,
    /// The platforms that the project is built for; empty is all.
    #[serde(default)]
    pub targets: Vec<String>,
    #[serde(default)]
    pub policy: Policy,
}

/// What the team that asks allows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Whether a pre-release may be used where the project is not on one already.
    pub pre_releases: bool,
    /// How far a version may move, unless a reference says otherwise.
    pub versions: Bump,
    /// For the agent, in words.
    pub notes: String,
}

/// What the curator accepts as an answer.
#[derive(Debug)]
pub struct Accepts {
    pub decline_reasons: Vec<DeclineReason>,
    /// Empty if every patch is wrong.
    pub references: Vec<Reference>,
}

/// A right patch, against which others are measured.
#[derive(Debug)]
pub struct Reference {
    pub applied: Applied,
    pub project: Project,
    pub delta: Delta,
    pub rules: ReferenceRules,
}

/// `expected/cve-delta.json`: which advisories concern the project before and after.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    pub removed: BTreeSet<String>,
    pub remaining: BTreeSet<String>,
    #[serde(default)]
    pub introduced: BTreeSet<String>,
}

/// `expected/verdict.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVerdict {
    accepts: Vec<Action>,
    #[serde(default)]
    decline_reasons: Vec<DeclineReason>,
    #[serde(default, rename = "reference")]
    references: Vec<ReferenceRules>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Patch,
    Decline,
}

/// How answers are measured against a reference.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReferenceRules {
    /// The diff, in `expected/`.
    diff: String,
    /// Its effect on the advisories, in `expected/`.
    delta: String,
    /// Where it is not what the task's policy says.
    bump: Option<Bump>,
    /// Files outside the dependency files and the reference's own that may change too.
    pub may_touch: Vec<String>,
    pub code: Vec<CodeRule>,
}

/// How far a version may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bump {
    /// No further than the reference moves it.
    #[default]
    Lowest,
    /// Anywhere in the line of compatible versions that the reference moves it to.
    Line,
}

/// What a file must and must not say after the patch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeRule {
    pub path: String,
    #[serde(default)]
    pub must_contain: Vec<String>,
    #[serde(default)]
    pub must_not_contain: Vec<String>,
}

impl Default for ReferenceRules {
    fn default() -> Self {
        Self {
            diff: "fix.diff".to_owned(),
            delta: "cve-delta.json".to_owned(),
            bump: None,
            may_touch: Vec::new(),
            code: Vec::new(),
        }
    }
}

impl Case {
    /// Reads a case from its files.
    ///
    /// # Errors
    ///
    /// [`RubricError::MalformedCase`] with the file and what is wrong with it.
    pub fn read(bench_case: &BenchCase, files: &CaseFiles) -> Result<Self, RubricError> {
        let input = tree::read(files, "input")?;
        let task: Task = json(files, "input/task.json")?;
        let advisories: Vec<Advisory> = json(files, "input/advisories.json")?;
        let registry: Registry = json(files, "input/registry.json")?;
        check_given(&task, &advisories, &registry)?;
        let before =
            project::read(task.ecosystem, &input, &registry, None).map_err(|error| malformed("input", &error))?;
        let raw: RawVerdict = toml::from_str(&files.read_text("expected/verdict.toml")?)
            .map_err(|error| malformed("expected/verdict.toml", &error.message()))?;
        check_disposition(bench_case.disposition, &raw)?;
        let mut case = Self {
            accepts: Accepts { decline_reasons: raw.decline_reasons, references: Vec::new() },
            input,
            task,
            advisories,
            registry,
            before,
        };
        if raw.accepts.contains(&Action::Patch) {
            let rules = if raw.references.is_empty() { vec![ReferenceRules::default()] } else { raw.references };
            let references = rules.into_iter().map(|rules| Reference::read(rules, files, &case));
            case.accepts.references = references.collect::<Result<_, _>>()?;
        }
        Ok(case)
    }

    /// The ids of the advisories that concern a project, withdrawn ones aside.
    pub fn concerning(&self, project: &Project) -> BTreeSet<String> {
        let concerns = |advisory: &&Advisory| self.concerned(advisory, project).next().is_some();
        self.advisories.iter().filter(concerns).map(|advisory| advisory.id.clone()).collect()
    }

    /// The packages of a project that an advisory concerns.
    fn concerned<'a>(&'a self, advisory: &'a Advisory, project: &'a Project) -> impl Iterator<Item = &'a Package> {
        let names: Vec<String> = advisory.affected.iter().map(|affected| affected.package.canonical_name()).collect();
        let named = project.packages.iter().map(Rc::as_ref).filter(move |package| names.contains(&package.name));
        named.filter(|package| {
            advisory.concerns(&Use {
                ecosystem: self.task.ecosystem,
                name: &package.name,
                version: &package.version,
                features: &package.features,
                targets: &self.task.targets,
            })
        })
    }

    /// Which packages of a project an advisory concerns, as the end of a sentence.
    pub fn because_of(&self, id: &str, project: &Project) -> String {
        let advisory = self.advisories.iter().filter(|advisory| advisory.id == id);
        let packages = advisory.flat_map(|advisory| self.concerned(advisory, project));
        let named: BTreeSet<String> = packages.map(|package| format!("{} {}", package.name, package.version)).collect();
        if named.is_empty() { String::new() } else { format!(": {}", named.into_iter().collect::<Vec<_>>().join(", ")) }
    }

    /// The advisories that the task asks about.
    pub fn asked(&self) -> impl Iterator<Item = &Advisory> {
        self.advisories.iter().filter(|advisory| self.task.advisories.contains(&advisory.id))
    }

    /// The effect of going from the input to another project.
    pub fn delta(&self, after: &Project) -> Delta {
        let (was, is) = (self.concerning(&self.before), self.concerning(after));
        Delta {
            removed: was.difference(&is).cloned().collect(),
            remaining: was.intersection(&is).cloned().collect(),
            introduced: is.difference(&was).cloned().collect(),
        }
    }
}

impl Reference {
    /// How far a version may move.
    pub fn bump(&self, task: &Task) -> Bump {
        self.rules.bump.unwrap_or(task.policy.versions)
    }

    fn read(rules: ReferenceRules, files: &CaseFiles, case: &Case) -> Result<Self, RubricError> {
        let path = format!("expected/{}", rules.diff);
        let applied = patch::apply(&case.input, &files.read_text(&path)?).map_err(|error| malformed(&path, &error))?;
        let project = project::read(case.task.ecosystem, &applied.tree, &case.registry, Some(&case.before))
            .map_err(|error| malformed(&path, &error))?;
        let delta_path = format!("expected/{}", rules.delta);
        let delta: Delta = json(files, &delta_path)?;
        let found = case.delta(&project);
        if found != delta {
            let what = format!("`{path}` gives {found:?}: the delta is wrong, or the rubric misreads the project");
            return Err(malformed(&delta_path, &what));
        }
        if let Some(problem) = project.problems.iter().find(|problem| !case.before.problems.contains(problem)) {
            return Err(malformed(&path, &format!("the project does not hold together after it: {problem}")));
        }
        Ok(Self { applied, project, delta, rules })
    }
}

fn check_given(task: &Task, advisories: &[Advisory], registry: &Registry) -> Result<(), RubricError> {
    if registry.ecosystem != task.ecosystem {
        return Err(malformed("input/registry.json", &"its ecosystem is not the task's"));
    }
    if let Some(text) = registry.unreadable_version() {
        return Err(malformed("input/registry.json", &format!("`{text}` is no version")));
    }
    if let Some(text) = advisories.iter().find_map(Advisory::unreadable_version) {
        return Err(malformed("input/advisories.json", &format!("`{text}` is no version")));
    }
    let known = |id: &String| advisories.iter().any(|advisory| advisory.id == *id);
    match task.advisories.iter().find(|id| !known(id)) {
        Some(id) => Err(malformed("input/task.json", &format!("`{id}` is not in advisories.json"))),
        None if task.advisories.is_empty() => Err(malformed("input/task.json", &"it asks about no advisory")),
        None => Ok(()),
    }
}

/// What is accepted agrees with what case.toml says about the case.
fn check_disposition(disposition: Disposition, raw: &RawVerdict) -> Result<(), RubricError> {
    let (patch, decline) = (raw.accepts.contains(&Action::Patch), raw.accepts.contains(&Action::Decline));
    let agrees = match disposition {
        Disposition::Positive => patch && !decline,
        Disposition::Negative => decline && !patch,
        Disposition::Ambiguous => patch || decline,
    };
    let reasons_fit = decline != raw.decline_reasons.is_empty();
    let references_fit = patch || raw.references.is_empty();
    if agrees && reasons_fit && references_fit {
        return Ok(());
    }
    let what = "what it accepts does not fit the case's disposition, or its reasons and references do not fit that";
    Err(malformed("expected/verdict.toml", &what))
}

fn json<T: DeserializeOwned>(files: &CaseFiles, path: &str) -> Result<T, RubricError> {
    serde_json::from_str(&files.read_text(path)?).map_err(|error| malformed(path, &error))
}

fn malformed(path: &str, what: &dyn std::fmt::Display) -> RubricError {
    RubricError::MalformedCase(format!("`{path}`: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn refusal(fixture: Fixture) -> String {
        match fixture.read() {
            Err(RubricError::MalformedCase(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_case_has_one_reference_unless_it_says_otherwise() {
        let case = Fixture::positive().read().unwrap();
        assert_eq!(case.accepts.references.len(), 1);
        assert_eq!(case.accepts.references[0].bump(&case.task), Bump::Lowest);
        assert_eq!(case.concerning(&case.before), ["A-1".to_owned()].into());
        assert_eq!(case.delta(&case.accepts.references[0].project), case.accepts.references[0].delta);
    }

    #[test]
    fn what_is_accepted_must_fit_the_disposition() {
        let verdict = "expected/verdict.toml";
        let declines = "accepts = [\"decline\"]\ndecline_reasons = [\"withdrawn\"]\n";
        assert!(Fixture::positive().with(verdict, declines).disposed(Disposition::Negative).read().is_ok());
        assert!(refusal(Fixture::positive().with(verdict, declines)).contains("disposition"));
        assert!(refusal(Fixture::positive().disposed(Disposition::Negative)).contains("disposition"));
        let without_reason = Fixture::positive().with(verdict, "accepts = [\"decline\"]\n");
        assert!(refusal(without_reason.disposed(Disposition::Negative)).contains("reasons"));
    }

    #[test]
    fn a_file_that_is_wrong_is_named() {
        for (path, text) in [
            ("input/task.json", r#"{"ecosystem":"PyPI","advisories":["A-2"]}"#),
            ("input/task.json", r#"{"ecosystem":"npm","advisories":["A-1"]}"#),
            ("input/task.json", r#"{"ecosystem":"PyPI","advisories":[]}"#),
            (
                "input/advisories.json",
                r#"[{"id":"A-1","affected":[{"package":{"ecosystem":"PyPI","name":"lib"},"versions":["x y"]}]}]"#,
            ),
            ("input/registry.json", r#"{"ecosystem":"PyPI","taken_at":"","packages":{"lib":{"x y":{}}}}"#),
            ("expected/fix.diff", "--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n"),
            ("expected/verdict.toml", "accepts = [\"shrug\"]\n"),
            ("expected/cve-delta.json", "{}"),
        ] {
            let what = refusal(Fixture::positive().with(path, text));
            assert!(what.contains(path) || what.contains("input/registry.json"), "{path}: {what}");
        }
    }

    #[test]
    fn a_reference_that_does_not_do_what_its_delta_says_is_a_fault_of_the_case() {
        let misread = Fixture::positive().with("expected/cve-delta.json", r#"{"removed":[],"remaining":["A-1"]}"#);
        assert!(refusal(misread).contains("the delta is wrong, or the rubric misreads the project"));
        let broken = "--- a/requirements.txt\n+++ b/requirements.txt\n@@ -1 +1,2 @@\n-lib==1.1\n+lib==1.2\n+lib==1.3\n";
        assert!(refusal(Fixture::positive().with("expected/fix.diff", broken)).contains("two versions"));
    }

    #[test]
    fn a_format_that_is_not_supported_is_named() {
        for (path, format) in [("poetry.lock", "Poetry"), ("Pipfile.lock", "Pipenv"), ("sub/pdm.lock", "PDM")] {
            let what = refusal(Fixture::positive().with(&format!("input/{path}"), ""));
            assert!(what.contains(format) && what.contains(path), "{what}");
        }
    }

    /// Why a project of an ecosystem cannot be read.
    fn unreadable(ecosystem: &str, files: &[(&str, &str)]) -> String {
        let registry = format!(r#"{{"ecosystem":"{ecosystem}","taken_at":"","packages":{{}}}}"#);
        let registry: Registry = serde_json::from_str(&registry).unwrap();
        let tree: Tree = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        project::read(registry.ecosystem, &tree, &registry, None).unwrap_err().to_string()
    }

    #[test]
    fn a_project_of_a_kind_that_is_not_supported_says_of_which_kind_it_is() {
        let lock_v1 = [("package.json", "{}"), ("package-lock.json", r#"{"lockfileVersion":1,"dependencies":{}}"#)];
        let modules = "<project><modules><module>a</module></modules></project>";
        let says = |ecosystem, files: &[(&str, &str)], kind| {
            let said = unreadable(ecosystem, files);
            assert!(said.contains(kind), "{said}");
        };
        says("npm", &lock_v1, "npm lock files of version 1");
        says("npm", &[("yarn.lock", "")], "yarn");
        says("npm", &[("pnpm-lock.yaml", "")], "pnpm");
        says("crates.io", &[("Cargo.toml", "[workspace]\nmembers = []\n")], "virtual Cargo workspace");
        says("Maven", &[("build.gradle.kts", "")], "Gradle build");
        says("Maven", &[("gradle/libs.versions.toml", "")], "version catalog");
        says("Maven", &[("pom.xml", modules)], "several modules");
    }
}
