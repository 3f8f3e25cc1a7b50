//! Minimal version selection.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ProjectError;
use super::gomod::GoMod;
use crate::registry::Registry;
use crate::version::{Ecosystem, Version};

/// The version of every module that is built. The graph is walked as far as the excerpt says what a version requires.
pub(super) fn select(go_mod: &GoMod, registry: &Registry) -> Result<BTreeMap<String, Version>, ProjectError> {
    let parse = |text: &str| Version::parse(Ecosystem::Go, text).map_err(ProjectError::version(super::MOD));
    let mut selected: BTreeMap<String, Version> = BTreeMap::new();
    let mut seen: BTreeSet<(String, Version)> = BTreeSet::new();
    let mut waiting: Vec<(String, Version)> = Vec::new();
    for require in &go_mod.requires {
        waiting.push((require.path.clone(), parse(&require.version)?));
    }
    while let Some((path, version)) = waiting.pop() {
        // Since Go 1.16 a requirement of an excluded version is ignored.
        let excluded = go_mod.excludes.iter().any(|(of, text)| *of == path && text == version.text());
        if excluded || !seen.insert((path.clone(), version.clone())) {
            continue;
        }
        for (name, text) in requirements(go_mod, registry, &path, &version) {
            waiting.push((name, parse(&text)?));
        }
        let highest = selected.entry(path).or_insert_with(|| version.clone());
        if *highest < version {
            *highest = version;
        }
    }
    Ok(selected)
}

/// What a module version requires, or its replacement does.
fn requirements(go_mod: &GoMod, registry: &Registry, path: &str, version: &Version) -> Vec<(String, String)> {
    let Some((name, text)) = go_mod.effective(path, version.text()) else { return Vec::new() };
    let release = Version::parse(Ecosystem::Go, &text).ok().and_then(|version| registry.release(&name, &version));
    let listed = release.and_then(|release| release.dependencies.as_ref()).into_iter().flatten();
    listed.map(|dependency| (dependency.name.clone(), dependency.requirement.clone())).collect()
}
