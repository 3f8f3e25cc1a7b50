//! What the integration tests share: the project's root, and a bench and a store that a test may break.

mod command;
mod workbench;

pub use command::{Ended, Eval};
pub use workbench::{Workbench, copy_tree, project_root};
