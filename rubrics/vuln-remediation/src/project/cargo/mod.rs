//! crates.io: `Cargo.toml` of one package and its `Cargo.lock`.
//!
//! What is built is what the lock file says. It is checked against the manifest and, as far as the registry excerpt goes,
//! against what each release depends on. Features are resolved as far as the excerpt lists them, because an advisory may
//! be about one feature only.

mod features;
mod lock;
mod manifest;

use std::rc::Rc;

use self::lock::Lock;
use self::manifest::Manifest;
use super::{Package, Project, ProjectError, required};
use crate::registry::Registry;
use crate::tree::Tree;
use crate::version::Requirement;
use crate::version::{Ecosystem, Version};

const MANIFEST: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";

pub(super) fn read(tree: &Tree, registry: &Registry) -> Result<Project, ProjectError> {
    let manifest = Manifest::parse(MANIFEST, required(tree, MANIFEST)?)?;
    let lock = Lock::parse(LOCK, required(tree, LOCK)?)?;
    let mut project = Project::default();
    project.files.extend([MANIFEST.to_owned(), LOCK.to_owned()]);
    for dependency in &manifest.dependencies {
        let label = format!("{}/{}", dependency.section, dependency.alias);
        project.request(label, &dependency.name, &dependency.requirement, &dependency.options());
    }
    check_root(&manifest, &lock, &mut project);
    let by_path = manifest.dependencies.iter().filter(|dependency| !dependency.from_registry);
    lock.check_entries(&manifest.name, &by_path.map(|dependency| dependency.name.as_str()).collect(), &mut project);
    lock.check_against_registry(registry, &mut project);
    let features = features::enabled(&manifest, &lock, registry);
    features::check_complete(&features, &lock, registry, &mut project);
    for (index, locked) in lock.packages.iter().enumerate().filter(|(_, locked)| locked.source.is_some()) {
        let version = Version::parse(Ecosystem::CratesIo, &locked.version).map_err(ProjectError::version(LOCK))?;
        project.packages.push(Rc::new(Package {
            name: locked.name.clone(),
            version,
            features: features.get(&index).cloned().unwrap_or_default(),
            checksums: locked.checksum.iter().cloned().collect(),
            origins: locked.source.iter().cloned().collect(),
        }));
        project.remainder.insert(format!("{LOCK}#{}@{}", locked.name, locked.version), locked.remainder());
    }
    project.remainder.insert(MANIFEST.to_owned(), manifest.rest);
    project.remainder.insert(LOCK.to_owned(), lock.rest);
    Ok(project)
}

