//! What the integration tests share.

/// Components that a test can run: every file of `tests/guests/`, built by this crate's build script.
pub mod guests {
    include!(concat!(env!("OUT_DIR"), "/guests.rs"));
}
