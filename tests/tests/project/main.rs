//! The project's own rules, as tests.

mod dependencies;
mod documents;
mod facts;
mod owners;
mod versions;
