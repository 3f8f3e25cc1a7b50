//! Markers of live runs, written before the first case is paid for.
//!
//! The record of a run names its marker, so a marker that no record names is a run that was not finished, or not liked:
//! nobody can report only the best of ten. Markers are never removed, and each names the one before it of its task class: one
//! that is taken out of the middle leaves a gap, and one that is put in its place is not the one that the next one names.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use serde::{Deserialize, Deserializer, Serialize};

use super::open::STARTED;
use super::reader::{DRAFT_PREFIX, is_ignored};
use crate::chain::StoreId;
use crate::files::{Dir, FileError, LockError, printable};
use crate::verify::{Defect, Finding};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::json;
use eval_model::shard::Shard;
use eval_model::utc::UtcMillis;

const SCHEMA_VERSION: u32 = 1;
const MOST_MARKER_BYTES: u64 = 64 << 10;

/// What is said before a live run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedMarker {
    schema_version: u32,
    store_id: StoreId,
    pub task_class: TaskClassName,
    /// Its number among the markers of its task class.
    pub seq: NonZeroU64,
    /// The BLAKE3 of the marker before it; none for the first. It must be said: left out is not null.
    #[serde(deserialize_with = "Option::deserialize")]
    pub prev: Option<Digest>,
    pub started_at: UtcMillis,
    /// How many cases were selected.
    pub cases: u64,
    /// Which part of a run was announced; left out for a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "stated")]
    pub shard: Option<Shard>,
    /// The markers of the shards that this run was put together from. Whatever names this marker names them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Digest>,
}

/// What is there is a shard: null is not left out.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Shard>, D::Error> {
    Shard::deserialize(deserializer).map(Some)
}

/// Why a marker must not list another as that of a shard of its run. What is listed counts as finished, so a run that is no
/// part of the one that lists it would be hidden.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShardMisfit {
    #[error("it announced a run of `{announced}`")]
    OtherClass { announced: TaskClassName },
    #[error("it announced a whole run and no shard")]
    Whole,
    #[error("it announced shard {shard}, and another that is listed is one of {count}")]
    OtherCount { shard: Shard, count: usize },
    #[error("another that is listed announced shard {shard} too")]
    Twice { shard: Shard },
}

/// The shards of one run, while they are looked through.
struct Listing<'a> {
    task_class: &'a TaskClassName,
    count: Option<usize>,
    indices: BTreeSet<usize>,
}

impl Listing<'_> {
    fn take(&mut self, listed: &StartedMarker) -> Result<(), ShardMisfit> {
        if listed.task_class != *self.task_class {
            return Err(ShardMisfit::OtherClass { announced: listed.task_class.clone() });
        }
        let shard = listed.shard.ok_or(ShardMisfit::Whole)?;
        let count = *self.count.get_or_insert(shard.count());
        if shard.count() != count {
            return Err(ShardMisfit::OtherCount { shard, count });
        }
        if self.indices.insert(shard.index()) { Ok(()) } else { Err(ShardMisfit::Twice { shard }) }
    }
}

/// Which of the listed markers a run of this class must not list. What is not among `markers` is not judged.
fn misfits(task_class: &TaskClassName, shards: &[Digest], markers: &[Started]) -> Vec<(Digest, ShardMisfit)> {
    let mut listing = Listing { task_class, count: None, indices: BTreeSet::new() };
    let found = |digest: &Digest| markers.iter().find(|started| started.digest == *digest);
    let mut misfit = |listed: &Started| Some((listed.digest, listing.take(&listed.marker).err()?));
    shards.iter().filter_map(found).filter_map(&mut misfit).collect()
}

/// What a marker announces.
#[derive(Debug, Clone, Copy)]
pub enum Announced<'a> {
    Whole,
    Shard(Shard),
    /// A whole run that is put together from the shards that these markers announced.
    Merged(&'a [Digest]),
}

impl<'a> Announced<'a> {
    fn shard(self) -> Option<Shard> {
        match self {
            Self::Shard(shard) => Some(shard),
            Self::Whole | Self::Merged(_) => None,
        }
    }

