//! The attack on a rubric: answers that pass are spoilt by one step, and each that still passes is a survivor.
//!
//! Making mutants is pure. They are judged as every answer is, and what came of it is a value: nothing here writes to a bench
//! but [`record::write`], when it is asked to.

mod campaign;
mod difference;
mod mutants;
mod own;
mod patch;
mod patch_edits;
pub(crate) mod record;
mod stray;
mod target;
mod tokens;

pub(crate) use campaign::{Attack, Fault, Mutant, Survivor, Tally, attack};
pub(crate) use target::{AttackError, OWN_MUTATORS, Target};
