//! The subset of tar that a bundle is: regular files with nothing but a name and a size.
//!
//! Reading makes every header anew from the name and the size that it states, and demands the same 512 bytes, so a header
//! has exactly one form and no field of it can carry anything else.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::files::{FileError, open_ambient_file};
use crate::pack::Span;

const BLOCK: usize = 512;
const MOST_NAME_BYTES: usize = 100;

/// Most bytes of one entry: what eleven octal digits can say.
pub(super) const MOST_ENTRY_BYTES: u64 = 0o777_7777_7777;

/// Most entries that are looked at: a hundred times what a large bench needs.
const MOST_ENTRIES: u64 = 1_000_000;

/// Why a file is not a bundle's archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Open(#[from] FileError),
    #[error("the bundle cannot be read")]
    Io(#[source] io::Error),
    #[error("`{}` is not a bundle, or was changed: {why} at byte {at}", path.display())]
    Malformed { path: PathBuf, at: u64, why: &'static str },
}

/// Where the content of a file is in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    start: u64,
    pub(super) size: u64,
}

/// An archive that is being indexed.
#[derive(Debug)]
pub(super) struct Archive {
    path: PathBuf,
    file: File,
    size: u64,
    position: u64,
    entries: u64,
}

pub(super) fn header(name: &str, size: u64) -> Option<[u8; BLOCK]> {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    if name.is_empty() || name.len() > MOST_NAME_BYTES || size > MOST_ENTRY_BYTES {
        return None;
    }
    put(0, name.as_bytes());
    put(100, b"0000600\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(header)
}

fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

/// Appends a file to an archive.
pub(super) fn write_entry(out: &mut dyn Write, name: &str, content: &[u8]) -> io::Result<()> {
    let size = content.len() as u64;
    begin_entry(out, name, size)?;
    out.write_all(content)?;
    end_entry(out, size)
}

/// Begins a file in an archive, whose content the caller writes: so many bytes.
pub(super) fn begin_entry(out: &mut dyn Write, name: &str, size: u64) -> io::Result<()> {
    let header = header(name, size).ok_or_else(|| io::Error::other("a name or a file is too long for a bundle"))?;
    out.write_all(&header)
}

pub(super) fn end_entry(out: &mut dyn Write, size: u64) -> io::Result<()> {
    let padding = usize::try_from(padding(size)).unwrap_or(0);
    out.write_all(&[0; BLOCK][..padding])
}

/// Ends an archive.
pub(super) fn write_end(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&[0; 2 * BLOCK])
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let (file, size) = open_ambient_file(path, u64::MAX)?;
        Ok(Self { path: path.to_owned(), file, size, position: 0, entries: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The content of an entry, which has at most `limit` bytes.
    pub(super) fn read(&self, entry: Entry, limit: u64) -> io::Result<Vec<u8>> {
        if entry.size > limit {
            return Err(io::Error::other(format!("it has {} bytes, more than {limit}", entry.size)));
        }
        let mut bytes = vec![0; usize::try_from(entry.size).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, entry.start)?;
        Ok(bytes)
    }

    /// The content of an entry, to be read where it lies.
    pub(super) fn span(&self, entry: Entry) -> io::Result<Span> {
        Ok(Span::new(self.file.try_clone()?, entry.start, entry.size))
    }

    /// The next file, or none at the archive's end, behind which nothing may be.
    pub(super) fn next_entry(&mut self) -> Result<Option<(String, Entry)>, ArchiveError> {
        let block = self.block()?;
        if block == [0; BLOCK] {
            return self.check_end().map(|()| None);
        }
        let name_end = block[..MOST_NAME_BYTES].iter().position(|byte| *byte == 0).unwrap_or(MOST_NAME_BYTES);
        let name =
            str::from_utf8(&block[..name_end]).map_err(|_| self.malformed("a name that is not UTF-8"))?.to_owned();
        let octal =
            str::from_utf8(&block[124..135]).ok().filter(|octal| octal.bytes().all(|digit| digit.is_ascii_digit()));
        let size =
            octal.and_then(|octal| u64::from_str_radix(octal, 8).ok()).ok_or_else(|| self.malformed("no size"))?;
        if header(&name, size) != Some(block) {
            return Err(self.malformed("a header that no bundle has"));
        }
        let start = self.position + BLOCK as u64;
        let end = start.saturating_add(size).saturating_add(padding(size));
        self.entries += 1;
        if end > self.size || self.entries > MOST_ENTRIES {
            return Err(self.malformed("more content than the file has"));
        }
        self.check_zeros(start + size, padding(size))?;
        self.position = end;
        Ok(Some((name, Entry { start, size })))
    }

    fn block(&self) -> Result<[u8; BLOCK], ArchiveError> {
        let mut block = [0; BLOCK];
        if self.size - self.position < BLOCK as u64 {
            return Err(self.malformed("the end of the file"));
        }
        self.file.read_exact_at(&mut block, self.position).map_err(ArchiveError::Io)?;
        Ok(block)
    }

    fn check_end(&self) -> Result<(), ArchiveError> {
        let left = self.size - self.position;
        if left != 2 * BLOCK as u64 {
            return Err(self.malformed("something behind the end"));
        }
        self.check_zeros(self.position, left)
    }

    fn check_zeros(&self, start: u64, length: u64) -> Result<(), ArchiveError> {
        let mut zeros = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut zeros, start).map_err(ArchiveError::Io)?;
        if zeros.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(self.malformed("something between the files")) }
    }

    fn malformed(&self, why: &'static str) -> ArchiveError {
        ArchiveError::Malformed { path: self.path.clone(), at: self.position, why }
    }
}
