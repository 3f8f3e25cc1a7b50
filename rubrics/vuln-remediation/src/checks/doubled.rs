//! Lines that come to stand twice in a row.

use std::collections::{BTreeMap, BTreeSet};

use eval_diff::{Applied, Tree};

use super::Patched;
use crate::failure::{Failure, Failures};
use eval_syntax::bytes::{common_end, common_start};

/// No line comes to stand twice in a row, unless the reference writes it so.
pub(super) fn check(patched: &Patched<'_>, failures: &mut Failures) {
    let [own, wanted] =
        [patched.applied, &patched.reference.applied].map(|applied| doubled(&patched.case.input, applied));
    for (path, line) in own.difference(&wanted) {
        failures.add(Failure::UnrelatedChange, format!("`{path}` has the line `{line}` twice in a row"));
    }
}

/// The paths and lines. Only where a file changes is looked at, because a lock file is long.
fn doubled(input: &Tree, applied: &Applied) -> BTreeSet<(String, String)> {
    let (mut before, mut after) = (Tree::new(), Tree::new());
    // Whoever reads JSON refuses a key that is there twice.
    for path in applied.changed_paths().into_iter().filter(|path| !path.ends_with(".json")) {
        let Some(is) = applied.tree.text(path) else { continue };
        let (was, is) = differing(input.text(path).unwrap_or_default(), is);
        before.insert(path, was);
        after.insert(path, is);
    }
    let changed = Applied { tree: after, changes: applied.changes.clone() };
    let texts = changed.tree.texts().map(|(path, text)| (path, text.lines().collect::<Vec<_>>()));
    let lines: BTreeMap<&str, Vec<&str>> = texts.collect();
    let line = |(path, number): (&str, usize)| (path.to_owned(), lines[path][number - 1].trim().to_owned());
    changed.doubled_lines(&before).into_iter().map(line).collect()
}

/// The lines in which two texts differ, with the line before them and at least the line after them.
fn differing<'a>(was: &'a str, is: &'a str) -> (&'a str, &'a str) {
    let start = common_start(was.as_bytes(), is.as_bytes());
    let end = common_end(&was.as_bytes()[start..], &is.as_bytes()[start..]);
    (with_a_line_around(was, start, was.len() - end), with_a_line_around(is, start, is.len() - end))
}

fn with_a_line_around(text: &str, start: usize, end: usize) -> &str {
    let bytes = text.as_bytes();
    let line_start = |at: usize| bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line_end = |at: usize| bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |n| at + n + 1);
    &text[line_start(line_start(start).saturating_sub(1))..line_end(line_end(end))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(was: &str, is: &str) -> Vec<String> {
        let count = |text: &str| text.lines().count();
        let mut diff = format!("--- a/x\n+++ b/x\n@@ -1,{} +1,{} @@\n", count(was), count(is));
        was.lines().for_each(|line| diff.extend(["-", line, "\n"]));
        is.lines().for_each(|line| diff.extend(["+", line, "\n"]));
        let input: Tree = [("x", was)].into();
        let applied = eval_diff::apply(&input, &diff).unwrap();
        doubled(&input, &applied).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn only_lines_around_a_change_are_looked_at() {
        let (was, is) = ("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n");
        assert_eq!(differing(was, is), ("c\nd\ne\n", "c\nD\ne\n"));
        assert_eq!(differing(was, &was[4..]), ("a\nb\nc\nd\n", "c\nd\n"));
        assert_eq!(differing("é\n", "è\n"), ("é\n", "è\n"));
        assert_eq!(differing("a", ""), ("a", ""));
    }

    #[test]
    fn a_line_that_comes_to_stand_twice_is_found_at_every_edge() {
        assert_eq!(lines("a\nb\nc\n", "a\nb\nb\nc\n"), ["b"]);
        assert_eq!(lines("a\nb\nc\n", "a\na\nb\nc\n"), ["a"]);
        assert_eq!(lines("a\nb\nc\n", "a\nb\nc\nc\n"), ["c"]);
        assert_eq!(lines("a\nx\na\nc\n", "a\na\nc\n"), ["a"]);
        assert_eq!(lines("a\na\nb\nc\n", "a\na\nb\nd\n"), [""; 0]);
    }
}
