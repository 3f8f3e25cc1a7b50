//! Markers of live runs, written before the first case is paid for.
//!
//! The record of a run names its marker, so a marker that no record names is a run that was not finished, or not liked:
//! nobody can report only the best of ten. Markers are never removed.

use serde::{Deserialize, Serialize};

use super::reader::{DRAFT_PREFIX, is_ignored};
use crate::chain::StoreId;
use crate::files::{Dir, FileError};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::json;
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
    pub started_at: UtcMillis,
    /// How many cases were selected.
    pub cases: u64,
    /// Tells two runs apart that begin in the same millisecond.
    number: String,
    /// The markers of the shards that this run was put together from. Whatever names this marker names them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<Digest>,
}

/// A marker that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub digest: Digest,
    pub marker: StartedMarker,
}

/// Why a marker was not written.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    #[error("the operating system gave no random number")]
    Random(#[source] getrandom::Error),
    #[error(transparent)]
    File(#[from] FileError),
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
    #[error("it does not read as a marker")]
    Malformed(#[source] serde_json::Error),
    #[error("it is not UTF-8 text")]
    Text,
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes a marker durably, and gives the name that the run's record must state.
pub(super) fn announce(
    started: &Dir,
    store_id: StoreId,
    task_class: &TaskClassName,
    started_at: UtcMillis,
    cases: u64,
    shards: &[Digest],
) -> Result<Digest, AnnounceError> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(AnnounceError::Random)?;
    let marker = StartedMarker {
        schema_version: SCHEMA_VERSION,
        store_id,
        task_class: task_class.clone(),
        started_at,
        cases,
        number: format!("{:016x}", u64::from_be_bytes(number)),
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

pub(super) fn read(started: &Dir, store_id: StoreId, name: &std::ffi::OsStr) -> Result<Started, ReadMarkerError> {
    let bytes = started.read(name, MOST_MARKER_BYTES)?;
    let text = str::from_utf8(&bytes).map_err(|_| ReadMarkerError::Text)?;
    let digest = Digest::of(&bytes);
    if let Some(json::Version { schema_version: found, .. }) = json::version(text)
        && found > u64::from(SCHEMA_VERSION)
    {
        return Err(ReadMarkerError::Newer { found, digest });
    }
    let marker: StartedMarker = json::parse(text).map_err(ReadMarkerError::Malformed)?;
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
