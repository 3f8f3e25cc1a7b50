//! What a record says of the build is what the build is.

use std::fs;

use eval_host_tests::project_root;

#[test]
fn the_wasmtime_version_that_records_name_is_the_one_that_is_linked() {
    let lock = fs::read_to_string(project_root().join("Cargo.lock")).expect("Cargo.lock");
    let lock: toml::Table = lock.parse().expect("TOML");
    let packages = lock["package"].as_array().expect("packages");
    let wasmtime = packages.iter().find(|package| package["name"].as_str() == Some("wasmtime")).expect("wasmtime");
    let version = wasmtime["version"].as_str().expect("a version");
    let source = fs::read_to_string(project_root().join("host/sandbox/src/lib.rs")).expect("the sandbox");
    assert!(
        source.contains(&format!("WASMTIME_VERSION: &str = \"{version}\"")),
        "the lock file has wasmtime {version}"
    );
}
