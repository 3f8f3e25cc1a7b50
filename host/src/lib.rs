//! The program: benches, answers, live agents, runs, what they print, and the command line. What a score, a record and a sandbox
//! are is said by the crates below it.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make and break files of their own"))]

mod answers;
mod bench;
mod cli;
mod description;
mod live;
mod output;
mod run;

pub use cli::main;
