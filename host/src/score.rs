//! The one door between what a guest claimed and what the host admits.
//!
//! [`BenchScore`] has private fields and two constructors: [`BenchScore::admit`], which checks every rule of the contract,
//! and [`BenchScore::faulted`], which scores 0. Nothing downstream can therefore aggregate or chain an unchecked claim. A
//! claim that breaks a rule is refused, never corrected: a clamped score would hide a broken rubric.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::{Meter, RawScore, RubricFault};

/// Most breakdown entries, and most failure modes, that one score may have.
const MOST_NAMES: usize = 64;

/// Most characters of a guest's or an agent's own words that go behind a failure mode.
const MOST_WORDS: usize = 240;

/// Most characters of a message that quotes somebody.
const MOST_OF_A_MESSAGE: usize = 16_384;

/// Words that no field of a score may carry: the record has facts, and no room for anybody's opinion of itself.
pub(crate) const BANNED_WORDS: [&str; 4] = ["confidence", "llm", "self_reported", "model_says"];

/// A failure mode of the host's own: the class of the outcome it gives, and whether the case had an output by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostMode {
    name: &'static str,
    pub(crate) class: OutcomeClass,
    /// The rubric was run on an output. Every other mode says why there was none to run it on.
    pub(crate) has_output: bool,
}

const fn on_output(name: &'static str, class: OutcomeClass) -> HostMode {
    HostMode { name, class, has_output: true }
}

const fn without_output(name: &'static str, class: OutcomeClass) -> HostMode {
    HostMode { name, class, has_output: false }
}

/// The failure modes that only the host may use; a rubric that returns one is impersonating it.
const HOST_MODES: [HostMode; 12] = [
    without_output("cassette_missing", OutcomeClass::HarnessFault),
    without_output("cassette_stale", OutcomeClass::HarnessFault),
    without_output("harness_error", OutcomeClass::SutFault),
    on_output("output_malformed", OutcomeClass::SutFault),
    on_output("rubric_error", OutcomeClass::RubricFault),
    on_output("rubric_fuel_exhausted", OutcomeClass::RubricFault),
    on_output("rubric_malformed", OutcomeClass::RubricFault),
    on_output("rubric_memory_exhausted", OutcomeClass::RubricFault),
    on_output("rubric_timeout", OutcomeClass::RubricFault),
    on_output("rubric_trap", OutcomeClass::RubricFault),
    without_output("skipped_cost_cap", OutcomeClass::Skipped),
    without_output("timeout", OutcomeClass::SutFault),
];

/// The host's mode that a failure mode is, with or without words behind it.
pub(crate) fn host_mode(mode: &str) -> Option<HostMode> {
    let name = mode_name(mode);
    HOST_MODES.into_iter().find(|known| known.name == name)
}

/// A failure mode without the words that the host put behind it.
pub(crate) fn mode_name(mode: &str) -> &str {
    mode.split_once(": ").map_or(mode, |(name, _)| name)
}

/// Whether `text` is a name that a breakdown entry or a failure mode may have: `[a-z][a-z0-9_]{0,63}`.
pub(crate) fn is_mode_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 64
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Whether a failure mode of this name can only come from the host.
pub(crate) fn is_host_mode(name: &str) -> bool {
    HOST_MODES.iter().any(|mode| mode.name == name)
}

/// How a case ended, so that a fault is never mistaken for a bad answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutcomeClass {
    Scored,
    SutFault,
    RubricFault,
    HarnessFault,
    Skipped,
}

impl OutcomeClass {
    pub(crate) const ALL: [Self; 5] =
        [Self::Scored, Self::SutFault, Self::RubricFault, Self::HarnessFault, Self::Skipped];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scored => "scored",
            Self::SutFault => "sut_fault",
            Self::RubricFault => "rubric_fault",
            Self::HarnessFault => "harness_fault",
            Self::Skipped => "skipped",
        }
    }
}

/// Why a case has no verdict. Its `Display` is the failure mode that the case gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CaseFault {
    /// The system under test ran over its time.
    SutTimeout,
    /// The system under test broke its protocol or died.
    Harness {
        kind: &'static str,
        message: String,
    },
    Rubric(RubricFault),
    CassetteMissing,
    CassetteStale,
    SkippedCostCap,
}

impl CaseFault {
    pub(crate) fn class(&self) -> OutcomeClass {
        match self {
            Self::SutTimeout | Self::Harness { .. } | Self::Rubric(RubricFault::OutputMalformed(_)) => {
                OutcomeClass::SutFault
            }
            Self::Rubric(_) => OutcomeClass::RubricFault,
            Self::CassetteMissing | Self::CassetteStale => OutcomeClass::HarnessFault,
            Self::SkippedCostCap => OutcomeClass::Skipped,
        }
    }

