//! `eval-host keygen` and `eval-host anchor`: signed checkpoints, to be committed where the store's owner cannot rewrite them.

#![expect(clippy::disallowed_methods, reason = "keys and checkpoints lie where the user says, links and all")]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{ArgumentError, EvidenceError, HostError, ReadCheckpointError, ReadKeyError};
use super::evidence::{Opened, TrustArgs};
use super::failure::Failure;
use super::printer::Printer;
use super::{Places, environment};
use crate::output::lines::Line;
use eval_evidence::anchor::{Checkpoint, NoteError, NoteSigner, NoteVerifier, OpenCheckpointError};
use eval_evidence::chain::StoreId;
use eval_evidence::verify::{ObjectScope, Verification};
use eval_model::advice::Exit;

/// Where checkpoints and the keys that are trusted for them are committed.
const ANCHORS: &str = "audit/anchors";

/// Most bytes of a key, of a list of keys and of a checkpoint: thousands of lines.
const MOST_TEXT: u64 = 1 << 20;

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
    let signer = NoteSigner::generate(&args.name)?;
    write_new(&args.key, 0o600, &format!("{}\n", signer.to_secret_text()))
        .map_err(|source| HostError::WriteKey { path: args.key.clone(), source })?;
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
    let note = checkpoint.sign(&signer)?;
    let path = args.to.join(format!("{store_id}-{}.txt", environment::now()?.basic()));
    let written = fs::create_dir_all(&args.to).and_then(|()| write_new(&path, 0o644, &note));
    written.map_err(|source| HostError::WriteCheckpoint { path: path.clone(), source })?;
    let mut printer = Printer::stdio();
    printer.tell("commit the checkpoint to a protected branch: beside the store it proves nothing");
    printer.data(&Line::Checkpoint { path: &path.to_string_lossy() });
    printer.finish(Exit::Ok)
}

/// Whoever signs must not sign two pasts: the store must have all that this key has signed of it, as far as that is there.
fn check_extends_earlier(folder: &Path, signer: &NoteSigner, verification: &mut Verification) -> Result<(), Failure> {
    for path in checkpoints_in(folder, verification.store_id)? {
        let checkpoint = match read_checkpoint(&path, &[signer.verifier().clone()]) {
            Ok(checkpoint) => checkpoint,
            // Another key's: its owner compares with it.
            Err(ReadCheckpointError::Untrusted(OpenCheckpointError::Note(NoteError::Unsigned))) => continue,
            Err(source) => return Err(EvidenceError::Checkpoint { path, source }.into()),
        };
        verification.compare_with_checkpoint(&checkpoint, ObjectScope::All);
        if let Some(finding) = verification.findings.first() {
            return Err(EvidenceError::OtherPast { path, finding: finding.to_string() }.into());
        }
    }
    Ok(())
}

/// The checkpoints of a store that are in a folder, the oldest first.
fn checkpoints_in(folder: &Path, store_id: StoreId) -> Result<Vec<PathBuf>, HostError> {
    let mut names =
        names_in(folder).map_err(|source| HostError::ListCheckpoints { path: folder.to_owned(), source })?;
    let prefix = format!("{store_id}-");
    names.retain(|name| name.to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".txt")));
    names.sort_unstable();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// What a folder holds; nothing where there is none.
fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The text of a key, a list of keys or a checkpoint. What does not end soon is none of them: a user may have named a device.
fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST_TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_TEXT { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

pub(super) fn read_signer(path: &Path) -> Result<NoteSigner, ArgumentError> {
    let parse = |text: String| text.trim_end().parse().map_err(ReadKeyError::Malformed);
    let signer = read_text(path).map_err(ReadKeyError::File).and_then(parse);
    signer.map_err(|source| ArgumentError::SigningKey { path: path.to_owned(), source })
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
        let known = self.trusted_keys.require()?;
        let read = |path: &PathBuf| {
            read_checkpoint(path, &known).map_err(|source| EvidenceError::Checkpoint { path: path.clone(), source })
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
    #[arg(long, value_name = "FILE")]
    trusted_keys: Option<PathBuf>,
}

impl TrustedKeysArgs {
    /// The keys; `None` where nobody named a file, and the usual one is not there.
    pub(super) fn if_any(&self) -> Result<Option<Vec<NoteVerifier>>, EvidenceError> {
        match self.require() {
            Err(EvidenceError::TrustedKeys { source: ReadKeyError::File(error), .. })
                if self.trusted_keys.is_none() && error.kind() == io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            keys => keys.map(Some),
        }
    }

    fn require(&self) -> Result<Vec<NoteVerifier>, EvidenceError> {
        let path = self.trusted_keys.clone().unwrap_or_else(|| Path::new(ANCHORS).join("keys"));
        read_keys(&path).map_err(|source| EvidenceError::TrustedKeys { path, source })
    }
}

fn read_keys(path: &Path) -> Result<Vec<NoteVerifier>, ReadKeyError> {
    let text = read_text(path).map_err(ReadKeyError::File)?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.parse().map_err(ReadKeyError::Malformed)).collect()
}

fn read_checkpoint(path: &Path, known: &[NoteVerifier]) -> Result<Checkpoint, ReadCheckpointError> {
    let note = read_text(path).map_err(ReadCheckpointError::File)?;
    Checkpoint::open(&note, known).map_err(ReadCheckpointError::Untrusted)
}
