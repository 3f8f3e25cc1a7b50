//! A writer for reports: what cannot be written is remembered and told at the end, and never fails the work.

use std::io::{self, Write};

/// Keeps the first error of a writer, and writes nothing after it.
pub(crate) struct FusedWriter<W> {
    inner: W,
    error: Option<io::Error>,
}

impl<W: Write> FusedWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, error: None }
    }

    pub(crate) fn line(&mut self, line: &str) {
        if self.error.is_none() {
            self.error = writeln!(self.inner, "{line}").and_then(|()| self.inner.flush()).err();
        }
    }

    /// The first error, if there was one.
    pub(crate) fn finish(self) -> Result<(), io::Error> {
        self.error.map_or(Ok(()), Err)
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
        let mut writer = FusedWriter::new(Refuses { in_lines: 2, taken: Vec::new() });
        ["one", "two", "three", "four"].iter().for_each(|line| writer.line(line));
        assert_eq!(writer.inner.taken, b"one\ntwo\n");
        assert_eq!(writer.finish().expect_err("the second line failed").to_string(), "full");
    }
}
