//! The person's view, for stderr: a line per case as it ends, and a short summary with the next useful command.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use indicatif::ProgressDrawTarget;

use super::bar::{self, Bar};
use super::{FusedWriter, Held};
use crate::run::event::{Event, Recorded, Reporter};
use eval_model::ids::TaskClassName;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, CaseResult};
use eval_model::score::BenchScore;
use eval_model::text::{Message, last_lines};

/// How much a person wants to see, and what the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    pub(crate) quiet: bool,
    /// The columns of a terminal on which a line can be drawn over; `None` gets plain lines.
    pub(crate) columns: Option<usize>,
}

impl Style {
    /// Where no bar is drawn nobody is likely to watch.
    fn held(self) -> Held {
        if self.columns.is_some() { Held::Never } else { Held::UntilFlushed }
    }
}

/// A number of things, in words that fit it.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        count if thing.ends_with("ch") => format!("{count} {thing}es"),
        count => format!("{count} {thing}s"),
    }
}

/// What something cost, and how much of that nobody knows to have been spent.
pub(crate) fn cost(total_usd: f64, estimated_usd: f64) -> String {
    match estimated_usd {
        0.0 => format!("${total_usd:.2}"),
        part if part < total_usd => format!("${total_usd:.2}, of which ${part:.2} estimated"),
        _ => format!("${total_usd:.2}, estimated"),
    }
}

/// What an agent said last, as lines below the fault that it explains.
pub(crate) fn agent_said(stderr: &[u8]) -> impl Iterator<Item = String> {
    last_lines(stderr).into_iter().map(|line| format!("      agent: {line}"))
}

/// How far a run is.
#[derive(Debug, Default)]
struct Tally {
    total: usize,
    done: usize,
    faults: usize,
    cost_usd: f64,
    estimated_usd: f64,
}

impl Tally {
    fn count_case(&mut self, result: &CaseResult<BenchScore>) {
        self.done += 1;
        self.faults += usize::from(!matches!(result.outcome, OutcomeClass::Scored | OutcomeClass::Skipped));
        self.cost_usd += result.score.cost_usd();
        if result.cost_is_estimate {
            self.estimated_usd += result.score.cost_usd();
        }
    }

    /// What went wrong, and what it cost.
    fn words(&self) -> String {
        let cost = cost(self.cost_usd, self.estimated_usd);
        match self.faults {
            0 => cost,
            faults => format!("{} {cost}", counted(faults as u64, "fault")),
        }
    }
}

/// Writes the person's view of a run.
pub(crate) struct People<W: Write> {
    out: FusedWriter<W>,
    style: Style,
    tally: Tally,
    bar: Bar,
    has_bar: bool,
    /// The time since the run began.
    elapsed: Box<dyn Fn() -> Duration>,
    /// What a further command needs to be told to look in the same places, with a space before it; empty if nothing.
    places: String,
}

impl<W: Write> People<W> {
    pub(crate) fn new(out: W, style: Style, elapsed: Box<dyn Fn() -> Duration>, places: String) -> Self {
        Self::drawn_at(bar::target(style), out, style, elapsed, places)
    }

    fn drawn_at(
        target: ProgressDrawTarget,
        out: W,
        style: Style,
        elapsed: Box<dyn Fn() -> Duration>,
        places: String,
    ) -> Self {
        let (bar, has_bar) = (Bar::hidden(style), !target.is_hidden());
        bar.show(target);
        let out = FusedWriter::new(out, style.held());
        Self { out, style, tally: Tally::default(), bar, has_bar, elapsed, places }
    }

