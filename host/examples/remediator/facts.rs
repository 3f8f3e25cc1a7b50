//! What the bench says: the task, the advisories and the excerpt of the registry.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::shared::{Files, required};
use crate::version::Version;

pub(crate) struct Facts {
    pub(crate) task: Task,
    advisories: Vec<Advisory>,
    registry: Registry,
}

#[derive(Deserialize)]
pub(crate) struct Task {
    pub(crate) ecosystem: Ecosystem,
    pub(crate) advisories: Vec<String>,
    pub(crate) policy: Policy,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Ecosystem {
    #[serde(rename = "npm")]
    Npm,
    PyPI,
    #[serde(rename = "crates.io")]
    CratesIo,
    Go,
    Maven,
}

#[derive(Deserialize)]
pub(crate) struct Policy {
    #[serde(default)]
    pub(crate) pre_releases: bool,
}

#[derive(Deserialize)]
pub(crate) struct Advisory {
    id: String,
    withdrawn: Option<String>,
    affected: Vec<Affected>,
}

#[derive(Deserialize)]
struct Affected {
    package: Package,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
struct Range {
    events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Introduced(String),
    Fixed(String),
    LastAffected(String),
}

#[derive(Deserialize)]
struct Registry {
    packages: BTreeMap<String, BTreeMap<String, Release>>,
}

#[derive(Deserialize)]
pub(crate) struct Release {
    #[serde(default)]
    pub(crate) yanked: bool,
    #[serde(default)]
    pub(crate) checksums: Vec<String>,
}

fn parsed<T: DeserializeOwned>(files: &Files, path: &str) -> anyhow::Result<T> {
    serde_json::from_str(required(files, path)?).with_context(|| path.to_owned())
}

impl Facts {
    pub(crate) fn read(files: &Files) -> anyhow::Result<Self> {
        Ok(Self {
            task: parsed(files, "task.json")?,
            advisories: parsed(files, "advisories.json")?,
            registry: parsed(files, "registry.json")?,
        })
    }

    /// Every advisory that still stands.
    pub(crate) fn known(&self) -> impl Iterator<Item = &Advisory> {
        self.advisories.iter().filter(|advisory| advisory.withdrawn.is_none())
    }

    /// Those of them that the task asks about.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Advisory> {
        self.known().filter(|advisory| self.task.advisories.contains(&advisory.id))
    }

    /// The packages that the task's advisories are about.
    pub(crate) fn asked_packages(&self) -> BTreeSet<&str> {
        self.asked().flat_map(|advisory| &advisory.affected).map(|affected| affected.package.name.as_str()).collect()
    }

    /// Whether an advisory is about this version of this package.
    pub(crate) fn concerns(&self, advisory: &Advisory, package: &str, version: &str) -> bool {
        let of_package = |affected: &&Affected| self.same_name(&affected.package.name, package);
        let mut affected = advisory.affected.iter().filter(of_package);
        affected.any(|affected| {
            affected.versions.iter().any(|single| single == version)
                || affected.ranges.iter().any(|range| range.contains(&Version::parse(version)))
        })
    }

    /// The releases of a package that exist, with their versions.
    pub(crate) fn releases(&self, package: &str) -> impl Iterator<Item = (&str, &Release)> {
        let of_package = move |(name, _): &(&String, _)| self.same_name(name, package);
        let releases = self.registry.packages.iter().filter(of_package).flat_map(|(_, releases)| releases);
        releases.map(|(version, release)| (version.as_str(), release))
    }

    pub(crate) fn release(&self, package: &str, version: &str) -> Option<&Release> {
        self.releases(package).find(|(known, _)| *known == version).map(|(_, release)| release)
    }

    /// Python's package index does not tell case, `-`, `_` and `.` apart.
    pub(crate) fn same_name(&self, left: &str, right: &str) -> bool {
        let normal = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
        left == right || self.task.ecosystem == Ecosystem::PyPI && normal(left) == normal(right)
    }
}

impl Range {
    /// The events of a range are in the order of their versions.
    fn contains(&self, version: &Version) -> bool {
        self.events.iter().fold(false, |inside, event| match event {
            Event::Introduced(from) => inside || Version::parse(from) <= *version,
            Event::Fixed(at) => inside && *version < Version::parse(at),
            Event::LastAffected(last) => inside && *version <= Version::parse(last),
        })
    }
}
