//! Filters lines by a pattern that the caller sends.

use regex::Regex;

/// The lines that match, in their order.
pub fn matching<'a>(pattern: &str, lines: &[&'a str]) -> Result<Vec<&'a str>, regex::Error> {
    let pattern = Regex::new(pattern)?;
    Ok(lines.iter().copied().filter(|line| pattern.is_match(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_matching_lines_are_kept() {
        assert_eq!(matching("^a", &["ab", "ba", "aa"]).unwrap(), ["ab", "aa"]);
    }

    #[test]
    fn a_broken_pattern_is_an_error() {
        assert!(matching("(", &["a"]).is_err());
    }
}
