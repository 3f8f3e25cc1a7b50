//! The last-seen head: what this user saw of a store the last time, kept where whoever edits the store does not come by.
//!
//! A chain alone cannot show that its tail was cut off, that a task class was wiped, that an older copy was put back, or that
//! everything from some record on was written anew. It is keyed by where the store is, whichever way the user comes there, and
//! never by anything that is read from the store: else a store that calls itself something new would be believed. It only ever
//! moves forward, and only to what was verified.

#![expect(clippy::disallowed_methods, reason = "a store is known by where it is, whichever links lead there")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::finding::State;
use crate::anchor::MarkerHead;
use crate::chain::{Head, Heads, StoreId};
use crate::files::{FileError, LockError};
use crate::memory::{Kept, MemoryError, Shelf};
use crate::store::Excerpt;
use eval_model::advice::Advice;
use eval_model::ids::{Digest, RecordHash, TaskClassName};

const SCHEMA_VERSION: u32 = 1;
const FOLDER: &str = "last-seen";

/// The heads' name among what is remembered of a store.
const HEADS: &str = "";

/// What was seen of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastSeen {
    schema_version: u32,
    /// Where the store is.
    store: String,
    store_id: StoreId,
    heads: Heads,
    /// The last marker of a live run, per task class.
    started: BTreeMap<TaskClassName, MarkerHead>,
    /// What the store said that it is a part of; none if it was whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excerpt: Option<Excerpt>,
}

/// What is there about a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Memory {
    /// The store was never seen.
    None,
    Seen(LastSeen),
    /// There is something, and it cannot be relied on.
    Damaged {
        path: PathBuf,
    },
}

/// Whether a store that was never seen is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstUse {
    Trust,
    /// It must be said, with `--trust-on-first-use`.
    Refuse,
}

impl FirstUse {
    /// What to do where it is refused.
    pub const ADVICE: &str = "if you know where the store comes from, say `eval-host verify --trust-on-first-use` once, \
                              and keep the state directory ($XDG_STATE_HOME/eval-host, or else \
                              ~/.local/state/eval-host) between jobs";
}

/// How a store differs from what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LastSeenDefect {
    #[error("it was not seen before on this machine; say `--trust-on-first-use` to believe it this once")]
    NeverSeen,
    #[error("the last-seen head `{}` was damaged; move it away and say `--trust-on-first-use`", path.display())]
    Damaged { path: PathBuf },
    #[error("it is another store than was seen here before: it was `{seen}` and is `{found}`")]
    OtherStore { seen: StoreId, found: StoreId },
    #[error("its records are gone: {seq} of them were seen here before")]
    Wiped { seq: u64 },
    #[error("its tail is gone: record {seen} was seen here before, and now the last one is {found}")]
    Truncated { seen: u64, found: u64 },
    #[error("it was rewritten: it had the hash `{seen}` when it was seen here before, and has `{found}` now")]
    Rewritten { seen: RecordHash, found: RecordHash },
    #[error("markers of started runs are gone: {seen} were seen here before, and now there are {found}")]
    MarkersGone { seen: u64, found: u64 },
    #[error(
        "marker {seq} of a started run was replaced: it was `{seen}` when it was seen here before, and is `{found}` now"
    )]
    MarkerReplaced { seq: u64, seen: Digest, found: Digest },
    #[error("it says that it is {found}, and it was {seen} when it was seen here before")]
    OtherExtent { seen: String, found: String },
}

impl LastSeenDefect {
    pub(super) fn state(&self) -> State {
        match self {
            Self::NeverSeen | Self::Damaged { .. } => State::Unverifiable,
            _ => State::Tampered,
        }
    }
}

/// Why the last-seen head could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LastSeenError {
    #[error(
        "the last-seen head of this store moved elsewhere meanwhile: record {seq} of `{task_class}` is `{there}` and not `{here}`"
    )]
    Conflict { task_class: TaskClassName, seq: u64, here: RecordHash, there: RecordHash },
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Advice for LastSeenError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Memory(error) => error.hint(),
            Self::File(_) => Some("name a writable folder with XDG_STATE_HOME".to_owned()),
            _ => None,
        }
    }
}

/// Where the last-seen head of one store is kept.
#[derive(Debug)]
pub struct LastSeenFile {
    shelf: Shelf,
}

