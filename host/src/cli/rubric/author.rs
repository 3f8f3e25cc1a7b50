//! A runner that remembers what only the rubric's author is shown: the scratch directory, and where a fault was.

use std::sync::{Mutex, PoisonError};

use crate::cli::printer::Printer;
use eval_model::contract::{RubricRunner, RunnerError, ScoreRequest, Scored};
use eval_sandbox::{Leavings, PreparedRubric};

/// The rubric, and what its last call left.
pub(super) struct ForAuthor<'a> {
    rubric: &'a PreparedRubric,
    leavings: Mutex<Option<Leavings>>,
}

impl<'a> ForAuthor<'a> {
    pub(super) fn new(rubric: &'a PreparedRubric) -> Self {
        Self { rubric, leavings: Mutex::default() }
    }

    /// What the last call left, once.
    pub(super) fn take_leavings(&self) -> Option<Leavings> {
        self.leavings.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl RubricRunner for ForAuthor<'_> {
    fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
        let (scored, leavings) = self.rubric.score_for_author(request)?;
        *self.leavings.lock().unwrap_or_else(PoisonError::into_inner) = Some(leavings);
        Ok(scored)
    }
}

/// Says which functions the guest was in when it was ended, the innermost first.
pub(super) fn tell_backtrace(printer: &mut Printer, leavings: &Leavings) {
    for function in &leavings.backtrace.functions {
        printer.tell(&format!("  in {function}"));
    }
}
