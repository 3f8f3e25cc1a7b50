//! Semantic versions, as npm, Cargo and Go order them.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A semantic version. Build metadata (`+incompatible` in Go) is dropped: it has no part in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Semver {
    numbers: [u64; 3],
    pre: Vec<Identifier>,
}

/// An identifier of a pre-release. Numbers come before words, and are compared as numbers: by length, then by digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(usize, Cow<'static, str>),
    Word(String),
}

impl Semver {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', '=']);
        let text = text.split_once('+').map_or(text, |(version, _build)| version);
        let (numbers, pre) = text.split_once('-').map_or((text, None), |(numbers, pre)| (numbers, Some(pre)));
        let mut parsed = [0; 3];
        for (at, part) in numbers.split('.').enumerate() {
            *parsed.get_mut(at)? = number(part)?;
        }
        let pre = pre.map_or(Some(Vec::new()), |pre| pre.split('.').map(Identifier::parse).collect())?;
        Some(Self { numbers: parsed, pre })
    }

    pub(super) fn of(numbers: [u64; 3]) -> Self {
        Self { numbers, pre: Vec::new() }
    }

    /// The lowest version with these numbers, below all its pre-releases: the upper bound of a caret range.
    pub(super) fn floor_of(numbers: [u64; 3]) -> Self {
        Self { numbers, pre: vec![Identifier::Number(1, Cow::Borrowed("0"))] }
    }

    pub(super) fn numbers(&self) -> [u64; 3] {
        self.numbers
    }

    pub(super) fn is_pre_release(&self) -> bool {
        !self.pre.is_empty()
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver {
    fn cmp(&self, other: &Self) -> Ordering {
        let release_last = || self.pre.is_empty().cmp(&other.pre.is_empty());
        self.numbers.cmp(&other.numbers).then_with(release_last).then_with(|| self.pre.cmp(&other.pre))
    }
}

impl Identifier {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return None;
        }
        if text.chars().all(|c| c.is_ascii_digit()) {
            let digits = text.trim_start_matches('0');
            let number = if digits.is_empty() { Cow::Borrowed("0") } else { Cow::Owned(digits.to_owned()) };
            return Some(Self::Number(digits.len().max(1), number));
        }
        Some(Self::Word(text.to_owned()))
    }
}

/// A number without sign; `u64::from_str` alone would take `+1`.
pub(super) fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Semver {
        Semver::parse(text).unwrap()
    }

    #[test]
    fn the_order_is_that_of_semver_org() {
        let ascending = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.10.0",
            "2.0.0",
        ];
        assert!(ascending.map(version).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn go_pseudo_versions_come_before_the_release_they_precede() {
        let ascending =
            ["v1.3.0", "v1.3.1-0.20190301021747-ccb9e902956d", "v1.3.1-0.20200101000000-aaaaaaaaaaaa", "v1.3.1"];
        assert!(ascending.map(version).is_sorted_by(|a, b| a < b));
        assert_eq!(version("v3.2.0+incompatible"), version("3.2.0"));
    }

    #[test]
    fn missing_numbers_are_zero() {
        assert_eq!(version("1.5"), version("1.5.0"));
        assert_eq!(version("2"), version("2.0.0"));
    }

    #[test]
    fn the_floor_is_below_every_pre_release_with_a_name() {
        assert!(Semver::floor_of([2, 0, 0]) < version("2.0.0-alpha"));
        assert!(Semver::floor_of([2, 0, 0]) > version("1.9.9"));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "1.2.3.4", "1..2", "x", "1.2.3-", "1.2.3-a..b", "+1.2.3", "-1.0.0", "99999999999999999999.0.0"]
        {
            assert_eq!(Semver::parse(text), None, "{text}");
        }
    }
}
