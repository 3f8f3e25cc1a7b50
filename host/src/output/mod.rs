//! Events to bytes on a given writer: JSON lines for machines, lines and a summary for people.
//!
//! A reporter never fails a run: what cannot be written is remembered and told at the end, because the record, not the
//! report of it, is the product.

mod json_lines;
mod junit;
pub(crate) mod lines;
mod markdown;
mod people;
mod progress;
mod steps;

use std::io::{self, Write};

pub(crate) use json_lines::JsonLines;
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
pub(crate) use people::{People, Style};
pub(crate) use steps::Steps;

/// A writer that keeps its first error and goes quiet after it.
pub(crate) struct Steadfast<W> {
    inner: W,
    error: Option<io::Error>,
}

impl<W: Write> Steadfast<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, error: None }
    }

    pub(crate) fn line(&mut self, line: &str) {
        if self.error.is_none() {
            self.error = writeln!(self.inner, "{line}").and_then(|()| self.inner.flush()).err();
        }
    }

    /// Text that ends no line.
    fn text(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = write!(self.inner, "{text}").and_then(|()| self.inner.flush()).err();
        }
    }

    pub(crate) fn finish(self) -> Result<(), io::Error> {
        self.error.map_or(Ok(()), Err)
    }
}
