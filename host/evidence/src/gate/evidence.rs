//! The evidence that is judged: which record, what a replay of it gives, where its answers are from, and what its chain says
//! besides. Nothing is decided here.

use std::collections::BTreeSet;

use super::source::AnswerSource;
use super::verdict::{LiveRuns, ReplayResult};
use crate::anchor::RecordSignature;
use crate::chain::Link;
use crate::record::RecordedRun;
use crate::store::Evidence;
use crate::verify::{Finding, ObjectFacts, ReplaySettings, State, Verification, replay_record};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{CaseId, RecordHash, TaskClassName};

/// A body of evidence and what a verification of it found: a store, or a bundle.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "evidence is a trait object, which has nothing to show")]
pub struct Body<'a> {
    pub evidence: &'a dyn Evidence,
    pub verification: &'a Verification,
}

/// The record that is judged, from evidence that was verified and found in order, with all that the gate asks about it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRecord {
    pub(super) link: Link,
    pub(super) record: RecordedRun,
    pub(super) source: AnswerSource,
    pub(super) signature: RecordSignature,
    /// Cases whose cassette was made for other input than the case has.
    pub(super) stale: BTreeSet<CaseId>,
    pub(super) replay: ReplayResult,
    pub(super) live_runs: LiveRuns,
    /// Whether this machine had seen the store before, so that a lost tail would have been noticed.
    pub(super) was_seen_before: bool,
    /// Whether a checkpoint that it was compared with has it; `None` when it was compared with none.
    pub(super) is_anchored: Option<bool>,
}

/// Why there is no evidence to judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEvidence {
    #[error("the evidence is {0}, and nothing is promoted on anything but OK")]
    NotOk(State),
    #[error(
        "the bundle with the answers' provenance is {0}, and nothing is proved by anything but OK; run `eval-host verify` on it"
    )]
    ProvenanceNotOk(State),
    #[error("there is no record of `{0}`; run `eval-host run --task-class={0}` first")]
    NoRecord(TaskClassName),
    #[error("the record is of the task class `{found}`, and `{asked}` was asked about")]
    OtherClass { asked: TaskClassName, found: TaskClassName },
    #[error("the record of `{0}` is not the one that was verified; run the command again")]
    Changed(TaskClassName),
}

impl Advice for NoEvidence {
    fn exit(&self) -> Exit {
        match self {
            Self::NoRecord(_) => Exit::AnswerIsNo,
            Self::OtherClass { .. } => Exit::UsageOrCap,
            _ => Exit::EvidenceBroken,
        }
    }
}

