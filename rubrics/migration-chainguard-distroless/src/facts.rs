//! `input/images.toml`: what is known about images and packages. The system under test sees the same file, so an answer
//! that relies on anything else was guessed.

use crate::reference::Reference;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    #[serde(rename = "schema_version")]
    _schema_version: SchemaVersion,
    #[serde(default, rename = "image")]
    images: Vec<Image>,
    #[serde(default)]
    pub(crate) packages: Packages,
}

/// The only version there is. Another number is refused when the file is read.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct SchemaVersion;

impl TryFrom<u32> for SchemaVersion {
    type Error = String;

    fn try_from(version: u32) -> Result<Self, String> {
        if version == 1 { Ok(Self) } else { Err(format!("schema_version is {version}, this rubric reads 1")) }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    name: String,
    /// For readers: what the image is meant for.
    #[serde(default, rename = "notes")]
    _notes: Vec<String>,
    #[serde(rename = "variant")]
    variants: Vec<Variant>,
}

/// One build of an image, under all of its tags.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub(crate) tags: Vec<String>,
    #[serde(default)]
    pub(crate) digest: Option<String>,
    /// The C library that programs in the image can rely on.
    pub(crate) libc: Libc,
    /// Who a container runs as: a number or a name.
    pub(crate) user: String,
    #[serde(default)]
    pub(crate) users: Vec<User>,
    #[serde(default)]
    pub(crate) entrypoint: Vec<String>,
    #[serde(default)]
    pub(crate) cmd: Vec<String>,
    #[serde(default = "root_dir")]
    pub(crate) workdir: String,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Empty: no shell.
    #[serde(default)]
    pub(crate) shells: Vec<String>,
    /// Missing: none.
    #[serde(default)]
    pub(crate) package_manager: Option<String>,
    /// Directories that belong to `user`.
    #[serde(default)]
    pub(crate) prepared_dirs: Vec<String>,
    /// Programs that can be started, with their paths.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    /// Installed packages that matter to somebody.
    #[serde(default)]
    pub(crate) packages: Vec<String>,
    /// Whether ports below 1024 can be opened without root.
    #[serde(default)]
    pub(crate) low_ports: bool,
    /// Empty: any.
    #[serde(default)]
    pub(crate) platforms: Vec<String>,
    #[serde(default)]
    pub(crate) stop_signal: Option<String>,
}

fn root_dir() -> String {
    "/".to_owned()
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Libc {
    Glibc,
    Musl,
    /// None at all: only static programs run.
    None,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    #[serde(rename = "gid")]
    _gid: u32,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Packages {
    /// Every apk package that can be installed, with the paths that it brings as far as they matter.
    #[serde(default)]
    pub(crate) apk: BTreeMap<String, Vec<String>>,
    /// For readers: the names of packages of another distribution, and what provides the same here.
    #[serde(default, rename = "apt_to_apk")]
    _apt_to_apk: BTreeMap<String, Vec<String>>,
}

/// What is known about a reference.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known<'a> {
    Variant(&'a Variant),
    /// The image is known, its tag or digest is not: it does not exist.
    NoSuchTag,
    /// Nothing is known about the image.
    Nothing,
}

impl Facts {
    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    pub(crate) fn find(&self, reference: &Reference) -> Known<'_> {
        let named: Vec<&Image> =
            self.images.iter().filter(|image| Reference::parse(&image.name).name == reference.name).collect();
        let variant = named.iter().flat_map(|image| &image.variants).find(|variant| variant.is(reference));
        match variant {
            Some(variant) => Known::Variant(variant),
            None if named.is_empty() => Known::Nothing,
            None => Known::NoSuchTag,
        }
    }
}

impl Variant {
    fn is(&self, reference: &Reference) -> bool {
        self.tags.contains(&reference.tag) && (reference.digest.is_none() || reference.digest == self.digest)
    }

    /// `scratch`: nothing at all, run as root because nobody else is there.
    pub(crate) fn scratch() -> Self {
        Self {
            tags: vec!["latest".to_owned()],
            digest: None,
            libc: Libc::None,
            user: "0".to_owned(),
            users: Vec::new(),
            entrypoint: Vec::new(),
            cmd: Vec::new(),
            workdir: root_dir(),
            env: BTreeMap::new(),
            shells: Vec::new(),
            package_manager: None,
            prepared_dirs: Vec::new(),
            programs: Vec::new(),
            packages: Vec::new(),
            low_ports: false,
            platforms: Vec::new(),
            stop_signal: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
schema_version = 1
[[image]]
name = "registry.example/run"
[[image.variant]]
tags = ["latest", "1"]
digest = "sha256:aa"
libc = "glibc"
user = "65532"
"#;

    #[test]
    fn a_tag_or_digest_that_is_not_listed_does_not_exist() {
        let facts = Facts::parse(TEXT).unwrap();
        let found = |text: &str| match facts.find(&Reference::parse(text)) {
            Known::Variant(_) => "variant",
            Known::NoSuchTag => "no such tag",
            Known::Nothing => "nothing",
        };
        let table = [
            ("registry.example/run", "variant"),
            ("registry.example/run:1@sha256:aa", "variant"),
            ("registry.example/run:2", "no such tag"),
            ("registry.example/run:1@sha256:bb", "no such tag"),
            ("other", "nothing"),
        ];
        for (text, expected) in table {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_key_or_version_that_is_not_known_is_refused() {
        assert!(Facts::parse("schema_version = 2").is_err());
        assert!(Facts::parse("schema_version = 1\nimagez = []").is_err());
        assert!(Facts::parse("").is_err());
    }
}
