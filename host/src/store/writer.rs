//! Appending a record so that it is there, whole, whatever happens next.
//!
//! Under the store's lock: (1) what came since the last look is read, and nothing is added to a chain that is not whole;
//! (2) the objects become durable; (3) the record is written under a draft's name and becomes durable; (4) it gets its name,
//! which nothing may have had; (5) the directory becomes durable, and this is the commit point. What fails before (4) is not
//! committed. What fails between (4) and the end of (5) is neither one nor the other, and saying either would be a lie.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::dir::{Dir, FileError, Missing, ReadFileError, sync_file};
use super::intake::{Intake, KeepObjectError};
use super::lock::{self, Lock, LockError, Share};
use super::objects::ReadObjectError;
use super::open::{self, OpenStoreError};
use super::reader::{DRAFT_PREFIX, Evidence as _, Snapshot, StoreReader, scan};
use super::started::{self, AnnounceError};
use crate::chain::{Link, Position, hash_of};
use crate::ids::{Digest, TaskClassName};
use crate::record::{EvalRunRecord, MOST_RECORD_BYTES, ReadRecordError, RecordedRun};
use crate::score::BenchScore;
use crate::utc::UtcMillis;
use crate::verify::Finding;

/// A store that records can be appended to.
#[derive(Debug)]
pub(crate) struct StoreWriter {
    staging: Dir,
    started: Dir,
    reader: StoreReader,
    patience: Duration,
}

/// Proof that a record is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) link: Link,
    pub(crate) path: PathBuf,
}

/// Why an append does not count as committed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppendError {
    #[error("the record of this run of `{task_class}` was not committed")]
    NotCommitted {
        task_class: TaskClassName,
        #[source]
        source: NotCommitted,
    },
    /// The record has its name, but nobody knows whether that will survive.
    #[error(
        "it is unknown whether record {seq} of `{task_class}` (`{}`) is durable; run `eval-host verify` before the next run",
        path.display()
    )]
    Unknown {
        task_class: TaskClassName,
        seq: u64,
        path: PathBuf,
        #[source]
        source: FileError,
    },
}

