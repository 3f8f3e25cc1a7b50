//! Reading a store that nobody vouches for: bounded, without following anything, and without stopping at the first fault.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use super::excerpt::{self, Excerpt, Extent};
use super::objects::ReadObjectError;
use super::open::{self, OpenStoreError};
use super::packs::{Packs, packs};
use super::started::{self, Started};
use crate::anchor::MOST_NOTE_BYTES;
use crate::chain::{Heads, Link, RecordFileName, StoreId, Walk, walk};
use crate::files::{Dir, FileError, LockError, Missing, Share, printable};
use crate::record::{MOST_RECORD_BYTES, RecordedRun};
use crate::verify::{Defect, Finding};
use eval_model::ids::{Digest, TaskClassName};

/// What a record is called until it is durable.
pub(super) const DRAFT_PREFIX: &str = ".tmp-";

/// What a draft's bytes are called while they are written anew.
pub(super) const AGAIN_PREFIX: &str = ".tmp-again-";

/// The name that a record's draft was to get.
pub(super) fn record_of_draft(draft: &str) -> Option<&str> {
    let name = draft.strip_prefix(AGAIN_PREFIX).or_else(|| draft.strip_prefix(DRAFT_PREFIX))?;
    RecordFileName::has_shape(name).then_some(name)
}

/// Whether a file manager leaves this name everywhere, so that it says nothing about the evidence.
pub(super) fn is_ignored(name: &OsStr) -> bool {
    name == ".DS_Store" || name == "Thumbs.db"
}

/// Something that holds records and the objects they name, which nobody vouches for.
pub trait Evidence: Sync {
    fn id(&self) -> StoreId;

    /// How much of its store it says that it holds. Of what says nothing, everything is demanded.
    fn extent(&self) -> Extent<'_> {
        Extent::Whole
    }

    /// The names of what should be records.
    fn names(&self) -> Result<Vec<OsString>, LockError>;

    fn record(&self, name: &str) -> Result<Vec<u8>, FileError>;

    /// The signature beside the record of this name, if it has one.
    fn note(&self, record_name: &str) -> Result<Option<Vec<u8>>, FileError>;

    /// Reads all objects once, and says what is wrong with what holds them. Those that came later are not looked at.
    fn survey(&self) -> Result<Vec<Finding>, LockError>;

    /// The content of an object, checked against its name.
    fn object(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError>;

    /// Whether the object is there and right. After a survey that is known without reading it again.
    fn check_object(&self, digest: Digest) -> Result<(), ReadObjectError>;

    /// How long an object says that it is.
    fn object_length(&self, digest: Digest) -> Result<u64, ReadObjectError>;

    /// After a survey, the objects in it that are none of `named`, as far as that means something: a store also keeps objects of runs that
    /// were never recorded.
    fn strays(&self, _named: &BTreeSet<Digest>) -> Vec<Digest> {
        Vec::new()
    }

    /// The record at a place, if it is still the one that was verified there: a file may have changed since it was walked.
    fn verified_record(&self, link: &Link) -> Option<RecordedRun> {
        let bytes = self.record(link.file_name().as_str()).ok()?;
        RecordedRun::read(&bytes).ok().filter(|(_, again)| again == link).map(|(record, _)| record)
    }
}

/// A store that is only read.
#[derive(Debug)]
pub struct StoreReader {
    id: StoreId,
    /// What the store is a part of, if it was unpacked from a bundle.
    excerpt: Option<Excerpt>,
    root: Dir,
    patience: Duration,
    runs: Dir,
    packs: Packs,
    /// A store that was unpacked from a bundle has none.
    started: Option<Dir>,
}

/// Which records of a store were seen and found to be in order, so that only what came later needs to be read.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    names: BTreeSet<String>,
    heads: Heads,
    newest: BTreeMap<TaskClassName, Link>,
}

impl Snapshot {
    pub fn heads(&self) -> &Heads {
        &self.heads
    }

    pub(super) fn newest(&self, task_class: &TaskClassName) -> Option<&Link> {
        self.newest.get(task_class)
    }
}

/// One record of a scan that reads as a record.
#[derive(Debug)]
pub struct Seen<'a> {
    pub link: &'a Link,
    pub record: &'a RecordedRun,
    /// How many of the `total` files have been read.
    pub done: usize,
    pub total: usize,
}

/// What a scan found.
#[derive(Debug)]
pub struct Scan {
    pub snapshot: Snapshot,
    /// The records that read as records, in no order.
    pub links: Vec<Link>,
    pub findings: Vec<Finding>,
    /// Records that never got their names.
    pub drafts: Vec<String>,
}

