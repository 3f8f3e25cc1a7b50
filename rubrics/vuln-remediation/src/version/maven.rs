//! Versions of Maven artifacts, in the order of Maven's own version order specification.

use std::cmp::Ordering;

/// A Maven version: tokens with the separator before them, trailing null tokens trimmed.
#[derive(Debug, Clone)]
pub(super) struct MavenVersion {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    separator: Separator,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Dot,
    Hyphen,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Qualifier(Qualifier),
    Number(u64),
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
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) || text.contains(char::is_whitespace) {
            return None;
        }
        let mut tokens = split(&text.to_ascii_lowercase())?;
        trim(&mut tokens);
        Some(Self { tokens })
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        let number = |token: &Token| match token.value {
            Value::Number(number) => Some(number),
            Value::Qualifier(_) => None,
        };
        let numbers: Vec<u64> = self.tokens.iter().map_while(number).collect();
        if numbers.is_empty() { vec![0] } else { numbers }
    }

    pub(super) fn is_pre_release(&self) -> bool {
        self.tokens.iter().any(|token| matches!(&token.value, Value::Qualifier(q) if *q < Qualifier::Release))
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

impl Token {
    fn is_null(&self) -> bool {
        matches!(self.value, Value::Number(0) | Value::Qualifier(Qualifier::Release))
    }

    /// What a shorter version is filled up with opposite this token.
    fn padding(&self) -> Self {
        let value = match self.separator {
            Separator::Dot => Value::Number(0),
            Separator::Hyphen => Value::Qualifier(Qualifier::Release),
        };
        Self { separator: self.separator, value }
    }

    /// A qualifier comes before `-1`, which comes before `.1`.
    fn rank(&self) -> u8 {
        match (&self.value, self.separator) {
            (Value::Qualifier(_), _) => 0,
            (Value::Number(_), Separator::Hyphen) => 1,
            (Value::Number(_), Separator::Dot) => 2,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| self.value.cmp(&other.value))
    }
}

impl Ord for MavenVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        for index in 0..self.tokens.len().max(other.tokens.len()) {
            let order = match (self.tokens.get(index), other.tokens.get(index)) {
                (Some(own), Some(theirs)) => own.order(theirs),
                (Some(own), None) => own.order(&own.padding()),
                (None, Some(theirs)) => theirs.padding().order(theirs),
                (None, None) => Ordering::Equal,
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
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

fn split(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut separator = Separator::Dot;
    let mut rest = text;
    loop {
        let digits_first = rest.starts_with(|c: char| c.is_ascii_digit());
        let end = rest.find(|c: char| matches!(c, '.' | '-' | '_') || c.is_ascii_digit() != digits_first);
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let before_digit = after.starts_with(|c: char| c.is_ascii_digit());
        tokens.push(Token { separator, value: value(word, before_digit)? });
        let Some(next) = after.chars().next() else {
            return Some(tokens);
        };
        separator = if next == '.' { Separator::Dot } else { Separator::Hyphen };
        rest = if next.is_ascii_alphanumeric() { after } else { &after[1..] };
    }
}

fn value(word: &str, before_digit: bool) -> Option<Value> {
    if word.is_empty() {
        return Some(Value::Number(0));
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return super::semver::number(word).map(Value::Number);
    }
    word.is_ascii().then(|| Value::Qualifier(Qualifier::parse(word, before_digit)))
}

/// Null tokens at the end, and before each hyphen, say nothing and are dropped: `1.0.0-rc1` is `1-rc-1`.
fn trim(tokens: &mut Vec<Token>) {
    let mut end = tokens.len();
    while end > 0 {
        let mut start = end;
        while start > 1 && tokens[start - 1].is_null() {
            start -= 1;
        }
        tokens.drain(start..end);
        end = tokens[..start].iter().rposition(|token| token.separator == Separator::Hyphen).unwrap_or(0);
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
