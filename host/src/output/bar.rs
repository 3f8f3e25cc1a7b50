//! One line at the bottom of a terminal that says how far the work is: position, length, time and estimate, and a few words.
//!
//! It is drawn on stderr, and only on a terminal that can draw over a line. Whoever writes to the same terminal takes it away
//! first with [`Bar::clear`]: no thread redraws it in between, so a line for people is never torn.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle,
};

use super::Style;

const WIDE: &str = "[{bar:30}] {pos}/{len} ({elapsed}{left}) {wide_msg}";
const NARROW: &str = "{pos}/{len} {wide_msg}";

/// Columns that the wide form takes before its words, of a bench with 100 000 cases.
const WIDE_COLUMNS: usize = 64;

/// Where bars are drawn, if at all: nothing is for the quiet, nor for what cannot draw over a line.
pub(super) fn target(style: Style) -> ProgressDrawTarget {
    match style {
        Style { columns: Some(_), quiet: false, .. } => ProgressDrawTarget::stderr(),
        Style { columns: None, .. } | Style { quiet: true, .. } => ProgressDrawTarget::hidden(),
    }
}

/// A bar, which is gone from the terminal when it is dropped. It is hidden until it is shown, and estimates meanwhile.
#[derive(Debug)]
pub(super) struct Bar {
    /// A group of one: a group can be taken away and drawn again, which a bar of its own cannot.
    group: MultiProgress,
    bar: ProgressBar,
}

impl Bar {
    pub(super) fn hidden(style: Style) -> Self {
        let group = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden())
            .with_finish(ProgressFinish::AndClear)
            .with_style(form(style.columns.unwrap_or(0)));
        Self { bar: group.add(bar), group }
    }

    pub(super) fn show(&self, target: ProgressDrawTarget) {
        self.group.set_draw_target(target);
    }

    /// Begins anew, with so much to do. `elapsed` of the work's time has passed already.
    pub(super) fn begin(&self, total: usize, elapsed: Duration) {
        self.bar.set_length(total as u64);
        self.bar.reset();
        self.bar.set_elapsed(elapsed);
    }

    /// So much is done. Drawn now and then.
    pub(super) fn set_done(&self, done: usize) {
        self.bar.update(|state| state.set_pos(done as u64));
    }

    /// What is said behind the figures, from the next drawing on; cut off where the terminal ends.
    pub(super) fn set_words(&self, words: impl Into<Cow<'static, str>>) {
        // Both are one bar. `set_message` would draw the new words beside the old figures.
        drop(self.bar.clone().with_message(words));
    }

    /// Draws it now, also after it was taken away.
    pub(super) fn draw(&self) {
        self.bar.force_draw();
    }

    /// Takes it away, before somebody else writes to the same terminal.
    pub(super) fn clear(&self) {
        // A terminal that is gone shows no bar either.
        let _ = self.group.clear();
    }
}

fn form(columns: usize) -> ProgressStyle {
    let template = if columns > WIDE_COLUMNS { WIDE } else { NARROW };
    ProgressStyle::with_template(template)
        .expect("the template is well-formed")
        .with_key("left", left)
        .progress_chars("#-")
}

/// When it may be done, once there is something to tell by.
fn left(state: &ProgressState, out: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(out, ", ETA {:#}", HumanDuration(state.eta()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::Screen;
    use super::*;

    /// A bar of a large run, drawn on a terminal of this width.
    fn drawn(columns: u16) -> (Screen, Bar) {
        let screen = Screen::new(columns);
        let bar = Bar::hidden(screen.style());
        bar.show(screen.target());
        bar.begin(100_000, Duration::from_secs(100_000));
        bar.set_words("12345 faults $12345.67");
        bar.set_done(99_999);
        bar.draw();
        (screen, bar)
    }

    #[test]
    fn the_bar_takes_one_row_and_leaves_no_trace_however_wide_the_terminal() {
        for columns in 1..200 {
            let (screen, bar) = drawn(columns);
            assert!(screen.seen().len() == 1 || columns < 13, "{columns}: {:?}", screen.seen());
            bar.clear();
            assert_eq!(screen.seen(), [""; 0], "{columns}");
            bar.draw();
            drop(bar);
            assert_eq!(screen.seen(), [""; 0], "{columns}");
        }
    }

    #[test]
    fn a_narrow_terminal_does_without_the_bar_and_cuts_the_words() {
        assert_eq!(drawn(30).0.frames().last().map(String::as_str), Some("99999/100000 12345 faults $123"));
        let wide = drawn(100).0.frames().pop().expect("a frame");
        assert!(wide.starts_with("[#############################-] 99999/100000 ("), "{wide}");
        assert!(wide.ends_with(") 12345 faults $12345.67"), "{wide}");
    }

    #[test]
    fn there_is_no_estimate_before_anything_is_done() {
        let (screen, bar) = drawn(80);
        bar.begin(10, Duration::ZERO);
        bar.draw();
        let frame = screen.frames().pop().expect("a frame");
        assert!(frame.contains(" 0/10 (") && !frame.contains("ETA"), "{frame}");
    }
}
