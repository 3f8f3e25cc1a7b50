//! What happens in a run, as a closed list of facts. The pipeline emits them; reporters turn them into bytes and decide
//! nothing.

use crate::answers::StoredAnswer;
use eval_evidence::verified::VerifiedStore;
use eval_model::contract::CapturedStream;
use eval_model::ids::{RunId, TaskClassName};
use eval_model::report::{BenchRunReport, CaseResult, LoadErrorEntry};
use eval_model::score::BenchScore;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    RunStarted {
        task_class: &'a TaskClassName,
        selected: usize,
    },
    /// Something that a person should know and that changes nothing.
    Warning(&'a str),
    /// What a run waits for or found before its first case.
    Notice(&'a str),
    /// Cases and load errors come in the order of the case ids, whatever the concurrency.
    LoadError(&'a LoadErrorEntry),
    CaseFinished(&'a CaseResult<BenchScore>),
    /// What the agent of the case that finished with a fault of the agent's had written to stderr, as far as it was kept.
    AgentSaid(&'a CapturedStream),
    /// What the case that finished had been answered, when the run keeps answers.
    Answered(&'a StoredAnswer),
    /// For now no more cases have finished: what was held back of those that have goes out.
    Pause,
    Aggregated {
        task_class: &'a TaskClassName,
        run_id: RunId,
        report: &'a BenchRunReport,
    },
    Recorded(&'a Recorded),
    /// The answers of a shard were written.
    AnswerSetWritten {
        path: &'a str,
    },
}

impl Event<'_> {
    /// Whether this can happen for every case, so that others like it, or [`Event::Pause`], soon follow.
    pub(crate) fn is_of_a_case(&self) -> bool {
        match self {
            Self::Warning(_) | Self::LoadError(_) | Self::CaseFinished(_) | Self::AgentSaid(_) | Self::Answered(_) => {
                true
            }
            Self::RunStarted { .. }
            | Self::Notice(_)
            | Self::Pause
            | Self::Aggregated { .. }
            | Self::Recorded(_)
            | Self::AnswerSetWritten { .. } => false,
        }
    }
}

/// Where the evidence of a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) path: String,
    pub(crate) seq: u64,
    /// This is the first record of its task class in this store.
    pub(crate) chain_begins: bool,
    /// Who answered, for people.
    pub(crate) suts: Vec<String>,
}

/// Consumes the events of a run.
pub(crate) trait Reporter {
    fn event(&mut self, event: &Event<'_>);
}

/// What a person should know of a store before a run continues it.
pub(crate) fn emit_notes(store: &VerifiedStore, emit: &mut dyn FnMut(&Event<'_>)) {
    for note in store.notes() {
        emit(&Event::Notice(&format!("note: {note}")));
    }
    for draft in store.drafts() {
        emit(&Event::Notice(&format!("note: {draft}")));
    }
}
