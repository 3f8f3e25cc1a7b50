//! One line at the bottom of a terminal that says how far the work is: a bar, for a run the faults and the cost, and when it
//! may be done.
//!
//! It is drawn over and over in place, and is never wider than the terminal, so that it never wraps and leaves traces.

use std::time::Duration;

use eval_model::outcome::OutcomeClass;
use eval_model::report::CaseResult;
use eval_model::score::BenchScore;

/// Widest bar: more says no more.
const MOST_BAR: usize = 30;

/// Moves to the beginning of the line and clears it.
pub(super) const CLEAR: &str = "\r\x1b[2K";

/// How far a run is.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    pub(super) total: usize,
    done: usize,
    faults: usize,
    cost_usd: f64,
}

impl Progress {
    pub(super) fn count_case(&mut self, result: &CaseResult<BenchScore>) {
        self.done += 1;
        self.faults += usize::from(!matches!(result.outcome, OutcomeClass::Scored | OutcomeClass::Skipped));
        self.cost_usd += result.score.cost_usd();
    }

    pub(super) fn count_load_error(&mut self) {
        self.done += 1;
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// The line, for a terminal of this width, after this much time.
    pub(super) fn line(&self, width: usize, elapsed: Duration) -> String {
        let faults = match self.faults {
            0 => String::new(),
            1 => " 1 fault".to_owned(),
            faults => format!(" {faults} faults"),
        };
        let pieces = [faults, format!(" ${:.2}", self.cost_usd), eta(self.done, self.total, elapsed)];
        bar_line(width, self.done, self.total, &pieces)
    }
}

/// A bar and what is said behind it, narrower than a terminal of this width. What is most useful comes first in `pieces`; what
/// does not fit any more is left out as a whole.
pub(super) fn bar_line(width: usize, done: usize, total: usize, pieces: &[String]) -> String {
    let mut text = format!(" {done}/{total}");
    for piece in pieces {
        if text.len() + piece.len() < width {
            text.push_str(piece);
        }
    }
    let room = width.saturating_sub(text.len() + 3).min(MOST_BAR);
    if room >= 5 {
        format!("{}{text}", bar(room, done, total))
    } else {
        text.trim_start().chars().take(width.saturating_sub(1)).collect()
    }
}

fn bar(width: usize, done: usize, total: usize) -> String {
    let full = (done * width).checked_div(total).unwrap_or(0).min(width);
    format!("[{}{}]", "#".repeat(full), "-".repeat(width - full))
}

/// When it may be done: every step that is left takes as long as those that are done, on average.
pub(super) fn eta(done: usize, total: usize, elapsed: Duration) -> String {
    let time_left = || {
        let (done, left) = (u32::try_from(done).ok()?, u32::try_from(total.checked_sub(done)?).ok()?);
        elapsed.checked_mul(left)?.checked_div(done)
    };
    time_left().map_or_else(String::new, |left| format!(" ETA {}", clock(left)))
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress { total: 40, done: 10, faults: 2, cost_usd: 1.25 }
    }

    #[test]
    fn the_line_says_how_far_what_went_wrong_what_it_cost_and_when_it_may_end() {
        let line = progress().line(80, Duration::from_secs(30));
        assert_eq!(line, "[#######-----------------------] 10/40 2 faults $1.25 ETA 1m30s");
    }

    #[test]
    fn the_line_is_never_as_wide_as_the_terminal() {
        for width in 0..200 {
            for done in [0, 1, 40] {
                let line = Progress { done, ..progress() }.line(width, Duration::from_secs(100_000));
                assert!(line.len() < width.max(1) || line.is_empty(), "{width}: {line}");
            }
        }
        assert_eq!(progress().line(20, Duration::from_secs(30)), "10/40 2 faults");
    }
}
