//! The line of `promote-verdict`.

use serde::Serialize;

use super::{LINES_VERSION, Line};
use eval_evidence::anchor::{NoteVerifier, RecordSignature};
use eval_evidence::chain::StoreId;
use eval_evidence::gate::{
    BenchCommit, BenchRead, Figures, LiveRuns, PromotionVerdict, ProvenRun, RecordRead, ReplayResult,
};
use eval_evidence::record::Sut;
use eval_model::confinement::Confinement;
use eval_model::ids::{Digest, RecordHash, RunId, TaskClassName, Tier};
use eval_model::report::PromotionMetric;

#[derive(Serialize)]
pub(crate) struct VerdictLine<'a> {
    pub(super) schema_version: u32,
    pub(super) task_class: &'a TaskClassName,
    pub(super) current_tier: Tier,
    pub(super) target_tier: Tier,
    pub(super) evidence_sufficient: bool,
    pub(super) reasons: Vec<CodeLine>,
    pub(super) remarks: Vec<CodeLine>,
    pub(super) figures: FiguresLine,
    pub(super) record: RecordLine<'a>,
    pub(super) bench: BenchLine,
    pub(super) agent: Option<&'a Sut>,
    pub(super) confinement: Option<&'a Confinement>,
    pub(super) signature: SignatureLine<'a>,
    pub(super) provenance: Option<ProvenanceLine>,
    pub(super) live_runs: LiveRunsLine,
    pub(super) replay: VerdictReplayLine<'a>,
}

impl<'a> From<&'a PromotionVerdict> for Line<'a> {
    fn from(verdict: &'a PromotionVerdict) -> Self {
        let reason = |(code, message)| CodeLine { code, message };
        let reasons = verdict.reasons.iter().map(|reason| (reason.code(), reason.to_string()));
        let remarks = verdict.remarks.iter().map(|remark| (remark.code(), remark.to_string()));
        Self::Verdict(Box::new(VerdictLine {
            schema_version: LINES_VERSION,
            task_class: &verdict.task_class,
            current_tier: verdict.current_tier,
            target_tier: verdict.target_tier,
            evidence_sufficient: verdict.evidence_sufficient(),
            reasons: reasons.map(reason).collect(),
            remarks: remarks.map(reason).collect(),
            figures: (&verdict.figures).into(),
            record: (&verdict.record).into(),
            bench: (&verdict.bench).into(),
            agent: verdict.agent.as_ref(),
            confinement: verdict.confinement.as_ref(),
            signature: (&verdict.signature).into(),
            provenance: verdict.provenance.as_ref().map(ProvenanceLine::from),
            live_runs: verdict.live_runs.into(),
            replay: (&verdict.replay).into(),
        }))
    }
}

#[derive(Serialize)]
pub(super) struct CodeLine {
    pub(super) code: &'static str,
    pub(super) message: String,
}

#[derive(Serialize)]
pub(super) struct BenchLine {
    pub(super) commit_at_run: Option<String>,
    pub(super) dirty_at_run: Option<bool>,
    pub(super) commit_now: Option<String>,
    pub(super) dirty_now: Option<bool>,
    pub(super) registration_digest_at_run: Digest,
    pub(super) registration_digest_now: Digest,
    pub(super) case_set_digest_at_run: Digest,
    pub(super) case_set_digest_now: Digest,
}

impl From<&BenchRead> for BenchLine {
    fn from(bench: &BenchRead) -> Self {
        let commit = |commit: &Option<BenchCommit>| commit.as_ref().map(|commit| commit.commit.to_string());
        let is_dirty = |commit: &Option<BenchCommit>| commit.as_ref().map(|commit| commit.is_dirty);
        Self {
            commit_at_run: commit(&bench.commit_at_run),
            dirty_at_run: is_dirty(&bench.commit_at_run),
            commit_now: commit(&bench.commit_now),
            dirty_now: is_dirty(&bench.commit_now),
            registration_digest_at_run: bench.registration_digest_at_run,
            registration_digest_now: bench.registration_digest_now,
            case_set_digest_at_run: bench.case_set_digest_at_run,
            case_set_digest_now: bench.case_set_digest_now,
        }
    }
}

