//! Versions of Python packages, as PEP 440 orders them.

/// A PEP 440 version. The order of the fields is the order of comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pep440 {
    epoch: u64,
    /// Without trailing zeros: `1.0` and `1.0.0` are the same release.
    release: Vec<u64>,
    pre: Bound<(Phase, u64)>,
    post: Bound<u64>,
    dev: Bound<u64>,
    local: Bound<Vec<LocalPart>>,
}

/// A segment that may be missing; what a missing one means differs from segment to segment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Bound<T> {
    Lowest,
    At(T),
    Highest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Alpha,
    Beta,
    Candidate,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum LocalPart {
    Word(String),
    Number(u64),
}

impl Pep440 {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let text = lower.strip_prefix('v').unwrap_or(&lower);
        let (text, local) = match text.split_once('+') {
            Some((public, local)) => (public, Bound::At(parse_local(local)?)),
            None => (text, Bound::Lowest),
        };
        let (epoch, text) = match text.split_once('!') {
            Some((epoch, rest)) => (digits(epoch)?, rest),
            None => (0, text),
        };
        let (release, suffix) = split_release(text)?;
        let suffixes = Suffixes::parse(suffix)?;
        let (pre, post, dev) = suffixes.into_bounds();
        Some(Self { epoch, release, pre, post, dev, local })
    }

    pub(super) fn numbers(&self) -> &[u64] {
        &self.release
    }

    pub(super) fn is_pre_release(&self) -> bool {
        matches!(self.pre, Bound::At(_)) || matches!(self.dev, Bound::At(_))
    }

    pub(super) fn is_post_release(&self) -> bool {
        matches!(self.post, Bound::At(_))
    }

    /// Whether the release numbers begin with the given ones, as `== 1.4.*` asks.
    pub(super) fn starts_with(&self, epoch: u64, prefix: &[u64]) -> bool {
        let own = |index: usize| self.release.get(index).copied().unwrap_or(0);
        self.epoch == epoch && prefix.iter().enumerate().all(|(index, number)| own(index) == *number)
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The same version without its pre, post, dev and local parts.
    pub(super) fn base(&self) -> Self {
        Self { pre: Bound::Highest, post: Bound::Lowest, dev: Bound::Highest, local: Bound::Lowest, ..self.clone() }
    }

    /// The same version without its local part, which a specifier without one ignores.
    pub(super) fn public(&self) -> Self {
        Self { local: Bound::Lowest, ..self.clone() }
    }
}

/// What can follow the release numbers.
#[derive(Default)]
struct Suffixes {
    pre: Option<(Phase, u64)>,
    post: Option<u64>,
    dev: Option<u64>,
}

impl Suffixes {
    fn parse(mut rest: &str) -> Option<Self> {
        let mut found = Self::default();
        while !rest.is_empty() {
            let implicit_post = rest.strip_prefix('-').filter(|after| after.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(after) = implicit_post {
                let (number, after) = leading_number(after);
                found.set("post", number)?;
                rest = after;
                continue;
            }
            let word_start = rest.trim_start_matches(['.', '-', '_']);
            let word_end = word_start.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(word_start.len());
            let (word, after) = word_start.split_at(word_end);
            let (number, after) = leading_number(after.trim_start_matches(['.', '-', '_']));
            found.set(word, number)?;
            rest = after;
        }
        Some(found)
    }

    fn set(&mut self, word: &str, number: Option<u64>) -> Option<()> {
        let number = number.unwrap_or(0);
        let phase = match word {
            "a" | "alpha" => Phase::Alpha,
            "b" | "beta" => Phase::Beta,
            "c" | "rc" | "pre" | "preview" => Phase::Candidate,
            "post" | "rev" | "r" => return self.post.replace(number).is_none().then_some(()),
            "dev" => return self.dev.replace(number).is_none().then_some(()),
            _ => return None,
        };
        self.pre.replace((phase, number)).is_none().then_some(())
    }

    /// PEP 440: `1.0.dev1` comes before `1.0a1`, which comes before `1.0`, which comes before `1.0.post1`.
    fn into_bounds(self) -> (Bound<(Phase, u64)>, Bound<u64>, Bound<u64>) {
        let pre = match (self.pre, self.post, self.dev) {
            (Some(pre), _, _) => Bound::At(pre),
            (None, None, Some(_)) => Bound::Lowest,
            (None, _, _) => Bound::Highest,
        };
        (pre, self.post.map_or(Bound::Lowest, Bound::At), self.dev.map_or(Bound::Highest, Bound::At))
    }
}

fn split_release(text: &str) -> Option<(Vec<u64>, &str)> {
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let (number, after) = leading_number(rest);
        numbers.push(number?);
        match after.strip_prefix('.').filter(|next| next.starts_with(|c: char| c.is_ascii_digit())) {
            Some(next) => rest = next,
            None => {
                let kept = numbers.iter().rposition(|number| *number != 0).map_or(1, |last| last + 1);
                numbers.truncate(kept);
                return Some((numbers, after));
            }
        }
    }
}

fn leading_number(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (digits(number), rest)
}

fn digits(text: &str) -> Option<u64> {
    if text.is_empty() { None } else { super::semver::number(text) }
}

fn parse_local(text: &str) -> Option<Vec<LocalPart>> {
    let part = |part: &str| match digits(part) {
        Some(number) => Some(LocalPart::Number(number)),
        None if !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric()) => {
            Some(LocalPart::Word(part.to_owned()))
        }
        None => None,
    };
    text.split(['.', '-', '_']).map(part).collect()
}

/// PEP 503: case does not matter, and runs of `-`, `_` and `.` are one `-`.
pub(super) fn canonical_name(name: &str) -> String {
    let mut canonical = String::with_capacity(name.len());
    for c in name.trim().chars() {
        match c {
            '-' | '_' | '.' if canonical.ends_with('-') => {}
            '-' | '_' | '.' => canonical.push('-'),
            other => canonical.push(other.to_ascii_lowercase()),
        }
    }
    canonical
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Pep440 {
        Pep440::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn the_order_is_that_of_pep_440() {
        let ascending = [
            "1.0.dev456",
            "1.0a1",
            "1.0a2.dev456",
            "1.0a12.dev456",
            "1.0a12",
            "1.0b1.dev456",
            "1.0b2",
            "1.0b2.post345.dev456",
            "1.0b2.post345",
            "1.0rc1.dev456",
            "1.0rc1",
            "1.0",
            "1.0+abc.5",
            "1.0+abc.7",
            "1.0+5",
            "1.0.post456.dev34",
            "1.0.post456",
            "1.0.15",
            "1.1.dev1",
            "2023.7.22",
            "1!0.1",
        ];
        assert!(ascending.map(version).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn spellings_of_one_version_are_equal() {
        for (a, b) in [("1.0", "1.0.0"), ("1.0-RC-1", "1.0rc1"), ("1.0-1", "1.0.post1"), ("v1.1alpha", "1.1a0")] {
            assert_eq!(version(a), version(b), "{a} {b}");
        }
        assert_eq!(version("2023.07.22"), version("2023.7.22"));
    }

    #[test]
    fn only_previews_and_development_versions_are_pre_releases() {
        assert!(version("5.0a1").is_pre_release());
        assert!(version("5.0.dev1").is_pre_release());
        assert!(!version("5.0.post1").is_pre_release());
        assert!(!version("5.0").is_pre_release());
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "x", "1.0.x", "1.0a1a2", "1.0+", "french toast", "1.0-"] {
            assert_eq!(Pep440::parse(text), None, "{text}");
        }
    }
}
