//! What an agent answers: one JSON object on its standard output, or a number in its cost file.
//!
//! The answer and the cost are judged apart: an answer that cannot be used may still say truthfully what it cost, and then
//! that is what is charged.

use serde::Deserialize;
use serde_json::value::RawValue;

use eval_model::json;
use eval_model::money::{MOST_DOLLARS, is_possible_cost};
use eval_model::outcome::{HarnessErrorKind, NoOutput};

/// An answer and its cost, as far as each could be read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Response {
    pub(super) output: Result<String, NoOutput>,
    /// What the agent says the case cost: not negative, and no more than a case can cost. `None` is not known.
    pub(super) cost: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResponse {
    output: Option<Box<RawValue>>,
    cost_usd: Option<Box<RawValue>>,
}

impl Response {
    /// A response that breaks the protocol and says nothing of its cost.
    pub(super) fn broken(kind: HarnessErrorKind, message: impl Into<String>) -> Self {
        Self { output: Err(fault(kind, message)), cost: None }
    }

    /// The same cost, without an answer.
    pub(super) fn failed(self, kind: HarnessErrorKind, message: impl Into<String>) -> Self {
        Self { output: Err(fault(kind, message)), ..self }
    }

    /// Reads a whole standard output.
    pub(super) fn parse(stdout: &[u8]) -> Self {
        let malformed = |message: String| Self::broken(HarnessErrorKind::MalformedResponse, message);
        let Ok(text) = std::str::from_utf8(stdout) else { return malformed("not UTF-8 text".to_owned()) };
        if text.trim().is_empty() {
            return Self::broken(HarnessErrorKind::MissingResponse, "nothing on stdout");
        }
        // The two fields are taken as raw text first: a cost of 1e999 is an impossible cost and not a malformed response.
        match serde_json::from_str::<RawResponse>(text) {
            Ok(raw) => {
                let cost = parse_cost(raw.cost_usd.as_deref().map(RawValue::get));
                Self::join(parse_output(raw.output.as_deref()), cost)
            }
            Err(error) => malformed(error.to_string()),
        }
    }

    /// An answer that was taken from the workspace, with the contents of the cost file.
    pub(super) fn captured(output: Result<String, NoOutput>, cost_file: Option<&[u8]>) -> Self {
        let text = cost_file.map(|bytes| std::str::from_utf8(bytes).unwrap_or("not UTF-8 text").trim());
        Self::join(output, parse_cost(text))
    }

    /// Without a cost there is no answer that could be held against a cap, so that fault comes second only to the answer's.
    fn join(output: Result<String, NoOutput>, cost: Result<f64, NoOutput>) -> Self {
        match cost {
            Ok(cost) => Self { output, cost: Some(cost) },
            Err(cost_fault) => Self { output: output.and(Err(cost_fault)), cost: None },
        }
    }
}

pub(super) fn fault(kind: HarnessErrorKind, message: impl Into<String>) -> NoOutput {
    NoOutput::harness(kind, &message.into())
}

fn parse_output(output: Option<&RawValue>) -> Result<String, NoOutput> {
    let malformed = |message: String| Err(fault(HarnessErrorKind::MalformedResponse, message));
    match output.map(RawValue::get) {
        Some(object) if object.starts_with('{') => match json::check_object(object) {
            Ok(()) => Ok(object.to_owned()),
            Err(error) => malformed(format!("`output`: {error}")),
        },
        Some(_) => malformed("`output` is not a JSON object".to_owned()),
        None => Err(fault(HarnessErrorKind::MissingResponse, "`output` is not there")),
    }
}

fn parse_cost(text: Option<&str>) -> Result<f64, NoOutput> {
    let impossible = |message: String| Err(fault(HarnessErrorKind::ImpossibleCost, message));
    match text.map(str::parse::<f64>) {
        None => Err(fault(HarnessErrorKind::MissingCost, "the answer does not say what it cost")),
        Some(Err(_)) => impossible("the cost is not a number".to_owned()),
        Some(Ok(cost)) if !cost.is_finite() => impossible("the cost is not finite".to_owned()),
        Some(Ok(cost)) if cost < 0.0 => impossible(format!("the cost is negative, {cost}")),
        Some(Ok(cost)) if !is_possible_cost(cost) => {
            impossible(format!("the cost is more than {MOST_DOLLARS} dollars"))
        }
        // -0.0 is a cost of nothing.
        Some(Ok(cost)) => Ok(cost + 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<f64>) {
        let response = Response::parse(text.as_bytes());
        (response.output.unwrap_or_else(|fault| fault.to_string()), response.cost)
    }

    #[test]
    fn an_answer_is_kept_verbatim() {
        let text = r#" {"cost_usd": 0.25, "output": { "b" : 1.50,  "a":[] }} "#;
        assert_eq!(parsed(text), (r#"{ "b" : 1.50,  "a":[] }"#.to_owned(), Some(0.25)));
    }

    #[test]
    fn each_way_to_break_the_protocol_has_its_own_name() {
        let unknown = None;
        for (text, expected, cost) in [
            ("", "harness_error: missing_response: nothing on stdout", unknown),
            (" \n", "harness_error: missing_response: nothing on stdout", unknown),
            (r#"{"cost_usd":0.5}"#, "harness_error: missing_response: `output` is not there", Some(0.5)),
            (
                r#"{"output":[],"cost_usd":0.5}"#,
                "harness_error: malformed_response: `output` is not a JSON object",
                Some(0.5),
            ),
            (r#"{"output":{}}"#, "harness_error: missing_cost: the answer does not say what it cost", unknown),
            (r#"{"output":{},"cost_usd":-0.5}"#, "harness_error: impossible_cost: the cost is negative, -0.5", unknown),
            (r#"{"output":{},"cost_usd":1e999}"#, "harness_error: impossible_cost: the cost is not finite", unknown),
            (
                r#"{"output":{},"cost_usd":1.7e308}"#,
                "harness_error: impossible_cost: the cost is more than 1000000 dollars",
                unknown,
            ),
            (r#"{"output":{},"cost_usd":"0"}"#, "harness_error: impossible_cost: the cost is not a number", unknown),
        ] {
            assert_eq!(parsed(text), (expected.to_owned(), cost), "{text}");
        }
    }

    #[test]
    fn what_is_ambiguous_is_malformed() {
        for text in [
            "thinking…",
            "[]",
            r#"{"output":{},"cost_usd":NaN}"#,
            r#"{"output":{},"cost_usd":1} {}"#,
            r#"{"output":{},"cost_usd":0,"cost_usd":9}"#,
            r#"{"output":{"a":1,"a":2},"cost_usd":0}"#,
            r#"{"output":{},"cost_usd":0,"note":""}"#,
        ] {
            let (output, _) = parsed(text);
            assert!(output.starts_with("harness_error: malformed_response: "), "{text}: {output}");
        }
        assert_eq!(
            Response::parse(b"{\"output\":{\"\xff\":1}}").output.expect_err("a fault").to_string(),
            "harness_error: malformed_response: not UTF-8 text"
        );
    }

    #[test]
    fn a_cost_file_is_one_number() {
        let captured = |text: Option<&str>| Response::captured(Ok("{}".to_owned()), text.map(str::as_bytes));
        assert_eq!(captured(Some("0.12\n")).cost, Some(0.12));
        assert_eq!(
            captured(None).output,
            Err(fault(HarnessErrorKind::MissingCost, "the answer does not say what it cost"))
        );
        for bad in ["", "NaN", "inf", "-1", "0.1 0.2"] {
            assert_eq!(captured(Some(bad)).cost, None, "{bad}");
        }
    }
}
