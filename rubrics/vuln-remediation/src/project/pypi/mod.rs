//! PyPI: `pyproject.toml` (PEP 621), `requirements*.in`, `requirements*.txt`, `constraints*.txt` and `uv.lock`.
//!
//! A requirements file in which every line is an exact pin is the lock file of the manifests beside it, if there are any;
//! alone, it is the manifest. What is installed is what the lock file pins, and else what pip would choose from the
//! registry excerpt: for every package the highest version that all requirements admit, yanked ones only under an exact
//! pin, pre-releases only where one is named or nothing else is left. Environment markers are taken to hold.

mod lines;
mod resolve;
mod uv;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use toml::{Table, Value};

use self::lines::{Line, Pinned};
use self::resolve::{Asked, Chosen};
use super::{Package, Project, ProjectError};
use crate::registry::Registry;
use crate::tree::{Tree, file_name};
use crate::version::{Ecosystem, Requirement, Version};

const PYPROJECT: &str = "pyproject.toml";
const UV_LOCK: &str = "uv.lock";

/// What the files of a project say, sorted by the part they play.
#[derive(Default)]
struct Files {
    /// Label and requirement.
    manifest: Vec<(String, Line)>,
    constraints: Vec<Line>,
    /// From lock files, by package. There are several of a package where environments differ.
    pins: BTreeMap<String, Vec<Pinned>>,
    has_lock: bool,
}

pub(super) fn read(tree: &Tree, registry: &Registry) -> Result<Project, ProjectError> {
    let mut project = Project::default();
    let mut files = Files::default();
    read_pyproject(tree, &mut files, &mut project)?;
    read_requirements(tree, &mut files, &mut project)?;
    if let Some(text) = tree.text(UV_LOCK) {
        uv::read(UV_LOCK, text, &mut files, registry, &mut project)?;
    }
    if files.manifest.is_empty() && files.pins.is_empty() {
        return Err(ProjectError::Missing { path: format!("{PYPROJECT}` or `requirements.txt") });
    }
    for (label, line) in &files.manifest {
        // The same package may be asked for once for each kind of environment.
        let label =
            if project.requests.contains_key(label) { format!("{label}{}", line.options()) } else { label.clone() };
        project.request(label, &line.name, line.requirement.text().trim(), &line.options());
    }
    let installed = resolve::resolve(&asked(&files), registry, &mut project);
    check_lock(&files, &installed, &mut project);
    list_packages(&files, installed, &mut project);
    Ok(project)
}

fn read_pyproject(tree: &Tree, files: &mut Files, project: &mut Project) -> Result<(), ProjectError> {
    let Some(text) = tree.text(PYPROJECT) else { return Ok(()) };
    let mut table: Table =
        toml::from_str(text).map_err(|error| ProjectError::unreadable(PYPROJECT, error.message()))?;
    project.files.insert(PYPROJECT.to_owned());
    for (group, lines) in take_groups(&mut table)? {
        for text in lines {
            let line = Line::parse(&text).ok_or_else(|| {
                ProjectError::unreadable(PYPROJECT, format!("`{text}` is no requirement of a package by version"))
            })?;
            files.manifest.push((format!("{PYPROJECT}/{group}/{}", line.name), line));
        }
    }
    project.remainder.insert(PYPROJECT.to_owned(), format!("{table:?}"));
    Ok(())
}

/// Takes `dependencies` and the groups of `optional-dependencies` out of the project table.
fn take_groups(table: &mut Table) -> Result<Vec<(String, Vec<String>)>, ProjectError> {
    let not_texts = |_| ProjectError::unreadable(PYPROJECT, "dependencies are not a list of texts");
    let mut groups = Vec::new();
    let Some(metadata) = table.get_mut("project").and_then(Value::as_table_mut) else { return Ok(groups) };
    if let Some(dependencies) = metadata.remove("dependencies") {
        groups.push(("dependencies".to_owned(), dependencies.try_into().map_err(not_texts)?));
    }
    if let Some(optional) = metadata.remove("optional-dependencies") {
        let optional: BTreeMap<String, Vec<String>> = optional.try_into().map_err(not_texts)?;
        groups.extend(optional);
    }
    Ok(groups)
}

fn read_requirements(tree: &Tree, files: &mut Files, project: &mut Project) -> Result<(), ProjectError> {
    let is_list = |name: &str| name.starts_with("requirements") && (name.ends_with(".txt") || name.ends_with(".in"));
    let mut pinned = Vec::new();
    for (path, text) in tree.texts() {
        let name = file_name(path);
        let is_constraints = name.starts_with("constraints") && name.ends_with(".txt");
        if !is_list(name) && !is_constraints {
            continue;
        }
        let read = lines::read(path, text)?;
        project.files.insert(path.to_owned());
        project.remainder.insert(path.to_owned(), read.rest);
        if is_constraints {
            for line in &read.lines {
                let label = format!("{path}/{}", line.name);
                project.request(label, &line.name, line.requirement.text().trim(), &line.options());
            }
            files.constraints.extend(read.lines);
        } else if name.ends_with(".txt") && read.lines.iter().all(Line::is_pin) {
            pinned.push((path.to_owned(), read.lines));
        } else {
            files.manifest.extend(read.lines.into_iter().map(|line| (format!("{path}/{}", line.name), line)));
        }
    }
    // Pins are the lock of the manifests beside them, or else a manifest themselves.
    files.has_lock = !files.manifest.is_empty() && !pinned.is_empty();
    for (path, lines) in pinned {
        place_pins(&path, lines, files, project);
    }
    Ok(())
}