    /// The markers that this one lists.
    pub fn shards(self) -> &'a [Digest] {
        match self {
            Self::Merged(shards) => shards,
            Self::Whole | Self::Shard(_) => &[],
        }
    }
}

/// A marker that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub digest: Digest,
    pub marker: StartedMarker,
}

impl Started {
    /// Its file, relative to the store.
    fn file(&self) -> String {
        format!("{STARTED}/{}", file_name(&self.marker, self.digest))
    }

    /// The markers that it lists as those of its shards and must not, and why.
    pub(crate) fn misfits(&self, markers: &[Self]) -> Vec<(Digest, Finding)> {
        let misfits = misfits(&self.marker.task_class, &self.marker.shards, markers);
        let finding = |(marker, source)| (marker, about(self, Defect::MarkerListed { marker, source }));
        misfits.into_iter().map(finding).collect()
    }
}

/// What is to be announced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcement<'a> {
    pub(super) store_id: StoreId,
    pub(super) task_class: &'a TaskClassName,
    pub(super) started_at: UtcMillis,
    pub(super) cases: u64,
    pub(super) what: Announced<'a>,
}

/// Why a marker was not written.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    #[error("the markers of earlier runs are not whole, and are not continued: {}", join(_0))]
    Broken(Vec<Finding>),
    #[error("the marker `{marker}` cannot be listed as that of a shard")]
    Listed { marker: Digest, source: ShardMisfit },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Advice for AnnounceError {
    fn exit(&self) -> Exit {
        match self {
            Self::Broken(_) | Self::Listed { .. } => Exit::EvidenceBroken,
            Self::Lock(_) | Self::File(_) => Exit::HarnessError,
        }
    }
}

fn join(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("; ")
}

/// What is wrong with the order of the markers of a task class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkerBreak {
    #[error("it is marker {seq}, and the ones before it are missing from number {first} on")]
    Missing { seq: u64, first: u64 },
    #[error("the markers fork here: {} have the number {seq}: {}", files.len(), list(files))]
    Fork { seq: u64, files: Vec<String> },
    #[error("it is marker {seq}, its prev is {}, and {}", said(*found), before(*expected))]
    Unlinked { seq: u64, expected: Option<Digest>, found: Option<Digest> },
}

fn list(files: &[String]) -> String {
    files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ")
}

fn said(prev: Option<Digest>) -> String {
    prev.map_or_else(|| "null".to_owned(), |digest| format!("`{digest}`"))
}

fn before(expected: Option<Digest>) -> String {
    match expected {
        Some(digest) => format!("the marker before it is `{digest}`"),
        None => "there is none before the first".to_owned(),
    }
}

