//! Reads a pack from its first byte to its last, once, and hashes what is in it.

use eval_model::ids::Digest;

use super::PackError;
use super::header::{END_OF_CONTENT, FIRST_LINE, Header, Lines, PackName};
use super::span::Span;

/// How much is read at a time.
const CHUNK: usize = 1 << 20;

/// An object as a scan comes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Where its header begins.
    pub(crate) offset: u64,
    pub(crate) header: Header,
    /// What its content hashes to.
    pub(crate) found: Digest,
}

/// Shows every object of a pack to `visit`, as far as the pack can be read, and gives the name that its lines make.
pub(crate) fn scan(span: &Span, visit: &mut dyn FnMut(Seen)) -> Result<PackName, PackError> {
    let mut window = Window { span, buffer: Vec::new(), start: 0, used: 0 };
    if window.look(FIRST_LINE.len())? != FIRST_LINE {
        return Err(window.malformed("it does not begin as a pack does"));
    }
    window.pass(FIRST_LINE.len());
    let mut lines = Lines::new();
    while !window.is_at_end() {
        let offset = window.position();
        let Some((header, line)) = Header::parse(window.look(Header::MOST_BYTES)?) else {
            return Err(window.malformed("there is no header of an object"));
        };
        lines.add(&window.look(line)?[..line]);
        window.pass(line);
        let found = window.hash(header.length)?;
        if window.look(1)? != [END_OF_CONTENT] {
            return Err(window.malformed("an object does not end where its header says"));
        }
        window.pass(1);
        visit(Seen { offset, header, found });
    }
    Ok(lines.name())
}

/// The part of a pack that is in memory.
struct Window<'a> {
    span: &'a Span,
    buffer: Vec<u8>,
    /// Where the buffer begins.
    start: u64,
    /// How much of the buffer was passed.
    used: usize,
}

impl Window<'_> {
    fn position(&self) -> u64 {
        self.start + self.used as u64
    }

    fn is_at_end(&self) -> bool {
        self.position() >= self.span.size()
    }

    /// The next bytes, `wanted` of them or as many as there are. `wanted` is at most [`CHUNK`].
    fn look(&mut self, wanted: usize) -> Result<&[u8], PackError> {
        if self.buffer.len() - self.used < wanted {
            self.buffer.drain(..self.used);
            self.start += self.used as u64;
            self.used = 0;
            let have = self.buffer.len();
            self.buffer.resize(CHUNK, 0);
            let read = self.span.read_at(&mut self.buffer[have..], self.start + have as u64);
            self.buffer.truncate(have + read.map_err(PackError::Io)?);
        }
        let end = self.buffer.len().min(self.used + wanted);
        Ok(&self.buffer[self.used..end])
    }

    /// Passes what was looked at.
    fn pass(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Passes so many bytes and gives their hash.
    fn hash(&mut self, length: u64) -> Result<Digest, PackError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length <= CHUNK {
            let content = self.look(length)?;
            let (read, digest) = (content.len(), Digest::of(content));
            self.pass(read);
            return if read == length { Ok(digest) } else { Err(self.malformed("an object is cut")) };
        }
        let (mut hasher, mut left) = (blake3::Hasher::new(), length);
        while left > 0 {
            let piece = self.look(left.min(CHUNK))?;
            let read = piece.len();
            hasher.update(piece);
            self.pass(read);
            if read == 0 {
                return Err(self.malformed("an object is cut"));
            }
            left -= read;
        }
        Ok(Digest::from_bytes(*hasher.finalize().as_bytes()))
    }

    fn malformed(&self, why: &'static str) -> PackError {
        PackError::Malformed { at: self.position(), why }
    }
}
