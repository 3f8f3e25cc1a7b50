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
mod walk;

use std::cell::Cell;
use std::ops::Bound;

use self::node::{Content, Directory, Entry, Kind, Node, Slab};
use self::path::{DOT, single_name};
use self::quota::Quota;
use self::walk::{Last, Place};
use eval_model::contract::CaseFiles;

pub use self::export::{ScratchEntry, ScratchTree};

pub(super) use self::change::Open;
pub(super) use self::file::At;
pub(super) use self::node::Inode;

/// Why an operation failed, by the names of WASI's error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errno {
    BadDescriptor,
    Busy,
    Exist,
    InsufficientSpace,
    Invalid,
    IsDirectory,
    Loop,
    NameTooLong,
    NoEntry,
    NotDirectory,
    NotEmpty,
    NotPermitted,
}

/// What kind of thing a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileType {
    File,
    Directory,
    Symlink,
}

/// What a guest can learn about a node, besides times, which do not vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) file_type: FileType,
    pub(super) links: u64,
    pub(super) size: u64,
}

/// What operations on the tree have cost the host, in a unit that is the same on every machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Names looked up or listed.
    pub(super) names: u64,
    /// Bytes copied or zeroed.
    pub(super) bytes: u64,
}

/// One call's tree.
#[derive(Debug)]
pub(super) struct Scratch {
    nodes: Slab,
    root: Inode,
    quota: Quota,
    /// What was done since the last [`Scratch::take_work`].
    work: Cell<Work>,
}

impl Scratch {
    /// A tree that shows `files` and takes up to `bytes` and `entries` more.
    pub(super) fn new(files: &CaseFiles, bytes: u64, entries: u64) -> Self {
        let mut nodes = Slab::default();
        // The root is its own parent; nothing removes or renames it, because no directory holds its name.
        let root = nodes.insert_with(|root| Node::new(Kind::Directory(Directory::below(root))));
        let mut scratch = Self { nodes, root, quota: Quota::new(bytes, entries), work: Cell::default() };
        for (path, content) in files {
            scratch.add_case_file(path, Content::Case(content.clone()));
        }
        scratch
    }

    fn add_case_file(&mut self, path: &str, content: Content) {
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut directory = self.root;
        for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
            directory = self.case_directory(directory, parent);
        }
        let node = self.nodes.insert(Node::new(Kind::File(content)));
        self.insert_entry(Place { directory, name }, Entry { node, charged: false });
    }

    fn case_directory(&mut self, directory: Inode, name: &str) -> Inode {
        let known = self.directory(directory).ok().and_then(|parent| parent.entries.get(name)).map(|entry| entry.node);
        if let Some(inode) = known.filter(|inode| self.nodes.get(*inode).is_directory()) {
            return inode;
        }
        let node = self.nodes.insert(Node::new(Kind::Directory(Directory::below(directory))));
        self.insert_entry(Place { directory, name }, Entry { node, charged: false });
        node
    }

    pub(super) fn root(&self) -> Inode {
        self.root
    }

    /// What was done since this was last asked, for the caller to charge to fuel.
    pub(super) fn take_work(&self) -> Work {
        self.work.take()
    }

    fn note_name(&self) {
        let Work { names, bytes } = self.work.get();
        self.work.set(Work { names: names + 1, bytes });
    }

    fn note_bytes(&self, moved: u64) {
        let Work { names, bytes } = self.work.get();
        self.work.set(Work { names, bytes: bytes.saturating_add(moved) });
    }

    fn directory(&self, inode: Inode) -> Result<&Directory, Errno> {
        match &self.nodes.get(inode).kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Errno::NotDirectory),
        }
    }

    fn insert_entry(&mut self, place: Place<'_>, entry: Entry) {
        if let Kind::Directory(directory) = &mut self.nodes.get_mut(place.directory).kind {
            directory.entries.insert(place.name.into(), entry);
        }
    }

    fn remove_entry(&mut self, place: Place<'_>) -> Option<Entry> {
        match &mut self.nodes.get_mut(place.directory).kind {
            Kind::Directory(directory) => directory.entries.remove(place.name),
            _ => None,
        }
    }

    /// Keeps a node while a descriptor or stream refers to it.
    pub(super) fn hold(&mut self, inode: Inode) {
        self.nodes.get_mut(inode).holders += 1;
    }

    /// Undoes one [`Scratch::hold`]; a node without names and holders is gone, and its bytes are free again.
    pub(super) fn release(&mut self, inode: Inode) {
        self.nodes.get_mut(inode).holders -= 1;
        self.collect(inode);
    }

    fn collect(&mut self, inode: Inode) {
        let node = self.nodes.get(inode);
        if node.names == 0 && node.holders == 0 {
            let node = self.nodes.remove(inode);
            self.quota.refund_bytes(node.charged_bytes());
        }
    }

    pub(super) fn file_type(&self, inode: Inode) -> FileType {
        match &self.nodes.get(inode).kind {
            Kind::File(_) => FileType::File,
            Kind::Directory(_) => FileType::Directory,
            Kind::Symlink(_) => FileType::Symlink,
        }
    }

    pub(super) fn stat(&self, inode: Inode) -> Stat {
        let node = self.nodes.get(inode);
        let size = match &node.kind {
            Kind::File(content) => content.bytes().len() as u64,
            Kind::Directory(_) => 0,
            Kind::Symlink(target) => target.len() as u64,
        };
        Stat { file_type: self.file_type(inode), links: node.names, size }
    }

    /// The node that `path` leads to. Without `follow`, a plain name is looked up as it is, whatever slash comes after it.
    pub(super) fn resolve(&self, base: Inode, path: &str, follow: bool) -> Result<Inode, Errno> {
        match single_name(path) {
            Some(name) if !follow => self.lookup(Place { directory: base, name })?.ok_or(Errno::NoEntry),
            _ => self.find(base, path, if follow { Last::Follow } else { Last::Keep }),
        }
    }

    /// Finds what a change of times would apply to. There is nothing to change: times are fixed.
    pub(super) fn check_set_times(&self, base: Inode, path: &str, follow: bool) -> Result<(), Errno> {
        if follow {
            self.find(base, path, Last::Follow)?;
            return Ok(());
        }
        let place = self.place(base, path)?;
        if place.name != DOT {
            self.named(place)?;
        }
        Ok(())
    }

    pub(super) fn readlink(&self, base: Inode, path: &str) -> Result<String, Errno> {
        let place = self.place(base, path)?;
        if place.name == DOT {
            return Err(Errno::Invalid);
        }
        match &self.nodes.get(self.named(place)?).kind {
            Kind::Symlink(target) => Ok(target.to_string()),
            _ => Err(Errno::Invalid),
        }
    }

    /// The name that sorts right after `after`, and what it names; the first one without `after`.
    pub(super) fn next_entry(
        &self,
        directory: Inode,
        after: Option<&str>,
    ) -> Result<Option<(String, FileType)>, Errno> {
        self.note_name();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = self.directory(directory)?.entries.range::<str, _>((from, Bound::Unbounded));
        Ok(entries.next().map(|(name, entry)| (name.to_string(), self.file_type(entry.node))))
    }
}
