//! Where a new or changed entry of a lock file comes from, and whether its bytes are those of the release.
//!
//! The input's own lock file shows which sources the project trusts and whether it records checksums. An answer may not
//! bring in another source, nor leave out a checksum that the registry excerpt knows.

use std::rc::Rc;

use super::Patched;
use crate::failure::{Failure, Failures};
use crate::project::{Package, Project};
use crate::version::Ecosystem;

/// Checks every entry that the input does not have exactly as it is.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) {
    let habits = Habits::of(patched);
    let known = patched.case.before.named(&patched.touched());
    let is_known = |package: &Package| {
        known.get(package.name.as_str()).is_some_and(|same| same.iter().any(|known| is_same(known, package)))
    };
    for package in patched.project.came.iter().filter(|package| !is_known(package)) {
        for origin in package.origins.iter().filter(|origin| !habits.trusts(origin)) {
            failures.add(
                Failure::SourceNotTrusted,
                format!("{package} comes from `{origin}`, which the input does not use"),
            );
        }
        if habits.names_sources && package.origins.is_empty() {
            failures.add(Failure::ManifestLockMismatch, format!("{package} names no source, as all others do"));
        }
        if let Some(what) = habits.checksum_problem(patched, package) {
            failures.add(Failure::LockChecksumWrong, format!("{package} {what}"));
        }
    }
}

fn is_same(known: &Package, package: &Package) -> bool {
    known.version.text() == package.version.text()
        && known.origins == package.origins
        && known.checksums == package.checksums
}

/// What the lock files of the input and of the reference show.
struct Habits<'a> {
    /// Packages whose sources are trusted: those of the input, and what the reference brings in.
    trusted: [&'a [Rc<Package>]; 2],
    /// A source that is trusted where none is named.
    unnamed: &'static [&'static str],
    /// Whether every entry of the input says where it comes from, but for the project's own packages.
    names_sources: bool,
    /// Whether entries have checksums at all.
    has_checksums: bool,
    /// Whether every entry of the input has one, but for the project's own packages.
    needs_checksums: bool,
    /// Whether entries have every checksum that is known of their release.
    is_complete: bool,
}

impl<'a> Habits<'a> {
    fn of(patched: &Patched<'a>) -> Self {
        let (before, reference) = (&patched.case.before, &patched.reference.project);
        let both = || before.packages.iter().chain(&reference.came);
        let names_none = both().all(|package| package.origins.is_empty());
        let is_complete = both().filter(|package| !package.checksums.is_empty()).all(|package| {
            let release = patched.case.registry.release(&package.name, &package.version);
            release.is_none_or(|release| release.checksums.iter().all(|known| package.checksums.contains(known)))
        });
        let is_own = |package: &Package| package.origins.is_empty() && package.checksums.is_empty();
        let always = |is_there: fn(&Package) -> bool| {
            let mut foreign = before.packages.iter().filter(|package| !is_own(package)).peekable();
            foreign.peek().is_some() && foreign.all(|package| is_there(package))
        };
        Self {
            trusted: [&before.packages, &reference.came],
            unnamed: if names_none { defaults(before) } else { &[] },
            names_sources: always(|package| !package.origins.is_empty()),
            has_checksums: both().any(|package| !package.checksums.is_empty()),
            needs_checksums: always(|package| !package.checksums.is_empty()),
            is_complete,
        }
    }

    fn trusts(&self, origin: &str) -> bool {
        let mut packages = self.trusted.into_iter().flatten();
        self.unnamed.contains(&origin) || packages.any(|package| package.origins.contains(origin))
    }

    fn checksum_problem(&self, patched: &Patched<'_>, package: &Package) -> Option<&'static str> {
        // In Go not every module that is selected needs a sum; the reader knows which do.
        if package.checksums.is_empty() && patched.case.task.ecosystem == Ecosystem::Go {
            return None;
        }
        if package.checksums.is_empty() && self.needs_checksums {
            return Some("has no checksum, as all others do");
        }
        let known = &patched.case.registry.release(&package.name, &package.version)?.checksums;
        if known.is_empty() {
            return None;
        }
        if package.checksums.iter().any(|checksum| !known.contains(checksum)) {
            return Some("has a checksum that is not its release's");
        }
        if package.checksums.is_empty() && self.has_checksums {
            return Some("has no checksum");
        }
        let lacks_one = known.iter().any(|checksum| !package.checksums.contains(checksum));
        (self.has_checksums && self.is_complete && lacks_one).then_some("lacks a checksum that its release has")
    }
}

/// A lock file that names no source means the public registry, and may as well name it.
fn defaults(before: &Project) -> &'static [&'static str] {
    if before.files.contains("package-lock.json") { &["https://registry.npmjs.org/{name}/-/{file}"] } else { &[] }
}
