//! `eval-host export`: one record with everything that a reviewer needs, in one file.

#![expect(clippy::disallowed_methods, reason = "a bundle lies where the user says")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;

use super::Places;
use super::error::HostError;
use super::evidence::{Opened, TrustArgs};
use super::failure::Failure;
use super::printer::Printer;
use crate::output::lines::Line;
use eval_evidence::bundle::{ExportError, export as write_bundle};
use eval_evidence::chain::Link;
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
    let not_written = |source| HostError::WriteBundle { path: path.clone(), source };
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let file = file.map_err(|error| not_written(ExportError::Write(error)))?;
    if let Err(error) = write(&opened, link, file) {
        // Half a bundle is of no use to anybody, and its being there is a reason to fail the next time.
        let _ = fs::remove_file(&path);
        return Err(not_written(error).into());
    }
    let mut printer = Printer::stdio();
    printer.tell(&format!("check the bundle anywhere with `eval-host verify {} --replay`", path.display()));
    printer.data(&Line::Bundle { path: &path.to_string_lossy() });
    printer.finish(Exit::Ok)
}

fn write(opened: &Opened, link: &Link, file: File) -> Result<(), ExportError> {
    let mut out = BufWriter::new(file);
    write_bundle(opened.evidence(), &opened.verification, link, &mut out)?;
    out.flush().map_err(ExportError::Write)
}
