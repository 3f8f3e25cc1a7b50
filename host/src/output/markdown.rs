//! A report as Markdown, for the summary page of a CI job: the figures, and the cases that want to be looked at.

use std::fmt::Write as _;

use super::people::cost;
use eval_model::ids::TaskClassName;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{CaseResult, Figures};
use eval_model::score::BenchScore;

/// Most cases that are listed: a summary that nobody scrolls through is read.
const MOST_CASES: usize = 50;

/// `cases` are those of the report, and `estimated_cost_usd` is what of its cost nobody knows to have been spent.
pub(crate) fn markdown(
    task_class: &TaskClassName,
    report: &Figures,
    cases: &[CaseResult<BenchScore>],
    estimated_cost_usd: f64,
    record: &str,
) -> String {
    let mut text = format!(
        "### eval-host: {task_class}\n\n\
         | cases | passed | mean score | lower bound (95 %) | cost |\n| ---: | ---: | ---: | ---: | ---: |\n\
         | {} | {} | {:.3} | {:.3} | {} |\n\n",
        report.attempted + report.skipped,
        report.passed_count,
        report.mean_score,
        report.lower_bound_95,
        cost(report.total_cost_usd, estimated_cost_usd)
    );
    if report.aborted {
        let _ = write!(text, "**Aborted:** the cost cap left out {} cases.\n\n", report.skipped);
    }
    if report.had_load_errors {
        let _ = write!(text, "**{} cases did not load.**\n\n", report.load_errors.len());
    }
    let wanting: Vec<_> = cases.iter().filter(|case| !case.score.passed()).collect();
    if !wanting.is_empty() {
        text.push_str("| case | outcome | score | failure modes |\n| --- | --- | ---: | --- |\n");
        wanting.iter().take(MOST_CASES).for_each(|case| row(&mut text, case));
        if wanting.len() > MOST_CASES {
            let _ = writeln!(text, "\n… and {} more.", wanting.len() - MOST_CASES);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "Record: {}", code(record));
    text
}

fn row(text: &mut String, case: &CaseResult<BenchScore>) {
    let outcome = match case.outcome {
        OutcomeClass::Scored => "low score",
        fault => fault.as_str(),
    };
    let modes: Vec<_> = case.score.failure_modes().iter().map(|mode| code(mode)).collect();
    let _ = writeln!(text, "| {} | {outcome} | {:.3} | {} |", case.case_id, case.score.score(), modes.join(" "));
}

/// Foreign text as code in a table: nothing in it is markup, and it stays in its cell.
fn code(text: &str) -> String {
    let harmless: String = text
        .chars()
        .map(|character| match character {
            '`' => '\'',
            '|' => '¦',
            _ if character.is_control() => ' ',
            _ => character,
        })
        .collect();
    format!("`{harmless}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_leave_its_cell() {
        assert_eq!(code("a | b`\n# c"), "`a ¦ b' # c`");
    }
}
