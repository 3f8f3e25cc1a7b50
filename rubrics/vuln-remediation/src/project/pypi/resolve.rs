//! Which versions pip would install.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::Project;
use crate::registry::Registry;
use crate::version::{Ecosystem, Requirement, Version};

/// What is asked for: packages that must be there, and limits on versions, which ask for nothing by themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) roots: BTreeSet<String>,
    /// Pins of a lock file, which decide whatever else is asked for.
    pub(super) locked: BTreeMap<String, Vec<Version>>,
    limits: BTreeMap<String, Vec<Rc<Requirement>>>,
}

impl Asked {
    pub(super) fn limit(&mut self, name: &str, requirement: Rc<Requirement>) {
        self.limits.entry(name.to_owned()).or_default().push(requirement);
    }
}

/// The versions of every package: one, or in a lock file with forks one for each.
pub(super) type Chosen = BTreeMap<String, Vec<Version>>;

/// Chooses a version for every package that is needed. Repeats until the choice no longer changes what is asked for; that
/// ends, because a project that keeps changing its mind is cut off and reported.
pub(super) fn resolve(asked: &Asked, registry: &Registry, project: &mut Project) -> Chosen {
    const ROUNDS: usize = 32;
    let mut chosen = BTreeMap::new();
    for _ in 0..ROUNDS {
        let grown = with_dependencies(asked, &chosen, registry);
        let next = choose(&grown, registry);
        if next == chosen {
            report_unsatisfied(&grown, &chosen, registry, project);
            return chosen;
        }
        chosen = next;
    }
    project.invalid("no choice of versions satisfies all requirements");
    chosen
}

fn with_dependencies(asked: &Asked, chosen: &Chosen, registry: &Registry) -> Asked {
    let mut grown = asked.clone();
    let mut reached: BTreeSet<String> = asked.roots.clone();
    let mut waiting: Vec<String> = asked.roots.iter().cloned().collect();
    while let Some(name) = waiting.pop() {
        let versions = chosen.get(&name).into_iter().flatten();
        let releases = versions.filter_map(|version| registry.release(&name, version));
        let dependencies = releases.filter_map(|release| release.dependencies.as_ref()).flatten();
        for dependency in dependencies.filter(|dependency| !dependency.optional) {
            let needed = Ecosystem::PyPi.canonical_name(&dependency.name);
            if let Some(requirement) = Requirement::parse(Ecosystem::PyPi, &dependency.requirement) {
                grown.limit(&needed, Rc::new(requirement));
            }
            if reached.insert(needed.clone()) {
                waiting.push(needed);
            }
        }
    }
    grown.roots = reached;
    grown
}

fn choose(asked: &Asked, registry: &Registry) -> Chosen {
    let choice = |name: &String| {
        if let Some(locked) = asked.locked.get(name) {
            return Some((name.clone(), locked.clone()));
        }
        let limits = asked.limits.get(name).map(Vec::as_slice).unwrap_or_default();
        best(name, limits, registry).map(|version| (name.clone(), vec![version]))
    };
    asked.roots.iter().filter_map(choice).collect()
}

/// The highest version that all limits admit. A pin that the excerpt does not have is taken as it is: whether there is such
/// a version is not asked here.
fn best(name: &str, limits: &[Rc<Requirement>], registry: &Registry) -> Option<Version> {
    let pin = limits.iter().find(|limit| limit.is_exact());
    let known = registry.versions(name);
    let admitted = known.iter().rev().filter(|(version, release)| {
        limits.iter().all(|limit| limit.admits(version)) && (!release.yanked || pin.is_some())
    });
    let admitted: Vec<&Version> = admitted.map(|(version, _)| version).collect();
    let previews_are_meant = limits.iter().any(|limit| limit.names_pre_release());
    let first_final = admitted.iter().find(|version| previews_are_meant || !version.is_pre_release());
    let pinned = || {
        let text = pin?.text().trim().trim_start_matches('=').trim();
        Version::parse(Ecosystem::PyPi, text).ok()
    };
    first_final.or(admitted.first()).map(|version| (*version).clone()).or_else(pinned)
}

/// Packages that the excerpt has, but in no version that fits, and pins that do not fit.
fn report_unsatisfied(asked: &Asked, chosen: &Chosen, registry: &Registry, project: &mut Project) {
    for name in asked.roots.iter().filter(|name| !chosen.contains_key(*name)) {
        if !registry.versions(name).is_empty() {
            project.invalid(format!("no version of `{name}` satisfies all requirements"));
        }
    }
    for (name, versions) in chosen {
        // In a lock file with forks a requirement may hold in one of them only, and then means the version of that one.
        let mut limits = asked.limits.get(name).into_iter().flatten();
        if limits.all(|limit| versions.iter().any(|version| limit.admits(version))) {
            continue;
        }
        let texts: Vec<&str> = versions.iter().map(Version::text).collect();
        let what = format!("`{name}` at {} is not what all requirements admit", texts.join(" and "));
        if asked.locked.contains_key(name) { project.mismatch(what) } else { project.invalid(what) }
    }
}
