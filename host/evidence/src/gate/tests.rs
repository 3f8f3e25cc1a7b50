//! Tests of `gate`.

use super::*;
use crate::chain::{Heads, StoreId};
use crate::record::fixture::{REGISTRATION, Run};
use eval_model::report::LoadErrorEntry;
use proptest::prelude::*;

fn standards() -> Standards {
    Standards {
        promotion_metric: PromotionMetric::MeanScore,
        min_cases_for_promotion: [(Tier::Silver, 2), (Tier::Gold, 3), (Tier::Platinum, 4)].into(),
        tier_thresholds: [(Tier::Silver, 0.80), (Tier::Gold, 0.90), (Tier::Platinum, 0.97)].into(),
        block_modes: ["cve_still_present".to_owned()].into(),
    }
}

/// The bench that the evidence is of.
fn bench(standards: &Standards) -> BenchNow<'_> {
    let RecordedRun { task_class, rubric_digest, case_digest_set, .. } = good().record;
    let cases = case_digest_set.into_iter().map(|(case, digest)| (case, Some(digest))).collect();
    BenchNow { task_class, current_tier: Tier::Bronze, standards, rubric_digest, cases }
}

/// Evidence that is good enough for silver.
fn good() -> VerifiedRecord {
    let position = Heads::default().next(StoreId::from_bytes([1; 16]), &"fixture".parse().expect("a task class"));
    let bytes = Run::new(0).at(&position).to_bytes();
    let (record, link) = RecordedRun::read(&bytes).expect("a record");
    VerifiedRecord { link, record, unfinished_runs: 1 }
}

fn codes(change: impl FnOnce(&mut RecordedRun)) -> Vec<&'static str> {
    let mut evidence = good();
    change(&mut evidence.record);
    codes_of(&judge(&bench(&standards()), Tier::Silver, &evidence))
}

fn codes_of(verdict: &PromotionVerdict) -> Vec<&'static str> {
    assert_eq!(verdict.evidence_sufficient(), verdict.reasons.is_empty());
    verdict.reasons.iter().map(Reason::code).collect()
}

/// The record with another failure mode for its first case.
fn with_mode(mode: &str) -> RecordedRun {
    let mut record = good().record;
    let text = record.report.cases[0].score.text().replace("[]", &format!("[\"{mode}\"]"));
    record.report.cases[0].score = serde_json::from_str(&text).expect("a score");
    record
}

fn load_error() -> LoadErrorEntry {
    LoadErrorEntry { folder: "f".to_owned(), field: "x".to_owned(), message: "m".to_owned() }
}

#[test]
fn good_evidence_is_sufficient_and_every_figure_that_is_not_is_a_reason() {
    assert_eq!(codes(|_| {}), [""; 0]);
    assert_eq!(codes(|record| record.report.mean_score = 0.799), ["below_threshold"]);
    assert_eq!(codes(|record| record.report.mean_score = 0.8), [""; 0]);
    assert_eq!(codes(|record| record.report.passed_count = 1), ["too_few_passed"]);
    assert_eq!(codes(|record| *record = with_mode("bump_too_large")), [""; 0]);
}

#[test]
fn what_blocks_is_what_the_registration_says_now() {
    // As a run with `block = []` writes it.
    let unblocked = with_mode("cve_still_present");
    assert!(unblocked.report.block_severity_failure_modes.is_empty());
    assert_eq!(codes(|record| *record = unblocked), ["block_severity_failure_modes"]);
}

#[test]
fn evidence_of_another_rubric_or_of_other_cases_is_not_sufficient() {
    let standards = standards();
    let judged = |change: &dyn Fn(&mut BenchNow<'_>)| {
        let mut bench = bench(&standards);
        change(&mut bench);
        judge(&bench, Tier::Silver, &good())
    };
    let first: CaseId = "001-first".parse().expect("a case id");
    let other_rubric = judged(&|bench| bench.rubric_digest = Digest::of(b"another rubric"));
    assert_eq!(codes_of(&other_rubric), ["other_rubric"]);
    let with = |case: &CaseId, digest: Option<Digest>| {
        judged(&|bench| {
            bench.cases.insert(case.clone(), digest);
        })
    };
    let changed = with(&first, Some(Digest::of(b"changed")));
    assert_eq!(codes_of(&changed), ["other_cases"]);
    assert!(changed.reasons[0].to_string().ends_with(": `001-first`"), "{}", changed.reasons[0]);
    assert_eq!(codes_of(&with(&first, None)), ["other_cases"]);
    assert_eq!(codes_of(&judged(&|bench| bench.cases.retain(|case, _| *case != first))), ["other_cases"]);
    assert_eq!(codes_of(&with(&"003-third".parse().expect("a case id"), None)), ["not_every_case"]);
}

