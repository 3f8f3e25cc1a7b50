//! How far the journal of a live run was written. A journal is chained, and anybody can chain another one: what was written on
//! this machine is remembered outside of the store, line by line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::shelf::{Kept, MemoryError, Shelf};
use crate::verify::FirstUse;
use eval_model::ids::Digest;

/// How far a journal was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenJournal {
    /// The marker that announced its run.
    pub started_marker: Digest,
    /// How many lines were durable.
    pub lines: u64,
    /// The BLAKE3 of the last of them, with its newline; `None` before the first.
    pub last_line: Option<Digest>,
}

/// What is remembered of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecalledJournal {
    Nothing,
    Seen(SeenJournal),
    /// It is about to be removed or renamed, and may be gone already.
    Leaving(SeenJournal),
    /// There is something, and it cannot be relied on.
    Damaged {
        path: PathBuf,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptJournal {
    journal: SeenJournal,
    leaving: bool,
}

/// Where it is remembered how far one journal was written.
#[derive(Debug, Clone)]
pub struct JournalMemory {
    /// `None` where there is no place for it.
    shelf: Option<Shelf>,
    kind: String,
    first_use: FirstUse,
}

impl JournalMemory {
    /// Of the journal with this name among those of its store.
    pub(crate) fn new(shelf: Option<Shelf>, name: &str, first_use: FirstUse) -> Self {
        Self { shelf, kind: format!("journal.{name}"), first_use }
    }

    /// Whether a journal is believed of which nothing is remembered.
    pub fn first_use(&self) -> FirstUse {
        self.first_use
    }

    pub fn recall(&self) -> Result<RecalledJournal, MemoryError> {
        let Some(shelf) = &self.shelf else { return Ok(RecalledJournal::Nothing) };
        Ok(match shelf.recall(&self.kind)? {
            Kept::Nothing => RecalledJournal::Nothing,
            Kept::Whole(KeptJournal { journal, leaving: false }) => RecalledJournal::Seen(journal),
            Kept::Whole(KeptJournal { journal, leaving: true }) => RecalledJournal::Leaving(journal),
            Kept::Damaged { path } => RecalledJournal::Damaged { path },
        })
    }

    /// Remembers durably how far the journal was written. Whoever holds the journal is the only one to say so.
    pub fn remember(&self, journal: SeenJournal) -> Result<(), MemoryError> {
        self.keep(&KeptJournal { journal, leaving: false })
    }

    /// Remembers durably, before the journal is removed or renamed, that it may be gone from here on.
    pub fn leave(&self) -> Result<(), MemoryError> {
        match self.recall()? {
            RecalledJournal::Seen(journal) => self.keep(&KeptJournal { journal, leaving: true }),
            _ => Ok(()),
        }
    }

    /// Forgets a journal that is gone, durably.
    pub fn forget(&self) -> Result<(), MemoryError> {
        let Some(shelf) = &self.shelf else { return Ok(()) };
        let _lock = shelf.lock()?;
        Ok(shelf.forget(&self.kind)?)
    }

    fn keep(&self, kept: &KeptJournal) -> Result<(), MemoryError> {
        let Some(shelf) = &self.shelf else { return Ok(()) };
        let _lock = shelf.lock()?;
        Ok(shelf.remember(&self.kind, kept)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shelf::tests::shelf;
    use super::*;

    #[test]
    fn each_journal_of_each_store_is_remembered_by_itself_until_it_has_left() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let memory = |store: &str, name: &str| JournalMemory::new(Some(shelf(&state, store)), name, FirstUse::Trust);
        let seen =
            |lines| SeenJournal { started_marker: Digest::of(b"marker"), lines, last_line: Some(Digest::of(b"line")) };
        let recalled = |store, name| memory(store, name).recall().expect("readable");
        memory("/one", "a").remember(seen(1)).expect("remembered");
        memory("/one", "a").remember(seen(2)).expect("remembered");
        memory("/one", "a.shard-1-of-2").remember(seen(7)).expect("remembered");
        assert_eq!(recalled("/one", "a"), RecalledJournal::Seen(seen(2)));
        assert_eq!(recalled("/one", "a.shard-1-of-2"), RecalledJournal::Seen(seen(7)));
        assert_eq!(recalled("/one", "a.shard-2-of-2"), RecalledJournal::Nothing);
        assert_eq!(recalled("/other", "a"), RecalledJournal::Nothing);
        memory("/one", "a").leave().expect("remembered");
        assert_eq!(recalled("/one", "a"), RecalledJournal::Leaving(seen(2)));
        memory("/one", "a").forget().expect("forgotten");
        memory("/one", "a").leave().expect("there is nothing to leave");
        assert_eq!(recalled("/one", "a"), RecalledJournal::Nothing);
    }

    #[test]
    fn without_a_state_directory_nothing_is_remembered_and_nothing_fails() {
        let memory = JournalMemory::new(None, "a", FirstUse::Refuse);
        memory
            .remember(SeenJournal { started_marker: Digest::of(b"m"), lines: 0, last_line: None })
            .expect("nothing to do");
        memory.leave().expect("nothing to do");
        memory.forget().expect("nothing to do");
        assert_eq!(memory.recall().expect("nothing to read"), RecalledJournal::Nothing);
    }
}
