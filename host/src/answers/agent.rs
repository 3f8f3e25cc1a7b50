//! What an agent says of itself: what it is called, which version of it this is, and which model is behind it.
//!
//! It is a claim. Nothing here may score by it, and whoever runs the agent can say otherwise.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use eval_evidence::record::Sut;
use eval_model::json;

/// Most characters of one such text.
const MOST_CHARACTERS: usize = 200;

/// A name, a version or a model: 1 to 200 characters, none of them a control character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct AgentText(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it must be a text of 1 to {MOST_CHARACTERS} characters without control characters")]
pub(crate) struct ParseAgentTextError;

impl FromStr for AgentText {
    type Err = ParseAgentTextError;

    fn from_str(text: &str) -> Result<Self, ParseAgentTextError> {
        let is_fit = (1..=MOST_CHARACTERS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        if is_fit { Ok(Self(text.to_owned())) } else { Err(ParseAgentTextError) }
    }
}

impl TryFrom<String> for AgentText {
    type Error = ParseAgentTextError;

    fn try_from(text: String) -> Result<Self, ParseAgentTextError> {
        text.parse()
    }
}

impl From<AgentText> for String {
    fn from(text: AgentText) -> Self {
        text.0
    }
}

impl fmt::Display for AgentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As much as was said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentClaim {
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<AgentText>,
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<AgentText>,
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<AgentText>,
}

impl AgentClaim {
    /// What a record says of who answered, if it can have been said.
    pub(crate) fn of_sut(sut: &Sut) -> Option<Self> {
        let text = |text: &String| text.parse::<AgentText>().ok();
        let model = sut.model.as_ref().map(text);
        Some(Self { name: Some(text(&sut.name)?), version: Some(text(&sut.version)?), model: model.flatten() })
    }

    /// Who answered, as far as this says more than was known before.
    pub(crate) fn of(&self, known: &Sut) -> Sut {
        let said = |text: &Option<AgentText>| text.as_ref().map(ToString::to_string);
        Sut {
            name: said(&self.name).unwrap_or_else(|| known.name.clone()),
            version: said(&self.version).unwrap_or_else(|| known.version.clone()),
            model: said(&self.model).or_else(|| known.model.clone()),
            ..known.clone()
        }
    }

    /// What is left of it where somebody else, who is believed first, says the rest.
    pub(crate) fn besides(self, other: &Self) -> Self {
        let left = |mine: Option<AgentText>, theirs: &Option<AgentText>| mine.filter(|_| theirs.is_none());
        Self {
            name: left(self.name, &other.name),
            version: left(self.version, &other.version),
            model: left(self.model, &other.model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_1_to_200_characters_and_no_control_character() {
        for fit in ["a", "Claude Code 1.0.3", "größer", &"ä".repeat(200)] {
            assert_eq!(fit.parse::<AgentText>().map(|text| text.to_string()).as_deref(), Ok(fit));
        }
        for unfit in ["", "a\nb", "\u{1b}[31m", "\u{7f}", &"ä".repeat(201)] {
            assert_eq!(unfit.parse::<AgentText>(), Err(ParseAgentTextError), "{unfit:?}");
        }
    }

    #[test]
    fn what_somebody_else_says_is_left_out() {
        let text = |text: &str| Some(text.parse().expect("a text"));
        let said = AgentClaim { name: text("its own"), version: None, model: text("m") };
        let flags = AgentClaim { name: text("given"), version: text("1"), model: None };
        assert_eq!(said.clone().besides(&flags), AgentClaim { model: text("m"), ..AgentClaim::default() });
        assert_eq!(said.clone().besides(&AgentClaim::default()), said);
    }
}
