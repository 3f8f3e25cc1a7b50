//! Tests of `gate`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::*;
use crate::anchor::RecordSignature;
use crate::cassette::Provenance;
use crate::chain::{Heads, StoreId};
use crate::record::fixture::{REGISTRATION, Run, cage};
use crate::record::{RecordedRun, Sut};
use crate::verify::{Compiled, State};
use eval_model::confinement::{Cage, Confinement};
use eval_model::ids::{CaseId, Digest, Tier};
use eval_model::money::Usd;
use eval_model::report::{LoadErrorEntry, PromotionMetric};
use proptest::prelude::*;

fn standards() -> Standards {
    Standards {
        promotion_metric: PromotionMetric::MeanScore,
        min_cases_for_promotion: [(Tier::Silver, 2), (Tier::Gold, 3), (Tier::Platinum, 4)].into(),
        tier_thresholds: [(Tier::Silver, 0.80), (Tier::Gold, 0.90), (Tier::Platinum, 0.97)].into(),
        block_modes: ["cve_still_present".to_owned()].into(),
        signed_records: false,
    }
}

fn sut(name: &str, version: &str) -> Sut {
    let (name, version) = (name.to_owned(), version.to_owned());
    Sut { name, version, model: None, command_digest: None, files: BTreeMap::new() }
}

/// The bench that the evidence is of.
fn bench(standards: &Standards) -> BenchNow<'_> {
    let RecordedRun { task_class, rubric_digest, registration_digest, limits, case_digest_set, .. } = good().record;
    let cases = case_digest_set.into_iter().map(|(case, digest)| (case, Some(digest))).collect();
    let commit = "0123456789abcdef0123456789abcdef01234567".parse().expect("a commit");
    let commit = Some(BenchCommit { commit, is_dirty: false });
    let (current_tier, differs_at, no_cases) = (Tier::Bronze, None, [].into());
    BenchNow {
        task_class,
        current_tier,
        standards,
        rubric_digest,
        registration_digest,
        limits,
        commit,
        differs_at,
        no_cases,
        cases,
    }
}

/// Evidence that is good enough for silver: a live run.
fn good() -> JudgedRecord {
    let position = Heads::default().next(StoreId::from_bytes([1; 16]), &"fixture".parse().expect("a task class"));
    let bytes = Run::new(0).live_at(&position, Digest::of(b"a marker")).to_bytes();
    let (record, link) = RecordedRun::read(&bytes).expect("a record");
    let replay = ReplayResult {
        replayed: 2,
        nothing_to_replay: 0,
        other_fuel: 0,
        compiled: Compiled::Anew,
        state: State::Ok,
        findings: Vec::new(),
    };
    JudgedRecord {
        link,
        record,
        source: AnswerSource::Live,
        signature: RecordSignature::None,
        stale: [].into(),
        replay,
        live_runs: runs(0, Some(0), Some(1)),
        was_seen_before: true,
        is_anchored: None,
    }
}

fn runs(earlier: u64, later: Option<u64>, unfinished: Option<u64>) -> LiveRuns {
    LiveRuns { earlier, later, unfinished, unfinished_at_least: 1 }
}

/// The codes of a verdict on the evidence when it was changed.
fn codes_when(change: impl FnOnce(&mut JudgedRecord)) -> Vec<&'static str> {
    let mut evidence = good();
    change(&mut evidence);
    codes_of(&judge(&bench(&standards()), Tier::Silver, &evidence))
}

fn remarks_when(change: impl FnOnce(&mut JudgedRecord)) -> Vec<&'static str> {
    let mut evidence = good();
    change(&mut evidence);
    judge(&bench(&standards()), Tier::Silver, &evidence).remarks.iter().map(Remark::code).collect()
}

fn trusted() -> RecordSignature {
    let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    RecordSignature::Trusted { key: key.parse().expect("a key") }
}

fn unknown_key() -> RecordSignature {
    RecordSignature::UnknownKey { name: "somebody".to_owned() }
}

fn proven(is_signed: bool) -> AnswerSource {
    let hash = crate::chain::hash_of(b"a live record");
    AnswerSource::Recorded(ProvenRun {
        store_id: StoreId::from_bytes([1; 16]),
        seq: 1,
        hash,
        is_signed,
        shards_elsewhere: 0,
        confinement: Some(Confinement::Caged(cage())),
    })
}

