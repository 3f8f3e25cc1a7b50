//! Opening a store: whose it is, where it lies, and what it calls itself.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs;
use rustix::io::{Errno, retry_on_intr};
use serde::{Deserialize, Serialize};

use crate::chain::StoreId;
use crate::files::{Dir, FileError, FileProblem, Kind, LockError, Missing, Share};
use crate::verify::State;
use eval_model::advice::{Advice, Exit};
use eval_model::json;

pub const IDENTITY: &str = "store.json";
const IDENTITY_DRAFT: &str = ".tmp-store.json";
const IDENTITY_VERSION: u32 = 1;
const MOST_IDENTITY_BYTES: u64 = 4096;

pub(super) const RUNS: &str = "runs";
pub(crate) const PACKS: &str = "packs";
pub(super) const STARTED: &str = "started";
pub(super) const RECOMMENDATIONS: &str = "recommendations";

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    #[error("there is no store at `{}`", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is {kind}; a store must be a directory of its own, name that one", path.display())]
    NotADirectory { path: PathBuf, kind: Kind },
    #[error("`{}` belongs to user {owner}, and you are user {user}; use a store of your own with `--out`", path.display())]
    ForeignOwner { path: PathBuf, owner: u32, user: u32 },
    #[error("others may write to `{}` (mode {mode:04o}), and so to the evidence; run `chmod go-w` on it", path.display())]
    Writable { path: PathBuf, mode: u32 },
    #[error(
        "`{}` is on a {kind} filesystem, which promises neither locks nor durability; use a local disk with `--out`",
        path.display()
    )]
    NetworkFilesystem { path: PathBuf, kind: &'static str },
    #[error("the folder `{}` is missing from the store: put it back from a copy", path.display())]
    NoPart { path: PathBuf },
    #[error("`{}` is no store: it has no `{IDENTITY}`, and no records", path.display())]
    NotAStore { path: PathBuf },
    #[error("`{}` has records, but no `{IDENTITY}` that says which store it is; restore that file", path.display())]
    NoIdentity { path: PathBuf },
    #[error("`{}` does not say which store this is", path.display())]
    Identity {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` does not say which part of a store this is", path.display())]
    Excerpt {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` has format version {found}, and this program knows up to {IDENTITY_VERSION}: use a newer eval-host", path.display())]
    Newer { path: PathBuf, found: u64 },
    #[error("the operating system gave no random number")]
    Random(#[source] getrandom::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Advice for OpenStoreError {
    /// What is there and was meddled with is broken evidence; otherwise nothing is known of the evidence.
    fn exit(&self) -> Exit {
        match self.state() {
            State::Tampered => Exit::EvidenceBroken,
            _ => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { .. } => Some("name the store with --out".to_owned()),
            _ => None,
        }
    }
}

impl OpenStoreError {
    /// What it says about evidence that was expected here.
    pub fn state(&self) -> State {
        match self {
            Self::NoIdentity { .. } | Self::Identity { .. } | Self::Excerpt { .. } | Self::NotADirectory { .. } => {
                State::Tampered
            }
            Self::File(FileError { problem: FileProblem::NotAFile(_) | FileProblem::TooLarge { .. }, .. }) => {
                State::Tampered
            }
            _ => State::Unverifiable,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    schema_version: u32,
    store_id: StoreId,
}

/// Opens the directory of a store, and says which of the two it is when there is none.
pub(super) fn open_root(path: &Path, missing: Missing) -> Result<Dir, OpenStoreError> {
    Dir::open_own(path, missing).map_err(|error| match error.problem {
        FileProblem::Missing => OpenStoreError::Missing { path: error.path },
        FileProblem::NotADirectory(kind) => OpenStoreError::NotADirectory { path: error.path, kind },
        _ => error.into(),
    })
}

/// Refuses a directory that others own or may write to.
pub(super) fn check_private(dir: &Dir, user: u32) -> Result<(), OpenStoreError> {
    let stat = dir.stat()?;
    let path = || dir.path().to_owned();
    if stat.st_uid != user {
        return Err(OpenStoreError::ForeignOwner { path: path(), owner: stat.st_uid, user });
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o022 != 0 { Err(OpenStoreError::Writable { path: path(), mode }) } else { Ok(()) }
}

/// Refuses filesystems on which a lock may not exclude and an fsync may not last.
pub(super) fn check_local(dir: &Dir) -> Result<(), OpenStoreError> {
    let failed = |errno: Errno| FileError::io("examined", dir.path(), errno);
    let statfs = retry_on_intr(|| fs::fstatfs(dir.fd())).map_err(failed)?;
    match network_kind(statfs.f_type) {
        Some(kind) => Err(OpenStoreError::NetworkFilesystem { path: dir.path().to_owned(), kind }),
        None => Ok(()),
    }
}

/// The kernel's magic numbers, of which only the lower 32 bits count.
fn network_kind(magic: fs::FsWord) -> Option<&'static str> {
    const KINDS: [(u32, &str); 14] = [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xfe53_4d42, "SMB"),
        (0xff53_4d42, "SMB"),
        (0x564c, "NCP"),
        (0x0102_1997, "9P"),
        (0x5346_414f, "AFS"),
        (0x6b41_4653, "AFS"),
        (0x7375_7245, "Coda"),
        (0x00c3_6400, "Ceph"),
        (0x0bd0_0bd0, "Lustre"),
        (0x786f_4256, "VirtualBox shared"),
        (0xbacb_acbc, "VMware shared"),
        // Some of these are local, but sshfs, virtiofs and the file sharing of container desktops are not.
        (0x6573_5546, "FUSE"),
    ];
    let number = u32::try_from(magic & 0xffff_ffff).ok()?;
    KINDS.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
}

/// The id that a store has given itself, if it has.
pub(super) fn read_identity(root: &Dir) -> Result<Option<StoreId>, OpenStoreError> {
    let Some(bytes) = root.read_if_any(IDENTITY, MOST_IDENTITY_BYTES)? else { return Ok(None) };
    let path = || root.path().join(IDENTITY);
    parse_identity(&bytes).map(Some).map_err(|error| match error {
        IdentityError::Newer { found } => OpenStoreError::Newer { path: path(), found },
        IdentityError::Malformed(source) => OpenStoreError::Identity { path: path(), source },
    })
}

/// Why bytes do not say which store they are of, or which part of it.
#[derive(Debug)]
pub enum IdentityError {
    Newer { found: u64 },
    Malformed(io::Error),
}

/// The store id in the bytes of an identity.
pub fn parse_identity(bytes: &[u8]) -> Result<StoreId, IdentityError> {
    let newer = |version: &json::Version| version.schema_version > u64::from(IDENTITY_VERSION);
    match str::from_utf8(bytes).ok().and_then(json::version).filter(newer) {
        Some(version) => Err(IdentityError::Newer { found: version.schema_version }),
        None => decode_identity(bytes).map_err(IdentityError::Malformed),
    }
}

fn decode_identity(bytes: &[u8]) -> Result<StoreId, io::Error> {
    let text = str::from_utf8(bytes).map_err(io::Error::other)?;
    let Identity { store_id, .. } = json::parse(text)?;
    // The file has one spelling, so that no bit of it can change unnoticed.
    if encode_identity(store_id) == bytes { Ok(store_id) } else { Err(io::Error::other("it was edited")) }
}

/// The bytes of a store's identity.
pub fn encode_identity(store_id: StoreId) -> Vec<u8> {
    json::line(&Identity { schema_version: IDENTITY_VERSION, store_id })
}

/// Whether a store was there when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was made by being opened, so that it has no past that anybody could doubt.
    Made,
    Found,
}

/// Makes sure that a store has an identity, which is drawn now if the store is new. Of many who open it at once, one made it.
pub(super) fn identify(root: &Dir, patience: Duration) -> Result<Origin, OpenStoreError> {
    if read_identity(root)?.is_some() {
        return Ok(Origin::Found);
    }
    let _lock = root.lock(Share::Nobody, patience)?;
    match read_identity(root)? {
        Some(_) => Ok(Origin::Found),
        None => begin(root),
    }
}

/// Lays out a new store. Its identity comes last, so that a store which has one is complete. What lay there already is a past,
/// whoever took the identity away.
fn begin(root: &Dir) -> Result<Origin, OpenStoreError> {
    let runs = root.child_or_new(RUNS)?;
    if !runs.names()?.is_empty() {
        return Err(OpenStoreError::NoIdentity { path: root.path().to_owned() });
    }
    let mut origin = Origin::Made;
    for area in [PACKS, STARTED] {
        if !root.child_or_new(area)?.names()?.is_empty() {
            origin = Origin::Found;
        }
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(OpenStoreError::Random)?;
    root.write_draft(IDENTITY_DRAFT, &encode_identity(StoreId::from_bytes(id)))?;
    root.rename_new(IDENTITY_DRAFT, root, IDENTITY)?;
    // The directories above the store may be as new as it is, and a crash must not take them away from under its records.
    root.sync_filesystem()?;
    Ok(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_filesystems_are_known_by_their_numbers() {
        assert_eq!(network_kind(0x6969), Some("NFS"));
        assert_eq!(network_kind(0xff53_4d42), Some("SMB"));
        assert_eq!(network_kind(0xef53), None, "ext4");
        assert_eq!(network_kind(0x0102_1994), None, "tmpfs");
    }

    #[test]
    fn every_bit_of_the_identity_counts() {
        let id = StoreId::from_bytes([9; 16]);
        let bytes = encode_identity(id);
        assert_eq!(parse_identity(&bytes).expect("it parses"), id);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!parse_identity(&flipped).is_ok_and(|other| other == id), "bit {bit}");
        }
    }

    #[test]
    fn a_store_of_a_newer_version_is_unverifiable_and_not_tampered() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let root = open_root(temp.path(), Missing::Fail).expect("opened");
        let with = |text: &str| {
            std::fs::write(temp.path().join(IDENTITY), text).expect("written");
            read_identity(&root).expect_err(text)
        };
        let newer = with("{\"schema_version\":2,\"store_id\":7,\"region\":\"north\"}\n");
        assert_eq!(newer.state(), State::Unverifiable, "{newer}");
        assert!(
            newer.to_string().ends_with("has format version 2, and this program knows up to 1: use a newer eval-host")
        );
        for text in ["{\"schema_version\":1,\"region\":\"north\"}\n", "{\"schema_version\":2,\"schema_version\":2}\n"] {
            assert_eq!(with(text).state(), State::Tampered, "{text}");
        }
    }
}
