//! Finishes what a crash left of an append, where that is safe.
//!
//! A draft is a record that never got its name. If it is whole, its place is still free and this user remembers to have begun
//! it, it is committed now, through the
//! same steps as any other record: its bytes are written anew, because a draft whose fsync failed may be in memory only. If
//! it was cut, if another record took its place, or if nobody remembers it (whoever can write to the store can put a draft
//! there), it is moved to `unfinished/`. Nothing is deleted but a draft whose very
//! bytes have become a record, and a pack that never got its name: nothing names what is in it.
//!
//! The signature of a draft is committed with it. Where the draft is moved away, its signature goes first, because a signature
//! without a record says that a record is gone.

use super::reader::{AGAIN_PREFIX, DRAFT_PREFIX, Evidence as _, Snapshot, record_of_draft, scan};
use super::writer::{AppendError, NotePlace, Ready, ReadyNote, StoreWriter};
use crate::anchor::{MOST_NOTE_BYTES, TrustedKeys, judge_record_note};
use crate::chain::{Heads, Link, RecordFileName};
use crate::files::{Dir, FileError, FileProblem, LockError};
use crate::memory::{KnownIntents, MemoryError};
use crate::record::{MOST_RECORD_BYTES, RecordedRun};
use crate::verify::{AnswerDefect, Contradiction, ObjectFacts};

const UNFINISHED: &str = "unfinished";

/// Most drafts of one name that can be set aside.
const MOST_NAMESAKES: u32 = 1000;

/// What became of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftEnd {
    /// It is a record now.
    Committed(Link),
    /// It cannot become one, and is kept under this name, relative to the store.
    SetAside(String),
    /// It is a whole record in its place, and is not believed. It is kept under this name, relative to the store.
    Refused { kept: String, why: RefusedDraft },
    /// It was a pack that nothing named, and is gone.
    TakenAway,
}

/// Why a whole record does not become one of the store's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefusedDraft {
    #[error("nobody remembers on this machine that it was about to be committed")]
    NotIntended,
    #[error("it contradicts itself: {0}")]
    Contradiction(Contradiction),
    #[error("it contradicts the objects that it names: {0}")]
    Answer(AnswerDefect),
}

/// What can become of a draft.
enum Fate {
    Commit(Ready),
    Unfit,
    Refuse(RefusedDraft),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedDraft {
    /// Its name in the folder that it was in.
    pub draft: String,
    pub end: DraftEnd,
}

/// Why what a crash left could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("eval-host could not recall which record it was about to commit")]
    Recall(#[source] MemoryError),
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
        let packs = self.reader().packs().shelf().sweep()?;
        let taken_away = |draft| FinishedDraft { draft, end: DraftEnd::TakenAway };
        let mut ends: Vec<_> = packs.into_iter().map(taken_away).collect();
        let names = self.reader().names_locked()?;
        if !names.iter().any(|name| name.as_encoded_bytes().starts_with(DRAFT_PREFIX.as_bytes())) {
            return Ok(ends);
        }
        let scan = scan(self.reader(), names, &Snapshot::default(), &mut |_| {});
        if !scan.findings.is_empty() {
            return Ok(ends);
        }
        let intents = self.intents.known().map_err(FinishError::Recall)?;
        let mut heads = scan.snapshot.heads().clone();
        for draft in scan.drafts {
            // One that was finished under another name: a signature with its record, or bytes that were to be written anew.
            if self.reader().runs().stat_of(&draft)?.is_none() {
                continue;
            }
            let end = match self.fate(&draft, &heads, &intents)? {
                Fate::Commit(ready) => DraftEnd::Committed(self.commit_draft(&draft, &ready, &mut heads)?),
                Fate::Unfit => DraftEnd::SetAside(self.set_aside(&draft)?),
                Fate::Refuse(why) => DraftEnd::Refused { kept: self.set_aside(&draft)?, why },
            };
            ends.push(FinishedDraft { draft, end });
        }
        Ok(ends)
    }

