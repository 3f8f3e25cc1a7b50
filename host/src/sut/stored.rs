//! Answers as a journal or a bundle keeps them, so that a case which was paid for once is never asked again.
//!
//! What is stored is what an agent gave and what was charged for it, and never a score: whoever reads it scores it again.

use serde::{Deserialize, Serialize};

use super::cassette::RecordedError;
use super::{Answer, CassetteOrigin, Sourced};
use crate::contract::{CapturedStream, Meter};
use crate::cost::is_possible_cost;
use crate::ids::{CaseId, Digest};
use crate::json;
use crate::score::CaseFault;

/// One case's answer, with all that its result needs besides the case itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredAnswer {
    pub(crate) case_id: CaseId,
    /// The case that was answered. An answer to other bytes is of no use.
    pub(crate) case_digest: Digest,
    answer: StoredOutput,
    cost_usd: f64,
    cost_is_estimate: bool,
    duration_seconds: f64,
    stderr: String,
    stderr_bytes_before: u64,
    cassette: Option<CassetteOrigin>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredOutput {
    /// The JSON object, as a text: verbatim.
    Output(String),
    Error(RecordedError),
    NoAnswer(NoAnswer),
}

/// What the host decided about a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoAnswer {
    SkippedCostCap,
    CassetteMissing,
    CassetteStale,
}

impl StoredOutput {
    fn new(output: &Result<String, CaseFault>) -> Self {
        match output {
            Ok(json) => Self::Output(json.clone()),
            Err(CaseFault::CassetteMissing) => Self::NoAnswer(NoAnswer::CassetteMissing),
            Err(CaseFault::CassetteStale) => Self::NoAnswer(NoAnswer::CassetteStale),
            Err(fault) => match RecordedError::from_fault(fault) {
                Some(error) => Self::Error(error),
                None => Self::NoAnswer(NoAnswer::SkippedCostCap),
            },
        }
    }

    fn into_output(self) -> Result<String, CaseFault> {
        match self {
            Self::Output(json) => Ok(json),
            Self::Error(error) => Err(error.into_fault()),
            Self::NoAnswer(NoAnswer::SkippedCostCap) => Err(CaseFault::SkippedCostCap),
            Self::NoAnswer(NoAnswer::CassetteMissing) => Err(CaseFault::CassetteMissing),
            Self::NoAnswer(NoAnswer::CassetteStale) => Err(CaseFault::CassetteStale),
        }
    }
}

impl StoredAnswer {
    pub(crate) fn new(case_id: &CaseId, case_digest: Digest, sourced: &Sourced) -> Self {
        let answer = &sourced.answer;
        Self {
            case_id: case_id.clone(),
            case_digest,
            answer: StoredOutput::new(&answer.output),
            cost_usd: answer.meter.cost_usd,
            cost_is_estimate: answer.cost_is_estimate,
            duration_seconds: answer.meter.duration_seconds,
            stderr: String::from_utf8_lossy(&answer.stderr.kept).into_owned(),
            stderr_bytes_before: answer.stderr.dropped_bytes,
            cassette: sourced.cassette.clone(),
            warnings: sourced.warnings.clone(),
        }
    }

    /// What was charged for the case.
    pub(crate) fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    /// The answer as it was, so that its score is what it would have been.
    pub(crate) fn into_sourced(self) -> Sourced {
        Sourced {
            answer: Answer {
                output: self.answer.into_output(),
                meter: Meter { cost_usd: self.cost_usd, duration_seconds: self.duration_seconds },
                cost_is_estimate: self.cost_is_estimate,
                stderr: CapturedStream { kept: self.stderr.into_bytes(), dropped_bytes: self.stderr_bytes_before },
            },
            cassette: self.cassette,
            warnings: self.warnings,
        }
    }

    /// Checks what a file of somebody else claims: numbers that a meter can have, and an answer that an agent could give.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (field, number) in [("cost_usd", self.cost_usd), ("duration_seconds", self.duration_seconds)] {
            if !number.is_finite() || number.is_sign_negative() {
                return Err(format!("`{}`: {field} is {number}", self.case_id));
            }
        }
        if !is_possible_cost(self.cost_usd) {
            return Err(format!("`{}`: cost_usd is {}, and no case costs that", self.case_id, self.cost_usd));
        }
        match &self.answer {
            StoredOutput::Output(text) => {
                json::check_object(text).map_err(|error| format!("`{}`: the output: {error}", self.case_id))
            }
            StoredOutput::Error(_) | StoredOutput::NoAnswer(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sut::HarnessErrorKind;

    fn sourced(output: Result<String, CaseFault>) -> Sourced {
        Sourced {
            answer: Answer {
                output,
                meter: Meter { cost_usd: 0.1, duration_seconds: 1.234 },
                cost_is_estimate: true,
                stderr: CapturedStream { kept: b"\x1b[31mlog\0\n".to_vec(), dropped_bytes: 7 },
            },
            cassette: None,
            warnings: vec!["a warning".to_owned()],
        }
    }

    #[test]
    fn every_answer_comes_back_as_it_was() {
        let case_id: CaseId = "001-a".parse().expect("a case id");
        let kind = HarnessErrorKind::Signal.as_str();
        for output in [
            Ok("{ \"verbatim\" :\t1.50 }".to_owned()),
            Err(CaseFault::SutTimeout),
            Err(CaseFault::Harness { kind, message: "killed by signal 9".to_owned() }),
            Err(CaseFault::SkippedCostCap),
            Err(CaseFault::CassetteMissing),
            Err(CaseFault::CassetteStale),
        ] {
            let sourced = sourced(output);
            let stored = StoredAnswer::new(&case_id, Digest::of(b"case"), &sourced);
            let line = serde_json::to_string(&stored).expect("it serialises");
            assert!(!line.contains('\n'));
            let back: StoredAnswer = serde_json::from_str(&line).expect("it reads back");
            back.check().expect("it is sound");
            assert_eq!(back.into_sourced(), sourced);
        }
    }

    #[test]
    fn what_no_agent_could_have_given_is_refused() {
        let case_id: CaseId = "001-a".parse().expect("a case id");
        let stored = |output: &str| StoredAnswer::new(&case_id, Digest::of(b"case"), &sourced(Ok(output.to_owned())));
        assert!(stored("[]").check().is_err());
        assert!(stored(r#"{"a":1,"a":2}"#).check().is_err());
        for cost_usd in [-1.0, 1.7e308] {
            assert!(StoredAnswer { cost_usd, ..stored("{}") }.check().is_err());
        }
    }
}
