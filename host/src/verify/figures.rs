//! Whether a report's figures follow from its cases, so that nobody need believe a mean.

use std::collections::BTreeMap;

use crate::record::RecordedRun;
use crate::report::{exact_mean, lower_bound_95, run_id};
use crate::score::OutcomeClass;

/// The first figure that does not follow, if there is one.
pub(super) fn contradiction(record: &RecordedRun) -> Option<&'static str> {
    let report = &record.report;
    let scores = || report.cases.iter().map(|case| (case.outcome, case.score.fields()));
    let attempted = || scores().filter(|(outcome, _)| *outcome != OutcomeClass::Skipped).map(|(_, score)| score);
    let count = attempted().count() as u64;
    let mut outcomes: BTreeMap<_, u64> = OutcomeClass::ALL.map(|class| (class, 0)).into();
    for (outcome, _) in scores() {
        *outcomes.entry(outcome).or_default() += 1;
    }
    let mean = exact_mean(attempted().map(|score| score.score));
    let cases = report.cases.iter().map(|case| (&case.case_id, case.score.text()));
    let checks = [
        ("run_id", record.run_id == run_id(&record.task_class, cases)),
        ("count of attempted cases", report.attempted == count),
        ("count of skipped cases", report.skipped == report.cases.len() as u64 - count),
        ("count per outcome", report.outcomes == outcomes),
        ("passed_count", report.passed_count == attempted().filter(|score| score.passed).count() as u64),
        ("mean_score", mean.map(f64::to_bits) == Some(report.mean_score.to_bits())),
        ("lower_bound_95", lower_bound_95(report.mean_score, count).to_bits() == report.lower_bound_95.to_bits()),
        ("had_load_errors", report.had_load_errors != report.load_errors.is_empty()),
    ];
    checks.into_iter().find(|(_, holds)| !holds).map(|(figure, _)| figure)
}
