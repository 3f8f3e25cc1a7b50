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
        return file.kind == Kind::Modify && !is_reformatted(file, by_reference);
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
    let same: BTreeSet<&str> = file.removed().filter(|line| file.added().any(|added| added == *line)).collect();
    let added: BTreeSet<String> = file.added().filter(|line| !same.contains(line)).map(squeezed).collect();
    let by_reference = |line: &str| reference.is_some_and(|reference| reference.removed().any(|r| r == line));
    file.removed().any(|line| {
        let has_words = line.contains(|c: char| c.is_alphanumeric());
        has_words && !same.contains(line) && added.contains(&squeezed(line)) && !by_reference(line)
    })
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
