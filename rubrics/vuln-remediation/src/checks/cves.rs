//! Which advisories still concern the project, and whether new ones do.

use super::Patched;
use crate::failure::{Failure, Failures};

/// The share of the advisories that must go, and did.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) -> (usize, usize) {
    let expected = &patched.reference.delta;
    let delta = patched.case.delta(patched.project);
    let gone = expected.removed.intersection(&delta.removed).count();
    if gone < expected.removed.len() {
        failures.insert(Failure::CveStillPresent);
    }
    if !delta.introduced.is_subset(&expected.introduced) {
        failures.insert(Failure::CveIntroduced);
    }
    if expected.removed.is_empty() { (1, 1) } else { (gone, expected.removed.len()) }
}
