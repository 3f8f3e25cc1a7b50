//! The person's view, for stderr: a line per case as it ends, and a short summary with the next useful command.

use std::fmt::Write as _;
use std::io::Write;

use super::Steadfast;
use crate::event::{Event, Recorded, Reporter};
use crate::ids::TaskClassName;
use crate::report::{BenchRunReport, CaseResult};
use crate::score::{BenchScore, OutcomeClass};

/// How much a person wants to see, and whether the terminal has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    pub(crate) quiet: bool,
}

/// Writes the person's view of a run.
pub(crate) struct People<W> {
    out: Steadfast<W>,
    style: Style,
    selected: usize,
    done: usize,
}

impl<W: Write> People<W> {
    pub(crate) fn new(out: W, style: Style) -> Self {
        Self { out: Steadfast::new(out), style, selected: 0, done: 0 }
    }

    fn progress(&mut self, line: &str) {
        if !self.style.quiet {
            self.out.line(line);
        }
    }

    fn case_line(&self, result: &CaseResult<BenchScore>) -> String {
        let score = &result.score;
        let mark = match (result.outcome, score.passed()) {
            (OutcomeClass::Scored, true) => self.paint("32", "pass"),
            (OutcomeClass::Scored, false) => self.paint("31", "fail"),
            (OutcomeClass::Skipped, _) => self.paint("33", "skip"),
            _ => self.paint("35", "fault"),
        };
        let mut line = format!("[{}/{}] {mark} {} {:.3}", self.done, self.selected, result.case_id, score.score());
        if !score.failure_modes().is_empty() {
            let _ = write!(line, "  {}", score.failure_modes().join(", "));
        }
        line
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.style.colour { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn summary(&mut self, task_class: &TaskClassName, report: &BenchRunReport) {
        let headline = format!(
            "{task_class}: {} of {} cases passed, mean {:.3} (at least {:.3} at 95 % confidence)",
            report.passed_count,
            report.attempted + report.skipped,
            report.mean_score,
            report.lower_bound_95,
        );
        self.out.line(&headline);
        let faults: Vec<_> = report
            .outcomes
            .iter()
            .filter(|(class, count)| **class != OutcomeClass::Scored && **count > 0)
            .map(|(class, count)| format!("{count} {}", class.as_str()))
            .collect();
        if !faults.is_empty() {
            self.out.line(&format!("faults: {}", faults.join(", ")));
        }
        if report.had_load_errors {
            self.out.line(&format!("left out: {} cases that did not load", report.load_errors.len()));
        }
        self.out.line(&format!(
            "cost: ${:.2} (cassettes cost ${:.2} when made)",
            report.total_cost_usd, report.recorded_cost_usd
        ));
    }

    fn recorded(&mut self, recorded: &Recorded) {
        if recorded.chain_begins {
            self.out.line("a new chain begins with this record");
        }
        self.out.line(&format!("record: {} (seq {})", recorded.path, recorded.seq));
        self.out.line(&format!("next: eval-host show {}", recorded.path));
    }
}

impl<W: Write> Reporter for People<W> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::RunStarted { task_class, selected } => {
                self.selected = *selected;
                self.progress(&format!("running {selected} cases of {task_class}"));
            }
            Event::Warning(text) => self.out.line(&format!("{} {text}", self.paint("33", "warning:"))),
            Event::LoadError(entry) => {
                self.done += 1;
                let field = if entry.field.is_empty() { String::new() } else { format!(" {}:", entry.field) };
                let line = format!("{} {}:{field} {}", self.paint("31", "load error:"), entry.folder, entry.message);
                self.out.line(&line);
            }
            Event::CaseFinished(result) => {
                self.done += 1;
                let line = self.case_line(result);
                self.progress(&line);
            }
            Event::Aggregated { task_class, report, .. } => self.summary(task_class, report),
            Event::Recorded(recorded) => self.recorded(recorded),
        }
    }
}
