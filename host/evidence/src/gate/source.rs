//! Where the answers of a record come from, as far as anybody can show it.
//!
//! A recorded answer is evidence only if one live record has exactly that answer for that case: the same output, or the same fault,
//! to the same input, at the same cost, of the same system under test. One record for all of them: answers picked from several runs
//! are the best of many. What a cassette says of its own origin, or of the input that it answers, is a hint and proves nothing.

use std::collections::BTreeSet;

use super::evidence::Body;
use crate::cassette::Provenance;
use crate::chain::{Link, StoreId};
use crate::record::{Mode, OutputKind, RecordedRun, RecordedScore, Sut};
use crate::verify::ObjectFacts;
use eval_model::confinement::Confinement;
use eval_model::ids::{CaseId, RecordHash};
use eval_model::report::CaseResult;

/// Where the answers of a record come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerSource {
    /// From a system under test, in this very run.
    Live,
    /// From the run of this live record.
    Recorded(Box<ProvenRun>),
    /// From cassettes that no live record at hand bears out. `claimed` is what they say of their origin, each run once.
    Unknown { claimed: Vec<Provenance> },
    /// Some are from a curator.
    SolvedExamples,
}

/// A live record that has the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenRun {
    pub store_id: StoreId,
    pub seq: u64,
    pub hash: RecordHash,
    /// Whether a trusted key signed it.
    pub is_signed: bool,
    /// How many of its shards were announced in other stores.
    pub shards_elsewhere: u64,
    /// How its agents were confined.
    pub confinement: Option<Confinement>,
    /// The capped record that a part of its answers is taken from.
    pub continues: Option<RecordHash>,
}

impl AnswerSource {
    /// `bodies` are where live records may be: the evidence itself, and what was handed over besides.
    pub(super) fn of(record: &RecordedRun, facts: &mut ObjectFacts<'_>, bodies: &[Body<'_>]) -> Self {
        if record.mode == Mode::Live {
            return Self::Live;
        }
        if record.output_kinds.contains(&OutputKind::SolvedExample) {
            return Self::SolvedExamples;
        }
        match bodies.iter().find_map(|body| proven_run(record, facts, body)) {
            Some(run) => Self::Recorded(Box::new(run)),
            None => Self::Unknown { claimed: claimed(record, facts) },
        }
    }
}

fn claimed(record: &RecordedRun, facts: &mut ObjectFacts<'_>) -> Vec<Provenance> {
    let mut runs: Vec<Provenance> = Vec::new();
    for digest in record.cassette_digest_set.values().copied().flatten() {
        let claimed = facts.cassette(digest).and_then(|cassette| cassette.provenance);
        let is_new = |claimed: &Provenance| runs.iter().all(|run| run.started_marker != claimed.started_marker);
        runs.extend(claimed.filter(is_new));
    }
    runs
}

/// The newest live record of a body of evidence that has every answer of a record.
fn proven_run(record: &RecordedRun, facts: &mut ObjectFacts<'_>, body: &Body<'_>) -> Option<ProvenRun> {
    let live = |link: &&Link| {
        link.position.task_class == record.task_class && body.verification.run(link).is_some_and(|run| run.is_live)
    };
    let mut links = body.verification.links.values().rev().filter(live);
    let mut there = ObjectFacts::new(body.evidence);
    let (link, live) = links.find_map(|link| {
        let live = body.evidence.verified_record(link)?;
        let is_it = has_answers(&live, record) && has_inputs(&live, &mut there, record, facts);
        is_it.then_some((link, live))
    })?;
    Some(ProvenRun {
        store_id: link.position.store_id,
        seq: link.position.seq,
        hash: link.hash,
        is_signed: body.verification.signature(link).is_trusted(),
        shards_elsewhere: live.shards_elsewhere,
        confinement: live.confinement,
        continues: live.continues,
    })
}

/// Whether a live record has the answers of another.
fn has_answers(live: &RecordedRun, record: &RecordedRun) -> bool {
    let names = |record: &RecordedRun| record.suts.iter().map(Sut::to_name).collect::<BTreeSet<_>>();
    let is_same_sut = names(record) == names(live);
    let output = |record: &RecordedRun, case: &CaseResult<RecordedScore>| {
        record.output_digest_set.get(&case.case_id).copied().flatten()
    };
    // The cases of a record are sorted by their ids.
    let answered = |id: &CaseId| live.report.cases.binary_search_by(|other| other.case_id.cmp(id)).ok();
    let is_same = |case: &CaseResult<RecordedScore>| {
        answered(&case.case_id).map(|index| &live.report.cases[index]).is_some_and(|other| {
            let same_output = output(live, other) == output(record, case);
            same_output && same_meter(other, case) && (output(record, case).is_some() || same_fault(other, case))
        })
    };
    is_same_sut && record.report.cases.iter().all(is_same)
}

/// Whether a live record's agent was asked what the answers of another are to.
fn has_inputs(
    live: &RecordedRun,
    there: &mut ObjectFacts<'_>,
    record: &RecordedRun,
    here: &mut ObjectFacts<'_>,
) -> bool {
    let input = |facts: &mut ObjectFacts<'_>, record: &RecordedRun, case: &CaseId| {
        let digest = record.case_digest_set.get(case)?;
        facts.manifest(*digest).map(|manifest| manifest.input_digest)
    };
    record.case_digest_set.keys().all(|case| {
        let asked = input(there, live, case);
        asked.is_some() && asked == input(here, record, case)
    })
}

fn same_meter(one: &CaseResult<RecordedScore>, other: &CaseResult<RecordedScore>) -> bool {
    let meter = |case: &CaseResult<RecordedScore>| {
        let score = case.score.fields();
        (score.cost_usd.to_bits(), score.duration_seconds.to_bits())
    };
    meter(one) == meter(other)
}

/// Without an output, the answer is the fault.
fn same_fault(one: &CaseResult<RecordedScore>, other: &CaseResult<RecordedScore>) -> bool {
    one.outcome == other.outcome && one.score.fields().failure_modes == other.score.fields().failure_modes
}
