//! Changes → a changed copy of the tree. All of them are read from the old tree before anything is written, so that the
//! order of changes means nothing and a diff applies as a whole or not at all.

use crate::change::{Change, Hunk, Kind, Operation};
use crate::lines::Lines;
use crate::parse::{DiffError, Problem, parse};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A diff that applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The tree after the diff.
    pub tree: Tree,
    /// What the diff did, in its own order. Empty for an empty diff.
    pub changes: Vec<Change>,
}

impl Applied {
    /// Every path that the diff touches, sorted and once.
    #[must_use]
    pub fn changed_paths(&self) -> BTreeSet<&str> {
        self.changes.iter().flat_map(Change::paths).collect()
    }

    /// What the diff did to the file that is at `path` now, or was there until it was deleted.
    #[must_use]
    pub fn change(&self, path: &str) -> Option<&Change> {
        self.changes.iter().find(|change| change.path() == path)
    }
}

/// Applies `diff` to `tree`.
///
/// # Errors
///
/// The first thing in the diff that is malformed or does not fit the tree; then nothing was applied.
pub fn apply(tree: &Tree, diff: &str) -> Result<Applied, DiffError> {
    let changes = parse(diff)?;
    let mut outcome = Outcome::default();
    for change in &changes {
        outcome.add(tree, change).map_err(|error| error.on(change.line))?;
    }
    Ok(Applied { tree: outcome.finish(tree)?, changes })
}

/// An error that may know a better line than the one its section starts on.
enum Failure {
    At(DiffError),
    Section(Problem),
}

impl Failure {
    fn on(self, line: usize) -> DiffError {
        match self {
            Self::At(error) => error,
            Self::Section(problem) => DiffError { line, problem },
        }
    }
}

impl From<DiffError> for Failure {
    fn from(error: DiffError) -> Self {
        Self::At(error)
    }
}

/// What all changes together take out of the old tree and put into the new one.
#[derive(Default)]
struct Outcome {
    taken: BTreeSet<String>,
    /// The content of every path that a change is about, `None` if it deletes it, with the line to blame.
    written: BTreeMap<String, (usize, Option<Vec<u8>>)>,
}

impl Outcome {
    fn add(&mut self, tree: &Tree, change: &Change) -> Result<(), Failure> {
        let content = match &change.operation {
            Operation::Create(path) => Some(rewrite(path, b"", &change.hunks)?),
            Operation::Modify(path) | Operation::Rename { from: path, .. } => Some(self.rewritten(tree, path, change)?),
            Operation::Delete(path) => {
                let left = self.rewritten(tree, path, change)?;
                if !left.is_empty() {
                    return Err(Failure::Section(Problem::DeleteLeavesLines(path.clone())));
                }
                None
            }
        };
        let path = change.path().to_owned();
        if self.written.insert(path.clone(), (change.line, content)).is_some() {
            return Err(Failure::Section(Problem::Twice(path)));
        }
        Ok(())
    }

    /// Takes `path` out of the old tree and gives its content with the change's hunks applied.
    fn rewritten(&mut self, tree: &Tree, path: &str, change: &Change) -> Result<Vec<u8>, Failure> {
        let old = tree.get(path).ok_or_else(|| Failure::Section(Problem::NoSuchFile(path.to_owned())))?;
        if !self.taken.insert(path.to_owned()) {
            return Err(Failure::Section(Problem::Twice(path.to_owned())));
        }
        Ok(rewrite(path, old, &change.hunks)?)
    }

    fn finish(self, old: &Tree) -> Result<Tree, DiffError> {
        let mut tree = old.clone();
        for path in &self.taken {
            tree.remove(path);
        }
        for (path, (line, content)) in self.written {
            if tree.contains(&path) {
                return Err(DiffError { line, problem: Problem::Exists(path) });
            }
            if let Some(content) = content {
                tree.insert(path, content);
            }
        }
        match tree.file_used_as_directory() {
            Some(path) => Err(DiffError { line: 1, problem: Problem::FileAsDirectory(path.to_owned()) }),
            None => Ok(tree),
        }
    }
}

/// The content of `path` with `hunks` applied at exactly the lines they name.
fn rewrite(path: &str, old: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, DiffError> {
    let mut lines = Lines::of(old);
    let mut new = Vec::with_capacity(old.len());
    for hunk in hunks {
        let passed = lines.passed;
        let before = lines.up_to(hunk.skip).ok_or_else(|| misplaced(path, hunk, passed))?;
        append(path, hunks, before, &mut new)?;
        for line in &hunk.lines {
            if line.kind != Kind::Add && !lines.take(line.content.as_bytes()) {
                let problem = Problem::Mismatch { path: path.to_owned(), at: lines.passed + 1 };
                return Err(DiffError { line: line.line, problem });
            }
            if line.kind != Kind::Remove {
                append(path, hunks, line.content.as_bytes(), &mut new)?;
            }
        }
    }
    append(path, hunks, lines.rest(), &mut new)?;
    Ok(new)
}

fn misplaced(path: &str, hunk: &Hunk, position: usize) -> DiffError {
    let problem = if hunk.skip < position {
        Problem::HunkOrder
    } else {
        Problem::Mismatch { path: path.to_owned(), at: hunk.skip + 1 }
    };
    DiffError { line: hunk.line, problem }
}

/// Appends lines. Only the last line of a file may lack a newline: anything else is a marker in the wrong place.
fn append(path: &str, hunks: &[Hunk], lines: &[u8], new: &mut Vec<u8>) -> Result<(), DiffError> {
    if !lines.is_empty() && new.last().is_some_and(|byte| *byte != b'\n') {
        let line = hunks.last().map_or(1, |hunk| hunk.line);
        return Err(DiffError { line, problem: Problem::NewlineMissing(path.to_owned()) });
    }
    new.extend_from_slice(lines);
    Ok(())
}

#[cfg(test)]
mod tests;
