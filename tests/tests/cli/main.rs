//! eval-host as an operator meets it: exit codes, stdout, stderr and what is on disk afterwards.

mod evidence;
mod fence;
mod hostile;
mod large_locks;
mod reading;
mod rubric_attack;
mod rubric_builds;
mod rubric_tools;
mod run;
mod usage;

/// Where cargo put the binary.
const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");