impl LastSeenFile {
    /// For the store that the user calls `store`, an absolute path, below the user's state directory.
    pub fn open(state_dir: &Path, store: &Path, patience: Duration) -> Result<Self, LastSeenError> {
        Ok(Self { shelf: Shelf::open(&state_dir.join(FOLDER), &place(store), patience)? })
    }

    /// Where everything is that is remembered of the store.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    pub fn path(&self) -> PathBuf {
        self.shelf.path(HEADS)
    }

    pub fn read(&self) -> Result<Memory, LastSeenError> {
        Ok(match self.shelf.read::<LastSeen>(HEADS)? {
            Kept::Nothing => Memory::None,
            Kept::Whole(seen) if seen.schema_version == SCHEMA_VERSION && seen.store == self.shelf.store() => {
                Memory::Seen(seen)
            }
            Kept::Whole(_) | Kept::Damaged { .. } => Memory::Damaged { path: self.path() },
        })
    }

    /// Moves forward to what was verified. Somebody who saw more in the meantime is not overruled.
    pub fn advance(
        &self,
        store_id: StoreId,
        heads: &Heads,
        started: &BTreeMap<TaskClassName, MarkerHead>,
        excerpt: Option<&Excerpt>,
    ) -> Result<(), LastSeenError> {
        let _lock = self.shelf.lock()?;
        let mut next = LastSeen {
            schema_version: SCHEMA_VERSION,
            store: self.shelf.store().to_owned(),
            store_id,
            heads: heads.clone(),
            started: started.clone(),
            excerpt: excerpt.cloned(),
        };
        let memory = self.read()?;
        if let Memory::Seen(seen) = &memory {
            next.keep_later(seen)?;
        }
        if memory == Memory::Seen(next.clone()) {
            return Ok(());
        }
        Ok(self.shelf.replace(HEADS, &next)?)
    }
}

impl LastSeen {
    fn keep_later(&mut self, seen: &Self) -> Result<(), LastSeenError> {
        if seen.store_id != self.store_id {
            return Ok(());
        }
        for (task_class, there) in seen.heads.iter() {
            match self.heads.get(task_class) {
                Some(here) if here.seq > there.seq => {}
                Some(here) if here.seq == there.seq && here.hash != there.hash => {
                    let task_class = task_class.clone();
                    return Err(LastSeenError::Conflict {
                        task_class,
                        seq: there.seq,
                        here: here.hash,
                        there: there.hash,
                    });
                }
                _ => self.heads.set(task_class.clone(), there),
            }
        }
        for (task_class, there) in &seen.started {
            let here = self.started.entry(task_class.clone()).or_insert(*there);
            if here.seq < there.seq {
                *here = *there;
            }
        }
        Ok(())
    }

    /// Everything in which the store differs from what was seen. `hash_at` and `marker_at` give what is at a place.
    pub(super) fn compare(
        &self,
        store_id: StoreId,
        heads: &Heads,
        started: &BTreeMap<TaskClassName, MarkerHead>,
        hash_at: &dyn Fn(&TaskClassName, u64) -> Option<RecordHash>,
        marker_at: &dyn Fn(&TaskClassName, u64) -> Option<Digest>,
    ) -> Vec<(Option<TaskClassName>, Option<u64>, LastSeenDefect)> {
        if self.store_id != store_id {
            return vec![(None, None, LastSeenDefect::OtherStore { seen: self.store_id, found: store_id })];
        }
        let head_defect = |(task_class, seen): (&TaskClassName, Head)| {
            let defect = compare_head(seen, heads.get(task_class), hash_at(task_class, seen.seq))?;
            let seq = matches!(defect, LastSeenDefect::Rewritten { .. }).then_some(seen.seq);
            Some((Some(task_class.clone()), seq, defect))
        };
        let marker_defect = |(task_class, seen): (&TaskClassName, &MarkerHead)| {
            let defect = match marker_at(task_class, seen.seq) {
                Some(found) if found == seen.digest => return None,
                Some(found) => LastSeenDefect::MarkerReplaced { seq: seen.seq, seen: seen.digest, found },
                None => {
                    let found = started.get(task_class).map_or(0, |last| last.seq);
                    LastSeenDefect::MarkersGone { seen: seen.seq, found }
                }
            };
            Some((Some(task_class.clone()), None, defect))
        };
        self.heads.iter().filter_map(head_defect).chain(self.started.iter().filter_map(marker_defect)).collect()
    }
}

