//! eval-host scores code agents with sandboxed, deterministic rubrics and chains the evidence.

mod contract;
mod ids;
mod report;
mod score;
