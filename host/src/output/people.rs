//! The person's view, for stderr: a line per case as it ends, and a short summary with the next useful command.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use super::Steadfast;
use super::progress::{CLEAR, Progress};
use crate::run::event::{Event, Recorded, Reporter};
use eval_model::ids::TaskClassName;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, CaseResult};
use eval_model::score::BenchScore;
use eval_model::text::Message;

/// How much a person wants to see, and what the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    pub(crate) quiet: bool,
    /// The columns of a terminal on which a line can be drawn over; `None` gets plain lines.
    pub(crate) columns: Option<usize>,
}

/// Writes the person's view of a run.
pub(crate) struct People<W> {
    out: Steadfast<W>,
    style: Style,
    progress: Progress,
    /// The time since the run began.
    elapsed: Box<dyn Fn() -> Duration>,
    /// What a further command needs to be told to look in the same places, with a space before it; empty if nothing.
    places: String,
    bar_is_drawn: bool,
}

impl<W: Write> People<W> {
    pub(crate) fn new(out: W, style: Style, elapsed: Box<dyn Fn() -> Duration>, places: String) -> Self {
        Self { out: Steadfast::new(out), style, progress: Progress::default(), elapsed, places, bar_is_drawn: false }
    }

    /// Takes the bar away, before somebody else writes to the same terminal. The next case draws it again.
    pub(crate) fn make_room(&mut self) {
        if self.bar_is_drawn {
            self.out.text(CLEAR);
            self.bar_is_drawn = false;
        }
    }

    /// A line that stays, above the bar if there is one.
    fn line(&mut self, line: &str) {
        self.make_room();
        self.out.line(line);
    }

    /// A line that a quiet run does not have.
    fn progress_line(&mut self, line: &str) {
        if !self.style.quiet {
            self.line(line);
        }
    }

    fn draw_bar(&mut self) {
        if let (Some(columns), false) = (self.style.columns, self.style.quiet) {
            let bar = self.progress.line(columns, (self.elapsed)());
            self.out.text(&format!("{CLEAR}{bar}"));
            self.bar_is_drawn = true;
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
        let mut line = format!(
            "[{}/{}] {mark} {} {:.3}",
            self.progress.done(),
            self.progress.total,
            result.case_id,
            score.score()
        );
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
        self.line(&headline);
        let faults: Vec<_> = report
            .outcomes
            .iter()
            .filter(|(class, count)| **class != OutcomeClass::Scored && **count > 0)
            .map(|(class, count)| format!("{count} {}", class.as_str()))
            .collect();
        if !faults.is_empty() {
            self.line(&format!("faults: {}", faults.join(", ")));
        }
        if report.had_load_errors {
            self.line(&format!("left out: {} cases that did not load", report.load_errors.len()));
        }
        self.line(&format!(
            "cost: ${:.2} (cassettes cost ${:.2} when made)",
            report.total_cost_usd, report.recorded_cost_usd
        ));
    }

    fn recorded(&mut self, recorded: &Recorded) {
        if recorded.chain_begins {
            self.line("a new chain begins with this record");
        }
        self.line(&format!("record: {} (seq {})", recorded.path, recorded.seq));
        self.line(&format!("next: eval-host show {}{}", recorded.path, self.places));
    }
}

impl<W: Write> Reporter for People<W> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::RunStarted { task_class, selected } => {
                self.progress.total = *selected;
                self.progress_line(&format!("running {selected} cases of {task_class}"));
                self.draw_bar();
            }
            Event::Warning(text) => {
                let line = format!("{} {}", self.paint("33", "warning:"), Message(text));
                self.line(&line);
            }
            Event::Notice(text) => self.line(&Message(text).to_string()),
            Event::LoadError(entry) => {
                self.progress.count_load_error();
                let field = if entry.field.is_empty() { String::new() } else { format!(" {}:", entry.field) };
                // A parser's message quotes the file that it could not read.
                let text = format!("{}:{field} {}", entry.folder, entry.message);
                let line = format!("{} {}", self.paint("31", "load error:"), Message(&text));
                self.line(&line);
            }
            Event::CaseFinished(result) => {
                self.progress.count_case(result);
                let line = self.case_line(result);
                self.progress_line(&line);
                self.draw_bar();
            }
            Event::Aggregated { task_class, report, .. } => self.summary(task_class, report),
            Event::Recorded(recorded) => self.recorded(recorded),
            Event::AnswerSetWritten { path } => {
                self.line(&format!("answer set: {path}"));
                self.line(&format!("next: eval-host merge{}, with the answer sets of all shards", self.places));
            }
            Event::Answered(_) => {}
        }
    }
}
