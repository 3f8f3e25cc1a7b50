//! `eval-host keygen`, and how keys, keys files and the notes beside them are read: a secret key only where it is its owner's alone.

#![expect(clippy::disallowed_methods, reason = "keys and checkpoints lie where the user says, links and all")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::OFlags;

use super::environment;
use super::error::{ArgumentError, EvidenceError, HostError, ReadCheckpointError, ReadKeyError, ReadTrustedKeysError};
use super::failure::Failure;
use super::printer::Printer;
use crate::live::agent::quoted;
use crate::output::lines::Line;
use eval_evidence::anchor::{Checkpoint, NoteSigner, NoteVerifier, RETIRED, RotationNote, TrustedKeys};
use eval_model::advice::Exit;

/// Where checkpoints and the keys that are trusted for them are committed.
pub(super) const ANCHORS: &str = "audit/anchors";

/// What the list of trusted keys is called there.
pub(super) const KEYS: &str = "keys";

/// Most bytes of a key, of a list of keys and of a checkpoint: thousands of lines.
const MOST_TEXT: u64 = 1 << 20;

/// What only the owner of a secret key may do with its file.
const OTHERS: u32 = 0o077;

#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// What the key is called, for example a host and a purpose: `ci.example.org/eval-host`.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The file for the secret key, which must not exist yet. Keep it away from the store and out of git.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The secret key that the new one takes the place of: it signs that whoever trusts it trusts the new one.
    #[arg(long, value_name = "FILE")]
    rotate: Option<PathBuf>,
    /// The folder with the keys file, where the rotation note goes.
    #[arg(long, value_name = "DIR", default_value = ANCHORS)]
    to: PathBuf,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<Exit, Failure> {
    let old = args.rotate.as_deref().map(|path| Old::read(path, &args.to)).transpose()?;
    let signer = NoteSigner::generate(&args.name)?;
    write_new(&args.key, 0o600, &format!("{}\n", signer.to_secret_text()))
        .map_err(|source| HostError::WriteKey { path: args.key.clone(), source })?;
    let verifier = signer.verifier().to_string();
    let rotation = old.as_ref().map(|old| rotate(args, &old.signer, signer.verifier())).transpose()?;
    let mut printer = Printer::stdio();
    match old.as_ref().zip(rotation.as_ref()) {
        Some((old, rotation)) => old.tell(rotation, &args.to, &mut printer),
        None => {
            let keys = args.to.join(KEYS);
            let keys = keys.display();
            printer.tell(&format!("commit this line to `{keys}`, so that others can check what the key signs:"));
            printer.tell(&verifier);
        }
    }
    let rotation = rotation.as_ref().map(|path| path.to_string_lossy());
    printer.data(&Line::Key { verifier: &verifier, rotation: rotation.as_deref() });
    printer.finish(Exit::Ok)
}

/// Writes the note by which the old key brings in the new one.
fn rotate(args: &KeygenArgs, old: &NoteSigner, new: &NoteVerifier) -> Result<PathBuf, Failure> {
    let note = RotationNote::new(old, new)?;
    let path = args.to.join(&note.name);
    let written = fs::create_dir_all(&args.to).and_then(|()| write_new(&path, 0o644, &note.text));
    match written {
        Ok(()) => Ok(path),
        Err(source) => {
            // Nobody trusts the key without the note, and its file's name is needed for the next attempt.
            let _ = fs::remove_file(&args.key);
            Err(HostError::WriteRotation { path, source }.into())
        }
    }
}

/// A key that another one takes the place of.
struct Old {
    signer: NoteSigner,
    path: PathBuf,
    /// Where the keys file gets its line: `line 2 of … becomes`.
    place: String,
    /// The names of its last checkpoints.
    last: Vec<String>,
}

