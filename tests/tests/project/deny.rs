//! `deny.toml` holds, without `cargo deny`: licences, one version of each crate, banned crates, and where crates come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;

use eval_host_tests::project_root;
use serde::Deserialize;

use crate::metadata::{Metadata, Package, sample};

/// The parts of `deny.toml` that are checked here. A key that this test does not know is a rule that it would not hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    #[serde(rename = "graph")]
    _graph: toml::Table,
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    skip: Vec<Entry>,
    deny: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_git: Level,
    unknown_registry: Level,
    allow_registry: Vec<String>,
}

/// Anything weaker is a change of the policy, which this test has to learn of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Deny,
}

/// A crate, perhaps with the versions that are meant, and why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "crate")]
    of: String,
    reason: String,
}

impl Entry {
    fn name(&self) -> &str {
        self.of.split(':').next().unwrap_or_default()
    }

    /// `syn:2` is every 2.x, and `sha2:0.10` every 0.10.x.
    fn matches(&self, package: &Package) -> bool {
        let (name, wanted) = self.of.split_once(':').unwrap_or((&self.of, ""));
        let is_within = |rest: &str| wanted.is_empty() || rest.is_empty() || rest.starts_with('.');
        name == package.name && package.version.strip_prefix(wanted).is_some_and(is_within)
    }
}

impl Policy {
    pub(crate) fn load() -> Self {
        let text = fs::read_to_string(project_root().join("deny.toml")).expect("deny.toml");
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        toml::from_str(text).unwrap_or_else(|error| panic!("deny.toml: {error}"))
    }

    /// The names of the crates that must not be there.
    pub(crate) fn banned(&self) -> impl Iterator<Item = &str> {
        self.bans.deny.iter().map(Entry::name)
    }

    /// Everything that breaks the policy, in words, and everything in the policy that nothing needs.
    fn violations(&self, packages: &[Package]) -> Vec<String> {
        let Self { bans: Bans { multiple_versions: Level::Deny, .. }, .. } = self;
        [self.licences(packages), self.versions(packages), self.bans(packages), self.sources(packages)].concat()
    }

    fn licences(&self, packages: &[Package]) -> Vec<String> {
        let allowed: BTreeSet<&str> = self.licenses.allow.iter().map(String::as_str).collect();
        let mut occurring = BTreeSet::new();
        let mut found = Vec::new();
        for package in packages {
            let expression = package.license.as_deref().unwrap_or("(none)");
            if !Expression::new(expression).whole(&allowed, &mut occurring) {
                found.push(format!("{} {} has the licence {expression}", package.name, package.version));
            }
        }
        let unused = allowed.iter().filter(|licence| !occurring.contains(**licence));
        found.extend(unused.map(|licence| format!("no package has the licence {licence}")));
        found
    }

    fn versions(&self, packages: &[Package]) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
        for package in packages {
            versions.entry(&package.name).or_default().push(package);
        }
        let is_skipped = |package: &Package| self.bans.skip.iter().any(|entry| entry.matches(package));
        let several = versions.values().filter(|all| all.iter().filter(|package| !is_skipped(package)).count() > 1);
        let mut found: Vec<_> = several
            .map(|all| format!("{} has {:?}", all[0].name, all.iter().map(|p| &p.version).collect::<Vec<_>>()))
            .collect();
        let is_needed = |entry: &&Entry| {
            let all = versions.get(entry.name()).map(Vec::as_slice).unwrap_or_default();
            all.len() > 1 && all.iter().any(|package| entry.matches(package))
        };
        let unneeded = self.bans.skip.iter().filter(|entry| !is_needed(entry));
        found.extend(unneeded.map(|entry| format!("{} is skipped for nothing", entry.of)));
        found
    }

    fn bans(&self, packages: &[Package]) -> Vec<String> {
        let is_banned = |package: &&Package| self.bans.deny.iter().any(|entry| entry.matches(package));
        packages.iter().filter(is_banned).map(|package| format!("{} is banned", package.name)).collect()
    }

    fn sources(&self, packages: &[Package]) -> Vec<String> {
        let Sources { unknown_git: Level::Deny, unknown_registry: Level::Deny, allow_registry } = &self.sources;
        let is_known = |source: &str| {
            source.strip_prefix("registry+").is_some_and(|url| allow_registry.iter().any(|allowed| allowed == url))
        };
        let unknown = packages.iter().filter(|package| package.source.as_deref().is_some_and(|s| !is_known(s)));
        unknown.map(|package| format!("{} comes from {:?}", package.name, package.source)).collect()
    }
}

/// An SPDX expression, of which an old form writes `/` for `OR`.
struct Expression {
    words: Peekable<std::vec::IntoIter<String>>,
}

impl Expression {
    fn new(text: &str) -> Self {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        Self { words: spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter().peekable() }
    }

