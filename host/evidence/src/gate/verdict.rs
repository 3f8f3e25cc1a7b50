//! The verdict: every condition that does not hold, what a reviewer should know besides, and what it all rests on.

use std::collections::BTreeSet;

use super::bench::{BenchCommit, BenchNow, Standards, case_set_digest};
use super::evidence::JudgedRecord;
use super::reason::{Reason, Remark};
use super::source::{AnswerSource, ProvenRun};
use crate::anchor::RecordSignature;
use crate::chain::Link;
use crate::record::{Mode, RecordedRun, RecordedScore, Sut};
use crate::verify::{Compiled, ObjectScope, State, Verification};
use eval_model::confinement::{Cage, Confinement};
use eval_model::ids::{CaseId, Digest, RecordHash, RunId, TaskClassName, Tier};
use eval_model::money::Usd;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{CaseResult, PromotionMetric};

/// What the gate says about one task class.
#[derive(Debug, Clone, PartialEq)]
pub struct PromotionVerdict {
    pub task_class: TaskClassName,
    pub current_tier: Tier,
    pub target_tier: Tier,
    /// Every condition that does not hold. The evidence is sufficient when there is none.
    pub reasons: Vec<Reason>,
    pub remarks: Vec<Remark>,
    pub figures: Figures,
    pub record: RecordRead,
    pub bench: BenchRead,
    /// Who answered; `None` when nobody can name one.
    pub agent: Option<Sut>,
    /// How the agent was confined, as the record of its run says; `None` when it is not known which run that was.
    pub confinement: Option<Confinement>,
    pub signature: RecordSignature,
    /// The live record that recorded answers are from.
    pub provenance: Option<ProvenRun>,
    pub live_runs: LiveRuns,
    pub replay: ReplayResult,
}

/// The figures that a verdict rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub metric: PromotionMetric,
    pub value: f64,
    pub threshold: Option<f64>,
    pub mean_score: f64,
    pub lower_bound_95: f64,
    pub attempted: u64,
    pub passed_count: u64,
    pub passed_needed: Option<u64>,
}

/// Which record a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRead {
    pub file: String,
    pub seq: u64,
    pub hash: RecordHash,
    pub run_id: RunId,
    pub rubric_digest: Digest,
}

/// The bench at the run, and as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchRead {
    pub commit_at_run: Option<BenchCommit>,
    pub commit_now: Option<BenchCommit>,
    pub registration_digest_at_run: Digest,
    pub registration_digest_now: Digest,
    pub case_set_digest_at_run: Digest,
    pub case_set_digest_now: Digest,
}

/// The other live runs of the task class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveRuns {
    /// Recorded before the one that is judged.
    pub earlier: u64,
    /// Recorded since; `None` where nobody can know.
    pub later: Option<u64>,
    /// Started and never recorded; `None` where nobody can know.
    pub unfinished: Option<u64>,
    /// What is known of them where the rest is not.
    pub unfinished_at_least: u64,
}

impl LiveRuns {
    /// Adds those of a body of evidence, before and after a place, but for the run that the answers are from.
    pub(super) fn add(
        &mut self,
        verification: &Verification,
        task_class: &TaskClassName,
        place: u64,
        source: Option<RecordHash>,
    ) {
        let is_other = |link: &&Link| {
            link.position.task_class == *task_class
                && Some(link.hash) != source
                && verification.run(link).is_some_and(|run| run.is_live)
        };
        let seqs: Vec<_> = verification.links.values().filter(is_other).map(|link| link.position.seq).collect();
        let later = seqs.iter().filter(|seq| **seq > place).count() as u64;
        // A bundle ends with its record, whatever came after it.
        let is_bundle = verification.scope() == ObjectScope::Newest;
        self.earlier += seqs.iter().filter(|seq| **seq < place).count() as u64;
        self.later = self.later.filter(|_| !is_bundle).map(|sum| sum + later);
        self.unfinished = self.unfinished.zip(verification.unfinished_of(task_class)).map(|(sum, more)| sum + more);
        self.unfinished_at_least += verification.unfinished_at_least(task_class);
    }
}

/// What came of scoring every case of the record again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayResult {
    pub replayed: u64,
    pub nothing_to_replay: u64,
    pub other_fuel: u64,
    /// Where the rubric's code came from.
    pub compiled: Compiled,
    pub state: State,
    pub findings: Vec<String>,
}

