//! Finishes what a crash left of an append, where that is safe.
//!
//! A draft is a record that never got its name. If it is whole and its place is still free, it is committed now, through the
//! same steps as any other record: its bytes are written anew, because a draft whose fsync failed may be in memory only. If
//! it was cut, or another record took its place, it is moved to `unfinished/`. Nothing is deleted but a draft whose very
//! bytes have become a record.

use super::reader::{DRAFT_PREFIX, Evidence as _, Snapshot, scan};
use super::writer::{AppendError, Ready, StoreWriter};
use crate::chain::{Heads, Link};
use crate::files::{FileError, FileProblem, LockError};
use crate::record::{MOST_RECORD_BYTES, RecordedRun};

const UNFINISHED: &str = "unfinished";

/// How a draft's bytes are called while they are written anew.
const AGAIN_PREFIX: &str = ".tmp-again-";

/// Most drafts of one name that can be set aside.
const MOST_NAMESAKES: u32 = 1000;

/// What became of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftEnd {
    /// It is a record now.
    Committed(Link),
    /// It cannot become one, and is kept under this name, relative to the store.
    SetAside(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedDraft {
    pub draft: String,
    pub end: DraftEnd,
}

/// Why what a crash left could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl StoreWriter {
    /// Finishes every draft of this store. A store whose chains are broken is left as it is.
    pub fn finish(&self) -> Result<Vec<FinishedDraft>, FinishError> {
        let _lock = self.lock()?;
        // Whoever wrote the newest record may have died before it was durable.
        self.reader().runs().sync()?;
        let names = self.reader().names_locked()?;
        if !names.iter().any(|name| name.as_encoded_bytes().starts_with(DRAFT_PREFIX.as_bytes())) {
            return Ok(Vec::new());
        }
        let scan = scan(self.reader(), names, &Snapshot::default(), &mut |_| {});
        if !scan.findings.is_empty() {
            return Ok(Vec::new());
        }
        let mut heads = scan.snapshot.heads().clone();
        let mut ends = Vec::new();
        for draft in scan.drafts {
            let end = match self.whole_draft(&draft, &heads)? {
                Some(ready) => DraftEnd::Committed(self.commit_draft(&draft, &ready, &mut heads)?),
                None => DraftEnd::SetAside(self.set_aside(&draft)?),
            };
            ends.push(FinishedDraft { draft, end });
        }
        Ok(ends)
    }

    /// The draft as a record that only needs to be written, if it is one.
    fn whole_draft(&self, draft: &str, heads: &Heads) -> Result<Option<Ready>, FinishError> {
        let bytes = match self.reader().runs().read(draft, MOST_RECORD_BYTES) {
            Ok(bytes) => bytes,
            Err(FileError { problem: FileProblem::NotAFile(_) | FileProblem::TooLarge { .. }, .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Ok((record, link)) = RecordedRun::read(&bytes) else { return Ok(None) };
        let is_next = link.position == heads.next(self.reader().id(), &record.task_class);
        let has_objects =
            || record.named_objects().into_iter().all(|object| self.reader().check_object(object).is_ok());
        if !is_next || !has_objects() {
            return Ok(None);
        }
        let name = link.file_name().as_str().to_owned();
        Ok(Some(Ready { draft: format!("{AGAIN_PREFIX}{name}"), name, bytes, link }))
    }

    fn commit_draft(&self, draft: &str, ready: &Ready, heads: &mut Heads) -> Result<Link, FinishError> {
        self.write_draft(ready)?;
        let link = self.publish(ready)?.link;
        heads.set(link.position.task_class.clone(), link.head());
        self.reader().runs().unlink(draft)?;
        Ok(link)
    }

    fn set_aside(&self, draft: &str) -> Result<String, FinishError> {
        let unfinished = self.reader().root().child_or_new(UNFINISHED)?;
        let mut namesakes = 0;
        loop {
            let name = format!("{}.{namesakes}", draft.trim_start_matches(DRAFT_PREFIX));
            match self.reader().runs().rename_new(draft, &unfinished, &name) {
                Ok(()) => return Ok(format!("{UNFINISHED}/{name}")),
                Err(error) if error.is_taken() && namesakes < MOST_NAMESAKES => namesakes += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::writer::tests::{append, new_store, state_of};
    use super::*;
    use crate::verify::State;

    #[test]
    fn a_whole_draft_whose_place_is_free_becomes_a_record() {
        let (_temp, store) = new_store();
        append(&store, "a", 1);
        let receipt = append(&store, "a", 2);
        let bytes = fs::read(&receipt.path).expect("readable");
        let name = receipt.link.file_name();
        let draft = receipt.path.with_file_name(format!(".tmp-{name}"));
        fs::rename(&receipt.path, &draft).expect("back to a draft");
        assert_eq!(state_of(&store).0, State::Incomplete);
        let ends = store.finish().expect("finished");
        assert_eq!(ends, [FinishedDraft { draft: format!(".tmp-{name}"), end: DraftEnd::Committed(receipt.link) }]);
        assert_eq!(fs::read(&receipt.path).expect("there again"), bytes);
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
        assert_eq!(store.finish().expect("nothing to do"), []);
    }

    #[test]
    fn a_cut_draft_and_a_late_one_are_set_aside_with_their_bytes() {
        let (_temp, store) = new_store();
        let first = append(&store, "a", 1);
        let runs = store.reader().runs().path().to_owned();
        fs::copy(&first.path, runs.join(".tmp-late")).expect("copied");
        fs::write(runs.join(".tmp-cut"), "{\"schema").expect("written");
        assert_eq!(state_of(&store).0, State::Incomplete);
        let ends: Vec<_> = store.finish().expect("finished").into_iter().map(|draft| draft.end).collect();
        let aside = |name: &str| DraftEnd::SetAside(format!("unfinished/{name}"));
        assert_eq!(ends, [aside("cut.0"), aside("late.0")]);
        assert_eq!(fs::read(runs.join("../unfinished/cut.0")).expect("kept"), b"{\"schema");
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
        fs::write(runs.join(".tmp-cut"), "{\"sch").expect("written");
        assert_eq!(store.finish().expect("finished")[0].end, aside("cut.1"));
    }

    #[test]
    fn nothing_is_finished_in_a_broken_store() {
        let (_temp, store) = new_store();
        let first = append(&store, "a", 1);
        append(&store, "a", 2);
        fs::rename(&first.path, first.path.with_file_name(".tmp-x")).expect("back to a draft");
        assert_eq!(store.finish().expect("left alone"), []);
        assert_eq!(state_of(&store).0, State::Tampered);
    }
}
