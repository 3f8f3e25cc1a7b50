//! The output of this task class: a patch, or a decline with its reason.

use crate::expectation::Reason;
use serde::Deserialize;

/// What the system under test answers. Keys that are not listed here make the output malformed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Output {
    /// A unified diff against `input/`.
    Patch { diff: String },
    /// The service must not be migrated as asked, and why.
    Decline { reason: Reason, explanation: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_rubric::Answer;

    fn read(json: &str) -> Option<Output> {
        Answer::new(json, 0.0, 0.0).parse().ok()
    }

    #[test]
    fn both_answers_are_read() {
        assert!(read(r#"{"action":"patch","diff":""}"#).is_some());
        assert!(read(r#"{"action":"decline","reason":"incompatible_libc","explanation":"x"}"#).is_some());
    }

    #[test]
    fn anything_else_is_malformed() {
        let wrong = [
            "{}",
            r#"{"action":"patch"}"#,
            r#"{"action":"patch","diff":1}"#,
            r#"{"action":"patch","diff":"","reason":"incompatible_libc"}"#,
            r#"{"action":"decline","reason":"tired","explanation":"x"}"#,
            r#"{"action":"decline","reason":"incompatible_libc"}"#,
            r#"{"action":"patch","diff":"","explanation":"x"}"#,
            r#"{"action":"ask"}"#,
        ];
        for json in wrong {
            assert_eq!(read(json), None, "{json}");
        }
    }
}
