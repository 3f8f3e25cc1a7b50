//! The WASI that a rubric gets: wasmtime-wasi's generated traits, implemented on [`Guest`] alone.
//!
//! Linked interface by interface, so that what is granted can be read off [`linker::add_to_linker`]. No call waits, none reaches the
//! host, and each is charged to the guest's fuel by what it moves.

mod cli;
mod clocks;
mod filesystem;
mod linker;
mod poll;
mod random;
mod streams;

pub(super) use linker::add_to_linker;
use linker::{delete, entry, entry_mut, push};
