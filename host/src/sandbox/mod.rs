//! Where a rubric runs.

mod limits;

pub(crate) use limits::{LimitError, Limits, RawLimits};

/// A component larger than this is refused before it is looked at.
pub(crate) const MOST_COMPONENT_BYTES: u64 = 64 << 20;
