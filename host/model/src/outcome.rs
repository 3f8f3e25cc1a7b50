//! How a case ended: the class of its outcome, the fault it ended in, and the failure modes that only the host may use.
//!
//! One table ([`HostMode`]) says what each of the host's modes is called, which class of outcome it gives and whether the case
//! had an output by then. Faults, records and the rules for what a rubric may say are all read off it, so they cannot differ.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::RubricFault;
use crate::json;
use crate::text::{Words, settled};

/// How a case ended, so that a fault is never mistaken for a bad answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    Scored,
    SutFault,
    RubricFault,
    HarnessFault,
    Skipped,
}

impl OutcomeClass {
    pub const ALL: [Self; 5] = [Self::Scored, Self::SutFault, Self::RubricFault, Self::HarnessFault, Self::Skipped];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scored => "scored",
            Self::SutFault => "sut_fault",
            Self::RubricFault => "rubric_fault",
            Self::HarnessFault => "harness_fault",
            Self::Skipped => "skipped",
        }
    }

    /// Whether a case that ended so blocks a promotion, whatever the registration says: every fault but the system under
    /// test's own.
    pub const fn is_block_severity(self) -> bool {
        matches!(self, Self::RubricFault | Self::HarnessFault | Self::Skipped)
    }
}

/// A failure mode of the host's own. A rubric that returns one is impersonating the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMode {
    CassetteMissing,
    CassetteStale,
    HarnessError,
    OutputMalformed,
    RubricError,
    RubricFuelExhausted,
    RubricMalformed,
    RubricMemoryExhausted,
    RubricTimeout,
    RubricTrap,
    SkippedCostCap,
    Timeout,
}

/// Whether the case had an output by then: what the rubric ran on. Every other mode says why there was none to run it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Judged,
    Lacking,
}

impl HostMode {
    pub const ALL: [Self; 12] = [
        Self::CassetteMissing,
        Self::CassetteStale,
        Self::HarnessError,
        Self::OutputMalformed,
        Self::RubricError,
        Self::RubricFuelExhausted,
        Self::RubricMalformed,
        Self::RubricMemoryExhausted,
        Self::RubricTimeout,
        Self::RubricTrap,
        Self::SkippedCostCap,
        Self::Timeout,
    ];

    const fn row(self) -> (&'static str, OutcomeClass, Output) {
        match self {
            Self::CassetteMissing => ("cassette_missing", OutcomeClass::HarnessFault, Output::Lacking),
            Self::CassetteStale => ("cassette_stale", OutcomeClass::HarnessFault, Output::Lacking),
            Self::HarnessError => ("harness_error", OutcomeClass::SutFault, Output::Lacking),
            Self::OutputMalformed => ("output_malformed", OutcomeClass::SutFault, Output::Judged),
            Self::RubricError => ("rubric_error", OutcomeClass::RubricFault, Output::Judged),
            Self::RubricFuelExhausted => ("rubric_fuel_exhausted", OutcomeClass::RubricFault, Output::Judged),
            Self::RubricMalformed => ("rubric_malformed", OutcomeClass::RubricFault, Output::Judged),
            Self::RubricMemoryExhausted => ("rubric_memory_exhausted", OutcomeClass::RubricFault, Output::Judged),
            Self::RubricTimeout => ("rubric_timeout", OutcomeClass::RubricFault, Output::Judged),
            Self::RubricTrap => ("rubric_trap", OutcomeClass::RubricFault, Output::Judged),
            Self::SkippedCostCap => ("skipped_cost_cap", OutcomeClass::Skipped, Output::Lacking),
            Self::Timeout => ("timeout", OutcomeClass::SutFault, Output::Lacking),
        }
    }

    pub const fn name(self) -> &'static str {
        self.row().0
    }

    pub const fn class(self) -> OutcomeClass {
        self.row().1
    }

    pub const fn has_output(self) -> bool {
        matches!(self.row().2, Output::Judged)
    }

    /// The host's mode that a failure mode is, with or without words behind it.
    pub fn of(mode: &str) -> Option<Self> {
        let name = mode_name(mode);
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// A failure mode without the words that the host put behind it.
pub fn mode_name(mode: &str) -> &str {
    mode.split_once(": ").map_or(mode, |(name, _)| name)
}

/// Whether `text` is a name that a breakdown entry or a failure mode may have: `[a-z][a-z0-9_]{0,63}`.
pub fn is_mode_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 64
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// How a system under test broke its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarnessErrorKind {
    Spawn,
    ExitStatus,
    Signal,
    MissingResponse,
    MalformedResponse,
    TooMuchOutput,
    MissingCost,
    ImpossibleCost,
    UnreadableWorkspace,
    Resources,
}

