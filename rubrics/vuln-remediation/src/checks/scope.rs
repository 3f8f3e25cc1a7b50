//! Whether the patch stays with what the fix needs: files, and parts of files.

use std::collections::BTreeSet;

use eval_diff::{Change, Operation};

use super::{Patched, doubled};
use crate::case::EVIDENCE;
use crate::failure::{Failure, Failures};

/// Checks every file that the patch touches.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) {
    for file in &patched.applied.changes {
        if EVIDENCE.contains(&file.path()) {
            failures.add(Failure::EvidenceChanged, format!("the patch edits `{}`", file.path()));
        } else if !is_in_scope(patched, file) {
            let what = "changes in a way that the fix does not need";
            failures.add(Failure::UnrelatedChange, format!("`{}` {what}", file.path()));
        }
    }
    check_remainder(patched, failures);
    doubled::check(patched, failures);
}

fn is_in_scope(patched: &Patched<'_>, file: &Change) -> bool {
    let by_reference = patched.reference.applied.change(file.path());
    if patched.case.before.files.contains(file.path()) {
        return matches!(file.operation, Operation::Modify(_))
            && !is_reformatted(file, by_reference)
            && !is_idle(file)
            && !drops_comment(file, by_reference);
    }
    match by_reference {
        Some(reference) => {
            file.operation == reference.operation
                && churn(file) <= allowed_churn(reference)
                && !is_reformatted(file, by_reference)
        }
        None => patched.reference.rules.may_touch.iter().any(|path| path == file.path()),
    }
}

/// Lines taken out and put in.
fn churn(file: &Change) -> usize {
    file.removed().count() + file.added().count()
}

/// There is more than one way to write the same change, so some more lines than the reference's are fine.
fn allowed_churn(reference: &Change) -> usize {
    churn(reference) * 2 + 6
}

/// Whether a line with words in it changes in its blanks only, which the reference does not do.
fn is_reformatted(file: &Change, reference: Option<&Change>) -> bool {
    let squeezed = |line: &str| line.split_whitespace().collect::<String>();
    let added: BTreeSet<&str> = file.added().collect();
    let removed: BTreeSet<&str> = file.removed().collect();
    let rewritten: BTreeSet<String> = added.difference(&removed).map(|line| squeezed(line)).collect();
    let by_reference: BTreeSet<&str> = reference.into_iter().flat_map(Change::removed).collect();
    removed.difference(&added).any(|line| {
        let has_words = line.contains(|c: char| c.is_alphanumeric());
        has_words && !by_reference.contains(line) && rewritten.contains(&squeezed(line))
    })
}

/// Whether nothing but blank lines and comments change.
fn is_idle(file: &Change) -> bool {
    file.added().chain(file.removed()).all(|line| line.trim().is_empty() || is_comment(line))
}

/// Whether a comment goes that the reference leaves. One that says who asks for a package follows from the tree.
fn drops_comment(file: &Change, reference: Option<&Change>) -> bool {
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
    for (label, text) in &patched.project.altered {
        if patched.reference.project.altered.get(label) != Some(text) {
            let what = "says something else besides dependencies than before";
            failures.add(Failure::UnrelatedChange, format!("`{label}` {what}"));
        }
    }
    for (label, text) in &patched.project.natures {
        if patched.reference.project.natures.get(label).is_some_and(|wanted| wanted != text) {
            failures.add(Failure::UnrelatedChange, format!("`{label}` is not the entry that the fix has there"));
        }
    }
    let added = patched.project.files.difference(&patched.case.before.files);
    for path in added.filter(|path| !patched.reference.project.files.contains(*path)) {
        failures.add(Failure::UnrelatedChange, format!("`{path}` is a dependency file that was not there"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(hunk: &str) -> Change {
        let old: String = hunk.split_inclusive('\n').filter_map(|line| line.strip_prefix('-')).collect();
        let (removed, added) = (old.lines().count(), hunk.lines().filter(|line| line.starts_with('+')).count());
        let diff = format!("--- a/x\n+++ b/x\n@@ -{},{removed} +1,{added} @@\n{hunk}", removed.min(1));
        eval_diff::apply(&[("x", old)].into(), &diff).unwrap().changes.remove(0)
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
