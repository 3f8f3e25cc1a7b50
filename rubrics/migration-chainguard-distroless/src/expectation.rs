//! `expected/verdict.toml`: which answers are accepted. The README of the bench is its reference.

use crate::facts::SchemaVersion;
use crate::filesystem::{Linkage, Making};
use crate::image::{Port, ports};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    #[serde(rename = "schema_version")]
    _schema_version: SchemaVersion,
    /// For readers: why these answers.
    #[serde(default, rename = "why")]
    _why: String,
    pub(crate) accept: BTreeSet<Accepted>,
    #[serde(default)]
    pub(crate) decline_reasons: BTreeSet<Reason>,
    #[serde(default = "dockerfile")]
    pub(crate) dockerfile: String,
    /// Paths that a patch may touch; none given: the Dockerfile and `.dockerignore`.
    #[serde(default)]
    pub(crate) may_change: Vec<String>,
    /// Paths that are tests, besides the usual ones.
    #[serde(default)]
    pub(crate) tests: Vec<String>,
    #[serde(default, rename = "final")]
    pub(crate) last: Option<Last>,
    #[serde(default)]
    pub(crate) build: Build,
    #[serde(default, rename = "artifact")]
    pub(crate) artifacts: Vec<Artifact>,
    #[serde(default, rename = "file")]
    pub(crate) files: Vec<FileRule>,
}

fn dockerfile() -> String {
    "Dockerfile".to_owned()
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Accepted {
    Patch,
    Decline,
}

/// Why a migration is declined.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    AlreadyMigrated,
    ContradictoryRequirements,
    IncompatibleLibc,
    MissingPackage,
    NeedsRootAtRuntime,
    NeedsShellAtRuntime,
    NoEquivalentImage,
    PlatformNotAvailable,
    VersionNotAvailable,
}

/// What the last stage must be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Last {
    /// `name:tag`, with `*` for anything.
    pub(crate) images: Vec<String>,
    #[serde(default)]
    pub(crate) root: bool,
    /// Accepted users; none given: any that is not root.
    #[serde(default)]
    pub(crate) users: Vec<String>,
    /// The ways to start the service; none given: not judged.
    #[serde(default)]
    pub(crate) commands: Vec<Vec<String>>,
    /// Exactly these ports; not given: those of the Dockerfile before.
    #[serde(default)]
    pub(crate) ports: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) workdirs: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) volumes: Option<BTreeSet<String>>,
    #[serde(default)]
    pub(crate) health_check: HealthRule,
    #[serde(default)]
    pub(crate) health_commands: Vec<Vec<String>>,
    /// Paths that the process writes to.
    #[serde(default)]
    pub(crate) writable: Vec<String>,
    /// Variables that must have this value.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Variables of the Dockerfile before that need not be kept.
    #[serde(default)]
    pub(crate) may_drop_env: Vec<String>,
    #[serde(default)]
    pub(crate) may_drop_labels: Vec<String>,
    /// The version in the path of a folder of gems; not given: any.
    #[serde(default)]
    pub(crate) ruby_abi: Option<String>,
    #[serde(default, rename = "file")]
    pub(crate) files: Vec<InImage>,
    #[serde(default, rename = "package")]
    pub(crate) packages: Vec<AnyPackage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HealthRule {
    Required,
    #[default]
    Optional,
    Absent,
}

/// A file of the input that must be in the image.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InImage {
    pub(crate) input: String,
    /// Where; not given: anywhere.
    #[serde(default)]
    pub(crate) at: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnyPackage {
    pub(crate) any_of: Vec<String>,
}

/// What the stages before the last one must be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    /// Images that any stage may use, `name:tag` with `*` for anything; none given: any.
    #[serde(default)]
    pub(crate) images: Vec<String>,
    #[serde(default, rename = "package")]
    pub(crate) packages: Vec<AnyPackage>,
}

/// Something that a command makes and the image needs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    pub(crate) name: String,
    /// The commands that can make it: the program and words that follow it.
    pub(crate) commands: Vec<String>,
    /// Where it is needed; not given: anywhere.
    #[serde(default)]
    pub(crate) at: Option<String>,
    /// How it must be linked; not given: not judged, but for what the image can run.
    #[serde(default)]
    pub(crate) linkage: Option<RequiredLinkage>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequiredLinkage {
    Static,
    Dynamic,
}

