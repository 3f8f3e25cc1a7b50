//! Where a reference leaves the line open (`bump = "line"`): what follows from another release in the line.
//!
//! Such a release may depend on other packages, or on other versions of them, than the reference's. Those may move, come
//! and go with it. Whether they fit is what the lock file is checked for; here it is only said which ones they are.

use std::collections::{BTreeMap, BTreeSet};

use super::{Patched, touched};
use crate::case::{Bump, Case};
use crate::project::{Package, Project};
use crate::version::Version;

/// The packages that may differ from the reference because of the releases that the answer chose in its line.
pub fn followers(patched: &Patched<'_>) -> BTreeSet<String> {
    if patched.reference.bump(&patched.case.task) != Bump::Line {
        return BTreeSet::new();
    }
    let chosen: Vec<String> = chosen(patched).into_iter().collect();
    let mut reached = dependencies(patched.case, &patched.reference.project, &chosen);
    reached.extend(dependencies(patched.case, patched.project, &chosen));
    reached.extend(dependencies(patched.case, &patched.case.before, &chosen));
    reached.retain(|name| !chosen.contains(name));
    reached
}

/// The packages that the answer has at another version of the line that the reference moves them to.
fn chosen(patched: &Patched<'_>) -> BTreeSet<String> {
    let names: BTreeSet<&str> = touched(&patched.reference.project).collect();
    let before = patched.case.before.named(&names);
    let has = |packages: Option<&Vec<&Package>>, version: &Version| {
        packages.is_some_and(|packages| packages.iter().any(|package| package.version == *version))
    };
    let came = patched.reference.project.came.iter();
    let mut moved: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for wanted in came.filter(|wanted| !has(before.get(wanted.name.as_str()), &wanted.version)) {
        moved.entry(&wanted.name).or_default().push(wanted);
    }
    let is_other = |wanted: &[&Package], version: &Version| {
        let in_line = wanted.iter().any(|wanted| wanted.version.line() == version.line());
        in_line && !wanted.iter().any(|wanted| wanted.version == *version)
    };
    let packages = patched.project.named(&moved.keys().copied().collect()).into_iter();
    let others = packages.filter(|(name, own)| own.iter().any(|package| is_other(&moved[name], &package.version)));
    others.map(|(name, _)| name.to_owned()).collect()
}

/// What packages of a project depend on, directly or not, as far as the registry says.
fn dependencies(case: &Case, project: &Project, of: &[String]) -> BTreeSet<String> {
    let known = project.named(&case.registry.names().collect());
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<String> = of.to_vec();
    while let Some(name) = waiting.pop() {
        let versions = known.get(name.as_str()).into_iter().flatten();
        let releases = versions.filter_map(|package| case.registry.release(&name, &package.version));
        let listed = releases.filter_map(|release| release.dependencies.as_ref()).flatten();
        for dependency in listed {
            let needed = case.task.ecosystem.canonical_name(&dependency.name);
            if reached.insert(needed.clone()) {
                waiting.push(needed);
            }
        }
    }
    reached
}
