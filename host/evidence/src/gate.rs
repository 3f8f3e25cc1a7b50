//! The gate: whether the newest evidence is enough for the next tier. A pure function, and nobody's permission.
//!
//! Evidence counts for the bench as it is now: another rubric or other cases than it has are another bench's evidence, and what
//! blocks a promotion is what the registration says now. A verdict is read by a human, who changes the tier in a reviewed pull
//! request. Nothing in this program can do that: [`apply`] always fails, and says which line of which file a human edits.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::chain::Link;
use crate::record::{OutputKind, RecordedRun, Sut};
use crate::verify::{State, Verification};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{CaseId, Digest, RecordHash, RunId, TaskClassName, Tier};
use eval_model::report::{PromotionMetric, Selection};
use eval_model::text::Words;

/// What a registration asks of evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Standards {
    pub promotion_metric: PromotionMetric,
    pub min_cases_for_promotion: BTreeMap<Tier, u64>,
    pub tier_thresholds: BTreeMap<Tier, f64>,
    /// The failure modes of block severity.
    pub block_modes: BTreeSet<String>,
}

/// What a record must be about to count: the bench as it is now.
#[derive(Debug, Clone)]
pub struct BenchNow<'a> {
    pub task_class: TaskClassName,
    pub current_tier: Tier,
    pub standards: &'a Standards,
    pub rubric_digest: Digest,
    /// Every case; `None` for one that does not load.
    pub cases: BTreeMap<CaseId, Option<Digest>>,
}

/// The newest record of a task class, from a store that was verified and found in order.
#[derive(Debug, Clone)]
pub struct VerifiedRecord {
    link: Link,
    record: RecordedRun,
    unfinished_runs: u64,
}

/// Why there is no evidence to judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoEvidence {
    #[error(
        "the evidence is {0}, and nothing is promoted on anything but OK; run `eval-host verify` to see what is wrong"
    )]
    NotOk(State),
    #[error("there is no record of `{0}`; run `eval-host run --task-class={0}` first")]
    NoRecord(TaskClassName),
    #[error("the newest record of `{0}` is not the one that was verified; run the command again")]
    Changed(TaskClassName),
}

impl Advice for NoEvidence {
    fn exit(&self) -> Exit {
        match self {
            Self::NoRecord(_) => Exit::AnswerIsNo,
            _ => Exit::EvidenceBroken,
        }
    }
}

impl VerifiedRecord {
    /// `read` gives the record that was verified at a place.
    pub fn newest(
        verification: &Verification,
        task_class: &TaskClassName,
        read: impl FnOnce(&Link) -> Option<RecordedRun>,
    ) -> Result<Self, NoEvidence> {
        match verification.state() {
            State::Ok => {}
            state => return Err(NoEvidence::NotOk(state)),
        }
        let newest = verification.heads().get(task_class);
        let link = newest.and_then(|head| verification.links.get(&(task_class.clone(), head.seq)));
        let link = link.ok_or_else(|| NoEvidence::NoRecord(task_class.clone()))?;
        let record = read(link).filter(|record| record.position() == link.position);
        let unfinished = verification.unfinished.iter().filter(|started| &started.marker.task_class == task_class);
        Ok(Self {
            link: link.clone(),
            record: record.ok_or_else(|| NoEvidence::Changed(task_class.clone()))?,
            unfinished_runs: unfinished.count() as u64,
        })
    }
}

/// One condition that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    NotTheNextTier { current: Tier, target: Tier },
    NoThreshold { target: Tier },
    BelowThreshold { metric: PromotionMetric, value: f64, threshold: f64 },
    TooFewPassed { passed: u64, needed: u64 },
    BlockSeverity { modes: BTreeSet<String> },
    OtherRubric { recorded: Digest, now: Digest },
    OtherCases { changed: BTreeSet<CaseId> },
    NotEveryCase { missing: BTreeSet<CaseId> },
    CasesSelected { selection: Selection },
    SolvedExamples,
    SeveralSystems { suts: BTreeSet<Sut> },
    NoSystem,
    Aborted,
    LoadErrors { count: u64 },
}

