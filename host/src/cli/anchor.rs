//! `eval-host anchor`: signed checkpoints, to be committed where the store's owner cannot rewrite them.

#![expect(clippy::disallowed_methods, reason = "checkpoints lie where the user says, links and all")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{ArgumentError, EvidenceError, HostError, ReadTrustedKeysError};
use super::evidence::{Opened, TrustArgs};
use super::failure::Failure;
use super::keys::{
    ANCHORS, KEYS, notes_in, read_checkpoint, read_found_checkpoint, read_signer, read_trusted, read_trusted_if_any,
    trusted_keys_error, write_new,
};
use super::printer::Printer;
use super::{Places, environment};
use crate::output::lines::Line;
use eval_evidence::anchor::{Checkpoint, KeyStanding, NoteSigner, NoteVerifier, TrustedKeys};
use eval_evidence::verify::{Note, Verification};
use eval_model::advice::Exit;

#[derive(Debug, Args)]
pub(super) struct AnchorArgs {
    /// The secret key that `eval-host keygen` made.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The folder for the checkpoint, with those that were signed before and the keys that are trusted.
    #[arg(long, value_name = "DIR", default_value = ANCHORS)]
    to: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

pub(super) fn anchor(args: &AnchorArgs) -> Result<Exit, Failure> {
    let signer = read_signer(&args.key)?;
    let mut printer = Printer::stdio();
    let trusted = trusted_with(&signer, args, &mut printer)?;
    let mut opened = Opened::sound(&args.places, args.trust)?;
    let earlier = check_extends_earlier(&args.to, &trusted, &mut opened.verification, &mut printer)?;
    let now = environment::now()?;
    let checkpoint = opened.verification.checkpoint(now);
    let note = checkpoint.sign(&signer)?;
    let path = args.to.join(format!("{}-{}.txt", checkpoint.store_id(), now.basic()));
    let written = fs::create_dir_all(&args.to).and_then(|()| write_new(&path, 0o644, &note));
    written.map_err(|source| HostError::WriteCheckpoint { path: path.clone(), source })?;
    printer.notes(&clocks(&checkpoint, &earlier));
    printer.tell("commit the checkpoint to a protected branch: beside the store it proves nothing");
    printer.data(&Line::Checkpoint { path: &path.to_string_lossy() });
    printer.finish(Exit::Ok)
}

/// The keys of the folder, and the one that signs. One that is retired signs nothing more.
fn trusted_with(signer: &NoteSigner, args: &AnchorArgs, printer: &mut Printer) -> Result<TrustedKeys, Failure> {
    let (path, verifier) = (args.to.join(KEYS), signer.verifier());
    let trusted = read_trusted_if_any(&path)?;
    match trusted.standing(verifier) {
        KeyStanding::Trusted => Ok(trusted),
        KeyStanding::Retired => {
            Err(ArgumentError::RetiredKey { name: verifier.name().to_owned(), key: args.key.clone(), path }.into())
        }
        KeyStanding::Unknown => {
            printer.tell(&format!(
                "warning: `{}` does not name the key that signs, so nobody will believe the checkpoint; commit this line to it:",
                path.display()
            ));
            printer.tell(&verifier.to_string());
            Ok(trusted.trusting(verifier).map_err(|source| trusted_keys_error(&path, source.into()))?)
        }
    }
}

/// Whoever signs must not sign a second past: the store must have all that any trusted key has signed of it, as far as that is
/// there. Gives the checkpoints of this store.
fn check_extends_earlier(
    folder: &Path,
    trusted: &TrustedKeys,
    verification: &mut Verification,
    printer: &mut Printer,
) -> Result<Vec<Checkpoint>, Failure> {
    let mut earlier = Vec::new();
    for path in notes_in(folder)? {
        let checkpoint = match read_found_checkpoint(&path, trusted) {
            Ok(checkpoint) => checkpoint,
            Err(error) if error.is_of_a_stranger() => {
                printer.tell(&format!("note: `{}` is passed over: {}", path.display(), error.in_one_line()));
                continue;
            }
            Err(source) => return Err(EvidenceError::Checkpoint { path, source }.into()),
        };
        if checkpoint.store_id() != verification.store_id {
            continue;
        }
        // What was unpacked from a bundle lacks markers and other classes; that it lacks later records is still a finding.
        verification.compare_with_checkpoints(std::slice::from_ref(&checkpoint), verification.scope());
        if let Some(finding) = verification.findings.first() {
            return Err(EvidenceError::OtherPast { path, finding: finding.to_string() }.into());
        }
        earlier.push(checkpoint);
    }
    Ok(earlier)
}

fn clocks(checkpoint: &Checkpoint, earlier: &[Checkpoint]) -> Vec<Note> {
    let is_later = |earlier: &&Checkpoint| earlier.has_later_clock_than(checkpoint);
    let note =
        |less: &Checkpoint| Note::CheckpointClockWentBack { more: checkpoint.signed_at(), less: less.signed_at() };
    earlier.iter().filter(is_later).map(note).collect()
}

#[derive(Debug, Args)]
pub(super) struct AgainstArgs {
    /// Compare with a checkpoint that `eval-host anchor` made; may be given more than once.
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
    #[command(flatten)]
    trusted_keys: TrustedKeysArgs,
}

impl AgainstArgs {
    /// The checkpoints, each signed by a trusted key. One that is not is refused.
    pub(super) fn checkpoints(&self) -> Result<Vec<Checkpoint>, EvidenceError> {
        if self.against.is_empty() {
            return Ok(Vec::new());
        }
        let trusted = self.trusted_keys.require()?;
        let read = |path: &PathBuf| {
            read_checkpoint(path, &trusted).map_err(|source| EvidenceError::Checkpoint { path: path.clone(), source })
        };
        self.against.iter().map(read).collect()
    }

    /// The keys that are trusted to sign records.
    pub(super) fn keys(&self) -> &TrustedKeysArgs {
        &self.trusted_keys
    }
}

/// Which keys are trusted.
#[derive(Debug, Args)]
pub(super) struct TrustedKeysArgs {
    /// The keys that are trusted to sign checkpoints and records, one per line [default: audit/anchors/keys, if it is there].
    /// Rotation notes and the last checkpoints of retired keys are looked for in the same folder.
    #[arg(long, value_name = "FILE")]
    trusted_keys: Option<PathBuf>,
}

impl TrustedKeysArgs {
    /// The keys; `None` where nobody named a file, and the usual one is not there.
    pub(super) fn if_any(&self) -> Result<Option<TrustedKeys>, EvidenceError> {
        match self.require() {
            Err(EvidenceError::TrustedKeys { source: ReadTrustedKeysError::File(error), .. })
                if self.trusted_keys.is_none() && error.kind() == io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            keys => keys.map(Some),
        }
    }

    /// The keys, and one more, which nobody needs to have named. If it is retired, it stays so.
    pub(super) fn trusting(&self, verifier: &NoteVerifier) -> Result<TrustedKeys, EvidenceError> {
        let named = self.if_any()?.unwrap_or_default();
        named.trusting(verifier).map_err(|source| trusted_keys_error(&self.path(), source.into()))
    }

    fn require(&self) -> Result<TrustedKeys, EvidenceError> {
        read_trusted(&self.path())
    }

    fn path(&self) -> PathBuf {
        self.trusted_keys.clone().unwrap_or_else(|| Path::new(ANCHORS).join(KEYS))
    }
}
