//! One run: from its cases to its record.

pub(crate) mod evaluation;
pub(crate) mod event;
pub(crate) mod pipeline;
