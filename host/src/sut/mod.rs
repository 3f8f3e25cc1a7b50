//! Where an answer comes from: replayed from a cassette, or made by a live system under test. Both give an [`Answer`].

mod cassette;

use serde::{Deserialize, Serialize};

pub(crate) use cassette::{Cassette, CassetteError, CassetteKind, read_cassette};

use crate::contract::Meter;
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
}

impl Answer {
    pub(crate) fn output_digest(&self) -> Option<Digest> {
        self.output.as_ref().ok().map(|json| Digest::of(json.as_bytes()))
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
}

impl HarnessErrorKind {
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
        }
    }
}
