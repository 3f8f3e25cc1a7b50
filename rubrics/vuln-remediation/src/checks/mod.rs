//! The checks of a patch that applies. Each looks at one question and answers with failure modes; none knows the others.

pub mod code;
pub mod cves;
pub mod manifest;
pub mod scope;
pub mod tests_intact;
pub mod versions;

use crate::case::{Case, Reference};
use crate::diff::Diff;
use crate::project::Project;
use crate::tree::Tree;

/// A patched project next to the right one that it is measured against.
#[derive(Debug, Clone, Copy)]
pub struct Patched<'a> {
    pub case: &'a Case,
    pub reference: &'a Reference,
    pub diff: &'a Diff,
    pub tree: &'a Tree,
    pub project: &'a Project,
}
