//! The folder that holds the evidence: records, the objects they name, and how both get there so that they survive.
//!
//! ```text
//! <store>/store.json   what the store calls itself
//! <store>/bundle.json  only in what was unpacked from a bundle: which record of the store that was, and what is left out
//! <store>/runs/        one file per record, never changed and never removed
//!                      and beside it, if somebody signed it, a note of the same stem
//! <store>/packs/       the objects that records name, by BLAKE3 and once: rubrics, registrations, cases, outputs, logs
//! <store>/started/     markers of live runs, chained per task class, each written before its run's first case
//! <store>/unfinished/  what crashes left of records that could not be finished
//! <store>/recommendations/  what the gate said, for information only
//! ```
//!
//! Safety comes from the order of a commit (see [`writer`]): objects are durable before the record that names them, a record
//! is durable before it has its name, and its name is durable before anybody is told. This module never deletes, repairs or
//! rewrites a record, and never decides what a finding means: that is [`crate::verify`]'s business. Linux only: it relies on
//! `renameat2` and `syncfs`.

mod excerpt;
#[cfg(test)]
mod faults;
mod finish;
mod incoming;
mod objects;
mod open;
mod packs;
mod privacy;
mod reader;
mod started;
mod writer;

pub use excerpt::{EXCERPT, Excerpt, Extent, MOST_EXCERPT_BYTES};
pub use finish::{DraftEnd, FinishError, FinishedDraft, RefusedDraft};
pub use incoming::{IncomingObjects, KeepObjectError};
pub use objects::{MOST_OBJECT_BYTES, ReadObjectError};
pub(crate) use open::PACKS;
pub use open::{IDENTITY, IdentityError, OpenStoreError, Origin, encode_identity, parse_identity};
pub use reader::{Evidence, Seen, Snapshot, StoreReader, scan};
pub use started::{AnnounceError, Announced, MarkerBreak, ReadMarkerError, ShardMisfit, Started};
pub use writer::{AppendError, NotCommitted, Receipt, StoreWriter};
