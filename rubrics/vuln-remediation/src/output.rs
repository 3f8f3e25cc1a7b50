//! What the system under test hands in: a patch, or a decline with its reason.

use serde::Deserialize;

/// One answer. Anything else is `output_malformed`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Output {
    /// A unified diff against `input/`.
    Patch { diff: String },
    /// There is nothing to change, and why.
    Decline { reason: DeclineReason, explanation: String },
}

/// How long a diff may be, in bytes. The lock file of a large project changes by some 100 KiB; what is longer than this is
/// no remediation, and would only be a way to run the rubric out of fuel.
pub const MAX_DIFF_BYTES: usize = 256 * 1024;

impl Output {
    /// What is wrong with the answer besides its shape.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Patch { diff } if diff.len() > MAX_DIFF_BYTES => {
                Some(format!("the diff has {} bytes, which is more than {MAX_DIFF_BYTES}", diff.len()))
            }
            Self::Patch { .. } | Self::Decline { .. } => None,
        }
    }
}

/// Why nothing is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclineReason {
    /// The advisory was withdrawn.
    Withdrawn,
    /// The version in use is outside the affected ranges.
    VersionNotAffected,
    /// No affected package is part of the project.
    PackageNotPresent,
    /// The affected feature is not enabled.
    FeatureNotEnabled,
    /// The project is not built for an affected platform.
    PlatformNotAffected,
    /// The affected code is not reached, or the affected option is not set.
    NotReachable,
    /// No version fixes it.
    NoFixedVersion,
    /// Only a pre-release fixes it, and the task takes none.
    OnlyPreReleaseFix,
    /// Only a yanked version fixes it.
    OnlyYankedFix,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Output, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn both_kinds_of_answer_are_read() {
        assert_eq!(parse(r#"{"action":"patch","diff":"x"}"#).unwrap(), Output::Patch { diff: "x".to_owned() });
        let decline = parse(r#"{"action":"decline","reason":"no_fixed_version","explanation":"e"}"#).unwrap();
        assert_eq!(decline, Output::Decline { reason: DeclineReason::NoFixedVersion, explanation: "e".to_owned() });
    }

    #[test]
    fn a_diff_has_a_longest_length() {
        let patch = |length: usize| Output::Patch { diff: "x".repeat(length) };
        assert_eq!(patch(MAX_DIFF_BYTES).refusal(), None);
        assert!(patch(MAX_DIFF_BYTES + 1).refusal().is_some());
    }

    #[test]
    fn anything_else_is_refused() {
        let bad = [
            "{}",
            r#"{"action":"shrug"}"#,
            r#"{"action":"patch"}"#,
            r#"{"action":"patch","diff":1}"#,
            r#"{"action":"patch","diff":"x","explanation":"y"}"#,
            r#"{"action":"decline","reason":"lazy","explanation":"e"}"#,
            r#"{"action":"decline","reason":"withdrawn"}"#,
        ];
        for json in bad {
            assert!(parse(json).is_err(), "{json}");
        }
    }
}