    /// Whether the allowed licences suffice. Every licence that the expression names is put into `occurring`.
    fn whole(mut self, allowed: &BTreeSet<&str>, occurring: &mut BTreeSet<String>) -> bool {
        let met = self.any(allowed, occurring);
        met && self.words.next().is_none()
    }

    fn any(&mut self, allowed: &BTreeSet<&str>, occurring: &mut BTreeSet<String>) -> bool {
        let mut met = self.every(allowed, occurring);
        while self.words.next_if_eq("OR").is_some() {
            met |= self.every(allowed, occurring);
        }
        met
    }

    fn every(&mut self, allowed: &BTreeSet<&str>, occurring: &mut BTreeSet<String>) -> bool {
        let mut met = self.one(allowed, occurring);
        while self.words.next_if_eq("AND").is_some() {
            met &= self.one(allowed, occurring);
        }
        met
    }

    fn one(&mut self, allowed: &BTreeSet<&str>, occurring: &mut BTreeSet<String>) -> bool {
        if self.words.next_if_eq("(").is_some() {
            let met = self.any(allowed, occurring);
            return self.words.next_if_eq(")").is_some() && met;
        }
        let mut licence = self.words.next().unwrap_or_default();
        if self.words.next_if_eq("WITH").is_some() {
            licence = format!("{licence} WITH {}", self.words.next().unwrap_or_default());
        }
        let met = allowed.contains(licence.as_str());
        occurring.insert(licence);
        met
    }
}

#[test]
fn the_dependencies_are_what_deny_toml_allows() {
    let metadata = Metadata::load();
    assert!(metadata.packages.len() > 100, "cargo named the dependencies");
    let violations = Policy::load().violations(&metadata.packages);
    assert!(violations.is_empty(), "{violations:#?}");
}

#[test]
fn every_exception_and_every_ban_has_a_reason() {
    let Policy { bans: Bans { skip, deny, .. }, .. } = Policy::load();
    for entry in skip.iter().chain(&deny) {
        assert!(!entry.reason.trim().is_empty(), "{entry:?}");
    }
}

const SAMPLE: &str = r#"
[graph]
[licenses]
allow = ["MIT", "Apache-2.0 WITH LLVM-exception"]
[bans]
multiple-versions = "deny"
skip = [{ crate = "old:0.1", reason = "a sample" }]
deny = [{ crate = "reqwest", reason = "a sample" }]
[sources]
unknown-git = "deny"
unknown-registry = "deny"
allow-registry = ["https://registry"]
"#;

fn sample_packages() -> Vec<Package> {
    let registry = Some("registry+https://registry");
    vec![
        sample("ours", "0.1.0", Some("MIT"), None),
        sample("old", "0.1.9", Some("MIT/GPL-3.0"), registry),
        sample("old", "0.2.0", Some("(GPL-3.0 OR MIT) AND Apache-2.0 WITH LLVM-exception"), registry),
    ]
}

#[test]
fn what_the_policy_allows_is_no_violation() {
    assert_eq!(Policy::parse(SAMPLE).violations(&sample_packages()), Vec::<String>::new());
}

#[test]
fn every_kind_of_violation_is_noticed() {
    let registry = Some("registry+https://registry");
    let cases = [
        (sample("a", "1.0.0", Some("GPL-3.0"), registry), "a 1.0.0 has the licence GPL-3.0"),
        (sample("a", "1.0.0", None, registry), "a 1.0.0 has the licence (none)"),
        (sample("a", "1.0.0", Some("MIT AND GPL-3.0"), registry), "a 1.0.0 has the licence MIT AND GPL-3.0"),
        (sample("a", "1.0.0", Some("(MIT"), registry), "a 1.0.0 has the licence (MIT"),
        (sample("old", "0.10.0", Some("MIT"), registry), "old has [\"0.1.9\", \"0.2.0\", \"0.10.0\"]"),
        (sample("reqwest", "1.0.0", Some("MIT"), registry), "reqwest is banned"),
        (sample("a", "1.0.0", Some("MIT"), Some("git+https://forge")), "a comes from Some(\"git+https://forge\")"),
        (sample("a", "1.0.0", Some("MIT"), Some("registry+https://x")), "a comes from Some(\"registry+https://x\")"),
    ];
    for (package, expected) in cases {
        let packages = [sample_packages(), vec![package]].concat();
        assert_eq!(Policy::parse(SAMPLE).violations(&packages), [expected]);
    }
}

#[test]
fn what_nothing_needs_any_more_is_noticed() {
    let packages = vec![sample("old", "0.2.0", Some("MIT"), None)];
    assert_eq!(
        Policy::parse(SAMPLE).violations(&packages),
        ["no package has the licence Apache-2.0 WITH LLVM-exception", "old:0.1 is skipped for nothing"]
    );
}
