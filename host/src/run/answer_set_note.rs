//! The signature beside an answer set: whose key the shard was run with.
//!
//! A merge that signs its record signs for every answer in it, so it takes only answers that a key signed for which it trusts. The
//! note says nothing of the answers but their digest, and nothing here reads them.

use std::path::{Path, PathBuf};

use eval_evidence::anchor::{MOST_NOTE_BYTES, NoteError, NoteSigner, TrustedKeys};
use eval_evidence::files::{Audience, Dir, Draft, FileError, read_ambient_file};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::Digest;

const ORIGIN: &str = "eval-host/answer-set/v1";

/// What the name of a note has behind that of its answer set.
const SUFFIX: &str = ".note";

/// Why an answer set is not taken into a record that is signed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerSetNoteError {
    #[error("the answer set `{}` is not signed, and the record would be", set.display())]
    Missing { set: PathBuf },
    #[error("no key that is trusted here signed the answer set `{}`, and the record would be signed", set.display())]
    Stranger { set: PathBuf },
    #[error("the signature of the answer set `{}` cannot be read", set.display())]
    File { set: PathBuf, source: FileError },
    #[error("the note beside the answer set `{}` is not its signature", set.display())]
    Misfit { set: PathBuf, source: NoteMisfit },
}

/// What is wrong with a note.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoteMisfit {
    #[error("it is not UTF-8 text")]
    Text,
    #[error(transparent)]
    Note(NoteError),
    #[error("it is that of other bytes")]
    OtherSet,
}

impl Advice for AnswerSetNoteError {
    fn exit(&self) -> Exit {
        match self {
            Self::Missing { .. } | Self::Stranger { .. } | Self::File { .. } => Exit::UsageOrCap,
            Self::Misfit { .. } => Exit::EvidenceBroken,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing { .. } => "run the shard with --key, or merge without one: then the record is not signed",
            Self::Stranger { .. } => {
                "run the shard with --key and a key that --trusted-keys names, or merge without one: then the record is not signed"
            }
            Self::Misfit { .. } => "the answer set or its note was changed: run the shard again",
            Self::File { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

fn text_of(set: Digest) -> String {
    format!("{ORIGIN}\n{set}\n")
}

fn name_of(set: &str) -> String {
    format!("{set}{SUFFIX}")
}

/// Takes the note of an answer set along to its other name.
pub(super) fn keep(folder: &Dir, set: &str, aside: &str) -> Result<(), FileError> {
    match folder.rename_new(&name_of(set), folder, &name_of(aside)) {
        Err(error) if error.is_missing() => Ok(()),
        moved => moved,
    }
}

/// Takes away the note of an answer set that is about to be another one.
pub(super) fn remove(folder: &Dir, set: &str) -> Result<(), FileError> {
    match folder.unlink(name_of(set)) {
        Err(error) if !error.is_missing() => Err(error),
        _ => Ok(()),
    }
}

/// Signs the answer set of this name, whose bytes have this digest.
pub(super) fn write(folder: Dir, set: &str, digest: Digest, signer: &NoteSigner) -> Result<(), FileError> {
    let note = signer.sign(&text_of(digest)).expect("the text has two whole lines without control characters");
    let mut draft = Draft::begin(folder, &name_of(set), Audience::Owner)?;
    draft.write(note.as_bytes())?;
    draft.publish().map(drop)
}

/// Fails unless a key that is trusted, and not retired, signed the answer set at `path`, whose bytes have this digest.
pub(super) fn require(path: &Path, digest: Digest, trusted: &TrustedKeys) -> Result<(), AnswerSetNoteError> {
    let set = || path.to_owned();
    let misfit = |source| AnswerSetNoteError::Misfit { set: set(), source };
    let mut beside = path.as_os_str().to_owned();
    beside.push(SUFFIX);
    let bytes = match read_ambient_file(Path::new(&beside), MOST_NOTE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return Err(AnswerSetNoteError::Missing { set: set() }),
        Err(source) => return Err(AnswerSetNoteError::File { set: set(), source }),
    };
    let note = str::from_utf8(&bytes).map_err(|_| misfit(NoteMisfit::Text))?;
    let (text, signer) = trusted.signed_text(note).map_err(|error| misfit(NoteMisfit::Note(error)))?;
    if text != text_of(digest) {
        return Err(misfit(NoteMisfit::OtherSet));
    }
    signer.map(drop).ok_or_else(|| AnswerSetNoteError::Stranger { set: set() })
}
