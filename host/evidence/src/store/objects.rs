//! What can be wrong with an object that somebody asks for by its BLAKE3.

use crate::files::FileError;
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
