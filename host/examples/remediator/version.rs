//! One order of versions for every ecosystem: numbers first, then whatever follows them, with pre-releases before the release.
//! It is right for the versions that most packages use, and for no ecosystem's corner cases: `1.0.post1` and `5.3.18.RELEASE` are
//! pre-releases to it.

use std::cmp::Ordering;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// `1.20.3` as numbers, without zeros at the end.
    numbers: Vec<u64>,
    /// What follows: `rc.2` and `rc2` are both `[rc, 2]`. Empty for a release.
    tail: Vec<Part>,
}

/// Numbers are before words, as in a semantic version's pre-release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    /// Reads a version; a leading `v` and build metadata say nothing about its order.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split('+').next().unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (numbers, tail) = text.split_at(end);
        let mut numbers: Vec<u64> = numbers.split('.').filter_map(|number| number.parse().ok()).collect();
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        Self { numbers, tail: parts(tail) }
    }

    pub(crate) fn major(&self) -> u64 {
        self.number(0)
    }

    pub(crate) fn is_pre_release(&self) -> bool {
        !self.tail.is_empty()
    }

    /// The number at a place, which is 0 if it is not written.
    pub(crate) fn number(&self, place: usize) -> u64 {
        self.numbers.get(place).copied().unwrap_or(0)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let release_after_pre_release = self.tail.is_empty().cmp(&other.tail.is_empty());
        self.numbers.cmp(&other.numbers).then(release_after_pre_release).then_with(|| self.tail.cmp(&other.tail))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Runs of digits and runs of letters; everything else separates them.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let same = |c: char| c.is_ascii_alphanumeric() && c.is_ascii_digit() == digits;
        let (part, after) = rest.split_at(rest.find(|c| !same(c)).unwrap_or(rest.len()));
        parts.push(part.parse().map_or_else(|_| Part::Word(part.to_owned()), Part::Number));
        rest = after.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    }
    parts
}
