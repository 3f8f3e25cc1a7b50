//! What a report says, and how the cases of a run are folded into one.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::statistics::{exact_mean, lower_bound_95};
use crate::advice::Advice;
use crate::ids::{CaseId, Digest, RunId, TaskClassName};
use crate::outcome::{OutcomeClass, mode_name};
use crate::score::BenchScore;

/// Which figure of a report a threshold is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromotionMetric {
    MeanScore,
    #[serde(rename = "lower_bound_95")]
    LowerBound95,
}

impl PromotionMetric {
    pub const fn name(self) -> &'static str {
        match self {
            Self::MeanScore => "mean_score",
            Self::LowerBound95 => "lower_bound_95",
        }
    }

    /// The figure itself.
    pub const fn of<C>(self, report: &Report<C>) -> f64 {
        match self {
            Self::MeanScore => report.mean_score,
            Self::LowerBound95 => report.lower_bound_95,
        }
    }
}

/// What happened with one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseResult<S> {
    pub case_id: CaseId,
    pub outcome: OutcomeClass,
    pub score: S,
    /// Unknown when no rubric ran, or when the wall clock stopped it.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fuel_used: Option<u64>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub peak_memory_bytes: Option<u64>,
    /// The object with what the rubric wrote to stdout and stderr, if it wrote anything.
    #[serde(deserialize_with = "Option::deserialize")]
    pub logs_digest: Option<Digest>,
    /// The object with the end of what a live agent wrote to stderr, if it wrote anything.
    #[serde(deserialize_with = "Option::deserialize")]
    pub agent_log_digest: Option<Digest>,
    /// What the case cost is not known, and its reservation was charged instead.
    pub cost_is_estimate: bool,
}

/// Which cases of the bench were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The patterns as given; empty means every case.
    pub patterns: Vec<String>,
    /// How many case folders the bench has, loadable or not.
    pub cases_in_bench: u64,
    pub selected: u64,
}

/// A case that could not be loaded: left out of the run, and said so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadErrorEntry {
    /// The case's folder, relative to the bench root.
    pub folder: String,
    /// The field or file that is wrong.
    pub field: String,
    pub message: String,
}

impl fmt::Display for LoadErrorEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not load: {}: {}", self.folder, self.field, self.message)
    }
}

impl Error for LoadErrorEntry {}

impl Advice for LoadErrorEntry {}

/// What a run found, as facts. `C` are its cases, or nothing where only the figures are wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report<C> {
    pub cases: C,
    pub selection: Selection,
    /// `attempted + skipped` is the number of cases above; load errors are apart.
    pub attempted: u64,
    pub skipped: u64,
    pub outcomes: BTreeMap<OutcomeClass, u64>,
    pub passed_count: u64,
    /// The exactly rounded mean over the attempted cases, faults as 0.
    pub mean_score: f64,
    pub lower_bound_95: f64,
    /// What this run spent: 0 for cassettes.
    pub total_cost_usd: f64,
    /// What the cassettes cost when they were made.
    pub recorded_cost_usd: f64,
    /// The names of the block-severity modes that occurred, sorted.
    pub block_severity_failure_modes: BTreeSet<String>,
    /// Cases were left out because the cost cap was reached.
    pub aborted: bool,
    pub had_load_errors: bool,
    pub load_errors: Vec<LoadErrorEntry>,
    pub warnings: Vec<String>,
}

/// The figures of a report.
pub type Figures = Report<()>;