/// What a kernel without namespaces and with an old Landlock gives.
fn weak() -> Confinement {
    Confinement::Caged(Cage { landlock_abi: 3, namespaces: BTreeSet::new(), ..cage() })
}

/// Cassettes that a live run with this confinement bears out.
fn borne_out_by(confinement: Confinement) -> AnswerSource {
    let AnswerSource::Recorded(run) = proven(false) else { unreachable!("it is proven") };
    AnswerSource::Recorded(ProvenRun { confinement: Some(confinement), ..run })
}

/// The verdict on answers from this source, in a record that says this of its own agents.
fn judged_by_cage(source: AnswerSource, own: Option<Confinement>) -> PromotionVerdict {
    let mut evidence = JudgedRecord { source, ..good() };
    evidence.record.confinement = own;
    judge(&bench(&standards()), Tier::Silver, &evidence)
}

#[test]
fn a_caged_agent_is_sufficient_and_the_verdict_says_its_cage() {
    let caged = Confinement::Caged(cage());
    for (source, own) in [(AnswerSource::Live, Some(caged.clone())), (borne_out_by(caged.clone()), None)] {
        let verdict = judged_by_cage(source, own);
        assert_eq!(codes_of(&verdict), [""; 0]);
        assert_eq!(verdict.confinement.as_ref(), Some(&caged));
        assert!(!verdict.remarks.iter().any(|remark| remark.code() == "weaker_confinement"), "{:?}", verdict.remarks);
    }
}

#[test]
fn an_agent_that_was_not_confined_could_have_read_the_answer_key() {
    for (source, own) in [
        (AnswerSource::Live, Some(Confinement::None)),
        (borne_out_by(Confinement::None), None),
        // No whole store has such records; if one came here, nobody said that there was a cage.
        (AnswerSource::Live, None),
    ] {
        let verdict = judged_by_cage(source, own);
        assert_eq!(codes_of(&verdict), ["agent_not_confined"]);
        assert_eq!(verdict.reasons[0].to_string(), "the agent was not confined: it could have read the answer key");
        assert!(!verdict.is_broken_evidence());
    }
    let verdict = judged_by_cage(borne_out_by(Confinement::None), None);
    assert_eq!(verdict.confinement, Some(Confinement::None), "that of the run that the answers are from");
}

#[test]
fn a_weaker_cage_is_a_remark_that_lists_what_it_lacks() {
    for (source, own) in [(AnswerSource::Live, Some(weak())), (borne_out_by(weak()), None)] {
        let verdict = judged_by_cage(source, own);
        assert_eq!(codes_of(&verdict), [""; 0]);
        let remark = verdict.remarks.iter().find(|remark| remark.code() == "weaker_confinement").expect("a remark");
        assert_eq!(
            remark.to_string(),
            "the agent's confinement was weaker than it can be: it could name files outside of its rules, and change the \
             metadata of its user's; it could connect to Unix sockets; it could list processes; it could connect to abstract \
             sockets; it could send signals to its user's processes"
        );
    }
}

