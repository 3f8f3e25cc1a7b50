//! What a tree held at the end of a call, for the rubric's author.
//!
//! A guest may have made one large file with thousands of names, or a path longer than any disk takes: what is handed out is
//! never much more than the guest's quota, and it is said how much was left out.

use std::collections::BTreeMap;

use super::Scratch;
use super::node::{Inode, Kind};

/// A longer path cannot be written to a disk below a folder of some depth.
const PATH_BYTES_MAX: usize = 2_048;

/// What is at a path when a call is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScratchEntry {
    Directory,
    File(Vec<u8>),
    /// One more name of the file at this path.
    HardLink(String),
    /// A relative target, which on a real disk may lead anywhere: whoever writes it out decides whether to.
    Symlink(String),
}

/// Everything in a tree, by path relative to its root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScratchTree {
    pub entries: BTreeMap<String, ScratchEntry>,
    /// Paths that are too long, without counting what is below them.
    pub left_out: u64,
}

impl Scratch {
    pub(crate) fn export(&self) -> ScratchTree {
        let mut tree = ScratchTree::default();
        let mut first_names: BTreeMap<u64, String> = BTreeMap::new();
        let mut pending = self.below("", self.root);
        while let Some((path, inode)) = pending.pop() {
            if path.len() > PATH_BYTES_MAX {
                tree.left_out += 1;
                continue;
            }
            pending.extend(self.below(&path, inode));
            let entry = match &self.nodes.get(inode).kind {
                Kind::Directory(_) => ScratchEntry::Directory,
                Kind::Symlink(target) => ScratchEntry::Symlink(target.to_string()),
                Kind::File(content) => match first_names.get(&inode.identity()) {
                    Some(first) => ScratchEntry::HardLink(first.clone()),
                    None => {
                        first_names.insert(inode.identity(), path.clone());
                        ScratchEntry::File(content.bytes().to_vec())
                    }
                },
            };
            tree.entries.insert(path, entry);
        }
        tree
    }

    /// What a directory holds, with whole paths, last first; nothing for what is no directory.
    fn below(&self, path: &str, inode: Inode) -> Vec<(String, Inode)> {
        let Ok(directory) = self.directory(inode) else { return Vec::new() };
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        directory.entries.iter().rev().map(|(name, entry)| (join(name), entry.node)).collect()
    }
}
