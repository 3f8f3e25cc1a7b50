//! The signature of one record: a signed note beside it that says which record of which store it is.
//!
//! ```text
//! eval-host/record/v1
//! <store id>
//! <task class> <seq> <SHA-256 of the record's exact bytes>
//! ```
//!
//! It proves that whoever has the key vouched for these bytes at this place. It proves neither when, nor that the record holds
//! what happened. A note that is not about its record is never passed over, whoever signed it: somebody put it there.

use std::fmt;

use super::keys::TrustedKeys;
use super::note::{self, NoteError, NoteSigner, NoteVerifier};
use crate::chain::{Link, StoreId};
use crate::files::FileError;
use eval_model::ids::{RecordHash, TaskClassName};

const ORIGIN: &str = "eval-host/record/v1";

/// Most bytes of a note beside a record: room for dozens of signatures, and little enough to be kept for every record.
pub const MOST_NOTE_BYTES: u64 = 16 << 10;

/// What a note beside a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordNote {
    store_id: StoreId,
    task_class: TaskClassName,
    seq: u64,
    hash: RecordHash,
}

/// Who signed a record, as far as anybody here can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordSignature {
    /// There is no note beside the record, or one that is not believed, which is a finding.
    None,
    /// Nobody here knows the keys that signed it, so it says no more than none. The name is what the note calls the first.
    UnknownKey { name: String },
    /// A key with this name signed it, and was retired before.
    RetiredKey { key: NoteVerifier },
    /// A key that is trusted here has signed exactly this record.
    Trusted { key: NoteVerifier },
}

impl RecordSignature {
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted { .. })
    }
}

/// Why the note beside a record is not the record's.
#[derive(Debug, thiserror::Error)]
pub enum RecordNoteError {
    #[error("it cannot be read")]
    File(#[source] FileError),
    #[error("it is not UTF-8 text")]
    Text,
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error("nobody has signed it")]
    Unsigned,
    #[error("it is a signed note, but not one of a record of eval-host")]
    Malformed,
    #[error("it is of another record: {0}")]
    OtherRecord(Box<RecordNote>),
}

impl RecordNote {
    pub fn of(link: &Link) -> Self {
        let position = &link.position;
        let (store_id, task_class, seq) = (position.store_id, position.task_class.clone(), position.seq);
        Self { store_id, task_class, seq, hash: link.hash }
    }

    /// The signed note, to be put beside the record.
    pub fn sign(&self, signer: &NoteSigner) -> Result<String, NoteError> {
        signer.sign(&self.to_text())
    }

    fn to_text(&self) -> String {
        format!("{ORIGIN}\n{}\n{} {} {}\n", self.store_id, self.task_class, self.seq, self.hash)
    }

    fn parse(text: &str) -> Option<Self> {
        let (store_id, place) = text.strip_prefix(ORIGIN)?.strip_prefix('\n')?.split_once('\n')?;
        let (task_class, rest) = place.strip_suffix('\n')?.split_once(' ')?;
        let (seq, hash) = rest.split_once(' ')?;
        let note = Self {
            store_id: store_id.parse().ok()?,
            task_class: task_class.parse().ok()?,
            seq: seq.parse().ok()?,
            hash: hash.parse().ok()?,
        };
        // Another spelling of a number does not survive being written again.
        Some(note).filter(|note| note.to_text() == text)
    }
}

impl fmt::Display for RecordNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store_id, task_class, seq, hash } = self;
        write!(f, "record {seq} of `{task_class}` with the hash `{hash}`, in the store `{store_id}`")
    }
}

