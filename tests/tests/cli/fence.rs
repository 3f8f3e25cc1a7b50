//! Every rule of the fence, broken on purpose.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use eval_host_tests::{Workbench, copy_tree, guests, install_rubric};
use serde_json::Value;

use crate::{BINARY, rubric_attack as attack};

const BENCH: &str = "bench/fixture";
const CASE: &str = "001-greets";

fn workbench() -> Workbench {
    Workbench::with_fixture(BINARY)
}

/// A bench whose rubric has withstood an attack.
fn attacked() -> Workbench {
    let workbench = workbench();
    attack::accept_all(&workbench, "the bench does not ask for it");
    record_attack(&workbench, &[]);
    workbench
}

fn record_attack(workbench: &Workbench, more: &[&str]) {
    let _ = workbench.eval(attack::ATTACK).args(["--write"]).args(more).run().expect_code(0);
}

fn case_path(workbench: &Workbench) -> PathBuf {
    workbench.path().join(BENCH).join("cases").join(CASE)
}

/// Breaks a bench, and asserts that the fence names exactly this path with this message.
#[track_caller]
fn gap(break_it: impl FnOnce(&Path), path: &str, message: &str) {
    let workbench = workbench();
    break_it(&workbench.path().join(BENCH));
    let ended = workbench.eval(["fence"]).run().expect_code(5);
    let gaps = ended.lines("gap");
    let expected = format!("{BENCH}/{path}");
    let found = gaps.iter().find(|gap| gap["path"] == expected.as_str());
    let found = found.unwrap_or_else(|| panic!("no gap at {expected} in:\n{}", ended.stderr));
    let text = found["message"].as_str().expect("a message");
    assert!(text.contains(message), "{text}");
    assert!(ended.stderr.contains(text), "{}", ended.stderr);
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a file");
    assert!(text.contains(from), "`{from}` in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).expect("a file");
}

#[test]
fn whole_benches_have_no_gap() {
    let ours = ["vuln-remediation", "migration-chainguard-distroless"].map(|name| Workbench::with_bench(BINARY, name));
    for workbench in [attacked()].into_iter().chain(ours) {
        let ended = workbench.eval(["fence"]).run().expect_code(0);
        assert_eq!(ended.stdout, "");
        assert!(ended.stderr.ends_with("1 bench, nothing missing\n"), "{}", ended.stderr);
    }
}

#[test]
fn a_rubric_has_withstood_an_attack() {
    gap(|_| {}, "attack.json", "missing: no attack on the rubric is recorded");
    let workbench = workbench();
    let _ = workbench.eval(attack::ATTACK).args(["--write"]).run().expect_code(5);
    let ended = workbench.eval(["fence"]).run().expect_code(5);
    assert!(ended.stderr.contains("attack.json: survivors that nobody accepted: 1;"), "{}", ended.stderr);
}

#[test]
fn a_bench_has_a_readme() {
    gap(
        |bench| fs::remove_file(bench.join("README.md")).expect("README.md"),
        "README.md",
        "missing: say what the bench measures",
    );
}

#[test]
fn a_registration_is_strict() {
    let misspelt = |bench: &Path| edit(&bench.join("registration.toml"), "current_tier", "curent_tier");
    gap(misspelt, "registration.toml", "unknown field `curent_tier`");
}

#[test]
fn a_registration_carries_its_folders_name() {
    let renamed = |bench: &Path| {
        edit(&bench.join("registration.toml"), "\"fixture\"", "\"something-else\"");
    };
    gap(renamed, "registration.toml", "registers `something-else`, which must equal the folder's name");
}

#[test]
fn a_bench_has_a_rubric() {
    gap(|bench| fs::remove_file(bench.join("rubric.wasm")).expect("rubric.wasm"), "rubric.wasm", "not found");
}

#[test]
fn a_rubric_matches_its_pin() {
    let changed = |bench: &Path| {
        let path = bench.join("rubric.wasm");
        let mut bytes = fs::read(&path).expect("rubric.wasm");
        bytes.push(0);
        fs::write(path, bytes).expect("rubric.wasm");
    };
    gap(changed, "rubric.wasm", "but its pin says");
}

#[test]
fn a_pin_is_in_b3sums_format() {
    let upper_case = |bench: &Path| {
        let path = bench.join("rubric.wasm.blake3");
        let text = fs::read_to_string(&path).expect("the pin");
        fs::write(path, text.to_uppercase()).expect("the pin");
    };
    gap(upper_case, "rubric.wasm", "is not b3sum's format");
}

#[test]
fn a_rubric_implements_the_world() {
    gap(
        |bench| install_rubric(bench, guests::IS_A_CORE_MODULE),
        "rubric.wasm",
        "this is a core module and not a component",
    );
}

#[test]
fn a_rubric_imports_nothing_that_is_not_granted() {
    gap(|bench| install_rubric(bench, guests::IMPORTS_HTTP), "rubric.wasm", "`wasi:http/outgoing-handler@0.2.6`");
}

#[test]
fn every_case_has_golden_tests_of_both_kinds() {
    let untested = |bench: &Path| fs::remove_dir_all(bench.join("tests").join(CASE)).expect("golden tests");
    gap(untested, &format!("tests/{CASE}"), "0 right and 0 wrong answers as golden tests; every case needs 1 and 2");
}

#[test]
fn a_golden_test_is_well_formed() {
    let malformed = |bench: &Path| {
        fs::write(bench.join("tests").join(CASE).join("zz.json"), r#"{"output":{},"expect":{"passed":true}}"#)
            .expect("a file");
    };
    gap(malformed, &format!("tests/{CASE}"), "expect has either passed, score and failure_modes, or fault");
}

#[test]
fn golden_tests_belong_to_a_case() {
    let orphan = |bench: &Path| fs::create_dir(bench.join("tests/zzz")).expect("a folder");
    gap(orphan, "tests/zzz", "golden tests of a case that the bench does not have");
}

#[test]
fn a_bench_has_as_many_cases_as_bronze_asks_for() {
    let few = |bench: &Path| fs::remove_dir_all(bench.join("cases").join(CASE)).expect("a case");
    gap(few, "cases", "2 cases, and min_cases_for_promotion.bronze asks for 3");
    let unsaid = |bench: &Path| edit(&bench.join("registration.toml"), "bronze = 3\n", "");
    gap(unsaid, "cases", "3 cases, and min_cases_for_promotion.bronze asks for 10");
}

#[test]
fn every_case_loads() {
    let no_truth =
        |bench: &Path| fs::remove_dir_all(bench.join("cases").join(CASE).join("expected")).expect("the truth");
    gap(no_truth, &format!("cases/{CASE}/expected"), "not found");
}

#[test]
fn every_case_has_a_cassette() {
    let path = format!("cases/{CASE}/cassette.json");
    let removed = |bench: &Path| fs::remove_file(bench.join("cases").join(CASE).join("cassette.json")).expect("it");
    gap(removed, &path, "missing: every case has a default cassette");
}

#[test]
fn no_cassette_is_stale() {
    let path = format!("cases/{CASE}/cassette.json");
    let changed = |bench: &Path| fs::write(bench.join("cases").join(CASE).join("input/new"), "x").expect("a file");
    gap(changed, &path, "stale: made for other input; this input's digest is ");
}

#[test]
fn no_cassette_comes_from_another_case() {
    let path = format!("cases/{CASE}/cassette.json");
    let swapped = |bench: &Path| {
        let cases = bench.join("cases");
        fs::copy(cases.join("002-leaves-alone/cassette.json"), cases.join(CASE).join("cassette.json")).expect("a copy");
    };
    gap(swapped, &path, "made for another case, `002-leaves-alone`");
}

#[test]
fn a_cassette_matches_its_pin() {
    let pinned = |bench: &Path| {
        let path = bench.join("cases").join(CASE).join("case.toml");
        let text = fs::read_to_string(&path).expect("case.toml");
        let text = if text.contains("cassette_path") { text } else { text + "cassette_path = \"cassette.json\"\n" };
        fs::write(path, text + &format!("cassette_blake3 = \"{}\"\n", "0".repeat(64))).expect("case.toml");
    };
    gap(pinned, &format!("cases/{CASE}/cassette.json"), "which is not what cassette_blake3 says");
}

/// Runs git in a folder, with nothing of the developer's configuration.
fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=Curator", "-c", "user.email=curator@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdout(std::process::Stdio::null())
        .status()
        .expect("git starts");
    assert!(status.success(), "git {arguments:?}");
}

#[test]
fn every_file_of_a_case_is_tracked_by_git() {
    let workbench = attacked();
    git(workbench.path(), &["init", "--quiet"]);
    git(workbench.path(), &["add", "bench"]);
    let _ = workbench.eval(["fence"]).run().expect_code(0);
    fs::write(case_path(&workbench).join("expected/notes"), "x").expect("a file");
    let ended = workbench.eval(["fence"]).run().expect_code(5);
    let paths: Vec<Value> = ended.lines("gap").into_iter().map(|gap| gap["path"].clone()).collect();
    assert_eq!(paths, ["attack.json", &format!("cases/{CASE}/expected/notes")].map(|path| format!("{BENCH}/{path}")));
}

#[test]
fn a_new_registration_begins_at_bronze() {
    let workbench = attacked();
    git(workbench.path(), &["init", "--quiet"]);
    git(workbench.path(), &["commit", "--quiet", "--allow-empty", "--message=empty"]);
    edit(
        &workbench.path().join(BENCH).join("registration.toml"),
        "current_tier = \"bronze\"",
        "current_tier = \"gold\"",
    );
    git(workbench.path(), &["add", "bench"]);
    let _ = workbench.eval(["fence"]).run().expect_code(0);
    let ended = workbench.eval(["fence", "--base=HEAD"]).run().expect_code(5);
    assert!(ended.stderr.contains("a new registration begins at bronze, and this one says gold"), "{}", ended.stderr);
    git(workbench.path(), &["commit", "--quiet", "--message=registered"]);
    let _ = workbench.eval(["fence", "--base=HEAD"]).run().expect_code(0);
    let unknown = workbench.eval(["fence", "--base=nowhere"]).run().expect_code(2);
    assert!(unknown.stderr.contains("`nowhere` is not a commit of this repository"), "{}", unknown.stderr);
}

#[test]
fn all_gaps_are_answered_at_once() {
    let workbench = workbench();
    let bench = workbench.path().join(BENCH);
    fs::remove_file(bench.join("README.md")).expect("README.md");
    fs::remove_file(bench.join("rubric.wasm")).expect("rubric.wasm");
    fs::remove_file(case_path(&workbench).join("cassette.json")).expect("a cassette");
    copy_tree(&bench.join("tests").join(CASE), &bench.join("tests/zzz"));
    let ended = workbench.eval(["fence"]).run().expect_code(5);
    assert_eq!(ended.lines("gap").len(), 4, "{}", ended.stderr);
}

#[test]
fn an_input_that_lies_elsewhere_is_found_and_checked_against_its_pin() {
    let workbench = attacked();
    let case = case_path(&workbench);
    let cassette: Value = serde_json::from_slice(&fs::read(case.join("cassette.json")).expect("it")).expect("JSON");
    let digest = cassette["input_digest"].as_str().expect("a digest").to_owned();
    fs::create_dir_all(workbench.path().join("inputs/large")).expect("a folder");
    fs::rename(case.join("input"), workbench.path().join("inputs/large/note")).expect("moved");
    let pointer = |path: &str, digest: &str| {
        let text = format!("path = \"{path}\"\nblake3 = \"{digest}\"\n");
        fs::write(case.join("input-pointer.toml"), text).expect("a pointer");
    };
    pointer("large/note", &digest);
    let _ = workbench.eval(["fence", "--input-root=inputs"]).run().expect_code(0);
    let absent = workbench.eval(["fence"]).run().expect_code(5);
    assert!(
        absent.stderr.contains("give its folder with --input-root, and put it at `large/note` there"),
        "{}",
        absent.stderr
    );
    pointer("large/elsewhere", &digest);
    let missing = workbench.eval(["fence", "--input-root=inputs"]).run().expect_code(5);
    assert!(missing.stderr.contains("`large/elsewhere` is not below the input root"), "{}", missing.stderr);
    pointer("../inputs/large/note", &digest);
    let escaping = workbench.eval(["fence", "--input-root=inputs"]).run().expect_code(5);
    assert!(escaping.stderr.contains("is not a path below the input root"), "{}", escaping.stderr);
    pointer("large/note", &"0".repeat(64));
    let other = workbench.eval(["fence", "--input-root=inputs"]).run().expect_code(5);
    assert!(other.stderr.contains("but the input below the input root has"), "{}", other.stderr);
    pointer("large/note", &digest);
    let args = ["run", "--task-class=fixture", "--input-root=inputs"];
    let _ = workbench.eval(args).run().expect_code(0);
}
