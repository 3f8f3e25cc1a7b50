//! How records hang together: their links, the order these give, and what can be wrong with it.
//!
//! This module is pure. It sees where a record says it stands and what its bytes hash to, never what it is about, and it
//! never reads a clock: order is `seq` and `prev_hash`. Reading and writing files is [`crate::store`]'s business, judging a
//! whole store [`crate::verify`]'s.

mod link;
mod walk;

pub use link::{Head, Heads, Link, Position, RecordFileName, StoreId, hash_of};
pub use walk::{Break, Broken, Walk, walk};
