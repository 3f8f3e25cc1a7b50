//! The fence around the benches: everything that must hold before a bench is worth running, checked without running it.
//!
//! It answers all problems at once, each with its path. It reads and compares, and has tried whether a rubric loads; it scores
//! nothing, so it is fast enough for every commit.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::iter::successors;
use std::path::{Path, PathBuf};

use eval_evidence::files::Dir;
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName, Tier};
use eval_sandbox::LoadRubricError;

use super::attack::{AttackError, OWN_MUTATORS, Target, record};
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

/// Why the benches cannot be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FenceError {
    #[error(transparent)]
    Bench(#[from] LoadBenchError),
    /// Whether a rubric loads is not known, which is no gap of its bench.
    #[error("failed to try the rubric of `{task_class}`")]
    Rubric { task_class: TaskClassName, source: LoadRubricError },
}

impl Advice for FenceError {
    fn exit(&self) -> Exit {
        match self {
            Self::Bench(error) => error.exit(),
            Self::Rubric { source, .. } => source.exit(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Bench(error) => error.hint(),
            Self::Rubric { source, .. } => source.hint(),
        }
    }
}

/// Tries whether a component loads as a rubric.
pub(crate) type Tries<'a> = &'a dyn Fn(&[u8]) -> Result<(), LoadRubricError>;

/// Checks every bench below `root`.
pub(crate) fn fence(
    root: &Dir,
    git: &GitFacts,
    input_root: &InputRoot,
    tries: Tries<'_>,
) -> Result<(usize, Vec<Gap>), FenceError> {
    let task_classes = list_task_classes(root)?;
    let mut gaps = Vec::new();
    for task_class in &task_classes {
        let mut check = Check { path: root.path().join(task_class.as_str()), gaps: Vec::new() };
        let rubric = |source| FenceError::Rubric { task_class: task_class.clone(), source };
        check.bench(root, task_class, git, (input_root, tries)).map_err(rubric)?;
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

    fn bench(
        &mut self,
        root: &Dir,
        task_class: &TaskClassName,
        git: &GitFacts,
        (input_root, tries): (&InputRoot, Tries<'_>),
    ) -> Result<(), LoadRubricError> {
        if !root.child(task_class.as_str()).is_ok_and(|bench| bench.contains("README.md")) {
            self.gap(
                "README.md",
                "missing: say what the bench measures, the shape of its output and how to add a case",
            );
        }
        let bench = match load_folder(root, task_class) {
            Ok(bench) => bench,
            Err(error) => {
                self.gap("registration.toml", with_causes(&error));
                return Ok(());
            }
        };
        self.registration(&bench, git);
        self.cases(&bench, input_root);
        self.tracked(&bench, task_class, git);
        if let Some(rubric_digest) = self.rubric(&bench, tries)? {
            self.attack(&bench, rubric_digest, input_root);
        }
        Ok(())
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

    /// The digest of the rubric, if it is the one that its pin vouches for.
    fn rubric(&mut self, bench: &BenchFolder, tries: Tries<'_>) -> Result<Option<Digest>, LoadRubricError> {
        match load_rubric(&bench.folder) {
            Ok((component, digest)) => {
                match tries(&component) {
                    Err(error @ LoadRubricError::Compiler(_)) => return Err(error),
                    Err(error) => self.gap("rubric.wasm", with_causes(&error)),
                    Ok(()) => {}
                }
                Ok(Some(digest))
            }
            Err(error) => {
                self.gap("rubric.wasm", with_causes(&error));
                Ok(None)
            }
        }
    }

    /// Cases, cassettes and golden tests that cannot be read have been named already.
    fn attack(&mut self, bench: &BenchFolder, rubric_digest: Digest, input_root: &InputRoot) {
        match Target::of(bench, input_root) {
            Ok(target) => {
                if let Some(problem) = record::problem(&bench.folder, rubric_digest, &target) {
                    self.gap(record::FILE_NAME, problem);
                }
            }
            Err(AttackError::OwnMutators { error, .. }) => self.gap(OWN_MUTATORS, error.to_string()),
            Err(AttackError::File(error)) => self.gap(OWN_MUTATORS, error.problem.words()),
            Err(_) => {}
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
        let file_name = case.file.cassette_name();
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
            let Ok(paths) = bench.folder.child("cases").and_then(|cases| cases.tree_paths(name)) else { continue };
            for path in paths {
                let below = Path::new("cases").join(path);
                if !tracked.contains(&Path::new(task_class.as_str()).join(&below)) {
                    self.gap(below, "git does not track this file: add it");
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use eval_sandbox::inspect;

    use super::*;
    use crate::bench::attack::{Attack, Tally};
    use crate::bench::fixture::{Fixture, NO_COMPONENT};

    const CASSETTE: &str = "cases/001-greets/cassette.json";

    /// What the fence says of every fixture here: its rubric is no component.
    fn refusal() -> (String, String) {
        let refusal = tries(NO_COMPONENT).expect_err("it is none");
        ("rubric.wasm".to_owned(), refusal.to_string())
    }

    fn tries(component: &[u8]) -> Result<(), LoadRubricError> {
        inspect(component).refusal.map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// Records an attack on a fixture as it is now, if it can be attacked.
    fn record_attack(fixture: &Fixture, attack: &Attack, input_root: &InputRoot) {
        let folder = load_folder(&fixture.root(), &Fixture::task_class()).ok();
        if let Some(target) = folder.and_then(|folder| Target::of(&folder, input_root).ok()) {
            record::write(&fixture.path(""), attack, Digest::of(NO_COMPONENT), &target).expect("a record");
        }
    }

    /// What the fence says of a fixture whose rubric withstood an attack on it as it is now.
    fn gaps_with(fixture: &Fixture, git: &GitFacts, input_root: &InputRoot) -> Vec<(String, String)> {
        record_attack(fixture, &Attack::default(), input_root);
        all_gaps(fixture, git, input_root)
    }

    /// All that the fence says of a fixture: paths in the bench, and messages.
    fn all_gaps(fixture: &Fixture, git: &GitFacts, input_root: &InputRoot) -> Vec<(String, String)> {
        let (benches, gaps) = fence(&fixture.root(), git, input_root, &tries).expect("the root can be listed");
        assert_eq!(benches, 1);
        let told = |gap: Gap| {
            let path = gap.path.strip_prefix(fixture.path("")).expect("it is in the bench").to_owned();
            (path.to_str().expect("UTF-8").to_owned(), fixture.anywhere(&gap.message))
        };
        gaps.into_iter().map(told).collect()
    }

    fn gaps(fixture: &Fixture) -> Vec<(String, String)> {
        gaps_with(fixture, &GitFacts::default(), &InputRoot::default())
    }

    /// Asserts that the fence says exactly this of a fixture, besides that its rubric is no component.
    #[track_caller]
    fn only(found: &[(String, String)], path: &str, message: &str) {
        let mut expected = vec![(path.to_owned(), message.to_owned()), refusal()];
        expected.sort();
        assert_eq!(found, expected);
    }

    /// Breaks a fixture, and asserts that the fence names exactly that.
    #[track_caller]
    fn gap(break_it: impl FnOnce(&Fixture), path: &str, message: &str) {
        let fixture = Fixture::new();
        break_it(&fixture);
        only(&gaps(&fixture), path, message);
    }

    /// The same where the bench cannot be looked at any further, or where it is the rubric that is broken.
    #[track_caller]
    fn sole_gap(break_it: impl FnOnce(&Fixture), path: &str, message: &str) {
        let fixture = Fixture::new();
        break_it(&fixture);
        assert_eq!(gaps(&fixture), [(path.to_owned(), message.to_owned())]);
    }

    #[test]
    fn a_whole_bench_has_no_gap_but_the_component_that_is_none() {
        assert_eq!(gaps(&Fixture::new()), [refusal()]);
    }

    #[test]
    fn a_root_without_benches_has_no_gap() {
        let fixture = Fixture::new();
        fixture.remove("registration.toml");
        let found =
            fence(&fixture.root(), &GitFacts::default(), &InputRoot::default(), &tries).expect("it can be listed");
        assert_eq!(found, (0, Vec::new()), "a folder without a registration is no bench");
    }

    #[test]
    fn a_bench_says_what_it_measures() {
        let message = "missing: say what the bench measures, the shape of its output and how to add a case";
        gap(|fixture| fixture.remove("README.md"), "README.md", message);
    }

    #[test]
    fn a_registration_parses_and_has_the_folders_name() {
        sole_gap(
            |fixture| fixture.edit("registration.toml", "bronze = 3", "bronze = \"three\""),
            "registration.toml",
            "`ROOT/fixture/registration.toml`: line 7: `bronze`: invalid type: string \"three\", expected u64",
        );
        sole_gap(
            |fixture| fixture.edit("registration.toml", "\"fixture\"", "\"other\""),
            "registration.toml",
            "`ROOT/fixture/registration.toml` registers `other`, which must equal the folder's name",
        );
        sole_gap(
            |fixture| fixture.write("registration.toml", b"\xff"),
            "registration.toml",
            "`ROOT/fixture/registration.toml`: it is not UTF-8 text",
        );
    }

    #[test]
    fn two_benches_that_register_one_name_are_both_told() {
        let fixture = Fixture::new();
        fixture.write("../other/registration.toml", fixture.read("registration.toml"));
        fixture.write("../other/README.md", "");
        let found =
            fence(&fixture.root(), &GitFacts::default(), &InputRoot::default(), &tries).expect("it can be listed");
        let messages: Vec<_> = found.1.iter().map(|gap| fixture.anywhere(&gap.message)).collect();
        let double = "TaskClassAlreadyRegistered: `fixture` is registered by both `ROOT/fixture` and `ROOT/other`: rename one of them";
        let misnamed = "`ROOT/other/registration.toml` registers `fixture`, which must equal the folder's name";
        assert_eq!((found.0, &messages[..]), (2, &[double.to_owned(), misnamed.to_owned()][..]));
    }

    #[test]
    fn a_bench_has_cases_and_as_many_as_bronze_asks_for() {
        let message = "the bench has no cases: add one below `ROOT/fixture/cases`";
        sole_gap(|fixture| fixture.remove("cases"), "registration.toml", message);
        let message = "3 cases, and min_cases_for_promotion.bronze asks for 4";
        gap(|fixture| fixture.edit("registration.toml", "bronze = 3", "bronze = 4"), "cases", message);
        let message = "3 cases, and min_cases_for_promotion.bronze asks for 10";
        gap(|fixture| fixture.edit("registration.toml", "bronze = 3\n", ""), "cases", message);
    }

    #[test]
    fn a_new_registration_begins_at_bronze_and_an_old_one_is_where_it_is() {
        let fixture = Fixture::new();
        fixture.edit("registration.toml", "current_tier = \"bronze\"", "current_tier = \"silver\"");
        let since = |registered: &[TaskClassName]| GitFacts {
            tracked: None,
            registered_at_base: Some(registered.iter().cloned().collect()),
        };
        let message = "a new registration begins at bronze, and this one says silver";
        only(&gaps_with(&fixture, &since(&[]), &InputRoot::default()), "registration.toml", message);
        let known = since(&[Fixture::task_class()]);
        assert_eq!(gaps_with(&fixture, &known, &InputRoot::default()), [refusal()]);
        assert_eq!(gaps(&fixture), [refusal()], "without a base nothing is new");
    }

    #[test]
    fn a_rubric_is_there_and_is_what_its_pin_says() {
        let missing = "`ROOT/fixture/rubric.wasm`: not found";
        sole_gap(|fixture| fixture.remove("rubric.wasm"), "rubric.wasm", missing);
        let unpinned = "`ROOT/fixture/rubric.wasm.blake3`: not found";
        sole_gap(|fixture| fixture.remove("rubric.wasm.blake3"), "rubric.wasm", unpinned);
        let format = "`ROOT/fixture/rubric.wasm.blake3` is not b3sum's format: one line of 64 hexadecimal digits, two spaces and `rubric.wasm`";
        for pin in [String::new(), "0".repeat(64), format!("{} rubric.wasm\n", "0".repeat(64)), "x  rubric.wasm".into()]
        {
            sole_gap(|fixture| fixture.write("rubric.wasm.blake3", &pin), "rubric.wasm", format);
        }
        let mismatch = format!(
            "`ROOT/fixture/rubric.wasm` has BLAKE3 {}, but its pin says {}: rebuild it with `eval-host rubric build`, or restore the file that was reviewed",
            Digest::of(b"another"),
            Digest::of(NO_COMPONENT)
        );
        sole_gap(|fixture| fixture.write("rubric.wasm", "another"), "rubric.wasm", &mismatch);
    }

    /// What the fence says of the attack that a fixture has on record.
    fn attack_gap(fixture: &Fixture) -> Option<String> {
        let gaps = all_gaps(fixture, &GitFacts::default(), &InputRoot::default());
        gaps.into_iter().find(|(path, _)| path == record::FILE_NAME).map(|(_, message)| message)
    }

    #[test]
    fn a_rubric_has_withstood_an_attack_on_the_bench_as_it_is() {
        const HINT: &str = "; `eval-host rubric attack --write` attacks and records it";
        let fixture = Fixture::new();
        let says = |message: &str| assert_eq!(attack_gap(&fixture), Some(format!("{message}{HINT}")));
        says("missing: no attack on the rubric is recorded");
        record_attack(&fixture, &Attack::default(), &InputRoot::default());
        assert_eq!(attack_gap(&fixture), None);

        let stale = "stale: cases, answers, golden tests, block modes or mutators have changed since";
        for (path, from, to) in [
            ("registration.toml", "block = [", "block = [\"more\", "),
            ("cases/001-greets/expected/right.txt", "add", "ADD"),
            (CASSETTE, "Hello", "Hallo"),
            ("tests/001-greets/line-lost.json", "\n", " \n"),
        ] {
            let whole = fixture.read(path);
            fixture.edit(path, from, to);
            says(stale);
            fixture.write(path, whole);
            assert_eq!(attack_gap(&fixture), None);
        }
        fixture.write("mutators.toml", "");
        says(stale);
        fixture.remove("mutators.toml");

        fixture.edit(record::FILE_NAME, &Digest::of(NO_COMPONENT).to_string(), &Digest::of(b"another").to_string());
        says("stale: the attack was on another rubric");
        fixture.edit(record::FILE_NAME, "\"mutators_version\": ", "\"mutators_version\": 9");
        says("recorded by another version of eval-host, which attacks otherwise");
        fixture.edit(record::FILE_NAME, "\"mutators\"", "\"more\"");
        let message = attack_gap(&fixture).expect("it is no record");
        assert!(message.starts_with("not the record of an attack: unknown field `more`"), "{message}");
    }

    #[test]
    fn no_survivor_and_no_fault_is_left_open() {
        for tally in [Tally { survivors: 1, ..Tally::default() }, Tally { faulted: 1, ..Tally::default() }] {
            let mut attack = Attack::default();
            attack.mutators.insert("drop-hunk".to_owned(), tally);
            let fixture = Fixture::new();
            record_attack(&fixture, &attack, &InputRoot::default());
            let message = attack_gap(&fixture).expect("a gap");
            let counts = format!(
                "survivors that nobody accepted: {}; mutants on which the rubric fails: {}: mend the rubric",
                tally.survivors, tally.faulted
            );
            assert!(message.starts_with(&counts), "{message}");
        }
    }

    #[test]
    fn a_benchs_own_mutators_are_well_formed() {
        let fixture = Fixture::new();
        fixture.write("mutators.toml", "[[mutator]]\nname = \"x\"\n");
        only(&gaps(&fixture), "mutators.toml", "line 1: `mutator`: missing field `path`");
    }

    #[test]
    fn every_case_loads() {
        gap(|fixture| fixture.remove("cases/001-greets/case.toml"), "cases/001-greets/case.toml", "not found");
        gap(|fixture| fixture.remove("cases/001-greets/input"), "cases/001-greets/input", "not found");
        gap(|fixture| fixture.remove("cases/001-greets/expected"), "cases/001-greets/expected", "not found");
        gap(
            |fixture| fixture.edit("cases/001-greets/case.toml", "\"001-greets\"", "\"009-other\""),
            "cases/001-greets/case_id",
            "case.toml: line 1: `case_id`: `009-other` must equal the folder's name, `001-greets`",
        );
        gap(
            |fixture| symlink("/etc/passwd", fixture.path("cases/001-greets/input/link")).expect("a link"),
            "cases/001-greets/input/link",
            "it is a symbolic link, not a file",
        );
    }

    #[test]
    fn every_case_has_a_right_answer_and_two_wrong_ones() {
        let message =
            |right, wrong| format!("{right} right and {wrong} wrong answers as golden tests; every case needs 1 and 2");
        gap(|fixture| fixture.remove("tests/001-greets"), "tests/001-greets", &message(0, 0));
        gap(|fixture| fixture.remove("tests/001-greets/right.json"), "tests/001-greets", &message(0, 2));
        gap(|fixture| fixture.remove("tests/001-greets/declined.json"), "tests/001-greets", &message(1, 1));
        let enough = Fixture::new();
        enough.write("tests/001-greets/declined.json", r#"{"output":{},"expect":{"fault":"output_malformed"}}"#);
        assert_eq!(gaps(&enough), [refusal()], "what cannot be read is a wrong answer too");
    }

    #[test]
    fn golden_tests_are_well_formed_and_belong_to_a_case() {
        gap(
            |fixture| fixture.write("tests/001-greets/zz.json", "[]"),
            "tests/001-greets",
            "`tests/001-greets/zz.json` is not a golden test: invalid type: sequence, expected a JSON object at line 1 column 0",
        );
        gap(
            |fixture| {
                fixture.remove("tests/001-greets");
                fixture.write("tests/001-greets", "");
            },
            "tests/001-greets",
            "`ROOT/fixture/tests/001-greets`: it is a file, not a directory",
        );
        let orphan = "golden tests of a case that the bench does not have";
        gap(|fixture| fixture.write("tests/004-gone/right.json", "{}"), "tests/004-gone", orphan);
    }

    #[test]
    fn a_file_in_place_of_all_golden_tests_is_told_for_every_case_and_once() {
        let fixture = Fixture::new();
        fixture.remove("tests");
        fixture.write("tests", "");
        let problem = "it is a file, not a directory";
        let mut expected = vec![refusal(), ("tests".to_owned(), problem.to_owned())];
        for case in ["001-greets", "002-leaves-alone", "003-either-way"] {
            expected.push((format!("tests/{case}"), format!("`ROOT/fixture/tests`: {problem}")));
        }
        assert_eq!(gaps(&fixture), expected);
    }

    #[test]
    fn every_case_has_a_cassette_that_is_one() {
        gap(|fixture| fixture.remove(CASSETTE), CASSETTE, "missing: every case has a default cassette");
        gap(
            |fixture| fixture.edit(CASSETTE, "\"schema_version\": 1", "\"schema_version\": 2"),
            CASSETTE,
            "`cassette.json` is not a cassette: schema_version is 2, this eval-host reads 1",
        );
        gap(
            |fixture| {
                fixture.edit("cases/001-greets/case.toml", "\"cassette.json\"", "\"mine.json\"");
                fixture.write("cases/001-greets/mine.json", fixture.read("cases/002-leaves-alone/cassette.json"));
            },
            "cases/001-greets/mine.json",
            "made for another case, `002-leaves-alone`",
        );
    }

    #[test]
    fn no_cassette_is_stale_or_other_than_its_pin() {
        let fixture = Fixture::new();
        fixture.write("cases/001-greets/input/new.txt", "new");
        let folder = load_folder(&fixture.root(), &Fixture::task_class()).expect("a bench");
        let digest = folder.read_case("001-greets", &InputRoot::default()).expect("a case").read.input_digest;
        let message = format!("stale: made for other input; this input's digest is {digest}");
        only(&gaps(&fixture), CASSETTE, &message);

        let digest = Digest::of(Fixture::new().read(CASSETTE).as_bytes());
        let pinned = |pin: &str| {
            let fixture = Fixture::new();
            let text = fixture.read("cases/001-greets/case.toml");
            fixture.write("cases/001-greets/case.toml", format!("{text}cassette_blake3 = \"{pin}\"\n"));
            gaps(&fixture)
        };
        assert_eq!(pinned(&digest.to_string()), [refusal()]);
        let message = format!("its BLAKE3 is {digest}, which is not what cassette_blake3 says");
        only(&pinned(&"0".repeat(64)), CASSETTE, &message);
    }

    #[test]
    fn a_cassette_can_be_wrong_in_two_ways_at_once() {
        let fixture = Fixture::new();
        let text = fixture.read("cases/001-greets/case.toml");
        fixture.write("cases/001-greets/case.toml", format!("{text}cassette_blake3 = \"{}\"\n", "0".repeat(64)));
        let other = fixture.read("cases/002-leaves-alone/cassette.json");
        fixture.write(CASSETTE, &other);
        let digest = Digest::of(other.as_bytes());
        let told = |message: &str| (CASSETTE.to_owned(), message.to_owned());
        let expected = [
            told(&format!("its BLAKE3 is {digest}, which is not what cassette_blake3 says")),
            told("made for another case, `002-leaves-alone`"),
            refusal(),
        ];
        assert_eq!(gaps(&fixture), expected);
    }

    #[test]
    fn every_file_of_a_case_is_tracked_where_git_can_say_so() {
        let fixture = Fixture::new();
        let mut tracked = BTreeSet::new();
        for name in ["001-greets", "002-leaves-alone", "003-either-way"] {
            for file in ["case.toml", "cassette.json", "input/note.txt", "expected/right.txt"] {
                tracked.insert(Path::new("fixture/cases").join(name).join(file));
            }
        }
        let git = |tracked| GitFacts { tracked: Some(tracked), registered_at_base: None };
        assert_eq!(gaps_with(&fixture, &git(tracked.clone()), &InputRoot::default()), [refusal()]);
        tracked.remove(Path::new("fixture/cases/002-leaves-alone/expected/right.txt"));
        let path = "cases/002-leaves-alone/expected/right.txt";
        let message = "git does not track this file: add it";
        only(&gaps_with(&fixture, &git(tracked), &InputRoot::default()), path, message);
    }

    #[test]
    fn an_input_that_lies_elsewhere_is_looked_for_there() {
        let fixture = Fixture::new();
        let cassette: serde_json::Value = serde_json::from_str(&fixture.read(CASSETTE)).expect("JSON");
        let digest = cassette["input_digest"].as_str().expect("a digest");
        fs::create_dir_all(fixture.path("inputs")).expect("a folder");
        fs::rename(fixture.path("cases/001-greets/input"), fixture.path("inputs/note")).expect("moved");
        let pointer = format!("path = \"note\"\nblake3 = \"{digest}\"\n");
        fixture.write("cases/001-greets/input-pointer.toml", pointer);
        let input_root = InputRoot(Some(fixture.open("inputs")));
        assert_eq!(gaps_with(&fixture, &GitFacts::default(), &input_root), [refusal()]);
        let message = "the input lies elsewhere: give its folder with --input-root, and put it at `note` there";
        only(&gaps(&fixture), "cases/001-greets/input-pointer.toml", message);
    }

    #[test]
    fn all_gaps_are_answered_at_once_and_sorted() {
        let fixture = Fixture::new();
        for below in ["README.md", "rubric.wasm", CASSETTE, "tests/003-either-way", "cases/002-leaves-alone/expected"] {
            fixture.remove(below);
        }
        fixture.edit("registration.toml", "bronze = 3", "bronze = 9");
        let paths: Vec<_> = gaps(&fixture).into_iter().map(|(path, _)| path).collect();
        let expected = [
            "README.md",
            "cases",
            "cases/001-greets/cassette.json",
            "cases/002-leaves-alone/expected",
            "rubric.wasm",
            "tests/003-either-way",
        ];
        assert_eq!(paths, expected);
    }
}
