//! The bytes of a file: reading them where they are, and copying a case's file up when a guest first writes to it.

use super::node::{Content, Inode, Kind};
use super::{Errno, Scratch};

/// Where in a file a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Offset(u64),
    End,
}

/// Less than this is not worth giving back.
const SLACK: usize = 4_096;

/// Linux's offsets are signed.
const OFFSET_MAX: u64 = i64::MAX as u64;

impl Scratch {
    /// Up to `len` bytes from `offset`; none at the end of the file.
    pub(crate) fn read(&self, inode: Inode, offset: u64, len: u64) -> Result<&[u8], Errno> {
        if offset.checked_add(len).is_none_or(|end| end > OFFSET_MAX) {
            return Err(Errno::Invalid);
        }
        let bytes = self.content(inode)?.bytes();
        let start = clamp(offset, bytes.len());
        let end = clamp(offset + len, bytes.len());
        self.note_bytes((end - start) as u64);
        Ok(&bytes[start..end])
    }

    /// Writes all of `bytes`, or nothing when they do not fit. A gap reads as zeros and counts like everything else.
    pub(crate) fn write(&mut self, inode: Inode, at: At, bytes: &[u8]) -> Result<(), Errno> {
        let size = self.content(inode)?.bytes().len() as u64;
        let offset = match at {
            At::Offset(offset) => offset,
            At::End => size,
        };
        if offset > OFFSET_MAX {
            return Err(Errno::Invalid);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(bytes.len() as u64).ok_or(Errno::InsufficientSpace)?;
        let own = self.own(inode, size.max(end), size)?;
        self.note_bytes(bytes.len() as u64);
        let start = clamp(offset, usize::MAX);
        own_bytes(&mut self.nodes.get_mut(own).kind)?[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Cuts a file, or lengthens it with zeros.
    pub(crate) fn set_size(&mut self, inode: Inode, size: u64) -> Result<(), Errno> {
        if size > OFFSET_MAX {
            return Err(Errno::Invalid);
        }
        let kept = size.min(self.content(inode)?.bytes().len() as u64);
        self.own(inode, size, kept)?;
        Ok(())
    }

    fn content(&self, inode: Inode) -> Result<&Content, Errno> {
        match &self.nodes.get(inode).kind {
            Kind::File(content) => Ok(content),
            _ => Err(Errno::BadDescriptor),
        }
    }

    /// Makes the file the guest's own with exactly `size` bytes, of which the first `kept` are those it had. The quota is
    /// settled before a byte moves.
    fn own(&mut self, inode: Inode, size: u64, kept: u64) -> Result<Inode, Errno> {
        let charged = self.content(inode)?.charged_bytes();
        if size > charged {
            self.quota.charge_bytes(size - charged)?;
        } else {
            self.quota.refund_bytes(charged - size);
        }
        let moved = if charged == 0 { size } else { size.abs_diff(charged) };
        self.note_bytes(moved);
        let size = clamp(size, usize::MAX);
        let kind = &mut self.nodes.get_mut(inode).kind;
        if let Kind::File(Content::Case(bytes)) = kind {
            let mut copy = Vec::with_capacity(size);
            copy.extend_from_slice(&bytes[..clamp(kept, bytes.len())]);
            *kind = Kind::File(Content::Own(copy));
        }
        let own = own_bytes(kind)?;
        // The quota counts bytes, so the capacity must not run away from them: neither by doubling nor by what was cut off.
        if own.capacity() < size {
            own.reserve_exact(size + size / 8 - own.len());
        }
        own.resize(size, 0);
        if own.capacity() > size + size / 4 + SLACK {
            own.shrink_to_fit();
        }
        Ok(inode)
    }
}

fn own_bytes(kind: &mut Kind) -> Result<&mut Vec<u8>, Errno> {
    match kind {
        Kind::File(Content::Own(bytes)) => Ok(bytes),
        _ => Err(Errno::BadDescriptor),
    }
}

/// A file offset as an index that is at most `max`. What a quota admitted always fits.
fn clamp(offset: u64, max: usize) -> usize {
    usize::try_from(offset).unwrap_or(max).min(max)
}
