//! eval-host scores code agents with sandboxed, deterministic rubrics and chains the evidence.

pub mod contract;
pub mod ids;
pub mod sandbox;
