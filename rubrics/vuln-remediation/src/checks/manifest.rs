//! What the project itself asks for: whether it holds together, and asks for nothing that the fix does not need.

use std::collections::{BTreeMap, BTreeSet};

use super::{Patched, line, touched};
use crate::case::Case;
use crate::failure::{Failure, Failures};
use crate::project::{Problem, Project, Request};
use crate::version::{Requirement, Version};

/// Checks that manifest and lock file agree. What was wrong before is not the answer's fault.
pub fn check_agreement(patched: &Patched<'_>, failures: &mut Failures) {
    let is_new = |problem: &&Problem| !patched.case.before.problems.contains(problem);
    for problem in patched.project.problems.iter().filter(is_new) {
        match problem {
            Problem::LockMismatch(what) => failures.add(Failure::ManifestLockMismatch, what),
            Problem::InvalidManifest(what) => failures.add(Failure::ManifestInvalid, what),
        }
    }
}

/// Checks every request that the patch adds, changes or drops.
pub fn check_requests(patched: &Patched<'_>, failures: &mut Failures) {
    let before = &patched.case.before.requests;
    let after = &patched.project.requests;
    let fix = Fix::of(&patched.case.before, &patched.reference.project);
    let followers = line::followers(patched);
    let follows = |request: Option<&Request>| request.is_some_and(|request| followers.contains(&request.package));
    let labels: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for label in labels {
        let change = Change {
            was: before.get(label),
            is: after.get(label),
            wanted: patched.reference.project.requests.get(label),
        };
        let is_unasked = change.is != change.was && change.is != change.wanted;
        if is_unasked
            && !follows(change.is.or(change.was))
            && let Some(failure) = change.failure(patched.case, &fix)
        {
            failures.add(failure, change.described(label));
        }
    }
}

/// A request as it was, as the answer has it, and as the reference has it.
#[derive(Clone, Copy)]
struct Change<'a> {
    was: Option<&'a Request>,
    is: Option<&'a Request>,
    wanted: Option<&'a Request>,
}

impl Change<'_> {
    fn described(&self, label: &str) -> String {
        let text = |request: Option<&Request>| match request {
            Some(request) => format!("`{}{}`", request.requirement, request.options),
            None => "not there".to_owned(),
        };
        let (was, is, wanted) = (text(self.was), text(self.is), text(self.wanted));
        format!("the request `{label}` was {was} and is {is}; the fix has it {wanted}")
    }

    fn failure(&self, case: &Case, fix: &Fix<'_>) -> Option<Failure> {
        let Some(is) = self.is else { return Some(Failure::DependencyRemoved) };
        if !fix.moving.contains(is.package.as_str()) {
            return Some(Failure::UnrelatedDependencyChange);
        }
        if self.was.is_none() && self.wanted.is_none() {
            return Some(Failure::UnneededRequest);
        }
        self.requirement_failure(case, is, fix)
    }

    /// A request may be narrower than it was or than the reference has it, but not wider. One that is made narrower shuts
    /// out what was in use: else it is a change for nothing.
    fn requirement_failure(&self, case: &Case, is: &Request, fix: &Fix<'_>) -> Option<Failure> {
        let allowed: Vec<&Request> = self.was.into_iter().chain(self.wanted).collect();
        if !allowed.iter().any(|request| request.options == is.options && request.package == is.package) {
            return Some(Failure::UnrelatedDependencyChange);
        }
        let is_exact = |request: &Request| {
            Requirement::parse(case.task.ecosystem, &request.requirement)
                .is_some_and(|requirement| requirement.is_exact())
        };
        if is_exact(is) {
            // One version is not wide; whether it is the right one is asked of the version itself.
            return None;
        }
        let names = |request: &Request| names_pre_release(&request.requirement);
        if allowed.iter().all(|request| is_exact(request)) || names(is) && !allowed.iter().any(|request| names(request))
        {
            return Some(Failure::RequirementWidened);
        }
        let versions = admitted(case, is);
        let fits = |request: &&Request| versions.is_subset(&admitted(case, request));
        let narrower = !versions.is_empty() && allowed.iter().any(fits);
        if !narrower {
            return Some(Failure::RequirementWidened);
        }
        let still_admits = versions.iter().any(|version| fix.gone.contains(&(is.package.as_str(), version)));
        still_admits.then_some(Failure::UnneededRequest)
    }
}

/// Whether a requirement names a pre-release, which lets others in.
fn names_pre_release(requirement: &str) -> bool {
    let mut hyphens = requirement.match_indices('-').map(|(at, _)| (&requirement[..at], &requirement[at + 1..]));
    hyphens.any(|(before, after)| {
        before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(|c: char| c.is_ascii_alphanumeric())
    })
}

