//! Loading a rubric as an operator meets it: what is let through, what is not and by which limit, and what the host itself has to
//! do with it, which is little.

mod bombs;
mod folders;
mod languages;
mod peak;
mod processes;
mod settings;

/// Where cargo put the binary.
const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");
