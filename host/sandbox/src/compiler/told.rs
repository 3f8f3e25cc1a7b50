//! What a compiler's process says: a line of JSON per stage, so that what was found stays said when a later stage is its end.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::super::inspect::{Defect, Facts};
use super::super::weight::Makeup;
use super::Answer;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Line {
    /// The component was parsed and weighed.
    Weighed(Makeup),
    /// It was found wanting.
    Defect(Defect),
    /// It was validated.
    Read(Facts),
    /// It was compiled, unless there is a reason why not.
    Compiled { refused: Option<String> },
    /// All that was asked for is done.
    Done,
}

impl Line {
    pub(super) fn write_to(&self, mut stream: impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        stream.flush()
    }
}

/// All that was said.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) makeup: Option<Box<Makeup>>,
    /// Nothing, until all that was asked for is done.
    pub(super) outcome: Option<Answer>,
}

impl Told {
    pub(super) fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        let (mut told, mut facts, mut refused) = (Self::default(), None, None);
        // The last line may be broken off.
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            match serde_json::from_slice(line)? {
                Line::Weighed(makeup) => told.makeup = Some(Box::new(makeup)),
                Line::Defect(defect) => told.outcome = Some(Answer::Defect(defect)),
                Line::Read(read) => facts = Some(read),
                Line::Compiled { refused: reason } => refused = reason,
                Line::Done => told.outcome = facts.take().map(|facts| outcome(facts, refused.take())),
            }
        }
        Ok(told)
    }
}

fn outcome(facts: Facts, refused: Option<String>) -> Answer {
    match refused {
        None => Answer::Read(facts),
        Some(reason) => Answer::DoesNotCompile(facts, reason),
    }
}
