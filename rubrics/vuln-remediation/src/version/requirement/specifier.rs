//! PEP 440's specifiers: `>=2.31,<3`, `==2.32.*`, `~=1.26.17`, `!=2.0.5`, `===1.0`.

use super::super::pep440::Pep440;

/// One clause of a specifier set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Specifier {
    operator: Operator,
    version: Pep440,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    /// `== 1.4.*`
    StartsWith(Vec<u64>),
    /// `!= 1.4.*`
    StartsOtherwise(Vec<u64>),
    /// `~= 1.4.2`: at least that, and within `1.4.*`.
    Compatible(Vec<u64>),
    /// `===`: the same text.
    Verbatim,
}

pub(super) fn parse(text: &str) -> Option<Vec<Specifier>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|clause| Specifier::parse(clause.trim())).collect()
}

impl Specifier {
    fn parse(clause: &str) -> Option<Self> {
        const SIGNS: [&str; 8] = ["===", "==", "!=", "~=", "<=", ">=", "<", ">"];
        let sign = SIGNS.into_iter().find(|sign| clause.starts_with(sign))?;
        let text = clause[sign.len()..].trim();
        let prefix = text.strip_suffix(".*");
        let version = Pep440::parse(prefix.unwrap_or(text))?;
        let operator = match (sign, prefix) {
            ("===", _) => Operator::Verbatim,
            ("==", None) => Operator::Equal,
            ("==", Some(prefix)) => Operator::StartsWith(numbers(prefix)?),
            ("!=", None) => Operator::NotEqual,
            ("!=", Some(prefix)) => Operator::StartsOtherwise(numbers(prefix)?),
            ("~=", None) => Operator::Compatible(compatible_prefix(text)?),
            ("<=", None) => Operator::LessOrEqual,
            (">=", None) => Operator::GreaterOrEqual,
            ("<", None) => Operator::Less,
            (">", None) => Operator::Greater,
            _ => return None,
        };
        Some(Self { operator, version, text: text.to_owned() })
    }

    /// Whether a version fits. That a pre-release fits only where one is named is the installer's rule, not this one's.
    pub(super) fn admits(&self, version: &Pep440, text: &str) -> bool {
        let starts = |prefix: &[u64]| version.starts_with(self.version.epoch(), prefix);
        match &self.operator {
            Operator::Verbatim => text == self.text,
            Operator::Equal => *version == self.version || version.public() == self.version,
            Operator::NotEqual => version.public() != self.version,
            Operator::StartsWith(prefix) => starts(prefix),
            Operator::StartsOtherwise(prefix) => !starts(prefix),
            Operator::Compatible(prefix) => *version >= self.version && starts(prefix),
            Operator::LessOrEqual => version.public() <= self.version,
            Operator::GreaterOrEqual => version.public() >= self.version,
            Operator::Less => *version < self.version && !self.is_preview_of_bound(version),
            Operator::Greater => *version > self.version && !self.is_rebuild_of_bound(version),
        }
    }

    /// `<3` does not mean `3rc1`, unless the bound is itself a pre-release.
    fn is_preview_of_bound(&self, version: &Pep440) -> bool {
        !self.version.is_pre_release() && version.is_pre_release() && version.base() == self.version.base()
    }

    /// `>3` means neither `3.post1` nor `3+local`, unless the bound is itself a post-release.
    fn is_rebuild_of_bound(&self, version: &Pep440) -> bool {
        let rebuilt = version.is_post_release() && !self.version.is_post_release();
        (rebuilt && version.base() == self.version.base()) || version.public() == self.version
    }

    pub(super) fn names_pre_release(&self) -> bool {
        let meant = !matches!(self.operator, Operator::NotEqual | Operator::StartsOtherwise(_) | Operator::Less);
        meant && self.version.is_pre_release()
    }

    pub(super) fn is_exact(&self) -> bool {
        matches!(self.operator, Operator::Equal | Operator::Verbatim)
    }
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    let text = text.rsplit('!').next().unwrap_or(text);
    text.split('.').map(super::super::semver::number).collect()
}

/// `1.4.2` is compatible within `1.4`; a single number has no such prefix.
fn compatible_prefix(text: &str) -> Option<Vec<u64>> {
    let release: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut numbers = numbers(release.trim_end_matches('.'))?;
    numbers.pop();
    if numbers.is_empty() { None } else { Some(numbers) }
}

#[cfg(test)]
mod tests {
    use super::super::{Ecosystem, Requirement, Version};

    fn admits(specifier: &str, version: &str) -> bool {
        let requirement = Requirement::parse(Ecosystem::PyPi, specifier).unwrap_or_else(|| panic!("{specifier}"));
        requirement.admits(&Version::parse(Ecosystem::PyPi, version).unwrap())
    }

    #[test]
    fn specifiers_admit_what_pep_440_admits() {
        let yes = [
            ("", "1.0"),
            ("==2.32.2", "2.32.2"),
            ("==2.32", "2.32.0"),
            ("==2.32.*", "2.32.9"),
            (">=2.31,<3", "2.32.2"),
            ("~=1.26.5", "1.26.17"),
            ("~=1.26", "1.99"),
            ("!=2.0.5", "2.0.6"),
            (">=2023.07.22", "2023.7.22"),
            ("==1.0", "1.0+local"),
            ("<3", "2.9"),
            (">=5.0a1", "5.0a2"),
            ("===1.0", "1.0"),
        ];
        for (specifier, version) in yes {
            assert!(admits(specifier, version), "{specifier} must admit {version}");
        }
    }

    #[test]
    fn specifiers_refuse_what_pep_440_refuses() {
        let no = [
            ("==2.32.*", "2.33.0"),
            ("~=1.26.5", "1.27.0"),
            ("~=1.26.5", "1.26.4"),
            ("!=2.0.5", "2.0.5"),
            ("!=2.0.*", "2.0.5"),
            ("<3", "3rc1"),
            (">3", "3.post1"),
            (">3", "3+local"),
            ("===1.0", "1.0.0"),
            (">=2,<2.0.6", "2.0.6"),
        ];
        for (specifier, version) in no {
            assert!(!admits(specifier, version), "{specifier} must refuse {version}");
        }
    }

    #[test]
    fn what_is_no_specifier_is_refused() {
        for text in ["2.31", "=2", ">=x", "~=2", ">=2.*", "==1.0,"] {
            assert_eq!(Requirement::parse(Ecosystem::PyPi, text), None, "{text}");
        }
    }

    #[test]
    fn only_an_exact_clause_makes_a_pin() {
        let exact = |text| Requirement::parse(Ecosystem::PyPi, text).unwrap().is_exact();
        assert!(exact("==1.0"));
        assert!(!exact("==1.0.*"));
        assert!(!exact(">=1.0"));
    }
}
