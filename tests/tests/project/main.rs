//! The project's own rules, as tests.

mod deny;
mod dependencies;
mod documents;
mod facts;
mod metadata;
mod owners;
mod versions;
