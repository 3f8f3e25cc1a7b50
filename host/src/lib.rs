//! eval-host scores code agents with sandboxed, deterministic rubrics and chains the evidence.

mod anchor;
mod bench;
mod bundle;
mod chain;
mod cli;
pub mod contract;
mod cost;
mod diff;
mod evaluation;
mod event;
mod fence;
mod files;
mod golden;
pub mod ids;
mod interrupt;
mod journal;
mod json;
mod live_run;
mod output;
mod pipeline;
mod promotion;
mod record;
mod report;
mod rubric_build;
mod run_lock;
pub mod sandbox;
mod score;
mod select;
mod shard;
mod stage;
mod store;
mod sut;
mod utc;
mod verify;

pub use cli::main;
