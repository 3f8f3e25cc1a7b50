//! The program: benches, answers, live agents, runs, what they print, and the command line. What a score, a record and a sandbox
//! are is said by the crates below it.

mod answers;
mod bench;
mod cli;
mod description;
mod live;
mod output;
mod run;

pub use cli::main;
