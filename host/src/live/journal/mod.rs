//! The journal of a live run: what was started and what was paid for, durable before the run goes on.
//!
//! It is a file of JSON lines, `<store>/journals/<task_class>.jsonl`, and belongs to one process at a time, which holds a lock
//! beside it from before it reads what an earlier run left until the run is over. Every line is on the disk before anything that depends on it happens: what a case may cost before
//! its agent starts, the agent's process group before the agent is told anything, the answer before the next case. A crash
//! can tear the last line and no other. It holds answers and never scores: whoever resumes scores again.
//!
//! Answers that were paid for cannot be dropped from it unnoticed: every line carries the hash of the one before, and how far it
//! was written is remembered outside of the store.
//!
//! The file is removed when the run's record is committed.

mod contents;
mod found;
mod lock;
mod writer;

pub(crate) use contents::JournalContents;
pub(crate) use found::{Basis, FoundJournal, ON_TRUST};
pub(crate) use writer::{Header, Journal, JournalError, JournalPlace};
