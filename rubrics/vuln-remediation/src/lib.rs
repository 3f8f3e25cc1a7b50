//! The rubric of the task class `vuln-remediation`.
//!
//! An answer is a unified diff against the project, or a decline with its reason. The rubric does what a careful reviewer
//! would do with it: apply the diff, read manifests and lock files, resolve which versions the project would get, and ask
//! whether the advisories are gone, whether everything still fits together, and whether anything changed that had no need
//! to. `bench/vuln-remediation/README.md` is the reference for the formats and the failure modes.
//!
//! Nothing in here is about a particular advisory, package or case.

pub mod advisory;
pub mod case;
pub mod checks;
pub mod failure;
#[cfg(test)]
mod fixture;
pub mod judge;
pub mod output;
pub mod patch;
pub mod project;
pub mod registry;
pub mod syntax;
pub mod tree;
pub mod version;

use eval_rubric::{Answer, BenchCase, CaseFiles, Rubric, RubricError, Verdict};

/// The rubric.
#[derive(Debug)]
pub struct VulnRemediation;

impl Rubric for VulnRemediation {
    fn judge(case: &BenchCase, answer: &Answer, files: &CaseFiles) -> Result<Verdict, RubricError> {
        let case = case::Case::read(case, files)?;
        let output: output::Output = answer.parse()?;
        if let Some(what) = output.refusal() {
            return Err(RubricError::MalformedOutput(what));
        }
        let verdict = judge::judge(&case, &output);
        // An instance judges once and is gone then, with all of its memory: freeing thousands of lock entries first is fuel lost.
        std::mem::forget(case);
        Ok(verdict)
    }
}

eval_rubric::export!(VulnRemediation);
