//! The other half of path resolution: following names and links through the tree, and never above where it started.
//!
//! The model is Linux's `openat2` with `RESOLVE_BENEATH`, which is what wasmtime-wasi asks on disk: a `..` above the start and
//! an absolute path or link are `not-permitted`, 40 links are allowed and the next is a `loop`, a trailing slash follows a
//! link and demands a directory.

use super::node::{Inode, Kind};
use super::path::{NAME_MAX, PATH_MAX, split};
use super::{Errno, Scratch};

const LINKS_MAX: u32 = 40;

/// What to do with the last name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// A link there is what is meant.
    Keep,
    /// A link there is followed.
    Follow,
    /// Something is to be created there; a link is kept if it would be an error anyway.
    Create { follow: bool },
}

impl Last {
    fn follows(self) -> bool {
        matches!(self, Self::Follow | Self::Create { follow: true })
    }
}

/// Where a path leads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    Found(Inode),
    /// Nothing has this name, in a directory that exists.
    Missing {
        directory: Inode,
        name: &'a str,
    },
}

/// A directory and a name to look up or change in it, which may be `.`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) directory: Inode,
    pub(super) name: &'a str,
}

/// One resolution under way.
struct Walk<'a> {
    scratch: &'a Scratch,
    /// The directories from the start to here; `..` takes one off, and the first stays.
    directories: Vec<Inode>,
    /// The names still to go, last first.
    pending: Vec<&'a str>,
    /// Whether a slash followed the last name.
    trailing_slash: bool,
    links_left: u32,
    last: Last,
}

impl Scratch {
    /// Follows `path` from `base` to its end.
    pub(super) fn walk<'a>(&'a self, base: Inode, path: &'a str, last: Last) -> Result<Target<'a>, Errno> {
        check_path(path)?;
        let mut walk = Walk {
            scratch: self,
            directories: vec![base],
            pending: Vec::new(),
            trailing_slash: false,
            links_left: LINKS_MAX,
            last,
        };
        walk.enter(path)?;
        walk.run()
    }

    /// Follows `path` to something that exists.
    pub(super) fn find(&self, base: Inode, path: &str, last: Last) -> Result<Inode, Errno> {
        match self.walk(base, path, last)? {
            Target::Found(inode) => Ok(inode),
            Target::Missing { .. } => Err(Errno::NoEntry),
        }
    }

    /// The directory that holds the last name of `path`, and that name, which is not looked up.
    pub(super) fn place<'a>(&self, base: Inode, path: &'a str) -> Result<Place<'a>, Errno> {
        let split = split(path).ok_or(Errno::NoEntry)?;
        let directory = if split.parent.is_empty() { base } else { self.find(base, split.parent, Last::Follow)? };
        self.directory(directory)?;
        Ok(Place { directory, name: split.name })
    }

    /// The node with this name, by a lookup that follows nothing.
    pub(super) fn lookup(&self, place: Place<'_>) -> Result<Option<Inode>, Errno> {
        self.note_name();
        check_name(place.name)?;
        Ok(self.directory(place.directory)?.entries.get(place.name).map(|entry| entry.node))
    }
}

/// A NUL never reaches a kernel: an operation on two names looks for one in both before anything else.
pub(super) fn check_nul<const COUNT: usize>(names: [&str; COUNT]) -> Result<(), Errno> {
    if names.iter().any(|name| name.contains('\0')) { Err(Errno::Invalid) } else { Ok(()) }
}

/// What is wrong with a path before anything is looked up.
pub(super) fn check_path(path: &str) -> Result<(), Errno> {
    check_nul([path])?;
    match path {
        "" => Err(Errno::NoEntry),
        _ if path.len() > PATH_MAX => Err(Errno::NameTooLong),
        _ => Ok(()),
    }
}

/// What is wrong with a single name before it is looked up.
pub(super) fn check_name(name: &str) -> Result<(), Errno> {
    check_path(name)?;
    if name.len() > NAME_MAX { Err(Errno::NameTooLong) } else { Ok(()) }
}

impl<'a> Walk<'a> {
    /// Puts a path, or the target of a link, in front of what is still to go.
    fn enter(&mut self, path: &'a str) -> Result<(), Errno> {
        self.scratch.note_path(path);
        if path.starts_with('/') {
            return Err(Errno::NotPermitted);
        }
        if self.pending.is_empty() {
            self.trailing_slash |= path.ends_with('/');
        }
        self.pending.extend(path.rsplit('/').filter(|name| !name.is_empty()));
        Ok(())
    }

    fn run(mut self) -> Result<Target<'a>, Errno> {
        while let Some(name) = self.pending.pop() {
            self.scratch.note_name();
            match name {
                "." => {}
                ".." => self.up()?,
                name => {
                    if let Some(target) = self.down(name)? {
                        return Ok(target);
                    }
                }
            }
        }
        Ok(Target::Found(self.here()))
    }

    fn here(&self) -> Inode {
        *self.directories.last().expect("`..` never takes the start")
    }

    fn up(&mut self) -> Result<(), Errno> {
        if self.directories.len() == 1 {
            return Err(Errno::NotPermitted);
        }
        self.directories.pop();
        Ok(())
    }

    /// Goes one name down; `Some` when that was the end of the path.
    fn down(&mut self, name: &'a str) -> Result<Option<Target<'a>>, Errno> {
        let is_last = self.pending.is_empty();
        if is_last && self.trailing_slash && matches!(self.last, Last::Create { .. }) {
            return Err(Errno::IsDirectory);
        }
        let place = Place { directory: self.here(), name };
        match self.scratch.lookup(place)? {
            None if is_last => Ok(Some(Target::Missing { directory: place.directory, name })),
            None => Err(Errno::NoEntry),
            Some(inode) => self.step(inode, is_last),
        }
    }

    fn step(&mut self, inode: Inode, is_last: bool) -> Result<Option<Target<'a>>, Errno> {
        let scratch = self.scratch;
        match &scratch.nodes.get(inode).kind {
            Kind::Symlink(target) if !is_last || self.trailing_slash || self.last.follows() => {
                self.links_left = self.links_left.checked_sub(1).ok_or(Errno::Loop)?;
                // A long target costs something even if nothing of it is ever looked up.
                scratch.note_bytes(target.len() as u64);
                self.enter(target)?;
                Ok(None)
            }
            Kind::Directory(_) => {
                self.directories.push(inode);
                Ok(None)
            }
            _ if is_last && !self.trailing_slash => Ok(Some(Target::Found(inode))),
            _ => Err(Errno::NotDirectory),
        }
    }
}