impl StoreReader {
    /// Opens the store at `path`, whoever owns it and wherever it lies. `patience` is how long to wait for a writer.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, OpenStoreError> {
        Self::from_root(open::open_root(path, Missing::Fail)?, patience)
    }

    pub(super) fn from_root(root: Dir, patience: Duration) -> Result<Self, OpenStoreError> {
        let Some(id) = open::read_identity(&root)? else {
            let path = root.path().to_owned();
            let runs = root.child_if_any(open::RUNS)?;
            let has_records = runs.map(|runs| runs.names()).transpose()?.is_some_and(|names| !names.is_empty());
            return Err(if has_records {
                OpenStoreError::NoIdentity { path }
            } else {
                OpenStoreError::NotAStore { path }
            });
        };
        let excerpt = excerpt::read(&root)?;
        let area =
            |name| root.child_if_any(name)?.ok_or_else(|| OpenStoreError::NoPart { path: root.path().join(name) });
        let (runs, packs, started) = (area(open::RUNS)?, packs(area(open::PACKS)?), root.child_if_any(open::STARTED)?);
        Ok(Self { id, excerpt, root, patience, runs, packs, started })
    }

    pub(super) fn root(&self) -> &Dir {
        &self.root
    }

    pub(super) fn runs(&self) -> &Dir {
        &self.runs
    }

    pub(super) fn packs(&self) -> &Packs {
        &self.packs
    }

    pub(super) fn markers(&self) -> Option<&Dir> {
        self.started.as_ref()
    }

    /// Every marker of a live run, and what is wrong with the files that should be one and with their order.
    pub fn started(&self) -> Result<(Vec<Started>, Vec<Finding>), LockError> {
        // As with the records: a listing beside a writer may show the second marker and not the first.
        let lock = self.root.lock(Share::Readers, self.patience)?;
        let names = self.marker_names()?;
        drop(lock);
        Ok(self.read_markers(names))
    }

    /// The same for a writer, which holds the lock.
    pub(super) fn started_locked(&self) -> Result<(Vec<Started>, Vec<Finding>), FileError> {
        Ok(self.read_markers(self.marker_names()?))
    }

    fn marker_names(&self) -> Result<Vec<OsString>, FileError> {
        self.started.as_ref().map_or(Ok(Vec::new()), started::names)
    }

    fn read_markers(&self, names: Vec<OsString>) -> (Vec<Started>, Vec<Finding>) {
        self.started.as_ref().map_or_else(Default::default, |started| started::read_all(started, self.id, names))
    }

    /// The names of the records for a writer, which holds the lock.
    pub(super) fn names_locked(&self) -> Result<Vec<OsString>, FileError> {
        self.runs.names()
    }
}

impl Evidence for StoreReader {
    fn id(&self) -> StoreId {
        self.id
    }

    fn extent(&self) -> Extent<'_> {
        self.excerpt.as_ref().map_or(Extent::Whole, Extent::Unpacked)
    }

    fn names(&self) -> Result<Vec<OsString>, LockError> {
        // A listing that runs beside a writer may show its second record and not its first. The records themselves never
        // change, so nobody needs to wait while they are read.
        let _lock = self.root.lock(Share::Readers, self.patience)?;
        Ok(self.runs.names()?)
    }

    fn record(&self, name: &str) -> Result<Vec<u8>, FileError> {
        self.runs.read(name, MOST_RECORD_BYTES)
    }

    fn note(&self, record_name: &str) -> Result<Option<Vec<u8>>, FileError> {
        self.runs.read_if_any(RecordFileName::note_of(record_name), MOST_NOTE_BYTES)
    }

    fn survey(&self) -> Result<Vec<Finding>, LockError> {
        // Beside a writer a draft may be seen that has its name already.
        let lock = self.root.lock(Share::Readers, self.patience)?;
        let mut findings = self.packs.shelf().strangers()?;
        drop(lock);
        findings.extend(self.packs.survey(|_| ())?.into_iter().map(Finding::from));
        Ok(findings)
    }

    fn object(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
        self.packs.read(digest)
    }

    fn check_object(&self, digest: Digest) -> Result<(), ReadObjectError> {
        self.packs.check(digest)
    }

    fn object_length(&self, digest: Digest) -> Result<u64, ReadObjectError> {
        self.packs.header(digest).map(|header| header.length)
    }
}

