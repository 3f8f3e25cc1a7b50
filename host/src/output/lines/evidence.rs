//! The line of `verify`.

use serde::Serialize;

use super::LINES_VERSION;
use eval_evidence::verify::{ClassSummary, Finding, Replay, SignatureCounts, State, Verification};
use eval_model::ids::TaskClassName;

#[derive(Serialize)]
pub(crate) struct VerificationLine<'a> {
    pub(super) schema_version: u32,
    pub(super) state: &'static str,
    pub(super) findings: Vec<FindingLine<'a>>,
    pub(super) notes: Vec<String>,
    pub(crate) classes: Vec<ClassLine<'a>>,
    pub(super) replay: Option<ReplayLine>,
}

impl<'a> VerificationLine<'a> {
    /// `state` is that of what was asked about, which may be more than what is reported.
    pub(crate) fn new(verification: &'a Verification, state: State, replayed: Option<&Replay>) -> Self {
        let class = |(task_class, summary)| ClassLine::new(verification, task_class, summary);
        Self {
            schema_version: LINES_VERSION,
            state: state.as_str(),
            findings: verification.findings.iter().map(FindingLine::from).collect(),
            notes: verification.notes.iter().map(ToString::to_string).collect(),
            classes: verification.classes.iter().map(class).collect(),
            replay: replayed.map(ReplayLine::from),
        }
    }
}

#[derive(Serialize)]
pub(super) struct FindingLine<'a> {
    pub(super) state: &'static str,
    pub(super) task_class: Option<&'a TaskClassName>,
    pub(super) seq: Option<u64>,
    pub(super) file: Option<&'a str>,
    pub(super) message: String,
}

impl<'a> From<&'a Finding> for FindingLine<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            state: finding.state().as_str(),
            task_class: finding.task_class.as_ref(),
            seq: finding.seq,
            file: finding.file.as_deref(),
            message: finding.to_string(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct ClassLine<'a> {
    pub(crate) task_class: &'a TaskClassName,
    pub(crate) records: u64,
    pub(super) head: Option<String>,
    pub(crate) unfinished: Option<u64>,
    /// By a trusted key.
    pub(crate) signed: u64,
    pub(crate) signed_by_unknown_keys: u64,
    pub(crate) unsigned: u64,
}

impl<'a> ClassLine<'a> {
    fn new(verification: &Verification, task_class: &'a TaskClassName, summary: &ClassSummary) -> Self {
        let SignatureCounts { trusted, unknown, unsigned } = verification.signature_counts(task_class);
        Self {
            task_class,
            records: summary.records,
            head: verification.heads().get(task_class).map(|head| head.hash.to_string()),
            unfinished: verification.unfinished_of(task_class),
            signed: trusted,
            signed_by_unknown_keys: unknown,
            unsigned,
        }
    }

    /// Whether anybody has signed a record.
    pub(crate) fn has_signatures(&self) -> bool {
        self.signed > 0 || self.signed_by_unknown_keys > 0
    }
}

#[derive(Serialize)]
pub(super) struct ReplayLine {
    pub(super) records: u64,
    pub(super) replayed: u64,
    pub(super) nothing_to_replay: u64,
    pub(super) other_fuel: u64,
    pub(super) left_out: u64,
}

impl From<&Replay> for ReplayLine {
    fn from(replayed: &Replay) -> Self {
        Self {
            records: replayed.records,
            replayed: replayed.replayed,
            nothing_to_replay: replayed.nothing_to_replay,
            other_fuel: replayed.other_fuel,
            left_out: replayed.left_out,
        }
    }
}
