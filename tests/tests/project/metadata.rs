//! What cargo says of the workspace's packages, from the lock file and without a network.

use std::process::Command;

use eval_host_tests::project_root;
use serde::Deserialize;

/// A package that is linked into one of ours, or one of ours.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// `None` for our own.
    pub(crate) source: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

impl Metadata {
    /// Of this machine's platform only: cargo has not downloaded what other platforms need, and there is no network.
    pub(crate) fn load() -> Self {
        let version = cargo(&["-vV"]);
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host");
        let output = cargo(&["metadata", "--locked", "--offline", "--format-version=1", "--filter-platform", host]);
        serde_json::from_str(&output).expect("cargo's metadata")
    }
}

fn cargo(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO")).args(arguments).current_dir(project_root()).output().expect("cargo starts");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A package as the tests of the checks need it.
pub(crate) fn sample(name: &str, version: &str, license: Option<&str>, source: Option<&str>) -> Package {
    Package {
        name: name.to_owned(),
        version: version.to_owned(),
        license: license.map(str::to_owned),
        source: source.map(str::to_owned),
    }
}
