//! The fence around the benches: everything that must hold before a bench is worth running, checked without running it.
//!
//! It answers all problems at once, each with its path. It reads and compares; it neither compiles a rubric nor scores, so it
//! is fast enough for every commit.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::iter::successors;
use std::path::{Path, PathBuf};

use eval_evidence::files::Dir;
use eval_model::ids::{Digest, TaskClassName, Tier};
use eval_sandbox::inspect;

use super::golden::{golden_tests, orphaned_tests};
use super::{BenchFolder, InputRoot, LoadBenchError, LoadedCase, list_task_classes, load_folder, load_rubric};
use crate::answers::{CassetteError, read_cassette};

/// Golden tests that a case needs: the right answer, and wrong ones of different kinds.
const RIGHT_ANSWERS: usize = 1;
const WRONG_ANSWERS: usize = 2;

/// Something that is missing or wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gap {
    pub(crate) path: PathBuf,
    pub(crate) message: String,
}

/// What only git can say.
#[derive(Debug, Default)]
pub(crate) struct GitFacts {
    /// Every file below the bench root that git tracks, relative to it; `None` outside of a repository.
    pub(crate) tracked: Option<BTreeSet<PathBuf>>,
    /// The task classes that were registered at the base commit, if one was given.
    pub(crate) registered_at_base: Option<BTreeSet<TaskClassName>>,
}

/// Checks every bench below `root`.
pub(crate) fn fence(root: &Dir, git: &GitFacts, input_root: &InputRoot) -> Result<(usize, Vec<Gap>), LoadBenchError> {
    let task_classes = list_task_classes(root)?;
    let mut gaps = Vec::new();
    for task_class in &task_classes {
        let mut check = Check { path: root.path().join(task_class.as_str()), gaps: Vec::new() };
        check.bench(root, task_class, git, input_root);
        gaps.append(&mut check.gaps);
    }
    gaps.sort();
    Ok((task_classes.len(), gaps))
}

/// One bench while it is being checked.
struct Check {
    path: PathBuf,
    gaps: Vec<Gap>,
}

impl Check {
    fn gap(&mut self, below: impl AsRef<Path>, message: impl Into<String>) {
        self.gaps.push(Gap { path: self.path.join(below), message: message.into() });
    }

    fn bench(&mut self, root: &Dir, task_class: &TaskClassName, git: &GitFacts, input_root: &InputRoot) {
        if !root.child(task_class.as_str()).is_ok_and(|bench| bench.contains("README.md")) {
            self.gap(
                "README.md",
                "missing: say what the bench measures, the shape of its output and how to add a case",
            );
        }
        let bench = match load_folder(root, task_class) {
            Ok(bench) => bench,
            Err(error) => return self.gap("registration.toml", with_causes(&error)),
        };
        self.registration(&bench, git);
        self.rubric(&bench);
        self.cases(&bench, input_root);
        self.tracked(&bench, task_class, git);
    }

    fn registration(&mut self, bench: &BenchFolder, git: &GitFacts) {
        let registration = &bench.registration;
        let is_new = git.registered_at_base.as_ref().is_some_and(|base| !base.contains(&registration.task_class));
        if is_new && registration.current_tier != Tier::Bronze {
            let message =
                format!("a new registration begins at bronze, and this one says {}", registration.current_tier);
            self.gap("registration.toml", message);
        }
        let (cases, needed) =
            (bench.case_names().len() as u64, registration.standards.min_cases_for_promotion[&Tier::Bronze]);
        if cases < needed {
            self.gap("cases", format!("{cases} cases, and min_cases_for_promotion.bronze asks for {needed}"));
        }
    }

    fn rubric(&mut self, bench: &BenchFolder) {
        match load_rubric(&bench.folder) {
            Ok((component, _)) => {
                if let Some(refusal) = inspect(&component).refusal {
                    self.gap("rubric.wasm", refusal.to_string());
                }
            }
            Err(error) => self.gap("rubric.wasm", with_causes(&error)),
        }
    }

    fn cases(&mut self, bench: &BenchFolder, input_root: &InputRoot) {
        let mut inputs = BTreeMap::new();
        let mut loaded = Vec::new();
        for name in bench.case_names() {
            match bench.read_case(name, input_root) {
                Ok(case) => {
                    inputs.insert(case.read.input_digest, name.clone());
                    loaded.push(case);
                }
                Err(entry) => self.gap(Path::new("cases").join(name).join(&entry.field), entry.message),
            }
            self.golden(bench, name);
        }
        for case in &loaded {
            self.cassette(case, &inputs);
        }
        match orphaned_tests(&bench.folder, bench.case_names()) {
            Ok(orphans) => orphans.iter().for_each(|name| {
                self.gap(Path::new("tests").join(name), "golden tests of a case that the bench does not have");
            }),
            Err(error) => self.gap("tests", error.problem.words()),
        }
    }

    fn golden(&mut self, bench: &BenchFolder, name: &str) {
        let path = Path::new("tests").join(name);
        let tests = match golden_tests(&bench.folder, name) {
            Ok(tests) => tests,
            Err(error) => return self.gap(path, with_causes(&error)),
        };
        let right = tests.iter().filter(|test| test.expected.passes()).count();
        let wrong = tests.len() - right;
        if right < RIGHT_ANSWERS || wrong < WRONG_ANSWERS {
            let message = format!(
                "{right} right and {wrong} wrong answers as golden tests; every case needs {RIGHT_ANSWERS} and {WRONG_ANSWERS}"
            );
            self.gap(path, message);
        }
    }

    fn cassette(&mut self, case: &LoadedCase, inputs: &BTreeMap<Digest, String>) {
        let (pin, read) = (case.file.cassette.as_ref(), &case.read);
        let file_name = pin.map_or("cassette.json", |pin| pin.file_name.as_str());
        let path = Path::new("cases").join(read.case.case_id.as_str()).join(file_name);
        let cassette = match read_cassette(&case.folder, file_name) {
            Ok(cassette) => cassette,
            Err(CassetteError::File(error)) if error.is_missing() => {
                return self.gap(path, "missing: every case has a default cassette");
            }
            Err(error) => return self.gap(path, with_causes(&error)),
        };
        if pin.and_then(|pin| pin.blake3).is_some_and(|pinned| pinned != cassette.digest) {
            self.gap(&path, format!("its BLAKE3 is {}, which is not what cassette_blake3 says", cassette.digest));
        }
        if cassette.input_digest == read.input_digest {
            return;
        }
        match inputs.get(&cassette.input_digest) {
            Some(other) => self.gap(path, format!("made for another case, `{other}`")),
            None => {
                self.gap(path, format!("stale: made for other input; this input's digest is {}", read.input_digest))
            }
        }
    }

    /// A file that git does not track is there for whoever wrote it, and for nobody else.
    fn tracked(&mut self, bench: &BenchFolder, task_class: &TaskClassName, git: &GitFacts) {
        let Some(tracked) = &git.tracked else { return };
        for name in bench.case_names() {
            let Ok(files) = bench.folder.child("cases").and_then(|cases| cases.read_tree(name)) else { continue };
            for path in files.keys() {
                let below = Path::new("cases").join(path.as_ref());
                if !tracked.contains(&Path::new(task_class.as_str()).join(&below)) {
                    self.gap(below, "not tracked by git: add it, or nobody else has it");
                }
            }
        }
    }
}

/// An error on one line, with all that led to it.
fn with_causes(error: &dyn Error) -> String {
    let causes = successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
