//! `eval-host keygen` and `eval-host anchor`: signed checkpoints, to be committed where the store's owner cannot rewrite them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::evidence::{Opened, TrustArgs};
use super::failure::Failure;
use super::printer::Printer;
use super::{Places, surroundings};
use crate::output::lines::Line;
use eval_evidence::anchor::{Checkpoint, NoteError, NoteSigner, NoteVerifier, OpenCheckpointError};
use eval_evidence::chain::StoreId;
use eval_evidence::verify::{ObjectScope, Verification};
use eval_model::advice::Exit;

/// Where checkpoints and the keys that are trusted for them are committed.
const ANCHORS: &str = "audit/anchors";

#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// What the key is called, for example a host and a purpose: `ci.example.org/eval-host`.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The file for the secret key, which must not exist yet. Keep it away from the store and out of git.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<Exit, Failure> {
    let signer = NoteSigner::generate(&args.name).map_err(|error| Failure::from_error(Exit::UsageOrCap, &error))?;
    write_new(&args.key, 0o600, &format!("{}\n", signer.to_secret_text())).map_err(|error| {
        Failure::new(Exit::HarnessError, format!("failed to write the key `{}`", args.key.display())).caused_by(&error)
    })?;
    let mut printer = Printer::stdio();
    printer.tell(&format!("commit this line to `{ANCHORS}/keys`, so that others can check what the key signs:"));
    let verifier = signer.verifier().to_string();
    printer.tell(&verifier);
    printer.data(&Line::Key { verifier: &verifier });
    printer.finish(Exit::Ok)
}

#[derive(Debug, Args)]
pub(super) struct AnchorArgs {
    /// The secret key that `eval-host keygen` made.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The folder for the checkpoint.
    #[arg(long, value_name = "DIR", default_value = ANCHORS)]
    to: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

pub(super) fn anchor(args: &AnchorArgs) -> Result<Exit, Failure> {
    let signer = read_signer(&args.key)?;
    let mut opened = Opened::sound(&args.places, args.trust)?;
    check_extends_earlier(&args.to, &signer, &mut opened.verification)?;
    let store_id = opened.verification.store_id;
    let checkpoint = Checkpoint::new(store_id, opened.verification.heads().clone());
    let note = checkpoint.sign(&signer).map_err(|error| Failure::from_error(Exit::HarnessError, &error))?;
    let path = args.to.join(format!("{store_id}-{}.txt", surroundings::now()?.basic()));
    let written = fs::create_dir_all(&args.to).and_then(|()| write_new(&path, 0o644, &note));
    written.map_err(|error| {
        Failure::new(Exit::HarnessError, format!("failed to write the checkpoint `{}`", path.display()))
            .caused_by(&error)
    })?;
    let mut printer = Printer::stdio();
    printer.tell("commit it to a protected branch: a checkpoint beside the store proves nothing");
    printer.data(&Line::Checkpoint { path: &path.to_string_lossy() });
    printer.finish(Exit::Ok)
}

/// Whoever signs must not sign two pasts: the store must have all that this key has signed of it, as far as that is there.
fn check_extends_earlier(folder: &Path, signer: &NoteSigner, verification: &mut Verification) -> Result<(), Failure> {
    for path in checkpoints_in(folder, verification.store_id)? {
        let checkpoint = match open_checkpoint(&path, &[signer.verifier().clone()])? {
            Ok(checkpoint) => checkpoint,
            // Another key's: its owner compares with it.
            Err(OpenCheckpointError::Note(NoteError::Unsigned)) => continue,
            Err(error) => return Err(refused(&path, &error)),
        };
        verification.compare_with_checkpoint(&checkpoint, ObjectScope::All);
        if let Some(finding) = verification.findings.first() {
            let what =
                format!("the store does not have what `{}` says, which this key signed: {finding}", path.display());
            return Err(Failure::new(Exit::EvidenceBroken, what).hint(
                "nothing was signed; keep the store as it is for whoever investigates, and start another with --out",
            ));
        }
    }
    Ok(())
}

/// The checkpoints of a store that are in a folder, the oldest first.
fn checkpoints_in(folder: &Path, store_id: StoreId) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: io::Error| {
        Failure::new(Exit::HarnessError, format!("failed to list `{}`", folder.display())).caused_by(&error)
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let names: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
    let mut names = names.map_err(failed)?;
    let prefix = format!("{store_id}-");
    names.retain(|name| name.to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".txt")));
    names.sort_unstable();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn read_signer(path: &Path) -> Result<NoteSigner, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::new(Exit::UsageOrCap, format!("`{}` is not a key to sign with", path.display()))
            .caused_by(error)
            .hint("make one with `eval-host keygen`")
    };
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    text.trim_end().parse().map_err(|error| failed(&error))
}

#[derive(Debug, Args)]
pub(super) struct AgainstArgs {
    /// Compare with a checkpoint that `eval-host anchor` made; may be given more than once.
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
    /// The keys that are trusted to sign checkpoints, one per line.
    #[arg(long, value_name = "FILE", default_value = "audit/anchors/keys")]
    trusted_keys: PathBuf,
}

impl AgainstArgs {
    /// The checkpoints, each signed by a trusted key. One that is not is refused.
    pub(super) fn checkpoints(&self) -> Result<Vec<Checkpoint>, Failure> {
        if self.against.is_empty() {
            return Ok(Vec::new());
        }
        let known = read_keys(&self.trusted_keys)?;
        self.against.iter().map(|path| read_checkpoint(path, &known)).collect()
    }
}

fn read_keys(path: &Path) -> Result<Vec<NoteVerifier>, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::new(Exit::EvidenceBroken, format!("`{}` does not name the keys to trust", path.display()))
            .caused_by(error)
            .hint("put the line that `eval-host keygen` printed there, or name another file with --trusted-keys")
    };
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.parse().map_err(|error| failed(&error))).collect()
}

fn read_checkpoint(path: &Path, known: &[NoteVerifier]) -> Result<Checkpoint, Failure> {
    open_checkpoint(path, known)?.map_err(|error| refused(path, &error))
}

fn open_checkpoint(path: &Path, known: &[NoteVerifier]) -> Result<Result<Checkpoint, OpenCheckpointError>, Failure> {
    let note = fs::read_to_string(path).map_err(|error| refused(path, &error))?;
    Ok(Checkpoint::open(&note, known))
}

fn refused(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::EvidenceBroken, format!("the checkpoint `{}` is refused", path.display())).caused_by(error)
}
