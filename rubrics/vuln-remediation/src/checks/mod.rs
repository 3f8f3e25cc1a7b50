//! The checks of a patch that applies. Each looks at one question and answers with failure modes; none knows the others.

pub mod code;
pub mod cves;
pub mod line;
pub mod manifest;
pub mod origin;
pub mod scope;
pub mod tests_intact;
pub mod versions;

use eval_diff::Applied;

use crate::case::{Case, Reference};
use crate::project::Project;

/// A patched project next to the right one that it is measured against.
#[derive(Debug, Clone, Copy)]
pub struct Patched<'a> {
    pub case: &'a Case,
    pub reference: &'a Reference,
    pub applied: &'a Applied,
    pub project: &'a Project,
}
