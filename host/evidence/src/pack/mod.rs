//! Many objects in one file, in a form that a person can read: a pack.
//!
//! ```text
//! eval-host/pack/v1
//! <BLAKE3 of the content> <its length in bytes>
//! <content>
//! <BLAKE3 of the content> <its length in bytes>
//! …
//! ```
//!
//! A pack is named by the BLAKE3 of its lines without the contents: these name the contents, so the name stands for every byte.
//! Where an object is, a [`Library`] knows, from the packs themselves or sooner from an [`index`] that lies beside a large one
//! and is never believed: what it leads to must hash to what was asked for.
//!
//! This module reads and writes bytes. It never decides which packs are evidence, or what a defect means.

mod catalog;
mod draft;
mod header;
pub(crate) mod index;
mod library;
mod scan;
mod span;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use draft::PackDraft;
pub(crate) use header::{END_OF_CONTENT, FIRST_LINE, Header, Lines};
pub(crate) use library::{Library, PackDefect, PackFinding, Shelf};
pub(crate) use scan::scan;
pub(crate) use span::Span;

pub(crate) use header::PackName;

use std::io;

use crate::files::FileError;

/// Why a file is not the pack that it should be.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error(transparent)]
    File(FileError),
    #[error("it cannot be read")]
    Io(#[source] io::Error),
    #[error("it was cut or edited: {why} at byte {at}")]
    Malformed { at: u64, why: &'static str },
    #[error("it was edited or renamed: a pack with these lines is called `{expected}`")]
    Misnamed { expected: PackName },
}
