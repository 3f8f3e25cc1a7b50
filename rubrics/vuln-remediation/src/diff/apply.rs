//! Applying a diff: every hunk where it says, or an error.

use super::{Diff, FileDiff, Hunk, Kind};
use crate::tree::Tree;

/// Why a diff does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("`{path}` is not in the project")]
    Missing { path: String },
    #[error("`{path}` is already in the project")]
    Exists { path: String },
    #[error("`{path}`: the hunk after line {skip} does not match the file")]
    Mismatch { path: String, skip: usize },
    #[error("`{path}` is deleted, but the diff does not remove all of it")]
    LeftOver { path: String },
    #[error("`{path}` would be both a file and a folder")]
    FileAndFolder { path: String },
}

/// The project after the diff. The given one is not changed.
///
/// # Errors
///
/// [`ApplyError`] with the file at which it stopped.
pub fn apply(diff: &Diff, project: &Tree) -> Result<Tree, ApplyError> {
    let mut after = project.clone();
    for file in &diff.files {
        apply_file(file, project, &mut after)?;
    }
    let mut previous: Option<&String> = None;
    for path in after.keys() {
        let below = |folder: &&String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        if previous.as_ref().is_some_and(below) {
            return Err(ApplyError::FileAndFolder { path: path.clone() });
        }
        previous = Some(path);
    }
    Ok(after)
}

fn apply_file(file: &FileDiff, project: &Tree, after: &mut Tree) -> Result<(), ApplyError> {
    let path = file.path.clone();
    let old = match (file.kind, project.get(&file.path)) {
        (Kind::Create, Some(_)) => return Err(ApplyError::Exists { path }),
        (Kind::Create, None) => "",
        (Kind::Modify | Kind::Delete, Some(text)) => text,
        (Kind::Modify | Kind::Delete, None) => return Err(ApplyError::Missing { path }),
    };
    let new = patched(file, old)?;
    match file.kind {
        Kind::Delete if !new.is_empty() => return Err(ApplyError::LeftOver { path }),
        Kind::Delete => after.remove(&path),
        Kind::Create | Kind::Modify => after.insert(path, new),
    };
    Ok(())
}

fn patched(file: &FileDiff, old: &str) -> Result<String, ApplyError> {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let mut new = String::with_capacity(old.len());
    let mut done = 0;
    for hunk in &file.hunks {
        let mismatch = || ApplyError::Mismatch { path: file.path.clone(), skip: hunk.skip };
        let untouched = lines.get(done..hunk.skip).ok_or_else(mismatch)?;
        new.extend(untouched.iter().copied());
        done = matched(hunk, &lines).ok_or_else(mismatch)?;
        new.extend(hunk.lines.iter().filter_map(|line| line.in_new()));
    }
    new.extend(lines[done..].iter().copied());
    Ok(new)
}

/// Where the hunk ends in the old file, if its old lines are there.
fn matched(hunk: &Hunk, lines: &[&str]) -> Option<usize> {
    let mut at = hunk.skip;
    for old in hunk.lines.iter().filter_map(|line| line.in_old()) {
        if *lines.get(at)? != old {
            return None;
        }
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn project() -> Tree {
        let files = [("x", "a\nb\nc\nd\ne\n"), ("end", "a\nb"), ("folder/y", "y\n")];
        files.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
    }

    fn applied(diff: &str) -> Result<Tree, ApplyError> {
        apply(&parse(diff).unwrap(), &project())
    }

    #[test]
    fn hunks_replace_insert_and_remove_lines() {
        let after =
            applied("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -3,0 +4 @@\n+new\n@@ -5 +6,0 @@\n-e\n").unwrap();
        assert_eq!(after["x"], "A\nb\nc\nnew\nd\n");
    }

    #[test]
    fn a_file_is_created_and_deleted_whole() {
        let after =
            applied("--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+z\n--- a/folder/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n");
        let after = after.unwrap();
        assert_eq!(after["z"], "z\n");
        assert!(!after.contains_key("folder/y"));
    }

    #[test]
    fn a_missing_last_newline_is_part_of_the_line() {
        let with = "--- a/end\n+++ b/end\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n";
        assert_eq!(applied(with).unwrap()["end"], "a\nB\n");
        let without = "--- a/end\n+++ b/end\n@@ -2 +2 @@\n-b\n+B\n";
        assert!(matches!(applied(without), Err(ApplyError::Mismatch { .. })));
    }

    #[test]
    fn context_that_differs_or_is_elsewhere_does_not_match() {
        let wrong = [
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a \n-b\n+B\n",
            "--- a/x\n+++ b/x\n@@ -2,2 +2,2 @@\n a\n-b\n+B\n",
            "--- a/x\n+++ b/x\n@@ -6 +6 @@\n-f\n+F\n",
            "--- a/x\n+++ b/x\n@@ -9,0 +9 @@\n+F\n",
            "--- a/x\n+++ b/x\n@@ -3 +3 @@\n-c\n+C\n@@ -2 +2 @@\n-b\n+B\n",
        ];
        for diff in wrong {
            assert!(matches!(applied(diff), Err(ApplyError::Mismatch { .. })), "{diff}");
        }
    }

    #[test]
    fn what_is_there_is_not_created_and_what_is_not_there_is_not_changed() {
        let create = applied("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+z\n");
        assert_eq!(create, Err(ApplyError::Exists { path: "x".to_owned() }));
        let modify = applied("--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(modify, Err(ApplyError::Missing { path: "no".to_owned() }));
        let partial = applied("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(partial, Err(ApplyError::LeftOver { path: "x".to_owned() }));
    }

    #[test]
    fn a_file_cannot_become_a_folder() {
        let below = applied("--- /dev/null\n+++ b/x/z\n@@ -0,0 +1 @@\n+z\n");
        assert_eq!(below, Err(ApplyError::FileAndFolder { path: "x/z".to_owned() }));
    }
}
