//! A store that was checked before anything is added to it: a broken chain is never continued, and what is added is remembered
//! outside of the store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::shard::Shard;
use eval_model::utc::UtcMillis;

use crate::anchor::MarkerHead;
use crate::chain::{Heads, StoreId};
use crate::files::LockError;
use crate::memory::{Intents, IntentsFile, JournalMemory};
use crate::record::RecordedRun;
use crate::store::{
    AnnounceError, Announced, Evidence as _, FinishError, OpenStoreError, Origin, Receipt, Started, StoreWriter,
};
use crate::verify::{
    Checks, Finding, FirstUse, LastSeenError, LastSeenFile, Note, State, Verification, VerifyError, verify_store,
};

/// What is remembered of a store outside of it, and whether it need be.
#[derive(Debug)]
pub struct StoreMemory {
    /// `None` where there is no place for it.
    pub last_seen: Option<LastSeenFile>,
    pub first_use: FirstUse,
    /// Whoever asks: the owner of the store must be the same.
    pub user: u32,
}

impl StoreMemory {
    pub fn checks(&self) -> Checks<'_> {
        Checks { last_seen: self.last_seen.as_ref(), first_use: self.first_use, user: self.user }
    }

    /// Whether the store was seen before, so that its absence is a finding.
    pub fn has_seen_it(&self) -> bool {
        self.last_seen.as_ref().is_some_and(|last_seen| last_seen.path().exists())
    }

    /// Which drafts in the store are believed to be this user's own.
    pub fn intents(&self) -> Intents {
        match (&self.last_seen, self.first_use) {
            (Some(last_seen), _) => Intents::Remembered(IntentsFile::on(last_seen.shelf())),
            (None, FirstUse::Trust) => Intents::Unknown,
            (None, FirstUse::Refuse) => Intents::NoneBelieved,
        }
    }

    /// What is remembered of the store's journal of this name.
    pub fn journal(&self, name: &str) -> JournalMemory {
        JournalMemory::new(self.last_seen.as_ref().map(|last_seen| last_seen.shelf().clone()), name, self.first_use)
    }

    /// Remembers what was verified, up to these heads.
    pub fn advance(&self, verification: &Verification, heads: &Heads) -> Result<(), RememberError> {
        self.remember(verification, heads, &verification.marker_heads())
    }

    fn remember(
        &self,
        verification: &Verification,
        heads: &Heads,
        started: &BTreeMap<TaskClassName, MarkerHead>,
    ) -> Result<(), RememberError> {
        let Some(last_seen) = &self.last_seen else { return Ok(()) };
        let Verification { store_id, excerpt, .. } = verification;
        last_seen.advance(*store_id, heads, started, excerpt.as_ref()).map_err(RememberError)?;
        // What the heads have come to is committed, and no draft of it is wanted any more.
        IntentsFile::on(last_seen.shelf()).clear(heads).map_err(|error| RememberError(error.into()))
    }
}

/// The store is as it should be, and what was seen of it could not be written down.
#[derive(Debug, thiserror::Error)]
#[error("eval-host could not remember what it saw of the store")]
pub struct RememberError(#[source] LastSeenError);

impl Advice for RememberError {
    fn exit(&self) -> Exit {
        Exit::EvidenceBroken
    }
}

/// Why a store cannot be appended to.
#[derive(Debug, thiserror::Error)]
pub enum OpenVerifiedError {
    #[error("the store `{}` cannot be used", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: OpenStoreError,
    },
    #[error("the record that a crash left unfinished in `{}` cannot be finished", path.display())]
    Finish {
        path: PathBuf,
        #[source]
        source: Box<FinishError>,
    },
    #[error("the store `{}` cannot be read", path.display())]
    Verify {
        path: PathBuf,
        #[source]
        source: VerifyError,
    },
    #[error("the evidence in `{}` is {state}: {}", path.display(), joined(findings))]
    Broken { path: PathBuf, state: State, findings: Vec<Finding> },
    /// Nothing is made in its place: that would hide it.
    #[error("the evidence in `{}` is {}: the store is gone, and eval-host saw one there before", path.display(), State::Tampered)]
    Gone { path: PathBuf },
    #[error("eval-host made the store `{}`, and cannot use it", path.display())]
    Remember {
        path: PathBuf,
        #[source]
        source: Box<RememberError>,
    },
}

