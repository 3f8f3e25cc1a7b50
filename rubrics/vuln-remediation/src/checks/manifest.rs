//! What the project itself asks for: whether it holds together, and asks for nothing that the fix does not need.

use std::collections::BTreeSet;

use super::Patched;
use crate::failure::{Failure, Failures};
use crate::project::{Problem, Project, Request};
use crate::version::{Requirement, Version};

/// Checks that manifest and lock file agree. What was wrong before is not the answer's fault.
pub fn check_agreement(patched: &Patched<'_>, failures: &mut Failures) {
    let is_new = |problem: &&Problem| !patched.case.before.problems.contains(problem);
    for problem in patched.project.problems.iter().filter(is_new) {
        failures.insert(match problem {
            Problem::LockMismatch(_) => Failure::ManifestLockMismatch,
            Problem::InvalidManifest(_) => Failure::ManifestInvalid,
        });
    }
}

/// Checks every request that the patch adds, changes or drops.
pub fn check_requests(patched: &Patched<'_>, failures: &mut Failures) {
    let before = &patched.case.before.requests;
    let after = &patched.project.requests;
    let labels: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for label in labels {
        let (was, is) = (before.get(label), after.get(label));
        if was == is {
            continue;
        }
        let wanted = patched.reference.project.requests.get(label);
        if is != wanted {
            failures.extend(judge_change(patched, was, is, wanted));
        }
    }
}

fn judge_change(
    patched: &Patched<'_>,
    was: Option<&Request>,
    is: Option<&Request>,
    wanted: Option<&Request>,
) -> Option<Failure> {
    let related = |request: &Request| moves(patched, &request.package);
    match (was, is) {
        (_, None) => Some(Failure::DependencyRemoved),
        (None, Some(is)) if related(is) && wanted.is_none() => Some(Failure::UnneededRequest),
        (_, Some(is)) if !related(is) => Some(Failure::UnrelatedDependencyChange),
        (was, Some(is)) => judge_requirement(patched, was, is, wanted),
    }
}

/// A request may be narrower than it was or than the reference has it, but not wider.
fn judge_requirement(
    patched: &Patched<'_>,
    was: Option<&Request>,
    is: &Request,
    wanted: Option<&Request>,
) -> Option<Failure> {
    let allowed: Vec<&Request> = was.into_iter().chain(wanted).collect();
    if !allowed.iter().any(|request| request.options == is.options && request.package == is.package) {
        return Some(Failure::UnrelatedDependencyChange);
    }
    let requirement = Requirement::parse(patched.case.task.ecosystem, &is.requirement);
    if requirement.is_some_and(|requirement| requirement.is_exact()) {
        // One version is not wide; whether it is the right one is asked of the version itself.
        return None;
    }
    let versions = admitted(patched, is);
    let fits = |request: &&Request| versions.is_subset(&admitted(patched, request));
    let narrower = !versions.is_empty() && allowed.iter().any(fits);
    (!narrower).then_some(Failure::RequirementWidened)
}

/// The versions in the registry that a request admits.
fn admitted(patched: &Patched<'_>, request: &Request) -> BTreeSet<Version> {
    let case = patched.case;
    let Some(requirement) = Requirement::parse(case.task.ecosystem, &request.requirement) else {
        return BTreeSet::new();
    };
    let versions = case.registry.versions(&request.package).into_iter().map(|(version, _)| version);
    versions.filter(|version| requirement.admits(version)).collect()
}

/// Whether the reference changes which versions of the package are in use, or what is asked for.
fn moves(patched: &Patched<'_>, package: &str) -> bool {
    let versions = |project: &Project| -> BTreeSet<Version> {
        project.packages.iter().filter(|p| p.name == package).map(|p| p.version.clone()).collect()
    };
    let asked = |project: &Project| -> Vec<Request> {
        project.requests.values().filter(|request| request.package == package).cloned().collect()
    };
    let (before, reference) = (&patched.case.before, &patched.reference.project);
    versions(before) != versions(reference) || asked(before) != asked(reference)
}
