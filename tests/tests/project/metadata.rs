//! What cargo says of the workspace's packages, from the lock file and without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use eval_host_tests::project_root;
use serde::Deserialize;

/// A package that is linked into one of ours, or one of ours.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// `None` for our own.
    pub(crate) source: Option<String>,
    dependencies: Vec<Declared>,
}

/// A dependency as a manifest names it.
#[derive(Debug, Clone, Deserialize)]
struct Declared {
    name: String,
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Dev,
    Build,
}

#[derive(Debug, Deserialize)]
struct Output {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<Kind>,
}

#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    /// What each package is built with, by ids. Development dependencies are left out.
    built_with: BTreeMap<String, Vec<String>>,
}

impl Metadata {
    /// Of this machine's platform only: cargo has not downloaded what other platforms need, and there is no network.
    pub(crate) fn load() -> Self {
        let version = cargo(&["-vV"]);
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host");
        let output = cargo(&["metadata", "--locked", "--offline", "--format-version=1", "--filter-platform", host]);
        let output: Output = serde_json::from_str(&output).expect("cargo's metadata");
        let is_built = |edge: &&Edge| edge.dep_kinds.iter().any(|kind| kind.kind != Some(Kind::Dev));
        let built_with = |node: &Node| node.deps.iter().filter(is_built).map(|edge| edge.pkg.clone()).collect();
        let built_with = output.resolve.nodes.iter().map(|node| (node.id.clone(), built_with(node))).collect();
        Self { packages: output.packages, built_with }
    }

    fn package(&self, name: &str) -> &Package {
        self.packages.iter().find(|package| package.name == name).unwrap_or_else(|| panic!("no package `{name}`"))
    }

    /// Our own packages.
    pub(crate) fn own(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().filter(|package| package.source.is_none()).map(|package| package.name.as_str())
    }

    /// What a package's manifest names under `[dependencies]`, optional ones included.
    pub(crate) fn direct(&self, name: &str) -> BTreeSet<&str> {
        let normal = self.package(name).dependencies.iter().filter(|declared| declared.kind.is_none());
        normal.map(|declared| declared.name.as_str()).collect()
    }

    /// The names of everything that a package is built with, however deep.
    pub(crate) fn all(&self, name: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut next = vec![self.package(name).id.as_str()];
        while let Some(id) = next.pop() {
            if seen.insert(id) {
                next.extend(self.built_with[id].iter().map(String::as_str));
            }
        }
        self.packages.iter().filter(|package| seen.contains(package.id.as_str())).map(|p| p.name.as_str()).collect()
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
        id: format!("{name} {version}"),
        name: name.to_owned(),
        version: version.to_owned(),
        license: license.map(str::to_owned),
        source: source.map(str::to_owned),
        dependencies: Vec::new(),
    }
}
