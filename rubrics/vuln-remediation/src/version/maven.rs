//! Versions of Maven artifacts, in the order of Maven's own `ComparableVersion`.
//!
//! A version is a list of items: numbers, qualifiers, and lists, which begin at a hyphen and where digits and letters meet.
//! Items that say nothing are dropped before a list and at the end.

use std::cmp::Ordering;

/// A Maven version.
#[derive(Debug, Clone)]
pub(super) struct MavenVersion {
    items: Vec<Item>,
}

#[derive(Debug, Clone)]
enum Item {
    Number(u64),
    Qualifier(Qualifier),
    List(Vec<Item>),
}

/// Qualifiers with a meaning, in their order; the release itself is one of them, and unknown ones come after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Qualifier {
    Alpha,
    Beta,
    Milestone,
    Candidate,
    Snapshot,
    Release,
    ServicePack,
    Other(String),
}

impl MavenVersion {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = text.is_ascii() && !text.contains(char::is_whitespace);
        if !plain || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        Parser::default().parse(&text.to_ascii_lowercase()).map(|items| Self { items })
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        let number = |item: &Item| match item {
            Item::Number(number) => Some(*number),
            _ => None,
        };
        let numbers: Vec<u64> = self.items.iter().map_while(number).collect();
        if numbers.is_empty() { vec![0] } else { numbers }
    }

    pub(super) fn is_pre_release(&self) -> bool {
        self.items.iter().any(Item::is_pre_release)
    }
}

