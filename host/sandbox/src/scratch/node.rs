//! Files, directories and links, and the slab that holds them.
//!
//! The slab hands out numbers and reuses them: a guest that creates and deletes in a loop must not grow the host. A reused
//! number comes with a new generation, so that no two objects that ever existed look like the same one.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The identity of a node: a place in the slab, and which of its successive tenants is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inode {
    index: u32,
    generation: u32,
}

impl Inode {
    /// One number per object that ever existed in the tree, the same on every run.
    pub(crate) fn identity(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }
}

/// What a file holds.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A case's own bytes: shared with every other call that scores the case, and never written.
    Case(Arc<[u8]>),
    /// Bytes that the guest has written, or has caused to be copied by writing to a part of them.
    Own(Vec<u8>),
}

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Case(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }

    /// How much of the guest's quota these bytes take.
    pub(super) fn charged_bytes(&self) -> u64 {
        match self {
            Self::Case(_) => 0,
            Self::Own(bytes) => bytes.len() as u64,
        }
    }
}

/// A name in a directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) node: Inode,
    /// Whether the guest made it, and so pays for it; the case's own names are free.
    pub(super) charged: bool,
}

#[derive(Debug)]
pub(super) struct Directory {
    pub(super) entries: BTreeMap<Box<str>, Entry>,
    /// Where `rename` looks for ancestors. The root is its own parent.
    pub(super) parent: Inode,
}

impl Directory {
    pub(super) fn below(parent: Inode) -> Self {
        Self { entries: BTreeMap::new(), parent }
    }
}

#[derive(Debug)]
pub(super) enum Kind {
    File(Content),
    Directory(Directory),
    Symlink(Box<str>),
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// How many names lead here. A directory has one, or none once it is removed.
    pub(super) names: u64,
    /// How many descriptors and streams hold it, which keeps a nameless file readable.
    pub(super) holders: u64,
}

impl Node {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, names: 1, holders: 0 }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory(_))
    }

    /// How much of the guest's byte quota this node takes.
    pub(super) fn charged_bytes(&self) -> u64 {
        match &self.kind {
            Kind::File(content) => content.charged_bytes(),
            Kind::Directory(_) => 0,
            Kind::Symlink(target) => target.len() as u64,
        }
    }
}

#[derive(Debug)]
enum Slot {
    Free { generation: u32, next: Option<u32> },
    Taken { generation: u32, node: Node },
}

/// Every node of one tree.
#[derive(Debug)]
pub(super) struct Slab {
    slots: Vec<Slot>,
    free: Option<u32>,
}

impl Slab {
    /// An empty slab that takes this many nodes, and a few, without growing.
    pub(super) fn with_room_for(nodes: usize) -> Self {
        Self { slots: Vec::with_capacity(nodes + 8), free: None }
    }

    pub(super) fn insert(&mut self, node: Node) -> Inode {
        self.insert_with(|_| node)
    }

    /// Makes a node that knows its own number.
    pub(super) fn insert_with(&mut self, make: impl FnOnce(Inode) -> Node) -> Inode {
        let Some(index) = self.free else {
            let index = u32::try_from(self.slots.len()).expect("the entry quota keeps a tree far below 2^32 nodes");
            let inode = Inode { index, generation: 0 };
            self.slots.push(Slot::Taken { generation: 0, node: make(inode) });
            return inode;
        };
        let slot = &mut self.slots[index as usize];
        let Slot::Free { generation, next } = *slot else { unreachable!("the free list holds free slots only") };
        let inode = Inode { index, generation };
        self.free = next;
        *slot = Slot::Taken { generation, node: make(inode) };
        inode
    }

    /// Takes a node out. The last holder calls this, so that an [`Inode`] in use always leads to its own node.
    pub(super) fn remove(&mut self, inode: Inode) -> Node {
        let slot = &mut self.slots[inode.index as usize];
        let free = Slot::Free { generation: inode.generation.wrapping_add(1), next: self.free };
        match std::mem::replace(slot, free) {
            Slot::Taken { node, .. } => {
                self.free = Some(inode.index);
                node
            }
            Slot::Free { .. } => unreachable!("a node is removed once, by its last holder"),
        }
    }

    pub(super) fn get(&self, inode: Inode) -> &Node {
        match &self.slots[inode.index as usize] {
            Slot::Taken { generation, node } if *generation == inode.generation => node,
            _ => unreachable!("a held inode leads to its node"),
        }
    }

    pub(super) fn get_mut(&mut self, inode: Inode) -> &mut Node {
        match &mut self.slots[inode.index as usize] {
            Slot::Taken { generation, node } if *generation == inode.generation => node,
            _ => unreachable!("a held inode leads to its node"),
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }
}