/// Who signed the record at `link`, by the note beside it. Of several trusted keys the first is named.
pub fn judge_record_note(note: &[u8], link: &Link, trusted: &TrustedKeys) -> Result<RecordSignature, RecordNoteError> {
    let note = str::from_utf8(note).map_err(|_| RecordNoteError::Text)?;
    let known = trusted.verifiers();
    let signed = note::read(note, &known)?;
    let found = RecordNote::parse(signed.text).ok_or(RecordNoteError::Malformed)?;
    if found != RecordNote::of(link) {
        return Err(RecordNoteError::OtherRecord(Box::new(found)));
    }
    match (signed.known.first(), signed.unknown.first()) {
        (Some(first), _) => Ok(match trusted.first_allowed(first, &signed.known, |last| last.has_record(link)) {
            Ok(key) => RecordSignature::Trusted { key: key.clone() },
            Err(key) => RecordSignature::RetiredKey { key: key.clone() },
        }),
        (None, Some(name)) => Ok(RecordSignature::UnknownKey { name: (*name).to_owned() }),
        (None, None) => Err(RecordNoteError::Unsigned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Position, hash_of};

    fn link(seq: u64) -> Link {
        let store_id = StoreId::from_bytes([3; 16]);
        let task_class = "a".parse().expect("a class");
        Link {
            position: Position { store_id, task_class, seq, prev_hash: RecordHash::GENESIS },
            finished_at: "2026-11-16T09:30:00.000Z".parse().expect("a moment"),
            hash: hash_of(b"the record"),
        }
    }

    fn signer() -> NoteSigner {
        NoteSigner::generate("ci.example.org/eval-host").expect("a key")
    }

    fn judge(note: &str, known: &[&NoteSigner]) -> Result<RecordSignature, String> {
        let trusted =
            known.iter().fold(TrustedKeys::default(), |keys, key| keys.trusting(key.verifier()).expect("a key"));
        judge_record_note(note.as_bytes(), &link(2), &trusted).map_err(|error| error.to_string())
    }

    #[test]
    fn a_record_signed_by_a_trusted_key_is_told_from_one_that_somebody_else_signed() {
        let (mine, theirs) = (signer(), signer());
        let note = RecordNote::of(&link(2)).sign(&mine).expect("signed");
        let hash = hash_of(b"the record");
        let text = format!("eval-host/record/v1\n03030303030303030303030303030303\na 2 {hash}\n\n\u{2014} ci.");
        assert!(note.starts_with(&text), "{note}");
        let name = "ci.example.org/eval-host".to_owned();
        assert_eq!(judge(&note, &[&theirs, &mine]), Ok(RecordSignature::Trusted { key: mine.verifier().clone() }));
        assert_eq!(judge(&note, &[&theirs]), Ok(RecordSignature::UnknownKey { name: name.clone() }));
        // Whoever adds a signature takes none away.
        let other = RecordNote::of(&link(2)).sign(&theirs).expect("signed");
        let both = format!("{other}{}\n", note.lines().last().expect("a signature"));
        assert_eq!(judge(&both, &[&mine]), Ok(RecordSignature::Trusted { key: mine.verifier().clone() }));
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let signer = signer();
        let note = signer.sign(text).expect("signed");
        for known in [&[&signer][..], &[]] {
            let error = judge(&note, known).expect_err("refused");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_note_that_is_not_about_its_record_is_refused_whoever_signed_it() {
        let text = RecordNote::of(&link(2)).to_text();
        for (from, to) in [
            ("\n0303", "\n0403"),
            ("\na ", "\nb "),
            (" 2 ", " 3 "),
            (&hash_of(b"the record").to_string(), &hash_of(b"another").to_string()),
        ] {
            refused(&text.replacen(from, to, 1), "it is of another record: record ");
        }
        for other in [
            "eval-host/checkpoint/v1\n03030303030303030303030303030303\n".to_owned(),
            text.replace(" 2 ", " 02 "),
            text.replace(" 2 ", "  2 "),
            text.replace("v1", "v2"),
            format!("{text}more\n"),
            format!("\n{text}"),
        ] {
            refused(&other, "not one of a record of eval-host");
        }
    }

    #[test]
    fn a_wrong_signature_of_a_known_key_is_refused_and_so_is_what_is_no_note() {
        let (mine, theirs) = (signer(), signer());
        let note = RecordNote::of(&link(2)).sign(&mine).expect("signed");
        let line = |seq| RecordNote::of(&link(seq)).sign(&mine).expect("signed").lines().last().map(str::to_owned);
        let text = RecordNote::of(&link(2)).to_text();
        let forged = format!("{text}\n{}\n", line(3).expect("a signature"));
        let error = judge(&forged, &[&mine]).expect_err("refused");
        assert_eq!(error, "the signature of `ci.example.org/eval-host` is not that of this text");
        assert!(matches!(judge(&forged, &[&theirs]), Ok(RecordSignature::UnknownKey { .. })), "nobody can tell");
        assert_eq!(judge(&format!("{text}\n"), &[&mine]), Err("nobody has signed it".to_owned()));
        assert!(judge(&text, &[]).expect_err("refused").starts_with("it is not a signed note"));
        assert!(judge(&note[..note.len() / 2], &[]).expect_err("refused").starts_with("it is not a signed note"));
        let no_text = judge_record_note(b"\xff", &link(2), &TrustedKeys::default()).expect_err("refused");
        assert_eq!(no_text.to_string(), "it is not UTF-8 text");
    }

    #[test]
    fn no_flipped_bit_of_a_note_is_trusted() {
        let signer = signer();
        let note = RecordNote::of(&link(2)).sign(&signer).expect("signed").into_bytes();
        let trusted = TrustedKeys::default().trusting(signer.verifier()).expect("a key");
        for bit in 0..note.len() * 8 {
            let mut flipped = note.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let judged = judge_record_note(&flipped, &link(2), &trusted);
            assert!(!matches!(judged, Ok(RecordSignature::Trusted { .. })), "bit {bit}");
        }
    }
}
