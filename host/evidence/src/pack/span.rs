//! A pack's bytes, wherever they lie: a file of its own, or a part of a bundle.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use eval_model::ids::Digest;

use super::header::Header;

/// How much is read where a header is expected: with most objects the content is in it too.
const FIRST_READ: usize = 4096;

/// Some bytes of a file.
#[derive(Debug)]
pub(crate) struct Span {
    file: File,
    start: u64,
    size: u64,
}

impl Span {
    pub(crate) fn new(file: File, start: u64, size: u64) -> Self {
        Self { file, start, size }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Fills `buffer` from `at` on, as far as the span goes, and says how far that was.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let mut filled = 0;
        while filled < wanted {
            match self.file.read_at(&mut buffer[filled..wanted], self.start + at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// The header at `at`, if there is one for `digest`.
    pub(crate) fn header_at(&self, at: u64, digest: Digest) -> io::Result<Option<Header>> {
        let mut line = [0; Header::MOST_BYTES];
        let read = self.read_at(&mut line, at)?;
        Ok(Header::parse(&line[..read]).map(|(header, _)| header).filter(|header| header.digest == digest))
    }

    /// The content behind the header at `at`, if that is one for `digest` and the content is whole. Nobody has hashed it yet.
    pub(crate) fn content_at(&self, at: u64, digest: Digest) -> io::Result<Option<Vec<u8>>> {
        let mut first = [0; FIRST_READ];
        let read = self.read_at(&mut first, at)?;
        let Some((header, line)) = Header::parse(&first[..read]).filter(|(header, _)| header.digest == digest) else {
            return Ok(None);
        };
        let Ok(length) = usize::try_from(header.length) else { return Ok(None) };
        let mut content = first[line..read.min(line + length)].to_vec();
        let have = content.len();
        // A header may promise more than there is, and nothing is set aside for what is not.
        if at + (line + length) as u64 > self.size {
            return Ok(None);
        }
        content.resize(length, 0);
        let more = self.read_at(&mut content[have..], at + (line + have) as u64)?;
        Ok((have + more == length).then_some(content))
    }
}
