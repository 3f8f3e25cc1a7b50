//! What the integration tests share: the project's root, a bench and a store that a test may break, and guests to break them
//! with.

mod asked;
pub mod binary;
pub mod bombs;
mod command;
mod figures;
pub mod packs;
mod small_cases;
mod usage;
mod waiting;
mod workbench;

pub use asked::asked_of;
pub use command::{Ended, Eval};
pub use figures::{Bound, Figures};
pub use usage::Usage;
pub use waiting::{PATIENCE, has, until};
pub use workbench::{FIXTURE, Workbench, copy_tree, install_rubric, project_root};

/// Components that a test can run: every file of `tests/guests/`, built by this crate's build script.
pub mod guests {
    include!(concat!(env!("OUT_DIR"), "/guests.rs"));
}