fn place_pins(path: &str, lines: Vec<Line>, files: &mut Files, project: &mut Project) {
    for line in lines {
        let Some(pin) = line.pinned() else { continue };
        project.remainder.insert(format!("{path}#{}@{}", pin.name, pin.version), pin.remainder());
        project.natures.insert(format!("{path}#{}@{}", pin.name, pin.version), pin.marker.clone());
        let name = pin.name.clone();
        let others = files.pins.entry(name.clone()).or_default();
        // Two versions are fine where markers keep them apart.
        let clashes =
            |other: &Pinned| other.version != pin.version && (pin.marker.is_empty() || other.marker == pin.marker);
        if others.iter().any(|other| clashes(other) || (other.version != pin.version && other.marker.is_empty())) {
            project.invalid(format!("`{name}` is pinned to two versions"));
        }
        if others.iter().all(|other| other.version != pin.version || other.marker != pin.marker) {
            others.push(pin.clone());
        }
        if !files.has_lock {
            files.manifest.push((format!("{path}/{name}"), line));
        }
    }
}

/// Everything that has a say in which versions are installed.
fn asked(files: &Files) -> Asked {
    let mut asked = Asked::default();
    for line in files.manifest.iter().map(|(_, line)| line) {
        asked.roots.insert(line.name.clone());
        asked.limit(&line.name, Rc::clone(&line.requirement));
    }
    for line in &files.constraints {
        asked.limit(&line.name, Rc::clone(&line.requirement));
    }
    for pin in files.pins.values().flatten() {
        asked.roots.insert(pin.name.clone());
        asked.limit(&pin.name, Rc::clone(&pin.requirement));
        let decides = files.has_lock || files.pins[&pin.name].len() > 1;
        if let Some(version) = Version::parse(Ecosystem::PyPi, &pin.version).ok().filter(|_| decides) {
            asked.locked.entry(pin.name.clone()).or_default().push(version);
        }
    }
    asked
}

/// Every package that is installed is in the lock file, if there is one, and nothing else is.
fn check_lock(files: &Files, installed: &Chosen, project: &mut Project) {
    if !files.has_lock {
        return;
    }
    for name in installed.keys().filter(|name| !files.pins.contains_key(*name)) {
        project.mismatch(format!("`{name}` is not in the lock file"));
    }
    for (_, line) in files.manifest.iter().filter(|(_, line)| !files.pins.contains_key(&line.name)) {
        project.mismatch(format!("`{}` is not in the lock file", line.name));
    }
    let uses_hashes = files.pins.values().flatten().any(|pin| !pin.hashes.is_empty());
    for pin in files.pins.values().flatten().filter(|pin| uses_hashes && pin.hashes.is_empty()) {
        project.mismatch(format!("`{}` has no hash in the lock file", pin.name));
    }
}

fn list_packages(files: &Files, installed: Chosen, project: &mut Project) {
    for (name, versions) in installed {
        let pins = files.pins.get(&name).map(Vec::as_slice).unwrap_or_default();
        for version in versions {
            let is_meant =
                |pin: &&Pinned| Version::parse(Ecosystem::PyPi, &pin.version).is_ok_and(|own| own == version);
            let pin = pins.iter().find(is_meant);
            let checksums = pin.map(|pin| pin.hashes.clone()).unwrap_or_default();
            let origins = pin.map(|pin| pin.origins.clone()).unwrap_or_default();
            let name = name.clone();
            project.packages.push(Rc::new(Package { name, version, features: BTreeSet::new(), checksums, origins }));
        }
    }
}

/// A pin of a lock file.
fn pinned(name: &str, version: &str, hashes: Vec<String>, origins: BTreeSet<String>) -> Option<Pinned> {
    let name = Ecosystem::PyPi.canonical_name(name);
    let requirement = Rc::new(Requirement::parse(Ecosystem::PyPi, &format!("=={version}"))?);
    Some(Pinned { name, version: version.to_owned(), requirement, hashes, origins, marker: String::new() })
}

#[cfg(test)]
mod tests {
    use super::super::Problem;
    use super::*;

