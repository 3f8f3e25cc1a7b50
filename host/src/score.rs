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
mod tests {
    use super::*;
    use crate::contract::TrapKind;
    use proptest::prelude::*;

    const METER: Meter = Meter { cost_usd: 0.25, duration_seconds: 1.5 };

    fn honest() -> RawScore {
        RawScore {
            passed: true,
            score: 0.75,
            breakdown: vec![("fixed".to_owned(), 1.0), ("minimal".to_owned(), 0.5)],
            failure_modes: vec!["bump_too_large".to_owned()],
            cost_usd: 0.25,
            duration_seconds: 1.5,
        }
    }

    fn admit(change: impl FnOnce(&mut RawScore)) -> Result<BenchScore, RubricFault> {
        let mut raw = honest();
        change(&mut raw);
        BenchScore::admit(raw, METER, &BTreeSet::from(["cve_still_present".to_owned()]))
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut RawScore), expected: &str) {
        let fault = admit(change).expect_err("the claim must be refused");
        assert_eq!(CaseFault::Rubric(fault).to_string(), expected);
    }

    #[test]
    fn an_honest_score_is_admitted_as_six_fields_in_one_order() {
        let admitted = admit(|_| {}).expect("honest");
        assert_eq!(
            serde_json::to_string(&admitted).expect("a score is JSON"),
            r#"{"passed":true,"score":0.75,"breakdown":{"fixed":1.0,"minimal":0.5},"failure_modes":["bump_too_large"],"cost_usd":0.25,"duration_seconds":1.5}"#
        );
    }

    #[test]
    fn a_score_outside_of_the_unit_interval_is_refused_and_never_clamped() {
        refused(|raw| raw.score = 1.5, "rubric_malformed: score: 1.5 is outside of [0, 1]");
        refused(
            |raw| raw.score = 1.000_000_000_000_000_2,
            "rubric_malformed: score: 1.0000000000000002 is outside of [0, 1]",
        );
        refused(|raw| raw.score = -0.1, "rubric_malformed: score: -0.1 is outside of [0, 1]");
        for not_finite in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            refused(|raw| raw.score = not_finite, "rubric_malformed: score: not a finite number");
        }
    }

    #[test]
    fn negative_zero_becomes_zero() {
        let admitted = admit(|raw| {
            raw.score = -0.0;
            raw.breakdown = vec![("part".to_owned(), -0.0)];
        })
        .expect("-0.0 is zero");
        assert_eq!(admitted.score.to_bits(), 0);
        assert_eq!(admitted.breakdown["part"].to_bits(), 0);
    }

    #[test]
    fn a_breakdown_has_few_well_formed_unique_keys_and_finite_values() {
        refused(
            |raw| raw.breakdown = vec![("a".to_owned(), 0.0), ("a".to_owned(), 1.0)],
            "rubric_malformed: breakdown: the key `a` occurs twice",
        );
        refused(
            |raw| raw.breakdown = vec![("a".to_owned(), f64::NAN)],
            "rubric_malformed: breakdown: the value of `a` is not a finite number",
        );
        refused(
            |raw| raw.breakdown = (0..65).map(|n| (format!("k{n}"), 0.0)).collect(),
            "rubric_malformed: breakdown: 65 entries, at most 64 are allowed",
        );
        refused(
            |raw| raw.breakdown = vec![("llm_view".to_owned(), 1.0)],
            "rubric_malformed: breakdown: `llm_view` contains `llm`, and a score has facts only",
        );
        for bad in ["", "A", "1a", "a-b", "ключ", &"x".repeat(65)] {
            assert!(admit(|raw| raw.breakdown = vec![(bad.to_owned(), 0.0)]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_failure_mode_cannot_impersonate_the_host_or_carry_control_characters() {
        refused(
            |raw| raw.failure_modes = vec!["rubric_trap".to_owned()],
            "rubric_malformed: failure_modes: `rubric_trap` is the host's own name",
        );
        refused(
            |raw| raw.failure_modes = vec!["a\x1b[31m".to_owned()],
            r"rubric_malformed: failure_modes: `a\u{1b}[31m` does not match `[a-z][a-z0-9_]{0,63}`",
        );
        refused(
            |raw| raw.failure_modes = vec!["twice".to_owned(), "twice".to_owned()],
            "rubric_malformed: failure_modes: `twice` occurs twice",
        );
    }

    #[test]
    fn a_rubric_cannot_lie_the_meter_away() {
        refused(|raw| raw.cost_usd = 0.0, "rubric_malformed: cost_usd: 0 is not what the host metered, 0.25");
        refused(
            |raw| raw.duration_seconds = f64::NAN,
            "rubric_malformed: duration_seconds: NaN is not what the host metered, 1.5",
        );
    }

    #[test]
    fn passing_with_a_block_severity_mode_is_a_contradiction() {
        refused(
            |raw| raw.failure_modes = vec!["cve_still_present".to_owned()],
            "rubric_malformed: passed: true together with `cve_still_present`, which is of block severity",
        );
        let failed = admit(|raw| {
            raw.passed = false;
            raw.failure_modes = vec!["cve_still_present".to_owned()];
        });
        assert!(failed.is_ok());
    }

    #[test]
    fn every_fault_has_its_class_and_a_name_that_rubrics_cannot_use() {
        let faults = [
            (CaseFault::SutTimeout, OutcomeClass::SutFault),
            (CaseFault::Harness { kind: "exit_status", message: "3".to_owned() }, OutcomeClass::SutFault),
            (CaseFault::Rubric(RubricFault::OutputMalformed(String::new())), OutcomeClass::SutFault),
            (CaseFault::Rubric(RubricFault::FuelExhausted), OutcomeClass::RubricFault),
            (CaseFault::Rubric(RubricFault::Timeout), OutcomeClass::RubricFault),
            (CaseFault::Rubric(RubricFault::MemoryExhausted), OutcomeClass::RubricFault),
            (CaseFault::Rubric(RubricFault::Trap(TrapKind::Exit)), OutcomeClass::RubricFault),
            (CaseFault::Rubric(RubricFault::Malformed { field: "f", why: String::new() }), OutcomeClass::RubricFault),
            (CaseFault::Rubric(RubricFault::Error(String::new())), OutcomeClass::RubricFault),
            (CaseFault::CassetteMissing, OutcomeClass::HarnessFault),
            (CaseFault::CassetteStale, OutcomeClass::HarnessFault),
            (CaseFault::SkippedCostCap, OutcomeClass::Skipped),
        ];
        for (fault, class) in &faults {
            assert_eq!(fault.class(), *class, "{fault}");
            let mode =
                HostMode { name: fault.name(), class: *class, has_output: matches!(fault, CaseFault::Rubric(_)) };
            assert_eq!(host_mode(&fault.to_string()), Some(mode));
        }
        assert_eq!(faults.len(), HOST_MODES.len());
    }

    #[test]
    fn foreign_words_are_cut_and_escaped() {
        let fault = CaseFault::Rubric(RubricFault::Error(format!("\u{1b}]0;x\u{7}\u{202e}{}", "y".repeat(300))));
        let text = fault.to_string();
        assert!(text.starts_with(r"rubric_error: \u{1b}]0;x\u{7}\u{202e}yyy"), "{text}");
        assert!(text.ends_with("… (67 more characters)"), "{text}");
    }

    /// The rules of `wit/rubric.wit`, written down a second time.
    fn keeps_the_rules(raw: &RawScore, block: &BTreeSet<String>) -> bool {
        let is_name = |name: &str| {
            let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            (1..=64).contains(&name.len()) && name.as_bytes()[0].is_ascii_lowercase() && name.bytes().all(is_part)
        };
        let are_unique = |names: &[&str]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        let is_opinion =
            |key: &str| ["confidence", "llm", "self_reported", "model_says"].iter().any(|word| key.contains(word));
        let keys: Vec<&str> = raw.breakdown.iter().map(|(key, _)| key.as_str()).collect();
        let modes: Vec<&str> = raw.failure_modes.iter().map(String::as_str).collect();
        (0.0..=1.0).contains(&raw.score)
            && keys.len() <= 64
            && are_unique(&keys)
            && keys.iter().all(|key| is_name(key) && !is_opinion(key))
            && raw.breakdown.iter().all(|(_, value)| value.is_finite())
            && modes.len() <= 64
            && are_unique(&modes)
            && modes.iter().all(|mode| is_name(mode) && HOST_MODES.iter().all(|host| host.name != *mode))
            && (raw.cost_usd, raw.duration_seconds) == (METER.cost_usd, METER.duration_seconds)
            && !(raw.passed && modes.iter().any(|mode| block.contains(*mode)))
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => "[a-z][a-z0-9_]{0,9}",
            2 => "[a-z]{62,66}",
            1 => "[a-c]{0,1}",
            1 => "[A-Z0-9_ -]{1,4}",
            1 => "\\PC{0,6}",
            1 => "(a_|)(confidence|llm|self_reported|model_says)(_b|)",
            1 => proptest::sample::select(HOST_MODES.to_vec()).prop_map(|mode| mode.name.to_owned()),
            1 => Just("cve_still_present".to_owned()),
        ]
    }

    /// Mostly a few names, and sometimes about as many as there may be.
    fn names() -> impl Strategy<Value = Vec<String>> {
        let many = (60_usize..70).prop_map(|count| (0..count).map(|index| format!("name_{index}")).collect());
        prop_oneof![9 => proptest::collection::vec(name(), 0..5), 1 => many]
    }

    /// Mostly what is meant, and sometimes any number there is.
    fn number(meant: f64) -> impl Strategy<Value = f64> {
        prop_oneof![9 => Just(meant), 1 => proptest::num::f64::ANY, 1 => Just(-0.0), 1 => Just(1.0_f64.next_up())]
    }

    proptest! {
        #[test]
        fn whatever_is_admitted_keeps_the_rules_and_whatever_keeps_them_is_admitted(
            passed: bool,
            score in number(0.5),
            keys in names(),
            value in number(2.0),
            failure_modes in names(),
            cost_usd in number(METER.cost_usd),
            duration_seconds in number(METER.duration_seconds),
        ) {
            let breakdown = keys.into_iter().map(|key| (key, value)).collect();
            let raw = RawScore { passed, score, breakdown, failure_modes, cost_usd, duration_seconds };
            let block = BTreeSet::from(["cve_still_present".to_owned()]);
            let keeps = keeps_the_rules(&raw, &block);
            let admitted = BenchScore::admit(raw, METER, &block);
            prop_assert_eq!(admitted.is_ok(), keeps, "{:?}", admitted);
            if let Ok(admitted) = admitted {
                prop_assert!(admitted.score.is_sign_positive());
            }
        }
    }
}