impl Reason {
    /// The name by which programs know the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotTheNextTier { .. } => "not_the_next_tier",
            Self::NoThreshold { .. } => "no_threshold",
            Self::BelowThreshold { .. } => "below_threshold",
            Self::TooFewPassed { .. } => "too_few_passed",
            Self::BlockSeverity { .. } => "block_severity_failure_modes",
            Self::OtherRubric { .. } => "other_rubric",
            Self::OtherCases { .. } => "other_cases",
            Self::NotEveryCase { .. } => "not_every_case",
            Self::CasesSelected { .. } => "cases_selected",
            Self::SolvedExamples => "solved_examples",
            Self::SeveralSystems { .. } => "several_systems_under_test",
            Self::NoSystem => "no_system_under_test",
            Self::Aborted => "aborted",
            Self::LoadErrors { .. } => "load_errors",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTheNextTier { current, target } => match current.next() {
                Some(next) => write!(f, "{target} is not the tier right above {current}, which is {next}"),
                None => write!(f, "{current} is the highest tier there is, and {target} is not above it"),
            },
            Self::NoThreshold { target } => write!(f, "registration.toml sets no threshold for {target}"),
            Self::BelowThreshold { metric, value, threshold } => {
                write!(f, "{} is {value}, below the threshold of {threshold}", metric.name())
            }
            Self::TooFewPassed { passed, needed } => write!(f, "{passed} cases passed, and {needed} are needed"),
            Self::BlockSeverity { modes } => write!(f, "failure modes of block severity occurred: {}", list(modes)),
            Self::OtherRubric { recorded, now } => {
                write!(f, "the scores are of the rubric `{recorded}`, and the bench has `{now}` now: run it again")
            }
            Self::OtherCases { changed } => {
                write!(f, "cases were changed or removed since they were run, or do not load now: {}", list(changed))
            }
            Self::NotEveryCase { missing } => write!(f, "cases of the bench were not run: {}", list(missing)),
            Self::CasesSelected { selection } => {
                write!(f, "{} of the bench's {} cases were selected", selection.selected, selection.cases_in_bench)
            }
            Self::SolvedExamples => f.write_str("outputs are solved examples: an answer key, not evidence"),
            Self::SeveralSystems { suts } => {
                let names: Vec<_> =
                    suts.iter().map(|sut| format!("{} {}", Words(&sut.name), Words(&sut.version))).collect();
                write!(f, "outputs are of several systems under test: {}", list(&names))
            }
            Self::NoSystem => f.write_str("no output is of a system under test"),
            Self::Aborted => f.write_str("the run was aborted"),
            Self::LoadErrors { count } => write!(f, "{count} cases did not load"),
        }
    }
}

