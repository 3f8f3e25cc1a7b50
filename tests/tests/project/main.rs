//! The project's own rules, as tests.

mod borders;
mod deny;
mod dependencies;
mod documents;
mod facts;
mod metadata;
mod owners;
mod sources;
mod versions;
