//! Two implementations of one document: `docs/verifier/verify.py`, which was written from `docs/record-format.md`, must find what
//! this program finds, in whatever became of a store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::forgeries;
use super::histories::Scene;
use super::{PATIENCE, State, user};
use crate::store::StoreReader;
use crate::verify::{Checks, FirstUse, verify_store};

/// How many random histories there are, unless `EVAL_HOST_HISTORIES` says another number.
const HISTORIES: u64 = 1_000;

/// Where their seeds begin, unless `EVAL_HOST_SEED` says where.
const SEED: u64 = 0x5eed;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// The interpreter that finds PyPI's `blake3`.
fn python() -> PathBuf {
    let this = std::env::current_exe().expect("this test's binary");
    let target = this.ancestors().nth(3).expect("a target folder");
    let script = project().join("tests/python-with-blake3.sh");
    let output = Command::new("bash").arg(script).arg(target.join("tmp/blake3")).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end())
}

/// What the other implementation says: the state of each path, and the whole line.
fn theirs(arguments: &[&str], paths: &[PathBuf]) -> BTreeMap<PathBuf, (String, String)> {
    let verifier = project().join("docs/verifier/verify.py");
    let output =
        Command::new(python()).arg("-B").arg(verifier).arg("--json").args(arguments).arg("--").args(paths).output();
    let output = output.expect("the verifier runs");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "it complains of nothing");
    let line = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
        let text = |key: &str| value[key].as_str().expect("a text").to_owned();
        (PathBuf::from(text("path")), (text("state"), line.to_owned()))
    };
    let said: BTreeMap<_, _> = stdout.lines().map(line).collect();
    assert_eq!(said.len(), paths.len(), "a line for each");
    said
}

/// What this program says of a store by itself, without a memory of it.
fn ours(path: &Path) -> (State, Vec<String>) {
    let store = match StoreReader::open(path, PATIENCE) {
        Ok(store) => store,
        Err(error) => return (error.state(), vec![error.to_string()]),
    };
    let checks = Checks { last_seen: None, first_use: FirstUse::Trust, user: user() };
    let verification = verify_store(&store, checks, &mut |_, _| {}).expect("it can be read");
    (verification.state(), verification.findings.iter().map(ToString::to_string).collect())
}

/// Every scene of which the two say something else, in words.
fn disagreements(scenes: &[(String, Scene)]) -> Vec<String> {
    let paths: Vec<_> = scenes.iter().map(|(_, scene)| scene.path.clone()).collect();
    let theirs = theirs(&[], &paths);
    let disagreement = |(name, scene): &(String, Scene)| {
        let ((state, findings), (their_state, line)) = (ours(&scene.path), &theirs[&scene.path]);
        (state.as_str() != their_state)
            .then(|| format!("{name}: {}\n  ours: {state}: {findings:#?}\n  theirs: {line}", scene.story.join("; ")))
    };
    scenes.iter().filter_map(disagreement).collect()
}

#[test]
fn two_implementations_agree_on_random_histories() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let forgeries = forgeries::all();
    let (seed, count) = (from_environment("EVAL_HOST_SEED", SEED), from_environment("EVAL_HOST_HISTORIES", HISTORIES));
    let scene = |number: u64| {
        let seed = seed.wrapping_add(number);
        (
            format!("EVAL_HOST_SEED={seed} EVAL_HOST_HISTORIES=1"),
            Scene::random(temp.path().join(seed.to_string()), seed, &forgeries),
        )
    };
    let scenes: Vec<_> = (0..count).map(scene).collect();
    let disagreements = disagreements(&scenes);
    assert!(disagreements.is_empty(), "{} of {count}:\n{}", disagreements.len(), disagreements.join("\n"));
    if count == HISTORIES {
        let states: BTreeMap<_, _> = scenes.iter().map(|(_, scene)| (ours(&scene.path).0, ())).collect();
        assert_eq!(states.len(), 4, "every state occurs: {states:?}");
    }
}

#[test]
fn two_implementations_find_every_kind_of_forgery() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let honest = ("an honest store".to_owned(), Scene::rich(temp.path().join("honest")));
    assert_eq!(ours(&honest.1.path), (State::Ok, Vec::new()));
    let forged = |(number, forgery): (usize, forgeries::Forgery)| {
        let scene = Scene::rich(temp.path().join(number.to_string()));
        assert!(forgery.apply(&scene), "{}: there is something to forge", forgery.name);
        (forgery.name.to_owned(), scene)
    };
    let mut scenes: Vec<_> = forgeries::all().into_iter().enumerate().map(forged).collect();
    assert!(scenes.len() >= 40, "{} kinds", scenes.len());
    let missed: Vec<_> =
        scenes.iter().filter(|(_, scene)| ours(&scene.path).0 == State::Ok).map(|(name, _)| name).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
    scenes.push(honest);
    let disagreements = disagreements(&scenes);
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

#[test]
fn the_other_implementation_verifies_the_golden_evidence_against_its_checkpoint() {
    let golden = project().join("tests/golden/evidence");
    let paths = [golden.join("store-v1"), golden.join("bundle-v1.tar")];
    let file = |name: &str| golden.join(name).to_str().expect("UTF-8").to_owned();
    let (checkpoint, key) = (file("checkpoint-v1.txt"), file("key-v1.txt"));
    for (path, (state, line)) in theirs(&["--against", &checkpoint, "--keys", &key], &paths) {
        assert_eq!(state, "OK", "{}: {line}", path.display());
    }
}
