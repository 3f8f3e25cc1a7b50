//! What a bundle holds, and how it is written and opened. It never decides whether what it holds is sound.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::archive::{Archive, ArchiveError, Entry, MOST_ENTRY_BYTES, begin_entry, end_entry, write_end, write_entry};

use crate::anchor::MOST_NOTE_BYTES;
use crate::chain::{Link, RecordFileName, StoreId, hash_of};
use crate::files::{FileError, FileProblem, LockError};
use crate::pack::{END_OF_CONTENT, FIRST_LINE, Header, Library, Lines, PackName, Shelf, Span};
use crate::record::MOST_RECORD_BYTES;
use crate::store::{
    EXCERPT, Evidence, Excerpt, Extent, IDENTITY, IdentityError, MOST_EXCERPT_BYTES, PACKS, ReadObjectError,
    encode_identity, parse_identity,
};
use crate::verify::{Defect, ExcerptDefect, Finding, RestoreCaseError, State, Verification, read_manifest};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};

/// Why a record was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("the bundle cannot be written")]
    Write(#[source] io::Error),
    #[error(
        "the objects of the record take {size} bytes, more than the {MOST_ENTRY_BYTES} that a bundle can hold: hand over the store \
         itself, which `eval-host verify --replay` checks as well"
    )]
    TooLarge { size: u64 },
    #[error("the bundle cannot be given its place")]
    Place(#[source] FileError),
    #[error("a record or its note cannot be read any more")]
    Record(#[source] FileError),
    #[error(
        "the store was unpacked from a bundle, and objects of record {seq} of `{task_class}` are left out of it; export that \
         record from the store that the bundle came from"
    )]
    LeftOut { task_class: TaskClassName, seq: u64 },
    #[error("the record is not the one that was verified; run the command again")]
    Changed,
    #[error("an object that the record names cannot be read")]
    Object(#[source] ReadObjectError),
    #[error("a case that the record names cannot be restored")]
    Case(#[source] RestoreCaseError),
}

impl Advice for ExportError {
    fn exit(&self) -> Exit {
        match self {
            Self::Changed => Exit::EvidenceBroken,
            Self::Object(error) => error.exit(),
            Self::Case(error) => error.exit(),
            Self::LeftOut { .. } | Self::TooLarge { .. } => Exit::UsageOrCap,
            _ => Exit::HarnessError,
        }
    }
}

/// Writes the bundle of one verified record.
pub fn export(
    evidence: &dyn Evidence,
    verification: &Verification,
    link: &Link,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let first = (link.position.task_class.clone(), 0);
    let last = (link.position.task_class.clone(), link.position.seq);
    if verification.left_out.contains(&last) {
        let (task_class, seq) = last;
        return Err(ExportError::LeftOut { task_class, seq });
    }
    let objects = objects_of(evidence, link)?;
    let pack = PlannedPack::of(evidence, &objects)?;
    write_entry(out, IDENTITY, &encode_identity(evidence.id())).map_err(ExportError::Write)?;
    write_entry(out, EXCERPT, &Excerpt::up_to(link).encode()).map_err(ExportError::Write)?;
    let records: BTreeMap<_, _> =
        verification.links.range(first..=last).map(|(_, link)| (link.file_name(), link)).collect();
    for (name, link) in records {
        write_record(evidence, name.as_str(), link, out)?;
    }
    pack.write(evidence, &objects, out)?;
    write_end(out).map_err(ExportError::Write)
}

/// The pack of a bundle, whose name and size stand before it. Both follow from what the objects' headers say.
struct PlannedPack {
    name: PackName,
    size: u64,
}

impl PlannedPack {
    fn of(evidence: &dyn Evidence, objects: &[Digest]) -> Result<Self, ExportError> {
        let (mut lines, mut size) = (Lines::new(), FIRST_LINE.len() as u64);
        for digest in objects {
            let length = evidence.object_length(*digest).map_err(ExportError::Object)?;
            let header = Header { digest: *digest, length };
            lines.add(header.line().as_bytes());
            size += header.size();
        }
        let plan = Self { name: lines.name(), size };
        if size > MOST_ENTRY_BYTES { Err(ExportError::TooLarge { size }) } else { Ok(plan) }
    }

    fn write(&self, evidence: &dyn Evidence, objects: &[Digest], out: &mut dyn Write) -> Result<(), ExportError> {
        begin_entry(out, &format!("{PACKS}/{}", self.name), self.size).map_err(ExportError::Write)?;
        out.write_all(FIRST_LINE).map_err(ExportError::Write)?;
        for digest in objects {
            let content = evidence.object(*digest).map_err(ExportError::Object)?;
            let line = Header { digest: *digest, length: content.len() as u64 }.line();
            for part in [line.as_bytes(), &content, &[END_OF_CONTENT]] {
                out.write_all(part).map_err(ExportError::Write)?;
            }
        }
        end_entry(out, self.size).map_err(ExportError::Write)
    }
}

/// Writes a record that is still the one that was verified, and the note beside it.
fn write_record(evidence: &dyn Evidence, name: &str, link: &Link, out: &mut dyn Write) -> Result<(), ExportError> {
    let bytes = evidence.record(name).map_err(ExportError::Record)?;
    if hash_of(&bytes) != link.hash {
        return Err(ExportError::Changed);
    }
    write_entry(out, &format!("runs/{name}"), &bytes).map_err(ExportError::Write)?;
    match evidence.note(name).map_err(ExportError::Record)? {
        Some(note) => {
            write_entry(out, &format!("runs/{}", RecordFileName::note_of(name)), &note).map_err(ExportError::Write)
        }
        None => Ok(()),
    }
}

/// Every object that a record names, and those that these name, sorted.
fn objects_of(evidence: &dyn Evidence, link: &Link) -> Result<Vec<Digest>, ExportError> {
    let record = evidence.verified_record(link).ok_or(ExportError::Changed)?;
    let mut objects: BTreeSet<_> = record.named_objects().collect();
    for case in record.case_digest_set.values() {
        let manifest = read_manifest(evidence, *case).map_err(ExportError::Case)?;
        objects.extend(manifest.files().map(|(_, digest)| digest));
    }
    Ok(objects.into_iter().collect())
}

/// Why a file is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum OpenBundleError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("`{}` does not begin with a store's identity", path.display())]
    NoIdentity { path: PathBuf },
    #[error("`{}` does not say which store it is of", path.display())]
    Identity {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is of a store of format version {found}: use a newer eval-host", path.display())]
    Newer { path: PathBuf, found: u64 },
    #[error("`{}` has no `{EXCERPT}` behind the store's identity, so it does not say what it leaves out", path.display())]
    NoExcerpt { path: PathBuf },
    #[error("`{}` does not say what it leaves out", path.display())]
    Excerpt {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is a bundle of format version {found}: use a newer eval-host", path.display())]
    NewerExcerpt { path: PathBuf, found: u64 },
    #[error("`{}` contains `{name}`, which no bundle does, or in another place", path.display())]
    Foreign { path: PathBuf, name: String },
    #[error("`{name}` in `{}` has {size} bytes, more than the {most} that such a file can have", path.display())]
    TooLarge { path: PathBuf, name: String, size: u64, most: u64 },
}

impl OpenBundleError {
    /// What it says about the evidence.
    pub fn state(&self) -> State {
        match self {
            Self::Archive(ArchiveError::Open(_) | ArchiveError::Io(_))
            | Self::Newer { .. }
            | Self::NewerExcerpt { .. } => State::Unverifiable,
            _ => State::Tampered,
        }
    }
}

/// A bundle, opened and indexed.
#[derive(Debug)]
pub struct Bundle {
    id: StoreId,
    excerpt: Excerpt,
    index: Index,
    objects: Library<InBundle>,
    /// Every object that was found in it, in its order.
    digests: Mutex<Vec<Digest>>,
}

/// A bundle's archive as a place where packs lie.
#[derive(Debug)]
struct InBundle {
    archive: Archive,
    packs: BTreeMap<PackName, Entry>,
}

impl Shelf for InBundle {
    fn names(&self) -> Result<Vec<PackName>, FileError> {
        Ok(self.packs.keys().copied().collect())
    }

    fn open(&self, name: PackName) -> Result<Span, FileError> {
        let missing = || FileError { path: self.path(name), problem: FileProblem::Missing };
        let entry = self.packs.get(&name).ok_or_else(missing)?;
        self.archive.span(*entry).map_err(|error| FileError::io("opened", &self.path(name), error))
    }

    fn index(&self, _: PackName, _: u64) -> Option<Vec<u8>> {
        None
    }

    fn path(&self, name: PackName) -> PathBuf {
        self.archive.path().join(PACKS).join(name.to_string())
    }
}

impl Bundle {
    /// Reads every header and no content but what says what the bundle is.
    pub fn open(path: &Path) -> Result<Self, OpenBundleError> {
        let mut archive = Archive::open(path)?;
        let at = || path.to_owned();
        let identity = next_file(&mut archive, IDENTITY)?.ok_or_else(|| OpenBundleError::NoIdentity { path: at() })?;
        let id = parse_identity(&identity).map_err(|error| match error {
            IdentityError::Newer { found } => OpenBundleError::Newer { path: at(), found },
            IdentityError::Malformed(source) => OpenBundleError::Identity { path: at(), source },
        })?;
        let excerpt = next_file(&mut archive, EXCERPT)?.ok_or_else(|| OpenBundleError::NoExcerpt { path: at() })?;
        let excerpt = Excerpt::parse(&excerpt).map_err(|error| match error {
            IdentityError::Newer { found } => OpenBundleError::NewerExcerpt { path: at(), found },
            IdentityError::Malformed(source) => OpenBundleError::Excerpt { path: at(), source },
        })?;
        let mut index = Index::default();
        while let Some((name, entry)) = archive.next_entry()? {
            let most = index.add(&name, entry);
            let name = || name.escape_default().to_string();
            match most {
                None => return Err(OpenBundleError::Foreign { path: at(), name: name() }),
                Some(most) if entry.size > most => {
                    return Err(OpenBundleError::TooLarge { path: at(), name: name(), size: entry.size, most });
                }
                Some(_) => {}
            }
        }
        let packs = std::mem::take(&mut index.packs);
        Ok(Self { id, excerpt, index, objects: Library::new(InBundle { archive, packs }), digests: Mutex::default() })
    }

    fn archive(&self) -> &Archive {
        &self.objects.shelf().archive
    }

    fn read(&self, name: &str, entry: Entry, most: u64) -> Result<Vec<u8>, FileError> {
        let path = self.archive().path().join("runs").join(name);
        self.archive().read(entry, most).map_err(|error| FileError::io("read", &path, error))
    }
}

/// The content of the next file, if it has this name.
fn next_file(archive: &mut Archive, name: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
    match archive.next_entry()? {
        Some((found, entry)) if found == name && entry.size <= MOST_EXCERPT_BYTES => {
            archive.read(entry, MOST_EXCERPT_BYTES).map(Some).map_err(ArchiveError::Io)
        }
        _ => Ok(None),
    }
}

/// Names come sorted, each note right behind its record and the one pack last, so none can come twice.
#[derive(Debug, Default)]
struct Index {
    records: BTreeMap<String, Entry>,
    /// By the name of the note.
    notes: BTreeMap<String, Entry>,
    packs: BTreeMap<PackName, Entry>,
}

impl Index {
    /// The most bytes that a file of this name can have, if it may come here.
    fn add(&mut self, name: &str, entry: Entry) -> Option<u64> {
        match name.strip_prefix("runs/") {
            Some(_) if !self.packs.is_empty() => None,
            Some(record) if RecordFileName::has_shape(record) => self.add_record(record, entry),
            Some(note) => self.add_note(note, entry),
            None => self.add_pack(name, entry),
        }
    }

    fn add_record(&mut self, record: &str, entry: Entry) -> Option<u64> {
        let is_next = self.records.last_key_value().is_none_or(|(last, _)| last.as_str() < record);
        self.records.insert(record.to_owned(), entry);
        is_next.then_some(MOST_RECORD_BYTES)
    }

    fn add_note(&mut self, note: &str, entry: Entry) -> Option<u64> {
        let (last, _) = self.records.last_key_value()?;
        let is_new = RecordFileName::note_of(last) == note && self.notes.insert(note.to_owned(), entry).is_none();
        is_new.then_some(MOST_NOTE_BYTES)
    }

    fn add_pack(&mut self, name: &str, entry: Entry) -> Option<u64> {
        let name = name.strip_prefix(PACKS)?.strip_prefix('/')?.parse().ok()?;
        let is_first = self.packs.insert(name, entry).is_none() && self.packs.len() == 1;
        is_first.then_some(u64::MAX)
    }
}

impl Evidence for Bundle {
    fn id(&self) -> StoreId {
        self.id
    }

    fn extent(&self) -> Extent<'_> {
        Extent::Bundle(&self.excerpt)
    }

    fn names(&self) -> Result<Vec<OsString>, LockError> {
        Ok(self.index.records.keys().map(OsString::from).collect())
    }

    fn record(&self, name: &str) -> Result<Vec<u8>, FileError> {
        let missing =
            || FileError { path: self.archive().path().join("runs").join(name), problem: FileProblem::Missing };
        let entry = self.index.records.get(name).ok_or_else(missing)?;
        self.read(name, *entry, MOST_RECORD_BYTES)
    }

    fn note(&self, record_name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let name = RecordFileName::note_of(record_name);
        let entry = self.index.notes.get(&name);
        entry.map(|entry| self.read(&name, *entry, MOST_NOTE_BYTES)).transpose()
    }

    fn survey(&self) -> Result<Vec<Finding>, LockError> {
        let mut digests = Vec::new();
        let mut findings: Vec<_> =
            self.objects.survey(|digest| digests.push(digest))?.into_iter().map(Finding::from).collect();
        if !digests.is_sorted_by(|one, next| one < next) {
            findings.push(Finding::of_file(PACKS.to_owned(), Defect::Excerpt(ExcerptDefect::Unsorted)));
        }
        *self.digests.lock().unwrap_or_else(PoisonError::into_inner) = digests;
        Ok(findings)
    }

    fn strays(&self, named: &BTreeSet<Digest>) -> Vec<Digest> {
        let digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        digests.iter().filter(|digest| !named.contains(digest)).copied().collect()
    }

    fn object(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
        self.objects.read(digest)
    }

    fn check_object(&self, digest: Digest) -> Result<(), ReadObjectError> {
        self.objects.check(digest)
    }

    fn object_length(&self, digest: Digest) -> Result<u64, ReadObjectError> {
        self.objects.header(digest).map(|header| header.length)
    }
}

#[cfg(test)]
mod tests;
