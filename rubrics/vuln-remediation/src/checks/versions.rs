//! Which package versions the patch changes: whether they exist, may be used, and are no further away than needed.

use std::collections::{BTreeMap, BTreeSet};

use super::{Patched, line};
use crate::case::Bump;
use crate::failure::{Failure, Failures};
use crate::project::{Package, Project};
use crate::version::{Line, Version};

/// The versions of packages, by name.
type Versions<'a> = BTreeMap<&'a str, BTreeSet<&'a Version>>;

/// Checks every package version that comes in or goes.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) {
    let touched = patched.touched();
    let [before, reference, after] =
        [&patched.case.before, &patched.reference.project, patched.project].map(|project| versions(project, &touched));
    let followers = line::followers(patched);
    let comparison = Comparison { patched, before: &before, reference: &reference, after: &after, followers };
    for package in &patched.project.came {
        if !of(&before, &package.name).any(|version| *version == package.version) {
            comparison.check_new(package, failures);
        }
    }
    comparison.check_lines(failures);
    comparison.check_complete(failures);
    comparison.check_removed(failures);
}

fn versions<'a>(project: &'a Project, names: &BTreeSet<&str>) -> Versions<'a> {
    let named = project.named(names).into_iter();
    named.map(|(name, packages)| (name, packages.into_iter().map(|package| &package.version).collect())).collect()
}

struct Comparison<'a> {
    patched: &'a Patched<'a>,
    before: &'a Versions<'a>,
    reference: &'a Versions<'a>,
    after: &'a Versions<'a>,
    followers: BTreeSet<String>,
}

impl Comparison<'_> {
    fn check_new(&self, package: &Package, failures: &mut Failures) {
        let expected = of(self.reference, &package.name).any(|version| *version == package.version);
        let Some(release) = self.patched.case.registry.release(&package.name, &package.version) else {
            failures.add(Failure::VersionDoesNotExist, format!("the registry has no {package}"));
            return;
        };
        if release.yanked && !expected {
            failures.add(Failure::YankedVersion, format!("{package} is yanked"));
        }
        if package.version.is_pre_release() && !expected && !self.pre_releases_are_fine(package) {
            failures
                .add(Failure::PreReleaseVersion, format!("{package} is a pre-release, which the policy does not take"));
        }
        if !expected {
            self.check_distance(package, failures);
        }
    }

    /// Where the task allows them, or the project is on one of the same package already.
    fn pre_releases_are_fine(&self, package: &Package) -> bool {
        self.patched.case.task.policy.pre_releases || of(self.before, &package.name).any(Version::is_pre_release)
    }

    /// A version that the reference does not have: unrelated, too far, or back.
    fn check_distance(&self, package: &Package, failures: &mut Failures) {
        let moved = self.moved_to(&package.name);
        if moved.is_empty() {
            if !self.followers.contains(&package.name) {
                failures.add(Failure::UnrelatedDependencyChange, format!("{package} is not part of the fix"));
            }
            return;
        }
        let line = package.version.line();
        let in_line = moved.iter().find(|version| version.line() == line);
        let too_far = match in_line {
            Some(wanted) => package.version > **wanted,
            None => moved.iter().any(|wanted| self.overshoots(package, wanted)),
        };
        let anywhere_in_line = self.patched.reference.bump(&self.patched.case.task) == Bump::Line && in_line.is_some();
        if too_far && !anywhere_in_line {
            let wanted: Vec<&str> = moved.iter().map(|version| version.text()).collect();
            failures.add(Failure::BumpTooLarge, format!("{package} is further than {} needs", wanted.join(" or ")));
        }
        if self.lowest_before(&package.name).is_some_and(|lowest| package.version < *lowest) {
            failures.add(Failure::VersionDowngraded, format!("{package} is older than what was in use"));
        }
    }

    /// Whether a version lies beyond the wanted one, and not merely because another copy of the package is there too.
    fn overshoots(&self, package: &Package, wanted: &Version) -> bool {
        let other_copy = |old: &Version| wanted < old && *old <= package.version;
        *wanted < package.version && !of(self.before, &package.name).any(other_copy)
    }

    /// The versions of a package that the reference brings in.
    fn moved_to(&self, name: &str) -> Vec<&Version> {
        of(self.reference, name).filter(|version| !of(self.before, name).any(|old| old == *version)).collect()
    }

    fn lowest_before(&self, name: &str) -> Option<&Version> {
        of(self.before, name).min()
    }

    /// Where several lines of a package are in use, each consumer stays on the line that the reference leaves it on.
    fn check_lines(&self, failures: &mut Failures) {
        for name in self.reference.keys().filter(|name| !self.moved_to(name).is_empty()) {
            let lines = |versions: &Versions<'_>| of(versions, name).map(Version::line).collect::<BTreeSet<Line>>();
            let (is, wanted) = (lines(self.after), lines(self.reference));
            // A line that is in neither was caught already, and one that was left as it was is not a move.
            if !is.is_empty() && is.is_subset(&wanted) && is != wanted {
                failures.add(Failure::BumpTooLarge, format!("`{name}` is not on all the lines that are in use"));
            }
        }
    }

    /// What the reference moves is moved, and what it adds is added: leaving half of a pair behind is no fix.
    fn check_complete(&self, failures: &mut Failures) {
        for name in self.reference.keys().filter(|name| !self.moved_to(name).is_empty()) {
            let is_left = of(self.after, name).all(|version| of(self.before, name).any(|old| old == version));
            // A package that is gone altogether is not left but removed.
            let is_gone = of(self.after, name).next().is_none() && of(self.before, name).next().is_some();
            if is_left && !is_gone && !self.followers.contains(*name) {
                failures.add(Failure::IncompleteChange, format!("`{name}` stays where the fix moves or adds it"));
            }
        }
    }

    /// What the reference keeps is kept, and what it drops is dropped.
    fn check_removed(&self, failures: &mut Failures) {
        for name in self.before.keys() {
            let (kept, wanted) = (of(self.after, name).next().is_some(), of(self.reference, name).next().is_some());
            if wanted && !kept && !self.followers.contains(*name) {
                failures.add(Failure::DependencyRemoved, format!("`{name}` is gone"));
            }
            if kept && !wanted && !self.followers.contains(*name) {
                failures.add(Failure::IncompleteChange, format!("`{name}` stays where the fix drops it"));
            }
        }
    }
}

fn of<'a>(versions: &'a Versions<'_>, name: &str) -> impl Iterator<Item = &'a Version> {
    versions.get(name).into_iter().flatten().copied()
}