impl Old {
    /// Reads the key, and what there is about it in the folder of the anchors.
    fn read(path: &Path, folder: &Path) -> Result<Self, Failure> {
        let signer = read_signer(path)?;
        let keys = folder.join(KEYS);
        let text =
            read_if_any(&keys).map_err(|source| trusted_keys_error(&keys, ReadTrustedKeysError::File(source)))?;
        let verifier = signer.verifier().to_string();
        let is_it = |line: &str| line.split(' ').next() == Some(verifier.as_str());
        let place = match text.unwrap_or_default().lines().position(is_it) {
            Some(index) => format!("line {} of `{}` becomes", index + 1, keys.display()),
            None => format!("`{}` gets the line", keys.display()),
        };
        let last = last_checkpoints(folder, signer.verifier())?;
        Ok(Self { signer, path: path.to_owned(), place, last })
    }

    /// What is left to do for whoever rotates it.
    fn tell(&self, rotation: &Path, folder: &Path, printer: &mut Printer) {
        let (verifier, place) = (self.signer.verifier(), &self.place);
        let name = verifier.name();
        printer.tell(&format!("commit `{}`: by it, whoever trusts `{name}` trusts the new key", rotation.display()));
        let (key, folder) = (quoted(&self.path.to_string_lossy()), quoted(&folder.to_string_lossy()));
        printer.tell(&format!(
            "to retire the old key, sign a last checkpoint of every store with `eval-host anchor --key {key} --to {folder}`: what it \
             signed since the one that is named is not believed; then {place}:"
        ));
        if self.last.is_empty() {
            printer.tell(&format!("{verifier} {RETIRED} <the checkpoint's file name>"));
        }
        for checkpoint in &self.last {
            printer.tell(&format!("{verifier} {RETIRED} {checkpoint}"));
        }
    }
}

/// The names of the last checkpoints in a folder that a key has signed, one per store.
fn last_checkpoints(folder: &Path, key: &NoteVerifier) -> Result<Vec<String>, Failure> {
    let mut last = BTreeMap::new();
    for path in notes_in(folder)? {
        let note = read_regular(&path).ok();
        let Some(checkpoint) = note.and_then(|note| Checkpoint::open(&note, std::slice::from_ref(key)).ok()) else {
            continue;
        };
        let Some(name) = path.file_name() else { continue };
        let signed = (checkpoint.signed_at(), name.to_string_lossy().into_owned());
        let newest = last.entry(checkpoint.store_id()).or_insert_with(|| signed.clone());
        *newest = signed.max(newest.clone());
    }
    Ok(last.into_values().map(|(_, name)| name).collect())
}

/// The texts in a folder that may be checkpoints, by name.
pub(super) fn notes_in(folder: &Path) -> Result<Vec<PathBuf>, HostError> {
    let mut names = text_names(folder)?;
    names.retain(|name| !RotationNote::has_name(name));
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// The names in a folder that end as those of notes do, sorted.
fn text_names(folder: &Path) -> Result<Vec<String>, HostError> {
    let names = names_in(folder).map_err(|source| HostError::ListCheckpoints { path: folder.to_owned(), source })?;
    let mut names: Vec<_> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.ends_with(".txt"));
    names.sort_unstable();
    Ok(names)
}

/// What a folder holds; nothing where there is none.
fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(super) fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The text of a list of keys or a checkpoint. What does not end soon is neither: a user may have named a device.
fn read_text(path: &Path) -> io::Result<String> {
    read_bounded(File::open(path)?)
}