/// Reads those of the named records that `known` does not have, walks on from there, and shows each record to `visit`.
pub fn scan(evidence: &dyn Evidence, names: Vec<OsString>, known: &Snapshot, visit: &mut dyn FnMut(&Seen<'_>)) -> Scan {
    let mut reading = Reading::default();
    let names: BTreeSet<String> = names.into_iter().filter_map(|name| reading.record_name(&name)).collect();
    let fresh: Vec<_> = names.difference(&known.names).collect();
    for (index, name) in fresh.iter().enumerate() {
        match examine(evidence, name) {
            Ok((record, link)) => {
                visit(&Seen { link: &link, record: &record, done: index + 1, total: fresh.len() });
                reading.links.links.push(link);
            }
            Err(bad) => reading.add_bad(name, *bad),
        }
    }
    for gone in known.names.difference(&names) {
        reading.report(None, gone, Defect::Gone);
    }
    reading.check_notes(&names);
    reading.finish(evidence.id(), known, names)
}

/// A scan under way.
#[derive(Default)]
struct Reading {
    links: Walk,
    findings: Vec<Finding>,
    drafts: Vec<String>,
    /// The records that there are signatures of.
    signed: Vec<String>,
}

impl Reading {
    /// The name, if a record can have it. Everything else is put where it belongs.
    fn record_name(&mut self, name: &OsStr) -> Option<String> {
        if let Some(record) = name.to_str().and_then(RecordFileName::signed_by) {
            self.signed.push(record);
            return None;
        }
        match name.to_str() {
            Some(name) if RecordFileName::has_shape(name) => return Some(name.to_owned()),
            Some(name) if name.starts_with(DRAFT_PREFIX) => self.drafts.push(name.to_owned()),
            _ if is_ignored(name) => {}
            _ => self.report(None, &printable(name), Defect::ForeignFile),
        }
        None
    }

    /// A signature never comes without its record or a draft of it, whatever crashes: a record that was signed is gone then.
    fn check_notes(&mut self, records: &BTreeSet<String>) {
        let drafts: BTreeSet<_> = self.drafts.iter().filter_map(|draft| record_of_draft(draft)).collect();
        let is_alone = |record: &String| !records.contains(record) && !drafts.contains(record.as_str());
        let alone: Vec<_> = self.signed.iter().filter(|record| is_alone(record)).cloned().collect();
        for record in alone {
            self.report(None, &RecordFileName::note_of(&record), Defect::SignatureAlone);
        }
    }

    fn add_bad(&mut self, name: &str, bad: Bad) {
        if let Some((task_class, seq)) = &bad.claimed {
            self.links.damaged.insert((task_class.clone(), *seq));
        }
        self.report(bad.claimed, name, bad.defect);
    }

    fn report(&mut self, claimed: Option<(TaskClassName, u64)>, name: &str, defect: Defect) {
        let (task_class, seq) = claimed.unzip();
        self.findings.push(Finding { task_class, seq, ..Finding::of_file(format!("runs/{name}"), defect) });
    }

    fn finish(mut self, id: StoreId, known: &Snapshot, names: BTreeSet<String>) -> Scan {
        let mut heads = known.heads.clone();
        let mut newest = known.newest.clone();
        for link in &self.links.links {
            let is_newer = |old: &Link| old.position.seq < link.position.seq;
            if newest.get(&link.position.task_class).is_none_or(is_newer) {
                newest.insert(link.position.task_class.clone(), link.clone());
            }
        }
        let broken = walk(id, &mut heads, &self.links);
        self.findings.extend(broken.into_iter().map(Finding::from));
        let snapshot = Snapshot { names, heads, newest };
        Scan { snapshot, links: self.links.links, findings: self.findings, drafts: self.drafts }
    }
}

/// A file that should be a record and is not, with the place it claims if it claims one.
struct Bad {
    claimed: Option<(TaskClassName, u64)>,
    defect: Defect,
}

/// Reads one record's file and checks that its name is its own.
fn examine(evidence: &dyn Evidence, name: &str) -> Result<(RecordedRun, Link), Box<Bad>> {
    let unplaced = |defect| Box::new(Bad { claimed: None, defect });
    let bytes = evidence.record(name).map_err(|error| unplaced(error.into()))?;
    let (record, link) = RecordedRun::read(&bytes).map_err(|error| unplaced(Defect::Malformed(error)))?;
    let expected = link.file_name();
    if expected.as_str() == name {
        return Ok((record, link));
    }
    let claimed = Some((record.task_class, record.seq));
    Err(Box::new(Bad { claimed, defect: Defect::Misnamed { expected } }))
}
