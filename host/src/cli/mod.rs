//! Flags to settings, settings to a run, results to an exit code. [`environment`] alone names the clock and the environment.
//!
//! stdout carries data and nothing else; everything for people goes to stderr. A command is a file; it parses, calls and prints,
//! and never holds a rule that belongs in a room below.

mod anchor;
mod bench;
mod cage;
mod command_line;
mod compiler;
mod concurrency;
mod environment;
mod error;
mod evidence;
mod export;
mod failure;
mod fence;
mod git;
mod key;
mod keys;
mod list;
mod log;
mod merge;
mod printer;
mod promote;
mod repository;
mod rubric;
mod run;
mod shell;
mod show;
mod verify;

pub use command_line::main;
use command_line::{Cli, DEFAULT_BENCH_ROOT, LOCK_PATIENCE, Places, open_named, read_file};
