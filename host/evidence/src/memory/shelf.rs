//! The files that are kept about one store, and how they are written so that no bit of them can change unnoticed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files::{Dir, FileError, FileProblem, Lock, LockError, Missing, Share};
use eval_model::advice::Advice;
use eval_model::ids::Digest;
use eval_model::json;

const SCHEMA_VERSION: u32 = 1;
const MOST_BYTES: u64 = 16 << 20;

/// Where this user keeps what is remembered of one store. It is keyed by where the store is.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    dir: Arc<Dir>,
    key: Digest,
    store: String,
    patience: Duration,
}

/// What is there of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept<T> {
    Nothing,
    Whole(T),
    /// There is something, and it cannot be relied on.
    Damaged {
        path: PathBuf,
    },
}

/// Why something could not be remembered or recalled.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("what is remembered in `{}` was damaged", path.display())]
    Damaged { path: PathBuf },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Advice for MemoryError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Damaged { .. } => Some("move it away, and keep it for whoever investigates".to_owned()),
            Self::File(_) => Some("name a writable folder with XDG_STATE_HOME".to_owned()),
            Self::Lock(_) => None,
        }
    }
}

/// What is kept, and of which store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About<T> {
    schema_version: u32,
    store: String,
    seen: T,
}

impl Shelf {
    /// For the store at `store`, a path without links, in a folder of the user's state directory.
    pub(crate) fn open(folder: &Path, store: &Path, patience: Duration) -> Result<Self, FileError> {
        let dir = Arc::new(Dir::open_own(folder, Missing::Create)?);
        let key = Digest::of(store.as_os_str().as_encoded_bytes());
        Ok(Self { dir, key, store: store.to_string_lossy().into_owned(), patience })
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> &str {
        &self.store
    }

    pub(crate) fn path(&self, kind: &str) -> PathBuf {
        self.dir.path().join(self.name(kind))
    }

    /// The last-seen heads have no kind: they were the first.
    fn name(&self, kind: &str) -> String {
        if kind.is_empty() { format!("{}.json", self.key) } else { format!("{}.{kind}.json", self.key) }
    }

    /// Whoever replaces or removes something holds this, so that no two write the same draft.
    pub(crate) fn lock(&self) -> Result<Lock, LockError> {
        self.dir.lock(Share::Nobody, self.patience)
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, kind: &str) -> Result<Kept<T>, FileError> {
        let bytes = match self.dir.read_if_any(self.name(kind), MOST_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Kept::Nothing),
            Err(error) if matches!(error.problem, FileProblem::Io { .. }) => return Err(error),
            Err(_) => return Ok(self.damaged(kind)),
        };
        Ok(decode(&bytes).map_or_else(|| self.damaged(kind), Kept::Whole))
    }

    pub(crate) fn damaged<T>(&self, kind: &str) -> Kept<T> {
        Kept::Damaged { path: self.path(kind) }
    }

    pub(crate) fn replace(&self, kind: &str, value: &impl Serialize) -> Result<(), FileError> {
        self.dir.replace(&self.name(kind), &encode(value))
    }

    /// What is remembered of this store.
    pub(super) fn recall<T: DeserializeOwned>(&self, kind: &str) -> Result<Kept<T>, FileError> {
        Ok(match self.read::<About<T>>(kind)? {
            Kept::Whole(about) if about.schema_version == SCHEMA_VERSION && about.store == self.store => {
                Kept::Whole(about.seen)
            }
            Kept::Whole(_) => self.damaged(kind),
            Kept::Nothing => Kept::Nothing,
            Kept::Damaged { path } => Kept::Damaged { path },
        })
    }

    /// Remembers it durably in place of what was remembered. The caller holds the lock.
    pub(super) fn remember(&self, kind: &str, seen: &impl Serialize) -> Result<(), FileError> {
        self.replace(kind, &About { schema_version: SCHEMA_VERSION, store: self.store.clone(), seen })
    }

    /// Forgets it durably, or has nothing to forget. The caller holds the lock.
    pub(super) fn forget(&self, kind: &str) -> Result<(), FileError> {
        match self.dir.unlink(self.name(kind)) {
            Err(error) if error.is_missing() => Ok(()),
            result => result.and_then(|()| self.dir.sync()),
        }
    }
}

/// One line of JSON, and one with its BLAKE3.
fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = json::line(value);
    let check = Digest::of(&bytes);
    bytes.extend_from_slice(format!("{check}\n").as_bytes());
    bytes
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let text = str::from_utf8(bytes).ok()?;
    let (line, check) = text.split_once('\n')?;
    let check: Digest = check.strip_suffix('\n')?.parse().ok()?;
    if Digest::of(format!("{line}\n").as_bytes()) != check {
        return None;
    }
    json::parse(line).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;

    pub(in super::super) fn shelf(state: &tempfile::TempDir, store: &str) -> Shelf {
        Shelf::open(&state.path().join("last-seen"), Path::new(store), Duration::from_secs(10)).expect("it opens")
    }

    #[test]
    fn what_is_remembered_of_one_store_is_not_remembered_of_another() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let (one, other) = (shelf(&state, "/one"), shelf(&state, "/other"));
        one.remember("kind", &7_u64).expect("written");
        assert_eq!(one.recall::<u64>("kind").expect("readable"), Kept::Whole(7));
        assert_eq!(one.recall::<u64>("another").expect("readable"), Kept::Nothing);
        assert_eq!(other.recall::<u64>("kind").expect("readable"), Kept::Nothing);
        fs::copy(one.path("kind"), other.path("kind")).expect("copied");
        assert_eq!(other.recall::<u64>("kind").expect("readable"), Kept::Damaged { path: other.path("kind") });
        one.forget("kind").expect("forgotten");
        one.forget("kind").expect("there is nothing to forget");
        assert_eq!(one.recall::<u64>("kind").expect("readable"), Kept::Nothing);
    }

    #[test]
    fn every_flipped_bit_makes_it_damaged() {
        let bytes = encode(&About { schema_version: SCHEMA_VERSION, store: "/store".to_owned(), seen: 7_u64 });
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode::<About<u64>>(&flipped).is_none(), "bit {bit}");
        }
        assert_eq!(decode::<About<u64>>(&bytes).map(|about| about.seen), Some(7));
    }
}
