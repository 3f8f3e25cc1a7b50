//! What is about to be committed: remembered before a draft is written, so that nobody else's draft becomes a record.
//!
//! A draft is a whole record that never got its name, and whoever can write to the store can make one. Only a draft that this
//! user remembers to have begun is finished after a crash. An intent is of no use to anybody else: it is the hash of one
//! record.

use serde::{Deserialize, Serialize};

use super::shelf::{Kept, MemoryError, Shelf};
use crate::chain::{Heads, Link};
use eval_model::ids::{RecordHash, TaskClassName};

const KIND: &str = "intents";

/// A record that is about to be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Intent {
    task_class: TaskClassName,
    seq: u64,
    hash: RecordHash,
}

/// Which drafts are believed to be this user's own.
#[derive(Debug)]
pub enum Intents {
    Remembered(IntentsFile),
    /// Nothing can be remembered, and so nobody can tell: every whole draft is believed.
    Unknown,
    /// No draft is believed.
    NoneBelieved,
}

/// Where it is remembered what is about to be committed to one store.
#[derive(Debug)]
pub struct IntentsFile {
    shelf: Shelf,
}

/// What was intended, as it was read once.
pub(crate) enum KnownIntents {
    These(Vec<(TaskClassName, RecordHash)>),
    All,
}

impl KnownIntents {
    pub(crate) fn contain(&self, link: &Link) -> bool {
        let is_it = |(task_class, hash): &(TaskClassName, RecordHash)| {
            *task_class == link.position.task_class && *hash == link.hash
        };
        match self {
            Self::These(intents) => intents.iter().any(is_it),
            Self::All => true,
        }
    }
}

impl Intents {
    /// Remembers durably that this record is about to be committed.
    pub(crate) fn intend(&self, link: &Link) -> Result<(), MemoryError> {
        match self {
            Self::Remembered(file) => file.intend(link),
            Self::Unknown | Self::NoneBelieved => Ok(()),
        }
    }

    pub(crate) fn known(&self) -> Result<KnownIntents, MemoryError> {
        match self {
            Self::Remembered(file) => {
                let intents = file.read()?.into_iter();
                Ok(KnownIntents::These(intents.map(|intent| (intent.task_class, intent.hash)).collect()))
            }
            Self::Unknown => Ok(KnownIntents::All),
            Self::NoneBelieved => Ok(KnownIntents::These(Vec::new())),
        }
    }
}

impl IntentsFile {
    pub(crate) fn on(shelf: &Shelf) -> Self {
        Self { shelf: shelf.clone() }
    }

    fn read(&self) -> Result<Vec<Intent>, MemoryError> {
        match self.shelf.recall(KIND)? {
            Kept::Nothing => Ok(Vec::new()),
            Kept::Whole(intents) => Ok(intents),
            Kept::Damaged { path } => Err(MemoryError::Damaged { path }),
        }
    }

    /// Several writers may have died at one place in a chain, and each of their drafts was intended. Those of earlier places
    /// are over.
    fn intend(&self, link: &Link) -> Result<(), MemoryError> {
        let (task_class, seq) = (&link.position.task_class, link.position.seq);
        let intent = Intent { task_class: task_class.clone(), seq, hash: link.hash };
        let _lock = self.shelf.lock()?;
        let mut intents = self.read()?;
        intents.retain(|other| *other != intent && (other.task_class != *task_class || other.seq >= seq));
        intents.push(intent);
        Ok(self.shelf.remember(KIND, &intents)?)
    }

    /// Forgets what these heads have come to or gone past.
    pub(crate) fn clear(&self, heads: &Heads) -> Result<(), MemoryError> {
        let is_ahead = |intent: &Intent| heads.get(&intent.task_class).is_none_or(|head| intent.seq > head.seq);
        if self.read()?.iter().all(is_ahead) {
            return Ok(());
        }
        let _lock = self.shelf.lock()?;
        let mut intents = self.read()?;
        intents.retain(is_ahead);
        Ok(self.shelf.remember(KIND, &intents)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shelf::tests::shelf;
    use super::*;
    use crate::chain::{Head, Position, StoreId, hash_of};

    fn link(class: &str, seq: u64, content: &str) -> Link {
        let position = Position {
            store_id: StoreId::from_bytes([5; 16]),
            task_class: class.parse().expect("a task class"),
            seq,
            prev_hash: RecordHash::GENESIS,
        };
        let finished_at = "2026-11-16T09:30:00.000Z".parse().expect("a time");
        Link { position, finished_at, hash: hash_of(content.as_bytes()) }
    }

    #[test]
    fn an_intent_is_for_one_record_of_one_class_until_the_head_has_come_to_it() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let file = IntentsFile::on(&shelf(&state, "/store"));
        let all = [link("a", 2, "a2"), link("a", 2, "another a2"), link("b", 1, "b1")];
        for link in [&all[0], &all[1], &all[2], &all[2]] {
            file.intend(link).expect("remembered");
        }
        let intents = Intents::Remembered(IntentsFile::on(&shelf(&state, "/store")));
        let known = |link: &Link| intents.known().expect("readable").contain(link);
        assert!(all.iter().all(known), "both writers at one place may have died");
        assert!(!known(&link("a", 2, "a forged a2")) && !known(&link("b", 2, "a2")));
        let mut heads = Heads::default();
        let mut go_to = |link: &Link| {
            heads.set(link.position.task_class.clone(), Head { seq: link.position.seq, hash: link.hash });
            file.clear(&heads).expect("cleared");
        };
        go_to(&link("a", 1, "a1"));
        assert!(all.iter().all(known), "no head has come so far");
        go_to(&all[1]);
        assert_eq!(all.each_ref().map(known), [false, false, true]);
        file.intend(&link("b", 2, "b2")).expect("remembered");
        assert!(!known(&all[2]), "a later record is written, so the earlier place is taken");
    }

    #[test]
    fn a_damaged_memory_is_told_and_not_written_over() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let shelf = shelf(&state, "/store");
        let file = IntentsFile::on(&shelf);
        file.intend(&link("a", 1, "a1")).expect("remembered");
        std::fs::write(shelf.path(KIND), "damaged").expect("written");
        let intended = file.intend(&link("a", 2, "a2"));
        assert!(matches!(intended, Err(MemoryError::Damaged { .. })), "{intended:?}");
        assert!(file.clear(&Heads::default()).is_err());
        assert!(Intents::Remembered(file).known().is_err());
    }
}
