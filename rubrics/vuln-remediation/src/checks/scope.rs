//! Whether the patch stays with what the fix needs: files, and parts of files.

use std::collections::BTreeSet;

use super::Patched;
use crate::case::EVIDENCE;
use crate::diff::{FileDiff, Kind};
use crate::failure::{Failure, Failures};

/// Checks every file that the patch touches.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) {
    for file in &patched.diff.files {
        if EVIDENCE.contains(&file.path.as_str()) {
            failures.insert(Failure::EvidenceChanged);
        } else if !is_in_scope(patched, file) {
            failures.insert(Failure::UnrelatedChange);
        }
    }
    check_remainder(patched, failures);
}

fn is_in_scope(patched: &Patched<'_>, file: &FileDiff) -> bool {
    let by_reference = patched.reference.diff.file(&file.path);
    if patched.case.before.files.contains(&file.path) {
        return file.kind == Kind::Modify
            && !is_reformatted(file, by_reference)
            && !is_idle(file)
            && !drops_comment(file, by_reference);
    }
    match by_reference {
        Some(reference) => {
            file.kind == reference.kind
                && churn(file) <= allowed_churn(reference)
                && !is_reformatted(file, by_reference)
        }
        None => patched.reference.rules.may_touch.contains(&file.path),
    }
}

/// Lines taken out and put in.
fn churn(file: &FileDiff) -> usize {
    file.removed().count() + file.added().count()
}

/// There is more than one way to write the same change, so some more lines than the reference's are fine.
fn allowed_churn(reference: &FileDiff) -> usize {
    churn(reference) * 2 + 6
}

/// Whether a line with words in it changes in its blanks only, which the reference does not do.
fn is_reformatted(file: &FileDiff, reference: Option<&FileDiff>) -> bool {
    let squeezed = |line: &str| line.split_whitespace().collect::<String>();
    let added: BTreeSet<&str> = file.added().collect();
    let removed: BTreeSet<&str> = file.removed().collect();
    let rewritten: BTreeSet<String> = added.difference(&removed).map(|line| squeezed(line)).collect();
    let by_reference: BTreeSet<&str> = reference.into_iter().flat_map(FileDiff::removed).collect();
    removed.difference(&added).any(|line| {
        let has_words = line.contains(|c: char| c.is_alphanumeric());
        has_words && !by_reference.contains(line) && rewritten.contains(&squeezed(line))
    })
}

/// Whether nothing but blank lines and comments change.
fn is_idle(file: &FileDiff) -> bool {
    file.added().chain(file.removed()).all(|line| line.trim().is_empty() || is_comment(line))
}

/// Whether a comment goes that the reference leaves. One that says who asks for a package follows from the tree.
fn drops_comment(file: &FileDiff, reference: Option<&FileDiff>) -> bool {
    let added: BTreeSet<&str> = file.added().map(str::trim).collect();
    let stays = |line: &str| added.contains(line.trim());
    let by_reference = |line: &str| reference.is_some_and(|reference| reference.removed().any(|r| r == line));
    let says_origin = |line: &str| line.trim().starts_with("# via") || line.trim().starts_with("#   ");
    file.removed().any(|line| is_comment(line) && !stays(line) && !by_reference(line) && !says_origin(line))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('#') || line.starts_with("//") || line.starts_with("<!--")
}

/// What dependency files say besides dependencies is what they said, or what the reference makes of it.
fn check_remainder(patched: &Patched<'_>, failures: &mut Failures) {
    let (before, reference) = (&patched.case.before.remainder, &patched.reference.project.remainder);
    for (label, text) in &patched.project.remainder {
        // What the input does not have belongs to a file or a package version that the patch brings in.
        let Some(was) = before.get(label) else { continue };
        if text != was && reference.get(label) != Some(text) {
            failures.insert(Failure::UnrelatedChange);
        }
    }
    let added = patched.project.files.difference(&patched.case.before.files);
    if added.into_iter().any(|path| !patched.reference.project.files.contains(path)) {
        failures.insert(Failure::UnrelatedChange);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff;

    fn file(hunk: &str) -> FileDiff {
        let removed = hunk.lines().filter(|line| !line.starts_with('+')).count();
        let added = hunk.lines().filter(|line| !line.starts_with('-')).count();
        let text = format!("--- a/x\n+++ b/x\n@@ -1,{removed} +1,{added} @@\n{hunk}");
        diff::parse(&text).unwrap().files.remove(0)
    }

    #[test]
    fn a_line_that_changes_in_its_blanks_only_is_reformatted() {
        assert!(is_reformatted(&file("-  \"a\": 1\n+    \"a\": 1\n"), None));
        assert!(!is_reformatted(&file("-  \"a\": 1\n+  \"a\": 2\n"), None));
        assert!(!is_reformatted(&file("-  },\n+    },\n"), None), "braces move with what they enclose");
        let by_reference = file("-  \"a\": 1\n+  \"b\": 1\n");
        assert!(!is_reformatted(&file("-  \"a\": 1\n+    \"a\": 1\n"), Some(&by_reference)));
    }

    #[test]
    fn blank_lines_and_comments_alone_are_no_reason_to_touch_a_file() {
        assert!(is_idle(&file("+\n")));
        assert!(is_idle(&file("+# note\n")));
        assert!(is_idle(&file("-<!-- note -->\n")));
        assert!(!is_idle(&file("+# note\n-a = 1\n+a = 2\n")));
    }

    #[test]
    fn a_comment_may_come_but_not_go() {
        assert!(!drops_comment(&file("+# why\n-a = 1\n+a = 2\n"), None));
        assert!(drops_comment(&file("-# why\n-a = 1\n+a = 2\n"), None));
        assert!(!drops_comment(&file("-    # via requests\n-a==1\n+a==2\n"), None));
    }
}
