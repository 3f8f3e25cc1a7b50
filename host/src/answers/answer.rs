//! An answer, who gave it, and where it came from. It never knows the case that was asked.

use super::AgentClaim;
use eval_evidence::cassette::Cassette;
use eval_model::contract::{CapturedStream, Meter};
use eval_model::outcome::NoOutput;

/// What a system under test produced for a case, or why it produced nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// One JSON object, verbatim, or the fault.
    pub(crate) output: Result<String, NoOutput>,
    pub(crate) meter: Meter,
    /// Nobody knows what the answer cost, and the meter says what was charged for it.
    pub(crate) cost_is_estimate: bool,
    /// What a live agent was told that it may spend.
    pub(crate) budget_usd: Option<f64>,
    /// What a live agent says of itself, where the command line says nothing.
    pub(crate) agent: Option<AgentClaim>,
    /// The end of what a live system under test wrote to stderr.
    pub(crate) stderr: CapturedStream,
}

/// An answer, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObtainedAnswer {
    pub(crate) answer: Answer,
    /// `None` when the answer was made by this run, or when there is no cassette.
    pub(crate) cassette: Option<Cassette>,
    /// Facts about the bench, which go into the report.
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// An answer at a known cost, without a process that could have said anything besides.
    pub(crate) fn new(output: Result<String, NoOutput>, meter: Meter) -> Self {
        Self {
            output,
            meter,
            cost_is_estimate: false,
            budget_usd: None,
            agent: None,
            stderr: CapturedStream::default(),
        }
    }

    /// A case that was not answered, and so cost nothing.
    pub(crate) fn none(reason: NoOutput) -> Self {
        Self::new(Err(reason), Meter::default())
    }
}
