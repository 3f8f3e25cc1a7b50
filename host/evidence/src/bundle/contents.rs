//! What a bundle holds, and how it is written and opened. It never decides whether what it holds is sound.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::archive::{Archive, ArchiveError, Entry, write_end, write_entry};

use crate::chain::{Link, RecordFileName, StoreId};
use crate::files::{FileError, FileProblem, LockError};
use crate::record::MOST_RECORD_BYTES;
use crate::store::{
    Evidence, IDENTITY, IdentityError, MOST_OBJECT_BYTES, ReadObjectError, encode_identity, parse_identity,
};
use crate::verify::{RestoreCaseError, State, Verification, read_manifest};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::Digest;

/// Why a record was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("the bundle cannot be written")]
    Write(#[source] io::Error),
    #[error("a record cannot be read any more")]
    Record(#[source] FileError),
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
    write_entry(out, IDENTITY, &encode_identity(evidence.id())).map_err(ExportError::Write)?;
    let first = (link.position.task_class.clone(), 0);
    let last = (link.position.task_class.clone(), link.position.seq);
    let mut names: Vec<_> = verification.links.range(first..=last).map(|(_, link)| link.file_name()).collect();
    names.sort_unstable();
    for name in names {
        let bytes = evidence.record(name.as_str()).map_err(ExportError::Record)?;
        write_entry(out, &format!("runs/{name}"), &bytes).map_err(ExportError::Write)?;
    }
    for digest in objects_of(evidence, link)? {
        let bytes = evidence.object(digest).map_err(ExportError::Object)?;
        write_entry(out, &format!("objects/{digest}"), &bytes).map_err(ExportError::Write)?;
    }
    write_end(out).map_err(ExportError::Write)
}

/// Every object that a record names, and those that these name, sorted.
fn objects_of(evidence: &dyn Evidence, link: &Link) -> Result<Vec<Digest>, ExportError> {
    let record = evidence.verified_record(link).ok_or(ExportError::Changed)?;
    let mut objects = record.named_objects();
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
    #[error("`{}` contains `{name}`, which no bundle does, or in another place", path.display())]
    Foreign { path: PathBuf, name: String },
}

impl OpenBundleError {
    /// What it says about the evidence.
    pub fn state(&self) -> State {
        match self {
            Self::Archive(ArchiveError::Open(_) | ArchiveError::Io(_)) | Self::Newer { .. } => State::Unverifiable,
            _ => State::Tampered,
        }
    }
}

/// A bundle, opened and indexed.
#[derive(Debug)]
pub struct Bundle {
    id: StoreId,
    archive: Archive,
    records: BTreeMap<String, Entry>,
    objects: BTreeMap<Digest, Entry>,
}

impl Bundle {
    pub fn open(path: &Path) -> Result<Self, OpenBundleError> {
        let mut archive = Archive::open(path)?;
        let no_identity = || OpenBundleError::NoIdentity { path: path.to_owned() };
        let identity = archive.next_entry()?.filter(|(name, _)| name == IDENTITY).ok_or_else(no_identity)?.1;
        let bytes = archive.read(identity, MOST_RECORD_BYTES).map_err(ArchiveError::Io)?;
        let id = parse_identity(&bytes).map_err(|error| match error {
            IdentityError::Newer { found } => OpenBundleError::Newer { path: path.to_owned(), found },
            IdentityError::Malformed(source) => OpenBundleError::Identity { path: path.to_owned(), source },
        })?;
        let mut index = Index::default();
        while let Some((name, entry)) = archive.next_entry()? {
            if !index.add(&name, entry) {
                let name = name.escape_default().to_string();
                return Err(OpenBundleError::Foreign { path: path.to_owned(), name });
            }
        }
        Ok(Self { id, archive, records: index.records, objects: index.objects })
    }
}

/// Names come sorted, records before objects, so none can come twice.
#[derive(Default)]
struct Index {
    records: BTreeMap<String, Entry>,
    objects: BTreeMap<Digest, Entry>,
}

impl Index {
    fn add(&mut self, name: &str, entry: Entry) -> bool {
        if let Some(record) = name.strip_prefix("runs/").filter(|name| RecordFileName::has_shape(name)) {
            let is_next = self.records.last_key_value().is_none_or(|(last, _)| last.as_str() < record);
            self.records.insert(record.to_owned(), entry);
            return is_next && self.objects.is_empty();
        }
        let Some(digest) = name.strip_prefix("objects/").and_then(|digest| digest.parse().ok()) else { return false };
        let is_next = self.objects.last_key_value().is_none_or(|(last, _)| *last < digest);
        self.objects.insert(digest, entry);
        is_next
    }
}

impl Evidence for Bundle {
    fn id(&self) -> StoreId {
        self.id
    }

    fn names(&self) -> Result<Vec<OsString>, LockError> {
        Ok(self.records.keys().map(OsString::from).collect())
    }

    fn record(&self, name: &str) -> Result<Vec<u8>, FileError> {
        let path = self.archive.path().join("runs").join(name);
        let Some(entry) = self.records.get(name) else {
            return Err(FileError { path, problem: FileProblem::Missing });
        };
        if entry.size > MOST_RECORD_BYTES {
            let problem = FileProblem::TooLarge { size: entry.size, most: MOST_RECORD_BYTES };
            return Err(FileError { path, problem });
        }
        self.archive.read(*entry, MOST_RECORD_BYTES).map_err(|error| FileError::io("read", &path, error))
    }

    fn object(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
        let entry = *self.objects.get(&digest).ok_or(ReadObjectError::Missing { digest })?;
        let bytes = self.archive.read(entry, MOST_OBJECT_BYTES).map_err(|source| {
            let path = self.archive.path().join("objects").join(digest.to_string());
            ReadObjectError::Io { digest, source: FileError::io("read", &path, source) }
        })?;
        match Digest::of(&bytes) {
            found if found == digest => Ok(bytes),
            found => Err(ReadObjectError::Changed { digest, found }),
        }
    }

    fn check_object(&self, digest: Digest) -> Result<(), ReadObjectError> {
        self.object(digest).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::Run;
    use crate::store::{Snapshot, StoreReader, StoreWriter};
    use crate::verify::{ObjectScope, verify_evidence};
    use std::fs;
    use std::time::Duration;
    use tempfile::TempDir;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn verified(evidence: &dyn Evidence, scope: ObjectScope) -> Verification {
        verify_evidence(evidence, scope, &mut |_, _| {}).expect("it can be read")
    }

    /// A store with three records of one class and one of another, and the bundle of the second.
    fn bundled() -> (TempDir, PathBuf) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let user = rustix::process::geteuid().as_raw();
        let store = StoreWriter::open(&temp.path().join("store"), user, PATIENCE).expect("a new store");
        for (class, label) in [("fixture", 9), ("fixture", 2), ("other", 3), ("fixture", 4)] {
            let run = Run::of(class, label);
            let incoming = store.incoming().expect("it takes objects");
            run.keep_objects(&incoming);
            let task_class = class.parse().expect("a task class");
            store.append(&Snapshot::default(), &task_class, &incoming, |position| run.at(position)).expect("committed");
        }
        let verification = verified(store.reader(), ObjectScope::All);
        let link = &verification.links[&("fixture".parse().expect("a task class"), 2)];
        let mut bytes = Vec::new();
        export(store.reader(), &verification, link, &mut bytes).expect("exported");
        let mut again = Vec::new();
        export(store.reader(), &verification, link, &mut again).expect("exported");
        assert_eq!(bytes, again);
        let path = temp.path().join("record.tar");
        fs::write(&path, bytes).expect("written");
        (temp, path)
    }

    #[test]
    fn a_bundle_is_verified_like_a_store_and_unpacked_it_is_one() {
        let (temp, path) = bundled();
        let bundle = Bundle::open(&path).expect("a bundle");
        let verification = verified(&bundle, ObjectScope::Newest);
        assert_eq!((verification.state(), verification.links.len()), (State::Ok, 2), "{:?}", verification.findings);
        let unpacked = temp.path().join("unpacked");
        fs::create_dir(&unpacked).expect("made");
        let tar = std::process::Command::new("tar").arg("-xf").arg(&path).arg("-C").arg(&unpacked).status();
        assert!(tar.expect("tar runs").success());
        let store = StoreReader::open(&unpacked, PATIENCE).expect("a store");
        assert_eq!(verified(&store, ObjectScope::Newest).state(), State::Ok);
    }

    #[test]
    fn a_changed_byte_anywhere_in_a_bundle_is_noticed() {
        let (_temp, path) = bundled();
        let bytes = fs::read(&path).expect("readable");
        let other = path.with_extension("changed");
        // The first headers whole; beyond them a stride that comes to every offset of a block.
        let places = (0..1024).chain((1024..bytes.len()).step_by(17));
        for index in places {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << (index % 8);
            fs::write(&other, &changed).expect("written");
            let state = match Bundle::open(&other) {
                Ok(bundle) => verified(&bundle, ObjectScope::Newest).state(),
                Err(error) => error.state(),
            };
            assert!(state >= State::Unverifiable, "byte {index}: {state}");
        }
    }

    #[test]
    fn a_bundle_of_a_newer_version_is_unverifiable_and_not_tampered() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let path = temp.path().join("record.tar");
        let with = |identity: &[u8]| {
            let mut bytes = Vec::new();
            write_entry(&mut bytes, IDENTITY, identity).expect("written");
            write_end(&mut bytes).expect("written");
            fs::write(&path, bytes).expect("written");
            Bundle::open(&path).expect_err("refused")
        };
        let newer = with(b"{\"schema_version\":2,\"region\":\"north\"}\n");
        assert_eq!(newer.state(), State::Unverifiable, "{newer}");
        assert!(newer.to_string().ends_with("is of a store of format version 2: use a newer eval-host"), "{newer}");
        assert_eq!(with(b"{\"schema_version\":1,\"region\":\"north\"}\n").state(), State::Tampered);
    }

    #[test]
    fn a_cut_or_extended_bundle_is_refused() {
        let (_temp, path) = bundled();
        let bytes = fs::read(&path).expect("readable");
        for changed in [&bytes[..bytes.len() - 1], &bytes[..bytes.len() - 512], &[&bytes[..], b"x"].concat(), b""] {
            fs::write(&path, changed).expect("written");
            assert_eq!(Bundle::open(&path).expect_err("refused").state(), State::Tampered);
        }
        assert_eq!(Bundle::open(&path.with_extension("none")).expect_err("refused").state(), State::Unverifiable);
    }
}
