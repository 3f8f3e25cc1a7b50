//! Cargo's requirements: `1.2`, `^1.2.3`, `~1.2`, `=1.2.3`, `>=1, <2`, `1.*`.

use super::comparator::{ComparatorSet, Partial, operator};

pub(super) fn parse(text: &str) -> Option<ComparatorSet> {
    let mut all = ComparatorSet::default();
    for word in text.split(',') {
        all.0.extend(parse_word(word.trim())?.0);
    }
    Some(all)
}

fn parse_word(word: &str) -> Option<ComparatorSet> {
    // Unlike npm, Cargo takes no `v` before a version.
    let version = word.trim_start_matches(['^', '~', '=', '<', '>', ' ']);
    if !version.starts_with(|c: char| c.is_ascii_digit() || c == '*') {
        return None;
    }
    if let Some(rest) = word.strip_prefix('~') {
        return Some(Partial::parse(rest.trim())?.tilde());
    }
    match operator(word) {
        (Some(operator), rest) => Some(Partial::parse(rest)?.compared(operator)),
        (None, rest) if rest.contains('*') => Some(Partial::parse(rest)?.whole()),
        (None, rest) => Some(Partial::parse(rest.trim_start_matches('^').trim())?.caret()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ecosystem, Requirement, Version};

    fn admits(requirement: &str, version: &str) -> bool {
        let parsed = Requirement::parse(Ecosystem::CratesIo, requirement).unwrap_or_else(|| panic!("{requirement}"));
        parsed.admits(&Version::parse(Ecosystem::CratesIo, version).unwrap())
    }

    #[test]
    fn requirements_admit_what_cargo_admits() {
        let yes = [
            ("1", "1.9.0"),
            ("1.5", "1.5.5"),
            ("0.23.13", "0.23.18"),
            ("0.0.3", "0.0.3"),
            ("^1.2", "1.3.0"),
            ("~1.2", "1.2.9"),
            ("=0.1.0-rc.3", "0.1.0-rc.3"),
            ("0.1.0-rc.2", "0.1.0-rc.3"),
            (">=1.2, <1.5", "1.4.9"),
            ("1.*", "1.9.0"),
            ("*", "0.1.0"),
        ];
        for (requirement, version) in yes {
            assert!(admits(requirement, version), "{requirement} must admit {version}");
        }
    }

    #[test]
    fn requirements_refuse_what_cargo_refuses() {
        let no = [
            ("0.1.12", "0.2.0"),
            ("0.22", "0.23.18"),
            ("1", "2.0.0"),
            ("0.0.3", "0.0.4"),
            ("~1.2", "1.3.0"),
            ("0.1.0", "0.1.0-rc.3"),
            (">=1.2, <1.5", "1.5.0"),
            ("1.*", "2.0.0"),
        ];
        for (requirement, version) in no {
            assert!(!admits(requirement, version), "{requirement} must refuse {version}");
        }
    }

    #[test]
    fn what_is_no_requirement_is_refused() {
        for text in ["", "abc", "1,", "1.2.3.4", "v1.5", "^v1"] {
            assert_eq!(Requirement::parse(Ecosystem::CratesIo, text), None, "{text}");
        }
    }
}
