//! Which advisories still concern the project, and whether new ones do.

use super::{Patched, code};
use crate::failure::{Failure, Failures};

/// The share of the advisories that must go, and did.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) -> (usize, usize) {
    let expected = &patched.reference.delta;
    let delta = patched.case.delta(patched.project);
    for id in delta.introduced.difference(&expected.introduced) {
        failures.add(
            Failure::CveIntroduced,
            format!("{id} concerns the project now{}", patched.case.because_of(id, patched.project)),
        );
    }
    let mut gone = expected.removed.intersection(&delta.removed).count();
    let mut of = expected.removed.len();
    // A reference that leaves an advisory in place closes the hole in the code instead, if it has rules for code.
    let closed_in_code = code::rules_that_hold(patched) == patched.reference.rules.code.len();
    let left = patched.case.task.advisories.iter().any(|id| expected.remaining.contains(id));
    for id in expected.removed.difference(&delta.removed) {
        failures.add(
            Failure::CveStillPresent,
            format!("{id} still concerns the project{}", patched.case.because_of(id, patched.project)),
        );
    }
    if left && !closed_in_code {
        failures.add(Failure::CveStillPresent, "the code does not close what the versions leave open");
    }
    if of == 0 {
        (gone, of) = (usize::from(!left || closed_in_code), 1);
    }
    (gone, of)
}