/// Gathers what the gate judges. Without a `wanted` record it is the newest live or recorded one that selects the whole bench; where
/// there is none, the newest one, so that its reasons say what is missing. `provenance` is what was handed over to prove where
/// recorded answers come from.
pub fn gather(
    body: Body<'_>,
    task_class: &TaskClassName,
    wanted: Option<&Link>,
    provenance: &[Body<'_>],
    settings: ReplaySettings<'_>,
) -> Result<JudgedRecord, NoEvidence> {
    require_ok(body, NoEvidence::NotOk)?;
    provenance.iter().try_for_each(|body| require_ok(*body, NoEvidence::ProvenanceNotOk))?;
    let verification = body.verification;
    let link = match wanted {
        Some(link) if link.position.task_class != *task_class => {
            let (asked, found) = (task_class.clone(), link.position.task_class.clone());
            return Err(NoEvidence::OtherClass { asked, found });
        }
        Some(link) => link,
        None => default_record(body, task_class).ok_or_else(|| NoEvidence::NoRecord(task_class.clone()))?,
    };
    let record = body.evidence.verified_record(link).ok_or_else(|| NoEvidence::Changed(task_class.clone()))?;
    let mut facts = ObjectFacts::new(body.evidence);
    let bodies = [&[body], provenance].concat();
    let source = AnswerSource::of(&record, &mut facts, &bodies);
    let replayed = replay_record(body.evidence, verification, settings, link);
    Ok(JudgedRecord {
        signature: verification.signature(link).clone(),
        stale: stale(&record, &mut facts),
        replay: ReplayResult {
            replayed: replayed.replayed,
            nothing_to_replay: replayed.nothing_to_replay,
            other_fuel: replayed.other_fuel,
            compiled: settings.compiled,
            state: replayed.findings.iter().map(Finding::state).max().unwrap_or(State::Ok),
            findings: replayed.findings.iter().map(ToString::to_string).collect(),
        },
        live_runs: live_runs(&bodies, link, &source),
        was_seen_before: verification.was_seen_before(),
        is_anchored: verification.is_anchored(&link.position.task_class, link.position.seq),
        link: link.clone(),
        record,
        source,
    })
}

fn require_ok(body: Body<'_>, not_ok: fn(State) -> NoEvidence) -> Result<(), NoEvidence> {
    match body.verification.state() {
        State::Ok => Ok(()),
        state => Err(not_ok(state)),
    }
}

/// The newest live or recorded record over the whole bench. A replay of a live run stands in its place and no later, so that nobody
/// hides a bad run behind a free replay of an older one.
fn default_record<'a>(body: Body<'a>, task_class: &TaskClassName) -> Option<&'a Link> {
    let Body { evidence, verification } = body;
    let of_class = || verification.links.values().rev().filter(|link| link.position.task_class == *task_class);
    let run = |link: &Link| verification.run(link).copied();
    let is_evidence = |link: &&Link| run(link).is_some_and(|run| run.is_whole && !run.has_solved_examples);
    let Some(newest) = of_class().find(is_evidence) else { return of_class().next() };
    let newest_live = of_class().filter(is_evidence).find(|link| run(link).is_some_and(|run| run.is_live));
    let Some(live) = newest_live.filter(|live| live.hash != newest.hash) else { return Some(newest) };
    let replayed = evidence.verified_record(newest)?;
    let source = AnswerSource::of(&replayed, &mut ObjectFacts::new(evidence), &[body]);
    let is_of_it = matches!(source, AnswerSource::Recorded(run) if run.hash == live.hash);
    Some(if is_of_it { newest } else { live })
}

/// The cases whose recorded answers are to other input.
fn stale(record: &RecordedRun, facts: &mut ObjectFacts<'_>) -> BTreeSet<CaseId> {
    let mut is_stale = |case: &CaseId, cassette| {
        let made_for = facts.cassette(cassette).map(|cassette| cassette.input_digest);
        let input = facts.manifest(record.case_digest_set[case]).map(|manifest| manifest.input_digest);
        // What is left out of a bundle says nothing.
        made_for.zip(input).is_some_and(|(made_for, input)| made_for != input)
    };
    let cassettes = record.cassette_digest_set.iter().filter_map(|(case, digest)| Some((case, (*digest)?)));
    cassettes.filter(|(case, cassette)| is_stale(case, *cassette)).map(|(case, _)| case.clone()).collect()
}

/// The other live runs of the class: nobody can report only the best of ten. The run that the answers are from is not another, and
/// earlier and later are before and after it, wherever it is.
fn live_runs(bodies: &[Body<'_>], judged: &Link, source: &AnswerSource) -> LiveRuns {
    let source = match source {
        AnswerSource::Recorded(run) => Some(run),
        _ => None,
    };
    let holds = |body: &Body<'_>, hash: RecordHash| body.verification.links.values().any(|link| link.hash == hash);
    let mut runs = LiveRuns { earlier: 0, later: Some(0), unfinished: Some(0), unfinished_at_least: 0 };
    for (index, body) in bodies.iter().enumerate() {
        let place = match source.filter(|run| holds(body, run.hash)) {
            Some(run) => run.seq,
            None if index == 0 => judged.position.seq,
            // Handed over, and of no use.
            None => continue,
        };
        runs.add(body.verification, &judged.position.task_class, place, source.map(|run| run.hash));
    }
    runs
}
