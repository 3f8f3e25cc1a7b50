//! `-j`: how many cases at once, for every command that runs or scores them.

use std::num::NonZeroUsize;

use clap::Args;

use super::environment;

/// More agents than this on one machine is a slip of the finger: every one of them is a process and a thread.
const MOST: usize = 1_000;

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct ConcurrencyArgs {
    /// How many cases at once [default: the number of cores]. No more are scored at once than there are cores; live agents,
    /// which mostly wait, may be more.
    #[arg(long, short = 'j', value_name = "N", value_parser = cases_at_once)]
    concurrency: Option<NonZeroUsize>,
}

impl ConcurrencyArgs {
    /// How many agents work at once.
    pub(super) fn agents(self) -> NonZeroUsize {
        self.concurrency.unwrap_or_else(environment::cores)
    }

    /// How many cases are scored at once.
    pub(super) fn scorers(self) -> NonZeroUsize {
        self.agents().min(environment::cores())
    }
}

fn cases_at_once(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MOST);
    number.ok_or_else(|| format!("it must be a number from 1 to {MOST}"))
}
