//! A bench's files: what a registration and a case say, parsed strictly, and the bench as a whole.
//!
//! The raw shapes of the files never leave this module; what leaves it has been checked. Nothing here scores, and nothing
//! here writes: no command changes a registration.

mod case_file;
mod load;
mod registration;
mod strict_toml;

pub(crate) use load::{Bench, CaseFolder, LoadBenchError, list_task_classes, load_bench};
pub(crate) use registration::{PromotionMetric, Registration};
