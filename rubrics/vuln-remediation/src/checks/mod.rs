//! The checks of a patch that applies. Each looks at one question and answers with failure modes; none knows the others.

pub mod code;
pub mod cves;
mod doubled;
pub mod line;
pub mod manifest;
pub mod origin;
pub mod scope;
pub mod tests_intact;
pub mod versions;

use std::collections::BTreeSet;

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

impl<'a> Patched<'a> {
    /// The packages in which the answer or the reference differs from the input. All others are as they were in both.
    fn touched(&self) -> BTreeSet<&'a str> {
        touched(self.project).chain(touched(&self.reference.project)).collect()
    }
}

/// The packages in which a project differs from the input.
fn touched(project: &Project) -> impl Iterator<Item = &str> {
    project.came.iter().chain(&project.gone).map(|package| package.name.as_str())
}
