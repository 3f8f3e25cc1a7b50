//! What `images.toml` says, and which of its images stands in for which.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Images {
    image: Vec<Image>,
    #[serde(default)]
    packages: Packages,
}

#[derive(Deserialize)]
pub(crate) struct Image {
    pub(crate) name: String,
    variant: Vec<Variant>,
}

#[derive(Deserialize)]
pub(crate) struct Variant {
    pub(crate) tags: Vec<String>,
    pub(crate) libc: String,
    pub(crate) user: String,
    #[serde(default)]
    pub(crate) users: Vec<User>,
    #[serde(default)]
    pub(crate) entrypoint: Vec<String>,
    #[serde(default)]
    pub(crate) shells: Vec<String>,
    package_manager: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

#[derive(Default, Deserialize)]
struct Packages {
    #[serde(default)]
    apt_to_apk: BTreeMap<String, Vec<String>>,
}

impl Images {
    /// The image whose name ends in `/<family>`.
    pub(crate) fn named(&self, family: &str) -> Option<&Image> {
        self.image.iter().find(|image| image.name.rsplit('/').next() == Some(family) && image.name.contains('/'))
    }

    /// What a Debian package is called here; an unknown one keeps its name.
    pub(crate) fn apk_names(&self, package: &str) -> Vec<String> {
        self.packages.apt_to_apk.get(package).cloned().unwrap_or_else(|| vec![package.to_owned()])
    }
}

impl Image {
    /// The variant to ship: the first without a package manager.
    pub(crate) fn runtime(&self) -> Option<&Variant> {
        self.variant.iter().find(|variant| variant.package_manager.is_none())
    }

    /// The variant to build with: the first with a shell and, if it is needed, a package manager.
    pub(crate) fn build(&self, installs_packages: bool) -> Option<&Variant> {
        let fits = |variant: &&Variant| !installs_packages || variant.package_manager.is_some();
        self.variant.iter().filter(|variant| !variant.shells.is_empty()).find(fits)
    }

    /// The variant to install dependencies with: the first with everything.
    pub(crate) fn development(&self) -> Option<&Variant> {
        self.build(true).or_else(|| self.build(false))
    }
}

impl Variant {
    pub(crate) fn runs_as_root(&self) -> bool {
        is_root(&self.user)
    }

    /// Whether `USER` or `--chown` with this name or number means somebody here.
    pub(crate) fn knows(&self, user: &str) -> bool {
        user.starts_with(|c: char| c.is_ascii_digit()) || self.users.iter().any(|known| known.name == user)
    }

    /// The owner to give files to, by number.
    pub(crate) fn owner(&self) -> String {
        self.users.first().map_or_else(|| self.user.clone(), |user| format!("{}:{}", user.uid, user.gid))
    }
}

pub(crate) fn is_root(user: &str) -> bool {
    matches!(user.split(':').next(), Some("0" | "root"))
}

/// What kind of image a reference is, by the names that such images have here.
pub(crate) fn family(reference: &str, builds_go: bool) -> String {
    let (name, tag) = reference.split_once(':').unwrap_or((reference, ""));
    let name = name.split('@').next().unwrap_or(name);
    let last = name.rsplit('/').next().unwrap_or(name);
    let family = match last {
        "golang" => "go",
        "eclipse-temurin" | "openjdk" | "amazoncorretto" => {
            if tag.contains("jre") {
                "jre"
            } else {
                "jdk"
            }
        }
        "sdk" if name.contains("dotnet") => "dotnet-sdk",
        "runtime" if name.contains("dotnet") => "dotnet-runtime",
        "aspnet" if name.contains("dotnet") => "aspnet-runtime",
        _ if is_plain_system(name, last) => {
            if builds_go {
                "static"
            } else {
                "glibc-dynamic"
            }
        }
        other => other,
    };
    family.to_owned()
}

/// An image that brings a program nothing but a system to run on.
fn is_plain_system(name: &str, last: &str) -> bool {
    matches!(last, "debian" | "ubuntu" | "alpine" | "busybox" | "scratch") || name.contains("distroless/")
}
