//! How far work without cases is, such as a verification: a bar on a terminal, a line now and then elsewhere, and nothing
//! at all for what is done in a moment.

use std::io::Write;
use std::mem;
use std::time::Duration;

use indicatif::ProgressDrawTarget;

use super::bar::{self, Bar};
use super::{FusedWriter, Held, Style};

/// What is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two lines where there is no bar.
const RETELL: Duration = Duration::from_secs(10);

/// Tells of steps as they are done.
pub(crate) struct Steps<W: Write> {
    out: FusedWriter<W>,
    quiet: bool,
    /// The time since the work began.
    elapsed: Box<dyn Fn() -> Duration>,
    /// What the steps are.
    what: Option<&'static str>,
    due: Duration,
    bar: Bar,
    form: Form,
}

/// How steps are told of.
enum Form {
    Lines,
    /// A bar there, once the work takes longer than a moment.
    BarAt(ProgressDrawTarget),
    Bar,
}

impl<W: Write> Steps<W> {
    pub(crate) fn new(out: W, style: Style, elapsed: Box<dyn Fn() -> Duration>) -> Self {
        Self::drawn_at(bar::target(style), out, style, elapsed)
    }

    fn drawn_at(target: ProgressDrawTarget, out: W, style: Style, elapsed: Box<dyn Fn() -> Duration>) -> Self {
        Self {
            out: FusedWriter::new(out, Held::Never),
            quiet: style.quiet,
            elapsed,
            what: None,
            due: PATIENCE,
            bar: Bar::hidden(style),
            form: if target.is_hidden() { Form::Lines } else { Form::BarAt(target) },
        }
    }

    /// So many steps of `what`, such as `records verified`, are done.
    pub(crate) fn done(&mut self, what: &'static str, done: usize, total: usize) {
        if self.what.replace(what) != Some(what) {
            self.bar.begin(total, Duration::ZERO);
            self.bar.set_words(what);
        }
        self.bar.set_done(done);
        let now = (self.elapsed)();
        if self.quiet || now < self.due {
            return;
        }
        match mem::replace(&mut self.form, Form::Bar) {
            Form::Lines => {
                self.out.line(&format!("{done} of {total} {what}"));
                self.due = now + RETELL;
                self.form = Form::Lines;
            }
            Form::BarAt(target) => {
                self.bar.show(target);
                self.bar.draw();
            }
            Form::Bar => {}
        }
    }

    /// Takes the bar away, before somebody else writes to the same terminal.
    pub(crate) fn make_room(&mut self) {
        self.bar.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::Screen;
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    const PLAIN: Style = Style { colour: false, quiet: false, columns: None };

    /// A step is done every quarter of a second, ten of them.
    fn ten_steps(target: ProgressDrawTarget, out: &mut dyn Write, style: Style) {
        let now = Rc::new(Cell::new(Duration::ZERO));
        let clock = Rc::clone(&now);
        let mut steps = Steps::drawn_at(target, out, style, Box::new(move || clock.get()));
        for done in 0..=10 {
            now.set(Duration::from_millis(250) * done);
            steps.done("records verified", done as usize, 10);
        }
    }

    #[test]
    fn a_terminal_gets_a_bar_after_a_moment_and_is_left_clean() {
        let screen = Screen::new(80);
        ten_steps(screen.target(), &mut screen.clone(), screen.style());
        let frames = screen.frames();
        let first = &frames[0];
        assert!(first.starts_with("[############------------------] 4/10 ("), "nothing before: {first}");
        assert!(first.contains("s, ETA ") && first.ends_with(") records verified"), "{first}");
        assert!(frames.iter().any(|frame| frame.contains("] 9/10 (")), "{frames:?}");
        assert!(frames.iter().all(|frame| frame.len() < 80), "{frames:?}");
        assert_eq!(screen.seen(), [""; 0], "the bar is gone");
    }

    #[test]
    fn elsewhere_a_line_now_and_then_is_enough() {
        let mut written = Vec::new();
        ten_steps(ProgressDrawTarget::hidden(), &mut written, PLAIN);
        assert_eq!(String::from_utf8(written).expect("text"), "4 of 10 records verified\n");
    }

    #[test]
    fn the_quiet_and_dumb_terminals_get_no_bar() {
        let quiet = Style { quiet: true, columns: Some(80), ..PLAIN };
        assert!(bar::target(PLAIN).is_hidden() && bar::target(quiet).is_hidden());
        let mut written = Vec::new();
        ten_steps(bar::target(quiet), &mut written, quiet);
        assert_eq!(written, b"");
    }
}