/// The versions in the registry that a request admits.
fn admitted(case: &Case, request: &Request) -> BTreeSet<Version> {
    let Some(requirement) = Requirement::parse(case.task.ecosystem, &request.requirement) else {
        return BTreeSet::new();
    };
    let versions = case.registry.versions(&request.package).into_iter().map(|(version, _)| version);
    versions.filter(|version| requirement.admits(version)).collect()
}

/// What the reference does to packages.
struct Fix<'a> {
    /// The packages of which it changes the versions in use, or what is asked for.
    moving: BTreeSet<&'a str>,
    /// The versions that it takes out of use.
    gone: BTreeSet<(&'a str, &'a Version)>,
}

impl<'a> Fix<'a> {
    fn of(before: &'a Project, reference: &'a Project) -> Self {
        let requests = before.requests.values().chain(reference.requests.values());
        let names: BTreeSet<&str> =
            touched(reference).chain(requests.map(|request| request.package.as_str())).collect();
        let (was, wanted) = (by_package(before, &names), by_package(reference, &names));
        let used = |facts: &BTreeMap<&'a str, Facts<'a>>| -> BTreeSet<(&'a str, &'a Version)> {
            facts.iter().flat_map(|(name, (versions, _))| versions.iter().map(|version| (*name, *version))).collect()
        };
        let gone = used(&was).difference(&used(&wanted)).copied().collect();
        Self { moving: names.into_iter().filter(|name| was.get(name) != wanted.get(name)).collect(), gone }
    }
}

type Facts<'a> = (BTreeSet<&'a Version>, Vec<&'a Request>);

fn by_package<'a>(project: &'a Project, names: &BTreeSet<&str>) -> BTreeMap<&'a str, Facts<'a>> {
    let mut facts: BTreeMap<&str, Facts<'_>> = BTreeMap::new();
    for (name, packages) in project.named(names) {
        facts.entry(name).or_default().0.extend(packages.into_iter().map(|package| &package.version));
    }
    for request in project.requests.values() {
        facts.entry(&request.package).or_default().1.push(request);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(requirement: &str, options: &str) -> Request {
        let [package, requirement, options] = ["lib", requirement, options].map(str::to_owned);
        Request { package, requirement, options }
    }

    fn failure(was: Option<&Request>, is: Option<&Request>, wanted: Option<&Request>) -> Option<Failure> {
        let case = crate::fixture::Fixture::positive().read().unwrap();
        let fix = Fix::of(&case.before, &case.accepts.references[0].project);
        Change { was, is, wanted }.failure(&case, &fix)
    }

    #[test]
    fn a_request_may_be_narrower_but_not_wider() {
        let (was, wanted) = (request(">=1.0,<2", ""), request(">=1.2,<2", ""));
        let judged = |text: &str| failure(Some(&was), Some(&request(text, "")), Some(&wanted));
        assert_eq!(judged(">=1.3,<2"), None);
        assert_eq!(judged("==1.2"), None);
        assert_eq!(judged(">=1.1,<2"), Some(Failure::UnneededRequest), "what was in use is still admitted");
        assert_eq!(judged(">=1.2"), Some(Failure::RequirementWidened));
        assert_eq!(judged(">=7"), Some(Failure::RequirementWidened), "what admits nothing is no requirement");
    }

    #[test]
    fn a_pin_stays_a_pin_and_no_requirement_lets_pre_releases_in() {
        let (was, wanted) = (request("==1.1", ""), request("==1.2", ""));
        assert_eq!(failure(Some(&was), Some(&request(">=1.2", "")), Some(&wanted)), Some(Failure::RequirementWidened));
        for (text, is_named) in [("1.2.3-rc.1", true), ("^1.0.0-0", true), ("1.2.3 - 2.0", false), (">=1,<2", false)] {
            assert_eq!(names_pre_release(text), is_named, "{text}");
        }
    }

    #[test]
    fn a_request_that_comes_goes_or_says_something_else_is_named() {
        let (was, other) = (request("==1.1", ""), request("==1.2", "[extra]"));
        assert_eq!(failure(Some(&was), None, Some(&was)), Some(Failure::DependencyRemoved));
        assert_eq!(failure(None, Some(&was), None), Some(Failure::UnneededRequest));
        assert_eq!(failure(Some(&was), Some(&other), Some(&was)), Some(Failure::UnrelatedDependencyChange));
        let stranger = Request { package: "stranger".to_owned(), ..was.clone() };
        assert_eq!(failure(Some(&was), Some(&stranger), None), Some(Failure::UnrelatedDependencyChange));
    }
}