/// What kept a record from being committed. Nothing of it is in the chain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCommitted {
    #[error("the chain is broken, and a broken chain is not continued: {}", join(_0))]
    Broken(Vec<Finding>),
    #[error("the newest record was changed since it was read")]
    HeadChanged,
    #[error("the newest record cannot be read any more")]
    Head(#[source] ReadFileError),
    #[error("the record was made for another place in the chain")]
    Misplaced,
    #[error("the record does not serialise")]
    Serialise(#[source] serde_json::Error),
    #[error(
        "the record would have {size} bytes, more than the {MOST_RECORD_BYTES} that can be read back; run fewer cases at once"
    )]
    TooLarge { size: u64 },
    #[error("the record does not survive being read back")]
    Invalid(#[source] ReadRecordError),
    #[error("the record names an object that was not stored")]
    Object(#[source] ReadObjectError),
    #[error("the objects were not stored")]
    Objects(#[source] KeepObjectError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

fn join(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("; ")
}

impl StoreWriter {
    /// Opens the store at `path`, which is created if there is none, for the user with the id `user`.
    pub(crate) fn open(path: &Path, user: u32, patience: Duration) -> Result<Self, OpenStoreError> {
        Self::from_root(open::open_root(path, Missing::Create)?, user, patience)
    }

    /// The same for a store that exists.
    pub(crate) fn open_existing(path: &Path, user: u32, patience: Duration) -> Result<Self, OpenStoreError> {
        Self::from_root(open::open_root(path, Missing::Fail)?, user, patience)
    }

    fn from_root(root: Dir, user: u32, patience: Duration) -> Result<Self, OpenStoreError> {
        open::check_private(&root, user)?;
        open::check_local(&root)?;
        open::identify(&root, patience)?;
        let reader = StoreReader::from_root(root, patience)?;
        let staging = reader.root().child_or_new(open::STAGING)?;
        let started = reader.root().child_or_new(open::STARTED)?;
        for area in [reader.runs(), reader.objects(), &staging, &started] {
            open::check_private(area, user)?;
        }
        Ok(Self { staging, started, reader, patience })
    }

    /// Locks the store for itself.
    pub(super) fn lock(&self) -> Result<Lock, LockError> {
        let lock = lock::lock(self.reader.root(), Share::Nobody, self.patience)?;
        lock::check_in_place(self.reader.root())?;
        Ok(lock)
    }

    pub(crate) fn reader(&self) -> &StoreReader {
        &self.reader
    }

    /// Begins to take in the objects of a run.
    pub(crate) fn intake(&self) -> Result<Intake<'_>, KeepObjectError> {
        Intake::begin(&self.reader, &self.staging, self.patience)
    }

    /// Keeps an informational copy of a verdict, which is no evidence and which nothing reads.
    pub(crate) fn recommend(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.reader.root().child_or_new(open::RECOMMENDATIONS)?.write_new(name, bytes).map(drop)
    }

    /// Says durably that a live run begins. Its record must name what this gives. `shards` are the announcements of the
    /// shards that it is put together from.
    pub(crate) fn announce(
        &self,
        task_class: &TaskClassName,
        started_at: UtcMillis,
        cases: u64,
        shards: &[Digest],
    ) -> Result<Digest, AnnounceError> {
        started::announce(&self.started, self.reader.id(), task_class, started_at, cases, shards)
    }

    /// Commits one run: its objects, and the record that `build` makes for the place it gets. `known` is what was verified
    /// before the run; an empty one makes this read every record again.
    pub(crate) fn append(
        &self,
        known: &Snapshot,
        task_class: &TaskClassName,
        intake: &Intake<'_>,
        build: impl FnOnce(&Position) -> EvalRunRecord<BenchScore>,
    ) -> Result<Receipt, AppendError> {
        let not_committed = |source| AppendError::NotCommitted { task_class: task_class.clone(), source };
        let _lock = self.lock().map_err(|error| not_committed(error.into()))?;
        let ready = self.prepare(known, task_class, intake, build).map_err(not_committed)?;
        self.write_draft(&ready).map_err(|error| not_committed(error.into()))?;
        self.publish(&ready)
    }

    /// Everything up to where the record could be written.
    fn prepare(
        &self,
        known: &Snapshot,
        task_class: &TaskClassName,
        intake: &Intake<'_>,
        build: impl FnOnce(&Position) -> EvalRunRecord<BenchScore>,
    ) -> Result<Ready, NotCommitted> {
        let position = self.next_position(known, task_class)?;
        let bytes = build(&position).to_bytes().map_err(NotCommitted::Serialise)?;
        let size = bytes.len() as u64;
        if size > MOST_RECORD_BYTES {
            return Err(NotCommitted::TooLarge { size });
        }
        let (record, link) = RecordedRun::read(&bytes).map_err(NotCommitted::Invalid)?;
        if link.position != position {
            return Err(NotCommitted::Misplaced);
        }
        intake.settle().map_err(NotCommitted::Objects)?;
        for digest in record.named_objects().into_iter().filter(|digest| !intake.has(*digest)) {
            self.reader.check_object(digest).map_err(NotCommitted::Object)?;
        }
        let name = link.file_name().as_str().to_owned();
        Ok(Ready { draft: format!("{DRAFT_PREFIX}{name}"), name, bytes, link })
    }

    fn next_position(&self, known: &Snapshot, task_class: &TaskClassName) -> Result<Position, NotCommitted> {
        let scan = scan(&self.reader, self.reader.names_locked()?, known, &mut |_| {});
        if !scan.findings.is_empty() {
            return Err(NotCommitted::Broken(scan.findings));
        }
        // The records that were read earlier are not read again, but for the one that the new record vouches for.
        if let Some(link) = scan.snapshot.newest(task_class) {
            let name = link.file_name();
            let bytes = self.reader.runs().read(name.as_str(), MOST_RECORD_BYTES).map_err(NotCommitted::Head)?;
            if hash_of(&bytes) != link.hash {
                return Err(NotCommitted::HeadChanged);
            }
        }
        Ok(scan.snapshot.heads().next(self.reader.id(), task_class))
    }

    pub(super) fn write_draft(&self, ready: &Ready) -> Result<(), FileError> {
        let runs = self.reader.runs();
        // Nobody else is writing, so a draft of this name is what a crash left of these very bytes.
        if runs.stat_of(&ready.draft)?.is_some() {
            runs.unlink(&ready.draft)?;
        }
        let written = runs
            .write_new(&ready.draft, &ready.bytes)
            .and_then(|file| sync_file(&file, &runs.path().join(&ready.draft)));
        if written.is_err() {
            self.discard_draft(ready);
        }
        written
    }

    pub(super) fn publish(&self, ready: &Ready) -> Result<Receipt, AppendError> {
        let runs = self.reader.runs();
        let path = runs.path().join(&ready.name);
        let Position { task_class, seq, .. } = &ready.link.position;
        if let Err(source) = runs.rename_new(&ready.draft, runs, &ready.name) {
            let source = match runs.stat_of(&ready.name) {
                // An error that was reported although the rename took place, or a file that somebody put there.
                Ok(Some(_)) if Errno::from_io_error(&source.source) != Some(Errno::EXIST) => {
                    return Err(AppendError::Unknown { task_class: task_class.clone(), seq: *seq, path, source });
                }
                _ => source,
            };
            self.discard_draft(ready);
            return Err(AppendError::NotCommitted { task_class: task_class.clone(), source: source.into() });
        }
        match runs.sync() {
            Ok(()) => Ok(Receipt { link: ready.link.clone(), path }),
            Err(source) => Err(AppendError::Unknown { task_class: task_class.clone(), seq: *seq, path, source }),
        }
    }

    /// Takes the draft away again where that is possible. Where it is not, `verify` finds it and says so; the error that led
    /// here is the one to report.
    fn discard_draft(&self, ready: &Ready) {
        let _ = self.reader.runs().unlink(&ready.draft);
    }
}

/// A record that only needs to be written.
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) draft: String,
    pub(super) bytes: Vec<u8>,
    pub(super) link: Link,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::chain::Heads;
    use crate::record::fixture::Run;
    use crate::verify::{ObjectScope, State, Verification, verify_evidence};
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use tempfile::TempDir;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn class(name: &str) -> TaskClassName {
        name.parse().expect("a task class")
    }

    pub(in crate::store) fn new_store() -> (TempDir, StoreWriter) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = StoreWriter::open(&temp.path().join(".codegenie/eval"), user(), PATIENCE).expect("a new store");
        (temp, store)
    }

    pub(in crate::store) fn append(store: &StoreWriter, name: &str, label: u32) -> Receipt {
        try_append(store, &Snapshot::default(), name, &Run::new(label)).expect("committed")
    }

    fn try_append(store: &StoreWriter, known: &Snapshot, name: &str, run: &Run) -> Result<Receipt, AppendError> {
        let intake = store.intake().expect("it takes objects");
        run.keep_objects(&intake);
        store.append(known, &class(name), &intake, |position| run.at(position))
    }

    fn verified(store: &StoreWriter) -> Verification {
        verify_evidence(store.reader(), ObjectScope::All, &mut |_, _| {}).expect("it can be read")
    }

    pub(in crate::store) fn state_of(store: &StoreWriter) -> (State, Vec<String>) {
        let verification = verified(store);
        (verification.state(), verification.findings.iter().map(ToString::to_string).collect())
    }

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).expect("it exists").permissions().mode() & 0o7777
    }

    #[test]
    fn records_of_two_classes_are_chained_and_private() {
        let (_temp, store) = new_store();
        let mut heads = Heads::default();
        for (name, label) in [("a", 1), ("b", 2), ("a", 3), ("a", 4)] {
            let receipt = append(&store, name, label);
            assert_eq!(receipt.link.position, heads.next(store.reader().id(), &class(name)));
            heads.set(class(name), receipt.link.head());
            assert_eq!(mode_of(&receipt.path), 0o600);
            assert_eq!(hash_of(&fs::read(&receipt.path).expect("readable")), receipt.link.hash);
        }
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    }

    #[test]
    fn a_store_is_private_and_keeps_its_identity() {
        let (_temp, store) = new_store();
        let root = store.reader().root().path();
        for dir in [root, store.reader().runs().path(), store.reader().objects().path(), store.staging.path()] {
            assert_eq!(mode_of(dir), 0o700, "{}", dir.display());
        }
        let again = StoreWriter::open(root, user(), PATIENCE).expect("it opens again");
        assert_eq!(again.reader().id(), store.reader().id());
    }

    #[test]
    fn an_append_reads_only_what_is_new_but_notices_what_was_changed_or_removed() {
        let (_temp, store) = new_store();
        let first = append(&store, "a", 1);
        let second = append(&store, "a", 2);
        let known = verified(&store).snapshot;
        append(&store, "a", 3);
        let run = Run::new(4);
        let again = |known: &Snapshot| try_append(&store, known, "a", &run);
        assert_eq!(again(&known).expect("committed").link.position.seq, 4);

        let removed = fs::read(&first.path).expect("readable");
        fs::remove_file(&first.path).expect("removed");
        let error = again(&known).expect_err("a record is gone");
        assert!(matches!(&error, AppendError::NotCommitted { source: NotCommitted::Broken(_), .. }), "{error:?}");
        fs::write(&first.path, removed).expect("restored");

        let known = verified(&store).snapshot;
        let newest = known.newest(&class("a")).expect("a head").file_name();
        fs::copy(&second.path, store.reader().runs().path().join(newest.as_str())).expect("overwritten");
        let error = again(&known).expect_err("the head was changed");
        assert!(matches!(&error, AppendError::NotCommitted { source: NotCommitted::HeadChanged, .. }), "{error:?}");
    }

    #[test]
    fn a_changed_record_is_named_and_the_chain_is_not_continued() {
        let (_temp, store) = new_store();
        let receipts: Vec<_> = (1..=3).map(|label| append(&store, "a", label)).collect();
        let mut bytes = fs::read(&receipts[1].path).expect("readable");
        let place = bytes.windows(5).position(|five| five == b"agent").expect("the agent's name");
        bytes[place] = b'A';
        fs::write(&receipts[1].path, bytes).expect("overwritten");
        let (state, findings) = state_of(&store);
        assert_eq!(state, State::Tampered);
        assert_eq!(findings.len(), 1);
        let file = receipts[1].link.file_name();
        assert!(
            findings[0].starts_with(&format!("record 2 of `a` (`runs/{file}`): it was edited or renamed")),
            "{findings:?}"
        );
        let error = try_append(&store, &Snapshot::default(), "a", &Run::new(4));
        assert!(matches!(error, Err(AppendError::NotCommitted { source: NotCommitted::Broken(_), .. })));
    }

    #[test]
    fn a_record_cannot_name_what_is_not_stored() {
        let (_temp, store) = new_store();
        let run = Run::new(1);
        let nothing = store.intake().expect("it takes objects");
        let error = store.append(&Snapshot::default(), &class("a"), &nothing, |position| run.at(position));
        assert!(matches!(error, Err(AppendError::NotCommitted { source: NotCommitted::Object(_), .. })));
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    }

    #[test]
    fn a_record_for_another_place_is_not_committed() {
        let (_temp, store) = new_store();
        let run = Run::new(1);
        let elsewhere = Heads::default().next(store.reader().id(), &class("b"));
        let intake = store.intake().expect("it takes objects");
        let error = store.append(&Snapshot::default(), &class("a"), &intake, |_| run.at(&elsewhere));
        assert!(matches!(error, Err(AppendError::NotCommitted { source: NotCommitted::Misplaced, .. })));
    }

    #[test]
    fn objects_are_stored_once_and_a_changed_one_is_noticed_by_writer_and_verifier() {
        let (_temp, store) = new_store();
        append(&store, "a", 1);
        let objects = store.reader().objects();
        let inodes = |objects: &Dir| -> Vec<_> {
            let names = objects.names().expect("listed");
            names.iter().map(|name| fs::metadata(objects.path().join(name)).expect("it exists").ino()).collect()
        };
        let before = inodes(objects);
        append(&store, "b", 1);
        assert_eq!(inodes(objects), before);
        let name = objects.names().expect("listed").swap_remove(0);
        fs::write(objects.path().join(&name), "something else").expect("overwritten");
        let intake = store.intake().expect("it takes objects");
        let kept: Vec<_> = Run::new(1).objects().map(|bytes| intake.keep(bytes)).collect();
        assert!(kept.iter().any(|kept| matches!(kept, Err(KeepObjectError::Existing(_)))), "{kept:?}");
        assert_eq!(state_of(&store).0, State::Tampered);
        fs::remove_file(objects.path().join(&name)).expect("removed");
        assert_eq!(state_of(&store).0, State::Unverifiable);
    }

    #[test]
    fn leftovers_of_a_crash_are_in_nobodys_way() {
        let (_temp, store) = new_store();
        append(&store, "a", 1);
        fs::write(store.reader().runs().path().join(".tmp-cut"), "{\"sch").expect("written");
        fs::create_dir(store.staging.path().join("dead")).expect("made");
        fs::write(store.staging.path().join("dead/cut"), "half an obj").expect("written");
        let alive = store.intake().expect("it takes objects");
        alive.keep(b"still needed").expect("kept");
        append(&store, "a", 2);
        assert_eq!(state_of(&store).0, State::Incomplete);
        assert_eq!(store.finish().expect("finished").len(), 1);
        assert_eq!(store.staging.names().expect("listed"), [std::ffi::OsString::from(&alive.name)]);
        drop(alive);
        assert_eq!(state_of(&store).0, State::Ok);
        assert!(store.staging.names().expect("listed").is_empty());
    }

    #[test]
    fn a_store_that_is_not_safe_is_refused_before_anything_is_written() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let open =
            |name: &str| StoreWriter::open(&temp.path().join(name), user(), PATIENCE).expect_err("refused").to_string();
        fs::create_dir(temp.path().join("shared")).expect("made");
        fs::set_permissions(temp.path().join("shared"), fs::Permissions::from_mode(0o777)).expect("opened up");
        assert!(open("shared").contains("others may write to"), "{}", open("shared"));
        std::os::unix::fs::symlink("shared", temp.path().join("link")).expect("linked");
        assert!(open("link").contains("is a symbolic link or a file"), "{}", open("link"));
        assert!(open("link/").contains("is a symbolic link or a file"), "{}", open("link/"));
        fs::write(temp.path().join("file"), "").expect("written");
        assert!(open("file").contains("is a symbolic link or a file"), "{}", open("file"));
        let other =
            StoreWriter::open(&temp.path().join("mine"), user() + 1, PATIENCE).expect_err("another's").to_string();
        assert!(other.contains(&format!("belongs to user {}", user())), "{other}");
        fs::create_dir_all(temp.path().join("old/runs")).expect("made");
        fs::write(temp.path().join("old/runs/20261116T093000.120Z-ba7816bf.json"), "").expect("written");
        assert!(open("old").contains("no `store.json`"), "{}", open("old"));
        assert_eq!(fs::read_dir(temp.path().join("shared")).expect("listed").count(), 0);
    }

    #[test]
    fn a_clock_that_jumps_changes_nothing() {
        let (_temp, store) = new_store();
        for label in [59, 1, 58, 2, 57, 57] {
            append(&store, "a", label);
        }
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    }
}
