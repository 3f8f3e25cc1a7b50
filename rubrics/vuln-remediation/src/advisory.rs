//! Advisories, in the part of OSV's format that decides whether a package version is affected.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::version::{Ecosystem, Version};

/// An advisory as the agent gets it. Texts and references are there for the agent and not read here.
#[derive(Debug, Clone, Deserialize)]
pub struct Advisory {
    pub id: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub withdrawn: Option<String>,
    #[serde(default)]
    pub affected: Vec<Affected>,
}

/// The versions of one package that are affected, and under which conditions.
#[derive(Debug, Clone, Deserialize)]
pub struct Affected {
    pub package: Package,
    #[serde(default)]
    ranges: Vec<Range>,
    /// Single versions, besides the ranges.
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    pub ecosystem_specific: Conditions,
}

/// A package by OSV's names. An advisory may be about packages of ecosystems that this task class does not know.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    ecosystem: String,
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Range {
    #[serde(default, rename = "type")]
    kind: RangeKind,
    events: Vec<Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum RangeKind {
    #[default]
    Ecosystem,
    Semver,
    /// Commits, which say nothing about versions.
    Git,
}

/// Where a range begins or ends: one of these. `limit`, which says how far a source looked, is none of them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Event {
    introduced: Option<String>,
    fixed: Option<String>,
    last_affected: Option<String>,
}

/// What must be the case, besides the version. An empty list is no condition.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Conditions {
    /// Affected only with one of these features.
    #[serde(default)]
    pub features: Vec<String>,
    /// Affected only on one of these operating systems.
    #[serde(default)]
    pub os: Vec<String>,
    /// RustSec has its conditions one level deeper.
    #[serde(default)]
    affects: Affects,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Affects {
    #[serde(default)]
    os: Vec<String>,
}

/// A version in use.
#[derive(Debug, Clone, Copy)]
pub struct Use<'a> {
    pub ecosystem: Ecosystem,
    pub name: &'a str,
    pub version: &'a Version,
    /// The features that are enabled, in ecosystems that have them.
    pub features: &'a BTreeSet<String>,
    pub targets: &'a [String],
}

impl Advisory {
    /// Whether the advisory stands and is about this use. A withdrawn one is about nothing.
    pub fn concerns(&self, used: &Use<'_>) -> bool {
        self.withdrawn.is_none() && self.affected.iter().any(|affected| affected.concerns(used))
    }

    /// The names that an explanation can call the advisory by.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id).chain(&self.aliases).map(String::as_str)
    }

    /// The first version text that is no version, for the bench's author.
    pub fn unreadable_version(&self) -> Option<&str> {
        self.affected.iter().find_map(Affected::unreadable_version)
    }
}

impl Affected {
    fn concerns(&self, used: &Use<'_>) -> bool {
        self.package.ecosystem() == Some(used.ecosystem)
            && self.package.canonical_name() == used.name
            && self.includes(used.version)
            && self.ecosystem_specific.hold(used)
    }

    /// Whether a version of the package is affected, other conditions aside.
    pub fn includes(&self, version: &Version) -> bool {
        let same = |text: &String| self.version(text).is_some_and(|listed| listed == *version);
        self.versions.iter().any(same) || self.version_ranges().any(|range| self.range_includes(range, version))
    }

    /// OSV's evaluation: the last event at or below the version decides.
    fn range_includes(&self, range: &Range, version: &Version) -> bool {
        let mut latest: Option<Version> = None;
        let mut included = false;
        for event in &range.events {
            let Some((at, includes)) = self.effect(event, version) else { continue };
            // An introduction that is not before the latest event wins over a fix at the same version.
            if latest.as_ref().is_none_or(|latest| at.as_ref().is_some_and(|at| at >= latest)) {
                included = includes;
                latest = at;
            }
        }
        included
    }

    /// Where an event takes effect and to what, if it is at or below the version. No place means the beginning.
    fn effect(&self, event: &Event, version: &Version) -> Option<(Option<Version>, bool)> {
        let at = |text: &Option<String>| text.as_deref().and_then(|text| self.version(text));
        if event.introduced.as_deref() == Some("0") {
            return Some((None, true));
        }
        let introduced = at(&event.introduced).filter(|at| at <= version).map(|at| (Some(at), true));
        let fixed = || at(&event.fixed).filter(|at| at <= version).map(|at| (Some(at), false));
        let last = || at(&event.last_affected).filter(|at| at < version).map(|at| (Some(at), false));
        introduced.or_else(fixed).or_else(last)
    }

    fn version_ranges(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter().filter(|range| range.kind != RangeKind::Git)
    }

    fn version(&self, text: &str) -> Option<Version> {
        Version::parse(self.package.ecosystem()?, text).ok()
    }

    fn unreadable_version(&self) -> Option<&str> {
        self.package.ecosystem()?;
        let events = self.version_ranges().flat_map(|range| &range.events);
        let events = events.flat_map(|event| [&event.introduced, &event.fixed, &event.last_affected]).flatten();
        events.chain(&self.versions).find(|text| self.version(text).is_none()).map(String::as_str)
    }
}

impl Package {
    fn ecosystem(&self) -> Option<Ecosystem> {
        Ecosystem::from_name(&self.ecosystem)
    }

    /// The name as the ecosystem spells it.
    pub fn canonical_name(&self) -> String {
        self.ecosystem().map_or_else(|| self.name.clone(), |ecosystem| ecosystem.canonical_name(&self.name))
    }
}

