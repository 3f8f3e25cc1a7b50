//! The lines of `rubric attack`.

use serde::Serialize;

use crate::bench::attack::{Fault, Survivor, Tally};
use eval_model::ids::{CaseId, Digest, TaskClassName};

#[derive(Serialize)]
pub(crate) struct MutatorLine<'a> {
    pub(super) mutator: &'a str,
    #[serde(flatten)]
    pub(super) tally: TallyFields,
}

/// What came of some mutants.
#[derive(Serialize)]
pub(crate) struct TallyFields {
    pub(super) mutants: u64,
    pub(super) killed: u64,
    pub(super) survivors: u64,
    pub(super) accepted: u64,
    pub(super) faulted: u64,
}

impl From<Tally> for TallyFields {
    fn from(tally: Tally) -> Self {
        let Tally { mutants, killed, survivors, accepted, faulted } = tally;
        Self { mutants, killed, survivors, accepted, faulted }
    }
}

impl<'a> MutatorLine<'a> {
    pub(crate) fn new(mutator: &'a str, tally: Tally) -> Self {
        Self { mutator, tally: tally.into() }
    }
}

#[derive(Serialize)]
pub(crate) struct SurvivorLine<'a> {
    pub(super) case_id: &'a CaseId,
    pub(super) mutator: &'a str,
    pub(super) answer: &'a str,
    pub(super) test: String,
    pub(super) score: f64,
    pub(super) diff: &'a str,
}

impl<'a> From<&'a Survivor> for SurvivorLine<'a> {
    fn from(survivor: &'a Survivor) -> Self {
        let mutant = &survivor.mutant;
        Self {
            case_id: &mutant.case_id,
            mutator: &mutant.mutator,
            answer: &mutant.answer,
            test: mutant.test_name(),
            score: survivor.score,
            diff: &mutant.difference,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct FaultedLine<'a> {
    pub(super) case_id: &'a CaseId,
    pub(super) mutator: &'a str,
    pub(super) answer: &'a str,
    pub(super) fault: &'a str,
    pub(super) diff: &'a str,
}

impl<'a> From<&'a Fault> for FaultedLine<'a> {
    fn from(faulted: &'a Fault) -> Self {
        let mutant = &faulted.mutant;
        Self {
            case_id: &mutant.case_id,
            mutator: &mutant.mutator,
            answer: &mutant.answer,
            fault: &faulted.fault,
            diff: &mutant.difference,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct AttackLine<'a> {
    pub(crate) task_class: &'a TaskClassName,
    pub(crate) rubric_digest: Digest,
    pub(crate) answers: usize,
    #[serde(flatten)]
    pub(crate) tally: TallyFields,
}
