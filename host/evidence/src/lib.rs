//! What a run leaves behind, and what anybody can say of it afterwards: records, chains, stores, bundles, checkpoints, how they
//! are verified and replayed, and the gate.
//!
//! It knows no engine: a replay gets its runner through [`eval_model::contract::RubricLoader`]. It knows no bench: what a
//! record needs in order to be judged again stands in the record.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make and break files of their own"))]

pub mod anchor;
pub mod bundle;
pub mod cassette;
pub mod chain;
pub mod files;
pub mod gate;
pub mod memory;
mod pack;
pub mod record;
pub mod store;
pub mod verified;
pub mod verify;
