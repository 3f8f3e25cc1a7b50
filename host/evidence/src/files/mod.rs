mod folder;
pub use folder::*;
