//! `eval-host rubric …`: what rubric authors need.

mod attack;
mod author;
mod build;
mod command;
mod inspect;
mod score;
mod test;

pub(super) use command::{RubricCommand, rubric};