    /// Takes the bar away, before somebody else writes to the same terminal. The next case draws it again.
    pub(crate) fn make_room(&mut self) {
        if self.has_bar {
            self.bar.clear();
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
        if !self.has_bar {
            return;
        }
        self.bar.set_words(self.tally.words());
        self.bar.set_done(self.tally.done);
        self.bar.draw();
    }

    fn case_line(&self, result: &CaseResult<BenchScore>) -> String {
        let score = &result.score;
        let mark = match (result.outcome, score.passed()) {
            (OutcomeClass::Scored, true) => self.paint("32", "pass"),
            (OutcomeClass::Scored, false) => self.paint("31", "fail"),
            (OutcomeClass::Skipped, _) => self.paint("33", "skip"),
            _ => self.paint("35", "fault"),
        };
        let mut line =
            format!("[{}/{}] {mark} {} {:.3}", self.tally.done, self.tally.total, result.case_id, score.score());
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
            self.line(&format!("left out: {} that did not load", counted(report.load_errors.len() as u64, "case")));
        }
        self.line(&format!(
            "cost: {} (cassettes cost ${:.2} when made)",
            cost(report.total_cost_usd, report.estimated_cost_usd(BenchScore::cost_usd)),
            report.recorded_cost_usd
        ));
    }

    fn recorded(&mut self, recorded: &Recorded) {
        if !recorded.suts.is_empty() {
            self.line(&format!("answered by: {}", recorded.suts.join(", ")));
        }
        if recorded.chain_begins {
            self.line("a new chain begins with this record");
        }
        self.line(&format!("record: {} (seq {})", recorded.path, recorded.seq));
        self.line(&format!("next: eval-host show {}{}", recorded.path, self.places));
    }
}

impl<W: Write> Reporter for People<W> {
    fn event(&mut self, event: &Event<'_>) {
        self.tell(event);
        if !event.is_of_a_case() {
            self.out.flush();
        }
    }
}

impl<W: Write> People<W> {
    fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::RunStarted { task_class, selected } => {
                self.tally.total = *selected;
                self.bar.begin(*selected, (self.elapsed)());
                self.progress_line(&format!("running {} of {task_class}", counted(*selected as u64, "case")));
                self.draw_bar();
            }
            Event::Warning(text) => {
                let line = format!("{} {}", self.paint("33", "warning:"), Message(text));
                self.line(&line);
            }
            Event::Notice(text) => self.line(&Message(text).to_string()),
            Event::LoadError(entry) => {
                self.tally.done += 1;
                let field = if entry.field.is_empty() { String::new() } else { format!(" {}:", entry.field) };
                // A parser's message quotes the file that it could not read.
                let text = format!("{}:{field} {}", entry.folder, entry.message);
                let line = format!("{} {}", self.paint("31", "load error:"), Message(&text));
                self.line(&line);
            }
            Event::CaseFinished(result) => {
                self.tally.count_case(result);
                let line = self.case_line(result);
                self.progress_line(&line);
                self.draw_bar();
            }
            Event::AgentSaid(stderr) => {
                agent_said(&stderr.kept).for_each(|line| self.progress_line(&line));
                self.draw_bar();
            }
            Event::Aggregated { task_class, report, .. } => self.summary(task_class, report),
            Event::Recorded(recorded) => self.recorded(recorded),
            Event::AnswerSetWritten { path } => {
                self.line(&format!("answer set: {path}"));
                self.line(&format!("next: eval-host merge{}, with the answer sets of all shards", self.places));
            }
            Event::Answered(_) | Event::Pause => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::Screen;
    use super::*;
    use eval_model::contract::{CapturedStream, Meter, RubricFault, TrapKind};
    use eval_model::outcome::CaseFault;

    fn faulted(case_id: &str) -> CaseResult<BenchScore> {
        let fault = CaseFault::Rubric(RubricFault::Trap(TrapKind::Unreachable));
        let meter = Meter { cost_usd: 0.625, duration_seconds: 0.0 };
        CaseResult {
            case_id: case_id.parse().expect("a case id"),
            outcome: OutcomeClass::RubricFault,
            score: BenchScore::faulted(&fault, meter),
            fuel_used: None,
            peak_memory_bytes: None,
            logs_digest: None,
            agent_log_digest: None,
            cost_is_estimate: false,
        }
    }