    /// The failure mode without the words behind it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::SutTimeout => "timeout",
            Self::Harness { .. } => "harness_error",
            Self::Rubric(fault) => rubric_fault_name(fault),
            Self::CassetteMissing => "cassette_missing",
            Self::CassetteStale => "cassette_stale",
            Self::SkippedCostCap => "skipped_cost_cap",
        }
    }
}

fn rubric_fault_name(fault: &RubricFault) -> &'static str {
    match fault {
        RubricFault::OutputMalformed(_) => "output_malformed",
        RubricFault::FuelExhausted => "rubric_fuel_exhausted",
        RubricFault::Timeout => "rubric_timeout",
        RubricFault::MemoryExhausted => "rubric_memory_exhausted",
        RubricFault::Trap(_) => "rubric_trap",
        RubricFault::Malformed { .. } => "rubric_malformed",
        RubricFault::Error(_) => "rubric_error",
    }
}

impl fmt::Display for CaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Harness { kind, message } => write!(f, ": {kind}: {}", Words(message)),
            Self::Rubric(RubricFault::OutputMalformed(words) | RubricFault::Error(words)) => {
                write!(f, ": {}", Words(words))
            }
            Self::Rubric(RubricFault::Trap(kind)) => write!(f, ": {kind}"),
            Self::Rubric(RubricFault::Malformed { field, why }) => write!(f, ": {field}: {}", Words(why)),
            _ => Ok(()),
        }
    }
}

/// Somebody else's words, cut and with every control character escaped, so that they can go to a record and a terminal.
pub(crate) struct Words<'a>(pub(crate) &'a str);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_harmless(f, self.0, MOST_WORDS)
    }
}

/// A message that may quote somebody else's words, such as an error about a file that anybody may have written: escaped like
/// [`Words`], and cut only where nobody would read on.
pub(crate) struct Message<'a>(pub(crate) &'a str);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_harmless(f, self.0, MOST_OF_A_MESSAGE)
    }
}

fn write_harmless(f: &mut fmt::Formatter<'_>, text: &str, most: usize) -> fmt::Result {
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        if is_harmless(character) {
            write!(f, "{character}")?;
        } else {
            write!(f, "{}", character.escape_default())?;
        }
    }
    match characters.count() {
        0 => Ok(()),
        left => write!(f, "… ({left} more characters)"),
    }
}

/// Whether a character of foreign text may reach a terminal as it is: not a control character, and none of the invisible
/// ones that reorder or hide what follows.
pub(crate) fn is_harmless(character: char) -> bool {
    let hides = matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
    !character.is_control() && !hides
}

/// A score that the host has checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BenchScore {
    passed: bool,
    score: f64,
    breakdown: BTreeMap<String, f64>,
    failure_modes: Vec<String>,
    cost_usd: f64,
    duration_seconds: f64,
}

impl BenchScore {
    /// Checks a guest's claim against every rule of the contract.
    pub(crate) fn admit(raw: RawScore, meter: Meter, block: &BTreeSet<String>) -> Result<Self, RubricFault> {
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
    pub(crate) fn faulted(fault: &CaseFault, meter: Meter) -> Self {
        Self {
            passed: false,
            score: 0.0,
            breakdown: BTreeMap::new(),
            failure_modes: vec![fault.to_string()],
            cost_usd: meter.cost_usd,
            duration_seconds: meter.duration_seconds,
        }
    }

    /// The exact bytes by which a score is identified, replayed and compared.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a map of names to finite numbers serialises")
    }

    pub(crate) fn passed(&self) -> bool {
        self.passed
    }

    pub(crate) fn score(&self) -> f64 {
        self.score
    }

    pub(crate) fn failure_modes(&self) -> &[String] {
        &self.failure_modes
    }

    pub(crate) fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    pub(crate) fn duration_seconds(&self) -> f64 {
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

fn admit_breakdown(entries: Vec<(String, f64)>) -> Result<BTreeMap<String, f64>, RubricFault> {
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
    Ok(breakdown)
}

fn admit_failure_modes(modes: Vec<String>) -> Result<BTreeSet<String>, RubricFault> {
    if modes.len() > MOST_NAMES {
        return malformed("failure_modes", format!("{} entries, at most {MOST_NAMES} are allowed", modes.len()));
    }
    let mut admitted = BTreeSet::new();
    for mode in modes {
        admit_name("failure_modes", &mode)?;
        if is_host_mode(&mode) {
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