fn list(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    items.into_iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

/// What the gate says about one task class.
#[derive(Debug, Clone, PartialEq)]
pub struct PromotionVerdict {
    pub task_class: TaskClassName,
    pub current_tier: Tier,
    pub target_tier: Tier,
    /// Every condition that does not hold. The evidence is sufficient when there is none.
    pub reasons: Vec<Reason>,
    pub figures: Figures,
    pub record: RecordRead,
    pub unfinished_runs: u64,
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

impl PromotionVerdict {
    pub fn evidence_sufficient(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Judges the newest evidence.
pub fn judge(bench: &BenchNow<'_>, target_tier: Tier, evidence: &VerifiedRecord) -> PromotionVerdict {
    let standards = bench.standards;
    let report = &evidence.record.report;
    let figures = Figures {
        metric: standards.promotion_metric,
        value: standards.promotion_metric.of(report),
        threshold: standards.tier_thresholds.get(&target_tier).copied(),
        mean_score: report.mean_score,
        lower_bound_95: report.lower_bound_95,
        attempted: report.attempted,
        passed_count: report.passed_count,
        passed_needed: standards.min_cases_for_promotion.get(&target_tier).copied(),
    };
    // Under the registration as it is now: the one that the run was made with may have blocked nothing.
    let block_modes = evidence.record.block_severity_modes(&standards.block_modes);
    let mut reasons = score_reasons(bench.current_tier, target_tier, &figures, &block_modes);
    reasons.extend(bench_reasons(&evidence.record, bench));
    reasons.extend(wholeness_reasons(&evidence.record));
    PromotionVerdict {
        task_class: bench.task_class.clone(),
        current_tier: bench.current_tier,
        target_tier,
        reasons,
        figures,
        record: RecordRead {
            file: evidence.link.file_name().as_str().to_owned(),
            seq: evidence.link.position.seq,
            hash: evidence.link.hash,
            run_id: evidence.record.run_id,
            rubric_digest: evidence.record.rubric_digest,
        },
        unfinished_runs: evidence.unfinished_runs,
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

/// Whether the evidence is of this bench: its rubric, and each of its cases.
fn bench_reasons(record: &RecordedRun, bench: &BenchNow<'_>) -> Vec<Reason> {
    let (recorded, now) = (record.rubric_digest, bench.rubric_digest);
    let is_missing = |case: &&CaseId| !record.case_digest_set.contains_key(*case);
    let missing: BTreeSet<_> = bench.cases.keys().filter(is_missing).cloned().collect();
    let is_other = |(case, digest): &(&CaseId, &Digest)| bench.cases.get(*case) != Some(&Some(**digest));
    let changed: BTreeSet<_> = record.case_digest_set.iter().filter(is_other).map(|(case, _)| case.clone()).collect();
    [
        (recorded != now).then_some(Reason::OtherRubric { recorded, now }),
        (!changed.is_empty()).then_some(Reason::OtherCases { changed }),
        (!missing.is_empty()).then_some(Reason::NotEveryCase { missing }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether the evidence is whole: all that was selected, and of one system under test.
fn wholeness_reasons(record: &RecordedRun) -> Vec<Reason> {
    let report = &record.report;
    let selection = &report.selection;
    let partial = selection.selected < selection.cases_in_bench;
    let count = report.load_errors.len() as u64;
    [
        partial.then(|| Reason::CasesSelected { selection: selection.clone() }),
        record.output_kinds.contains(&OutputKind::SolvedExample).then_some(Reason::SolvedExamples),
        (record.suts.len() > 1).then(|| Reason::SeveralSystems { suts: record.suts.clone() }),
        record.suts.is_empty().then_some(Reason::NoSystem),
        report.aborted.then_some(Reason::Aborted),
        report.had_load_errors.then_some(Reason::LoadErrors { count }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Why a tier was not changed: it never is, by a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "PromotionMustBeHumanAuthorized: a tier is changed by a human, in a reviewed pull request: edit line {line} of `{}`, \
     `{text}`, to say `current_tier = \"{target}\"`",
    file.display()
)]
pub struct PromotionMustBeHumanAuthorized {
    pub file: PathBuf,
    /// 1 for the first line.
    pub line: usize,
    text: String,
    target: Tier,
}

impl Advice for PromotionMustBeHumanAuthorized {
    fn exit(&self) -> Exit {
        Exit::AnswerIsNo
    }

    fn hint(&self) -> Option<String> {
        Some("`eval-host promote-verdict` prints what to attach to the pull request".to_owned())
    }
}

/// Does not change the tier, whatever the evidence: it only says where a human does. `registration` is the content of `file`.
pub fn apply(target: Tier, file: &Path, registration: &str) -> Result<Infallible, PromotionMustBeHumanAuthorized> {
    let is_tier = |(_, line): &(usize, &str)| {
        line.trim_start().strip_prefix("current_tier").is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let (index, text) = registration.lines().enumerate().find(is_tier).unwrap_or((0, ""));
    Err(PromotionMustBeHumanAuthorized { file: file.to_owned(), line: index + 1, text: text.trim().to_owned(), target })
}

#[cfg(test)]
mod tests;
