//! How far work without cases is, such as a verification: a bar on a terminal, a line now and then elsewhere, and nothing
//! at all for what is done in a moment.

use std::io::Write;
use std::time::Duration;

use super::progress::{CLEAR, bar_line, eta};
use super::{Steadfast, Style};

/// What is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two drawings on a terminal, and between two lines elsewhere.
const REDRAW: Duration = Duration::from_millis(100);
const RETELL: Duration = Duration::from_secs(10);

/// Tells of steps as they are done.
pub(crate) struct Steps<W: Write> {
    out: Steadfast<W>,
    style: Style,
    /// The time since the work began.
    elapsed: Box<dyn Fn() -> Duration>,
    /// What the steps are, and when they began.
    stage: Option<(&'static str, Duration)>,
    due: Duration,
    bar_is_drawn: bool,
}

impl<W: Write> Steps<W> {
    pub(crate) fn new(out: W, style: Style, elapsed: Box<dyn Fn() -> Duration>) -> Self {
        Self { out: Steadfast::new(out), style, elapsed, stage: None, due: PATIENCE, bar_is_drawn: false }
    }

    /// So many steps of `what`, such as `records verified`, are done.
    pub(crate) fn done(&mut self, what: &'static str, done: usize, total: usize) {
        let now = (self.elapsed)();
        let began = match self.stage {
            Some((stage, began)) if stage == what => began,
            _ => self.stage.insert((what, now)).1,
        };
        if self.style.quiet || now < self.due {
            return;
        }
        match self.style.columns {
            Some(columns) => {
                let pieces = [format!(" {what}"), eta(done, total, now.saturating_sub(began))];
                self.out.text(&format!("{CLEAR}{}", bar_line(columns, done, total, &pieces)));
                self.bar_is_drawn = true;
                self.due = now + REDRAW;
            }
            None => {
                self.out.line(&format!("{done} of {total} {what}"));
                self.due = now + RETELL;
            }
        }
    }

    /// Takes the bar away, before somebody else writes to the same terminal.
    pub(crate) fn make_room(&mut self) {
        if self.bar_is_drawn {
            self.out.text(CLEAR);
            self.bar_is_drawn = false;
        }
    }
}

impl<W: Write> Drop for Steps<W> {
    fn drop(&mut self) {
        self.make_room();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// What is written when a step is done every quarter of a second, ten of them.
    fn told(columns: Option<usize>, quiet: bool) -> String {
        let mut written = Vec::new();
        let now = Rc::new(Cell::new(Duration::ZERO));
        let clock = Rc::clone(&now);
        let style = Style { colour: false, quiet, columns };
        let mut steps = Steps::new(&mut written, style, Box::new(move || clock.get()));
        for done in 0..=10 {
            now.set(Duration::from_millis(250) * done);
            steps.done("records verified", done as usize, 10);
        }
        drop(steps);
        String::from_utf8(written).expect("text")
    }

    #[test]
    fn a_terminal_gets_a_bar_after_a_moment_and_is_left_clean() {
        let drawn = told(Some(60), false);
        let frames: Vec<_> = drawn.split(CLEAR).collect();
        assert_eq!(frames.len(), 9, "the first second draws nothing: {frames:?}");
        assert_eq!(frames[1], "[###########-----------------] 4/10 records verified ETA 1s");
        assert_eq!(frames[8], "", "the bar is gone");
    }

    #[test]
    fn elsewhere_a_line_now_and_then_is_enough() {
        assert_eq!(told(None, false), "4 of 10 records verified\n");
    }

    #[test]
    fn the_quiet_get_nothing() {
        assert_eq!(told(Some(60), true), "");
    }
}
