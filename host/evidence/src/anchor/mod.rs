//! Checkpoints: what a store's chains were at one time, signed, to be kept where the store's owner cannot rewrite them; and the
//! keys that are trusted to sign.
//!
//! A chain with every hash recomputed is a perfect chain. Only somebody who kept an earlier head can tell, so a checkpoint is
//! committed to a protected branch, and `verify --against` compares with it. A signature proves who anchored, never when, and
//! never that every run was recorded. The same keys sign single records, in a note beside each.

mod checkpoint;
mod keys;
mod note;
mod record_note;

pub use checkpoint::{AnchorDefect, Anchorable, Checkpoint, ClassHeads, MarkerHead, OpenCheckpointError, PlacedDefect};
pub use keys::{KeyLineError, KeyStanding, KeysError, RETIRED, RotationError, RotationNote, TrustedKeys};
pub use note::{KeyError, NoteError, NoteSigner, NoteVerifier};
pub use record_note::{MOST_NOTE_BYTES, RecordNote, RecordNoteError, RecordSignature, judge_record_note};
