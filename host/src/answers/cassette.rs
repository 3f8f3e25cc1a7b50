//! The files of cassettes: stored answers, replayed without network and without cost. What is in one is
//! [`eval_evidence::cassette`]'s business.

use std::path::{Path, PathBuf};

use eval_evidence::cassette::{self, Cassette, Recording};
use eval_evidence::files::{Audience, Dir, Draft, FileError, MOST_FILE_BYTES};
use eval_model::ids::CaseId;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CassetteError {
    #[error(transparent)]
    File(FileError),
    #[error("`{file_name}` is not a cassette")]
    Malformed { file_name: String, source: cassette::CassetteError },
}

/// Reads the cassette `file_name` in `folder`. A missing one is a [`FileError`] of its own kind, for the caller to tell.
pub(crate) fn read_cassette(folder: &Dir, file_name: &str) -> Result<Cassette, CassetteError> {
    let bytes = folder.read(file_name, MOST_FILE_BYTES).map_err(CassetteError::File)?;
    Cassette::parse(&bytes).map_err(|source| CassetteError::Malformed { file_name: file_name.to_owned(), source })
}

#[derive(Debug, thiserror::Error)]
#[error("the cassette `{}` could not be written", path.display())]
pub(crate) struct RecordError {
    path: PathBuf,
    source: FileError,
}

/// Writes `<folder>/<case-id>.json`, whole or not at all, in place of one that is there.
pub(crate) fn record_cassette(folder: &Path, case_id: &CaseId, recording: &Recording<'_>) -> Result<(), RecordError> {
    let name = format!("{case_id}.json");
    match recording.to_bytes() {
        Some(bytes) => write(folder, &name, &bytes).map_err(|source| RecordError { path: folder.join(name), source }),
        None => Ok(()),
    }
}

/// Cassettes are committed and shared, so they are not private.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    let mut draft = Draft::begin(Dir::open_ambient(folder)?, name, Audience::Umask)?;
    draft.write(bytes)?;
    draft.publish().map(drop)
}