impl HarnessErrorKind {
    pub const fn as_str(self) -> &'static str {
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
            Self::Resources => "resources",
        }
    }
}

/// Why a case has no output that a rubric could judge, in the form in which cassettes and journals keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mode", try_from = "StatedNoOutput")]
pub enum NoOutput {
    /// The system under test ran over its time.
    #[serde(rename = "timeout")]
    SutTimeout,
    /// The system under test broke its protocol or died.
    #[serde(rename = "harness_error")]
    Harness {
        kind: HarnessErrorKind,
        message: String,
    },
    CassetteMissing,
    CassetteStale,
    SkippedCostCap,
}

/// A `NoOutput` as a file states it. serde's own reading of a tagged enumeration takes any keys beside a mode that has none, and
/// takes a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedNoOutput {
    mode: String,
    #[serde(default, deserialize_with = "json::not_null")]
    kind: Option<HarnessErrorKind>,
    #[serde(default, deserialize_with = "json::not_null")]
    message: Option<String>,
}

/// Why nothing is a `NoOutput` that says this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NoOutputError {
    #[error("`{}` is no mode without an output", _0.escape_default())]
    Unknown(String),
    #[error("`harness_error` needs a `kind` and a `message`")]
    Incomplete,
    #[error("`{0}` has neither a `kind` nor a `message`")]
    TooMuch(&'static str),
}

impl TryFrom<StatedNoOutput> for NoOutput {
    type Error = NoOutputError;

    fn try_from(stated: StatedNoOutput) -> Result<Self, NoOutputError> {
        let mode = HostMode::ALL.into_iter().find(|known| known.name() == stated.mode);
        let plain = match mode {
            Some(HostMode::Timeout) => Self::SutTimeout,
            Some(HostMode::CassetteMissing) => Self::CassetteMissing,
            Some(HostMode::CassetteStale) => Self::CassetteStale,
            Some(HostMode::SkippedCostCap) => Self::SkippedCostCap,
            Some(HostMode::HarnessError) => {
                let (kind, message) = stated.kind.zip(stated.message).ok_or(NoOutputError::Incomplete)?;
                return Ok(Self::Harness { kind, message });
            }
            _ => return Err(NoOutputError::Unknown(stated.mode)),
        };
        match (stated.kind, stated.message) {
            (None, None) => Ok(plain),
            _ => Err(NoOutputError::TooMuch(plain.mode().name())),
        }
    }
}

impl NoOutput {
    /// A system under test that broke its protocol, in words that a record keeps whole: whoever takes the answer from the record
    /// has the fault that it was.
    pub fn harness(kind: HarnessErrorKind, message: &str) -> Self {
        Self::Harness { kind, message: settled(message) }
    }

    /// The reason that a failure mode of a record states. `None` if it is none, or if the record does not have all of it.
    pub fn of_mode(text: &str) -> Option<Self> {
        let kind = |name: &str| serde_json::from_value(name.into()).ok();
        let reason = match (HostMode::of(text)?, text.splitn(3, ": ").collect::<Vec<_>>().as_slice()) {
            (HostMode::HarnessError, [_, name, message]) => {
                Self::Harness { kind: kind(name)?, message: (*message).to_owned() }
            }
            (HostMode::Timeout, _) => Self::SutTimeout,
            (HostMode::SkippedCostCap, _) => Self::SkippedCostCap,
            (HostMode::CassetteMissing, _) => Self::CassetteMissing,
            (HostMode::CassetteStale, _) => Self::CassetteStale,
            _ => return None,
        };
        Some(reason).filter(|reason| reason.to_string() == text)
    }

    pub const fn mode(&self) -> HostMode {
        match self {
            Self::SutTimeout => HostMode::Timeout,
            Self::Harness { .. } => HostMode::HarnessError,
            Self::CassetteMissing => HostMode::CassetteMissing,
            Self::CassetteStale => HostMode::CassetteStale,
            Self::SkippedCostCap => HostMode::SkippedCostCap,
        }
    }
}

/// Why a case has no verdict. Its `Display` is the failure mode that the case gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseFault {
    NoOutput(NoOutput),
    Rubric(RubricFault),
}

