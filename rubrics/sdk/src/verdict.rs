//! What a rubric says about an answer, and the one way from there to the score that the host gets.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Answer, BenchScore, RubricError};

/// A rubric's judgement of one answer. It has no place for cost and duration: those are the host's.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    passed: bool,
    score: f64,
    breakdown: BTreeMap<String, f64>,
    failure_modes: BTreeSet<String>,
}

impl Verdict {
    /// The answer is good enough to be used.
    pub fn passed(score: f64) -> Self {
        Self::new(true, score)
    }

    /// The answer is not good enough to be used.
    pub fn failed(score: f64) -> Self {
        Self::new(false, score)
    }

    /// A judgement whose outcome was computed.
    pub fn new(passed: bool, score: f64) -> Self {
        Self { passed, score, breakdown: BTreeMap::new(), failure_modes: BTreeSet::new() }
    }

    /// Names a part of the judgement, for people. A part that is named twice keeps its last value.
    #[must_use]
    pub fn with_part(mut self, name: impl Into<String>, value: f64) -> Self {
        self.breakdown.insert(name.into(), value);
        self
    }

    /// Names what is wrong with the answer. Naming it twice changes nothing.
    #[must_use]
    pub fn with_failure_mode(mut self, name: impl Into<String>) -> Self {
        self.failure_modes.insert(name.into());
        self
    }

    /// Whether the answer is good enough to be used.
    pub fn is_passed(&self) -> bool {
        self.passed
    }

    /// How good the answer is.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// The named parts, in the order of their names.
    pub fn breakdown(&self) -> impl Iterator<Item = (&str, f64)> {
        self.breakdown.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The failure modes, in the order of their names.
    pub fn failure_modes(&self) -> impl Iterator<Item = &str> {
        self.failure_modes.iter().map(String::as_str)
    }

    /// The score as the host wants it, with the cost and the duration that it passed in.
    ///
    /// # Errors
    ///
    /// [`RubricError::Internal`] if the verdict breaks a rule of the contract. The host would refuse it anyway; said here,
    /// the rubric's author learns it from a native test.
    pub fn into_score(self, answer: &Answer) -> Result<BenchScore, RubricError> {
        self.check().map_err(RubricError::Internal)?;
        Ok(BenchScore {
            passed: self.passed,
            score: self.score,
            breakdown: self.breakdown.into_iter().collect(),
            failure_modes: self.failure_modes.into_iter().collect(),
            cost_usd: answer.cost_usd(),
            duration_seconds: answer.duration_seconds(),
        })
    }

    fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.score) {
            return Err(format!("the score is {}, which is not from 0 to 1", self.score));
        }
        if let Some((name, value)) = self.breakdown.iter().find(|(_, value)| !value.is_finite()) {
            return Err(format!("the part `{name}` is {value}, which is not finite"));
        }
        let mut names = self.breakdown.keys().chain(&self.failure_modes);
        match names.find(|name| !is_name(name)) {
            Some(name) => Err(format!("`{name}` is not a name: use `[a-z][a-z0-9_]{{0,63}}`")),
            None => Ok(()),
        }
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer::new("{}", 0.125, 7.5)
    }

    #[test]
    fn cost_and_duration_are_the_ones_that_the_host_passed_in() {
        let score = Verdict::passed(1.0).into_score(&answer()).unwrap();
        assert_eq!((score.cost_usd, score.duration_seconds), (0.125, 7.5));
    }

    #[test]
    fn names_are_unique_and_sorted_whatever_the_order_of_the_calls() {
        let verdict = Verdict::failed(0.5)
            .with_part("b", 1.0)
            .with_part("a", 0.0)
            .with_part("b", 0.5)
            .with_failure_mode("z")
            .with_failure_mode("y")
            .with_failure_mode("z");
        let score = verdict.into_score(&answer()).unwrap();
        assert_eq!(score.breakdown, [("a".to_owned(), 0.0), ("b".to_owned(), 0.5)]);
        assert_eq!(score.failure_modes, ["y", "z"]);
    }

    #[test]
    fn a_verdict_that_the_host_would_refuse_is_an_error_of_the_rubric() {
        let bad = [
            Verdict::passed(1.5),
            Verdict::passed(f64::NAN),
            Verdict::passed(1.0).with_part("a", f64::INFINITY),
            Verdict::passed(1.0).with_part("Upper", 1.0),
            Verdict::failed(0.0).with_failure_mode("with space"),
            Verdict::failed(0.0).with_failure_mode(""),
            Verdict::failed(0.0).with_failure_mode("x".repeat(65)),
        ];
        for verdict in bad {
            let said = format!("{verdict:?}");
            assert!(matches!(verdict.into_score(&answer()), Err(RubricError::Internal(_))), "{said}");
        }
    }
}
