//! Whoever changes a promise is seen by somebody who answers for it.

use std::fs;

use eval_host_tests::project_root;

/// The rules of CODEOWNERS: a pattern and its owners.
fn rules() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(project_root().join("CODEOWNERS")).expect("CODEOWNERS");
    let rule = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        words.next().map(|pattern| (pattern, words.collect()))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(rule).collect()
}

/// The last rule that matches wins, as on the forge. The catch-all does not count: it says that nobody thought of the path.
fn owners_of(path: &str) -> Vec<String> {
    let absolute = format!("/{path}");
    let owns = |pattern: &str| match pattern.strip_suffix('/') {
        Some(folder) => absolute.starts_with(&format!("{folder}/")) || absolute == folder,
        None => absolute == pattern,
    };
    rules().into_iter().rev().find(|(pattern, _)| pattern != "*" && owns(pattern)).map_or(Vec::new(), |rule| rule.1)
}

#[test]
fn every_path_of_the_layout_has_an_owner() {
    for path in [
        "Cargo.toml",
        "rust-toolchain.toml",
        "wit/rubric.wit",
        "host/src/lib.rs",
        "rubrics/sdk/Cargo.toml",
        "rubrics/vuln-remediation/Cargo.toml",
        "bench/README.md",
        "bench/vuln-remediation/registration.toml",
        "bench/vuln-remediation/rubric.wasm",
        "tests/Cargo.toml",
        "docs/decisions/README.md",
        "CODEOWNERS",
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        ".gitattributes",
        "host/model/src/lib.rs",
        "host/sandbox/src/lib.rs",
        "host/evidence/src/chain/mod.rs",
        ".ci/run",
    ] {
        assert!(project_root().join(path).exists(), "{path} is part of the layout, but does not exist");
        assert!(!owners_of(path).is_empty(), "{path} has no owner in CODEOWNERS");
    }
}

#[test]
fn no_rule_of_codeowners_names_a_path_that_is_gone() {
    // Anchors are committed by operators, so their folder need not exist yet.
    let may_be_missing = ["/audit/"];
    for (pattern, owners) in rules() {
        assert!(!owners.is_empty(), "{pattern} has no owner");
        if pattern != "*" && !may_be_missing.contains(&pattern.as_str()) {
            assert!(project_root().join(pattern.trim_matches('/')).exists(), "{pattern} does not exist");
        }
    }
}

#[test]
fn a_path_that_nobody_thought_of_has_no_owner_of_its_own() {
    assert!(owners_of("surprise/file").is_empty());
    assert_eq!(owners_of("host/sandbox/src/lib.rs"), ["@eval-host/sandbox"]);
}
