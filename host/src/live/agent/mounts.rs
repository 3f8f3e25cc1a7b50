//! Where on its file system a path lies, so that two names of one folder are known for the same.
//!
//! A bind mount is a second name that no canonical path tells. What counts is which part of which file system is seen, and a rule
//! shows all that is mounted below it too. This only compares; it never decides what may be shown.

use std::io;
use std::path::{Path, PathBuf};

use eval_cage::Mount;

/// What is mounted where.
#[derive(Debug)]
pub(super) struct Mounts(Vec<Mount>);

/// A part of a file system, with all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    device: String,
    path: PathBuf,
}

impl Mounts {
    /// Those that this process sees.
    pub(super) fn of_this_process() -> io::Result<Self> {
        Mount::all().map(Self)
    }

    /// All places that are seen at a path without links, and below it. Where something is mounted over something else, both
    /// count.
    pub(super) fn places(&self, path: &Path) -> Vec<Place> {
        let below = self.0.iter().filter(|mount| mount.point.starts_with(path) && mount.point != path);
        let below = below.map(|mount| Place { device: mount.device.clone(), path: mount.root.clone() });
        self.places_of(path).into_iter().chain(below).collect()
    }

    /// The places of the path itself.
    pub(super) fn places_of(&self, path: &Path) -> Vec<Place> {
        self.0.iter().filter_map(|mount| Place::of(mount, path)).collect()
    }
}

impl Place {
    /// Which part of a mount a path is.
    fn of(mount: &Mount, path: &Path) -> Option<Self> {
        let rest = path.strip_prefix(&mount.point).ok()?;
        Some(Self { device: mount.device.clone(), path: mount.root.join(rest) })
    }

    /// Whether this place is the other one or lies in it.
    pub(super) fn lies_in(&self, other: &Self) -> bool {
        self.device == other.device && self.path.starts_with(&other.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        23 22 8:2 / /srv rw - ext4 /dev/sda2 rw\n\
        24 22 8:1 /repo/bench /home/a\\040b rw - ext4 /dev/sda1 rw\n";

    fn shows(rule: &str, other: &str) -> bool {
        let mounts = Mounts(Mount::listed(LIST));
        let (rule, other) = (mounts.places(Path::new(rule)), mounts.places(Path::new(other)));
        rule.iter().any(|one| other.iter().any(|place| place.lies_in(one)))
    }

    #[test]
    fn a_folder_is_the_same_by_either_of_its_names() {
        assert!(shows("/home/a b", "/repo/bench"), "the mount itself");
        assert!(shows("/home", "/repo/bench"), "a folder that it is mounted in");
        assert!(shows("/repo", "/home/a b/cases"), "the other way round");
        assert!(!shows("/home/other", "/repo/bench"));
        assert!(!shows("/home/a b/other", "/repo/bench/cases"), "a neighbour below both names");
    }

    #[test]
    fn equal_paths_on_two_devices_are_two_places() {
        assert!(!shows("/srv/repo", "/repo"));
        assert!(shows("/", "/srv/repo"));
    }
}