impl LastSeen {
    /// A whole store that says that it is a part hides that objects and markers are gone, and a part that says that it is
    /// whole, that they are not known.
    pub(super) fn compare_extent(&self, store_id: StoreId, excerpt: Option<&Excerpt>) -> Option<LastSeenDefect> {
        if self.store_id != store_id || self.excerpt.as_ref() == excerpt {
            return None;
        }
        Some(LastSeenDefect::OtherExtent { seen: extent(self.excerpt.as_ref()), found: extent(excerpt) })
    }
}

fn extent(excerpt: Option<&Excerpt>) -> String {
    match excerpt {
        None => "a whole store".to_owned(),
        Some(Excerpt { task_class, seq, .. }) => format!("what a bundle of record {seq} of `{task_class}` holds"),
    }
}

fn compare_head(seen: Head, head: Option<Head>, hash: Option<RecordHash>) -> Option<LastSeenDefect> {
    match (head, hash) {
        (_, Some(found)) if found == seen.hash => None,
        (_, Some(found)) => Some(LastSeenDefect::Rewritten { seen: seen.hash, found }),
        (Some(head), None) => Some(LastSeenDefect::Truncated { seen: seen.seq, found: head.seq }),
        (None, None) => Some(LastSeenDefect::Wiped { seq: seen.seq }),
    }
}

/// One path for one store: the folder it is in without `..` and links, and its name. The name itself is not followed, because
/// a store that is a link is refused.
fn place(store: &Path) -> PathBuf {
    match (store.parent(), store.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        _ => resolved(store),
    }
}

