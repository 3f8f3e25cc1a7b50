//! The plain mirror of `wit/rubric.wit`: what goes into a score, and what a guest claims or fails with.
//!
//! [`RawScore`] is what a guest merely said. Only [`crate::score`] turns it into a score that can be aggregated or chained.
//! The types that wasmtime generates from the WIT stay inside the sandbox; nothing here knows of them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::advice::Advice;
use crate::ids::{CaseId, Digest, TaskClassName};
use crate::limits::Limits;

/// What the right answer to a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Disposition {
    Positive,
    Negative,
    Ambiguous,
}

impl Disposition {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Negative => "negative",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// How hard the curators think a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Difficulty {
    Easy,
    Medium,
    Hard,
}

impl Difficulty {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Easy => "easy",
            Self::Medium => "medium",
            Self::Hard => "hard",
        }
    }
}

/// Where a case comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Curated,
    OutcomeLedgerDerived,
    RegressionConverted,
}

/// The fields of a case that a rubric can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchCase {
    pub case_id: CaseId,
    pub task_class: TaskClassName,
    pub disposition: Disposition,
    pub difficulty: Difficulty,
    pub source: Source,
    /// Where the guest's wall clock starts.
    pub added_at: Date,
}

/// A case's files by path relative to its folder, `/`-separated, below `input/` and `expected/`. Read once, never copied.
pub type CaseFiles = BTreeMap<Arc<str>, Arc<[u8]>>;

/// What the host metered for one answer. A rubric must return it unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Meter {
    pub cost_usd: f64,
    pub duration_seconds: f64,
}

/// All that one call of a rubric depends on, besides the rubric itself and its limits.
#[derive(Debug, Clone, Copy)]
pub struct ScoreRequest<'a> {
    pub case: &'a BenchCase,
    pub case_digest: Digest,
    pub files: &'a Arc<CaseFiles>,
    /// The system under test's JSON object, verbatim.
    pub output_json: &'a str,
    pub meter: Meter,
}

/// What a guest returned, before the host has checked any of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RawScore {
    pub passed: bool,
    pub score: f64,
    pub breakdown: Vec<(String, f64)>,
    pub failure_modes: Vec<String>,
    pub cost_usd: f64,
    pub duration_seconds: f64,
}

/// Why a call of a rubric gave no score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RubricFault {
    /// The rubric could not read the output, which is the system under test's failure.
    OutputMalformed(String),
    FuelExhausted,
    /// The wall clock ran out: a fault of the infrastructure, never expected to replay.
    Timeout,
    MemoryExhausted,
    Trap(TrapKind),
    /// What came back breaks the contract before or while it is admitted.
    Malformed {
        field: &'static str,
        why: String,
    },
    /// The rubric returned `malformed-case` or `internal`.
    Error(String),
}

/// What stopped a guest, by the type of the cause and never by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapKind {
    Deadlock,
    TooMuchTime,
    StackOverflow,
    Unreachable,
    OutOfBounds,
    Exit,
    ResourceLimit,
    RandomLimit,
    BadHandle,
    /// An argument of a host call that the interface forbids or that is too large to be read, one handle too many, or an address
    /// for an argument of `score` that is outside of its memory.
    BadArgument,
    Other,
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadlock => "deadlock",
            Self::TooMuchTime => "too_much_time",
            Self::StackOverflow => "stack_overflow",
            Self::Unreachable => "unreachable",
            Self::OutOfBounds => "out_of_bounds",
            Self::Exit => "exit",
            Self::ResourceLimit => "resource_limit",
            Self::RandomLimit => "random_limit",
            Self::BadHandle => "bad_handle",
            Self::BadArgument => "bad_argument",
            Self::Other => "other",
        })
    }
}

/// What a guest wrote to one of its output streams: the first bytes, and how many were cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedStream {
    pub kept: Vec<u8>,
    pub dropped_bytes: u64,
}

impl RubricFault {
    /// Whether all that was seen of the guest up to this fault is the same on every machine. A deadline comes when it comes,
    /// and how deep a stack is depends on the size of compiled frames.
    pub const fn is_repeatable(&self) -> bool {
        !matches!(self, Self::Timeout | Self::Trap(TrapKind::StackOverflow))
    }
}

/// Everything one call of a rubric left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    pub result: Result<RawScore, RubricFault>,
    /// Unknown after a fault that is not repeatable, as the peak is.
    pub fuel_used: Option<u64>,
    pub peak_memory_bytes: Option<u64>,
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
}

/// This machine could not run a rubric. That says nothing of the rubric or the case, so it must never become a score: a run
/// that meets it has no result.
#[derive(Debug, thiserror::Error)]
#[error("this machine could not run the rubric: it may lack memory, or a limit (`ulimit -a`) may be too low")]
pub struct RunnerError(#[source] Box<dyn Error + Send + Sync>);

impl Advice for RunnerError {}

impl RunnerError {
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// Makes a runner of a component. The seam by which a replay, which knows no engine, gets one.
pub trait RubricLoader {
    /// `world` is what the component must implement, as a record states it.
    fn load(
        &self,
        component: &[u8],
        world: &str,
        limits: Limits,
    ) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>>;
}

/// The seam in front of the sandbox. A stronger isolation later implements this; the score's shape does not change with it.
pub trait RubricRunner: Sync {
    /// Scores one case in isolation. Whatever the guest does is a fault of that case; only the machine can fail as a whole.
    fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError>;
}
