//! A writer for reports: what cannot be written is remembered and told at the end, and never fails the work.
//!
//! On a terminal every line is written at once, because others write there too. Elsewhere lines are held back until somebody flushes:
//! a system call for each would cost a large run more than the line. No line is lost but to a process that is killed.

use std::io::{self, Write};

/// Held back at most, more or less: a line is never torn.
const MOST_HELD: usize = 64 << 10;

/// When lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Never,
    UntilFlushed,
}

/// Keeps the first error of a writer, and writes nothing after it.
pub(crate) struct FusedWriter<W: Write> {
    inner: W,
    held: Held,
    lines: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> FusedWriter<W> {
    pub(crate) fn new(inner: W, held: Held) -> Self {
        Self { inner, held, lines: Vec::new(), error: None }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.lines.extend_from_slice(line.as_bytes());
        self.lines.push(b'\n');
        if self.held == Held::Never || self.lines.len() >= MOST_HELD {
            self.flush();
        }
    }

    /// Writes what was held back.
    pub(crate) fn flush(&mut self) {
        if self.error.is_none() && !self.lines.is_empty() {
            self.error = self.inner.write_all(&self.lines).and_then(|()| self.inner.flush()).err();
        }
        self.lines.clear();
    }

    /// The first error, if there was one.
    pub(crate) fn finish(mut self) -> Result<(), io::Error> {
        self.flush();
        self.error.take().map_or(Ok(()), Err)
    }
}

impl<W: Write> Drop for FusedWriter<W> {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses the line that it counts down to, and takes all others.
    struct Refuses {
        in_lines: u32,
        taken: Vec<u8>,
    }

    impl Write for Refuses {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.taken.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.in_lines = self.in_lines.wrapping_sub(1);
            if self.in_lines == 0 { Err(io::Error::other("full")) } else { Ok(()) }
        }
    }

    #[test]
    fn after_the_first_error_nothing_is_written_and_the_error_is_kept() {
        let mut writer = FusedWriter::new(Refuses { in_lines: 2, taken: Vec::new() }, Held::Never);
        ["one", "two", "three", "four"].iter().for_each(|line| writer.line(line));
        assert_eq!(writer.inner.taken, b"one\ntwo\n");
        assert_eq!(writer.finish().expect_err("the second line failed").to_string(), "full");
    }

    #[test]
    fn what_is_held_back_goes_out_whole_when_it_is_flushed_dropped_or_much() {
        let mut taken = Vec::new();
        let mut writer = FusedWriter::new(&mut taken, Held::UntilFlushed);
        writer.line("one");
        writer.line("two");
        assert_eq!(writer.inner.len(), 0);
        writer.flush();
        assert_eq!(writer.inner.as_slice(), b"one\ntwo\n");
        let long = "x".repeat(MOST_HELD);
        writer.line(&long);
        assert_eq!(writer.inner.len(), 8 + MOST_HELD + 1);
        writer.line("three");
        drop(writer);
        assert!(taken.ends_with(b"x\nthree\n"));
    }
}
