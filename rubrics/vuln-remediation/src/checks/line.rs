//! Where a reference leaves the line open (`bump = "line"`): what follows from another release in the line.
//!
//! Such a release may depend on other packages, or on other versions of them, than the reference's. Those may move, come
//! and go with it. Whether they fit is what the lock file is checked for; here it is only said which ones they are.

use std::collections::BTreeSet;

use super::Patched;
use crate::case::{Bump, Case};
use crate::project::Project;
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
    let has = |project: &Project, name: &str, version: &Version| {
        project.packages.iter().any(|package| package.name == name && package.version == *version)
    };
    let moved = patched.reference.project.packages.iter();
    let moved: Vec<_> = moved.filter(|wanted| !has(&patched.case.before, &wanted.name, &wanted.version)).collect();
    let is_other = |name: &str, version: &Version| {
        let in_line =
            |wanted: &&&crate::project::Package| wanted.name == name && wanted.version.line() == version.line();
        moved.iter().any(|wanted| in_line(&wanted)) && !moved.iter().any(|w| w.name == name && w.version == *version)
    };
    let packages = patched.project.packages.iter().filter(|package| is_other(&package.name, &package.version));
    packages.map(|package| package.name.clone()).collect()
}

/// What packages of a project depend on, directly or not, as far as the registry says.
fn dependencies(case: &Case, project: &Project, of: &[String]) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<String> = of.to_vec();
    while let Some(name) = waiting.pop() {
        let versions = project.packages.iter().filter(|package| package.name == name);
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