    /// The draft as a record that only needs to be written, if it is one and is believed.
    fn fate(&self, draft: &str, heads: &Heads, intents: &KnownIntents) -> Result<Fate, FinishError> {
        let bytes = match self.reader().runs().read(draft, MOST_RECORD_BYTES) {
            Ok(bytes) => bytes,
            Err(FileError { problem: FileProblem::NotAFile(_) | FileProblem::TooLarge { .. }, .. }) => {
                return Ok(Fate::Unfit);
            }
            Err(error) => return Err(error.into()),
        };
        let Ok((record, link)) = RecordedRun::read(&bytes) else { return Ok(Fate::Unfit) };
        if link.position != heads.next(self.reader().id(), &record.task_class) {
            return Ok(Fate::Unfit);
        }
        if let Some(why) = self.refusal(&record, &link, intents)? {
            return Ok(Fate::Refuse(why));
        }
        if !record.named_objects().all(|object| self.reader().check_object(object).is_ok()) {
            return Ok(Fate::Unfit);
        }
        if let Some(defect) = ObjectFacts::new(self.reader()).contradiction(&record) {
            return Ok(Fate::Refuse(RefusedDraft::Answer(defect)));
        }
        let name = link.file_name().as_str().to_owned();
        let note = self.whole_note(&name, &link)?;
        Ok(Fate::Commit(Ready { draft: format!("{AGAIN_PREFIX}{name}"), name, bytes, link, note }))
    }

    /// Why a whole record is not believed, before its objects are looked at.
    fn refusal(
        &self,
        record: &RecordedRun,
        link: &Link,
        intents: &KnownIntents,
    ) -> Result<Option<RefusedDraft>, FileError> {
        if !intents.contain(link) {
            return Ok(Some(RefusedDraft::NotIntended));
        }
        Ok(self.contradiction_in(record)?.map(RefusedDraft::Contradiction))
    }

    /// The signature of a draft, if it has one that is whole: under its name, or as what a crash left of it. One that is not the
    /// draft's is left as it is, for whoever verifies the record.
    fn whole_note(&self, name: &str, link: &Link) -> Result<Option<ReadyNote>, FinishError> {
        let note = RecordFileName::note_of(name);
        for name in [note.clone(), format!("{DRAFT_PREFIX}{note}")] {
            let bytes = match self.reader().runs().read_if_any(&name, MOST_NOTE_BYTES) {
                Ok(bytes) => bytes,
                Err(error @ FileError { problem: FileProblem::Io { .. }, .. }) => return Err(error.into()),
                Err(_) => None,
            };
            if let Some(bytes) = bytes {
                let is_whole = judge_record_note(&bytes, link, &TrustedKeys::default()).is_ok();
                return Ok(is_whole.then_some(ReadyNote { name: note, bytes, place: NotePlace::Again }));
            }
        }
        Ok(None)
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
        self.set_note_aside(draft, &unfinished)?;
        self.move_aside(draft, &unfinished)
    }

    fn set_note_aside(&self, draft: &str, unfinished: &Dir) -> Result<(), FinishError> {
        let Some(record) = record_of_draft(draft) else { return Ok(()) };
        let runs = self.reader().runs();
        let note = RecordFileName::note_of(record);
        let is_the_records = runs.stat_of(record)?.is_some();
        if is_the_records || runs.stat_of(&note)?.is_none() {
            return Ok(());
        }
        self.move_aside(&note, unfinished)?;
        // A power failure must not bring it back without its draft.
        unfinished.sync()?;
        Ok(runs.sync()?)
    }

