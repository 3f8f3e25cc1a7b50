//! A capped live run, as the run that continues it sees it: what its record and its objects say of the cases that were answered.
//!
//! It turns evidence into answers, and never asks an agent or the clock. An answer is taken whole or not at all: its output, its
//! meter, its budget and what its agent said must be those of the record, because the record that continues it is held to them.

use std::collections::{BTreeMap, BTreeSet};

use eval_evidence::record::{RecordedRun, RecordedScore, Sut};
use eval_evidence::store::{Evidence, ReadObjectError};
use eval_model::advice::{Advice, Exit};
use eval_model::contract::{CapturedStream, Meter};
use eval_model::ids::{CaseId, Digest};
use eval_model::judge::stream_of_object;
use eval_model::money::Usd;
use eval_model::outcome::{NoOutput, OutcomeClass};
use eval_model::report::CaseResult;

use super::cost::Budget;
use crate::answers::{AgentClaim, Answer, ObtainedAnswer};

/// Why the answer to a case cannot be taken from a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    #[error("the answer to case `{case_id}` cannot be read from the store")]
    Object {
        case_id: CaseId,
        #[source]
        source: ReadObjectError,
    },
    #[error("{what} of case `{case_id}` is not one that a live run of this program keeps")]
    Unreadable { case_id: CaseId, what: &'static str },
}

impl Advice for TakeError {
    fn exit(&self) -> Exit {
        match self {
            Self::Object { .. } => Exit::EvidenceBroken,
            Self::Unreadable { .. } => Exit::UsageOrCap,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Object { .. } => Some("`eval-host verify` says what is wrong".to_owned()),
            Self::Unreadable { .. } => Some("leave out --continue to start another run".to_owned()),
        }
    }
}

/// What a capped live run leaves to the one that continues it.
#[derive(Debug)]
pub(crate) struct Continued {
    answers: BTreeMap<CaseId, ObtainedAnswer>,
    outcomes: BTreeMap<CaseId, OutcomeClass>,
    /// Every case of the record, answered or not.
    case_digests: BTreeMap<CaseId, Digest>,
    /// What each answer cost.
    charged: Vec<Usd>,
    lost: Usd,
    skipped: u64,
    warnings: Vec<String>,
    shards_elsewhere: u64,
    suts: BTreeSet<Sut>,
}

impl Continued {
    /// Takes every answer of a live record, which must be one that was verified, out of the store that it is in.
    pub(crate) fn take(record: &RecordedRun, store: &dyn Evidence) -> Result<Self, TakeError> {
        let (answered, skipped): (Vec<_>, Vec<_>) =
            record.report.cases.iter().partition(|case| case.outcome != OutcomeClass::Skipped);
        let answers = answered.iter().map(|case| Ok((case.case_id.clone(), take(record, case, store)?)));
        let stopped = skipped.into_iter().filter(|case| cost(case) > Usd::ZERO);
        let warnings = record.report.warnings.iter().cloned().chain(stopped.map(told_stopped));
        Ok(Self {
            answers: answers.collect::<Result<_, TakeError>>()?,
            outcomes: answered.iter().map(|case| (case.case_id.clone(), case.outcome)).collect(),
            case_digests: record.case_digest_set.clone().into_iter().collect(),
            charged: answered.iter().map(|case| cost(case)).collect(),
            lost: lost(record),
            skipped: record.report.skipped,
            warnings: warnings.collect(),
            shards_elsewhere: record.shards_elsewhere,
            suts: record.suts.clone(),
        })
    }

    /// The answer to a case, if it was answered. An agent's fault is an answer too.
    pub(crate) fn answer(&self, case_id: &CaseId) -> Option<&ObtainedAnswer> {
        self.answers.get(case_id)
    }

    /// How an answered case ended.
    pub(crate) fn outcome(&self, case_id: &CaseId) -> Option<OutcomeClass> {
        self.outcomes.get(case_id).copied()
    }

    /// A case of the record as it was.
    pub(crate) fn case_digest(&self, case_id: &CaseId) -> Option<&Digest> {
        self.case_digests.get(case_id)
    }

    /// Counts what was spent, so that the cap holds for both runs together.
    pub(crate) fn count_into(&self, budget: &mut Budget) {
        self.charged.iter().for_each(|charged| budget.already_spent(*charged));
        budget.lost(self.lost);
    }

    /// What was charged for agents that gave no answer: they were lost with their process, or stopped at the cap.
    pub(crate) fn lost(&self) -> Usd {
        self.lost
    }

    /// All that was spent.
    pub(crate) fn spent(&self) -> Usd {
        self.charged.iter().fold(self.lost, |sum, charged| sum.saturating_add(*charged))
    }

    /// How many cases are left to answer.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What the record must say of how its answers were come by.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Who answered.
    pub(crate) fn suts(&self) -> &BTreeSet<Sut> {
        &self.suts
    }

    /// How many shards that the answers are from were announced in other stores.
    pub(crate) fn shards_elsewhere(&self) -> u64 {
        self.shards_elsewhere
    }
}

fn cost(case: &CaseResult<RecordedScore>) -> Usd {
    Usd::from_dollars(case.score.numbers().cost_usd).unwrap_or(Usd::ZERO)
}

/// The cost of cases that were stopped without an answer, and what the whole cost besides its cases.
fn lost(record: &RecordedRun) -> Usd {
    let cases = &record.report.cases;
    let sum = cases.iter().map(|case| case.score.numbers().cost_usd).sum::<f64>();
    let stopped = cases.iter().filter(|case| case.outcome == OutcomeClass::Skipped).map(cost);
    stopped.fold(Usd::nearest(record.report.total_cost_usd - sum), Usd::saturating_add)
}

fn told_stopped(case: &CaseResult<RecordedScore>) -> String {
    let CaseResult { case_id, .. } = case;
    format!(
        "{case_id}: an earlier agent was started for it and stopped when the cost cap was reached, so it was started 2 times at least"
    )
}

fn take(
    record: &RecordedRun,
    case: &CaseResult<RecordedScore>,
    store: &dyn Evidence,
) -> Result<ObtainedAnswer, TakeError> {
    let case_id = || case.case_id.clone();
    let unreadable = |what| TakeError::Unreadable { case_id: case_id(), what };
    let object = |digest| store.object(digest).map_err(|source| TakeError::Object { case_id: case_id(), source });
    let score = case.score.fields();
    let output = match record.output_digest_set.get(&case.case_id).copied().flatten() {
        Some(digest) => Ok(String::from_utf8(object(digest)?).map_err(|_| unreadable("the output"))?),
        None => {
            let reason = score.failure_modes.first().and_then(|mode| NoOutput::of_mode(mode));
            Err(reason.ok_or_else(|| unreadable("the fault"))?)
        }
    };
    let stderr = match case.agent_log_digest {
        Some(digest) => stream_of_object("stderr", &object(digest)?).ok_or_else(|| unreadable("the agent's log"))?,
        None => CapturedStream::default(),
    };
    let answer = Answer {
        output,
        meter: Meter { cost_usd: score.cost_usd, duration_seconds: score.duration_seconds },
        cost_is_estimate: case.cost_is_estimate,
        budget_usd: record.budget_usd_set.get(&case.case_id).copied().flatten(),
        // Where the record names several, it does not say which of them it was; the record that continues it names them all.
        agent: record.suts.first().and_then(AgentClaim::of_sut),
        stderr,
    };
    // What there was to warn of is in the record's own warnings.
    Ok(ObtainedAnswer { answer, cassette: None, warnings: Vec::new() })
}
