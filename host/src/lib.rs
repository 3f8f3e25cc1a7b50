//! eval-host scores code agents with sandboxed, deterministic rubrics and chains the evidence.

mod chain;
mod contract;
mod ids;
mod json;
mod record;
mod report;
mod score;
mod store;
mod utc;
mod verify;
