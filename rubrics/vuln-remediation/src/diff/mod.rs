//! Unified diffs: reading one, and applying it to a project.
//!
//! Strict on purpose. A hunk applies where it says or not at all, its context must match byte for byte, and a path cannot
//! leave the project. An answer that needs a tolerant tool and luck is not one to merge.

mod apply;
mod parse;

pub use apply::{ApplyError, apply};
pub use parse::{DiffError, parse};

/// What a diff does to the files of a project, in the order in which it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    pub files: Vec<FileDiff>,
}

/// What a diff does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    pub path: String,
    pub kind: Kind,
    pub hunks: Vec<Hunk>,
}

/// Whether the file is there before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Create,
    Modify,
    Delete,
}

/// Consecutive lines of a file, some of them replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// How many lines of the old file come before the hunk.
    pub skip: usize,
    pub lines: Vec<Line>,
}

/// A line of a hunk, with its line ending, unless the file has none there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Context(String),
    Remove(String),
    Add(String),
}

impl Line {
    /// The line as the old file has it.
    pub fn in_old(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    /// The line as the new file has it.
    pub fn in_new(&self) -> Option<&str> {
        match self {
            Self::Context(text) | Self::Add(text) => Some(text),
            Self::Remove(_) => None,
        }
    }
}

impl FileDiff {
    /// The lines that the diff takes out of this file.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(|line| match line {
            Line::Remove(text) => Some(text.as_str()),
            Line::Context(_) | Line::Add(_) => None,
        })
    }

    /// The lines that the diff puts into this file.
    pub fn added(&self) -> impl Iterator<Item = &str> {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(|line| match line {
            Line::Add(text) => Some(text.as_str()),
            Line::Context(_) | Line::Remove(_) => None,
        })
    }
}

impl Diff {
    /// Whether the diff changes nothing.
    pub fn is_empty(&self) -> bool {
        self.files.iter().all(|file| file.removed().next().is_none() && file.added().next().is_none())
    }

    /// What the diff does to a file, if anything.
    pub fn file(&self, path: &str) -> Option<&FileDiff> {
        self.files.iter().find(|file| file.path == path)
    }
}
