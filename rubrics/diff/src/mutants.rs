//! Diffs that are worse than a given one, for the tests of rubrics. Never part of a judgement.

use crate::parse::{DiffError, parse};
use std::ops::Range;

/// Every diff that is `diff` without one of its hunks, and without the file's section where that was its only one.
///
/// # Errors
///
/// The first thing in the diff that is malformed.
pub fn without_each_hunk(diff: &str) -> Result<Vec<String>, DiffError> {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let changes = parse(diff)?;
    let mut all = Vec::new();
    for (c, change) in changes.iter().enumerate() {
        let end = changes.get(c + 1).map_or(lines.len() + 1, |next| next.line);
        for (h, hunk) in change.hunks.iter().enumerate() {
            let start = if change.hunks.len() == 1 { change.line } else { hunk.line };
            let end = change.hunks.get(h + 1).map_or(end, |next| next.line);
            all.push(without(&lines, &(start..end)));
        }
    }
    Ok(all)
}

/// The text without the lines of `dropped`, which are counted from 1.
fn without(lines: &[&str], dropped: &Range<usize>) -> String {
    (1..).zip(lines).filter(|(number, _)| !dropped.contains(number)).map(|(_, line)| *line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hunk_goes_once_and_the_last_one_of_a_file_takes_its_section_along() {
        let (names, first, second) = ("--- a/x\n+++ b/x\n", "@@ -1 +0,0 @@\n--- a\n", "@@ -3 +2,0 @@\n-c\n");
        let other = "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-y\n";
        let expected =
            [format!("{names}{second}{other}"), format!("{names}{first}{other}"), [names, first, second].concat()];
        assert_eq!(without_each_hunk(&[names, first, second, other].concat()), Ok(expected.to_vec()));
        assert!(without_each_hunk("nonsense").is_err());
    }
}
