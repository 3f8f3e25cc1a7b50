//! Which advisories still concern the project, and whether new ones do.

use super::{Patched, code};
use crate::failure::{Failure, Failures};

/// The share of the advisories that must go, and did.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) -> (usize, usize) {
    let expected = &patched.reference.delta;
    let delta = patched.case.delta(patched.project);
    if !delta.introduced.is_subset(&expected.introduced) {
        failures.insert(Failure::CveIntroduced);
    }
    let mut gone = expected.removed.intersection(&delta.removed).count();
    let mut of = expected.removed.len();
    // A reference that leaves an advisory in place closes the hole in the code instead, if it has rules for code.
    let closed_in_code = code::rules_that_hold(patched) == patched.reference.rules.code.len();
    let left = patched.case.task.advisories.iter().any(|id| expected.remaining.contains(id));
    if (left && !closed_in_code) || gone < of {
        failures.insert(Failure::CveStillPresent);
    }
    if of == 0 {
        (gone, of) = (usize::from(!left || closed_in_code), 1);
    }
    (gone, of)
}
