//! Applies a unified diff to a tree of files in memory.
//!
//! For rubrics whose system under test answers with a diff. A score must not depend on how forgiving a tool is, so there is
//! no fuzz, no offset and no guessing: every line that a hunk keeps or removes must be in the file, byte for byte, at the
//! line that the hunk names, and every hunk must hold as many lines as its header says. What does not fit is an error that
//! names the line of the diff, and then nothing is applied.
//!
//! # What is accepted
//!
//! Sections as `git diff` writes them, with or without the `diff --git` line: changed, new, deleted and renamed files, with
//! paths below `a/` and `b/`, or without prefixes (`git diff --no-prefix`), and with the mail around them that
//! `git format-patch` writes. `\ No newline at end of file` is exact in both directions. Two liberties that cannot change
//! the result: an empty line inside a hunk is an empty line of context (editors strip the blank), and the last line of the
//! diff may lack its newline. Modes are read and not kept, because a [`Tree`] has none; a file whose mode alone changes
//! still counts as changed. A rubric that wants no renames or modes sees them in the [`Change`]s.
//!
//! # What is refused
//!
//! Other text around the sections, binary patches, copies, a path that two sections are about (also one that deletes and one that
//! creates it), a path that is absolute, leaves the tree or is git's own, a new file where one exists already, a deletion
//! that leaves something over, and a file below a path that is a file.
//!
//! This crate reads no files and prints nothing.

mod apply;
mod change;
mod doubled;
mod lines;
mod parse;
mod path;
mod tree;

pub use apply::{Applied, apply};
pub use change::{Change, Operation};
pub use parse::{DiffError, Problem};
pub use path::PathError;
pub use tree::Tree;
