//! A pack that is being written. What is in it is durable, and has a name, only when its owner says so.

use std::fs::File;
use std::io::{self, Write as _};

use eval_model::ids::Digest;

use super::catalog::Place;
use super::header::{END_OF_CONTENT, FIRST_LINE, Header, Lines, PackName};

/// How much is collected before it is written.
const BUFFER: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct PackDraft {
    file: File,
    buffer: Vec<u8>,
    /// How much was appended, written or not.
    size: u64,
    lines: Lines,
    places: Vec<Place>,
}

impl PackDraft {
    /// Begins a pack in an empty file.
    pub(crate) fn begin(file: File) -> Self {
        let buffer = FIRST_LINE.to_vec();
        Self { file, size: buffer.len() as u64, buffer, lines: Lines::new(), places: Vec::new() }
    }

    /// Appends an object. The caller knows that `digest` is that of `content`, and that the pack does not have it yet.
    pub(crate) fn append(&mut self, digest: Digest, content: &[u8]) -> io::Result<()> {
        let header = Header { digest, length: content.len() as u64 };
        let line = header.line();
        self.lines.add(line.as_bytes());
        self.places.push(Place::new(digest, 0, self.size));
        self.size += header.size();
        self.buffer.extend_from_slice(line.as_bytes());
        self.write(content)?;
        self.buffer.push(END_OF_CONTENT);
        Ok(())
    }

    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        if self.buffer.len() + content.len() < BUFFER {
            self.buffer.extend_from_slice(content);
            return Ok(());
        }
        self.flush()?;
        self.file.write_all(content)
    }

    /// Writes what was collected.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// The name that the pack has as it is.
    pub(crate) fn name(&self) -> PackName {
        self.lines.name()
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Where its objects are, as those of pack 0.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }
}