impl CaseFault {
    pub const fn mode(&self) -> HostMode {
        match self {
            Self::NoOutput(reason) => reason.mode(),
            Self::Rubric(RubricFault::OutputMalformed(_)) => HostMode::OutputMalformed,
            Self::Rubric(RubricFault::FuelExhausted) => HostMode::RubricFuelExhausted,
            Self::Rubric(RubricFault::Timeout) => HostMode::RubricTimeout,
            Self::Rubric(RubricFault::MemoryExhausted) => HostMode::RubricMemoryExhausted,
            Self::Rubric(RubricFault::Trap(_)) => HostMode::RubricTrap,
            Self::Rubric(RubricFault::Malformed { .. }) => HostMode::RubricMalformed,
            Self::Rubric(RubricFault::Error(_)) => HostMode::RubricError,
        }
    }

    pub const fn class(&self) -> OutcomeClass {
        self.mode().class()
    }

    /// The failure mode without the words behind it.
    pub const fn name(&self) -> &'static str {
        self.mode().name()
    }
}

impl fmt::Display for NoOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode().name())?;
        match self {
            Self::Harness { kind, message } => write!(f, ": {}: {}", kind.as_str(), Words(message)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for CaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::NoOutput(reason) = self {
            return reason.fmt(f);
        }
        f.write_str(self.name())?;
        match self {
            Self::Rubric(RubricFault::OutputMalformed(words) | RubricFault::Error(words)) => {
                write!(f, ": {}", Words(words))
            }
            Self::Rubric(RubricFault::Trap(kind)) => write!(f, ": {kind}"),
            Self::Rubric(RubricFault::Malformed { field, why }) => write!(f, ": {field}: {}", Words(why)),
            Self::NoOutput(_) | Self::Rubric(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_the_host_is_found_by_its_name_with_and_without_words_behind_it() {
        for mode in HostMode::ALL {
            assert!(is_mode_name(mode.name()));
            assert_eq!(HostMode::of(mode.name()), Some(mode));
            assert_eq!(HostMode::of(&format!("{}: why: not", mode.name())), Some(mode));
        }
        assert_eq!(HostMode::of("bump_too_large"), None);
    }
    #[test]
    fn a_missing_output_is_read_as_it_is_written_and_in_no_other_way() {
        let message = "exit status 3".to_owned();
        for reason in [
            NoOutput::SutTimeout,
            NoOutput::Harness { kind: HarnessErrorKind::ExitStatus, message },
            NoOutput::CassetteMissing,
            NoOutput::CassetteStale,
            NoOutput::SkippedCostCap,
        ] {
            let text = serde_json::to_string(&reason).expect("JSON");
            assert!(text.starts_with(&format!("{{\"mode\":\"{}\"", reason.mode().name())), "{text}");
            assert_eq!(json::parse::<NoOutput>(&text).expect("it reads back"), reason);
        }
        for (text, why) in [
            (r#"{"mode":"timeout","x":1}"#, "unknown field `x`"),
            (r#"{"mode":"timeout","kind":"signal"}"#, "`timeout` has neither a `kind` nor a `message`"),
            (r#"{"mode":"timeout","message":null}"#, "invalid type: null, expected a string"),
            (r#"{"mode":"harness_error","kind":"signal"}"#, "`harness_error` needs a `kind` and a `message`"),
            (r#"{"mode":"harness_error","kind":{"signal":null},"message":""}"#, "invalid type: map"),
            (r#"{"mode":"rubric_trap"}"#, "`rubric_trap` is no mode without an output"),
            (r#"{"kind":"signal","message":""}"#, "missing field `mode`"),
        ] {
            let error = json::parse::<NoOutput>(text).expect_err(text).to_string();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }

    #[test]
    fn what_a_record_says_of_a_missing_output_gives_the_reason_back() {
        for message in ["", "exit status 3", "not an object: expected `{`\nat \u{1b}[31m", &"x".repeat(9000)] {
            let reason = NoOutput::harness(HarnessErrorKind::MalformedResponse, message);
            assert_eq!(NoOutput::of_mode(&reason.to_string()), Some(reason));
        }
        for reason in
            [NoOutput::SutTimeout, NoOutput::SkippedCostCap, NoOutput::CassetteMissing, NoOutput::CassetteStale]
        {
            assert_eq!(NoOutput::of_mode(&reason.to_string()), Some(reason));
        }
        let cut = NoOutput::Harness { kind: HarnessErrorKind::Signal, message: "x".repeat(9000) };
        for other in [cut.to_string().as_str(), "rubric_trap: exit", "timeout: late", "harness_error: weather: fine"] {
            assert_eq!(NoOutput::of_mode(other), None, "{other}");
        }
    }
}