/// The first of what was found, in one line.
fn joined(findings: &[Finding]) -> String {
    const MOST: usize = 3;
    let mut said = findings.iter().take(MOST).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if findings.len() > MOST {
        said += &format!("; and {} more findings", findings.len() - MOST);
    }
    said
}

impl Advice for OpenVerifiedError {
    fn exit(&self) -> Exit {
        match self {
            Self::Broken { .. } | Self::Gone { .. } => Exit::EvidenceBroken,
            Self::Remember { source, .. } => source.exit(),
            Self::Open { .. } | Self::Finish { .. } | Self::Verify { .. } => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Broken { state: State::Tampered, .. } => {
                "keep the store unchanged for the investigation, and start another with --out"
            }
            Self::Broken { findings, .. } if findings.iter().all(Finding::is_first_use) => FirstUse::ADVICE,
            Self::Broken { .. } => "`eval-host verify` says what is wrong",
            Self::Gone { .. } => "restore it, or start another with --out",
            Self::Open { .. } | Self::Finish { .. } | Self::Verify { .. } | Self::Remember { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// Why a live run was not announced.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceRunError {
    #[error("eval-host could not announce the run in the store")]
    Write(#[source] AnnounceError),
    #[error("eval-host could not read the announcements of earlier runs")]
    Read(#[source] LockError),
    #[error(transparent)]
    Remember(RememberError),
    #[error("the marker `{marker}`, which announced one of the shards in this store, is gone")]
    ShardGone { marker: Digest },
    #[error("the marker `{marker}` did not announce shard {shard} of a run of `{task_class}`, as its answer set says")]
    OtherShard { marker: Digest, shard: Shard, task_class: TaskClassName },
    #[error("the shard that the marker `{marker}` announced is part of a record of this store already")]
    ShardRecorded { marker: Digest },
}

impl Advice for AnnounceRunError {
    fn exit(&self) -> Exit {
        match self {
            Self::Write(error) => error.exit(),
            Self::Remember(error) => error.exit(),
            Self::ShardGone { .. } | Self::OtherShard { .. } => Exit::EvidenceBroken,
            Self::ShardRecorded { .. } => Exit::UsageOrCap,
            _ => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Write(AnnounceError::Broken(_)) | Self::ShardGone { .. } => {
                Some("`eval-host verify` says what is wrong".to_owned())
            }
            Self::OtherShard { .. } => {
                Some("run the shard again: its answer set was edited, or is of an older eval-host".to_owned())
            }
            Self::ShardRecorded { .. } => Some("`eval-host log` lists the records".to_owned()),
            _ => None,
        }
    }
}

/// A store that was verified and can be appended to.
#[derive(Debug)]
pub struct VerifiedStore {
    writer: StoreWriter,
    verification: Verification,
    memory: StoreMemory,
    /// What became of the drafts that were there.
    drafts: Vec<Finding>,
}

impl VerifiedStore {
    /// Opens the store, which is made if there is none and never was one, finishes what a crash left in it, and verifies it.
    pub fn open(path: &Path, memory: StoreMemory, patience: Duration) -> Result<Self, OpenVerifiedError> {
        let at = || path.to_owned();
        let writer = open_writer(path, &memory, patience)?.remembering(memory.intents());
        let finished = writer.finish();
        let finished = finished.map_err(|source| OpenVerifiedError::Finish { path: at(), source: Box::new(source) })?;
        // Nobody can have meddled with a store that this very call made. Whether it did, the making says: a look before it
        // could be outrun.
        let checks = match writer.origin() {
            Origin::Made => Checks { first_use: FirstUse::Trust, ..memory.checks() },
            Origin::Found => memory.checks(),
        };
        let verification = verify_store(writer.reader(), checks, &mut |_, _| {})
            .map_err(|source| OpenVerifiedError::Verify { path: at(), source })?;
        if !verification.is_sound() {
            let state = verification.state();
            return Err(OpenVerifiedError::Broken { path: at(), state, findings: verification.findings });
        }
        let drafts = finished.into_iter().map(Finding::from).collect();
        let store = Self { writer, verification, memory, drafts };
        store.remember_made().map_err(|source| OpenVerifiedError::Remember { path: at(), source: Box::new(source) })?;
        Ok(store)
    }

    /// Where a first use must be said, the next command must know a store that was made here, even if this one never gets as
    /// far as a record.
    fn remember_made(&self) -> Result<(), RememberError> {
        match (self.writer.origin(), self.memory.first_use) {
            (Origin::Made, FirstUse::Refuse) => self.memory.advance(&self.verification, self.verification.heads()),
            (Origin::Made, FirstUse::Trust) | (Origin::Found, _) => Ok(()),
        }
    }

    pub fn writer(&self) -> &StoreWriter {
        &self.writer
    }

    pub fn verification(&self) -> &Verification {
        &self.verification
    }

    pub fn id(&self) -> StoreId {
        self.verification.store_id
    }

    /// What is remembered of the store outside of it.
    pub fn memory(&self) -> &StoreMemory {
        &self.memory
    }

    /// What became of the drafts that a crash, or somebody else, had left.
    pub fn drafts(&self) -> &[Finding] {
        &self.drafts
    }

    /// What is worth knowing before a run continues the store. One without records has nothing to tell.
    pub fn notes(&self) -> &[Note] {
        if self.verification.links.is_empty() { &[] } else { &self.verification.notes }
    }

    /// Says before the first case that a live run begins, so that nobody can report only the best of ten. It is remembered
    /// outside of the store at once, so that nobody can take it back either.
    pub fn announce(
        &self,
        task_class: &TaskClassName,
        started_at: UtcMillis,
        cases: u64,
        what: Announced<'_>,
    ) -> Result<Digest, AnnounceRunError> {
        let shards = what.shards();
        // A merge that failed after it was announced left a marker, which serves: nothing was paid for in between.
        let is_the_same =
            |started: &&Started| started.marker.task_class == *task_class && started.marker.shards == shards;
        let earlier = self.verification.unfinished.iter().find(is_the_same).filter(|_| !shards.is_empty());
        if let Some(earlier) = earlier {
            return Ok(earlier.digest);
        }
        let marker = self.writer.announce(task_class, started_at, cases, what).map_err(AnnounceRunError::Write)?;
        // Read again: another run may have been announced since the store was verified.
        let (markers, _) = self.writer.reader().started().map_err(AnnounceRunError::Read)?;
        let mut started: BTreeMap<TaskClassName, MarkerHead> = BTreeMap::new();
        for Started { digest, marker } in markers {
            let here = MarkerHead { seq: marker.seq.get(), digest };
            let last = started.entry(marker.task_class).or_insert(here);
            if last.seq < here.seq {
                *last = here;
            }
        }
        let heads = self.verification.heads();
        self.memory.remember(&self.verification, heads, &started).map_err(AnnounceRunError::Remember)?;
        Ok(marker)
    }

    /// Fails unless every one of these announcements is in this store, because none is ever removed, is that of its shard, so
    /// that no other run is hidden behind it, and no record has come of it yet: what was paid for once is chained once.
    pub fn require_unfinished(
        &self,
        task_class: &TaskClassName,
        announced: &[(Shard, Digest)],
    ) -> Result<(), AnnounceRunError> {
        let (markers, _) = self.writer.reader().started().map_err(AnnounceRunError::Read)?;
        for (shard, marker) in announced.iter().copied() {
            let found = markers.iter().find(|started| started.digest == marker);
            let found = &found.ok_or(AnnounceRunError::ShardGone { marker })?.marker;
            if (found.shard, &found.task_class) != (Some(shard), task_class) {
                return Err(AnnounceRunError::OtherShard { marker, shard, task_class: task_class.clone() });
            }
            if !self.is_unfinished(marker) {
                return Err(AnnounceRunError::ShardRecorded { marker });
            }
        }
        Ok(())
    }

    /// Whether no record names this announcement of a run.
    pub fn is_unfinished(&self, marker: Digest) -> bool {
        self.verification.unfinished.iter().any(|started| started.digest == marker)
    }

    /// The record of the run that was announced so.
    pub fn record_of_run(&self, task_class: &TaskClassName, marker: Digest) -> Option<RecordedRun> {
        let of_class = self.verification.links.iter().rev().filter(|((class, _), _)| class == task_class);
        let mut records = of_class.filter_map(|(_, link)| self.writer.reader().verified_record(link));
        records.find(|record| record.started_marker == Some(marker))
    }

    /// Remembers the record that was just committed as the newest one.
    pub fn remember(&self, receipt: &Receipt) -> Result<(), RememberError> {
        let mut heads = self.verification.heads().clone();
        heads.set(receipt.link.position.task_class.clone(), receipt.link.head());
        self.memory.advance(&self.verification, &heads)
    }
}

/// Opens the store to write. A store that was seen before is not made anew.
fn open_writer(path: &Path, memory: &StoreMemory, patience: Duration) -> Result<StoreWriter, OpenVerifiedError> {
    let was_seen = memory.has_seen_it();
    let open = if was_seen { StoreWriter::open_existing } else { StoreWriter::open };
    open(path, memory.user, patience).map_err(|source| match source {
        OpenStoreError::Missing { .. } if was_seen => OpenVerifiedError::Gone { path: path.to_owned() },
        source => OpenVerifiedError::Open { path: path.to_owned(), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::testing::put_object;

    fn open(path: &Path) -> VerifiedStore {
        let user = rustix::process::geteuid().as_raw();
        let memory = StoreMemory { last_seen: None, first_use: FirstUse::Trust, user };
        VerifiedStore::open(path, memory, Duration::from_secs(60)).expect("a store")
    }

    /// Opens a store as a job of continuous integration does, which keeps its state below `state`.
    fn open_in_ci(state: &Path, path: &Path) -> Result<VerifiedStore, OpenVerifiedError> {
        let user = rustix::process::geteuid().as_raw();
        let last_seen = LastSeenFile::open(state, path, Duration::from_secs(60)).expect("a place to remember");
        let memory = StoreMemory { last_seen: Some(last_seen), first_use: FirstUse::Refuse, user };
        VerifiedStore::open(path, memory, Duration::from_secs(60))
    }

    #[test]
    fn a_store_that_is_made_needs_no_trust_and_one_that_is_found_does() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("store");
        open_in_ci(&temp.path().join("state"), &path).expect("it has no past");
        open_in_ci(&temp.path().join("state"), &path).expect("it is known, though nothing was chained");
        let refused = open_in_ci(&temp.path().join("another state"), &path).expect_err("never seen there");
        assert_eq!((refused.exit(), refused.hint().as_deref()), (Exit::EvidenceBroken, Some(FirstUse::ADVICE)));
        std::fs::remove_dir_all(&path).expect("removed");
        let gone = open_in_ci(&temp.path().join("state"), &path).expect_err("it was there");
        assert_eq!(gone.exit(), Exit::EvidenceBroken);
        assert!(matches!(gone, OpenVerifiedError::Gone { .. }) && !path.exists(), "{gone}");
    }

    #[test]
    fn what_lost_its_identity_is_found_and_not_made() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("store");
        let digest = Digest::of(b"an object of somebody's");
        for folder in ["packs", "started"] {
            std::fs::create_dir_all(path.join(folder)).expect("made");
        }
        open_in_ci(&temp.path().join("state"), &path).expect("empty folders are what a crash leaves of the making");
        std::fs::remove_file(path.join("store.json")).expect("removed");
        put_object(&path.join("packs"), digest, b"an object of somebody's");
        let refused = open_in_ci(&temp.path().join("another state"), &path).expect_err("it has a past");
        assert_eq!(refused.hint().as_deref(), Some(FirstUse::ADVICE), "{refused}");
    }

    #[test]
    fn of_many_who_open_a_new_store_at_once_one_made_it() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("store");
        let user = rustix::process::geteuid().as_raw();
        let open = || StoreWriter::open(&path, user, Duration::from_secs(60)).expect("a store").origin();
        let origins: Vec<_> = std::thread::scope(|scope| {
            let openers: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            openers.into_iter().map(|opener| opener.join().expect("it opens")).collect()
        });
        assert_eq!(origins.iter().filter(|origin| **origin == Origin::Made).count(), 1, "{origins:?}");
    }

    fn fixture() -> TaskClassName {
        "fixture".parse().expect("a task class")
    }

    fn try_announce(store: &VerifiedStore, what: Announced<'_>) -> Result<Digest, AnnounceRunError> {
        store.announce(&fixture(), "2026-11-16T09:30:00.000Z".parse().expect("a time"), 2, what)
    }

    fn announce(store: &VerifiedStore, what: Announced<'_>) -> Digest {
        try_announce(store, what).expect("announced")
    }

    fn shard(text: &str) -> Shard {
        text.parse().expect("a shard")
    }

    #[test]
    fn only_the_shards_of_one_run_are_listed_and_each_once() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("store");
        let store = open(&path);
        let [one, two, again, of_three] =
            ["1/2", "2/2", "1/2", "2/3"].map(|text| announce(&store, Announced::Shard(shard(text))));
        let whole = announce(&store, Announced::Whole);
        let other = store.announce(
            &"other".parse().expect("a task class"),
            "2026-11-16T09:30:00.000Z".parse().expect("a time"),
            2,
            Announced::Shard(shard("2/2")),
        );
        let other = other.expect("announced");
        for (listed, why) in [
            (whole, "it announced a whole run and no shard"),
            (again, "another that is listed announced shard 1/2 too"),
            (one, "another that is listed announced shard 1/2 too"),
            (of_three, "it announced shard 2/3, and another that is listed is one of 2"),
            (other, "it announced a run of `other`"),
        ] {
            let refused = try_announce(&store, Announced::Merged(&[one, listed])).expect_err(why);
            assert_eq!(refused.exit(), Exit::EvidenceBroken);
            let AnnounceRunError::Write(AnnounceError::Listed { marker, source }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!((marker, source.to_string().as_str()), (listed, why));
        }
        assert_eq!(open(&path).verification().unfinished.len(), 6, "nothing was announced");
        announce(&store, Announced::Merged(&[two, one]));
    }

    #[test]
    fn an_announcement_counts_for_the_shard_that_it_states_and_for_no_other() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("store");
        let whole = announce(&open(&path), Announced::Whole);
        let first = announce(&open(&path), Announced::Shard(shard("1/2")));
        let store = open(&path);
        store.require_unfinished(&fixture(), &[(shard("1/2"), first)]).expect("it is its own");
        for (claimed, marker) in [("1/2", whole), ("2/2", first), ("1/3", first)] {
            let refused = store.require_unfinished(&fixture(), &[(shard(claimed), marker)]).expect_err("it is not");
            assert_eq!(refused.exit(), Exit::EvidenceBroken);
            assert!(refused.to_string().contains(&format!("did not announce shard {claimed}")), "{refused}");
        }
        let other = "other".parse().expect("a task class");
        let refused = store.require_unfinished(&other, &[(shard("1/2"), first)]).expect_err("of another class");
        assert!(matches!(refused, AnnounceRunError::OtherShard { .. }), "{refused}");
    }

    #[test]
    fn a_merge_that_failed_is_announced_once_and_every_paid_run_anew() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("store");
        let shards = ["1/2", "2/2"].map(|text| announce(&open(&path), Announced::Shard(shard(text))));
        assert_ne!(shards[0], shards[1], "two runs were paid for");
        let merged = announce(&open(&path), Announced::Merged(&shards));
        assert_eq!(announce(&open(&path), Announced::Merged(&shards)), merged, "nothing was paid for in between");
        assert_ne!(announce(&open(&path), Announced::Merged(&shards[..1])), merged, "it is another run");
        assert_eq!(open(&path).verification().unfinished.len(), 4);
    }

    #[test]
    fn an_announcement_that_is_gone_is_told_apart_from_one_that_has_its_record() {
        let temp = tempfile::tempdir().expect("a folder");
        let store = open(&temp.path().join("store"));
        let own = shard("1/1");
        let marker = announce(&store, Announced::Shard(own));
        let store = open(&temp.path().join("store"));
        store.require_unfinished(&fixture(), &[(own, marker)]).expect("it is there, and has no record");
        let none = Digest::of(b"no marker");
        let gone = store.require_unfinished(&fixture(), &[(own, none)]).expect_err("there is none");
        assert!(matches!(gone, AnnounceRunError::ShardGone { .. }), "{gone}");
        assert_eq!(gone.exit(), Exit::EvidenceBroken);
    }
}
