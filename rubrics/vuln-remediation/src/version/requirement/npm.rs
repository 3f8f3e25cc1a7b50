//! npm's ranges: `^1.2.3 || 2.x`, `1.2.3 - 2.3`, `>=1 <2`.

use super::comparator::{ComparatorSet, Operator, Partial, operator};

pub(super) fn parse(text: &str) -> Option<Vec<ComparatorSet>> {
    // Most ranges are one word.
    if !text.contains(['|', ' ']) && !text.is_empty() {
        return parse_word(text).map(|set| vec![set]);
    }
    text.split("||").map(|alternative| parse_alternative(alternative.trim())).collect()
}

fn parse_alternative(text: &str) -> Option<ComparatorSet> {
    if let Some((from, to)) = text.split_once(" - ") {
        let mut set = Partial::parse(from.trim())?.compared(Operator::GreaterOrEqual);
        set.0.extend(Partial::parse(to.trim())?.compared(Operator::LessOrEqual).0);
        return Some(set);
    }
    let mut all = ComparatorSet::default();
    for word in words(text) {
        all.0.extend(parse_word(&word)?.0);
    }
    Some(all)
}

/// The comparators of an alternative. An operator may stand apart from its version.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut().filter(|last| last.ends_with(['<', '>', '=', '^', '~'])) {
            Some(last) => last.push_str(word),
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn parse_word(word: &str) -> Option<ComparatorSet> {
    if let Some(rest) = word.strip_prefix('^') {
        return Some(Partial::parse(rest)?.caret());
    }
    if let Some(rest) = word.strip_prefix('~') {
        return Some(Partial::parse(rest.trim_start_matches('>'))?.tilde());
    }
    match operator(word) {
        (Some(operator), rest) => Some(Partial::parse(rest)?.compared(operator)),
        (None, rest) => Some(Partial::parse(rest)?.whole()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ecosystem, Requirement, Version};

    fn admits(range: &str, version: &str) -> bool {
        let requirement = Requirement::parse(Ecosystem::Npm, range).unwrap_or_else(|| panic!("{range}"));
        requirement.admits(&Version::parse(Ecosystem::Npm, version).unwrap())
    }

    #[test]
    fn ranges_admit_what_npm_admits() {
        let yes = [
            ("^7.5.0", "7.5.10"),
            ("^0.27.2", "0.27.9"),
            ("^0.0.3", "0.0.3"),
            ("~1.2.3", "1.2.9"),
            ("~1", "1.9.0"),
            ("1.x", "1.9.0"),
            ("*", "3.0.0"),
            ("", "3.0.0"),
            (">=1.2.0 <2", "1.9.9"),
            (">= 1.2.0 < 2", "1.9.9"),
            ("1.2.3 - 2.3", "2.3.9"),
            ("^6.0.0 || ^7.5.2", "7.5.2"),
            (">1.2", "1.3.0"),
            ("<=1.2", "1.2.9"),
            ("=4.19.2", "4.19.2"),
            ("5.0.0-beta.3", "5.0.0-beta.3"),
            ("^5.0.0-beta.1", "5.0.0-beta.3"),
            ("^5.0.0-beta.1", "5.1.0"),
        ];
        for (range, version) in yes {
            assert!(admits(range, version), "{range} must admit {version}");
        }
    }

    #[test]
    fn ranges_refuse_what_npm_refuses() {
        let no = [
            ("^7.5.0", "8.0.0"),
            ("^0.27.2", "0.28.0"),
            ("^0.0.3", "0.0.4"),
            ("~1.2.3", "1.3.0"),
            ("1.2.3 - 2.3", "2.4.0"),
            ("^4.0.0", "5.0.0-beta.3"),
            ("^5.0.0", "5.0.0-beta.3"),
            ("^5.0.0-beta.1", "5.1.0-beta.1"),
            ("^1.0.0", "2.0.0-alpha"),
            (">1.2", "1.2.9"),
            ("<1.2", "1.2.0"),
            ("*", "1.0.0-rc.1"),
        ];
        for (range, version) in no {
            assert!(!admits(range, version), "{range} must refuse {version}");
        }
    }

    #[test]
    fn a_tag_a_path_or_a_repository_is_no_range() {
        for text in ["latest", "file:../x", "github:a/b", "1.2.3.4"] {
            assert_eq!(Requirement::parse(Ecosystem::Npm, text), None, "{text}");
        }
    }

    #[test]
    fn only_a_lower_bound_that_is_a_pre_release_names_one() {
        let names = |text| Requirement::parse(Ecosystem::Npm, text).unwrap().names_pre_release();
        assert!(names("^5.0.0-beta.1"));
        assert!(!names("^5.0.0"));
        assert!(!names("1.x"));
    }
}
