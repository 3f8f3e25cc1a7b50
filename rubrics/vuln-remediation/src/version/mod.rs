//! Versions, each compared by the rules of its own ecosystem.
//!
//! Nothing here knows about advisories or registries. Two versions of different ecosystems are never compared by any
//! caller; their order exists only because `Ord` is total.

mod maven;
mod pep440;
mod requirement;
mod semver;

use std::cmp::Ordering;
use std::fmt;

use serde::Deserialize;

pub use requirement::Requirement;

/// A package ecosystem, by the name that OSV gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Ecosystem {
    #[serde(rename = "npm")]
    Npm,
    #[serde(rename = "PyPI")]
    PyPi,
    #[serde(rename = "crates.io")]
    CratesIo,
    Go,
    Maven,
}

impl Ecosystem {
    /// The ecosystem of that name in OSV, which may have a registry's address after a colon.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.split(':').next().unwrap_or(name) {
            "npm" => Some(Self::Npm),
            "PyPI" => Some(Self::PyPi),
            "crates.io" => Some(Self::CratesIo),
            "Go" => Some(Self::Go),
            "Maven" => Some(Self::Maven),
            _ => None,
        }
    }

    /// The one spelling of a package's name: PyPI treats `Foo_Bar` and `foo-bar` as the same package.
    pub fn canonical_name(self, name: &str) -> String {
        match self {
            Self::PyPi => pep440::canonical_name(name),
            Self::Npm | Self::CratesIo | Self::Go | Self::Maven => name.to_owned(),
        }
    }
}

/// A version of a package. Equality is the ecosystem's: `1.0` and `1.0.0` are the same version on PyPI and in Maven.
#[derive(Debug, Clone)]
pub struct Version {
    text: String,
    order: Order,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Semver(semver::Semver),
    Pep440(pep440::Pep440),
    Maven(maven::MavenVersion),
}

/// A text that is no version in its ecosystem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version of {ecosystem:?}")]
pub struct VersionError {
    pub text: String,
    pub ecosystem: Ecosystem,
}

/// The versions among which an upgrade is meant to be compatible, such as a major version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line(Vec<u64>);

impl Version {
    /// Reads a version as its ecosystem writes it. Missing minor and patch numbers are zero, as advisories write them so.
    ///
    /// # Errors
    ///
    /// [`VersionError`] if the ecosystem has no such version.
    pub fn parse(ecosystem: Ecosystem, text: &str) -> Result<Self, VersionError> {
        let order = match ecosystem {
            Ecosystem::Npm | Ecosystem::CratesIo | Ecosystem::Go => semver::Semver::parse(text).map(Order::Semver),
            Ecosystem::PyPi => pep440::Pep440::parse(text).map(Order::Pep440),
            Ecosystem::Maven => maven::MavenVersion::parse(text).map(Order::Maven),
        };
        match order {
            Some(order) => Ok(Self { text: text.to_owned(), order }),
            None => Err(VersionError { text: text.to_owned(), ecosystem }),
        }
    }

    /// The version as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the version is meant to be tried rather than used.
    pub fn is_pre_release(&self) -> bool {
        match &self.order {
            Order::Semver(version) => version.is_pre_release(),
            Order::Pep440(version) => version.is_pre_release(),
            Order::Maven(version) => version.is_pre_release(),
        }
    }

    /// The line of compatible versions that this one belongs to: the first number, and the second where the first is 0.
    pub fn line(&self) -> Line {
        let numbers = match &self.order {
            Order::Semver(version) => version.numbers().to_vec(),
            Order::Pep440(version) => version.numbers().to_vec(),
            Order::Maven(version) => version.numbers(),
        };
        let kept = if numbers.first() == Some(&0) { 2 } else { 1 };
        Line(numbers.into_iter().take(kept).collect())
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ecosystem: Ecosystem, text: &str) -> Vec<u64> {
        Version::parse(ecosystem, text).unwrap().line().0
    }

    #[test]
    fn a_line_is_the_major_version_or_below_one_the_minor() {
        assert_eq!(line(Ecosystem::Npm, "7.5.9"), [7]);
        assert_eq!(line(Ecosystem::CratesIo, "0.23.13"), [0, 23]);
        assert_eq!(line(Ecosystem::PyPi, "2023.7.22"), [2023]);
        assert_eq!(line(Ecosystem::Maven, "32.0.1-jre"), [32]);
        assert_eq!(line(Ecosystem::Go, "v0.17.0"), [0, 17]);
    }

    #[test]
    fn a_text_that_is_no_version_is_an_error_that_names_it() {
        let error = Version::parse(Ecosystem::Npm, "latest").unwrap_err();
        assert_eq!(error.to_string(), "`latest` is not a version of Npm");
    }

    #[test]
    fn only_pypi_folds_names() {
        assert_eq!(Ecosystem::PyPi.canonical_name("Foo.Bar_baz"), "foo-bar-baz");
        assert_eq!(Ecosystem::Npm.canonical_name("@Scope/Name"), "@Scope/Name");
    }
}
