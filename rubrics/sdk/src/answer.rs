//! The system under test's output, read-only.

use serde::de::DeserializeOwned;

use crate::RubricError;

/// What the system under test produced for the case, with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    json: String,
    cost_usd: f64,
    duration_seconds: f64,
}

impl Answer {
    /// An answer as the host hands it over. Tests make their own; in the sandbox [`crate::export!`] does.
    pub fn new(json: impl Into<String>, cost_usd: f64, duration_seconds: f64) -> Self {
        Self { json: json.into(), cost_usd, duration_seconds }
    }

    /// The output, byte for byte.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// What the answer cost, as metered by the host.
    pub fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    /// How long the answer took, as metered by the host.
    pub fn duration_seconds(&self) -> f64 {
        self.duration_seconds
    }

    /// Reads the output as the task class's own type.
    ///
    /// # Errors
    ///
    /// [`RubricError::MalformedOutput`] if it is not of that shape, which is the system under test's failure.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RubricError> {
        serde_json::from_str(&self.json).map_err(|error| RubricError::MalformedOutput(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        word: String,
    }

    #[test]
    fn an_answer_of_the_right_shape_is_read() {
        let answer = Answer::new(r#"{"word":"yes"}"#, 0.0, 0.0);
        assert_eq!(answer.parse::<Shape>(), Ok(Shape { word: "yes".to_owned() }));
    }

    #[test]
    fn an_answer_of_another_shape_is_the_failure_of_the_system_under_test() {
        for json in ["", "[]", r#"{"word":1}"#, r#"{"word":"a","word":"b"}"#, r#"{"word":"a","more":1}"#] {
            let parsed = Answer::new(json, 0.0, 0.0).parse::<Shape>();
            assert!(matches!(parsed, Err(RubricError::MalformedOutput(_))), "{json}: {parsed:?}");
        }
    }
}
