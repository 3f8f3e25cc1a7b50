//! `uv.lock`: pins with hashes and sources, and a copy of what the manifest asks for. A package may be there several
//! times, once for each fork of the resolution.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::{Table, Value};

use super::super::{Project, ProjectError};
use super::{Files, pinned};
use crate::registry::Registry;
use crate::version::{Ecosystem, Version};

/// More forks of one package than any resolution has.
const MOST_FORKS: usize = 32;

#[derive(Deserialize)]
struct RawLock {
    #[serde(default, rename = "package")]
    packages: Vec<Table>,
    #[serde(flatten)]
    rest: Table,
}

pub(super) fn read(
    path: &str,
    text: &str,
    files: &mut Files,
    registry: &Registry,
    project: &mut Project,
) -> Result<(), ProjectError> {
    let raw: RawLock = toml::from_str(text).map_err(|error| ProjectError::unreadable(path, error.message()))?;
    project.files.insert(path.to_owned());
    project.remainder.insert(path.to_owned(), format!("{:?}", raw.rest));
    files.has_lock = true;
    check_edges(&raw.packages, project);
    raw.packages.iter().for_each(|package| check_against_registry(package, registry, project));
    for package in raw.packages {
        let (Some(name), Some(version)) = (field(&package, "name"), field(&package, "version")) else {
            return Err(ProjectError::unreadable(path, "a package has no name or no version"));
        };
        if is_root(&package) {
            check_copy(&package, files, project);
            project.remainder.insert(format!("{path}#{name}"), format!("{:?}", edges(&package)));
            continue;
        }
        let mut hashes = Vec::new();
        collect_hashes(&Value::Table(package.clone()), &mut hashes);
        let origins = origins(&package, name, version);
        let edges = edges(&package);
        project.remainder.insert(format!("{path}#{name}@{version}"), format!("{hashes:?} {origins:?}"));
        project.natures.insert(format!("{path}#{name}@{version}"), format!("{edges:?}"));
        let pin = pinned(name, version, hashes, origins)
            .ok_or_else(|| ProjectError::unreadable(path, format!("`{version}` is not a version")))?;
        let forks = files.pins.entry(pin.name.clone()).or_default();
        if forks.iter().any(|other| other.version == pin.version) {
            return Err(ProjectError::unreadable(path, format!("`{name} {version}` is there twice")));
        }
        forks.push(pin);
    }
    Ok(())
}

