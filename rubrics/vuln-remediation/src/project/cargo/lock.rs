//! `Cargo.lock`: which version of each package is built.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Table;

use super::super::{Project, ProjectError};
use crate::registry::{Dependency, Registry};
use crate::version::{Ecosystem, Requirement, Version};

pub(super) struct Lock {
    pub(super) packages: Vec<Locked>,
    /// Where the packages of a name are in the list.
    by_name: BTreeMap<String, Vec<usize>>,
    pub(super) rest: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Locked {
    pub(super) name: String,
    pub(super) version: String,
    /// Missing for the package itself and for path dependencies.
    pub(super) source: Option<String>,
    pub(super) checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

#[derive(Deserialize)]
struct RawLock {
    #[serde(default, rename = "package")]
    packages: Vec<Locked>,
    #[serde(flatten)]
    rest: Table,
}

impl Locked {
    pub(super) fn parsed(&self) -> Option<Version> {
        Version::parse(Ecosystem::CratesIo, &self.version).ok()
    }

    /// What nobody changes who leaves the version as it is. The dependencies are not in it: which ones are listed depends
    /// on enabled features.
    pub(super) fn remainder(&self) -> String {
        format!("{:?} {:?}", self.source, self.checksum)
    }
}

impl Lock {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ProjectError> {
        let raw: RawLock = toml::from_str(text).map_err(|error| ProjectError::unreadable(path, error.message()))?;
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, package) in raw.packages.iter().enumerate() {
            by_name.entry(package.name.clone()).or_default().push(index);
        }
        let lock = Self { packages: raw.packages, by_name, rest: format!("{:?}", raw.rest) };
        for package in &lock.packages {
            if let Some(missing) = package.dependencies.iter().find(|text| lock.index_of(text).is_none()) {
                let what = format!("`{}` depends on `{missing}`, which it does not list once", package.name);
                return Err(ProjectError::unreadable(path, what));
            }
        }
        Ok(lock)
    }

    /// The one package that a dependency line means: `name`, `name version` or `name version (source)`.
    fn index_of(&self, line: &str) -> Option<usize> {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next());
        let is_meant = |index: &&usize| version.is_none_or(|version| self.packages[**index].version == version);
        let mut meant = self.by_name.get(name)?.iter().filter(is_meant).copied();
        match (meant.next(), meant.next()) {
            (Some(index), None) => Some(index),
            _ => None,
        }
    }

    /// The packages that a package was resolved to depend on.
    pub(super) fn chosen<'a>(&'a self, package: &'a Locked) -> impl Iterator<Item = usize> + 'a {
        package.dependencies.iter().filter_map(|line| self.index_of(line))
    }

    /// Every entry serves the root, and what is not the project's own comes from somewhere.
    pub(super) fn check_entries(&self, root: &str, own: &BTreeSet<&str>, project: &mut Project) {
        let is_root = |p: &Locked| p.source.is_none() && p.name == root;
        let mut waiting: Vec<usize> = self.packages.iter().position(is_root).into_iter().collect();
        let mut reached: BTreeSet<usize> = waiting.iter().copied().collect();
        while let Some(index) = waiting.pop() {
            waiting.extend(self.chosen(&self.packages[index]).filter(|next| reached.insert(*next)));
        }
        for package in self.packages.iter().filter(|package| package.source.is_none() && package.checksum.is_some()) {
            project.mismatch(format!("`{}` of the lock file has a checksum and no source", package.name));
        }
        let is_foreign = |package: &&Locked| package.name != root && !own.contains(package.name.as_str());
        for package in self.packages.iter().filter(|package| package.source.is_none()).filter(is_foreign) {
            project.mismatch(format!("`{}` of the lock file has no source", package.name));
        }
        for (_, package) in self.packages.iter().enumerate().filter(|(index, _)| !reached.contains(index)) {
            project.mismatch(format!("`{} {}` of the lock file serves nobody", package.name, package.version));
        }
    }

    /// A package lists what its release depends on, with versions that its requirements admit.
    pub(super) fn check_against_registry(&self, registry: &Registry, project: &mut Project) {
        for package in self.packages.iter().filter(|package| package.source.is_some()) {
            let release = package.parsed().and_then(|version| registry.release(&package.name, &version));
            let Some(declared) = release.and_then(|release| release.dependencies.as_ref()) else { continue };
            if let Some(what) = self.difference(package, declared) {
                project.mismatch(format!("`{} {}` of the lock file {what}", package.name, package.version));
            }
        }
    }

    fn difference(&self, package: &Locked, declared: &[Dependency]) -> Option<String> {
        let chosen: Vec<&Locked> = self.chosen(package).map(|index| &self.packages[index]).collect();
        let undeclared = chosen.iter().find(|locked| !declared.iter().any(|d| d.name == locked.name));
        if let Some(locked) = undeclared {
            return Some(format!("depends on `{}`, which its release does not", locked.name));
        }
        declared.iter().find_map(|dependency| {
            let mut versions = chosen.iter().filter(|locked| locked.name == dependency.name).peekable();
            if versions.peek().is_none() {
                return (!dependency.optional).then(|| format!("lacks its dependency `{}`", dependency.name));
            }
            let requirement = Requirement::parse(Ecosystem::CratesIo, &dependency.requirement)?;
            let admitted = |locked: &&&Locked| locked.parsed().is_some_and(|version| requirement.admits(&version));
            let none = !versions.any(|locked| admitted(&&&**locked));
            none.then(|| format!("needs `{} {}`", dependency.name, dependency.requirement))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
[[package]]
name = "a"
version = "1.0.0"
dependencies = ["b 0.2.0"]

[[package]]
name = "b"
version = "0.1.0"
source = "registry"

[[package]]
name = "b"
version = "0.2.0"
source = "registry"
"#;

    #[test]
    fn a_line_with_a_version_means_that_one() {
        let lock = Lock::parse("Cargo.lock", TWO).unwrap();
        assert_eq!(lock.chosen(&lock.packages[0]).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_line_that_means_none_or_two_packages_cannot_be_read() {
        for line in ["b", "c", "b 0.3.0"] {
            assert!(Lock::parse("Cargo.lock", &TWO.replace("b 0.2.0", line)).is_err(), "{line}");
        }
    }

    #[test]
    fn what_nobody_depends_on_is_named() {
        let mut project = Project::default();
        Lock::parse("Cargo.lock", TWO).unwrap().check_entries("a", &BTreeSet::new(), &mut project);
        assert_eq!(project.problems.len(), 1);
    }
}