    fn move_aside(&self, file: &str, unfinished: &Dir) -> Result<String, FinishError> {
        let mut namesakes = 0;
        loop {
            let name = format!("{}.{namesakes}", file.trim_start_matches(DRAFT_PREFIX));
            match self.reader().runs().rename_new(file, unfinished, &name) {
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
    use std::path::PathBuf;

    use std::path::Path;
    use std::time::Duration;

    use super::super::writer::Receipt;
    use super::super::writer::tests::{append, append_signed, new_store, open_store, state_of};
    use super::*;
    use crate::memory::Intents;
    use crate::record::fixture::Run;
    use crate::verified::{OpenVerifiedError, StoreMemory, VerifiedStore};
    use crate::verify::{FirstUse, LastSeenFile, State};

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

    fn sign(store: &StoreWriter, label: u32) -> (Receipt, PathBuf) {
        let receipt = append_signed(store, "a", label);
        let note = receipt.path.with_extension("note");
        assert!(note.exists());
        (receipt, note)
    }

    fn back_to_a_draft(receipt: &Receipt) -> PathBuf {
        let draft = receipt.path.with_file_name(format!(".tmp-{}", receipt.link.file_name()));
        fs::rename(&receipt.path, &draft).expect("back to a draft");
        draft
    }

    #[test]
    fn a_whole_draft_is_committed_with_its_signature() {
        let (_temp, store) = new_store();
        append(&store, "a", 1);
        let (receipt, note) = sign(&store, 2);
        let bytes = fs::read(&note).expect("readable");
        back_to_a_draft(&receipt);
        assert_eq!(state_of(&store).0, State::Incomplete, "a signature waits for its record");
        assert_eq!(store.finish().expect("finished").len(), 1);
        assert_eq!(fs::read(&note).expect("left"), bytes);
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    }

    #[test]
    fn what_a_crash_left_of_a_signature_becomes_one_if_it_is_whole() {
        for (kept, expected) in [(1, true), (2, false)] {
            let (_temp, store) = new_store();
            let (receipt, note) = sign(&store, 1);
            let bytes = fs::read(&note).expect("readable");
            let draft = back_to_a_draft(&receipt).with_extension("note");
            fs::remove_file(&note).expect("removed");
            fs::write(&draft, &bytes[..bytes.len() / kept]).expect("written");
            assert_eq!(state_of(&store).0, State::Incomplete);
            store.finish().expect("finished");
            assert_eq!((fs::read(&note).ok(), draft.exists()), (expected.then_some(bytes), false));
            assert_eq!(state_of(&store), (State::Ok, Vec::new()));
        }
    }

    /// A store with one record, and another that is a draft: whole, in its place, with its objects.
    fn with_draft() -> (tempfile::TempDir, StoreWriter, Receipt) {
        let (temp, store) = new_store();
        append(&store, "a", 1);
        let receipt = append(&store, "a", 2);
        let draft = receipt.path.with_file_name(format!(".tmp-{}", receipt.link.file_name()));
        fs::rename(&receipt.path, draft).expect("back to a draft");
        (temp, store, receipt)
    }

    fn refused(store: &StoreWriter) -> (String, RefusedDraft) {
        match store.finish().expect("finished").swap_remove(0).end {
            DraftEnd::Refused { kept, why } => (kept, why),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_draft_that_is_set_aside_takes_its_signature_with_it() {
        let (_temp, store) = new_store();
        append(&store, "a", 1);
        let (receipt, note) = sign(&store, 2);
        let bytes = fs::read(&note).expect("readable");
        let draft = back_to_a_draft(&receipt);
        fs::write(&draft, "{\"schema").expect("cut");
        let ends = store.finish().expect("finished");
        assert!(matches!(&ends[..], [FinishedDraft { end: DraftEnd::SetAside(_), .. }]), "{ends:?}");
        assert!(!note.exists() && !draft.exists());
        let aside = note.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let unfinished = store.reader().root().path().join(UNFINISHED);
        assert_eq!(fs::read(unfinished.join(format!("{aside}.0"))).expect("kept"), bytes);
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
        // The signature of a record stays with the record, whatever becomes of a draft of the same name.
        let (receipt, note) = sign(&store, 2);
        fs::copy(&receipt.path, draft.with_file_name(format!(".tmp-{}", receipt.link.file_name()))).expect("copied");
        store.finish().expect("finished");
        assert!(note.exists());
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    }

    #[test]
    fn a_whole_draft_that_nobody_remembers_is_set_aside_with_its_bytes() {
        let (temp, store, receipt) = with_draft();
        let root = store.reader().root().path().to_owned();
        let draft = receipt.path.with_file_name(format!(".tmp-{}", receipt.link.file_name()));
        let bytes = fs::read(&draft).expect("readable");
        // The memory of somebody who did not write it, as of somebody else's draft.
        let other = open_store(&root, &temp.path().join("another state"));
        let (kept, why) = refused(&other);
        assert_eq!((&*kept, why), (&*format!("unfinished/{}.0", receipt.link.file_name()), RefusedDraft::NotIntended));
        assert_eq!(fs::read(root.join(kept)).expect("kept"), bytes);
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
        assert!(!receipt.path.exists());
        // One that nobody can remember is believed only where everything is.
        fs::write(&draft, &bytes).expect("put back");
        assert_eq!(refused(&other.remembering(Intents::NoneBelieved)).1, RefusedDraft::NotIntended);
        fs::write(&draft, &bytes).expect("put back");
        let ends = store.remembering(Intents::Unknown).finish().expect("finished");
        assert_eq!(ends[0].end, DraftEnd::Committed(receipt.link));
    }

    #[test]
    fn a_draft_that_was_changed_is_another_that_nobody_intended() {
        let (_temp, store, receipt) = with_draft();
        let draft = receipt.path.with_file_name(format!(".tmp-{}", receipt.link.file_name()));
        let text = fs::read_to_string(&draft).expect("readable");
        fs::write(&draft, text.replacen("\"agent\"", "\"agenT\"", 1)).expect("edited");
        assert_eq!(refused(&store).1, RefusedDraft::NotIntended);
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    }

    #[test]
    fn a_draft_that_contradicts_itself_is_set_aside_also_if_it_is_believed() {
        let (_temp, store, receipt) = with_draft();
        let draft = receipt.path.with_file_name(format!(".tmp-{}", receipt.link.file_name()));
        let text = fs::read_to_string(&draft).expect("readable");
        let passed = text.split("\"passed_count\":").nth(1).and_then(|rest| rest.split(',').next()).expect("a number");
        let forged = text.replacen(&format!("\"passed_count\":{passed},"), "\"passed_count\":77,", 1);
        assert_ne!(forged, text);
        fs::write(&draft, forged).expect("edited");
        let (_, why) = refused(&store.remembering(Intents::Unknown));
        assert!(matches!(why, RefusedDraft::Contradiction(_)), "{why:?}");
    }

    fn memory(state: &Path, store: &Path, first_use: FirstUse) -> StoreMemory {
        let patience = Duration::from_secs(60);
        let last_seen = LastSeenFile::open(state, store, patience).expect("it opens");
        StoreMemory { last_seen: Some(last_seen), first_use, user: rustix::process::geteuid().as_raw() }
    }

    #[test]
    fn a_run_sets_a_draft_of_somebody_else_aside_and_finishes_its_own() {
        let (temp, store, receipt) = with_draft();
        let (root, state) = (store.reader().root().path(), temp.path().join("state"));
        let open = |state: &Path| -> Result<VerifiedStore, OpenVerifiedError> {
            VerifiedStore::open(root, memory(state, root, FirstUse::Trust), Duration::from_secs(60))
        };
        let own = open(&state).expect("it holds");
        assert_eq!(own.verification().links.len(), 2, "it was about to be committed");
        assert!(own.drafts()[0].to_string().ends_with("it is record 2 of `a` now"), "{:?}", own.drafts());
        own.remember(&receipt).expect("remembered");
        // The head has moved on, so nobody is about to commit anything.
        let forged = Run::of("a", 3).at(&own.verification().heads().next(own.id(), &receipt.link.position.task_class));
        fs::write(receipt.path.with_file_name(".tmp-forged"), forged.to_bytes()).expect("written");
        let next = open(&state).expect("it holds");
        assert_eq!(next.verification().links.len(), 2, "a forged draft is no record");
        let said = next.drafts()[0].to_string();
        assert!(
            said.starts_with("`runs/.tmp-forged`: it is a whole record without a name, and nobody remembers"),
            "{said}"
        );
        assert!(said.contains("it is kept as `unfinished/forged.0`"), "{said}");
        assert!(said.contains("a live run with --resume, because its journal is still there"), "{said}");
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
