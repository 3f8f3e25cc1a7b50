//! The tree itself: what is in it, how it is looked at, and what looking cost.

use std::cell::Cell;
use std::ops::Bound;

use super::node::{Content, Directory, Entry, Inode, Kind, Node, Slab};
use super::path::{DOT, single_name};
use super::quota::Quota;
use super::walk::{Last, Place};
use eval_model::contract::CaseFiles;

/// Why an operation failed, by the names of WASI's error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errno {
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
pub(crate) enum FileType {
    File,
    Directory,
    Symlink,
}

/// What a guest can learn about a node, besides times, which do not vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) file_type: FileType,
    pub(crate) links: u64,
    pub(crate) size: u64,
}

/// What operations on the tree have cost the host, in a unit that is the same on every machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Names looked up or listed.
    pub(crate) names: u64,
    /// Parts that paths and the targets of links were cut into, empty ones too.
    pub(crate) path_parts: u64,
    /// Bytes copied or zeroed.
    pub(crate) bytes: u64,
}

/// One call's tree.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(super) nodes: Slab,
    pub(super) root: Inode,
    pub(super) quota: Quota,
    /// What was done since the last [`Scratch::take_work`].
    pub(super) work: Cell<Work>,
}

impl Scratch {
    /// A tree that shows `files` and takes up to `bytes` and `entries` more.
    pub(crate) fn new(files: &CaseFiles, bytes: u64, entries: u64) -> Self {
        let mut nodes = Slab::with_room_for(files.len());
        // The root is its own parent; nothing removes or renames it, because no directory holds its name.
        let root = nodes.insert_with(|root| Node::new(Kind::Directory(Directory::below(root))));
        let mut scratch = Self { nodes, root, quota: Quota::new(bytes, entries), work: Cell::default() };
        // Sorted files that share a directory mostly come one after the other, so the last one's is looked at first.
        let mut last = ("", root);
        for (path, content) in files {
            let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
            if parents != last.0 {
                last = (parents, scratch.case_directories(parents));
            }
            scratch.add_case_file(Place { directory: last.1, name }, Content::Case(content.clone()));
        }
        scratch
    }

    pub(super) fn add_case_file(&mut self, place: Place<'_>, content: Content) {
        let node = self.nodes.insert(Node::new(Kind::File(content)));
        self.insert_entry(place, Entry { node, charged: false });
    }

    /// The directory at `path`, which is made where it is not there.
    pub(super) fn case_directories(&mut self, path: &str) -> Inode {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(self.root, |directory, name| self.case_directory(directory, name))
    }

    pub(super) fn case_directory(&mut self, directory: Inode, name: &str) -> Inode {
        let known = self.directory(directory).ok().and_then(|parent| parent.entries.get(name)).map(|entry| entry.node);
        if let Some(inode) = known.filter(|inode| self.nodes.get(*inode).is_directory()) {
            return inode;
        }
        let node = self.nodes.insert(Node::new(Kind::Directory(Directory::below(directory))));
        self.insert_entry(Place { directory, name }, Entry { node, charged: false });
        node
    }

    pub(crate) fn root(&self) -> Inode {
        self.root
    }

    /// What was done since this was last asked, for the caller to charge to fuel.
    pub(crate) fn take_work(&self) -> Work {
        self.work.take()
    }

    pub(super) fn note_name(&self) {
        let work = self.work.get();
        self.work.set(Work { names: work.names + 1, ..work });
    }

    pub(super) fn note_path(&self, path: &str) {
        let work = self.work.get();
        let parts = path.bytes().filter(|byte| *byte == b'/').count() as u64 + 1;
        self.work.set(Work { path_parts: work.path_parts + parts, ..work });
    }

    pub(super) fn note_bytes(&self, moved: u64) {
        let work = self.work.get();
        self.work.set(Work { bytes: work.bytes.saturating_add(moved), ..work });
    }

    pub(super) fn directory(&self, inode: Inode) -> Result<&Directory, Errno> {
        match &self.nodes.get(inode).kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Errno::NotDirectory),
        }
    }

    pub(super) fn insert_entry(&mut self, place: Place<'_>, entry: Entry) {
        if let Kind::Directory(directory) = &mut self.nodes.get_mut(place.directory).kind {
            directory.entries.insert(place.name.into(), entry);
        }
    }

    pub(super) fn remove_entry(&mut self, place: Place<'_>) -> Option<Entry> {
        match &mut self.nodes.get_mut(place.directory).kind {
            Kind::Directory(directory) => directory.entries.remove(place.name),
            _ => None,
        }
    }

    /// Keeps a node while a descriptor or stream refers to it.
    pub(crate) fn hold(&mut self, inode: Inode) {
        self.nodes.get_mut(inode).holders += 1;
    }

    /// Undoes one [`Scratch::hold`]; a node without names and holders is gone, and its bytes are free again.
    pub(crate) fn release(&mut self, inode: Inode) {
        self.nodes.get_mut(inode).holders -= 1;
        self.collect(inode);
    }

    pub(super) fn collect(&mut self, inode: Inode) {
        let node = self.nodes.get(inode);
        if node.names == 0 && node.holders == 0 {
            let node = self.nodes.remove(inode);
            self.quota.refund_bytes(node.charged_bytes());
        }
    }

    pub(crate) fn file_type(&self, inode: Inode) -> FileType {
        match &self.nodes.get(inode).kind {
            Kind::File(_) => FileType::File,
            Kind::Directory(_) => FileType::Directory,
            Kind::Symlink(_) => FileType::Symlink,
        }
    }

    pub(crate) fn stat(&self, inode: Inode) -> Stat {
        let node = self.nodes.get(inode);
        let size = match &node.kind {
            Kind::File(content) => content.bytes().len() as u64,
            Kind::Directory(_) => 0,
            Kind::Symlink(target) => target.len() as u64,
        };
        Stat { file_type: self.file_type(inode), links: node.names, size }
    }

    /// The node that `path` leads to. Without `follow`, a plain name is looked up as it is, whatever slash comes after it.
    pub(crate) fn resolve(&self, base: Inode, path: &str, follow: bool) -> Result<Inode, Errno> {
        match single_name(path) {
            Some(name) if !follow => self.lookup(Place { directory: base, name })?.ok_or(Errno::NoEntry),
            _ => self.find(base, path, if follow { Last::Follow } else { Last::Keep }),
        }
    }

    /// Finds what a change of times would apply to. There is nothing to change: times are fixed.
    pub(crate) fn check_set_times(&self, base: Inode, path: &str, follow: bool) -> Result<(), Errno> {
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

    pub(crate) fn readlink(&self, base: Inode, path: &str) -> Result<String, Errno> {
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
    pub(crate) fn next_entry(
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
