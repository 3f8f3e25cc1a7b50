//! Where a package is found from a folder: in the nearest `node_modules` upwards that has it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use super::atlas::{Atlas, ROOT};
use super::lock::Lock;

/// The entries of a lock file by folder and name.
pub(super) struct Places {
    /// The root's packages, by name: most are there.
    of_root: Vec<Option<usize>>,
    /// Whether a folder has packages of its own.
    has_own: Vec<bool>,
    own: HashMap<(usize, usize), usize, BuildHasherDefault<DefaultHasher>>,
}

impl Places {
    pub(super) fn of(lock: &Lock, atlas: &Atlas) -> Self {
        let (of_root, has_own) = (vec![None; atlas.names.count()], vec![false; atlas.folders.count()]);
        let mut places = Self { of_root, has_own, own: HashMap::default() };
        for (index, entry) in lock.entries.iter().enumerate() {
            match entry.spot {
                Some((ROOT, name)) => places.of_root[name] = Some(index),
                Some((folder, name)) => {
                    places.has_own[folder] = true;
                    places.own.insert((folder, name), index);
                }
                None => {}
            }
        }
        places
    }

    /// Where Node finds a package from a folder. A workspace looks in the folders above it too, up to the root.
    pub(super) fn find(&self, atlas: &Atlas, from: usize, name: usize) -> Option<usize> {
        let mut folder = from;
        while folder != ROOT {
            let own = self.has_own[folder].then(|| self.own.get(&(folder, name))).flatten();
            if let Some(index) = own {
                return Some(*index);
            }
            folder = atlas.above(folder);
        }
        self.of_root[name]
    }
}
