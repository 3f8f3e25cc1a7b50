//! `eval-host export`: one record with everything that a reviewer needs, in one file.

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Places;
use super::error::HostError;
use super::evidence::{Opened, TrustArgs};
use super::failure::Failure;
use super::printer::Printer;
use crate::output::lines::Line;
use eval_evidence::bundle::{ExportError, export as write_bundle};
use eval_evidence::chain::Link;
use eval_evidence::files::{Audience, Dir, Draft};
use eval_model::advice::Exit;

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// The record: its path, or its file's name.
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// The bundle to write, which must not exist yet [default: the record's name with `.tar`, in this folder].
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

pub(super) fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    let opened = Opened::sound(&args.places, args.trust)?;
    let link = opened.find(&args.record)?;
    let default = || PathBuf::from(link.file_name().as_str()).with_extension("tar");
    let path = args.to.clone().unwrap_or_else(default);
    write(&opened, link, &path).map_err(|source| HostError::WriteBundle { path: path.clone(), source })?;
    let mut printer = Printer::stdio();
    printer.tell(&format!("check the bundle anywhere with `eval-host verify {} --replay`", path.display()));
    printer.data(&Line::Bundle { path: &path.to_string_lossy() });
    printer.finish(Exit::Ok)
}

/// The bundle gets its name when it is whole: half of one is of no use to anybody. It holds what the cases expect, which agents
/// must not read, so nobody else may.
fn write(opened: &Opened, link: &Link, path: &Path) -> Result<(), ExportError> {
    let (folder, name) = place(path).ok_or_else(|| ExportError::Write(io::ErrorKind::InvalidFilename.into()))?;
    let folder = Dir::open_ambient(folder).map_err(ExportError::Place)?;
    if folder.contains(name) {
        return Err(ExportError::Write(io::ErrorKind::AlreadyExists.into()));
    }
    let draft = Draft::begin(folder, name, Audience::Owner).map_err(ExportError::Place)?;
    let mut out = BufWriter::new(draft.file());
    write_bundle(opened.evidence(), &opened.verification, link, &mut out)?;
    out.flush().map_err(ExportError::Write)?;
    drop(out);
    draft.publish_new().map(drop).map_err(ExportError::Place)
}

/// The folder of a file, and its name there.
fn place(path: &Path) -> Option<(&Path, &str)> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((folder, path.file_name()?.to_str()?))
}