impl<C> Report<C> {
    /// The same without the cases, of which a run may have a hundred thousand.
    pub fn figures(&self) -> Figures {
        Report {
            cases: (),
            selection: self.selection.clone(),
            attempted: self.attempted,
            skipped: self.skipped,
            outcomes: self.outcomes.clone(),
            passed_count: self.passed_count,
            mean_score: self.mean_score,
            lower_bound_95: self.lower_bound_95,
            total_cost_usd: self.total_cost_usd,
            recorded_cost_usd: self.recorded_cost_usd,
            block_severity_failure_modes: self.block_severity_failure_modes.clone(),
            aborted: self.aborted,
            had_load_errors: self.had_load_errors,
            load_errors: self.load_errors.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

impl<S> Report<Vec<CaseResult<S>>> {
    /// How much of `total_cost_usd` nobody knows to have been spent: what was charged for cases whose cost is an estimate, and
    /// for agents that were lost. To the nano-dollar, which is what a budget counts in.
    pub fn estimated_cost_usd(&self, cost_of: impl Fn(&S) -> f64) -> f64 {
        let costs =
            |cases: &mut dyn Iterator<Item = &CaseResult<S>>| cases.map(|case| cost_of(&case.score)).sum::<f64>();
        let estimated = costs(&mut self.cases.iter().filter(|case| case.cost_is_estimate));
        // What cassettes cost was not spent by the run, so the total can be less.
        let lost = (self.total_cost_usd - costs(&mut self.cases.iter())).max(0.0);
        ((estimated + lost) * 1e9).round() / 1e9
    }
}

/// BenchRunReport: what a run that was scored by this process found.
pub type BenchRunReport = Report<Vec<CaseResult<BenchScore>>>;

/// A case that came to its end, on its way into a report.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedCase {
    pub result: CaseResult<BenchScore>,
    /// What this run paid for the case.
    pub spent_usd: f64,
    /// What the case's cassette cost when it was made.
    pub recorded_usd: f64,
}

/// What surrounds the cases of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    pub selection: Selection,
    /// What was charged for agents that were started and lost with the process that had started them.
    pub lost_usd: f64,
    pub load_errors: Vec<LoadErrorEntry>,
    pub warnings: Vec<String>,
}

/// Folds the cases, sorted by id, into the report. `None` when nothing was attempted: then there is nothing to record.
pub fn aggregate(mut finished: Vec<FinishedCase>, facts: RunFacts, block: &BTreeSet<String>) -> Option<BenchRunReport> {
    finished.sort_by(|a, b| a.result.case_id.cmp(&b.result.case_id));
    let attempted = || finished.iter().filter(|case| case.result.outcome != OutcomeClass::Skipped);
    let attempted_count = attempted().count() as u64;
    let mean_score = exact_mean(attempted().map(|case| case.result.score.score()))?;
    let mut outcomes: BTreeMap<_, u64> = OutcomeClass::ALL.map(|class| (class, 0)).into();
    for case in &finished {
        *outcomes.entry(case.result.outcome).or_default() += 1;
    }
    Some(Report {
        selection: facts.selection,
        attempted: attempted_count,
        skipped: finished.len() as u64 - attempted_count,
        outcomes,
        passed_count: attempted().filter(|case| case.result.score.passed()).count() as u64,
        mean_score,
        lower_bound_95: lower_bound_95(mean_score, attempted_count),
        total_cost_usd: finished.iter().map(|case| case.spent_usd).sum::<f64>() + facts.lost_usd,
        recorded_cost_usd: finished.iter().map(|case| case.recorded_usd).sum::<f64>() + 0.0,
        block_severity_failure_modes: finished
            .iter()
            .flat_map(|case| case.result.block_severity_modes(block))
            .collect(),
        aborted: finished.iter().any(|case| case.result.outcome == OutcomeClass::Skipped),
        had_load_errors: !facts.load_errors.is_empty(),
        load_errors: facts.load_errors,
        warnings: facts.warnings,
        cases: finished.into_iter().map(|case| case.result).collect(),
    })
}

/// The names of a case's block-severity modes: every fault but the system under test's own, and of the rubric's modes those
/// that `block` names.
pub fn block_severity_modes(outcome: OutcomeClass, failure_modes: &[String], block: &BTreeSet<String>) -> Vec<String> {
    let counts = |name: &&str| match outcome {
        OutcomeClass::Scored => block.contains(*name),
        fault => fault.is_block_severity(),
    };
    failure_modes.iter().map(|mode| mode_name(mode)).filter(counts).map(str::to_owned).collect()
}

impl CaseResult<BenchScore> {
    fn block_severity_modes(&self, block: &BTreeSet<String>) -> Vec<String> {
        block_severity_modes(self.outcome, self.score.failure_modes(), block)
    }
}

impl BenchRunReport {
    pub fn run_id(&self, task_class: &TaskClassName) -> RunId {
        run_id(task_class, self.cases.iter().map(|case| (&case.case_id, case.score.to_json())))
    }
}

/// SHA-256 over the task class, the sorted case ids and their BenchScore JSONs, each with its length before it: the same
/// scores give the same id for two engineers on two machines.
pub fn run_id<'a>(task_class: &TaskClassName, cases: impl Iterator<Item = (&'a CaseId, impl AsRef<[u8]>)>) -> RunId {
    let mut hasher = Sha256::new();
    let mut feed = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    feed(task_class.as_str().as_bytes());
    for (case_id, score) in cases {
        feed(case_id.as_str().as_bytes());
        feed(score.as_ref());
    }
    RunId::from_bytes(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Meter, RawScore, RubricFault};
    use crate::outcome::{CaseFault, NoOutput};

    const METER: Meter = Meter { cost_usd: 0.5, duration_seconds: 2.0 };

    fn block() -> BTreeSet<String> {
        BTreeSet::from(["cve_still_present".to_owned()])
    }

    fn case(id: &str, outcome: OutcomeClass, score: BenchScore) -> FinishedCase {
        FinishedCase {
            result: CaseResult {
                case_id: id.parse().expect("a case id"),
                outcome,
                score,
                fuel_used: Some(1),
                peak_memory_bytes: Some(1),
                logs_digest: None,
                agent_log_digest: None,
                cost_is_estimate: false,
            },
            spent_usd: 0.0,
            recorded_usd: METER.cost_usd,
        }
    }

    fn scored(id: &str, score: f64, modes: &[&str]) -> FinishedCase {
        let raw = RawScore {
            passed: score == 1.0,
            score,
            breakdown: Vec::new(),
            failure_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            cost_usd: METER.cost_usd,
            duration_seconds: METER.duration_seconds,
        };
        let admitted = BenchScore::admit(raw, METER, &block()).expect("admissible");
        case(id, OutcomeClass::Scored, admitted)
    }

    fn faulted(id: &str, fault: &CaseFault) -> FinishedCase {
        case(id, fault.class(), BenchScore::faulted(fault, METER))
    }

    fn facts() -> RunFacts {
        RunFacts {
            selection: Selection { patterns: Vec::new(), cases_in_bench: 4, selected: 4 },
            lost_usd: 0.0,
            load_errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn faults_count_as_zero_and_skipped_cases_do_not_count() {
        let report = aggregate(
            vec![
                faulted("d", &CaseFault::NoOutput(NoOutput::SkippedCostCap)),
                faulted("c", &CaseFault::Rubric(RubricFault::FuelExhausted)),
                scored("a", 1.0, &[]),
                scored("b", 0.5, &["cve_still_present", "bump_too_large"]),
            ],
            facts(),
            &block(),
        )
        .expect("something was attempted");
        assert_eq!(report.cases.iter().map(|case| case.case_id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        assert_eq!((report.attempted, report.skipped, report.passed_count), (3, 1, 1));
        assert_eq!(report.mean_score, 0.5);
        assert_eq!(report.recorded_cost_usd, 2.0);
        assert_eq!(report.outcomes.values().sum::<u64>(), 4);
        assert_eq!(
            report.block_severity_failure_modes.iter().collect::<Vec<_>>(),
            ["cve_still_present", "rubric_fuel_exhausted", "skipped_cost_cap"]
        );
    }

    #[test]
    fn a_fault_of_the_system_under_test_is_not_of_block_severity() {
        let report = aggregate(vec![faulted("a", &CaseFault::NoOutput(NoOutput::SutTimeout))], facts(), &block())
            .expect("attempted");
        assert!(report.block_severity_failure_modes.is_empty());
        assert_eq!((report.mean_score, report.lower_bound_95), (0.0, 0.0));
    }

    #[test]
    fn what_was_charged_without_knowing_is_an_estimate_and_the_rest_is_not() {
        let estimated = |cases: Vec<FinishedCase>, lost_usd| {
            let report = aggregate(cases, RunFacts { lost_usd, ..facts() }, &block()).expect("attempted");
            report.estimated_cost_usd(BenchScore::cost_usd)
        };
        let live = |id: &str, cost_is_estimate| {
            let case = scored(id, 1.0, &[]);
            let result = CaseResult { cost_is_estimate, ..case.result };
            FinishedCase { result, spent_usd: METER.cost_usd, recorded_usd: 0.0 }
        };
        assert_eq!(estimated(vec![scored("a", 1.0, &[])], 0.0), 0.0, "what a cassette cost was paid before");
        assert_eq!(estimated(vec![live("a", false), live("b", false)], 0.0), 0.0);
        assert_eq!(estimated(vec![live("a", false), live("b", true)], 0.0), 0.5);
        assert_eq!(estimated(vec![live("a", false), live("b", true)], 0.1), 0.6, "an agent was lost besides");
    }

    #[test]
    fn nothing_attempted_is_no_report() {
        assert_eq!(
            aggregate(vec![faulted("a", &CaseFault::NoOutput(NoOutput::SkippedCostCap))], facts(), &block()),
            None
        );
    }

    #[test]
    fn the_run_id_depends_on_the_scores_and_on_nothing_else() {
        let class = "vuln-remediation".parse().expect("a task class");
        let run = |cases: Vec<FinishedCase>| aggregate(cases, facts(), &block()).expect("attempted").run_id(&class);
        let first = run(vec![scored("a", 1.0, &[]), scored("b", 0.5, &[])]);
        let mut other_fuel = scored("a", 1.0, &[]);
        other_fuel.result.fuel_used = Some(7);
        assert_eq!(run(vec![scored("b", 0.5, &[]), other_fuel]), first);
        assert_ne!(run(vec![scored("a", 1.0, &[]), scored("b", 0.25, &[])]), first);
        assert_ne!(run(vec![scored("a", 1.0, &[])]), first);
        // Computed once by an independent program from the rule above.
        assert_eq!(first.to_string(), "ce134e9cd93ba835457697ffd0d59b539a7b296b960027007779593a3723e530");
    }
}
