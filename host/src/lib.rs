//! eval-host scores code agents with sandboxed, deterministic rubrics and chains the evidence.

mod bench;
mod contract;
mod diff;
mod event;
mod files;
mod ids;
mod json;
mod output;
mod pipeline;
mod report;
mod rubric_build;
mod sandbox;
mod score;
mod select;
mod stage;
mod sut;
