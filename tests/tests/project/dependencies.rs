//! The host talks to nobody: no HTTP client, no LLM SDK, however deep in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use eval_host_tests::project_root;

use crate::deny::Policy;

/// What must not be in a name, beside the crates that `deny.toml` names and their families.
const BANNED_WORDS: [&str; 8] = ["anthropic", "bedrock", "cohere", "gemini", "langchain", "llm", "ollama", "openai"];

/// Every package of the lock file and the names of what it depends on, on whatever platform.
fn lock_file() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(project_root().join("Cargo.lock")).expect("Cargo.lock");
    let lock: toml::Table = text.parse().expect("TOML");
    let mut packages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in lock["package"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name").to_owned();
        let dependencies = package.get("dependencies").and_then(|list| list.as_array()).cloned().unwrap_or_default();
        let names = dependencies.iter().filter_map(|dependency| dependency.as_str()?.split(' ').next());
        packages.entry(name).or_default().extend(names.map(str::to_owned));
    }
    packages
}

fn reachable_from(root: &str) -> BTreeSet<String> {
    let packages = lock_file();
    let mut seen = BTreeSet::new();
    let mut next = vec![root.to_owned()];
    while let Some(name) = next.pop() {
        if seen.insert(name.clone()) {
            next.extend(packages[&name].iter().cloned());
        }
    }
    seen
}

fn is_banned(policy: &Policy, name: &str) -> bool {
    let family = |banned: &str| name == banned || name.starts_with(&format!("{banned}-"));
    policy.banned().any(family) || name.split(['-', '_']).any(|word| BANNED_WORDS.contains(&word))
}

#[test]
fn the_host_depends_on_no_http_client_and_no_llm_sdk() {
    let tree = reachable_from("eval-host");
    assert!(tree.contains("wasmtime"), "the walk reached the sandbox");
    let policy = Policy::load();
    let banned: Vec<_> = tree.iter().filter(|name| is_banned(&policy, name)).collect();
    assert!(banned.is_empty(), "{banned:?}");
}

#[test]
fn the_ban_would_be_noticed() {
    let policy = Policy::load();
    for name in ["reqwest", "hyper", "hyper-util", "async-openai", "rustls"] {
        assert!(is_banned(&policy, name), "{name}");
    }
    for name in ["wasmtime", "wasmtime-internal-jit-icache-coherence"] {
        assert!(!is_banned(&policy, name), "{name}");
    }
}
