//! Which artifacts a POM ends up with.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::Project;
use super::model::{Coordinates, Dependency, Model};
use crate::registry::{self, Registry, Release};
use crate::version::{Ecosystem, Version};

/// What a POM inherits and manages, interpolated.
pub(super) struct Effective {
    properties: BTreeMap<String, String>,
    /// Properties that some parent has too: setting them below it means to change what the parent manages.
    pub(super) inherited_properties: BTreeSet<String>,
    managed: BTreeMap<String, String>,
    /// Parents and bills of materials in use.
    used: Vec<Coordinates>,
}

impl Effective {
    /// Replaces `${name}` by its value, also in values. What is not known stays as it is.
    pub(super) fn interpolate(&self, text: &str) -> String {
        interpolate(text, &self.properties)
    }
}

/// Parents are followed this far; a chain that is longer goes in circles.
const DEPTH: usize = 16;

pub(super) fn effective(model: &Model, registry: &Registry, project: &mut Project) -> Effective {
    let mut used = Vec::new();
    let chain = parents(model.parent.clone(), registry, &mut used, project);
    let mut properties = BTreeMap::new();
    for release in chain.iter().rev() {
        properties.extend(release.properties.clone());
    }
    let inherited_properties = properties.keys().cloned().collect();
    properties.extend(model.properties.clone());
    properties.extend(model.built_in());
    let mut effective = Effective { properties, inherited_properties, managed: BTreeMap::new(), used };
    // The POM's own entries come before imported ones, and those before the parents'.
    for dependency in model.managed.iter().filter(|dependency| !dependency.is_import()) {
        let version = effective.interpolate(dependency.version.as_deref().unwrap_or_default());
        effective.managed.entry(dependency.key()).or_insert(version);
    }
    for dependency in model.managed.iter().filter(|dependency| dependency.is_import()) {
        let version = effective.interpolate(dependency.version.as_deref().unwrap_or_default());
        effective.import(Coordinates { name: dependency.name.clone(), version }, registry, project);
    }
    for release in chain {
        effective.manage(release, registry, project);
    }
    effective
}

impl Effective {
    /// Takes over what a parent manages, with this POM's properties.
    fn manage(&mut self, release: &Release, registry: &Registry, project: &mut Project) {
        for dependency in &release.managed {
            let version = self.interpolate(&dependency.requirement);
            if dependency.scope.as_deref() == Some("import") {
                self.import(Coordinates { name: dependency.name.clone(), version }, registry, project);
            } else {
                self.managed.entry(dependency.name.clone()).or_insert(version);
            }
        }
    }

    /// Takes over what a bill of materials manages, with its own properties.
    fn import(&mut self, bom: Coordinates, registry: &Registry, project: &mut Project) {
        let chain = parents(Some(bom), registry, &mut self.used, project);
        let mut properties = BTreeMap::new();
        for release in chain.iter().rev() {
            properties.extend(release.properties.clone());
        }
        for dependency in chain.iter().flat_map(|release| &release.managed) {
            let version = interpolate(&dependency.requirement, &properties);
            self.managed.entry(dependency.name.clone()).or_insert(version);
        }
    }
}

/// A parent and its parents, the nearest first.
fn parents<'a>(
    first: Option<Coordinates>,
    registry: &'a Registry,
    used: &mut Vec<Coordinates>,
    project: &mut Project,
) -> Vec<&'a Release> {
    let mut chain = Vec::new();
    let mut next = first;
    while let Some(coordinates) = next.take().filter(|_| chain.len() < DEPTH) {
        let version = Version::parse(Ecosystem::Maven, &coordinates.version).ok();
        let release = version.and_then(|version| registry.release(&coordinates.name, &version));
        let Some(release) = release else {
            project.invalid(format!("`{}:{}` is not in the registry", coordinates.name, coordinates.version));
            break;
        };
        used.push(coordinates);
        next = release.parent.as_deref().and_then(Coordinates::parse);
        chain.push(release);
    }
    chain
}

fn interpolate(text: &str, properties: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..DEPTH {
        let Some((before, rest)) = text.split_once("${") else { break };
        let Some((name, after)) = rest.split_once('}') else { break };
        let Some(value) = properties.get(name) else { break };
        text = format!("{before}{value}{after}");
    }
    text
}

/// A dependency that waits for its turn, with what is excluded on the way to it.
struct Waiting {
    name: String,
    version: String,
    exclusions: Vec<String>,
}

/// Artifacts by name, with their version: breadth first, so that the nearest definition comes first.
pub(super) fn resolve(
    model: &Model,
    effective: &Effective,
    registry: &Registry,
    project: &mut Project,
) -> Vec<(String, String)> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    for dependency in &model.dependencies {
        if let Some(direct) = direct(dependency, effective, project) {
            waiting.push_back(direct);
        }
    }
    while let Some(next) = waiting.pop_front() {
        if found.contains_key(&next.name) {
            continue;
        }
        found.insert(next.name.clone(), next.version.clone());
        let version = Version::parse(Ecosystem::Maven, &next.version).ok();
        let release = version.and_then(|version| registry.release(&next.name, &version));
        let listed = release.and_then(|release| release.dependencies.as_ref()).into_iter().flatten();
        waiting.extend(listed.filter_map(|dependency| passed_on(dependency, &next.exclusions, effective)));
    }
    found.into_iter().chain(effective.used.iter().map(|used| (used.name.clone(), used.version.clone()))).collect()
}

fn direct(dependency: &Dependency, effective: &Effective, project: &mut Project) -> Option<Waiting> {
    let version = match &dependency.version {
        Some(version) => Some(effective.interpolate(version)),
        None => effective.managed.get(&dependency.key()).cloned(),
    };
    let Some(version) = version.filter(|version| !version.is_empty() && !version.contains("${")) else {
        project.invalid(format!("nothing gives a version of `{}`", dependency.name));
        return None;
    };
    Some(Waiting { name: dependency.name.clone(), version, exclusions: dependency.exclusions.clone() })
}

/// A dependency of a dependency, if it is passed on at all.
fn passed_on(dependency: &registry::Dependency, excluded: &[String], effective: &Effective) -> Option<Waiting> {
    let scope = dependency.scope.as_deref().unwrap_or("compile");
    let is_excluded = excluded.iter().any(|pattern| excludes(pattern, &dependency.name));
    if dependency.optional || !matches!(scope, "compile" | "runtime") || is_excluded {
        return None;
    }
    let version = effective.managed.get(&dependency.name).unwrap_or(&dependency.requirement).clone();
    let exclusions = excluded.iter().chain(&dependency.exclusions).cloned().collect();
    Some(Waiting { name: dependency.name.clone(), version, exclusions })
}

fn excludes(pattern: &str, name: &str) -> bool {
    let (Some(pattern), Some(name)) = (pattern.split_once(':'), name.split_once(':')) else { return false };
    let fits = |pattern: &str, part: &str| pattern == "*" || pattern == part;
    fits(pattern.0, name.0) && fits(pattern.1, name.1)
}
