//! The diffs that this task class takes: of all that [`eval_diff`] applies, those that change text where it is.
//!
//! Strict on purpose. An answer that needs a tolerant tool and luck is not one to merge, and nothing here may repair one.

use eval_diff::{Applied, Change, DiffError, Operation, Problem, Tree};

/// The project after the diff. The given one is not changed.
///
/// # Errors
///
/// [`DiffError`] with the line that is malformed, does not fit the project, or renames a file or sets its mode.
pub fn apply(project: &Tree, diff: &str) -> Result<Applied, DiffError> {
    let applied = eval_diff::apply(project, diff)?;
    match applied.changes.iter().find_map(|change| Some((change.line, beyond_text(change)?))) {
        Some((line, what)) => Err(DiffError { line, problem: Problem::Unsupported(what.to_owned()) }),
        None => Ok(applied),
    }
}

/// What a change does besides changing text.
fn beyond_text(change: &Change) -> Option<&'static str> {
    match &change.operation {
        Operation::Rename { .. } => Some("rename from"),
        _ => change.sets_mode.then_some("new mode"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_changes_where_it_is() {
        let project: Tree = [("x", "a\n")].into();
        let applied = apply(&project, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
        assert_eq!(applied.tree, [("x", "b\n")].into());
    }

    #[test]
    fn renames_and_modes_are_refused() {
        let project: Tree = [("x", "a\n")].into();
        let rename = "diff --git a/x b/y\nrename from x\nrename to y\n";
        let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
        let both = format!("{mode}--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
        for diff in [rename, mode, &both] {
            assert!(eval_diff::apply(&project, diff).is_ok(), "{diff}");
            let refusal = apply(&project, diff).unwrap_err();
            assert!(matches!(refusal, DiffError { line: 1, problem: Problem::Unsupported(_) }), "{diff}: {refusal}");
        }
    }
}
