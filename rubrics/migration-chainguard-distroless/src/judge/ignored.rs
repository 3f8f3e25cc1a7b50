//! Files that say what the build context leaves out. A line may go if the build needs what it left out. A line may come if it
//! leaves something out, or could: a developer has files that no snapshot has, such as `.venv`.

use crate::context::{fits_rule, rules};
use crate::failure::{Finding, Mode};
use eval_diff::Tree;

/// The lines that a patch takes out of an ignore file, if any, and the tree with them put back.
pub(super) fn restored(before: &Tree, after: &Tree, dockerfile: &str) -> Option<(Vec<String>, Tree)> {
    let mut tree = after.clone();
    let mut gone = Vec::new();
    for path in paths(dockerfile) {
        let (was, is) = (lines(before, &path), lines(after, &path));
        let lost: Vec<&str> = was.iter().copied().filter(|line| !is.contains(line)).collect();
        if !lost.is_empty() {
            let come = is.iter().filter(|line| !was.contains(line));
            tree.insert(path.clone(), was.iter().chain(come).map(|line| format!("{line}\n")).collect::<String>());
        }
        gone.extend(lost.into_iter().map(|line| format!("`{path}` need not lose `{line}`")));
    }
    (!gone.is_empty()).then_some((gone, tree))
}

/// Lines that come and name no file that is there or could be.
pub(super) fn needless(before: &Tree, after: &Tree, dockerfile: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for path in paths(dockerfile) {
        let (was, is) = (lines(before, &path), lines(after, &path));
        let come = is.iter().filter(|line| !was.contains(line));
        let needless = come.filter(|line| !is_pattern(line) && !after.paths().any(|path| fits_rule(line, path)));
        found.extend(needless.map(|line| {
            Finding::new(Mode::UnrelatedChange, format!("`{path}` need not have `{line}`: it is no pattern of paths"))
        }));
    }
    found
}

fn paths(dockerfile: &str) -> [String; 2] {
    [".dockerignore".to_owned(), format!("{dockerfile}.dockerignore")]
}

fn lines<'t>(tree: &'t Tree, path: &str) -> Vec<&'t str> {
    rules(tree.text(path).unwrap_or_default()).collect()
}

/// Whether a line is written like a path, with what patterns have besides.
fn is_pattern(line: &str) -> bool {
    line.chars().all(|c| c.is_alphanumeric() || "._-*/!?[]@+~^".contains(c))
}
