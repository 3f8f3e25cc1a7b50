//! Every line that a command prints on stdout for programs, as one closed list. The shapes are a promise, which
//! `docs/json-lines.md` writes down and a test here holds them to: keys and kinds may be added, none is renamed.
//!
//! A line is made from facts by the functions beside its type, and nowhere else. It must never decide anything, and all lines of
//! a run but `record` and `answer_set` are byte-identical between two machines that score the same answers: nothing here reads the
//! clock, the environment or the host's paths.

mod attack;
mod author;
mod evidence;
mod promotion;
mod run;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use attack::{AttackLine, FaultedLine, MutatorLine, SurvivorLine};
pub(crate) use author::{GapLine, GoldenLine, InspectionLine, LastRun, RubricLine, TaskClassLine, TriedCaseLine};
pub(crate) use evidence::{ClassLine, VerificationLine};
pub(crate) use promotion::VerdictLine;
pub(crate) use run::{AggregateLine, CaseLine, PlanLine, PlannedCaseLine};

use eval_model::report::LoadErrorEntry;

/// The version of the lines. It changes when a program that reads them could misunderstand one.
pub(crate) const LINES_VERSION: u32 = 1;

/// One line; its `kind` comes first.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    Case(CaseLine<'a>),
    /// A case that an author tried out: what a run says of it, with the limits beside what was used.
    #[serde(rename = "case")]
    TriedCase(TriedCaseLine<'a>),
    LoadError(&'a LoadErrorEntry),
    Aggregate(AggregateLine<'a>),
    /// The record that was chained.
    Record {
        path: &'a str,
        seq: u64,
    },
    /// The answers of a shard.
    AnswerSet {
        path: &'a str,
    },
    /// A case that a run would take.
    PlannedCase(PlannedCaseLine<'a>),
    /// What a run would do.
    Plan(PlanLine<'a>),
    /// The evidence that was exported.
    Bundle {
        path: &'a str,
    },
    Verification(VerificationLine<'a>),
    /// The public half of a key that was made.
    Key {
        verifier: &'a str,
        /// The note by which an older key brings it in.
        rotation: Option<&'a str>,
    },
    /// The signed note that was written.
    Checkpoint {
        path: &'a str,
    },
    Verdict(Box<VerdictLine<'a>>),
    Gap(GapLine<'a>),
    TaskClass(TaskClassLine<'a>),
    Golden(GoldenLine<'a>),
    Rubric(RubricLine<'a>),
    Inspection(InspectionLine<'a>),
    /// What came of the mutants of one mutator.
    Mutator(MutatorLine<'a>),
    /// A spoilt answer that passes.
    Survivor(SurvivorLine<'a>),
    /// A spoilt answer on which the rubric failed.
    Faulted(FaultedLine<'a>),
    /// An attack as a whole.
    Attack(AttackLine<'a>),
}

impl Line<'_> {
    /// The text of the line, without the newline.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and finite numbers serialise")
    }
}
