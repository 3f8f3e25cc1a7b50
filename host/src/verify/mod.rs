//! Judges a store: walks every chain from its first record, checks what the records name, and says what is wrong and where.
//!
//! Verification reads stored bytes and never makes them anew. It reports everything it finds, not only the first thing, and
//! it never repairs what it judges.

mod finding;
mod store;

pub(crate) use finding::{Finding, Problem, State};
pub(crate) use store::{ClassSummary, Verification, verify};
