//! What a project depends on: its manifests and lock files, read and resolved as its package manager would.
//!
//! Each ecosystem has a reader of its own, and all of them end in the same [`Project`]. A reader says what is there and
//! whether it holds together; it never judges whether that is an improvement.

mod cargo;
mod formats;
mod go;
mod maven;
mod npm;
mod pypi;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::registry::Registry;
use crate::tree::Tree;
use crate::version::{Ecosystem, Version, VersionError};

/// A project with its dependencies resolved.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// Every package version that the project gets, with where it is installed.
    pub packages: Vec<Rc<Package>>,
    /// Those that the project before the patch does not have exactly so.
    pub came: Vec<Rc<Package>>,
    /// Those that only the project before the patch has exactly so.
    pub gone: Vec<Rc<Package>>,
    /// What the project itself asks for: a label such as `dependencies/ws` or `overrides/ws`, and the requirement.
    pub requests: BTreeMap<String, Request>,
    /// What does not hold together.
    pub problems: Vec<Problem>,
    /// What the dependency files say besides dependencies, by a label. Nobody fixing a dependency has reason to change it.
    remainder: BTreeMap<String, String>,
    /// The same, where the project before the patch says something else under that label.
    pub altered: BTreeMap<String, String>,
    /// What entries of a lock file are, wherever they come from, by a label: under which marker, with which dependencies.
    pub natures: BTreeMap<String, String>,
    /// The files that were read: changes to them are judged by what they mean, not line by line.
    pub files: BTreeSet<String>,
    /// What npm's projects share.
    lock: Option<Rc<npm::Lock>>,
}

/// A package version that the project gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: Version,
    /// Enabled features, where the ecosystem has them.
    pub features: BTreeSet<String>,
    /// What the lock file says about the package's bytes.
    pub checksums: Vec<String>,
    /// Where the lock file says that the package comes from, with the parts that follow from its name and version left
    /// out. Empty where it says nothing.
    pub origins: BTreeSet<String>,
}

impl std::fmt::Display for Package {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{} {}`", self.name, self.version)
    }
}

/// A requirement that the project states itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub package: String,
    pub requirement: String,
    /// What else the request says: features, extras, a marker, exclusions.
    pub options: String,
}

/// Something in a project that its package manager would not accept, or would silently change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The lock file is not the one that belongs to the manifest.
    LockMismatch(String),
    /// The manifest contradicts itself.
    InvalidManifest(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::LockMismatch(what) | Self::InvalidManifest(what)) = self;
        f.write_str(what)
    }
}

/// A project whose files cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    #[error("`{path}` is missing")]
    Missing { path: String },
    #[error("`{path}` is a {format}, which is not supported: use {instead}")]
    Unsupported { path: String, format: &'static str, instead: &'static str },
    #[error("`{path}` cannot be read: {what}")]
    Unreadable { path: String, what: String },
}

/// What is wrong with a text that should be XML.
pub fn xml_problem(text: &str) -> Option<String> {
    maven::xml_problem(text)
}

/// Reads and resolves a project, and compares it with the one before the patch, if there is one. Of a large one only what
/// the patch changes is read anew.
///
/// # Errors
///
/// [`ProjectError`] if there is no telling what the project depends on.
pub fn read(
    ecosystem: Ecosystem,
    tree: &Tree,
    registry: &Registry,
    before: Option<&Project>,
) -> Result<Project, ProjectError> {
    formats::refuse_unsupported(ecosystem, tree)?;
    let mut project = match ecosystem {
        Ecosystem::Npm => npm::read(tree, registry, before),
        Ecosystem::CratesIo => cargo::read(tree, registry),
        Ecosystem::PyPi => pypi::read(tree, registry),
        Ecosystem::Go => go::read(tree, registry),
        Ecosystem::Maven => maven::read(tree, registry),
    }?;
    if let Some(before) = before {
        project.compare(before);
    }
    Ok(project)
}

impl Project {
    fn compare(&mut self, before: &Self) {
        let is_altered =
            |(label, text): &(&String, &String)| before.remainder.get(*label).is_some_and(|was| was != *text);
        let altered = self.remainder.iter().filter(is_altered);
        self.altered = altered.map(|(label, text)| (label.clone(), text.clone())).collect();
        match (self.lock.clone(), &before.lock) {
            (Some(lock), Some(old)) => lock.compare(old, self),
            _ => {
                self.came = beyond(&self.packages, &before.packages);
                self.gone = beyond(&before.packages, &self.packages);
            }
        }
    }

    /// The packages of some names.
    pub fn named<'a>(&'a self, names: &BTreeSet<&str>) -> BTreeMap<&'a str, Vec<&'a Package>> {
        let mut named: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
        for package in self.packages.iter().filter(|package| names.contains(package.name.as_str())) {
            named.entry(&package.name).or_default().push(package);
        }
        named
    }

    fn mismatch(&mut self, what: impl Into<String>) {
        self.problems.push(Problem::LockMismatch(what.into()));
    }

    fn invalid(&mut self, what: impl Into<String>) {
        self.problems.push(Problem::InvalidManifest(what.into()));
    }

    fn request(&mut self, label: String, package: &str, requirement: &str, options: &str) {
        let [package, requirement, options] = [package, requirement, options].map(str::to_owned);
        self.requests.insert(label, Request { package, requirement, options });
    }
}

impl Package {
    /// All that a lock file says of a package.
    fn facts(&self) -> impl Ord + '_ {
        (&self.name, self.version.text(), &self.origins, &self.checksums, &self.features)
    }
}

/// The packages of a list that another one does not have exactly so.
fn beyond(packages: &[Rc<Package>], other: &[Rc<Package>]) -> Vec<Rc<Package>> {
    let known: BTreeSet<_> = other.iter().map(|package| package.facts()).collect();
    packages.iter().filter(|package| !known.contains(&package.facts())).cloned().collect()
}

impl ProjectError {
    fn unreadable(path: &str, what: impl std::fmt::Display) -> Self {
        Self::Unreadable { path: path.to_owned(), what: what.to_string() }
    }

    fn version(path: &str) -> impl Fn(VersionError) -> Self + '_ {
        move |error| Self::unreadable(path, error)
    }
}

fn required<'a>(tree: &'a Tree, path: &str) -> Result<&'a str, ProjectError> {
    tree.text(path).ok_or_else(|| ProjectError::Missing { path: path.to_owned() })
}
