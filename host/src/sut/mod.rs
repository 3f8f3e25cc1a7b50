//! Where an answer comes from: replayed from a cassette, or made by a live system under test. Both give an [`Answer`].

mod cassette;
pub(crate) mod live;
mod stored;

use serde::{Deserialize, Serialize};

pub(crate) use cassette::{
    Cassette, CassetteError, CassetteKind, RecordError, Recording, read_cassette, record_cassette,
};
pub(crate) use stored::StoredAnswer;

use crate::contract::{CapturedStream, Meter};
use crate::ids::Digest;
use crate::score::CaseFault;

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SutName {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// What a system under test produced for a case, or why it produced nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// One JSON object, verbatim, or the fault.
    pub(crate) output: Result<String, CaseFault>,
    pub(crate) meter: Meter,
    /// Nobody knows what the answer cost, and the meter says what was charged for it.
    pub(crate) cost_is_estimate: bool,
    /// The end of what a live system under test wrote to stderr.
    pub(crate) stderr: CapturedStream,
}

/// An answer, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sourced {
    pub(crate) answer: Answer,
    /// `None` when the answer was made by this run, or when there is no cassette.
    pub(crate) cassette: Option<CassetteOrigin>,
    /// Facts about the bench, which go into the report.
    pub(crate) warnings: Vec<String>,
}

/// The cassette that an answer came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CassetteOrigin {
    pub(crate) digest: Digest,
    pub(crate) sut: SutName,
    pub(crate) kind: CassetteKind,
}

impl Answer {
    /// An answer at a known cost, without a process that could have said anything besides.
    pub(crate) fn new(output: Result<String, CaseFault>, meter: Meter) -> Self {
        Self { output, meter, cost_is_estimate: false, stderr: CapturedStream::default() }
    }

    /// A case that was not answered, and so cost nothing.
    pub(crate) fn none(fault: CaseFault) -> Self {
        Self::new(Err(fault), Meter::default())
    }
}

/// How a system under test broke its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HarnessErrorKind {
    Spawn,
    ExitStatus,
    Signal,
    MissingResponse,
    MalformedResponse,
    TooMuchOutput,
    MissingCost,
    ImpossibleCost,
    UnreadableWorkspace,
}

impl HarnessErrorKind {
    const ALL: [Self; 9] = [
        Self::Spawn,
        Self::ExitStatus,
        Self::Signal,
        Self::MissingResponse,
        Self::MalformedResponse,
        Self::TooMuchOutput,
        Self::MissingCost,
        Self::ImpossibleCost,
        Self::UnreadableWorkspace,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::ExitStatus => "exit_status",
            Self::Signal => "signal",
            Self::MissingResponse => "missing_response",
            Self::MalformedResponse => "malformed_response",
            Self::TooMuchOutput => "too_much_output",
            Self::MissingCost => "missing_cost",
            Self::ImpossibleCost => "impossible_cost",
            Self::UnreadableWorkspace => "unreadable_workspace",
        }
    }
}
