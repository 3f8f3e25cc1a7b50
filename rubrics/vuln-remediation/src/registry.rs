//! The frozen excerpt of a registry's index that comes with the case: nothing can be looked up in the sandbox.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::version::{Ecosystem, Version};

/// Which versions of which packages there are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    pub ecosystem: Ecosystem,
    /// The day of the excerpt, for the agent.
    pub taken_at: String,
    packages: BTreeMap<String, BTreeMap<String, Release>>,
}

/// One version of a package.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Release {
    /// Withdrawn by its publisher: not chosen anew.
    pub yanked: bool,
    /// What the lock file says about the package's bytes: npm `integrity`, Cargo `checksum`, PyPI hashes, Go sums.
    pub checksums: Vec<String>,
    /// What the version itself depends on; absent if the excerpt does not say.
    pub dependencies: Option<Vec<Dependency>>,
    /// Cargo features, with what each enables.
    pub features: BTreeMap<String, Vec<String>>,
    /// Maven: properties of a parent or a bill of materials.
    pub properties: BTreeMap<String, String>,
    /// Maven: what a parent or a bill of materials manages.
    pub managed: Vec<Dependency>,
    /// Maven: the parent, as `group:artifact:version`.
    pub parent: Option<String>,
}

/// A dependency of a release, in whatever terms its ecosystem has.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dependency {
    pub name: String,
    /// A range, a requirement, a specifier; in Go and Maven a version. Empty is any.
    pub requirement: String,
    pub optional: bool,
    /// Maven's scope; anything but compile and runtime is not passed on.
    pub scope: Option<String>,
    /// Maven's exclusions, as `group:artifact`.
    pub exclusions: Vec<String>,
    /// Cargo: features asked for.
    pub features: Vec<String>,
    /// Cargo: `true` if default features are turned off.
    pub no_default_features: bool,
}

impl Registry {
    /// A version of a package. Only in Python may it be written otherwise than it was published.
    pub fn release(&self, name: &str, version: &Version) -> Option<&Release> {
        let versions = self.packages.get(name)?;
        let same = |text: &String| Version::parse(self.ecosystem, text).is_ok_and(|known| known == *version);
        let spelled_otherwise = || versions.iter().find(|(text, _)| same(text)).map(|(_, release)| release);
        let found = versions.get(version.text());
        if self.ecosystem == Ecosystem::PyPi { found.or_else(spelled_otherwise) } else { found }
    }

    /// The packages that the excerpt has.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.packages.keys().map(String::as_str)
    }

    /// All versions of a package, in ascending order.
    pub fn versions(&self, name: &str) -> Vec<(Version, &Release)> {
        let parsed = |(text, release): (&String, _)| Version::parse(self.ecosystem, text).ok().map(|v| (v, release));
        let mut versions: Vec<_> = self.packages.get(name).into_iter().flatten().filter_map(parsed).collect();
        versions.sort_by(|(a, _), (b, _)| a.cmp(b));
        versions
    }

    /// The first version text that is no version, for the bench's author.
    pub fn unreadable_version(&self) -> Option<&str> {
        let mut texts = self.packages.values().flat_map(BTreeMap::keys);
        texts.find(|text| Version::parse(self.ecosystem, text).is_err()).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        serde_json::from_str(
            r#"{"ecosystem":"PyPI","taken_at":"2024-06-01","packages":{"requests":{
                "2.9.0":{},"2.32.0":{"yanked":true},"2.31.0":{"checksums":["sha256:a"]}}}}"#,
        )
        .unwrap()
    }

    #[test]
    fn versions_come_in_their_own_order() {
        let registry = registry();
        let versions = registry.versions("requests");
        assert_eq!(versions.iter().map(|(v, _)| v.text()).collect::<Vec<_>>(), ["2.9.0", "2.31.0", "2.32.0"]);
        assert!(registry.versions("flask").is_empty());
    }

    #[test]
    fn a_release_is_found_by_any_spelling_of_its_version() {
        let version = |text| Version::parse(Ecosystem::PyPi, text).unwrap();
        assert!(registry().release("requests", &version("2.32")).unwrap().yanked);
        assert!(registry().release("requests", &version("2.33")).is_none());
        let crates = r#"{"ecosystem":"crates.io","taken_at":"x","packages":{"a":{"1.5.5":{}}}}"#;
        let crates: Registry = serde_json::from_str(crates).unwrap();
        for (text, is_there) in [("1.5.5", true), ("v1.5.5", false), ("1.5.5+evil", false), ("1.05.5", false)] {
            let version = Version::parse(Ecosystem::CratesIo, text);
            assert_eq!(version.is_ok_and(|version| crates.release("a", &version).is_some()), is_there, "{text}");
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let json = r#"{"ecosystem":"npm","taken_at":"x","packages":{"a":{"1.0.0":{"yankd":true}}}}"#;
        assert!(serde_json::from_str::<Registry>(json).is_err());
    }
}
