//! Events to bytes on a given writer: JSON lines for machines, lines and a summary for people.
//!
//! A reporter never fails a run: what cannot be written is remembered and told at the end, because the record, not the
//! report of it, is the product.

mod bar;
mod fused_writer;
mod json_lines;
mod junit;
pub(crate) mod lines;
mod markdown;
mod people;
#[cfg(test)]
mod screen;
mod steps;

pub(crate) use fused_writer::{FusedWriter, Held};
pub(crate) use json_lines::JsonLines;
pub(crate) use junit::{JunitRecord, JunitRun, junit};
pub(crate) use markdown::markdown;
pub(crate) use people::{People, Style, agent_said, cost, counted};
pub(crate) use steps::Steps;
