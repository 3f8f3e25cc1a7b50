//! What the commands have in common that look at evidence: the last-seen head, and how a state is told.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{self, Path};

use clap::Args;

use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places, surroundings};
use eval_evidence::chain::{Heads, Link};
use eval_evidence::record::RecordedRun;
use eval_evidence::store::{Evidence as _, StoreReader};
use eval_evidence::verify::{Checks, FirstUse, LastSeenFile, State, Verification, verify_store};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;

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
    pub(super) fn of(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let first_use =
            if trust.trust_on_first_use || !surroundings::is_ci() { FirstUse::Trust } else { FirstUse::Refuse };
        let store = path::absolute(&places.out)
            .map_err(|error| Failure::new(Exit::HarnessError, "the working directory is gone").caused_by(&error))?;
        let last_seen = surroundings::state_dir()
            .map(|state_dir| LastSeenFile::open(&state_dir, &store, LOCK_PATIENCE))
            .transpose()
            .map_err(|error| {
                Failure::new(Exit::HarnessError, "what was last seen of the store cannot be looked up")
                    .caused_by(&error)
                    .hint("name a writable folder with XDG_STATE_HOME")
            })?;
        Ok(Self { last_seen, first_use })
    }

    pub(super) fn checks(&self) -> Checks<'_> {
        Checks { last_seen: self.last_seen.as_ref(), first_use: self.first_use, user: surroundings::user() }
    }

    /// Whether the store was seen before, so that its absence is a finding.
    pub(super) fn remembers(&self) -> bool {
        self.last_seen.as_ref().is_some_and(|last_seen| last_seen.path().exists())
    }

    /// Remembers what was verified, up to these heads.
    pub(super) fn advance(&self, verification: &Verification, heads: &Heads) -> Result<(), Failure> {
        self.remember(verification, heads, &verification.started_counts())
    }

    /// Remembers that so many runs were started of each task class, besides what was verified before.
    pub(super) fn announced(
        &self,
        verification: &Verification,
        started: &BTreeMap<TaskClassName, u64>,
    ) -> Result<(), Failure> {
        self.remember(verification, verification.heads(), started)
    }

    fn remember(
        &self,
        verification: &Verification,
        heads: &Heads,
        started: &BTreeMap<TaskClassName, u64>,
    ) -> Result<(), Failure> {
        let Some(last_seen) = &self.last_seen else { return Ok(()) };
        last_seen.advance(verification.store_id, heads, started).map_err(|error| {
            Failure::new(Exit::EvidenceBroken, "what was seen of the store could not be remembered").caused_by(&error)
        })
    }
}

/// A store that was opened and verified.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) store: StoreReader,
    pub(super) verification: Verification,
}

impl Opened {
    /// Opens a store in whatever state it is.
    pub(super) fn any(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let failed = |error: &dyn std::error::Error| {
            let what = format!("the store `{}` cannot be read", places.out.display());
            Failure::new(Exit::EvidenceBroken, what).caused_by(error).hint("name the store with --out")
        };
        let recollection = Recollection::of(places, trust)?;
        let store = StoreReader::open(&places.out, LOCK_PATIENCE).map_err(|error| failed(&error))?;
        let verification =
            verify_store(&store, recollection.checks(), &mut |_, _| {}).map_err(|error| failed(&error))?;
        Printer::stdio().notes(&verification.notes);
        Ok(Self { store, verification })
    }

    /// Opens a store whose evidence holds.
    pub(super) fn sound(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let opened = Self::any(places, trust)?;
        match opened.verification.state() {
            State::Ok => Ok(opened),
            state => {
                let what = format!("the evidence in `{}` is {state}", places.out.display());
                Err(Failure::new(Exit::EvidenceBroken, what).hint("`eval-host verify` says what is wrong"))
            }
        }
    }

    /// The record that a user means by a path or a file's name.
    pub(super) fn find(&self, record: &Path) -> Result<&Link, Failure> {
        let name = record.file_name();
        let is_meant = |link: &&Link| name == Some(OsStr::new(link.file_name().as_str()));
        self.verification.links.values().find(is_meant).ok_or_else(|| {
            Failure::new(Exit::UsageOrCap, format!("`{}` is no record of this store", record.display()))
                .hint("`eval-host log` lists the records; name the store with --out")
        })
    }

    /// The record at a place, if it is still the one that was verified.
    pub(super) fn read(&self, link: &Link) -> Option<RecordedRun> {
        let bytes = self.store.record(link.file_name().as_str()).ok()?;
        RecordedRun::read(&bytes).ok().filter(|(_, again)| again == link).map(|(record, _)| record)
    }
}

/// A task class that the evidence has nothing of is no evidence that holds: most often its name is mistyped.
pub(super) fn require_class(verification: &Verification, task_class: &TaskClassName) -> Result<(), Failure> {
    if verification.knows(task_class) {
        return Ok(());
    }
    let there: Vec<_> = verification.classes.keys().map(|class| format!("`{class}`")).collect();
    let hint = match there.as_slice() {
        [] => "there is nothing of any task class; name the store with --out".to_owned(),
        there => format!("there is {}; name another store with --out", there.join(", ")),
    };
    Err(Failure::new(Exit::TaskClassNotFound, format!("there is no record of `{task_class}` in the evidence"))
        .hint(hint))
}

/// Only OK is a yes.
pub(super) fn exit_of(state: State) -> Exit {
    match state {
        State::Ok => Exit::Ok,
        State::Incomplete | State::Unverifiable | State::Tampered => Exit::EvidenceBroken,
    }
}