#[derive(Serialize)]
pub(super) struct SignatureLine<'a> {
    pub(super) state: &'static str,
    pub(super) key: Option<&'a str>,
    pub(super) verifier: Option<String>,
}

impl<'a> From<&'a RecordSignature> for SignatureLine<'a> {
    fn from(signature: &'a RecordSignature) -> Self {
        let known =
            |state, key: &'a NoteVerifier| Self { state, key: Some(key.name()), verifier: Some(key.to_string()) };
        match signature {
            RecordSignature::None => Self { state: "none", key: None, verifier: None },
            RecordSignature::UnknownKey { name } => Self { state: "unknown_key", key: Some(name), verifier: None },
            RecordSignature::RetiredKey { key } => known("retired_key", key),
            RecordSignature::Trusted { key } => known("trusted", key),
        }
    }
}

#[derive(Serialize)]
pub(super) struct ProvenanceLine {
    pub(super) store_id: StoreId,
    pub(super) seq: u64,
    pub(super) hash: RecordHash,
    pub(super) signed: bool,
}

impl From<&ProvenRun> for ProvenanceLine {
    fn from(run: &ProvenRun) -> Self {
        Self { store_id: run.store_id, seq: run.seq, hash: run.hash, signed: run.is_signed }
    }
}

#[derive(Serialize)]
pub(super) struct LiveRunsLine {
    pub(super) earlier: u64,
    pub(super) later: Option<u64>,
    pub(super) unfinished: Option<u64>,
}

impl From<LiveRuns> for LiveRunsLine {
    fn from(LiveRuns { earlier, later, unfinished, .. }: LiveRuns) -> Self {
        Self { earlier, later, unfinished }
    }
}

#[derive(Serialize)]
pub(super) struct VerdictReplayLine<'a> {
    pub(super) state: &'static str,
    pub(super) replayed: u64,
    pub(super) nothing_to_replay: u64,
    pub(super) other_fuel: u64,
    pub(super) compiled: &'static str,
    pub(super) findings: &'a [String],
}

impl<'a> From<&'a ReplayResult> for VerdictReplayLine<'a> {
    fn from(replay: &'a ReplayResult) -> Self {
        Self {
            state: replay.state.as_str(),
            replayed: replay.replayed,
            nothing_to_replay: replay.nothing_to_replay,
            other_fuel: replay.other_fuel,
            compiled: replay.compiled.as_str(),
            findings: &replay.findings,
        }
    }
}

#[derive(Serialize)]
pub(super) struct FiguresLine {
    pub(super) metric: PromotionMetric,
    pub(super) value: f64,
    pub(super) threshold: Option<f64>,
    pub(super) mean_score: f64,
    pub(super) lower_bound_95: f64,
    pub(super) attempted: u64,
    pub(super) passed_count: u64,
    pub(super) passed_needed: Option<u64>,
}

impl From<&Figures> for FiguresLine {
    fn from(figures: &Figures) -> Self {
        Self {
            metric: figures.metric,
            value: figures.value,
            threshold: figures.threshold,
            mean_score: figures.mean_score,
            lower_bound_95: figures.lower_bound_95,
            attempted: figures.attempted,
            passed_count: figures.passed_count,
            passed_needed: figures.passed_needed,
        }
    }
}

#[derive(Serialize)]
pub(super) struct RecordLine<'a> {
    pub(super) file: &'a str,
    pub(super) seq: u64,
    pub(super) hash: RecordHash,
    pub(super) run_id: RunId,
    pub(super) rubric_digest: Digest,
}

impl<'a> From<&'a RecordRead> for RecordLine<'a> {
    fn from(record: &'a RecordRead) -> Self {
        Self {
            file: &record.file,
            seq: record.seq,
            hash: record.hash,
            run_id: record.run_id,
            rubric_digest: record.rubric_digest,
        }
    }
}