fn read_bounded(file: impl Read) -> io::Result<String> {
    let mut text = String::new();
    file.take(MOST_TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_TEXT { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// The text of a file of which the user did not name the name, so that it may be anything. Nothing is waited for.
fn read_regular(path: &Path) -> io::Result<String> {
    read_bounded(open_regular(path)?)
}

/// Opens a file that must be a regular one: nobody may ever write into a FIFO, and a device has no owner's mode to judge.
fn open_regular(path: &Path) -> io::Result<File> {
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

fn read_if_any(path: &Path) -> io::Result<Option<String>> {
    match read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The key that the user signs with.
pub(super) fn read_signer(path: &Path) -> Result<NoteSigner, ArgumentError> {
    read_secret(path).map_err(|source| ArgumentError::SigningKey { path: path.to_owned(), source })
}

/// Whoever else can read the key can sign with it, and whoever else owns it can read it whenever they like.
fn read_secret(path: &Path) -> Result<NoteSigner, ReadKeyError> {
    let file = open_regular(path).map_err(ReadKeyError::File)?;
    let metadata = file.metadata().map_err(ReadKeyError::File)?;
    let (owner, user, mode) = (metadata.uid(), environment::user(), metadata.mode() & 0o7777);
    // First whether it is a key at all: nobody should be told to change the mode of a file that was named by mistake.
    let text = read_bounded(file).map_err(ReadKeyError::File)?;
    let signer = text.trim_end().parse().map_err(ReadKeyError::Malformed)?;
    if owner != user && owner != 0 {
        return Err(ReadKeyError::ForeignOwner { owner, user });
    }
    if mode & OTHERS != 0 {
        return Err(ReadKeyError::OpenToOthers { mode });
    }
    Ok(signer)
}

/// The keys that a file says are trusted, with the checkpoints and the rotation notes in its folder.
pub(super) fn read_trusted(path: &Path) -> Result<TrustedKeys, EvidenceError> {
    let text = read_text(path).map_err(|source| trusted_keys_error(path, ReadTrustedKeysError::File(source)))?;
    trusted(path, &text)
}

/// The same, and nobody where there is no such file.
pub(super) fn read_trusted_if_any(path: &Path) -> Result<TrustedKeys, EvidenceError> {
    let text = read_if_any(path).map_err(|source| trusted_keys_error(path, ReadTrustedKeysError::File(source)))?;
    trusted(path, &text.unwrap_or_default())
}

fn trusted(path: &Path, text: &str) -> Result<TrustedKeys, EvidenceError> {
    // What is named without a folder is in this one.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let read = |name: &str| read_regular(&folder.join(name));
    let rotations = rotations_in(folder).map_err(|source| trusted_keys_error(path, source))?;
    TrustedKeys::parse(text, &read, rotations)
        .map_err(|source| trusted_keys_error(path, ReadTrustedKeysError::Malformed(source)))
}

fn rotations_in(folder: &Path) -> Result<Vec<RotationNote>, ReadTrustedKeysError> {
    let listed = names_in(folder).map_err(|source| ReadTrustedKeysError::Folder { path: folder.to_owned(), source })?;
    let names = listed.into_iter().filter_map(|name| name.into_string().ok());
    let read = |name: String| match read_regular(&folder.join(&name)) {
        Ok(text) => Ok(RotationNote { name, text }),
        Err(source) => Err(ReadTrustedKeysError::Rotation { path: folder.join(name), source }),
    };
    names.filter(|name| RotationNote::has_name(name)).map(read).collect()
}

pub(super) fn trusted_keys_error(path: &Path, source: ReadTrustedKeysError) -> EvidenceError {
    EvidenceError::TrustedKeys { path: path.to_owned(), source }
}

/// A checkpoint that the user named.
pub(super) fn read_checkpoint(path: &Path, trusted: &TrustedKeys) -> Result<Checkpoint, ReadCheckpointError> {
    let note = read_text(path).map_err(ReadCheckpointError::File)?;
    trusted.open_checkpoint(&note).map_err(ReadCheckpointError::Untrusted)
}

/// A file that was found where checkpoints are.
pub(super) fn read_found_checkpoint(path: &Path, trusted: &TrustedKeys) -> Result<Checkpoint, ReadCheckpointError> {
    let note = read_regular(path).map_err(ReadCheckpointError::File)?;
    trusted.open_checkpoint(&note).map_err(ReadCheckpointError::Untrusted)
}
