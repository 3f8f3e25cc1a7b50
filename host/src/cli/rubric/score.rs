//! `eval-host rubric score`: one output for one case, in the sandbox of a run and under its limits.

#![expect(
    clippy::disallowed_methods,
    reason = "the case, the output and the scratch directory lie where the user says"
)]

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::author::{ForAuthor, tell_backtrace};
use crate::bench::Bench;
use crate::cli::bench::{InputRootArgs, open_bench, prepare_component, prepare_rubric};
use crate::cli::error::{ArgumentError, HostError};
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::cli::read_file;
use crate::output::lines::{Line, TriedCaseLine};
use eval_evidence::files::MOST_FILE_BYTES;
use eval_model::advice::Exit;
use eval_model::case::ReadCase;
use eval_model::contract::{CapturedStream, Meter};
use eval_model::json;
use eval_model::judge::{Judgement, judge};
use eval_sandbox::{Leavings, MOST_COMPONENT_BYTES, ScratchEntry, ScratchTree};

#[derive(Debug, Args)]
pub(in crate::cli) struct ScoreArgs {
    /// The component [default: the bench's own].
    #[arg(long, value_name = "WASM")]
    rubric: Option<PathBuf>,
    /// The case's folder, `bench/<slug>/cases/<case-id>`.
    #[arg(long, value_name = "DIR")]
    case: PathBuf,
    /// A file with the output: one JSON object, as the system under test would give it.
    #[arg(long, value_name = "JSON")]
    output: PathBuf,
    /// Write the scratch directory, as the rubric left it, to this new folder.
    #[arg(long, value_name = "DIR")]
    keep_scratch: Option<PathBuf>,
    #[command(flatten)]
    input_root: InputRootArgs,
}

pub(in crate::cli) fn score(args: &ScoreArgs) -> Result<Exit, Failure> {
    let (bench, case) = load(args)?;
    let output_json = read_output(&args.output)?;
    let (limits, workers) = (bench.registration.limits, NonZeroUsize::MIN);
    let rubric = match &args.rubric {
        Some(path) => {
            let component = read_file(path, MOST_COMPONENT_BYTES)?;
            prepare_component(format!("`{}`", path.display()), &component, limits, workers)?
        }
        None => prepare_rubric(&bench, workers)?,
    };
    let runner = ForAuthor::new(&rubric);
    let judged = judge(&runner, &case, &output_json, Meter::default(), &bench.registration.standards.block_modes)?;
    let leavings = runner.take_leavings();
    let exit = report(&bench, &case, &judged, leavings.as_ref())?;
    if let (Some(folder), Some(leavings)) = (&args.keep_scratch, leavings) {
        write_scratch(folder, &leavings.scratch())?;
    }
    Ok(exit)
}

/// The bench around the case's folder, and the case.
fn load(args: &ScoreArgs) -> Result<(Bench, ReadCase), Failure> {
    let case =
        fs::canonicalize(&args.case).map_err(|source| ArgumentError::OpenCase { path: args.case.clone(), source })?;
    let places = || {
        let (cases, name) = (case.parent()?, case.file_name()?.to_str()?);
        let bench = cases.parent().filter(|_| cases.file_name().is_some_and(|name| name == "cases"))?;
        Some((bench.parent()?, bench.file_name()?.to_str()?.parse().ok()?, name))
    };
    let (root, task_class, name) = places().ok_or_else(|| ArgumentError::NotACase { path: args.case.clone() })?;
    let bench = open_bench(root, &task_class)?;
    let input_root = args.input_root.open()?;
    let case = bench.read_case(name, &input_root)?;
    Ok((bench, case.read))
}

fn read_output(path: &Path) -> Result<String, Failure> {
    let wrong = |why: String| ArgumentError::NotAnOutput { path: path.to_owned(), why };
    let text = String::from_utf8(read_file(path, MOST_FILE_BYTES)?).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    json::check_object(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(text)
}

fn report(bench: &Bench, case: &ReadCase, judged: &Judgement, leavings: Option<&Leavings>) -> Result<Exit, Failure> {
    let limits = bench.registration.limits;
    let mut printer = Printer::stdio();
    for (name, stream) in [("stdout", &judged.stdout), ("stderr", &judged.stderr)] {
        show_stream(&mut printer, name, stream);
    }
    if let Some(fault) = &judged.fault {
        printer.tell(&format!("fault: {fault}"));
        leavings.into_iter().for_each(|leavings| tell_backtrace(&mut printer, leavings));
    }
    let fuel = judged.fuel_used.map_or("unknown".to_owned(), |fuel| fuel.to_string());
    printer.tell(&format!("fuel: {fuel} of {}", limits.fuel()));
    let peak = judged.peak_memory_bytes.map_or("unknown".to_owned(), |peak| peak.to_string());
    printer.tell(&format!("peak memory: {peak} of {} bytes", limits.memory_bytes()));
    printer.data(&Line::TriedCase(TriedCaseLine::new(&case.case.case_id, judged, limits)));
    printer.finish(if judged.score.passed() { Exit::Ok } else { Exit::AnswerIsNo })
}

fn show_stream(printer: &mut Printer, name: &str, stream: &CapturedStream) {
    for line in String::from_utf8_lossy(&stream.kept).lines() {
        printer.tell(&format!("{name}: {line}"));
    }
    if stream.dropped_bytes > 0 {
        printer.tell(&format!("{name}: … {} bytes cut off", stream.dropped_bytes));
    }
}

/// Writes what the rubric left. Links are written as text: nothing on disk points anywhere, and nothing is written twice.
fn write_scratch(folder: &Path, scratch: &ScratchTree) -> Result<(), Failure> {
    fs::create_dir(folder).map_err(|source| HostError::MakeScratch { path: folder.to_owned(), source })?;
    for (path, entry) in &scratch.entries {
        let target = folder.join(path);
        let written = match entry {
            ScratchEntry::Directory => fs::create_dir_all(&target),
            ScratchEntry::File(bytes) => write_below(&target, bytes),
            ScratchEntry::HardLink(to) => write_below(&target, format!("hard link to {to}\n").as_bytes()),
            ScratchEntry::Symlink(to) => write_below(&target, format!("symbolic link to {to}\n").as_bytes()),
        };
        written.map_err(|source| HostError::WriteScratch { path: target, source })?;
    }
    if scratch.left_out > 0 {
        Printer::stdio()
            .tell(&format!("scratch: {} paths are too long for a disk, and are left out", scratch.left_out));
    }
    Ok(())
}

fn write_below(target: &Path, bytes: &[u8]) -> Result<(), std::io::Error> {
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(target, bytes)
}