    fn people(screen: &Screen, target: ProgressDrawTarget) -> People<Screen> {
        let elapsed = Box::new(|| Duration::from_secs(30));
        People::drawn_at(target, screen.clone(), screen.style(), elapsed, String::new())
    }

    fn two_of_three(people: &mut People<Screen>) {
        let task_class = "fixture".parse().expect("a task class");
        people.event(&Event::RunStarted { task_class: &task_class, selected: 3 });
        people.event(&Event::CaseFinished(&faulted("001-first")));
        people.event(&Event::CaseFinished(&faulted("002-second")));
    }

    const LINES: [&str; 3] = [
        "running 3 cases of fixture",
        "[1/3] fault 001-first 0.000  rubric_trap: unreachable",
        "[2/3] fault 002-second 0.000  rubric_trap: unreachable",
    ];

    #[test]
    fn the_bar_stays_below_the_lines_and_tears_none_of_them() {
        let screen = Screen::new(80);
        let mut people = people(&screen, screen.target());
        two_of_three(&mut people);
        let seen = screen.seen();
        assert_eq!(seen[..3], LINES);
        assert!(seen[3].starts_with("[####################----------] 2/3 (3"), "{seen:?}");
        assert!(seen[3].contains("s, ETA ") && seen[3].ends_with(") 2 faults $1.25"), "{seen:?}");
        assert_eq!(seen.len(), 4, "{seen:?}");
        // Somebody else writes to the same terminal.
        people.make_room();
        writeln!(screen.clone(), "{{}}").expect("a terminal");
        people.event(&Event::Warning("look here"));
        let below = ["{}", "warning: look here"];
        assert_eq!(screen.seen(), [&LINES[..], &below].concat());
        drop(people);
        assert_eq!(screen.seen(), [&LINES[..], &below].concat(), "the bar is gone for good");
    }

    #[test]
    fn what_an_agent_said_last_stands_below_its_fault_and_above_the_bar() {
        let screen = Screen::new(80);
        let mut people = people(&screen, screen.target());
        two_of_three(&mut people);
        let kept = b"Traceback:\n\tno \x1b[31mkey\n".to_vec();
        people.event(&Event::AgentSaid(&CapturedStream { kept, dropped_bytes: 0 }));
        let seen = screen.seen();
        assert_eq!(seen[..3], LINES);
        assert_eq!(seen[3..5], ["      agent: Traceback:", "      agent:     no \\u{1b}[31mkey"]);
        assert!(seen[5].starts_with("[####") && seen.len() == 6, "{seen:?}");
    }

    #[test]
    fn a_cost_that_nobody_knows_says_so() {
        assert_eq!(cost(1.25, 0.0), "$1.25");
        assert_eq!(cost(1.25, 0.5), "$1.25, of which $0.50 estimated");
        assert_eq!(cost(1.25, 1.25), "$1.25, estimated");
        let screen = Screen::new(100);
        let mut people = people(&screen, screen.target());
        let task_class = "fixture".parse().expect("a task class");
        people.event(&Event::RunStarted { task_class: &task_class, selected: 2 });
        people.event(&Event::CaseFinished(&CaseResult { cost_is_estimate: true, ..faulted("001-first") }));
        assert!(
            screen.seen().last().is_some_and(|bar| bar.ends_with("1 fault $0.62, estimated")),
            "{:?}",
            screen.seen()
        );
        people.event(&Event::CaseFinished(&faulted("002-second")));
        let told = "2 faults $1.25, of which $0.62 estimated";
        assert!(screen.seen().last().is_some_and(|bar| bar.ends_with(told)), "{:?}", screen.seen());
    }

    #[test]
    fn where_no_bar_can_be_drawn_there_are_plain_lines() {
        let screen = Screen::new(80);
        two_of_three(&mut people(&screen, ProgressDrawTarget::hidden()));
        assert_eq!(screen.seen(), LINES);
        assert_eq!(screen.frames(), [""; 0]);
    }
}
