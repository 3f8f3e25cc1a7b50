//! Content by its BLAKE3, checked whenever it is read.
//!
//! How objects get here is [`super::incoming`]'s business.

use std::io;

use crate::files::{Dir, FileError, FileProblem, Kind};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::Digest;

/// Most bytes that an object can have: what a component may have, which is the largest thing that is stored.
pub const MOST_OBJECT_BYTES: u64 = 64 << 20;

/// Why an object was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadObjectError {
    #[error("the object `{digest}` is missing")]
    Missing { digest: Digest },
    #[error("the object `{digest}` was changed: its content hashes to `{found}`")]
    Changed { digest: Digest, found: Digest },
    #[error("the object `{digest}` is {kind}, not a file")]
    NotAFile { digest: Digest, kind: Kind },
    #[error("the object `{digest}` has {size} bytes, more than the {MOST_OBJECT_BYTES} that an object can have")]
    TooLarge { digest: Digest, size: u64 },
    #[error("the object `{digest}` cannot be read")]
    Io {
        digest: Digest,
        #[source]
        source: FileError,
    },
}

impl Advice for ReadObjectError {
    fn exit(&self) -> Exit {
        match self {
            Self::Io { .. } => Exit::HarnessError,
            _ => Exit::EvidenceBroken,
        }
    }
}

impl ReadObjectError {
    fn new(digest: Digest, error: FileError) -> Self {
        match error.problem {
            FileProblem::Missing => Self::Missing { digest },
            FileProblem::NotAFile(kind) => Self::NotAFile { digest, kind },
            FileProblem::TooLarge { size, .. } => Self::TooLarge { digest, size },
            _ => Self::Io { digest, source: error },
        }
    }
}

/// The content of an object, checked against its name.
pub(super) fn read(objects: &Dir, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
    let bytes =
        objects.read(digest.to_string(), MOST_OBJECT_BYTES).map_err(|error| ReadObjectError::new(digest, error))?;
    match Digest::of(&bytes) {
        found if found == digest => Ok(bytes),
        found => Err(ReadObjectError::Changed { digest, found }),
    }
}

/// Checks an object's content against its name, a piece at a time.
pub(super) fn check(objects: &Dir, digest: Digest) -> Result<(), ReadObjectError> {
    let name = digest.to_string();
    let (mut file, _) =
        objects.open_file(&name, MOST_OBJECT_BYTES).map_err(|error| ReadObjectError::new(digest, error))?;
    let found = hash(&mut file).map_err(|source| ReadObjectError::Io {
        digest,
        source: FileError::io("read", &objects.path().join(&name), source),
    })?;
    if found == digest { Ok(()) } else { Err(ReadObjectError::Changed { digest, found }) }
}

fn hash(file: &mut impl io::Read) -> Result<Digest, io::Error> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(Digest::from_bytes(*hasher.finalize().as_bytes())),
            Ok(read) => hasher.update(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
    }
}
