//! What a benchmark prints: figures, each with its unit, some of them with what is required of them.
//!
//! A line for people by default; with `-- --table` tab-separated fields for a script that collects the figures of several benchmarks:
//! `name<TAB>value<TAB>unit`, and where something is required also `<TAB>at most 1<TAB>holds`. A figure that does not hold is
//! said and fails nothing: a machine that has other work to do would fail any of them. With `-- --quick` a benchmark measures less: to
//! see that it works, not to know anything.

#![expect(clippy::print_stdout, reason = "a benchmark's figures are its output")]

use std::env;
use std::fmt;

/// What is required of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    fn verdict(self, value: f64) -> &'static str {
        if self.holds(value) { "holds" } else { "does not hold" }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
        }
    }
}

/// Prints the figures of one benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    is_table: bool,
    is_quick: bool,
}

impl Figures {
    /// In the form that the command line asks for.
    pub fn asked_for() -> Self {
        let asked_for = |flag: &str| env::args().any(|argument| argument == flag);
        Self { is_table: asked_for("--table"), is_quick: asked_for("--quick") }
    }

    /// How much to measure.
    pub fn size<T>(self, usual: T, quick: T) -> T {
        if self.is_quick { quick } else { usual }
    }

    /// A figure with its unit: `µs`, `ms`, `MB`, `per second`.
    pub fn figure(self, name: &str, value: f64, unit: &str) {
        let value = rounded(value);
        if self.is_table {
            println!("{name}\t{value}\t{unit}");
        } else {
            println!("{name:<72} {value:>10} {unit}");
        }
    }

    /// A ratio with what is required of it.
    pub fn ratio(self, name: &str, value: f64, bound: Bound) {
        self.required(name, value, "times", bound);
    }

    /// A figure with what is required of it, in the same unit.
    pub fn required(self, name: &str, value: f64, unit: &str, bound: Bound) {
        let (shown, verdict) = (rounded(value), bound.verdict(value));
        if self.is_table {
            println!("{name}\t{shown}\t{unit}\t{bound}\t{verdict}");
        } else {
            println!("{name:<72} {shown:>10} {unit}, {bound}: {verdict}");
        }
    }

    /// A line for people.
    pub fn note(self, text: &str) {
        if !self.is_table {
            println!("{text}");
        }
    }
}

/// Three digits, which is more than a benchmark knows.
fn rounded(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        middle if middle >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_holds_up_to_itself() {
        assert_eq!(Bound::AtMost(1.0).verdict(1.0), "holds");
        assert_eq!(Bound::AtMost(1.0).verdict(1.01), "does not hold");
        assert_eq!(Bound::AtLeast(1.6).verdict(1.6), "holds");
        assert_eq!(Bound::AtLeast(1.6).verdict(f64::NAN), "does not hold");
    }

    #[test]
    fn a_figure_has_three_digits_or_all_before_the_point() {
        assert_eq!([1234.5, 99.95, 1.234, 0.0506].map(rounded), ["1234", "100.0", "1.23", "0.051"]);
    }
}