fn field<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// What a package depends on, and under which markers.
fn dependencies(package: &Table) -> impl Iterator<Item = &Table> {
    package.get("dependencies").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

/// The same without the versions and sources, which may move.
fn edges(package: &Table) -> BTreeSet<String> {
    let edge = |edge: &Table| {
        let stays = edge.iter().filter(|(key, _)| !matches!(key.as_str(), "version" | "source"));
        format!("{:?}", stays.collect::<Vec<_>>())
    };
    dependencies(package).map(edge).collect()
}

/// Every dependency names one package of the lock file: by its version where there are several, and by nothing that the
/// package itself does not say.
fn check_edges(packages: &[Table], project: &mut Project) {
    let mut by_name: BTreeMap<&str, Vec<&Table>> = BTreeMap::new();
    for package in packages {
        by_name.entry(field(package, "name").unwrap_or_default()).or_default().push(package);
    }
    let most = by_name.values().map(Vec::len).max().unwrap_or_default();
    if most > MOST_FORKS {
        project.mismatch(format!("the lock file has more than {MOST_FORKS} versions of one package"));
        return;
    }
    for package in packages {
        let from = field(package, "name").unwrap_or_default();
        for edge in dependencies(package) {
            let name = field(edge, "name").unwrap_or_default();
            let says = |key: &str, package: &Table| edge.get(key).is_none_or(|said| package.get(key) == Some(said));
            let meant = by_name.get(name).into_iter().flatten();
            if meant.filter(|package| says("version", package) && says("source", package)).count() != 1 {
                project.mismatch(format!("`{from}` of the lock file depends on a `{name}` that is not there once"));
            }
        }
    }
}

/// A package of the lock file depends on what its release depends on, under whatever marker.
fn check_against_registry(package: &Table, registry: &Registry, project: &mut Project) {
    let (Some(name), Some(version)) = (field(package, "name"), field(package, "version")) else { return };
    let version = Version::parse(Ecosystem::PyPi, version).ok();
    let release = version.and_then(|version| registry.release(&Ecosystem::PyPi.canonical_name(name), &version));
    let edges: BTreeSet<String> = dependencies(package)
        .filter_map(|edge| field(edge, "name"))
        .map(|name| Ecosystem::PyPi.canonical_name(name))
        .collect();
    let declared = release.and_then(|release| release.dependencies.as_ref()).into_iter().flatten();
    for dependency in declared.filter(|dependency| !dependency.optional) {
        if !edges.contains(&Ecosystem::PyPi.canonical_name(&dependency.name)) {
            project.mismatch(format!("`{name}` of the lock file lacks its dependency `{}`", dependency.name));
        }
    }
}

/// The index or repository of a package, and the hosts of its files. A file that is not named after the package and its
/// version is somebody else's, and its whole address stays.
fn origins(package: &Table, name: &str, version: &str) -> BTreeSet<String> {
    let source = package.get("source").and_then(Value::as_table).into_iter().flatten();
    let mut origins: BTreeSet<String> =
        source.map(|(kind, place)| format!("{kind} {}", place.as_str().unwrap_or_default())).collect();
    let wheels = package.get("wheels").and_then(Value::as_array).into_iter().flatten();
    for file in wheels.chain(package.get("sdist")) {
        let Some(url) = file.get("url").and_then(Value::as_str) else { continue };
        let host = url.split('/').take(3).collect::<Vec<_>>().join("/");
        let file_name = url.rsplit('/').next().unwrap_or_default();
        let (own, rest) = file_name.split_at_checked(name.len()).unwrap_or(("", file_name));
        let is_own = Ecosystem::PyPi.canonical_name(own) == Ecosystem::PyPi.canonical_name(name)
            && rest.strip_prefix('-').and_then(|rest| rest.strip_prefix(version)).is_some_and(is_end_of_file_name);
        origins.insert(if is_own { format!("{host}/…") } else { url.to_owned() });
    }
    origins
}

/// What comes behind the version in the name of a source archive or a wheel.
fn is_end_of_file_name(text: &str) -> bool {
    matches!(text, ".tar.gz" | ".zip" | ".tar.bz2") || (text.starts_with('-') && text.ends_with(".whl"))
}

/// The project itself is listed with where it lies, not with a registry.
fn is_root(package: &Table) -> bool {
    let source = package.get("source").and_then(Value::as_table);
    source.is_some_and(|source| source.contains_key("virtual") || source.contains_key("editable"))
}

/// The lock file repeats the manifest's requirements, and is out of date where they differ.
fn check_copy(root: &Table, files: &Files, project: &mut Project) {
    let listed = root.get("metadata").and_then(|metadata| metadata.get("requires-dist")).and_then(Value::as_array);
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut copied: Vec<(String, BTreeSet<String>)> = listed
        .iter()
        .map(|value| (Ecosystem::PyPi.canonical_name(&text(value, "name")), clauses(&text(value, "specifier"))))
        .collect();
    let mut asked: Vec<(String, BTreeSet<String>)> =
        files.manifest.iter().map(|(_, line)| (line.name.clone(), clauses(line.requirement.text()))).collect();
    copied.sort();
    asked.sort();
    if copied != asked {
        project.mismatch("the lock file repeats other requirements than the manifest has");
    }
}

/// The parts of a specifier, in whatever order: uv sorts them.
fn clauses(specifier: &str) -> BTreeSet<String> {
    let plain: String = specifier.chars().filter(|c| !c.is_whitespace()).collect();
    plain.split(',').map(str::to_owned).collect()
}

fn collect_hashes(value: &Value, hashes: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            hashes.extend(table.get("hash").and_then(Value::as_str).map(str::to_owned));
            table.values().for_each(|value| collect_hashes(value, hashes));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_hashes(value, hashes)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Problem;
    use super::super::read;
    use crate::registry::Registry;
    use crate::tree::Tree;

    const PYPROJECT: &str = "[project]\nname = \"app\"\ndependencies = [\"jinja2>=3.1.2\"]\n";
    const LOCK: &str = r#"
version = 1
requires-python = ">=3.11"

[[package]]
name = "app"
version = "0.1.0"
source = { virtual = "." }
dependencies = [{ name = "jinja2" }]

[package.metadata]
requires-dist = [{ name = "jinja2", specifier = ">=3.1.2" }]

[[package]]
name = "jinja2"
version = "3.1.2"
sdist = { hash = "sha256:aa" }
wheels = [{ hash = "sha256:bb" }]
"#;

    fn project(pyproject: &str) -> super::Project {
        read_files(&[("pyproject.toml", pyproject), ("uv.lock", LOCK)], "[]")
    }

    /// A project, where jinja2 depends on this.
    fn read_files(files: &[(&str, &str)], dependencies: &str) -> super::Project {
        let registry = format!(
            r#"{{"ecosystem":"PyPI","taken_at":"x","packages":{{"jinja2":{{"3.1.2":{{"dependencies":{dependencies}}},"3.1.4":{{}}}}}}}}"#
        );
        let registry: Registry = serde_json::from_str(&registry).unwrap();
        let tree: Tree = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        read(&tree, &registry).unwrap()
    }

    #[test]
    fn pins_and_hashes_come_from_the_lock_file() {
        let project = project(PYPROJECT);
        assert_eq!(project.problems, []);
        assert_eq!(project.packages.len(), 1);
        assert_eq!(project.packages[0].version.text(), "3.1.2");
        assert_eq!(project.packages[0].checksums, ["sha256:aa", "sha256:bb"]);
    }

    #[test]
    fn the_copy_of_a_requirement_may_be_sorted() {
        let sorted = PYPROJECT.replace(">=3.1.2", "<4,>=3.1.2");
        let lock = LOCK.replace("specifier = \">=3.1.2\"", "specifier = \">=3.1.2,<4\"");
        let files = [("pyproject.toml", sorted.as_str()), ("uv.lock", lock.as_str())];
        assert_eq!(read_files(&files, "[]").problems, []);
    }

    #[test]
    fn an_entry_depends_on_what_its_release_does() {
        let files = [("pyproject.toml", PYPROJECT), ("uv.lock", LOCK)];
        let needs = r#"[{"name":"MarkupSafe","requirement":">=2"}]"#;
        let problems = read_files(&files, needs).problems;
        let lacks = |problem: &Problem| problem.to_string().contains("lacks its dependency `MarkupSafe`");
        assert!(problems.iter().any(lacks), "{problems:?}");
    }

    #[test]
    fn a_copy_of_other_requirements_is_a_mismatch() {
        let project = project(&PYPROJECT.replace("3.1.2", "3.1.1"));
        assert!(matches!(&project.problems[..], [Problem::LockMismatch(_)]));
    }
}
