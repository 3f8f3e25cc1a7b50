//! What this user remembers of a store outside of it: small files in the user's state directory, where whoever edits the store
//! does not come by.
//!
//! Each holds one line of JSON and one with its BLAKE3, and is replaced whole. The last-seen heads are one kind of them
//! ([`crate::verify::LastSeenFile`]); what is about to be committed and how far a journal was written are the others. Nothing
//! here is evidence, and nothing here is ever read from the store itself: else a store could say what is remembered of it.

mod intents;
mod journal;
mod shelf;

pub use intents::{Intents, IntentsFile};
pub use journal::{JournalMemory, RecalledJournal, SeenJournal};
pub use shelf::MemoryError;
pub(crate) use shelf::{Kept, Shelf};

pub(crate) use intents::KnownIntents;