impl Conditions {
    fn hold(&self, used: &Use<'_>) -> bool {
        let feature = self.features.is_empty() || self.features.iter().any(|feature| used.features.contains(feature));
        // A task that names no target is built for every one.
        let on =
            |os: &String| used.targets.is_empty() || used.targets.iter().any(|target| target.contains(os.as_str()));
        let mut systems = self.os.iter().chain(&self.affects.os).peekable();
        feature && (systems.peek().is_none() || systems.any(on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advisory(affected: &str) -> Advisory {
        let json = format!(
            r#"{{"id":"X-1","aliases":["CVE-1"],"affected":[{{"package":{{"ecosystem":"npm","name":"ws"}},{affected}}}]}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn concerns(advisory: &Advisory, version: &str) -> bool {
        concerns_with(advisory, version, &[], &[])
    }

    fn concerns_with(advisory: &Advisory, version: &str, features: &[&str], targets: &[&str]) -> bool {
        let version = Version::parse(Ecosystem::Npm, version).unwrap();
        let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
        advisory.concerns(&Use {
            ecosystem: Ecosystem::Npm,
            name: "ws",
            version: &version,
            features: &features.iter().map(|feature| (*feature).to_owned()).collect(),
            targets: &targets,
        })
    }

    #[test]
    fn several_ranges_have_a_fix_each() {
        let advisory = advisory(
            r#""ranges":[{"events":[{"introduced":"2.1.0"},{"fixed":"5.2.4"}]},
                         {"events":[{"introduced":"7.0.0"},{"fixed":"7.5.10"}]}]"#,
        );
        for (version, expected) in
            [("2.0.9", false), ("2.1.0", true), ("5.2.4", false), ("6.0.0", false), ("7.5.9", true), ("7.5.10", false)]
        {
            assert_eq!(concerns(&advisory, version), expected, "{version}");
        }
    }

    #[test]
    fn events_of_one_range_may_alternate_in_any_order() {
        let advisory = advisory(
            r#""ranges":[{"events":[{"introduced":"0"},{"introduced":"3.0.0"},{"fixed":"3.5.0"},{"fixed":"2.0.0"}]}]"#,
        );
        for (version, expected) in [("1.0.0", true), ("2.0.0", false), ("3.0.0", true), ("3.5.0", false)] {
            assert_eq!(concerns(&advisory, version), expected, "{version}");
        }
    }

    #[test]
    fn the_last_affected_version_is_affected() {
        let advisory = advisory(r#""ranges":[{"events":[{"introduced":"0"},{"last_affected":"2.0.1"}]}]"#);
        assert!(concerns(&advisory, "2.0.1"));
        assert!(!concerns(&advisory, "2.0.2"));
    }

    #[test]
    fn single_versions_are_affected_alone() {
        let advisory = advisory(r#""versions":["0.7.29","1.0.0"]"#);
        assert!(concerns(&advisory, "0.7.29"));
        assert!(!concerns(&advisory, "0.7.30"));
    }

    #[test]
    fn a_withdrawn_advisory_concerns_nobody() {
        let mut advisory = advisory(r#""ranges":[{"events":[{"introduced":"0"}]}]"#);
        assert!(concerns(&advisory, "1.0.0"));
        advisory.withdrawn = Some("2023-01-27".to_owned());
        assert!(!concerns(&advisory, "1.0.0"));
    }

    #[test]
    fn a_feature_or_an_operating_system_can_be_a_condition() {
        let all = r#""ranges":[{"events":[{"introduced":"0"}]}]"#;
        let feature = advisory(&format!(r#"{all},"ecosystem_specific":{{"features":["boring-tls"]}}"#));
        assert!(concerns_with(&feature, "1.0.0", &["boring-tls"], &[]));
        assert!(!concerns_with(&feature, "1.0.0", &["rustls"], &[]));
        let os = advisory(&format!(r#"{all},"ecosystem_specific":{{"os":["windows"]}}"#));
        assert!(concerns_with(&os, "1.0.0", &[], &["x86_64-pc-windows-msvc"]));
        assert!(concerns_with(&os, "1.0.0", &[], &[]));
        assert!(!concerns_with(&os, "1.0.0", &[], &["x86_64-unknown-linux-gnu"]));
    }

    #[test]
    fn an_advisory_is_read_as_its_database_wrote_it() {
        let advisory: Advisory = serde_json::from_str(
            r#"{"schema_version":"1.4.0","id":"RUSTSEC-1","modified":"2023-06-13","severity":[{"type":"CVSS_V3","score":"x"}],
                "affected":[
                    {"package":{"ecosystem":"Packagist","name":"a/b"},"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"dev"}]}]},
                    {"package":{"ecosystem":"npm","name":"ws","purl":"pkg:npm/ws"},
                     "ranges":[{"type":"GIT","repo":"r","events":[{"introduced":"0"},{"fixed":"6946f5f"}]},
                               {"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"2.0.0"},{"limit":"3.0.0"}]}],
                     "ecosystem_specific":{"affects":{"arch":[],"os":["windows"],"functions":[]}}}]}"#,
        )
        .unwrap();
        assert_eq!(advisory.unreadable_version(), None);
        assert!(concerns_with(&advisory, "1.0.0", &[], &["x86_64-pc-windows-gnu"]));
        assert!(!concerns_with(&advisory, "1.0.0", &[], &["x86_64-unknown-linux-gnu"]));
        assert!(!concerns_with(&advisory, "2.0.0", &[], &[]));
    }

    #[test]
    fn a_version_that_cannot_be_read_is_found() {
        let bad = advisory(r#""ranges":[{"events":[{"introduced":"0"},{"fixed":"soon"}]}]"#);
        assert_eq!(bad.unreadable_version(), Some("soon"));
    }
}
