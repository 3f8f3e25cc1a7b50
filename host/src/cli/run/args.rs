//! The flags of `eval-host run`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::Places;
use super::super::bench::InputRootArgs;
use super::super::concurrency::ConcurrencyArgs;
use super::super::evidence::TrustArgs;
use super::super::key::KeyArgs;
use crate::answers::AgentText;
use crate::bench::{Capture, check_variable};
use eval_model::ids::TaskClassName;
use eval_model::money::{MOST_DOLLARS, Usd, is_possible_cost};
use eval_model::shard::Shard;

#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs {
    /// The kind of work to evaluate: a folder below the bench root.
    #[arg(long, value_name = "NAME")]
    pub(super) task_class: TaskClassName,
    #[command(flatten)]
    pub(super) concurrency: ConcurrencyArgs,
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
    #[command(flatten)]
    pub(super) cassettes: CassetteArgs,
    #[command(flatten)]
    pub(super) live: LiveArgs,
    #[command(flatten)]
    pub(super) input_root: InputRootArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) key: KeyArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    #[command(flatten)]
    pub(super) places: Places,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(super) struct SelectionArgs {
    /// Only the cases whose id matches (`*` any characters, `?` one); may be given more than once.
    #[arg(long, value_name = "GLOB")]
    pub(super) cases: Vec<String>,
    /// Only the cases that did not pass in this record.
    #[arg(long, value_name = "RECORD")]
    pub(super) failing_from: Option<PathBuf>,
    /// At most so many cases, the first in order.
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<NonZeroUsize>,
    /// Only this part of the selected cases, such as `2/3`: writes an answer set for `eval-host merge` instead of a record.
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,
    /// Say what would run, with digests and the largest possible cost, and do nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Cassettes")]
pub(super) struct CassetteArgs {
    /// Replay the cassettes `<DIR>/<case-id>.json` instead of each case's own.
    #[arg(long, value_name = "DIR", conflicts_with = "live")]
    pub(super) cassettes: Option<PathBuf>,
    /// Make a stale cassette, or one that does not match its pin, a fault instead of a warning.
    #[arg(long, conflicts_with = "live")]
    pub(super) strict_cassettes: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Live runs")]
pub(super) struct LiveArgs {
    /// Run a real agent for every case, and pay for it.
    #[arg(long)]
    pub(super) live: bool,
    /// The agent's command line, run by `/bin/sh` [default: `[sut]` in registration.toml].
    #[arg(long, value_name = "COMMAND", requires = "live")]
    pub(super) sut: Option<String>,
    /// What the agent is called in the record [default: as it says itself, or else its program's file].
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(super) sut_name: Option<AgentText>,
    /// Which version of the agent this is [default: as it says itself, or else a digest of its command].
    #[arg(long, value_name = "VERSION", requires = "live")]
    pub(super) sut_version: Option<AgentText>,
    /// Where the agent's answer is read from [default: `[sut]` in registration.toml, or else its response].
    #[arg(long, value_name = "WHAT", requires = "live")]
    pub(super) capture: Option<CaptureArg>,
    /// Let the agent read and execute this file or folder too; may be given more than once.
    #[arg(long, value_name = "PATH", requires = "live", conflicts_with = "unconfined")]
    pub(super) sut_read: Vec<PathBuf>,
    /// Let the agent write there too; may be given more than once.
    #[arg(long, value_name = "PATH", requires = "live", conflicts_with = "unconfined")]
    pub(super) sut_write: Vec<PathBuf>,
    /// Let the agent have this variable of the environment too; may be given more than once.
    #[arg(long, value_name = "NAME", requires = "live", value_parser = variable)]
    pub(super) sut_env: Vec<String>,
    /// Run the agent where it can read the answers. It is recorded, and no verdict will rest on it.
    #[arg(long, requires = "live")]
    pub(super) unconfined: bool,
    /// Write every answer to `<DIR>/<case-id>.json`, as a cassette.
    #[arg(long, value_name = "DIR", requires = "live")]
    pub(super) record: Option<PathBuf>,
    /// The most that the run may cost.
    #[arg(long, value_name = "USD", default_value = "5.00", value_parser = dollars)]
    pub(super) max_cost_usd: Usd,
    /// Continue the run that was killed or interrupted.
    #[arg(long, requires = "live")]
    pub(super) resume: bool,
    /// Answer what the run of this record had skipped when it reached its cost cap, and record the whole: the record's path,
    /// its file's name or its number. What it spent counts against --max-cost-usd, and its answers are not asked for again.
    #[arg(
        long = "continue",
        value_name = "RECORD",
        requires = "live",
        conflicts_with_all = ["cases", "failing_from", "limit", "shard", "dry_run"]
    )]
    pub(super) continues: Option<PathBuf>,
    /// Fail when another live run of the task class is going on, instead of waiting for it.
    #[arg(long, requires = "live")]
    pub(super) no_wait: bool,
    /// Allow --live where the variable CI is set.
    #[arg(long)]
    pub(super) allow_live_in_ci: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(in crate::cli) struct OutputArgs {
    /// Print only problems and the summary to stderr.
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Write the results as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
}

/// Where a live answer is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CaptureArg {
    /// The JSON response on stdout.
    Response,
    /// What the agent changed in its workspace, as a diff.
    WorkspaceDiff,
}

impl From<CaptureArg> for Capture {
    fn from(capture: CaptureArg) -> Self {
        match capture {
            CaptureArg::Response => Self::Response,
            CaptureArg::WorkspaceDiff => Self::WorkspaceDiff,
        }
    }
}

fn dollars(text: &str) -> Result<Usd, String> {
    let amount = text.strip_prefix('$').unwrap_or(text).parse().ok().filter(|dollars| is_possible_cost(*dollars));
    let amount = amount.and_then(Usd::from_dollars);
    amount.ok_or_else(|| format!("it must be an amount of dollars, such as 5.00, and at most {MOST_DOLLARS}"))
}

fn variable(name: &str) -> Result<String, String> {
    check_variable(name).map(|()| name.to_owned())
}
