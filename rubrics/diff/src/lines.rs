//! A place in a file that is read line by line from its start, fast enough to pass over a lock file of a hundred thousand lines:
//! newlines are counted eight bytes at a time.

/// A file, and how much of it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many lines were read.
    pub(crate) passed: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, passed: 0 }
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Reads on until so many lines were read in all, and gives them; `None` if there are not so many, or more were read.
    pub(crate) fn up_to(&mut self, line: usize) -> Option<&'a [u8]> {
        let count = line.checked_sub(self.passed)?;
        let length = length_of(self.rest(), count)?;
        let lines = &self.rest()[..length];
        self.at += length;
        self.passed = line;
        Some(lines)
    }

    /// Reads the next line if it is exactly this one, with its newline.
    pub(crate) fn take(&mut self, line: &[u8]) -> bool {
        let is_next = if line.ends_with(b"\n") { self.rest().starts_with(line) } else { self.rest() == line };
        if is_next && !line.is_empty() {
            self.at += line.len();
            self.passed += 1;
            return true;
        }
        false
    }
}

/// The length of so many lines; the last line of a file may lack its newline.
fn length_of(bytes: &[u8], mut lines: usize) -> Option<usize> {
    let (chunks, _) = bytes.as_chunks::<8>();
    let mut at = 0;
    for chunk in chunks {
        let found = newlines(u64::from_le_bytes(*chunk));
        if found >= lines {
            break;
        }
        lines -= found;
        at += 8;
    }
    for byte in &bytes[at..] {
        if lines == 0 {
            return Some(at);
        }
        at += 1;
        lines -= usize::from(*byte == b'\n');
    }
    let is_open = bytes.last().is_some_and(|byte| *byte != b'\n');
    (lines == usize::from(is_open && lines > 0)).then_some(at)
}

/// How many of eight bytes are newlines.
fn newlines(chunk: u64) -> usize {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let differs = chunk ^ u64::from_le_bytes([b'\n'; 8]);
    // The highest bit of each byte is set where the byte differs.
    let marks = ((differs & LOW) + LOW) | differs | LOW;
    marks.count_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_wherever_they_end() {
        let texts = [
            "",
            "a",
            "a\n",
            "\n",
            "\n\n\n\n\n\n\n\n\n\n",
            "one\ntwo",
            "a line of more than eight bytes\nb\n\u{8a}\n\x0b",
        ];
        for text in texts {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            for count in 0..=lines.len() {
                let length: usize = lines[..count].iter().map(|line| line.len()).sum();
                assert_eq!(length_of(text.as_bytes(), count), Some(length), "{count} of {text:?}");
            }
            assert_eq!(length_of(text.as_bytes(), lines.len() + 1), None, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_taken_whole_or_not_at_all() {
        let mut lines = Lines::of(b"a\nbc\nd");
        assert!(!lines.take(b"a") && !lines.take(b"") && lines.take(b"a\n"));
        assert!(!lines.take(b"b") && lines.take(b"bc\n") && !lines.take(b"d\n") && lines.take(b"d"));
        assert_eq!((lines.passed, lines.rest().len(), lines.up_to(2)), (3, 0, None));
    }
}