/// The root entry of the lock file lists what the manifest asks for, each with a version that the requirement admits.
fn check_root(manifest: &Manifest, lock: &Lock, project: &mut Project) {
    let Some(root) = lock.packages.iter().find(|p| p.source.is_none() && p.name == manifest.name) else {
        project.mismatch(format!("the lock file has no entry for `{}`", manifest.name));
        return;
    };
    for dependency in manifest.dependencies.iter().filter(|dependency| dependency.from_registry) {
        let chosen: Vec<&lock::Locked> =
            lock.chosen(root).map(|index| &lock.packages[index]).filter(|p| p.name == dependency.name).collect();
        let requirement = Requirement::parse(Ecosystem::CratesIo, &dependency.requirement);
        let admitted = |locked: &&lock::Locked| match &requirement {
            Some(requirement) => locked.parsed().is_some_and(|version| requirement.admits(&version)),
            None => false,
        };
        if requirement.is_none() {
            project.invalid(format!("`{}` is no requirement", dependency.requirement));
        }
        if !chosen.iter().any(admitted) {
            project.mismatch(format!("the lock file has no `{}` as the manifest asks for it", dependency.name));
        }
    }
    for index in lock.chosen(root) {
        let name = &lock.packages[index].name;
        if !manifest.dependencies.iter().any(|dependency| dependency.name == *name) {
            project.mismatch(format!("the lock file's root entry lists `{name}`, which the manifest does not ask for"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Problem;
    use super::*;

    pub(super) fn registry() -> Registry {
        serde_json::from_str(
            r#"{"ecosystem":"crates.io","taken_at":"2026-06-01","packages":{
                "lettre":{
                    "0.11.21":{"features":{"default":["smtp"],"smtp":[],"boring-tls":["dep:boring"],"rustls":[]},
                        "dependencies":[{"name":"boring","requirement":"4","optional":true},
                                        {"name":"idna","requirement":"1"}]},
                    "0.11.22":{"features":{"default":["smtp"],"smtp":[],"boring-tls":["dep:boring"]}}},
                "idna":{"1.0.3":{"dependencies":[]},"0.5.0":{"dependencies":[]}},
                "boring":{"4.0.0":{"dependencies":[]}}}}"#,
        )
        .unwrap()
    }

    const MANIFEST_TEXT: &str = r#"
[package]
name = "mailer"
version = "0.1.0"
edition = "2021"

[dependencies]
lettre = { version = "0.11", default-features = false, features = ["rustls"] }
"#;

    const LOCK_TEXT: &str = r#"
version = 4

[[package]]
name = "idna"
version = "1.0.3"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "aa"

[[package]]
name = "lettre"
version = "0.11.21"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "bb"
dependencies = ["idna"]

[[package]]
name = "mailer"
version = "0.1.0"
dependencies = ["lettre"]
"#;

    pub(super) fn read_with(manifest: &str, lock: &str) -> Project {
        let tree = [(MANIFEST.to_owned(), manifest.to_owned()), (LOCK.to_owned(), lock.to_owned())].into();
        read(&tree, &registry()).unwrap()
    }

    #[test]
    fn a_lock_file_that_belongs_to_its_manifest_has_no_problems() {
        let project = read_with(MANIFEST_TEXT, LOCK_TEXT);
        assert_eq!(project.problems, []);
        let found: Vec<_> = project.packages.iter().map(|p| (p.name.as_str(), p.version.text())).collect();
        assert_eq!(found, [("idna", "1.0.3"), ("lettre", "0.11.21")]);
    }

    #[test]
    fn features_are_those_that_somebody_asks_for() {
        let lettre = |manifest: &str| read_with(manifest, LOCK_TEXT).packages[1].features.clone();
        assert_eq!(lettre(MANIFEST_TEXT), ["rustls".to_owned()].into());
        let with_default = MANIFEST_TEXT.replace("default-features = false, ", "");
        assert_eq!(lettre(&with_default), ["default", "rustls", "smtp"].map(str::to_owned).into());
        let boring = MANIFEST_TEXT.replace("\"rustls\"", "\"boring-tls\"");
        assert!(lettre(&boring).contains("boring-tls"));
    }

    #[test]
    fn a_version_that_the_manifest_does_not_admit_is_a_mismatch() {
        let project = read_with(&MANIFEST_TEXT.replace("\"0.11\"", "\"0.11.22\""), LOCK_TEXT);
        assert!(matches!(&project.problems[..], [Problem::LockMismatch(what)] if what.contains("`lettre`")));
    }

    #[test]
    fn what_serves_nobody_and_what_a_release_does_not_depend_on_is_a_mismatch() {
        let orphan = LOCK_TEXT.replace("dependencies = [\"idna\"]\n", "");
        let problems = read_with(MANIFEST_TEXT, &orphan).problems;
        assert_eq!(problems.len(), 2, "left over, and missing from its release: {problems:?}");
        let other = LOCK_TEXT.replace("1.0.3", "0.5.0");
        assert_eq!(read_with(MANIFEST_TEXT, &other).problems.len(), 1, "0.5.0 is not `1`");
        let unasked = LOCK_TEXT.replace("dependencies = [\"lettre\"]", "dependencies = [\"idna\", \"lettre\"]");
        assert_eq!(read_with(MANIFEST_TEXT, &unasked).problems.len(), 1);
    }

    #[test]
    fn a_broken_file_cannot_be_read() {
        let tree: Tree = [(MANIFEST.to_owned(), "[package".to_owned()), (LOCK.to_owned(), LOCK_TEXT.to_owned())].into();
        assert!(matches!(read(&tree, &registry()), Err(ProjectError::Unreadable { .. })));
    }
}
