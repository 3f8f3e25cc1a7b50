//! `eval-host rubric …`: what rubric authors need.

mod build;

use clap::Subcommand;

use super::exit::Exit;
use super::problem::Problem;

#[derive(Debug, Subcommand)]
pub(super) enum RubricCommand {
    /// Build a bench's rubric reproducibly, and write rubric.wasm and its pin.
    Build(build::BuildArgs),
}

pub(super) fn rubric(command: RubricCommand) -> Result<Exit, Problem> {
    match command {
        RubricCommand::Build(args) => build::build(&args),
    }
}
