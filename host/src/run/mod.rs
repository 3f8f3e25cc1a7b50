//! One run: its cases through the stages ([`cases`]), and from there to its committed record ([`record`]) or, for a shard, to
//! its answer set ([`answer_set`]). [`live`] is what surrounds that when agents answer and money is spent, and
//! [`continued`] how a run goes on where a cost cap ended an earlier one.
//!
//! It prints nothing and names no clock: what happens goes out as an [`event`].

pub(crate) mod answer_set;
mod answer_set_note;
pub(crate) mod cases;
pub(crate) mod continued;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod live;
pub(crate) mod record;

#[cfg(test)]
mod tests;