impl Qualifier {
    fn parse(word: &str, before_digit: bool) -> Self {
        match word {
            "alpha" => Self::Alpha,
            "beta" => Self::Beta,
            "milestone" => Self::Milestone,
            "a" if before_digit => Self::Alpha,
            "b" if before_digit => Self::Beta,
            "m" if before_digit => Self::Milestone,
            "rc" | "cr" => Self::Candidate,
            "snapshot" => Self::Snapshot,
            "" | "final" | "ga" | "release" => Self::Release,
            "sp" => Self::ServicePack,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Item {
    fn is_pre_release(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Qualifier(qualifier) => *qualifier < Qualifier::Release,
            Self::List(items) => items.iter().any(Self::is_pre_release),
        }
    }

    fn is_null(&self) -> bool {
        match self {
            Self::Number(number) => *number == 0,
            Self::Qualifier(qualifier) => *qualifier == Qualifier::Release,
            Self::List(items) => items.is_empty(),
        }
    }

    /// Against nothing at all.
    fn alone(&self) -> Ordering {
        match self {
            Self::Number(number) => number.cmp(&0),
            Self::Qualifier(qualifier) => qualifier.cmp(&Qualifier::Release),
            Self::List(items) => items.iter().map(Self::alone).find(|order| order.is_ne()).unwrap_or(Ordering::Equal),
        }
    }

    /// A qualifier comes before a list, and a list before a number.
    fn rank(&self) -> u8 {
        match self {
            Self::Qualifier(_) => 0,
            Self::List(_) => 1,
            Self::Number(_) => 2,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(own), Self::Number(theirs)) => own.cmp(theirs),
            (Self::List(own), Self::List(theirs)) => order(own, theirs),
            (Self::Qualifier(own), Self::Qualifier(theirs)) => own.cmp(theirs),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn order(own: &[Item], theirs: &[Item]) -> Ordering {
    let length = own.len().max(theirs.len());
    let at = |index: usize| match (own.get(index), theirs.get(index)) {
        (Some(own), Some(theirs)) => own.order(theirs),
        (Some(own), None) => own.alone(),
        (None, Some(theirs)) => theirs.alone().reverse(),
        (None, None) => Ordering::Equal,
    };
    (0..length).map(at).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

impl Ord for MavenVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.items, &other.items)
    }
}

impl PartialOrd for MavenVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the order, so that `1.0` and `1` are the same version.
impl PartialEq for MavenVersion {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for MavenVersion {}

/// The lists that are open, the outermost first.
struct Parser {
    open: Vec<Vec<Item>>,
}

impl Default for Parser {
    fn default() -> Self {
        Self { open: vec![Vec::new()] }
    }
}

impl Parser {
    fn parse(mut self, text: &str) -> Option<Vec<Item>> {
        let (mut start, mut is_digit) = (0, false);
        for (at, byte) in text.bytes().enumerate() {
            let word = &text[start..at];
            match byte {
                b'.' => {
                    self.item(word, is_digit, false)?;
                    start = at + 1;
                }
                b'-' => {
                    self.item(word, is_digit, false)?;
                    start = at + 1;
                    self.nest();
                }
                _ if byte.is_ascii_digit() == is_digit || word.is_empty() => is_digit = byte.is_ascii_digit(),
                _ => {
                    // A qualifier with a number behind it begins a list, whatever is before it.
                    if !is_digit {
                        self.nest();
                    }
                    self.item(word, is_digit, true)?;
                    (start, is_digit) = (at, !is_digit);
                    self.nest();
                }
            }
        }
        if start < text.len() {
            self.last(&text[start..], is_digit)?;
        }
        Some(self.close())
    }

    fn last(&mut self, word: &str, is_digit: bool) -> Option<()> {
        if !is_digit {
            self.nest();
        }
        self.item(word, is_digit, false)
    }

    /// Begins a list inside the current one, which is where it stays once it is closed.
    fn nest(&mut self) {
        if self.open.last().is_some_and(|items| !items.is_empty()) {
            self.open.push(Vec::new());
        }
    }

    fn item(&mut self, word: &str, is_digit: bool, before_digit: bool) -> Option<()> {
        let item = match (word, is_digit) {
            ("", _) => Item::Number(0),
            (digits, true) => Item::Number(digits.parse().ok()?),
            (word, false) => Item::Qualifier(Qualifier::parse(word, before_digit)),
        };
        self.open.last_mut()?.push(item);
        Some(())
    }

    /// Closes all lists, and drops what says nothing.
    fn close(mut self) -> Vec<Item> {
        let mut inner: Option<Vec<Item>> = None;
        while let Some(mut items) = self.open.pop() {
            items.extend(inner.take().map(Item::List));
            normalize(&mut items);
            inner = Some(items);
        }
        inner.unwrap_or_default()
    }
}

fn normalize(items: &mut Vec<Item>) {
    for at in (0..items.len()).rev() {
        match &items[at] {
            item if item.is_null() => _ = items.remove(at),
            Item::List(_) => {}
            _ => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> MavenVersion {
        MavenVersion::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn the_order_is_that_of_the_specification() {
        let ascending = [
            "1-alpha-1",
            "1-beta-1",
            "1-milestone-1",
            "1-rc-1",
            "1-SNAPSHOT",
            "1",
            "1-sp",
            "1-foo",
            "1-foo-1",
            "1-1",
            "1.0.1",
            "1.1",
            "1.5",
            "1.10.0",
            "2.0-beta9",
            "2.0-rc1",
            "2.0",
            "2.3.1",
        ];
        assert!(ascending.map(version).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn spellings_of_one_version_are_equal() {
        for (a, b) in [("1", "1.0.0"), ("1-ga", "1"), ("1.0.RELEASE", "1"), ("1-cr1", "1-rc-1"), ("1a1", "1-alpha-1")] {
            assert_eq!(version(a), version(b), "{a} {b}");
        }
        assert_eq!(version("5.2.20.RELEASE"), version("5.2.20"));
    }

    #[test]
    fn a_flavour_comes_after_the_plain_release_and_before_the_next() {
        let ascending = ["31.1-jre", "32.0.0-android", "32.0.0-jre", "32.0.1-android", "32.0.1-jre"];
        assert!(ascending.map(version).is_sorted_by(|a, b| a < b));
    }

    /// Sorted by Maven's own implementation; versions in one row are equal.
    #[test]
    fn the_order_is_that_of_mavens_own_implementation() {
        let ascending: [&[&str]; 47] = [
            &["1.0.0-alpha.beta"],
            &["1.0-alpha"],
            &["1.0-alpha-1", "1.0-alpha1", "1.0a1"],
            &["1.0.0-alpha.1"],
            &["1.0-beta2", "1.0-b2"],
            &["1.0-m3", "1.0-milestone-3"],
            &["1.0-rc1", "1.0-cr1", "1.0.RC1"],
            &["1.0-SNAPSHOT"],
            &["1", "1.0", "1.0.0", "1.0-ga", "1.0.Final", "1.0.RELEASE", "1.0-release"],
            &["1.0-sp"],
            &["1.0-sp1", "1.0.SP1"],
            &["1.0.0+build"],
            &["1.0.0_1"],
            &["1a"],
            &["1.0-foo", "1.0.foo"],
            &["1.0-foo2"],
            &["1.0.pfd"],
            &["1.x", "1.0.x"],
            &["1.0-x1"],
            &["1-x.1"],
            &["1-1", "1.0-1"],
            &["1.0-1-foo"],
            &["1.0-20200101.120000-1"],
            &["1.0.0.20200101"],
            &["1.0.1-SNAPSHOT"],
            &["1.1"],
            &["1.2.17"],
            &["1.2.17.redhat-00001"],
            &["1.2.17.redhat-00002"],
            &["1.2.17-redhat-1"],
            &["1.2.18"],
            &["2.0.1"],
            &["2.0.1.AM25"],
            &["2.9.10"],
            &["2.9.10.8"],
            &["2.13.4"],
            &["2.13.4.2"],
            &["4.1.42.Final"],
            &["4.1.42.Final-redhat-00001"],
            &["5.3.18", "5.3.18.RELEASE"],
            &["9.0.0.M1"],
            &["9.0.0.M10"],
            &["9.0.0"],
            &["32.0.1-android"],
            &["32.0.1-jre"],
            &["32.1.0-jre"],
            &["20040616"],
        ];
        for (own_row, row) in ascending.iter().enumerate() {
            for (other_row, others) in ascending.iter().enumerate() {
                for (a, b) in row.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                    assert_eq!(version(a).cmp(&version(b)), own_row.cmp(&other_row), "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn micro_releases_have_a_fourth_number() {
        let ascending = ["2.13.4", "2.13.4.1", "2.13.4.2", "2.13.5", "2.14.0-rc1", "2.14.0"];
        assert!(ascending.map(version).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn only_what_comes_before_its_release_is_a_pre_release() {
        for text in ["2.0-beta9", "3.0.0-M1", "1.0-SNAPSHOT", "1.0.0-rc1", "1.0.0.CR1"] {
            assert!(version(text).is_pre_release(), "{text}");
        }
        for text in ["2.0", "32.0.1-jre", "5.2.20.RELEASE", "1.0-sp1"] {
            assert!(!version(text).is_pre_release(), "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "${x}", "1 2", "-1", "99999999999999999999"] {
            assert!(MavenVersion::parse(text).is_none(), "{text}");
        }
    }
}
