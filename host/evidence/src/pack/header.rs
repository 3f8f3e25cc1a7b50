//! The lines of a pack, and the name that they give it.

use std::fmt;
use std::str::FromStr;

use eval_model::ids::{Digest, ParseIdError};

use crate::store::MOST_OBJECT_BYTES;

/// What a pack begins with.
pub(crate) const FIRST_LINE: &[u8] = b"eval-host/pack/v1\n";

/// Behind each content, so that the next line begins a line.
pub(crate) const END_OF_CONTENT: u8 = b'\n';

const SUFFIX: &str = ".pack";

/// What a pack says of one of its objects, in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) digest: Digest,
    pub(crate) length: u64,
}

impl Header {
    /// Most bytes of the line: no object has a length of more digits.
    pub(crate) const MOST_BYTES: usize = 64 + 1 + 8 + 1;

    pub(crate) fn line(self) -> String {
        format!("{} {}\n", self.digest, self.length)
    }

    /// How many bytes the object takes with all that belongs to it.
    pub(crate) fn size(self) -> u64 {
        self.line().len() as u64 + self.length + 1
    }

    /// The header that `bytes` begin with, and the length of its line. A header has one spelling.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let line = &bytes[..bytes.len().min(Self::MOST_BYTES)];
        let end = line.iter().position(|byte| *byte == b'\n')?;
        let (digest, length) = str::from_utf8(&line[..end]).ok()?.split_once(' ')?;
        let is_plain =
            length.bytes().all(|digit| digit.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
        let length = length.parse().ok().filter(|length| is_plain && *length <= MOST_OBJECT_BYTES)?;
        Some((Self { digest: digest.parse().ok()?, length }, end + 1))
    }
}

/// The lines of a pack, as far as they are written or read.
#[derive(Debug, Clone)]
pub(crate) struct Lines(blake3::Hasher);

impl Lines {
    pub(crate) fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(FIRST_LINE);
        Self(hasher)
    }

    pub(crate) fn add(&mut self, line: &[u8]) {
        self.0.update(line);
    }

    pub(crate) fn name(&self) -> PackName {
        PackName(Digest::from_bytes(*self.0.finalize().as_bytes()))
    }
}

/// What a pack is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackName(Digest);

impl PackName {
    /// The pack that a file of this name would be the index of.
    pub(crate) fn of_index(name: &str) -> Option<Self> {
        name.strip_suffix(super::index::SUFFIX)?.parse().ok().map(Self)
    }

    pub(crate) fn index_name(self) -> String {
        format!("{}{}", self.0, super::index::SUFFIX)
    }
}

impl fmt::Display for PackName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SUFFIX}", self.0)
    }
}

impl FromStr for PackName {
    type Err = ParseIdError;

    fn from_str(name: &str) -> Result<Self, ParseIdError> {
        name.strip_suffix(SUFFIX).unwrap_or_default().parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_one_spelling() {
        let header = Header { digest: Digest::of(b"x"), length: 120 };
        let line = header.line();
        let with_content = format!("{line}and its content");
        assert_eq!(Header::parse(with_content.as_bytes()), Some((header, line.len())));
        let digest = header.digest.to_string();
        let wrong = ["0120", "+120", " 120", "120 ", "", "-0", "00", "0x1", "67108865", "99999999999999999999", "1\r"];
        let wrong = wrong.map(|length| format!("{digest} {length}\n"));
        let upper = format!("{} 120\n", digest.to_uppercase());
        for line in wrong.iter().map(String::as_str).chain([&*upper, &line[1..], &line[..line.len() - 1], "", "\n"]) {
            assert_eq!(Header::parse(line.as_bytes()), None, "{line:?}");
        }
        for length in [0, MOST_OBJECT_BYTES] {
            let header = Header { length, ..header };
            assert_eq!(Header::parse(header.line().as_bytes()), Some((header, header.line().len())));
            assert!(header.line().len() <= Header::MOST_BYTES);
        }
    }

    #[test]
    fn a_name_is_read_back_and_nothing_else_is_one() {
        let mut lines = Lines::new();
        lines.add(Header { digest: Digest::of(b"x"), length: 1 }.line().as_bytes());
        let name = lines.name();
        assert_ne!(name, Lines::new().name());
        assert_eq!(name.to_string().parse(), Ok(name));
        for other in ["", ".pack", "x.pack", &name.index_name(), &name.to_string()[1..], &format!("{name}~")] {
            assert!(other.parse::<PackName>().is_err(), "{other}");
        }
    }
}
