//! What alters the tree: creating, opening with intent, removing, renaming, linking.
//!
//! Each operation looks everything up first, then charges the quota, then changes the tree, so that one that fails has
//! changed nothing. The order of the checks is the order in which Linux makes them, because it decides the error code.

use super::node::{Content, Directory, Entry, Inode, Kind, Node};
use super::path::{DOT, strip_trailing_slashes};
use super::walk::{Last, Place, Target, check_name, check_nul, check_path};
use super::{Errno, Scratch};

/// How a path is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the independent flags of `open-at`, one for one")]
pub(crate) struct Open {
    pub follow: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    pub directory: bool,
    /// Whether the descriptor is to write, which creating and truncating imply.
    pub write: bool,
}

impl Scratch {
    /// The node to hold for a new descriptor, created or cut as `how` says.
    pub(crate) fn open(&mut self, base: Inode, path: &str, how: Open) -> Result<Inode, Errno> {
        let last = match how {
            Open { create: true, exclusive, follow, .. } => Last::Create { follow: follow && !exclusive },
            Open { follow: true, .. } => Last::Follow,
            Open { follow: false, .. } => Last::Keep,
        };
        let inode = match self.walk(base, path, last)? {
            Target::Found(inode) => inode,
            Target::Missing { directory, name } if how.create => {
                let name = name.to_owned();
                return self.create(Place { directory, name: &name }, Kind::File(Content::Own(Vec::new())));
            }
            Target::Missing { .. } => return Err(Errno::NoEntry),
        };
        self.check_open(inode, how)?;
        if how.truncate {
            self.set_size(inode, 0)?;
        }
        Ok(inode)
    }

    fn check_open(&self, inode: Inode, how: Open) -> Result<(), Errno> {
        let is_directory = self.nodes.get(inode).is_directory();
        if how.create && how.exclusive {
            return Err(Errno::Exist);
        }
        if is_directory && (how.create || how.truncate || how.write) {
            return Err(Errno::IsDirectory);
        }
        if matches!(self.nodes.get(inode).kind, Kind::Symlink(_)) {
            return Err(Errno::Loop);
        }
        if how.directory && !is_directory {
            return Err(Errno::NotDirectory);
        }
        Ok(())
    }

    pub(crate) fn create_directory(&mut self, base: Inode, path: &str) -> Result<(), Errno> {
        let place = self.vacancy(base, strip_trailing_slashes(path))?;
        self.create(place, Kind::Directory(Directory::below(place.directory)))?;
        Ok(())
    }

    pub(crate) fn symlink(&mut self, base: Inode, target: &str, path: &str) -> Result<(), Errno> {
        if target.starts_with('/') {
            return Err(Errno::NotPermitted);
        }
        let place = self.place(base, path)?;
        check_nul([target, place.name])?;
        check_path(target)?;
        let place = self.vacant(place)?;
        self.create(place, Kind::Symlink(target.into()))?;
        Ok(())
    }

    pub(crate) fn link(&mut self, from: Inode, old: &str, to: Inode, new: &str) -> Result<(), Errno> {
        let old = self.place(from, old)?;
        let new = self.place(to, new)?;
        check_nul([old.name, new.name])?;
        let inode = if old.name == DOT { old.directory } else { self.named(old)? };
        let new = self.vacant(new)?;
        if self.nodes.get(inode).is_directory() {
            return Err(Errno::NotPermitted);
        }
        self.quota.charge_entry()?;
        self.nodes.get_mut(inode).names += 1;
        self.insert_entry(new, Entry { node: inode, charged: true });
        Ok(())
    }

    pub(crate) fn unlink(&mut self, base: Inode, path: &str) -> Result<(), Errno> {
        let place = self.place(base, path)?;
        if place.name == DOT || self.nodes.get(self.named(place)?).is_directory() {
            return Err(Errno::IsDirectory);
        }
        self.remove(place);
        Ok(())
    }

