//! From a case's digest back to the case: the manifest object says which files it had, and these are objects too.

use std::sync::Arc;

use jiff::civil::Date;
use serde::Deserialize;

use crate::contract::{BenchCase, CaseFiles, Difficulty, Disposition, Source};
use crate::ids::{CaseId, Digest, TaskClassName};
use crate::stage::StagedCase;
use crate::store::{Evidence, ReadObjectError};

/// A manifest as it is read back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseManifest {
    case_id: CaseId,
    task_class: TaskClassName,
    disposition: Disposition,
    difficulty: Difficulty,
    source: Source,
    added_at: Date,
    files: Vec<(String, Digest)>,
}

/// Why a case cannot be had from the objects.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestoreCaseError {
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

impl CaseManifest {
    pub(crate) fn read(evidence: &dyn Evidence, digest: Digest) -> Result<Self, RestoreCaseError> {
        let bytes = evidence.object(digest)?;
        serde_json::from_slice(&bytes).map_err(|source| RestoreCaseError::Manifest { digest, source })
    }

    /// The objects with the case's files.
    pub(crate) fn files(&self) -> impl Iterator<Item = Digest> {
        self.files.iter().map(|(_, digest)| *digest)
    }
}

/// The case with all its files, exactly as it was scored.
pub(crate) fn restore_case(evidence: &dyn Evidence, digest: Digest) -> Result<StagedCase, RestoreCaseError> {
    let manifest = CaseManifest::read(evidence, digest)?;
    let mut files = CaseFiles::new();
    for (path, digest) in &manifest.files {
        files.insert(Arc::from(path.as_str()), Arc::from(evidence.object(*digest)?));
    }
    let case = BenchCase {
        case_id: manifest.case_id,
        task_class: manifest.task_class,
        disposition: manifest.disposition,
        difficulty: manifest.difficulty,
        source: manifest.source,
        added_at: manifest.added_at,
    };
    let staged = StagedCase::new(case, Arc::new(files));
    // Made anew it must have its old name, or something in the manifest was not understood.
    if staged.case_digest == digest { Ok(staged) } else { Err(RestoreCaseError::Dialect { digest }) }
}
