//! Tests of `score`.

use super::*;
use crate::contract::TrapKind;
use crate::outcome::{HarnessErrorKind, NoOutput, OutcomeClass};
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
    assert_eq!(admitted.breakdown.0[0].1.to_bits(), 0);
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
        (CaseFault::NoOutput(NoOutput::SutTimeout), OutcomeClass::SutFault),
        (
            CaseFault::NoOutput(NoOutput::Harness { kind: HarnessErrorKind::ExitStatus, message: "3".to_owned() }),
            OutcomeClass::SutFault,
        ),
        (CaseFault::Rubric(RubricFault::OutputMalformed(String::new())), OutcomeClass::SutFault),
        (CaseFault::Rubric(RubricFault::FuelExhausted), OutcomeClass::RubricFault),
        (CaseFault::Rubric(RubricFault::Timeout), OutcomeClass::RubricFault),
        (CaseFault::Rubric(RubricFault::MemoryExhausted), OutcomeClass::RubricFault),
        (CaseFault::Rubric(RubricFault::Trap(TrapKind::Exit)), OutcomeClass::RubricFault),
        (CaseFault::Rubric(RubricFault::Malformed { field: "f", why: String::new() }), OutcomeClass::RubricFault),
        (CaseFault::Rubric(RubricFault::Error(String::new())), OutcomeClass::RubricFault),
        (CaseFault::NoOutput(NoOutput::CassetteMissing), OutcomeClass::HarnessFault),
        (CaseFault::NoOutput(NoOutput::CassetteStale), OutcomeClass::HarnessFault),
        (CaseFault::NoOutput(NoOutput::SkippedCostCap), OutcomeClass::Skipped),
    ];
    for (fault, class) in &faults {
        assert_eq!(fault.class(), *class, "{fault}");
        let mode = HostMode::of(&fault.to_string()).expect("a mode of the host's");
        assert_eq!((mode.name(), mode.class()), (fault.name(), *class));
        assert_eq!(mode.has_output(), matches!(fault, CaseFault::Rubric(_)));
    }
    assert_eq!(faults.len(), HostMode::ALL.len());
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
        && modes.iter().all(|mode| is_name(mode) && HostMode::ALL.iter().all(|host| host.name() != *mode))
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
        1 => proptest::sample::select(HostMode::ALL.to_vec()).prop_map(|mode| mode.name().to_owned()),
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
