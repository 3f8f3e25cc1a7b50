//! What a diff says that it does, file by file. Data only: whether it fits any files is for [`crate::apply`] to find out.

/// What a diff says about one file, or about one that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The line of the diff on which the file's section starts, counted from 1.
    pub line: usize,
    /// What happens to the file.
    pub operation: Operation,
    /// Whether the file gets another mode, which a [`crate::Tree`] does not show.
    pub sets_mode: bool,
    pub(crate) hunks: Vec<Hunk>,
}

/// What happens to which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The file was there and is there, with another content or mode.
    Modify(String),
    /// The file was not there.
    Create(String),
    /// The file is not there any more.
    Delete(String),
    /// The file is at another path, perhaps with another content.
    Rename { from: String, to: String },
}

/// Consecutive lines of a file, some of them replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) line: usize,
    /// The number of lines of the old file before the hunk.
    pub(crate) skip: usize,
    pub(crate) lines: Vec<HunkLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Keep,
    Remove,
    Add,
}

/// One line of a hunk with its newline, unless the diff says that it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HunkLine {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    pub(crate) content: String,
}

impl Change {
    /// Where the file is, or was if it is gone.
    #[must_use]
    pub fn path(&self) -> &str {
        match &self.operation {
            Operation::Modify(path) | Operation::Create(path) | Operation::Delete(path) => path,
            Operation::Rename { to, .. } => to,
        }
    }

    /// Every path that the change touches: where the file was and where it is.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let from = match &self.operation {
            Operation::Rename { from, .. } => Some(from.as_str()),
            _ => None,
        };
        from.into_iter().chain([self.path()])
    }

    /// The lines that the diff takes out of the file, with their newlines.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.lines_of(Kind::Remove)
    }

    /// The lines that the diff puts into the file, with their newlines.
    pub fn added(&self) -> impl Iterator<Item = &str> {
        self.lines_of(Kind::Add)
    }

    fn lines_of(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(move |line| line.kind == kind).map(|line| line.content.as_str())
    }
}
