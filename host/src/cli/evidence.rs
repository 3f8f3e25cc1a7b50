//! What the commands have in common that look at evidence: the last-seen head, and how a state is told.

use std::ffi::OsStr;
use std::path::{self, Path, PathBuf};

use clap::Args;

use super::environment::EnvironmentError;
use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places, environment};
use eval_evidence::chain::Link;
use eval_evidence::record::RecordedRun;
use eval_evidence::store::{Evidence as _, OpenStoreError, StoreReader};
use eval_evidence::verified::StoreMemory;
use eval_evidence::verify::{FirstUse, LastSeenError, LastSeenFile, State, Verification, VerifyError, verify_store};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::TaskClassName;

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct TrustArgs {
    /// Believe a store that was never seen on this machine; in CI this must be said.
    #[arg(long)]
    trust_on_first_use: bool,
}

/// What is remembered of the store outside of it.
pub(super) fn memory_of(places: &Places, trust: TrustArgs) -> Result<StoreMemory, Failure> {
    let is_trusted = trust.trust_on_first_use || !environment::is_ci();
    let store = path::absolute(&places.out).map_err(EnvironmentError::WorkingDirectory)?;
    let last_seen = environment::state_dir()
        .map(|state_dir| LastSeenFile::open(&state_dir, &store, LOCK_PATIENCE))
        .transpose()
        .map_err(OpenEvidenceError::LastSeen)?;
    let first_use = if is_trusted { FirstUse::Trust } else { FirstUse::Refuse };
    Ok(StoreMemory { last_seen, first_use, user: environment::user() })
}

/// Why the evidence that a command is about cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenEvidenceError {
    #[error("eval-host cannot look up what it last saw of the store")]
    LastSeen(#[source] LastSeenError),
    #[error("the store `{}` cannot be opened", path.display())]
    Open { path: PathBuf, source: OpenStoreError },
    #[error("the store `{}` cannot be read", path.display())]
    Verify { path: PathBuf, source: VerifyError },
    #[error("the evidence in `{}` is {state}", path.display())]
    NotOk { path: PathBuf, state: State },
    #[error("`{}` is no record of this store", path.display())]
    NoSuchRecord { path: PathBuf },
    #[error("the evidence has no record of `{task_class}`")]
    NoSuchClass { task_class: TaskClassName, there: Vec<TaskClassName> },
}

impl Advice for OpenEvidenceError {
    fn exit(&self) -> Exit {
        match self {
            Self::LastSeen(_) => Exit::HarnessError,
            Self::Open { .. } | Self::Verify { .. } | Self::NotOk { .. } => Exit::EvidenceBroken,
            Self::NoSuchRecord { .. } => Exit::UsageOrCap,
            Self::NoSuchClass { .. } => Exit::TaskClassNotFound,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::LastSeen(_) => "name a writable folder with XDG_STATE_HOME".to_owned(),
            Self::Open { .. } | Self::Verify { .. } => "name the store with --out".to_owned(),
            Self::NotOk { .. } => "`eval-host verify` says what is wrong".to_owned(),
            Self::NoSuchRecord { .. } => "`eval-host log` lists the records; name the store with --out".to_owned(),
            Self::NoSuchClass { there, .. } if there.is_empty() => {
                "it has no record of any task class; name the store with --out".to_owned()
            }
            Self::NoSuchClass { there, .. } => {
                let there: Vec<_> = there.iter().map(|class| format!("`{class}`")).collect();
                format!("it has records of {}; name another store with --out", there.join(", "))
            }
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
        let path = || places.out.clone();
        let memory = memory_of(places, trust)?;
        let store = StoreReader::open(&places.out, LOCK_PATIENCE)
            .map_err(|source| OpenEvidenceError::Open { path: path(), source })?;
        let verification = verify_store(&store, memory.checks(), &mut |_, _| {})
            .map_err(|source| OpenEvidenceError::Verify { path: path(), source })?;
        Printer::stdio().notes(&verification.notes);
        Ok(Self { store, verification })
    }

    /// Opens a store whose evidence holds.
    pub(super) fn sound(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let opened = Self::any(places, trust)?;
        match opened.verification.state() {
            State::Ok => Ok(opened),
            state => Err(OpenEvidenceError::NotOk { path: places.out.clone(), state }.into()),
        }
    }

    /// The record that a user means by a path or a file's name.
    pub(super) fn find(&self, record: &Path) -> Result<&Link, Failure> {
        let name = record.file_name();
        let is_meant = |link: &&Link| name == Some(OsStr::new(link.file_name().as_str()));
        let found = self.verification.links.values().find(is_meant);
        found.ok_or_else(|| OpenEvidenceError::NoSuchRecord { path: record.to_owned() }.into())
    }

    /// The record at a place, if it is still the one that was verified.
    pub(super) fn read(&self, link: &Link) -> Option<RecordedRun> {
        self.store.verified_record(link)
    }
}

/// A task class that the evidence has nothing of is no evidence that holds: most often its name is mistyped.
pub(super) fn require_class(verification: &Verification, task_class: &TaskClassName) -> Result<(), Failure> {
    if verification.knows(task_class) {
        return Ok(());
    }
    let there = verification.classes.keys().cloned().collect();
    Err(OpenEvidenceError::NoSuchClass { task_class: task_class.clone(), there }.into())
}

/// Only OK is a yes.
pub(super) fn exit_of(state: State) -> Exit {
    match state {
        State::Ok => Exit::Ok,
        State::Incomplete | State::Unverifiable | State::Tampered => Exit::EvidenceBroken,
    }
}
