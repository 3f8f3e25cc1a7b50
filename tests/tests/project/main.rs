//! The project's own rules, as tests.

mod dependencies;
mod facts;
mod owners;
mod versions;
