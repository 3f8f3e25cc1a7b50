//! The scratch directory: a tree in memory with the case's files below it, and nothing of the host behind it.
//!
//! It is a plain data structure: it knows neither wasmtime nor WASI, and it cannot name a path of the host. The case's bytes
//! are shared by reference until a guest writes to a file, which copies that one file; what a guest adds is charged to an
//! exact quota before anything changes. Dropping the value drops everything that was written.
//!
//! Semantics are those of Linux as wasmtime-wasi shows them to a guest, and a property test compares the two. They differ on
//! purpose in these points, and in no other:
//!
//! - times: every file has the case's date, and setting times succeeds without an effect;
//! - order: a listing is sorted by name, and shows what is there when an entry is read;
//! - quotas: what does not fit is `insufficient-space`, and then nothing of it is written; so is a size or an offset that no
//!   disk could hold, which Linux calls `file-too-large`;
//! - directories: their size is 0 and their link count 1, or 0 once they are removed;
//! - streams: what need not wait is done at once, so a `read` never comes back empty-handed before the end of a file, and
//!   reading 0 bytes does not close a stream.
//!
//! Where to read on: [`path`] and [`walk`] resolve names, [`node`] stores what they lead to, [`change`] alters it.

mod change;
mod export;
mod file;
mod node;
mod path;
mod quota;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub(crate) use self::change::Open;
pub use self::export::{ScratchEntry, ScratchTree};
pub(crate) use self::file::At;
pub(crate) use self::node::Inode;
pub(crate) use self::tree::{Errno, FileType, Scratch, Stat, Work};
