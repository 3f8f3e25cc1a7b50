//! What an agent answers: one JSON object on its standard output, or a number in its cost file and an object in its agent
//! file.
//!
//! The answer and the cost are judged apart: an answer that cannot be used may still say truthfully what it cost, and then
//! that is what is charged.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answers::AgentClaim;
use eval_model::json;
use eval_model::money::{MOST_DOLLARS, is_possible_cost};
use eval_model::outcome::{HarnessErrorKind, NoOutput};

/// An answer and its cost, as far as each could be read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Response {
    pub(super) output: Result<String, NoOutput>,
    /// What the agent says the case cost: not negative, and no more than a case can cost. `None` is not known.
    pub(super) cost: Option<f64>,
    /// What the agent says of itself.
    pub(super) agent: Option<AgentClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResponse {
    output: Option<Box<RawValue>>,
    cost_usd: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "json::not_null")]
    agent: Option<Box<RawValue>>,
}

impl Response {
    /// A response that breaks the protocol and says nothing of its cost.
    pub(super) fn broken(kind: HarnessErrorKind, message: impl Into<String>) -> Self {
        Self { output: Err(fault(kind, message)), cost: None, agent: None }
    }

    /// The same cost of the same agent, without an answer.
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
        // The fields are taken as raw text first: a cost of 1e999 is an impossible cost and not a malformed response, and an
        // agent that cannot say who it is may still say what it cost.
        match serde_json::from_str::<RawResponse>(text) {
            Ok(raw) => {
                let cost = parse_cost(raw.cost_usd.as_deref().map(RawValue::get));
                let agent = raw.agent.as_deref().map(|agent| parse_agent(agent.get())).transpose();
                Self::join(parse_output(raw.output.as_deref()), cost, agent)
            }
            Err(error) => malformed(error.to_string()),
        }
    }

    /// An answer that was taken from the workspace, with the contents of the cost file and of the agent file.
    pub(super) fn captured(
        output: Result<String, NoOutput>,
        cost_file: Option<&[u8]>,
        agent_file: Option<&[u8]>,
    ) -> Self {
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or("not UTF-8 text").trim();
        Self::join(output, parse_cost(cost_file.map(text)), agent_file.map(text).map(parse_agent).transpose())
    }

    /// Without a cost there is no answer that could be held against a cap, so that fault comes second only to the answer's.
    fn join(
        output: Result<String, NoOutput>,
        cost: Result<f64, NoOutput>,
        agent: Result<Option<AgentClaim>, NoOutput>,
    ) -> Self {
        let (cost, cost_fault) = split(cost.map(Some));
        let (agent, agent_fault) = split(agent);
        let faults = [cost_fault, agent_fault].into_iter().flatten();
        Self { output: faults.fold(output, |output, fault| output.and(Err(fault))), cost, agent }
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

/// What could be read, and else why not.
fn split<T>(read: Result<Option<T>, NoOutput>) -> (Option<T>, Option<NoOutput>) {
    match read {
        Ok(value) => (value, None),
        Err(fault) => (None, Some(fault)),
    }
}

fn parse_agent(text: &str) -> Result<AgentClaim, NoOutput> {
    json::parse(text).map_err(|error| fault(HarnessErrorKind::MalformedResponse, format!("`agent`: {error}")))
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
    fn an_agent_may_say_who_it_is() {
        let agent = |text: &str| Response::parse(text.as_bytes()).agent;
        let said = r#"{"output":{},"cost_usd":0,"agent":{"name":"an agent","version":"1.0","model":"a model"}}"#;
        let text = |text: &str| Some(text.parse().expect("a text"));
        let whole = AgentClaim { name: text("an agent"), version: text("1.0"), model: text("a model") };
        assert_eq!(agent(said), Some(whole));
        assert_eq!(agent(r#"{"output":{},"cost_usd":0,"agent":{}}"#), Some(AgentClaim::default()));
        assert_eq!(agent(r#"{"output":{},"cost_usd":0}"#), None);
    }

    #[test]
    fn an_agent_that_cannot_say_who_it_is_still_says_what_it_cost() {
        let long = format!(r#"{{"name":"{}"}}"#, "a".repeat(201));
        for agent in [
            "null",
            "\"an agent\"",
            r#"["an agent","1","m"]"#,
            r#"{"name":null}"#,
            r#"{"name":""}"#,
            r#"{"name":1}"#,
            r#"{"name":"a\nb"}"#,
            r#"{"name":"a","name":"b"}"#,
            r#"{"vendor":"a"}"#,
            &long,
        ] {
            let (output, cost) = parsed(&format!(r#"{{"output":{{}},"cost_usd":0.5,"agent":{agent}}}"#));
            assert!(output.starts_with("harness_error: malformed_response: `agent`: "), "{agent}: {output}");
            assert_eq!(cost, Some(0.5), "{agent}");
            let captured = Response::captured(Ok("{}".to_owned()), Some(b"0.5"), Some(agent.as_bytes()));
            let fault = captured.output.expect_err("a fault").to_string();
            assert!(fault.starts_with("harness_error: malformed_response: `agent`: "), "{agent}: {fault}");
        }
        let captured = Response::captured(Ok("{}".to_owned()), Some(b"0.5"), Some(b" {\"model\":\"m\"}\n"));
        assert_eq!(captured.agent.and_then(|agent| agent.model), Some("m".parse().expect("a text")));
    }

    #[test]
    fn a_cost_file_is_one_number() {
        let captured = |text: Option<&str>| Response::captured(Ok("{}".to_owned()), text.map(str::as_bytes), None);
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
