//! Answers as a journal or an answer set keeps them, so that a case which was paid for once is never asked again.
//!
//! What is stored is what an agent gave and what was charged for it, and never a score: whoever reads it scores it again.

use serde::{Deserialize, Serialize};

use super::{AgentClaim, Answer, ObtainedAnswer};
use eval_evidence::cassette::Cassette;
use eval_model::contract::{CapturedStream, Meter};
use eval_model::ids::{CaseId, Digest};
use eval_model::json;
use eval_model::money::is_possible_cost;
use eval_model::outcome::NoOutput;

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
    budget_usd: Option<f64>,
    duration_seconds: f64,
    agent: Option<AgentClaim>,
    stderr: String,
    stderr_bytes_before: u64,
    /// The whole cassette that it came from, which becomes an object.
    cassette: Option<Cassette>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum StoredOutput {
    /// The JSON object, as a text: verbatim.
    Output(String),
    NoOutput(NoOutput),
}

impl StoredAnswer {
    pub(crate) fn new(case_id: &CaseId, case_digest: Digest, obtained: &ObtainedAnswer) -> Self {
        let answer = &obtained.answer;
        Self {
            case_id: case_id.clone(),
            case_digest,
            answer: match &answer.output {
                Ok(json) => StoredOutput::Output(json.clone()),
                Err(reason) => StoredOutput::NoOutput(reason.clone()),
            },
            cost_usd: answer.meter.cost_usd,
            cost_is_estimate: answer.cost_is_estimate,
            budget_usd: answer.budget_usd,
            duration_seconds: answer.meter.duration_seconds,
            agent: answer.agent.clone(),
            stderr: String::from_utf8_lossy(&answer.stderr.kept).into_owned(),
            stderr_bytes_before: answer.stderr.dropped_bytes,
            cassette: obtained.cassette.clone(),
            warnings: obtained.warnings.clone(),
        }
    }

    /// What was charged for the case.
    pub(crate) fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    /// Whether an agent came to an end with the case, well or badly: not where the cap ended it.
    pub(crate) fn was_attempted(&self) -> bool {
        !matches!(self.answer, StoredOutput::NoOutput(NoOutput::SkippedCostCap))
    }

    /// The answer as it was, so that its score is what it would have been.
    pub(crate) fn into_obtained(self) -> ObtainedAnswer {
        ObtainedAnswer {
            answer: Answer {
                output: match self.answer {
                    StoredOutput::Output(json) => Ok(json),
                    StoredOutput::NoOutput(reason) => Err(reason),
                },
                meter: Meter { cost_usd: self.cost_usd, duration_seconds: self.duration_seconds },
                cost_is_estimate: self.cost_is_estimate,
                budget_usd: self.budget_usd,
                agent: self.agent,
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
        let amounts = [("cost_usd", Some(self.cost_usd)), ("budget_usd", self.budget_usd)];
        for (field, amount) in amounts.into_iter().filter_map(|(field, amount)| Some((field, amount?))) {
            if !is_possible_cost(amount) {
                return Err(format!("`{}`: {field} is {amount}, and no case costs that", self.case_id));
            }
        }
        match &self.answer {
            StoredOutput::Output(text) => {
                json::check_object(text).map_err(|error| format!("`{}`: the output: {error}", self.case_id))
            }
            StoredOutput::NoOutput(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_model::outcome::HarnessErrorKind;

    fn obtained(output: Result<String, NoOutput>) -> ObtainedAnswer {
        ObtainedAnswer {
            answer: Answer {
                output,
                meter: Meter { cost_usd: 0.1, duration_seconds: 1.234 },
                cost_is_estimate: true,
                budget_usd: Some(0.5),
                agent: Some(AgentClaim { name: Some("an agent".parse().expect("a text")), ..AgentClaim::default() }),
                stderr: CapturedStream { kept: b"\x1b[31mlog\0\n".to_vec(), dropped_bytes: 7 },
            },
            cassette: None,
            warnings: vec!["a warning".to_owned()],
        }
    }

    #[test]
    fn every_answer_comes_back_as_it_was() {
        let case_id: CaseId = "001-a".parse().expect("a case id");
        let kind = HarnessErrorKind::Signal;
        for output in [
            Ok("{ \"verbatim\" :\t1.50 }".to_owned()),
            Err(NoOutput::SutTimeout),
            Err(NoOutput::Harness { kind, message: "killed by signal 9".to_owned() }),
            Err(NoOutput::SkippedCostCap),
            Err(NoOutput::CassetteMissing),
            Err(NoOutput::CassetteStale),
        ] {
            let obtained = obtained(output);
            let stored = StoredAnswer::new(&case_id, Digest::of(b"case"), &obtained);
            let line = serde_json::to_string(&stored).expect("it serialises");
            assert!(!line.contains('\n'));
            let back: StoredAnswer = serde_json::from_str(&line).expect("it reads back");
            back.check().expect("it is sound");
            assert_eq!(back.into_obtained(), obtained);
        }
    }

    #[test]
    fn what_no_agent_could_have_given_is_refused() {
        let case_id: CaseId = "001-a".parse().expect("a case id");
        let stored = |output: &str| StoredAnswer::new(&case_id, Digest::of(b"case"), &obtained(Ok(output.to_owned())));
        assert!(stored("[]").check().is_err());
        assert!(stored(r#"{"a":1,"a":2}"#).check().is_err());
        for cost_usd in [-1.0, 1.7e308] {
            assert!(StoredAnswer { cost_usd, ..stored("{}") }.check().is_err());
        }
    }
}
