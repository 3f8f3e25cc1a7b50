//! Live runs with real agents as processes: what they cost, how they end, and that nothing of them is left.

mod agents;
mod cap;
mod continued;
mod desk;
mod interruption;
mod journal;
mod junit_schema;
mod order;
mod reports;
mod resume;
mod shards;
mod signed;
mod who;