/// Why a file is not a marker of this store.
#[derive(Debug, thiserror::Error)]
pub enum ReadMarkerError {
    #[error("it is not what was written: a marker with this content is called `{expected}`")]
    Misnamed { expected: String },
    #[error("it belongs to the store `{found}`")]
    ForeignStore { found: StoreId },
    #[error("it has format version {found}, and this program reads up to {SCHEMA_VERSION}: use a newer eval-host")]
    Newer { found: u64, digest: Digest },
    #[error("it has format version {found}, and there is no such version")]
    NoSuchVersion { found: u32 },
    #[error("it does not read as a marker")]
    Malformed(#[source] serde_json::Error),
    #[error("it is not UTF-8 text")]
    Text,
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes a marker durably behind those that are there, and gives the name that the run's record must state. Only the holder of
/// the store's lock may.
pub(super) fn announce(
    started: &Dir,
    markers: &[Started],
    announcement: &Announcement<'_>,
) -> Result<Digest, AnnounceError> {
    let shards = announcement.what.shards();
    if let Some((marker, source)) = misfits(announcement.task_class, shards, markers).pop() {
        return Err(AnnounceError::Listed { marker, source });
    }
    let of_class = markers.iter().filter(|started| started.marker.task_class == *announcement.task_class);
    let last = of_class.max_by_key(|started| started.marker.seq);
    let marker = StartedMarker {
        schema_version: SCHEMA_VERSION,
        store_id: announcement.store_id,
        task_class: announcement.task_class.clone(),
        seq: last.map_or(NonZeroU64::MIN, |last| last.marker.seq.saturating_add(1)),
        prev: last.map(|last| last.digest),
        started_at: announcement.started_at,
        cases: announcement.cases,
        shard: announcement.what.shard(),
        shards: shards.to_vec(),
    };
    let bytes = json::line(&marker);
    let digest = Digest::of(&bytes);
    let name = file_name(&marker, digest);
    let draft = format!("{DRAFT_PREFIX}{name}");
    started.write_draft(&draft, &bytes)?;
    started.rename_new(&draft, started, &name)?;
    started.sync()?;
    Ok(digest)
}

fn file_name(marker: &StartedMarker, digest: Digest) -> String {
    let mut digits = digest.to_string();
    digits.truncate(8);
    format!("{}-{digits}.json", marker.started_at.basic())
}

/// The names of the markers. What a crash left of one announces nothing: no case was started then. Nor does what a file manager
/// leaves.
pub(super) fn names(started: &Dir) -> Result<Vec<std::ffi::OsString>, FileError> {
    let is_draft = |name: &std::ffi::OsString| name.as_encoded_bytes().starts_with(DRAFT_PREFIX.as_bytes());
    Ok(started.names()?.into_iter().filter(|name| !is_draft(name) && !is_ignored(name)).collect())
}

/// Reads the named markers, and says of what should be one and is not, and of every place where their order is broken.
pub(super) fn read_all(
    started: &Dir,
    store_id: StoreId,
    names: Vec<std::ffi::OsString>,
) -> (Vec<Started>, Vec<Finding>) {
    let (mut markers, mut findings, mut unread) = (Vec::new(), Vec::new(), Unread::default());
    for name in names {
        match read(started, store_id, &name) {
            Ok(marker) => markers.push(marker),
            Err(error) => {
                unread.add(&error);
                let file = format!("{STARTED}/{}", printable(&name));
                findings.push(Finding::of_file(file, Defect::Marker(error)));
            }
        }
    }
    findings.extend(breaks(&markers, &unread));
    (markers, findings)
}

fn read(started: &Dir, store_id: StoreId, name: &std::ffi::OsStr) -> Result<Started, ReadMarkerError> {
    let bytes = started.read(name, MOST_MARKER_BYTES)?;
    let text = str::from_utf8(&bytes).map_err(|_| ReadMarkerError::Text)?;
    let digest = Digest::of(&bytes);
    if let Some(json::Version { schema_version: found, .. }) = json::version(text)
        && found > u64::from(SCHEMA_VERSION)
    {
        return Err(ReadMarkerError::Newer { found, digest });
    }
    let marker: StartedMarker = json::parse(text).map_err(ReadMarkerError::Malformed)?;
    if marker.schema_version != SCHEMA_VERSION {
        return Err(ReadMarkerError::NoSuchVersion { found: marker.schema_version });
    }
    if marker.store_id != store_id {
        return Err(ReadMarkerError::ForeignStore { found: marker.store_id });
    }
    let expected = file_name(&marker, digest);
    if name.to_str() == Some(expected.as_str()) {
        Ok(Started { digest, marker })
    } else {
        Err(ReadMarkerError::Misnamed { expected })
    }
}

/// Files that are there and do not read as markers. Each has a finding of its own, and may be the one that is missing between
/// two others.
#[derive(Debug, Default)]
struct Unread {
    /// Those that only a newer program can read, by what the next marker names them.
    newer: BTreeSet<Digest>,
    others: usize,
}

impl Unread {
    fn add(&mut self, error: &ReadMarkerError) {
        match error {
            ReadMarkerError::Newer { digest, .. } => {
                self.newer.insert(*digest);
            }
            _ => self.others += 1,
        }
    }

    /// Whether as many markers as are missing before this one may be among them.
    fn explains(&self, missing: u64, next: &StartedMarker) -> bool {
        let is_named = next.prev.is_some_and(|prev| self.newer.contains(&prev));
        missing <= (self.newer.len() + self.others) as u64 && (is_named || self.others > 0)
    }
}

/// The markers of one task class that were found, by their numbers.
type Numbered<'a> = BTreeMap<u64, Vec<&'a Started>>;

/// Every place where the order of the markers is broken.
fn breaks(markers: &[Started], unread: &Unread) -> Vec<Finding> {
    let mut classes: BTreeMap<&TaskClassName, Numbered<'_>> = BTreeMap::new();
    for started in markers {
        let numbered = classes.entry(&started.marker.task_class).or_default();
        numbered.entry(started.marker.seq.get()).or_default().push(started);
    }
    let (mut findings, none) = (Vec::new(), Vec::new());
    for numbered in classes.values() {
        let mut before = (0, &none);
        for (seq, here) in numbered {
            findings.extend(fork(*seq, here));
            findings.extend(here.iter().filter_map(|started| unlinked(started, before, unread)));
            before = (*seq, here);
        }
    }
    findings
}

fn fork(seq: u64, here: &[&Started]) -> Option<Finding> {
    let files: Vec<_> = here.iter().map(|started| started.file()).collect();
    (files.len() > 1).then(|| broken(here[0], MarkerBreak::Fork { seq, files }))
}

/// What is wrong between a marker and those with the highest number below its own. After a fork it may follow either.
fn unlinked(started: &Started, (last, before): (u64, &Vec<&Started>), unread: &Unread) -> Option<Finding> {
    let (seq, found) = (started.marker.seq.get(), started.marker.prev);
    let missing = seq - last - 1;
    if missing > 0 {
        let is_lost = !unread.explains(missing, &started.marker);
        return is_lost.then(|| broken(started, MarkerBreak::Missing { seq, first: last + 1 }));
    }
    let follows = match found {
        None => before.is_empty(),
        Some(prev) => before.iter().any(|before| before.digest == prev),
    };
    let expected = before.first().map(|before| before.digest);
    (!follows).then(|| broken(started, MarkerBreak::Unlinked { seq, expected, found }))
}

fn broken(started: &Started, what: MarkerBreak) -> Finding {
    about(started, Defect::MarkerChain(what))
}

fn about(started: &Started, defect: Defect) -> Finding {
    let file = Some(started.file());
    Finding { file, ..Finding::of_class(Some(started.marker.task_class.clone()), None, defect) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_has_one_spelling_and_is_one_of_its_count() {
        for text in ["1/1", "2/3", "10/10"] {
            assert_eq!(text.parse::<Shard>().expect("a shard").to_string(), text);
        }
        for text in ["", "1", "0/1", "4/3", "01/3", "1/03", "+1/3", "1/3 ", "1/18446744073709551616"] {
            text.parse::<Shard>().expect_err(text);
        }
    }

    #[test]
    fn a_marker_that_states_no_shard_leaves_it_out() {
        let text = format!(
            r#"{{"schema_version":1,"store_id":"{}","task_class":"a","seq":1,"prev":null,"started_at":"2026-11-16T09:00:00.000Z","cases":2}}"#,
            "5".repeat(32)
        );
        let whole: StartedMarker = json::parse(&text).expect("a marker");
        assert_eq!((whole.shard, serde_json::to_string(&whole).expect("JSON")), (None, text.clone()));
        let with = |shard: &str| text.replace(r#""cases":2"#, &format!(r#""cases":2,"shard":{shard}"#));
        let shard: StartedMarker = json::parse(&with(r#""2/3""#)).expect("a marker");
        assert_eq!(serde_json::to_string(&shard).expect("JSON"), with(r#""2/3""#));
        for wrong in ["null", r#""3/2""#, "2"] {
            json::parse::<StartedMarker>(&with(wrong)).expect_err(wrong);
        }
    }
}
