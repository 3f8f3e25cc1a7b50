//! The comparators that npm ranges and Cargo requirements boil down to.

use super::super::semver::{Semver, number};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparator {
    pub(super) operator: Operator,
    pub(super) version: Semver,
}

/// Comparators that must all hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ComparatorSet(pub(super) Vec<Comparator>);

impl Comparator {
    pub(super) fn new(operator: Operator, version: Semver) -> Self {
        Self { operator, version }
    }

    fn admits(&self, version: &Semver) -> bool {
        match self.operator {
            Operator::Less => *version < self.version,
            Operator::LessOrEqual => *version <= self.version,
            Operator::Greater => *version > self.version,
            Operator::GreaterOrEqual => *version >= self.version,
            Operator::Equal => *version == self.version,
        }
    }
}

impl ComparatorSet {
    /// A pre-release is in the set only if a comparator names a pre-release of the same three numbers: npm and Cargo
    /// agree on that.
    pub(super) fn admits(&self, version: &Semver) -> bool {
        let named = |comparator: &Comparator| {
            comparator.version.is_pre_release() && comparator.version.numbers() == version.numbers()
        };
        let pre_release_is_meant = !version.is_pre_release() || self.0.iter().any(named);
        pre_release_is_meant && self.0.iter().all(|comparator| comparator.admits(version))
    }

    pub(super) fn names_pre_release(&self) -> bool {
        // Upper bounds are written with the lowest pre-release; only a lower bound or an exact version is meant.
        let meant = |operator| matches!(operator, Operator::Greater | Operator::GreaterOrEqual | Operator::Equal);
        self.0.iter().any(|comparator| meant(comparator.operator) && comparator.version.is_pre_release())
    }

    pub(super) fn is_exact(&self) -> bool {
        self.0.len() == 1 && self.0[0].operator == Operator::Equal
    }
}

/// A version whose last numbers may be missing or be wildcards.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) major: Option<u64>,
    pub(super) minor: Option<u64>,
    pub(super) patch: Option<u64>,
    full: Option<Semver>,
}

impl Partial {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches(['v', '=']).trim();
        let numbers = text.split(['-', '+']).next().unwrap_or_default();
        if numbers.split('.').count() > 3 {
            return None;
        }
        let mut read = [None; 3];
        for (slot, part) in read.iter_mut().zip(numbers.split('.').filter(|_| !numbers.is_empty())) {
            if matches!(part, "x" | "X" | "*") {
                break;
            }
            *slot = Some(number(part).filter(|_| !part.is_empty())?);
        }
        let [major, minor, patch] = read;
        let full = match read {
            [Some(major), Some(minor), Some(patch)] if numbers == text => Some(Semver::of([major, minor, patch])),
            [_, _, Some(_)] => Some(Semver::parse(text)?),
            _ => None,
        };
        Some(Self { major, minor, patch, full })
    }

    /// The lowest version that is meant.
    pub(super) fn lowest(&self) -> Semver {
        let zero = |part: Option<u64>| part.unwrap_or(0);
        self.full.clone().unwrap_or_else(|| Semver::of([zero(self.major), zero(self.minor), zero(self.patch)]))
    }

    /// The first version after all that are meant, if the partial is bounded above.
    pub(super) fn next(&self) -> Option<Semver> {
        let next = match (self.major?, self.minor, self.patch) {
            (major, None, _) => [major.saturating_add(1), 0, 0],
            (major, Some(minor), None) => [major, minor.saturating_add(1), 0],
            (major, Some(minor), Some(patch)) => [major, minor, patch.saturating_add(1)],
        };
        Some(Semver::floor_of(next))
    }

    pub(super) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// `^`: no change of the first number that is not zero.
    pub(super) fn caret(&self) -> ComparatorSet {
        let upper = match (self.major, self.minor, self.patch) {
            (None, _, _) => return ComparatorSet::default(),
            (Some(0), Some(0), Some(patch)) => [0, 0, patch.saturating_add(1)],
            (Some(0), Some(minor), _) => [0, minor.saturating_add(1), 0],
            (Some(major), _, _) => [major.saturating_add(1), 0, 0],
        };
        self.up_to(Semver::floor_of(upper))
    }

    /// `~`: the minor number stays, where there is one.
    pub(super) fn tilde(&self) -> ComparatorSet {
        match (self.major, self.minor) {
            (None, _) => ComparatorSet::default(),
            (Some(major), None) => self.up_to(Semver::floor_of([major.saturating_add(1), 0, 0])),
            (Some(major), Some(minor)) => self.up_to(Semver::floor_of([major, minor.saturating_add(1), 0])),
        }
    }

    /// All versions that the partial stands for: `1.2` is `1.2.0` to `1.2.x`.
    pub(super) fn whole(&self) -> ComparatorSet {
        if let Some(version) = &self.full {
            return ComparatorSet(vec![Comparator::new(Operator::Equal, version.clone())]);
        }
        match self.next() {
            None => ComparatorSet::default(),
            Some(next) => self.up_to(next),
        }
    }

    fn up_to(&self, upper: Semver) -> ComparatorSet {
        ComparatorSet(vec![
            Comparator::new(Operator::GreaterOrEqual, self.lowest()),
            Comparator::new(Operator::Less, upper),
        ])
    }

    /// A comparison with a partial version: `>1.2` means from `1.3.0` on, `<=1.2` means below `1.3.0`.
    pub(super) fn compared(&self, operator: Operator) -> ComparatorSet {
        let comparator = match (operator, self.next()) {
            (Operator::Equal, _) => return self.whole(),
            (Operator::Greater, Some(next)) if !self.is_full() => Comparator::new(Operator::GreaterOrEqual, next),
            (Operator::LessOrEqual, Some(next)) if !self.is_full() => Comparator::new(Operator::Less, next),
            (Operator::Less, _) if !self.is_full() => {
                Comparator::new(Operator::Less, Semver::floor_of(self.lowest().numbers()))
            }
            (operator, _) => Comparator::new(operator, self.lowest()),
        };
        ComparatorSet(vec![comparator])
    }
}

/// Splits the operator off a comparator.
pub(super) fn operator(text: &str) -> (Option<Operator>, &str) {
    let known = [
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        ("<", Operator::Less),
        ("=", Operator::Equal),
    ];
    for (sign, operator) in known {
        if let Some(rest) = text.strip_prefix(sign) {
            return (Some(operator), rest.trim());
        }
    }
    (None, text)
}
