//! What the commands have in common that look at evidence: the last-seen head, and how a state is told.

use std::ffi::OsStr;
use std::path::{self, Path};

use clap::Args;

use super::anchor::{AgainstArgs, TrustedKeysArgs};
use super::environment::EnvironmentError;
use super::error::{ArgumentError, EvidenceError};
use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places, environment};
use crate::run::answer_set::is_answer_set;
use eval_evidence::bundle::Bundle;
use eval_evidence::chain::Link;
use eval_evidence::gate::Body;
use eval_evidence::record::RecordedRun;
use eval_evidence::store::{Evidence, OpenStoreError, StoreReader};
use eval_evidence::verified::StoreMemory;
use eval_evidence::verify::{FirstUse, FuelTerms, LastSeenFile, State, Verification, verify_evidence, verify_store};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;
use eval_sandbox::{PRICE_LIST_VERSION, WASMTIME_VERSION};

/// What fuel means in this program.
pub(super) const FUEL_TERMS: FuelTerms<'_> =
    FuelTerms { wasmtime_version: WASMTIME_VERSION, price_list_version: PRICE_LIST_VERSION };

#[derive(Debug, Clone, Copy, Args)]
pub(super) struct TrustArgs {
    /// Believe a store that was never seen on this machine; in CI this must be said of a store that exists.
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
        .map_err(EvidenceError::LastSeen)?;
    let first_use = if is_trusted { FirstUse::Trust } else { FirstUse::Refuse };
    Ok(StoreMemory { last_seen, first_use, user: environment::user() })
}

/// Opens a store to read it. Where none is but one was seen before, that is a finding and not a typing error.
pub(super) fn open_reader(places: &Places, memory: &StoreMemory) -> Result<StoreReader, EvidenceError> {
    StoreReader::open(&places.out, LOCK_PATIENCE).map_err(|source| {
        let state = match &source {
            OpenStoreError::Missing { .. } | OpenStoreError::NotAStore { .. } if memory.has_seen_it() => {
                State::Tampered
            }
            error => error.state(),
        };
        EvidenceError::Store { path: places.out.clone(), state, source }
    })
}

/// Says what to do where a store is not believed only because it was never seen.
pub(super) fn advise_on_first_use(printer: &mut Printer, verification: &Verification) {
    if verification.lacks_only_trust() {
        printer.tell(&format!("hint: {}", FirstUse::ADVICE));
    }
}

/// Walks the store, and tells how far it is.
pub(super) fn verify_all(
    places: &Places,
    store: &StoreReader,
    memory: &StoreMemory,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verification, EvidenceError> {
    verify_store(store, memory.checks(), progress)
        .map_err(|source| EvidenceError::VerifyStore { path: places.out.clone(), source })
}

/// A store or a bundle that was opened and verified.
pub(super) struct Opened {
    evidence: Box<dyn Evidence>,
    pub(super) verification: Verification,
}

impl Opened {
    /// Opens a store in whatever state it is.
    pub(super) fn any(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let opened = Self::silently(places, trust)?;
        advise_on_first_use(&mut Printer::stdio(), &opened.verification);
        Ok(opened)
    }

    fn silently(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let memory = memory_of(places, trust)?;
        let store = open_reader(places, &memory)?;
        let verification = verify_all(places, &store, &memory, &mut |_, _| {})?;
        Printer::stdio().notes(&verification.notes);
        Ok(Self { evidence: Box::new(store), verification })
    }

    /// Opens a bundle in whatever state it is. It has no owner, no neighbours and no past on this machine.
    pub(super) fn bundle(path: &Path) -> Result<Self, Failure> {
        if is_answer_set(path) {
            return Err(ArgumentError::IsAnswerSet { path: path.to_owned() }.into());
        }
        let bundle = Bundle::open(path).map_err(|source| EvidenceError::Bundle { path: path.to_owned(), source })?;
        let verification = verify_evidence(&bundle, &mut |_, _| {})
            .map_err(|source| EvidenceError::VerifyBundle { path: path.to_owned(), source })?;
        Printer::stdio().notes(&verification.notes);
        Ok(Self { evidence: Box::new(bundle), verification })
    }

    /// Compares it with the checkpoints that the user names.
    pub(super) fn compare_with(&mut self, against: &AgainstArgs) -> Result<(), EvidenceError> {
        self.verification.compare_with_checkpoints(&against.checkpoints()?, self.verification.scope());
        Ok(())
    }

    pub(super) fn evidence(&self) -> &dyn Evidence {
        self.evidence.as_ref()
    }

    pub(super) fn body(&self) -> Body<'_> {
        Body { evidence: self.evidence(), verification: &self.verification }
    }

    /// Says who signed what, by the keys that are trusted.
    pub(super) fn check_signatures(&mut self, keys: &TrustedKeysArgs) -> Result<(), Failure> {
        if let Some(known) = keys.if_any()? {
            self.verification.check_signatures(&known);
        }
        Ok(())
    }

    /// Opens a store whose evidence holds.
    pub(super) fn sound(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let opened = Self::silently(places, trust)?;
        match opened.verification.state() {
            State::Ok => Ok(opened),
            _ if opened.verification.lacks_only_trust() => {
                Err(EvidenceError::NeverSeen { path: places.out.clone() }.into())
            }
            state => Err(EvidenceError::NotOk { path: places.out.clone(), state }.into()),
        }
    }

    /// The record that a user means by a path or a file's name.
    pub(super) fn find(&self, record: &Path) -> Result<&Link, Failure> {
        let name = record.file_name();
        let is_meant = |link: &&Link| name == Some(OsStr::new(link.file_name().as_str()));
        let found = self.verification.links.values().find(is_meant);
        found.ok_or_else(|| EvidenceError::NoSuchRecord { path: record.to_owned() }.into())
    }

    /// The record at a place, if it is still the one that was verified.
    pub(super) fn read(&self, link: &Link) -> Option<RecordedRun> {
        self.evidence.verified_record(link)
    }
}

/// A task class that the evidence has nothing of is no evidence that holds: most often its name is mistyped.
pub(super) fn require_class(verification: &Verification, task_class: &TaskClassName) -> Result<(), Failure> {
    if verification.knows(task_class) {
        return Ok(());
    }
    let there = verification.classes.keys().cloned().collect();
    Err(EvidenceError::NoSuchClass { task_class: task_class.clone(), there }.into())
}

/// Only OK is a yes.
pub(super) fn exit_of(state: State) -> Exit {
    match state {
        State::Ok => Exit::Ok,
        State::Incomplete | State::Unverifiable | State::Tampered => Exit::EvidenceBroken,
    }
}