impl Artifact {
    /// Whether a command makes this artifact.
    pub(crate) fn is_made_by(&self, making: &Making) -> bool {
        let linkage = match self.linkage {
            Some(RequiredLinkage::Static) => making.linkage == Linkage::Static,
            Some(RequiredLinkage::Dynamic) => making.linkage == Linkage::Dynamic,
            None => true,
        };
        linkage && self.commands.iter().any(|command| making.is(command))
    }
}

/// Lines of a file after the patch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRule {
    pub(crate) path: String,
    /// Of each group at least one line is there. Blanks are compared as one.
    #[serde(default)]
    pub(crate) has_one_of: Vec<Vec<String>>,
    /// None of these lines is there.
    #[serde(default)]
    pub(crate) has_none_of: Vec<String>,
}

impl Expectation {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expectation: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        expectation.check().map_err(str::to_owned)?;
        Ok(expectation)
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.accept.is_empty() {
            return Err("`accept` is empty: name `patch`, `decline` or both");
        }
        if self.accepts(Accepted::Patch) != self.last.is_some() {
            return Err("`[final]` must be there if and only if `accept` has `patch`");
        }
        if self.accepts(Accepted::Decline) == self.decline_reasons.is_empty() {
            return Err("`decline_reasons` must be there if and only if `accept` has `decline`");
        }
        self.last.as_ref().map_or(Ok(()), Last::check)
    }

    pub(crate) fn accepts(&self, answer: Accepted) -> bool {
        self.accept.contains(&answer)
    }

    /// The patterns of paths that a patch may touch.
    pub(crate) fn changeable(&self) -> Vec<&str> {
        if self.may_change.is_empty() {
            vec![&self.dockerfile, ".dockerignore"]
        } else {
            self.may_change.iter().map(String::as_str).collect()
        }
    }
}

impl Last {
    fn check(&self) -> Result<(), &'static str> {
        if self.images.is_empty() {
            return Err("`final.images` is empty: name the images that are accepted");
        }
        if self.ports.iter().flatten().any(|port| ports(port).is_none()) {
            return Err("`final.ports` has something that is no port");
        }
        Ok(())
    }

    pub(crate) fn ports(&self) -> Option<BTreeSet<Port>> {
        self.ports.as_ref().map(|words| words.iter().filter_map(|word| ports(word)).flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "schema_version = 1\naccept = [\"patch\"]\n[final]\nimages = [\"a:b\"]\n";

    #[test]
    fn the_smallest_expectations_are_read() {
        assert_eq!(Expectation::parse(PATCH).map(|read| read.dockerfile), Ok("Dockerfile".to_owned()));
        let decline = "schema_version = 1\naccept = [\"decline\"]\ndecline_reasons = [\"already_migrated\"]\n";
        assert!(Expectation::parse(decline).is_ok());
    }

    #[test]
    fn an_expectation_that_contradicts_itself_is_refused() {
        let wrong = [
            "schema_version = 1\naccept = []\n",
            "schema_version = 1\naccept = [\"patch\"]\n",
            "schema_version = 1\naccept = [\"decline\"]\n",
            "schema_version = 1\naccept = [\"decline\"]\ndecline_reasons = [\"tired\"]\n",
            "schema_version = 2\naccept = [\"patch\"]\n[final]\nimages = [\"a\"]\n",
            "schema_version = 1\naccept = [\"patch\"]\n[final]\nimages = []\n",
            "schema_version = 1\naccept = [\"patch\"]\n[final]\nimages = [\"a\"]\nports = [\"http\"]\n",
            "schema_version = 1\naccept = [\"patch\"]\nunknown = 1\n[final]\nimages = [\"a\"]\n",
        ];
        for text in wrong {
            assert!(Expectation::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_list_the_dockerfile_and_the_ignore_file_may_change() {
        let read = Expectation::parse(PATCH).unwrap();
        assert_eq!(read.changeable(), ["Dockerfile", ".dockerignore"]);
    }
}