#[test]
fn of_cassettes_that_no_live_run_bears_out_nobody_knows_a_confinement() {
    for (source, code) in [
        (AnswerSource::Unknown { claimed: Vec::new() }, "provenance_unknown"),
        (AnswerSource::SolvedExamples, "solved_examples"),
    ] {
        let verdict = judged_by_cage(source, None);
        assert_eq!(codes_of(&verdict), [code]);
        assert_eq!(verdict.confinement, None);
        assert!(!verdict.remarks.iter().any(|remark| remark.code() == "weaker_confinement"), "{:?}", verdict.remarks);
    }
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
    let other = sut("other", "2");
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
fn what_a_replay_does_not_bear_out_is_broken_evidence() {
    for (state, code) in [(State::Tampered, "replay_differs"), (State::Unverifiable, "replay_impossible")] {
        let mut evidence = good();
        evidence.replay.state = state;
        evidence.replay.findings = vec!["case `001-first` scores less".to_owned()];
        let verdict = judge(&bench(&standards()), Tier::Silver, &evidence);
        assert_eq!(codes_of(&verdict), [code]);
        assert!(verdict.is_broken_evidence());
        assert!(verdict.reasons[0].to_string().ends_with("case `001-first` scores less"), "{}", verdict.reasons[0]);
    }
    assert!(!judge(&bench(&standards()), Tier::Gold, &good()).is_broken_evidence());
}

/// A failure of block severity could be called a timeout, of which nothing can be replayed.
#[test]
fn a_fault_counts_only_if_somebody_vouches_for_it() {
    let timeout = |evidence: &mut JudgedRecord| {
        let case = &mut evidence.record.report.cases[0];
        case.outcome = eval_model::outcome::OutcomeClass::SutFault;
        evidence.record.output_digest_set.values_mut().next().expect("a case").take();
    };
    assert_eq!(codes_when(timeout), ["cannot_be_replayed"]);
    let signed = |evidence: &mut JudgedRecord| {
        timeout(evidence);
        evidence.signature = trusted();
    };
    assert_eq!(codes_when(signed), [""; 0]);
    let unknown = |evidence: &mut JudgedRecord| {
        timeout(evidence);
        evidence.signature = unknown_key();
    };
    assert_eq!(codes_when(unknown), ["cannot_be_replayed"]);
    let recorded = |is_signed| {
        move |evidence: &mut JudgedRecord| {
            signed(evidence);
            evidence.source = proven(is_signed);
        }
    };
    assert_eq!(codes_when(recorded(false)), ["cannot_be_replayed"], "whoever replayed it did not see the agent");
    assert_eq!(codes_when(recorded(true)), [""; 0]);
}

#[test]
fn recorded_answers_count_only_with_the_live_record_that_they_are_from() {
    assert_eq!(codes_when(|evidence| evidence.source = proven(false)), [""; 0]);
    assert_eq!(codes_when(|evidence| evidence.source = AnswerSource::SolvedExamples), ["solved_examples"]);
    assert_eq!(
        codes_when(|evidence| evidence.source = AnswerSource::Unknown { claimed: Vec::new() }),
        ["provenance_unknown"]
    );
    let claimed = Provenance {
        store_id: StoreId::from_bytes([7; 16]),
        started_marker: Digest::of(b"a marker"),
        output_digest: None,
    };
    let reason = Reason::ProvenanceUnknown { claimed: vec![claimed] }.to_string();
    assert!(reason.contains("the store `07070707070707070707070707070707`"), "{reason}");
    let several = Reason::ProvenanceUnknown { claimed: vec![claimed; 2] }.to_string();
    assert!(several.contains("they are of 2 runs"), "{several}");
    let stale = |evidence: &mut JudgedRecord| evidence.stale = ["002-second".parse().expect("a case id")].into();
    assert_eq!(codes_when(stale), ["stale_cassettes"]);
}

#[test]
fn shards_that_were_announced_elsewhere_may_be_the_best_of_many() {
    assert_eq!(codes(|record| record.shards_elsewhere = 1), ["shards_of_other_stores"]);
    let of_shards = |evidence: &mut JudgedRecord| {
        evidence.source = proven(false);
        if let AnswerSource::Recorded(run) = &mut evidence.source {
            run.shards_elsewhere = 2;
        }
    };
    assert_eq!(codes_when(of_shards), ["shards_of_other_stores"]);
}

#[test]
fn a_bench_must_be_a_commit_that_others_can_get() {
    let standards = standards();
    let now = |commit: Option<bool>| {
        let mut bench = bench(&standards);
        bench.commit = commit.map(|is_dirty| BenchCommit { is_dirty, ..bench.commit.clone().expect("a commit") });
        codes_of(&judge(&bench, Tier::Silver, &good()))
    };
    assert_eq!(now(None), ["bench_not_in_git"]);
    assert_eq!(now(Some(true)), ["bench_dirty"]);
    assert_eq!(now(Some(false)), [""; 0]);
    assert_eq!(codes(|record| record.bench_dirty = Some(true)), ["bench_was_dirty"]);
    assert_eq!(codes(|record| record.bench_dirty = None), ["bench_was_not_in_git"]);
}

#[test]
fn a_bench_can_demand_signatures_of_the_record_and_of_the_run_that_its_answers_are_from() {
    let standards = Standards { signed_records: true, ..standards() };
    let judged = |source: AnswerSource, signature: RecordSignature| {
        codes_of(&judge(&bench(&standards), Tier::Silver, &JudgedRecord { source, signature, ..good() }))
    };
    assert_eq!(judged(AnswerSource::Live, RecordSignature::None), ["unsigned"]);
    assert_eq!(judged(AnswerSource::Live, unknown_key()), ["unsigned"]);
    assert_eq!(judged(AnswerSource::Live, trusted()), [""; 0]);
    assert_eq!(judged(proven(false), trusted()), ["provenance_unsigned"]);
    assert_eq!(judged(proven(true), trusted()), [""; 0]);
}

#[test]
fn a_folder_that_no_run_counts_is_a_reason() {
    let standards = standards();
    let mut bench = bench(&standards);
    bench.no_cases = ["042_Hard".to_owned()].into();
    let verdict = judge(&bench, Tier::Silver, &good());
    assert_eq!(codes_of(&verdict), ["no_cases"]);
    assert!(verdict.reasons[0].to_string().ends_with(": `042_Hard`"), "{}", verdict.reasons[0]);
}

#[test]
fn limits_are_those_of_the_registration() {
    let standards = standards();
    let mut bench = bench(&standards);
    bench.limits.fuel = Some(1);
    assert_eq!(codes_of(&judge(&bench, Tier::Silver, &good())), ["other_limits"]);
}

#[test]
fn what_a_reviewer_should_know_is_said_and_refuses_nothing() {
    assert_eq!(remarks_when(|_| {}), ["unfinished_runs", "not_signed"]);
    let all = |evidence: &mut JudgedRecord| {
        evidence.record.registration_digest = Digest::of(b"another registration");
        evidence.live_runs = runs(3, Some(1), None);
        evidence.signature = trusted();
        evidence.is_anchored = Some(false);
        evidence.replay.other_fuel = 2;
        evidence.record.report.warnings.push("a warning".to_owned());
        evidence.record.report.total_cost_usd += 0.25;
        evidence.was_seen_before = false;
        evidence.record.confinement = Some(weak());
    };
    let expected = [
        "registration_changed",
        "earlier_live_runs",
        "later_live_runs",
        "unfinished_runs_unknown",
        "lost_agents",
        "not_seen_before",
        "weaker_confinement",
        "not_anchored",
        "other_fuel",
        "warnings",
    ];
    assert_eq!(remarks_when(all), expected);
    assert_eq!(codes_when(all), [""; 0]);
}

#[test]
fn the_digest_of_a_case_set_is_the_blake3_of_its_lines() {
    let (one, two): (CaseId, CaseId) = ("001-a".parse().expect("an id"), "002-b".parse().expect("an id"));
    let digest = Digest::of(b"a case");
    let lines = format!("001-a {digest}\n002-b \n");
    assert_eq!(case_set_digest([(&two, None), (&one, Some(digest))]), Digest::of(lines.as_bytes()));
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
    assert_eq!((verdict.current_tier, verdict.target_tier), (Tier::Bronze, Tier::Silver));
    assert_eq!(verdict.live_runs, runs(0, Some(0), Some(1)));
    let JudgedRecord { link, record, .. } = evidence;
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

/// One of every kind.
fn reasons() -> Vec<Reason> {
    let (tier, digest) = (Tier::Silver, Digest::of(b"x"));
    let selection = good().record.report.selection;
    let replay = |state| Reason::Replay { state, findings: Vec::new() };
    vec![
        Reason::NotTheNextTier { current: tier, target: tier },
        Reason::NoThreshold { target: tier },
        Reason::BelowThreshold { metric: PromotionMetric::MeanScore, value: 0.0, threshold: 1.0 },
        Reason::TooFewPassed { passed: 0, needed: 1 },
        Reason::BlockSeverity { modes: [].into() },
        Reason::OtherRubric { recorded: digest, now: digest },
        Reason::OtherLimits,
        Reason::OtherCases { changed: [].into() },
        Reason::NotEveryCase { missing: [].into() },
        Reason::NoCases { folders: [].into() },
        Reason::CasesSelected { selection },
        Reason::SolvedExamples,
        Reason::ProvenanceUnknown { claimed: Vec::new() },
        Reason::StaleCassettes { cases: [].into() },
        Reason::ShardsOfOtherStores { count: 1 },
        Reason::AgentNotConfined,
        Reason::SeveralSystems { suts: [].into() },
        Reason::NoSystem,
        Reason::Aborted,
        Reason::LoadErrors { count: 1 },
        Reason::BenchNotInGit,
        Reason::BenchDirty { first: None },
        Reason::BenchWasNotInGit,
        Reason::BenchWasDirty,
        replay(State::Tampered),
        replay(State::Unverifiable),
        Reason::CannotBeReplayed { cases: [].into() },
        Reason::Unsigned { signature: RecordSignature::None },
        Reason::ProvenanceUnsigned,
    ]
}

fn remarks() -> Vec<Remark> {
    vec![
        Remark::RegistrationChanged,
        Remark::EarlierLiveRuns { count: 1 },
        Remark::LaterLiveRuns { count: 1 },
        Remark::UnfinishedRuns { count: 1 },
        Remark::LaterUnknown,
        Remark::UnfinishedUnknown { known: 1 },
        Remark::LostAgents { usd: Usd::ZERO },
        Remark::NotSeenBefore,
        Remark::WeakerConfinement { weaknesses: vec!["it could list processes"] },
        Remark::Unsigned,
        Remark::NotAnchored,
        Remark::OtherFuel { cases: 1 },
        Remark::Warnings { count: 1 },
    ]
}

/// The codes in the first column of the table behind a heading.
fn documented(heading: &str) -> BTreeSet<String> {
    let page = include_str!("../../../../docs/promotion.md");
    let section = page.split_once(heading).expect("a heading").1.split("\n## ").next().expect("a section");
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    cells.flat_map(|cell| cell.split(',').map(|code| code.trim().trim_matches('`').to_owned())).collect()
}

#[test]
fn every_code_is_documented_and_no_other() {
    let codes = |codes: Vec<&str>| codes.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(codes(reasons().iter().map(Reason::code).collect()), documented("## Reasons"));
    assert_eq!(codes(remarks().iter().map(Remark::code).collect()), documented("## Remarks"));
    let mut messages: Vec<_> = reasons().iter().map(ToString::to_string).collect();
    messages.extend(remarks().iter().map(ToString::to_string));
    assert!(messages.iter().all(|message| !message.is_empty() && !message.ends_with('.')), "{messages:?}");
}

proptest! {
    #[test]
    fn evidence_is_sufficient_exactly_when_all_conditions_hold(
        mean_score in 0.0..=1.0_f64,
        passed_count in 0..4_u64,
        has_block_mode: bool,
        selected in 1..=2_u64,
        is_solved: bool,
        is_stale: bool,
        was_dirty in prop::option::of(any::<bool>()),
        replays: bool,
        is_signed: bool,
        needs_signature: bool,
        is_caged: bool,
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
        record.bench_dirty = was_dirty;
        let sut = |n: usize| sut(&n.to_string(), "");
        record.suts = (0..systems).map(sut).collect();
        record.report.aborted = aborted;
        record.report.had_load_errors = had_load_errors;
        if is_solved {
            evidence.source = AnswerSource::SolvedExamples;
        }
        if is_stale {
            evidence.stale = ["001-first".parse().expect("a case id")].into();
        }
        if is_signed {
            evidence.signature = trusted();
        }
        if !is_caged {
            evidence.record.confinement = Some(Confinement::None);
        }
        if !replays {
            evidence.replay.state = State::Tampered;
        }
        let standards = Standards { signed_records: needs_signature, ..standards() };
        let verdict = judge(&bench(&standards), target, &evidence);
        // Of all tiers only silver is right above bronze; it asks for a mean of 0.8 and 2 passed cases.
        let enough = target == Tier::Silver && mean_score >= 0.8 && passed_count >= 2 && !has_block_mode;
        let whole = selected == 2 && !is_solved && systems == 1 && !aborted && !had_load_errors;
        let proved = replays && (is_caged || is_solved) && !is_stale && was_dirty == Some(false) && (is_signed || !needs_signature);
        prop_assert_eq!(verdict.evidence_sufficient(), enough && whole && proved);
    }
}
