//! What the commands have in common that look at evidence: the last-seen head, and how a state is told.

use std::path;

use clap::Args;

use super::exit::Exit;
use super::problem::Problem;
use super::{LOCK_PATIENCE, Places, surroundings};
use crate::chain::Heads;
use crate::verify::{Checks, FirstUse, LastSeenFile, State, Verification};

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct TrustArgs {
    /// Believe a store that was never seen on this machine; in CI this must be said.
    #[arg(long)]
    trust_on_first_use: bool,
}

/// What is remembered of a store, and whether it need be.
#[derive(Debug)]
pub(super) struct Recollection {
    last_seen: Option<LastSeenFile>,
    first_use: FirstUse,
}

impl Recollection {
    pub(super) fn of(places: &Places, trust: TrustArgs) -> Result<Self, Problem> {
        let first_use =
            if trust.trust_on_first_use || !surroundings::is_ci() { FirstUse::Trust } else { FirstUse::Refuse };
        let store = path::absolute(&places.out)
            .map_err(|error| Problem::new(Exit::HarnessError, "the working directory is gone").caused_by(&error))?;
        let last_seen = surroundings::state_dir()
            .map(|state_dir| LastSeenFile::open(&state_dir, &store, LOCK_PATIENCE))
            .transpose()
            .map_err(|error| {
                Problem::new(Exit::HarnessError, "what was last seen of the store cannot be looked up")
                    .caused_by(&error)
                    .hint("name a writable folder with XDG_STATE_HOME")
            })?;
        Ok(Self { last_seen, first_use })
    }

    pub(super) fn checks(&self) -> Checks<'_> {
        Checks { last_seen: self.last_seen.as_ref(), first_use: self.first_use }
    }

    /// Whether the store was seen before, so that its absence is a finding.
    pub(super) fn remembers(&self) -> bool {
        self.last_seen.as_ref().is_some_and(|last_seen| last_seen.path().exists())
    }

    /// Remembers what was verified, up to these heads.
    pub(super) fn advance(&self, verification: &Verification, heads: &Heads) -> Result<(), Problem> {
        let Some(last_seen) = &self.last_seen else { return Ok(()) };
        last_seen.advance(verification.store_id, heads, &verification.started_counts()).map_err(|error| {
            Problem::new(Exit::EvidenceBroken, "what was seen of the store could not be remembered").caused_by(&error)
        })
    }
}

/// Only OK is a yes.
pub(super) fn exit_of(state: State) -> Exit {
    match state {
        State::Ok => Exit::Ok,
        State::Incomplete | State::Unverifiable | State::Tampered => Exit::EvidenceBroken,
    }
}
