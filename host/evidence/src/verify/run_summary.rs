//! What a walk keeps of every record, so that nobody needs to read them all again to tell what runs there were.

use crate::record::{Mode, OutputKind, RecordedRun};

/// What kind of run a record is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSummary {
    pub is_live: bool,
    pub has_solved_examples: bool,
    /// Every case of the bench was selected.
    pub is_whole: bool,
}

impl RunSummary {
    pub(super) fn of(record: &RecordedRun) -> Self {
        let selection = &record.report.selection;
        Self {
            is_live: record.mode == Mode::Live,
            has_solved_examples: record.output_kinds.contains(&OutputKind::SolvedExample),
            is_whole: selection.selected == selection.cases_in_bench,
        }
    }
}
