//! What everything else speaks of: names, digests, moments, the contract with rubrics, scores, reports, and the one way from
//! an answer to a score.
//!
//! It is pure. It names no file system, clock, process or engine: values come in, values go out, and the same values give the
//! same bytes on every machine. Read [`contract`] first, then [`case`], [`judge`] and [`report`].

pub mod advice;
pub mod case;
pub mod confinement;
pub mod contract;
pub mod ids;
pub mod json;
pub mod judge;
pub mod limits;
pub mod money;
pub mod outcome;
pub mod report;
pub mod score;
pub mod shard;
pub mod text;
pub mod utc;
pub mod workers;
