//! Which command of `eval-host rubric` is meant.

use clap::Subcommand;

use super::{attack, build, inspect, score, test};
use crate::cli::failure::Failure;
use eval_model::advice::Exit;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RubricCommand {
    /// Spoil answers that pass, and list what the rubric lets through.
    Attack(attack::AttackArgs),
    /// Build a bench's rubric reproducibly, and write rubric.wasm and its pin.
    Build(build::BuildArgs),
    /// Say what a component is: its world, its imports and who grants them, and whether it would load.
    Inspect(inspect::InspectArgs),
    /// Score one output for one case, exactly as a run would.
    Score(score::ScoreArgs),
    /// Run a bench's golden tests, exactly as a run would.
    Test(test::TestArgs),
}

pub(in crate::cli) fn rubric(command: RubricCommand) -> Result<Exit, Failure> {
    match command {
        RubricCommand::Attack(args) => attack::attack(&args),
        RubricCommand::Build(args) => build::build(&args),
        RubricCommand::Inspect(args) => inspect::inspect(&args),
        RubricCommand::Score(args) => score::score(&args),
        RubricCommand::Test(args) => test::test(&args),
    }
}
