//! What a bench asks of evidence, and what the evidence must be about: the bench as it is now.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::record::GitCommit;
use eval_model::ids::{CaseId, Digest, TaskClassName, Tier};
use eval_model::limits::RawLimits;
use eval_model::report::PromotionMetric;

/// What a registration asks of evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Standards {
    pub promotion_metric: PromotionMetric,
    pub min_cases_for_promotion: BTreeMap<Tier, u64>,
    pub tier_thresholds: BTreeMap<Tier, f64>,
    /// The failure modes of block severity.
    pub block_modes: BTreeSet<String>,
    /// Whether a trusted key must have signed the record.
    pub signed_records: bool,
}

/// The git commit that a bench is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchCommit {
    pub commit: GitCommit,
    /// Whether the bench's files differ from it.
    pub is_dirty: bool,
}

/// What a record must be about to count: the bench as it is now.
#[derive(Debug, Clone)]
pub struct BenchNow<'a> {
    pub task_class: TaskClassName,
    pub current_tier: Tier,
    pub standards: &'a Standards,
    pub rubric_digest: Digest,
    pub registration_digest: Digest,
    pub limits: RawLimits,
    /// `None` where the bench is in no git repository.
    pub commit: Option<BenchCommit>,
    /// A file that differs from the commit, where one does.
    pub differs_at: Option<String>,
    /// Folders among the cases whose names are no case's, so that no run ever counted them.
    pub no_cases: BTreeSet<String>,
    /// Every case; `None` for one that does not load.
    pub cases: BTreeMap<CaseId, Option<Digest>>,
}

/// One digest for a set of cases: the BLAKE3 of a line `<case id> <digest>` per case, sorted; a case that does not load has no
/// digest and leaves the line empty behind its name.
pub fn case_set_digest<'a>(cases: impl IntoIterator<Item = (&'a CaseId, Option<Digest>)>) -> Digest {
    let sorted: BTreeMap<_, _> = cases.into_iter().collect();
    let line = |(case, digest): (&CaseId, Option<Digest>)| {
        format!("{case} {}\n", digest.map(|digest| digest.to_string()).unwrap_or_default())
    };
    Digest::of(sorted.into_iter().map(line).collect::<String>().as_bytes())
}