    pub(crate) fn remove_directory(&mut self, base: Inode, path: &str) -> Result<(), Errno> {
        let place = self.place(base, path)?;
        if place.name == DOT {
            return Err(Errno::Invalid);
        }
        if !self.directory(self.named(place)?)?.entries.is_empty() {
            return Err(Errno::NotEmpty);
        }
        self.remove(place);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: Inode, old: &str, to: Inode, new: &str) -> Result<(), Errno> {
        let wants_directory = old.ends_with('/') || new.ends_with('/');
        let old = self.place(from, strip_trailing_slashes(old))?;
        let new = self.place(to, strip_trailing_slashes(new))?;
        check_nul([old.name, new.name])?;
        if old.name == DOT || new.name == DOT {
            return Err(Errno::Busy);
        }
        let moved = self.named(old)?;
        self.check_alive(new.directory)?;
        let replaced = self.lookup(new)?;
        if wants_directory {
            self.directory(moved)?;
        }
        self.check_ancestry(moved, replaced, old.directory, new.directory)?;
        if replaced == Some(moved) {
            return Ok(());
        }
        if let Some(replaced) = replaced {
            self.check_replace(moved, replaced)?;
        }
        self.move_entry(old, new);
        Ok(())
    }

    /// Nothing moves into itself, and nothing replaces what it is in.
    fn check_ancestry(&self, moved: Inode, replaced: Option<Inode>, from: Inode, to: Inode) -> Result<(), Errno> {
        if from == to {
            return Ok(());
        }
        if self.is_within(to, moved) {
            return Err(Errno::Invalid);
        }
        if replaced.is_some_and(|replaced| self.is_within(from, replaced)) {
            return Err(Errno::NotEmpty);
        }
        Ok(())
    }

    /// Whether `inode` is `ancestor` or somewhere below it.
    fn is_within(&self, inode: Inode, ancestor: Inode) -> bool {
        let mut here = inode;
        loop {
            self.note_name();
            if here == ancestor {
                return true;
            }
            match &self.nodes.get(here).kind {
                Kind::Directory(directory) if directory.parent != here => here = directory.parent,
                _ => return false,
            }
        }
    }

    fn check_replace(&self, moved: Inode, replaced: Inode) -> Result<(), Errno> {
        match (self.nodes.get(moved).is_directory(), self.directory(replaced)) {
            (true, Err(_)) => Err(Errno::NotDirectory),
            (false, Ok(_)) => Err(Errno::IsDirectory),
            (true, Ok(directory)) if !directory.entries.is_empty() => Err(Errno::NotEmpty),
            _ => Ok(()),
        }
    }

    fn move_entry(&mut self, old: Place<'_>, new: Place<'_>) {
        self.remove(new);
        let Some(entry) = self.remove_entry(old) else { return };
        if let Kind::Directory(directory) = &mut self.nodes.get_mut(entry.node).kind {
            directory.parent = new.directory;
        }
        self.insert_entry(new, entry);
    }

    /// The node that a place names; its directory itself cannot be named this way.
    pub(super) fn named(&self, place: Place<'_>) -> Result<Inode, Errno> {
        self.lookup(place)?.ok_or(Errno::NoEntry)
    }

    fn vacancy<'a>(&self, base: Inode, path: &'a str) -> Result<Place<'a>, Errno> {
        self.vacant(self.place(base, path)?)
    }

    /// A place where something can be created.
    fn vacant<'a>(&self, place: Place<'a>) -> Result<Place<'a>, Errno> {
        if place.name == DOT {
            return Err(Errno::Exist);
        }
        check_name(place.name)?;
        self.check_alive(place.directory)?;
        if self.lookup(place)?.is_some() { Err(Errno::Exist) } else { Ok(place) }
    }

    /// A directory that was removed while somebody held it takes nothing new.
    fn check_alive(&self, directory: Inode) -> Result<(), Errno> {
        if self.nodes.get(directory).names == 0 { Err(Errno::NoEntry) } else { Ok(()) }
    }

    fn create(&mut self, place: Place<'_>, kind: Kind) -> Result<Inode, Errno> {
        check_name(place.name)?;
        self.check_alive(place.directory)?;
        let node = Node::new(kind);
        self.quota.charge_entry()?;
        if let Err(error) = self.quota.charge_bytes(node.charged_bytes()) {
            self.quota.refund_entry();
            return Err(error);
        }
        let inode = self.nodes.insert(node);
        self.insert_entry(place, Entry { node: inode, charged: true });
        Ok(inode)
    }

    /// Takes a name away, and the node with it if that was its last name and nobody holds it.
    fn remove(&mut self, place: Place<'_>) {
        let Some(entry) = self.remove_entry(place) else { return };
        if entry.charged {
            self.quota.refund_entry();
        }
        self.nodes.get_mut(entry.node).names -= 1;
        self.collect(entry.node);
    }
}