impl PromotionVerdict {
    pub fn evidence_sufficient(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Whether the evidence itself does not hold, rather than not being enough.
    pub fn is_broken_evidence(&self) -> bool {
        self.reasons.iter().any(Reason::is_broken_evidence)
    }
}

/// Judges a record.
pub fn judge(bench: &BenchNow<'_>, target_tier: Tier, evidence: &JudgedRecord) -> PromotionVerdict {
    let record = &evidence.record;
    let figures = Figures::new(bench.standards, target_tier, record);
    // Under the registration as it is now: the one that the run was made with may have blocked nothing.
    let block_modes = record.block_severity_modes(&bench.standards.block_modes);
    let mut reasons = score_reasons(bench.current_tier, target_tier, &figures, &block_modes);
    reasons.extend(replay_reasons(evidence));
    reasons.extend(bench_reasons(record, bench));
    reasons.extend(git_reasons(record, bench));
    reasons.extend(wholeness_reasons(record));
    reasons.extend(source_reasons(evidence));
    reasons.extend(confinement_reason(evidence));
    reasons.extend(signature_reasons(evidence, bench.standards));
    let commit_at_run = record.bench_git_commit.clone().zip(record.bench_dirty);
    PromotionVerdict {
        task_class: bench.task_class.clone(),
        current_tier: bench.current_tier,
        target_tier,
        reasons,
        remarks: remarks(evidence, bench),
        figures,
        record: RecordRead {
            file: evidence.link.file_name().as_str().to_owned(),
            seq: evidence.link.position.seq,
            hash: evidence.link.hash,
            run_id: record.run_id,
            rubric_digest: record.rubric_digest,
        },
        bench: BenchRead {
            commit_at_run: commit_at_run.map(|(commit, is_dirty)| BenchCommit { commit, is_dirty }),
            commit_now: bench.commit.clone(),
            registration_digest_at_run: record.registration_digest,
            registration_digest_now: bench.registration_digest,
            case_set_digest_at_run: case_set_digest(
                record.case_digest_set.iter().map(|(id, digest)| (id, Some(*digest))),
            ),
            case_set_digest_now: case_set_digest(bench.cases.iter().map(|(id, digest)| (id, *digest))),
        },
        agent: record.suts.first().filter(|_| record.suts.len() == 1).cloned(),
        confinement: confinement(evidence).cloned(),
        signature: evidence.signature.clone(),
        provenance: match &evidence.source {
            AnswerSource::Recorded(run) => Some(ProvenRun::clone(run)),
            _ => None,
        },
        live_runs: evidence.live_runs,
        replay: evidence.replay.clone(),
    }
}

impl Figures {
    fn new(standards: &Standards, target_tier: Tier, record: &RecordedRun) -> Self {
        let report = &record.report;
        Self {
            metric: standards.promotion_metric,
            value: standards.promotion_metric.of(report),
            threshold: standards.tier_thresholds.get(&target_tier).copied(),
            mean_score: report.mean_score,
            lower_bound_95: report.lower_bound_95,
            attempted: report.attempted,
            passed_count: report.passed_count,
            passed_needed: standards.min_cases_for_promotion.get(&target_tier).copied(),
        }
    }
}

/// Whether the figures reach the tier.
fn score_reasons(current: Tier, target: Tier, figures: &Figures, block_modes: &BTreeSet<String>) -> Vec<Reason> {
    let tier = (current.next() != Some(target)).then_some(Reason::NotTheNextTier { current, target });
    let threshold = match figures.threshold {
        None => Some(Reason::NoThreshold { target }),
        Some(threshold) => (figures.value < threshold).then_some(Reason::BelowThreshold {
            metric: figures.metric,
            value: figures.value,
            threshold,
        }),
    };
    let passed = figures.passed_count;
    let needed = figures.passed_needed.unwrap_or(0);
    let too_few = (passed < needed).then_some(Reason::TooFewPassed { passed, needed });
    let block = (!block_modes.is_empty()).then(|| Reason::BlockSeverity { modes: block_modes.clone() });
    [tier, threshold, too_few, block].into_iter().flatten().collect()
}

/// Whether the scores are what the rubric gives, and whether anybody vouches for what nothing can be derived from again.
fn replay_reasons(evidence: &JudgedRecord) -> Vec<Reason> {
    let ReplayResult { state, findings, .. } = &evidence.replay;
    let differs = (*state != State::Ok).then(|| Reason::Replay { state: *state, findings: findings.clone() });
    let is_fault = |case: &&CaseResult<RecordedScore>| {
        let has_output = evidence.record.output_digest_set.get(&case.case_id).is_some_and(Option::is_some);
        case.outcome == OutcomeClass::SutFault && !has_output
    };
    // Whoever saw the agent fail is whoever ran it live.
    let is_vouched_for = match &evidence.source {
        AnswerSource::Recorded(run) => run.is_signed,
        _ => evidence.signature.is_trusted(),
    };
    let cases: BTreeSet<_> =
        evidence.record.report.cases.iter().filter(is_fault).map(|case| case.case_id.clone()).collect();
    let unproved = (!cases.is_empty() && !is_vouched_for).then_some(Reason::CannotBeReplayed { cases });
    [differs, unproved].into_iter().flatten().collect()
}

/// Whether the evidence is of this bench: its rubric and limits, and each of its cases.
fn bench_reasons(record: &RecordedRun, bench: &BenchNow<'_>) -> Vec<Reason> {
    let (recorded, now) = (record.rubric_digest, bench.rubric_digest);
    let is_missing = |case: &&CaseId| !record.case_digest_set.contains_key(case);
    let missing: BTreeSet<_> = bench.cases.keys().filter(is_missing).cloned().collect();
    let is_other = |(case, digest): &(&CaseId, &Digest)| bench.cases.get(*case) != Some(&Some(**digest));
    let changed: BTreeSet<_> = record.case_digest_set.iter().filter(is_other).map(|(case, _)| case.clone()).collect();
    let folders = bench.no_cases.clone();
    [
        (!folders.is_empty()).then_some(Reason::NoCases { folders }),
        (recorded != now).then_some(Reason::OtherRubric { recorded, now }),
        (record.limits != bench.limits).then_some(Reason::OtherLimits),
        (!changed.is_empty()).then_some(Reason::OtherCases { changed }),
        (!missing.is_empty()).then_some(Reason::NotEveryCase { missing }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether others can get the very bench: its files are those of a commit, then and now.
fn git_reasons(record: &RecordedRun, bench: &BenchNow<'_>) -> Vec<Reason> {
    let now = match bench.commit.as_ref().map(|commit| commit.is_dirty) {
        None => Some(Reason::BenchNotInGit),
        Some(true) => Some(Reason::BenchDirty { first: bench.differs_at.clone() }),
        Some(false) => None,
    };
    let then = match record.bench_dirty {
        None => Some(Reason::BenchWasNotInGit),
        Some(true) => Some(Reason::BenchWasDirty),
        Some(false) => None,
    };
    now.into_iter().chain(then).collect()
}

/// Whether the evidence is whole: all that was selected, and of one system under test.
fn wholeness_reasons(record: &RecordedRun) -> Vec<Reason> {
    let report = &record.report;
    let selection = &report.selection;
    let partial = selection.selected < selection.cases_in_bench;
    let count = report.load_errors.len() as u64;
    [
        partial.then(|| Reason::CasesSelected { selection: selection.clone() }),
        (record.suts.len() > 1).then(|| Reason::SeveralSystems { suts: record.suts.clone() }),
        record.suts.is_empty().then_some(Reason::NoSystem),
        report.aborted.then_some(Reason::Aborted),
        report.had_load_errors.then_some(Reason::LoadErrors { count }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether the answers are an agent's, to these very questions.
fn source_reasons(evidence: &JudgedRecord) -> Vec<Reason> {
    let source = match &evidence.source {
        AnswerSource::SolvedExamples => Some(Reason::SolvedExamples),
        AnswerSource::Unknown { claimed } => Some(Reason::ProvenanceUnknown { claimed: claimed.clone() }),
        AnswerSource::Live | AnswerSource::Recorded(_) => None,
    };
    let cases = evidence.stale.clone();
    let stale = (!cases.is_empty()).then_some(Reason::StaleCassettes { cases });
    let count = match &evidence.source {
        AnswerSource::Recorded(run) => run.shards_elsewhere,
        _ => evidence.record.shards_elsewhere,
    };
    let shards = (count > 0).then_some(Reason::ShardsOfOtherStores { count });
    source.into_iter().chain(stale).chain(shards).collect()
}

/// Whether somebody vouches for the record, where the bench demands it.
fn signature_reasons(evidence: &JudgedRecord, standards: &Standards) -> Vec<Reason> {
    if !standards.signed_records {
        return Vec::new();
    }
    let signature = evidence.signature.clone();
    let unsigned = (!signature.is_trusted()).then_some(Reason::Unsigned { signature });
    let is_unsigned_run = matches!(&evidence.source, AnswerSource::Recorded(run) if !run.is_signed);
    unsigned.into_iter().chain(is_unsigned_run.then_some(Reason::ProvenanceUnsigned)).collect()
}

/// What the record says of the agent's confinement whose answers are judged: this one, or the live one that bears them out.
fn confinement(evidence: &JudgedRecord) -> Option<&Confinement> {
    match &evidence.source {
        AnswerSource::Live => evidence.record.confinement.as_ref(),
        AnswerSource::Recorded(run) => run.confinement.as_ref(),
        AnswerSource::Unknown { .. } | AnswerSource::SolvedExamples => None,
    }
}

/// Whether the agent could have had the answers from the bench. What is not said to have been a cage was none.
fn confinement_reason(evidence: &JudgedRecord) -> Option<Reason> {
    let is_known = matches!(evidence.source, AnswerSource::Live | AnswerSource::Recorded(_));
    let is_caged = confinement(evidence).is_some_and(|confinement| confinement.cage().is_some());
    (is_known && !is_caged).then_some(Reason::AgentNotConfined)
}

/// What refuses nothing, and what whoever signs should have read.
fn remarks(evidence: &JudgedRecord, bench: &BenchNow<'_>) -> Vec<Remark> {
    let (record, runs) = (&evidence.record, evidence.live_runs);
    let known = runs.unfinished_at_least;
    let some = |count: u64| (count > 0).then_some(count);
    let warnings = record.report.warnings.len() as u64;
    let weaknesses = confinement(evidence).and_then(Confinement::cage).map(Cage::weaknesses).unwrap_or_default();
    let changed = record.registration_digest != bench.registration_digest;
    [
        changed.then_some(Remark::RegistrationChanged),
        some(runs.earlier).map(|count| Remark::EarlierLiveRuns { count }),
        match runs.later {
            None => Some(Remark::LaterUnknown),
            Some(count) => some(count).map(|count| Remark::LaterLiveRuns { count }),
        },
        match runs.unfinished {
            None => Some(Remark::UnfinishedUnknown { known }),
            Some(count) => some(count).map(|count| Remark::UnfinishedRuns { count }),
        },
        lost_usd(record).map(|usd| Remark::LostAgents { usd }),
        continued(evidence).map(|record| Remark::Continued { record }),
        (!evidence.was_seen_before).then_some(Remark::NotSeenBefore),
        (!weaknesses.is_empty()).then_some(Remark::WeakerConfinement { weaknesses }),
        (!evidence.signature.is_trusted()).then_some(Remark::Unsigned),
        (evidence.is_anchored == Some(false)).then_some(Remark::NotAnchored),
        some(evidence.replay.other_fuel).map(|cases| Remark::OtherFuel { cases }),
        some(warnings).map(|count| Remark::Warnings { count }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The capped record that a part of the answers was taken from.
fn continued(evidence: &JudgedRecord) -> Option<RecordHash> {
    match &evidence.source {
        AnswerSource::Recorded(run) => run.continues,
        _ => evidence.record.continues,
    }
}

/// What a live run spent on agents that gave no answer: they were lost with the process that had started them, or stopped at the
/// cost cap of the run that it continues.
fn lost_usd(record: &RecordedRun) -> Option<Usd> {
    let answered: f64 = record.report.cases.iter().map(|case| case.score.numbers().cost_usd).sum();
    let lost = Usd::from_dollars(record.report.total_cost_usd - answered)?;
    (record.mode == Mode::Live && lost > Usd::ZERO).then_some(lost)
}
