//! What a manifest asks for: npm ranges, Cargo requirements, PEP 440 specifiers, and exact versions elsewhere.

mod cargo;
mod comparator;
mod npm;
mod specifier;

use super::{Ecosystem, Order, Version};

/// A set of versions, as the ecosystem's manifests write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Any of the alternatives, each of which is a set of comparators that must all hold.
    Comparators(Vec<comparator::ComparatorSet>),
    Specifiers(Vec<specifier::Specifier>),
    Exactly(Version),
}

impl Requirement {
    /// Reads a requirement. `None` if the ecosystem has no such requirement, or if it names something that is not a
    /// version, such as a tag, a path or a repository.
    pub fn parse(ecosystem: Ecosystem, text: &str) -> Option<Self> {
        let kind = match ecosystem {
            Ecosystem::Npm => Kind::Comparators(npm::parse(text)?),
            Ecosystem::CratesIo => Kind::Comparators(vec![cargo::parse(text)?]),
            Ecosystem::PyPi => Kind::Specifiers(specifier::parse(text)?),
            Ecosystem::Go | Ecosystem::Maven => Kind::Exactly(Version::parse(ecosystem, text).ok()?),
        };
        Some(Self { text: text.to_owned(), kind })
    }

    /// The requirement as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a version is in the set.
    pub fn admits(&self, version: &Version) -> bool {
        match (&self.kind, &version.order) {
            (Kind::Comparators(sets), Order::Semver(version)) => sets.iter().any(|set| set.admits(version)),
            (Kind::Specifiers(specifiers), Order::Pep440(v)) => {
                specifiers.iter().all(|specifier| specifier.admits(v, version.text()))
            }
            (Kind::Exactly(exact), _) => exact == version,
            (Kind::Comparators(_) | Kind::Specifiers(_), _) => false,
        }
    }

    /// Whether the requirement itself speaks of a pre-release, and so admits them.
    pub fn names_pre_release(&self) -> bool {
        match &self.kind {
            Kind::Comparators(sets) => sets.iter().any(comparator::ComparatorSet::names_pre_release),
            Kind::Specifiers(specifiers) => specifiers.iter().any(specifier::Specifier::names_pre_release),
            Kind::Exactly(version) => version.is_pre_release(),
        }
    }

    /// Whether the requirement is one exact version.
    pub fn is_exact(&self) -> bool {
        match &self.kind {
            Kind::Comparators(sets) => sets.len() == 1 && sets[0].is_exact(),
            Kind::Specifiers(specifiers) => specifiers.iter().any(specifier::Specifier::is_exact),
            Kind::Exactly(_) => true,
        }
    }
}
