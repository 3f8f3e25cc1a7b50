//! The one door between what a guest claimed and what the host admits.
//!
//! [`BenchScore`] has private fields and two constructors: [`BenchScore::admit`], which checks every rule of the contract,
//! and [`BenchScore::faulted`], which scores 0. Nothing downstream can therefore aggregate or chain an unchecked claim. A
//! claim that breaks a rule is refused, never corrected: a clamped score would hide a broken rubric.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use smol_str::SmolStr;

use crate::contract::{Meter, RawScore, RubricFault};
use crate::outcome::{CaseFault, HostMode, is_mode_name};
use crate::text::Words;

/// Most breakdown entries, and most failure modes, that one score may have.
const MOST_NAMES: usize = 64;

/// Words that no field of a score may carry: the record has facts, and no room for anybody's opinion of itself.
pub const BANNED_WORDS: [&str; 4] = ["confidence", "llm", "self_reported", "model_says"];

/// The parts of a score, sorted by their names. A run holds one per case, so there is no more to it than that.
#[derive(Debug, Clone, PartialEq, Default)]
struct Breakdown(Box<[(SmolStr, f64)]>);

impl Serialize for Breakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A score that the host has checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchScore {
    passed: bool,
    score: f64,
    breakdown: Breakdown,
    failure_modes: Vec<String>,
    cost_usd: f64,
    duration_seconds: f64,
}

impl BenchScore {
    /// Checks a guest's claim against every rule of the contract.
    pub fn admit(raw: RawScore, meter: Meter, block: &BTreeSet<String>) -> Result<Self, RubricFault> {
        let score = admit_unit_interval(raw.score)?;
        let breakdown = admit_breakdown(raw.breakdown)?;
        let failure_modes = admit_failure_modes(raw.failure_modes)?;
        admit_meter("cost_usd", raw.cost_usd, meter.cost_usd)?;
        admit_meter("duration_seconds", raw.duration_seconds, meter.duration_seconds)?;
        if let Some(mode) = failure_modes.iter().find(|mode| raw.passed && block.contains(*mode)) {
            return malformed("passed", format!("true together with `{mode}`, which is of block severity"));
        }
        Ok(Self {
            passed: raw.passed,
            score,
            breakdown,
            failure_modes: failure_modes.into_iter().collect(),
            cost_usd: meter.cost_usd,
            duration_seconds: meter.duration_seconds,
        })
    }

    /// The score of a case that has no verdict: 0, so that the denominator stays closed.
    pub fn faulted(fault: &CaseFault, meter: Meter) -> Self {
        Self {
            passed: false,
            score: 0.0,
            breakdown: Breakdown::default(),
            failure_modes: vec![fault.to_string()],
            cost_usd: meter.cost_usd,
            duration_seconds: meter.duration_seconds,
        }
    }

    /// The exact bytes by which a score is identified, replayed and compared.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a map of names to finite numbers serialises")
    }

    pub fn passed(&self) -> bool {
        self.passed
    }

    pub fn score(&self) -> f64 {
        self.score
    }

    pub fn failure_modes(&self) -> &[String] {
        &self.failure_modes
    }

    pub fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    pub fn duration_seconds(&self) -> f64 {
        self.duration_seconds
    }
}

fn malformed<T>(field: &'static str, why: impl Into<String>) -> Result<T, RubricFault> {
    Err(RubricFault::Malformed { field, why: why.into() })
}

fn admit_unit_interval(score: f64) -> Result<f64, RubricFault> {
    if !score.is_finite() {
        return malformed("score", "not a finite number");
    }
    if !(0.0..=1.0).contains(&score) {
        return malformed("score", format!("{score} is outside of [0, 1]"));
    }
    Ok(without_negative_zero(score))
}

/// -0.0 and 0.0 are one number to people and two to a digest.
fn without_negative_zero(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { number }
}

fn admit_breakdown(entries: Vec<(String, f64)>) -> Result<Breakdown, RubricFault> {
    if entries.len() > MOST_NAMES {
        return malformed("breakdown", format!("{} entries, at most {MOST_NAMES} are allowed", entries.len()));
    }
    let mut breakdown = BTreeMap::new();
    for (key, value) in entries {
        admit_name("breakdown", &key)?;
        if let Some(word) = BANNED_WORDS.iter().find(|word| key.contains(*word)) {
            return malformed("breakdown", format!("`{key}` contains `{word}`, and a score has facts only"));
        }
        if !value.is_finite() {
            return malformed("breakdown", format!("the value of `{key}` is not a finite number"));
        }
        if breakdown.insert(key.clone(), without_negative_zero(value)).is_some() {
            return malformed("breakdown", format!("the key `{key}` occurs twice"));
        }
    }
    Ok(Breakdown(breakdown.into_iter().map(|(key, value)| (key.into(), value)).collect()))
}

fn admit_failure_modes(modes: Vec<String>) -> Result<BTreeSet<String>, RubricFault> {
    if modes.len() > MOST_NAMES {
        return malformed("failure_modes", format!("{} entries, at most {MOST_NAMES} are allowed", modes.len()));
    }
    let mut admitted = BTreeSet::new();
    for mode in modes {
        admit_name("failure_modes", &mode)?;
        if HostMode::of(&mode).is_some() {
            return malformed("failure_modes", format!("`{mode}` is the host's own name"));
        }
        if let Some(mode) = admitted.replace(mode) {
            return malformed("failure_modes", format!("`{mode}` occurs twice"));
        }
    }
    Ok(admitted)
}

fn admit_name(field: &'static str, name: &str) -> Result<(), RubricFault> {
    if !is_mode_name(name) {
        let why = format!("`{}` does not match `[a-z][a-z0-9_]{{0,63}}`", Words(name));
        return malformed(field, why);
    }
    Ok(())
}

fn admit_meter(field: &'static str, claimed: f64, metered: f64) -> Result<(), RubricFault> {
    if claimed == metered {
        return Ok(());
    }
    malformed(field, format!("{claimed} is not what the host metered, {metered}"))
}

#[cfg(test)]
mod tests;
