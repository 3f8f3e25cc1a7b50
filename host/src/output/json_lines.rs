//! The machine's view of a run: the events that a program wants to know of, one line each.

use std::io::{self, Write};

use super::lines::{AggregateLine, Line};
use super::{FusedWriter, Held};
use crate::run::event::{Event, Reporter};

/// Writes the machine's view of a run.
pub(crate) struct JsonLines<W: Write> {
    out: FusedWriter<W>,
}

impl<W: Write> JsonLines<W> {
    pub(crate) fn new(out: W, held: Held) -> Self {
        Self { out: FusedWriter::new(out, held) }
    }

    /// The first error of the writer, if there was one.
    pub(crate) fn finish(self) -> Result<(), io::Error> {
        self.out.finish()
    }
}

impl<W: Write> Reporter for JsonLines<W> {
    fn event(&mut self, event: &Event<'_>) {
        let line = match event {
            Event::CaseFinished(result) => Some(Line::from(*result)),
            Event::LoadError(entry) => Some(Line::from(*entry)),
            Event::Aggregated { task_class, run_id, report } => {
                Some(Line::Aggregate(AggregateLine::new(task_class, *run_id, report)))
            }
            Event::Recorded(recorded) => Some(Line::from(*recorded)),
            Event::AnswerSetWritten { path } => Some(Line::AnswerSet { path }),
            Event::RunStarted { .. }
            | Event::Warning(_)
            | Event::Notice(_)
            | Event::AgentSaid(_)
            | Event::Answered(_)
            | Event::Pause => None,
        };
        if let Some(line) = line {
            self.out.line(&line.to_json());
        }
        if !event.is_of_a_case() {
            self.out.flush();
        }
    }
}