    fn registry() -> Registry {
        serde_json::from_str(
            r#"{"ecosystem":"PyPI","taken_at":"2024-06-01","packages":{
                "requests":{"2.31.0":{"dependencies":[{"name":"urllib3","requirement":">=1.21.1,<3"}]},
                            "2.32.0":{"yanked":true,"dependencies":[{"name":"urllib3","requirement":">=1.21.1,<3"}]},
                            "2.32.2":{"dependencies":[{"name":"urllib3","requirement":">=1.21.1,<3"}]}},
                "urllib3":{"1.26.16":{"dependencies":[]},"1.26.17":{"dependencies":[]},
                           "2.0.5":{"dependencies":[]},"2.0.6":{"dependencies":[]},"2.1.0a1":{"dependencies":[]}}}}"#,
        )
        .unwrap()
    }

    fn read_all(files: &[(&str, &str)]) -> Project {
        let tree = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        read(&tree, &registry()).unwrap()
    }

    fn installed(project: &Project) -> Vec<(&str, &str)> {
        project.packages.iter().map(|p| (p.name.as_str(), p.version.text())).collect()
    }

    #[test]
    fn pins_alone_are_the_manifest_and_the_rest_is_resolved() {
        let project = read_all(&[("requirements.txt", "requests==2.31.0\n")]);
        assert_eq!(project.problems, []);
        assert_eq!(installed(&project), [("requests", "2.31.0"), ("urllib3", "2.0.6")]);
        assert!(project.requests.contains_key("requirements.txt/requests"));
    }

    #[test]
    fn a_range_takes_the_highest_version_that_is_neither_yanked_nor_a_preview() {
        let project = read_all(&[("requirements.txt", "requests>=2.31,<2.32.2\nurllib3\n")]);
        assert_eq!(installed(&project), [("requests", "2.31.0"), ("urllib3", "2.0.6")]);
        let pinned = read_all(&[("requirements.txt", "requests==2.32.0\n")]);
        assert_eq!(installed(&pinned)[0], ("requests", "2.32.0"), "an exact pin installs even a yanked version");
    }

    #[test]
    fn constraints_limit_and_request_nothing() {
        let project =
            read_all(&[("requirements.txt", "requests>=2.31\n"), ("constraints.txt", "urllib3<2\nflask<1\n")]);
        assert_eq!(installed(&project), [("requests", "2.32.2"), ("urllib3", "1.26.17")]);
    }

    fn with_floor(floor: &str, lock: &str) -> Project {
        let manifest = format!("[project]\nname = \"a\"\ndependencies = [\"requests>={floor}\"]\n");
        read_all(&[("pyproject.toml", &manifest), ("requirements.txt", lock)])
    }

    #[test]
    fn pins_beside_a_manifest_are_its_lock() {
        let good = with_floor("2.31", "requests==2.31.0\nurllib3==1.26.17\n");
        assert_eq!(good.problems, []);
        assert_eq!(good.requests.keys().collect::<Vec<_>>(), ["pyproject.toml/dependencies/requests"]);
    }

    #[test]
    fn a_lock_that_lacks_a_package_is_a_mismatch() {
        let incomplete = with_floor("2.31", "requests==2.31.0\n");
        assert!(matches!(&incomplete.problems[..], [Problem::LockMismatch(what)] if what.contains("urllib3")));
    }

    #[test]
    fn a_lock_that_the_manifest_does_not_admit_is_a_mismatch_and_decides_all_the_same() {
        let stale = with_floor("2.32", "requests==2.31.0\nurllib3==1.26.17\n");
        assert!(matches!(&stale.problems[..], [Problem::LockMismatch(what)] if what.contains("requests")));
        assert_eq!(installed(&stale)[0], ("requests", "2.31.0"));
    }

    #[test]
    fn hashes_are_all_or_none() {
        let manifest = ("requirements.in", "requests\n");
        let lock = "requests==2.31.0 \\\n    --hash=sha256:aa\nurllib3==1.26.17\n    # via requests\n";
        let project = read_all(&[manifest, ("requirements.txt", lock)]);
        assert_eq!(project.problems.len(), 1);
        assert_eq!(project.packages[0].checksums, ["sha256:aa"]);
    }

    #[test]
    fn two_lists_of_pins_without_a_manifest_are_both_manifests() {
        let project =
            read_all(&[("requirements-dev.txt", "urllib3==2.0.6\n"), ("requirements.txt", "requests==2.31.0\n")]);
        assert_eq!(project.problems, []);
        assert_eq!(project.requests.len(), 2);
    }

    #[test]
    fn requirements_that_nothing_satisfies_are_invalid() {
        let project = read_all(&[("requirements.txt", "requests>=3\n")]);
        assert!(matches!(&project.problems[..], [Problem::InvalidManifest(_)]));
    }

    #[test]
    fn a_project_without_any_list_cannot_be_read() {
        let tree: Tree = [("setup.py".to_owned(), String::new())].into();
        assert!(read(&tree, &registry()).is_err());
        let tree: Tree = [("requirements.txt".to_owned(), "requests===\n".to_owned())].into();
        assert!(matches!(read(&tree, &registry()), Err(ProjectError::Unreadable { .. })));
    }
}
