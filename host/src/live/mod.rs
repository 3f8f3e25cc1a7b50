//! Live runs: agents, what they may spend, who else spends, what was paid for, and when to stop.

pub(crate) mod agent;
pub(crate) mod continued;
pub(crate) mod cost;
pub(crate) mod interrupt;
pub(crate) mod journal;
pub(crate) mod live_run;
pub(crate) mod resume;
pub(crate) mod run_lock;
pub(crate) mod signals;
