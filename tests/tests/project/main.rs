//! The project's own rules, as tests.

mod dependencies;
mod owners;
mod versions;
