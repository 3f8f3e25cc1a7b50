//! The committed components are what their sources build, wherever they are built.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use eval_host_tests::{Workbench, copy_tree, project_root};

use crate::BINARY;

/// Copies what a rubric is built from, without what earlier builds left.
fn copy_sources(to: &Path) {
    let root = project_root();
    copy_tree(&root.join("wit"), &to.join("wit"));
    fs::copy(root.join("rust-toolchain.toml"), to.join("rust-toolchain.toml")).expect("the toolchain file");
    fs::create_dir(to.join("rubrics")).expect("rubrics");
    for entry in fs::read_dir(root.join("rubrics")).expect("rubrics") {
        let entry = entry.expect("an entry");
        let target = to.join("rubrics").join(entry.file_name());
        if !entry.file_type().expect("its kind").is_dir() {
            fs::copy(entry.path(), target).expect("a copy");
        } else if entry.file_name() != "target" {
            copy_tree(&entry.path(), &target);
        }
    }
}

/// HOME is another one in these tests, so rustup has to be told where its toolchains are.
fn rustup_home() -> PathBuf {
    let default = || PathBuf::from(env::var_os("HOME").expect("a home")).join(".rustup");
    env::var_os("RUSTUP_HOME").map_or_else(default, PathBuf::from)
}

#[test]
fn another_folder_and_another_cargo_home_build_the_committed_bytes() {
    let workbench = Workbench::empty(BINARY);
    copy_sources(workbench.path());
    copy_tree(&project_root().join("bench"), &workbench.path().join("bench"));
    let ended = workbench
        .eval(["rubric", "build", "--check"])
        .env("CARGO_HOME", workbench.path().join("another-cargo-home"))
        .env("RUSTUP_HOME", rustup_home())
        .env("RUSTFLAGS", "--cfg inherited_flags_must_not_matter")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_BUILD_TARGET_DIR", workbench.path().join("somewhere-else"))
        .run()
        .expect_code(0);
    assert!(!ended.lines("rubric").is_empty());
    for line in ended.lines("rubric") {
        let pin = Path::new("bench").join(line["task_class"].as_str().expect("a name")).join("rubric.wasm.blake3");
        let pin = fs::read_to_string(project_root().join(pin)).expect("a pin");
        assert!(pin.starts_with(line["blake3"].as_str().expect("a digest")));
    }
}

#[track_caller]
fn build(arguments: &[&str], rubrics: &Path) {
    let mut cargo = Command::new("cargo");
    // What a measurement of coverage sets for this build is not meant for that one.
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let status = cargo.args(arguments).current_dir(rubrics.join("vuln-remediation")).status().expect("cargo starts");
    assert!(status.success(), "cargo {arguments:?}");
}

/// Puts a component in place of the committed one, and runs the bench with it.
#[track_caller]
fn scores_with(component: &Path) {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    workbench.replace_rubric("vuln-remediation", &fs::read(component).expect("a component"));
    let ended = workbench.eval(["run", "--task-class=vuln-remediation"]).run().expect_code(0);
    assert!(ended.lines("case").len() >= 3);
}

#[test]
fn the_components_of_plain_cargo_and_of_cargo_component_load_and_score() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    copy_sources(temp.path());
    let rubrics = temp.path().join("rubrics");
    build(&["build", "--release", "--locked", "--target", "wasm32-wasip2"], &rubrics);
    scores_with(&rubrics.join("target/wasm32-wasip2/release/vuln_remediation.wasm"));
    build(&["component", "build", "--release", "--locked"], &rubrics);
    scores_with(&rubrics.join("target/wasm32-wasip1/release/vuln_remediation.wasm"));
}
