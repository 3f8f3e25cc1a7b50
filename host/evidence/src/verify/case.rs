//! From a case's digest back to the case: the manifest object says which files it had, and these are objects too.

use std::sync::Arc;

use eval_model::advice::{Advice, Exit};
use eval_model::case::{CaseManifest, ReadCase};
use eval_model::contract::CaseFiles;
use eval_model::ids::Digest;

use crate::store::{Evidence, ReadObjectError};

/// Why a case cannot be restored from the objects.
#[derive(Debug, thiserror::Error)]
pub enum RestoreCaseError {
    #[error(transparent)]
    Object(#[from] ReadObjectError),
    #[error("the object `{digest}` is not a case's")]
    Manifest {
        digest: Digest,
        #[source]
        source: serde_json::Error,
    },
    #[error("the object `{digest}` does not describe a case the way this program does")]
    Dialect { digest: Digest },
}

impl Advice for RestoreCaseError {
    fn exit(&self) -> Exit {
        match self {
            Self::Object(error) => error.exit(),
            _ => Exit::EvidenceBroken,
        }
    }
}

/// The manifest of a case.
pub fn read_manifest(evidence: &dyn Evidence, digest: Digest) -> Result<CaseManifest, RestoreCaseError> {
    let bytes = evidence.object(digest)?;
    CaseManifest::parse(&bytes).map_err(|source| RestoreCaseError::Manifest { digest, source })
}

/// The case with all its files, exactly as it was scored.
pub(super) fn restore_case(evidence: &dyn Evidence, digest: Digest) -> Result<ReadCase, RestoreCaseError> {
    let manifest = read_manifest(evidence, digest)?;
    let mut files = CaseFiles::new();
    for (path, digest) in manifest.files() {
        files.insert(Arc::from(path), Arc::from(evidence.object(digest)?));
    }
    let case = manifest.into_case(files);
    // Made anew it must have its old name, or something in the manifest was not understood.
    if case.case_digest == digest { Ok(case) } else { Err(RestoreCaseError::Dialect { digest }) }
}