#[test]
fn evidence_that_is_not_whole_is_not_sufficient() {
    assert_eq!(codes(|record| record.report.selection.selected = 1), ["cases_selected"]);
    assert_eq!(codes(|record| drop(record.case_digest_set.pop_first())), ["not_every_case"]);
    assert_eq!(codes(|record| record.output_kinds.extend([OutputKind::SolvedExample])), ["solved_examples"]);
    let other = Sut { name: "other".to_owned(), version: "2".to_owned(), command_digest: None };
    assert_eq!(codes(|record| record.suts.extend([other])), ["several_systems_under_test"]);
    assert_eq!(codes(|record| record.suts.clear()), ["no_system_under_test"]);
    assert_eq!(codes(|record| record.report.aborted = true), ["aborted"]);
    let failed_to_load = |record: &mut RecordedRun| {
        record.report.had_load_errors = true;
        record.report.load_errors.push(load_error());
    };
    assert_eq!(codes(failed_to_load), ["load_errors"]);
}

#[test]
fn only_the_tier_right_above_can_be_aimed_at() {
    let verdict = |target| judge(&bench(&standards()), target, &good());
    assert!(verdict(Tier::Silver).evidence_sufficient());
    for (target, text) in [
        (Tier::Bronze, "bronze is not the tier right above bronze, which is silver"),
        (Tier::Gold, "gold is not the tier right above bronze, which is silver"),
        (Tier::Platinum, "platinum is not the tier right above bronze, which is silver"),
    ] {
        assert_eq!(verdict(target).reasons[0].to_string(), text);
    }
    let standards = standards();
    let top = BenchNow { current_tier: Tier::Platinum, ..bench(&standards) };
    let reasons = judge(&top, Tier::Platinum, &good()).reasons;
    assert_eq!(reasons[0].to_string(), "platinum is the highest tier there is, and platinum is not above it");
}

#[test]
fn the_metric_is_the_registrations() {
    let mut strict = standards();
    strict.promotion_metric = PromotionMetric::LowerBound95;
    let verdict = judge(&bench(&strict), Tier::Silver, &good());
    assert_eq!(verdict.reasons.iter().map(Reason::code).collect::<Vec<_>>(), ["below_threshold"]);
    assert!(verdict.reasons[0].to_string().starts_with("lower_bound_95 is 0.2236"), "{}", verdict.reasons[0]);
}

#[test]
fn a_verdict_says_which_record_and_which_figures_it_rests_on() {
    let mut evidence = good();
    evidence.record.report.aborted = true;
    let verdict = judge(&bench(&standards()), Tier::Silver, &evidence);
    assert_eq!(verdict.reasons, [Reason::Aborted]);
    assert_eq!((verdict.current_tier, verdict.target_tier, verdict.unfinished_runs), (Tier::Bronze, Tier::Silver, 1));
    let VerifiedRecord { link, record, .. } = evidence;
    let read = RecordRead {
        file: link.file_name().as_str().to_owned(),
        seq: 1,
        hash: link.hash,
        run_id: record.run_id,
        rubric_digest: record.rubric_digest,
    };
    assert_eq!((verdict.task_class, verdict.record), (record.task_class, read));
    let figures = Figures {
        metric: PromotionMetric::MeanScore,
        value: 1.0,
        threshold: Some(0.8),
        mean_score: 1.0,
        lower_bound_95: 0.223_606_797_749_979,
        attempted: 2,
        passed_count: 2,
        passed_needed: Some(2),
    };
    assert_eq!(verdict.figures, figures);
}

#[test]
fn apply_always_fails_and_names_the_line() {
    let error = apply(Tier::Silver, Path::new("bench/fixture/registration.toml"), REGISTRATION).expect_err("always");
    assert_eq!((error.line, error.file.to_str()), (3, Some("bench/fixture/registration.toml")));
    assert_eq!(
        error.to_string(),
        "PromotionMustBeHumanAuthorized: a tier is changed by a human, in a reviewed pull request: edit line 3 of \
         `bench/fixture/registration.toml`, `current_tier = \"bronze\"`, to say `current_tier = \"silver\"`"
    );
}

proptest! {
    #[test]
    fn evidence_is_sufficient_exactly_when_all_conditions_hold(
        mean_score in 0.0..=1.0_f64,
        passed_count in 0..4_u64,
        has_block_mode: bool,
        selected in 1..=2_u64,
        is_solved: bool,
        systems in 0..3_usize,
        aborted: bool,
        had_load_errors: bool,
        target in prop::sample::select(Tier::ALL.to_vec()),
    ) {
        let mut evidence = good();
        if has_block_mode {
            evidence.record = with_mode("cve_still_present");
        }
        let record = &mut evidence.record;
        record.report.mean_score = mean_score;
        record.report.passed_count = passed_count;
        record.report.selection.selected = selected;
        record.output_kinds = [if is_solved { OutputKind::SolvedExample } else { OutputKind::Live }].into();
        let sut = |n: usize| Sut { name: n.to_string(), version: String::new(), command_digest: None };
        record.suts = (0..systems).map(sut).collect();
        record.report.aborted = aborted;
        record.report.had_load_errors = had_load_errors;
        let verdict = judge(&bench(&standards()), target, &evidence);
        // Of all tiers only silver is right above bronze; it asks for a mean of 0.8 and 2 passed cases.
        let enough = target == Tier::Silver && mean_score >= 0.8 && passed_count >= 2 && !has_block_mode;
        let whole = selected == 2 && !is_solved && systems == 1 && !aborted && !had_load_errors;
        prop_assert_eq!(verdict.evidence_sufficient(), enough && whole);
    }
}