/// The path without `..` and links, as far as it exists; the rest will be made as it is written.
fn resolved(path: &Path) -> PathBuf {
    let missing = || {
        let before = path.parent().map_or_else(|| path.to_owned(), resolved);
        match path.file_name() {
            Some(name) => before.join(name),
            None => before.parent().map_or_else(|| before.clone(), Path::to_owned),
        }
    };
    std::fs::canonicalize(path).unwrap_or_else(|_| missing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::hash_of;

    const STORE: StoreId = StoreId::from_bytes([5; 16]);

    fn class(name: &str) -> TaskClassName {
        name.parse().expect("a task class")
    }

    fn heads(ends: &[(&str, u64, &str)]) -> Heads {
        let mut heads = Heads::default();
        for (name, seq, content) in ends {
            heads.set(class(name), Head { seq: *seq, hash: hash_of(content.as_bytes()) });
        }
        heads
    }

    fn file(state: &tempfile::TempDir) -> LastSeenFile {
        LastSeenFile::open(state.path(), Path::new("/home/operator/.codegenie/eval"), Duration::from_secs(10))
            .expect("it opens")
    }

    fn seen(file: &LastSeenFile) -> LastSeen {
        match file.read().expect("readable") {
            Memory::Seen(seen) => seen,
            other => panic!("{other:?}"),
        }
    }

    fn marker(seq: u64) -> MarkerHead {
        MarkerHead { seq, digest: Digest::of(format!("marker {seq}").as_bytes()) }
    }

    #[test]
    fn it_moves_forward_and_never_back() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let file = file(&state);
        assert_eq!(file.read().expect("readable"), Memory::None);
        let started = BTreeMap::from([(class("a"), marker(2))]);
        file.advance(STORE, &heads(&[("a", 3, "a3"), ("b", 1, "b1")]), &started, None).expect("written");
        file.advance(STORE, &heads(&[("a", 2, "a2"), ("b", 2, "b2")]), &BTreeMap::new(), None).expect("written");
        assert_eq!(seen(&file).heads, heads(&[("a", 3, "a3"), ("b", 2, "b2")]));
        assert_eq!(seen(&file).started, started);
        let conflict = file.advance(STORE, &heads(&[("a", 3, "another a3")]), &started, None);
        assert!(matches!(conflict, Err(LastSeenError::Conflict { seq: 3, .. })), "{conflict:?}");
    }

    #[test]
    fn whichever_way_one_comes_to_a_store_it_is_one_store() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let root = temp.path().canonicalize().expect("it exists");
        let expected = root.join("a/store");
        // Before anything is there, and afterwards.
        assert_eq!(place(&root.join("a/store")), expected);
        assert_eq!(place(&root.join("b/../a/store/")), expected);
        std::fs::create_dir_all(&expected).expect("made");
        std::fs::create_dir(root.join("b")).expect("made");
        std::os::unix::fs::symlink("a", root.join("link")).expect("linked");
        for way in ["a/store", "a/store/", "b/../a/store", "link/store", "a/store/../store", "link/store/../../a/store"]
        {
            assert_eq!(place(&root.join(way)), expected, "{way}");
        }
        std::os::unix::fs::symlink("store", root.join("a/other")).expect("linked");
        assert_eq!(
            place(&root.join("a/other")),
            root.join("a/other"),
            "a store that is a link is another, and refused"
        );
        assert_eq!(place(Path::new("/")), Path::new("/"));
    }

    #[test]
    fn every_flipped_bit_makes_it_damaged() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let file = file(&state);
        file.advance(STORE, &heads(&[("a", 3, "a3")]), &BTreeMap::from([(class("a"), marker(7))]), None)
            .expect("written");
        let bytes = std::fs::read(file.path()).expect("readable");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(file.path(), flipped).expect("written");
            assert_eq!(file.read().expect("readable"), Memory::Damaged { path: file.path() }, "bit {bit}");
        }
        std::fs::write(file.path(), &bytes[1..]).expect("written");
        assert_eq!(file.read().expect("readable"), Memory::Damaged { path: file.path() });
    }

    #[test]
    fn each_way_to_go_back_has_its_name() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let file = file(&state);
        file.advance(STORE, &heads(&[("a", 3, "a3")]), &BTreeMap::from([(class("a"), marker(1))]), None)
            .expect("written");
        let seen = seen(&file);
        let check = |id, heads: &Heads, started: u64, hash: Option<&str>| -> Vec<String> {
            let there = marker(started);
            let started = BTreeMap::from([(class("a"), there)]);
            let hash = hash.map(|content| hash_of(content.as_bytes()));
            let found =
                seen.compare(id, heads, &started, &|_, _| hash, &|_, seq| (seq <= there.seq).then_some(there.digest));
            found.into_iter().map(|(_, _, defect)| defect.to_string()).collect()
        };
        let grown = heads(&[("a", 4, "a4")]);
        assert_eq!(check(STORE, &grown, 1, Some("a3")), Vec::<String>::new());
        assert!(check(STORE, &grown, 1, Some("another a3"))[0].starts_with("it was rewritten"));
        assert!(check(STORE, &heads(&[("a", 2, "a2")]), 1, None)[0].starts_with("its tail is gone: record 3"));
        assert!(check(STORE, &Heads::default(), 1, None)[0].starts_with("its records are gone: 3"));
        assert!(check(STORE, &grown, 0, Some("a3"))[0].starts_with("markers of started runs are gone: 1"));
        assert!(check(STORE, &grown, 2, Some("a3"))[0].starts_with("marker 1 of a started run was replaced"));
        assert!(check(StoreId::from_bytes([6; 16]), &grown, 1, Some("a3"))[0].starts_with("it is another store"));
    }

    #[test]
    fn what_was_whole_stays_whole() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let file = file(&state);
        file.advance(STORE, &heads(&[("a", 3, "a3")]), &BTreeMap::new(), None).expect("written");
        let seen = seen(&file);
        assert_eq!(seen.compare_extent(STORE, None), None);
        let excerpt = Excerpt { task_class: class("a"), seq: 2, record: hash_of(b"a2") };
        let defect = seen.compare_extent(STORE, Some(&excerpt)).expect("it was whole");
        assert_eq!(
            defect.to_string(),
            "it says that it is what a bundle of record 2 of `a` holds, and it was a whole store when it was seen here before"
        );
        assert_eq!(defect.state(), State::Tampered);
    }

    #[test]
    fn a_part_stays_the_part_that_it_was() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let file = file(&state);
        let excerpt = |seq| Excerpt { task_class: class("a"), seq, record: hash_of(b"a3") };
        file.advance(STORE, &heads(&[("a", 3, "a3")]), &BTreeMap::new(), Some(&excerpt(3))).expect("written");
        let seen = seen(&file);
        assert!(seen.compare_extent(STORE, Some(&excerpt(3))).is_none());
        for other in [None, Some(&excerpt(4))] {
            assert!(seen.compare_extent(STORE, other).is_some(), "{other:?}");
        }
        assert!(
            seen.compare_extent(StoreId::from_bytes([6; 16]), None).is_none(),
            "another store is said to be another"
        );
    }
}
