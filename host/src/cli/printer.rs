//! stdout for data and stderr for people, for the commands that need no more than that.

use std::io::{self, Stderr, Stdout};

use super::error::HostError;
use super::failure::Failure;
use crate::output::lines::Line;
use crate::output::{FusedWriter, Held};
use eval_evidence::verify::Note;
use eval_model::advice::Exit;
use eval_model::text::Message;

pub(super) struct Printer {
    out: FusedWriter<Stdout>,
    /// `None` where nothing is told to people.
    err: Option<FusedWriter<Stderr>>,
}

impl Printer {
    pub(super) fn stdio() -> Self {
        let (out, err) = (FusedWriter::new(io::stdout(), Held::Never), FusedWriter::new(io::stderr(), Held::Never));
        Self { out, err: Some(err) }
    }

    /// For those who asked for data only.
    pub(super) fn stdout_only() -> Self {
        Self { err: None, ..Self::stdio() }
    }

    /// One line of JSON on stdout.
    pub(super) fn data(&mut self, line: &Line<'_>) {
        self.out.line(&line.to_json());
    }

    /// One line of text on stdout, for commands whose data is for people.
    pub(super) fn text(&mut self, line: &str) {
        self.out.line(line);
    }

    /// One line for a person on stderr. It may quote a file that anybody may have written, so it is escaped.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(err) = &mut self.err {
            err.line(&Message(line).to_string());
        }
    }

    /// What a verification found worth knowing.
    pub(super) fn notes(&mut self, notes: &[Note]) {
        for note in notes {
            self.tell(&format!("note: {note}"));
        }
    }

    /// The exit code, unless the data did not reach whoever reads stdout.
    pub(super) fn finish(self, exit: Exit) -> Result<Exit, Failure> {
        self.out.finish().map_err(HostError::Stdout)?;
        Ok(exit)
    }
}
