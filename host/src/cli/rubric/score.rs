//! `eval-host rubric score`: one output for one case, in the sandbox of a run and under its limits.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::bench::{Bench, load_bench};
use crate::cli::exit::Exit;
use crate::cli::printer::Printer;
use crate::cli::problem::Problem;
use crate::cli::{open_bench_root, open_input_root, read_file, surroundings};
use crate::contract::{CapturedStream, Meter, RubricRunner as _, ScoreRequest, Scored};
use crate::files::MOST_FILE_BYTES;
use crate::ids::CaseId;
use crate::json;
use crate::sandbox::{MOST_COMPONENT_BYTES, ScratchEntry, ScratchTree};
use crate::score::{BenchScore, CaseFault, OutcomeClass, is_harmless};
use crate::stage::{StagedCase, stage};

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
    /// Where inputs lie that are too large for a bench (see input-pointer.toml).
    #[arg(long, value_name = "DIR")]
    input_root: Option<PathBuf>,
}

#[derive(Serialize)]
struct ScoreLine<'a> {
    kind: &'static str,
    case_id: &'a CaseId,
    outcome: OutcomeClass,
    score: &'a BenchScore,
    fuel_used: Option<u64>,
    fuel_limit: u64,
    peak_memory_bytes: Option<u64>,
    memory_limit_bytes: u64,
}

pub(in crate::cli) fn score(args: &ScoreArgs) -> Result<Exit, Problem> {
    let (bench, staged) = load(args)?;
    let output_json = read_output(&args.output)?;
    let (name, component) = match &args.rubric {
        Some(path) => (format!("`{}`", path.display()), read_file(path, MOST_COMPONENT_BYTES)?),
        None => (format!("the rubric of `{}`", bench.registration.task_class), bench.rubric.clone()),
    };
    let rubric = surroundings::sandbox(NonZeroUsize::MIN)?
        .load(&component)
        .map_err(|error| Problem::new(Exit::HarnessError, format!("failed to load {name}")).caused_by(&error))?
        .prepare(bench.registration.limits);
    let meter = Meter::default();
    let request = ScoreRequest {
        case: &staged.case,
        case_digest: staged.case_digest,
        files: &staged.files,
        output_json: &output_json,
        meter,
    };
    let not_run = |error| Problem::from_error(Exit::HarnessError, &error);
    match &args.keep_scratch {
        None => report(&bench, &staged, &rubric.score(&request).map_err(not_run)?, meter),
        Some(folder) => {
            let (scored, scratch) = rubric.score_keeping_scratch(&request).map_err(not_run)?;
            let exit = report(&bench, &staged, &scored, meter)?;
            write_scratch(folder, &scratch)?;
            Ok(exit)
        }
    }
}

/// The bench around the case's folder, and the case.
fn load(args: &ScoreArgs) -> Result<(Bench, StagedCase), Problem> {
    let case = fs::canonicalize(&args.case).map_err(|error| {
        Problem::new(Exit::UsageOrCap, format!("the case `{}` cannot be opened", args.case.display())).caused_by(&error)
    })?;
    let places = || {
        let (cases, name) = (case.parent()?, case.file_name()?.to_str()?);
        let bench = cases.parent().filter(|_| cases.file_name().is_some_and(|name| name == "cases"))?;
        Some((bench.parent()?, bench.file_name()?.to_str()?.parse().ok()?, name))
    };
    let Some((root, task_class, name)) = places() else {
        let what = format!("`{}` is not a case's folder, `bench/<slug>/cases/<case-id>`", args.case.display());
        return Err(Problem::new(Exit::UsageOrCap, what));
    };
    let bench = load_bench(&open_bench_root(root)?, &task_class)?;
    let input_root = open_input_root(args.input_root.as_deref())?;
    let loaded = bench
        .open_case(name)
        .and_then(|folder| stage(&folder, &input_root).map_err(|error| bench.load_error(name, &error)));
    match loaded {
        Ok(staged) => Ok((bench, staged)),
        Err(entry) => {
            let what = format!("{} does not load: {}: {}", entry.folder, entry.field, entry.message);
            Err(Problem::new(Exit::HarnessError, what))
        }
    }
}

fn read_output(path: &Path) -> Result<String, Problem> {
    let wrong = |why: String| Problem::new(Exit::UsageOrCap, format!("`{}` is not an output: {why}", path.display()));
    let text = String::from_utf8(read_file(path, MOST_FILE_BYTES)?).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    json::check_object(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(text)
}

fn report(bench: &Bench, staged: &StagedCase, scored: &Scored, meter: Meter) -> Result<Exit, Problem> {
    let block = &bench.registration.block_modes;
    let admitted = scored.result.clone().and_then(|raw| BenchScore::admit(raw, meter, block));
    let (outcome, score) = match admitted.map_err(CaseFault::Rubric) {
        Ok(score) => (OutcomeClass::Scored, score),
        Err(fault) => (fault.class(), BenchScore::faulted(&fault, meter)),
    };
    let limits = bench.registration.limits;
    let mut printer = Printer::stdio();
    for (name, stream) in [("stdout", &scored.stdout), ("stderr", &scored.stderr)] {
        show_stream(&mut printer, name, stream);
    }
    let fuel = scored.fuel_used.map_or("unknown".to_owned(), |fuel| fuel.to_string());
    printer.tell(&format!("fuel: {fuel} of {}", limits.fuel()));
    let peak = scored.peak_memory_bytes.map_or("unknown".to_owned(), |peak| peak.to_string());
    printer.tell(&format!("peak memory: {peak} of {} bytes", limits.memory_bytes()));
    printer.data(&ScoreLine {
        kind: "case",
        case_id: &staged.case.case_id,
        outcome,
        score: &score,
        fuel_used: scored.fuel_used,
        fuel_limit: limits.fuel(),
        peak_memory_bytes: scored.peak_memory_bytes,
        memory_limit_bytes: limits.memory_bytes(),
    });
    printer.finish(if score.passed() { Exit::Ok } else { Exit::AnswerIsNo })
}

/// A guest's words, with whatever could talk to a terminal escaped.
fn show_stream(printer: &mut Printer, name: &str, stream: &CapturedStream) {
    for line in String::from_utf8_lossy(&stream.kept).lines() {
        let escape = |character: char| match is_harmless(character) {
            true => character.to_string(),
            false => character.escape_default().to_string(),
        };
        printer.tell(&format!("{name}: {}", line.chars().map(escape).collect::<String>()));
    }
    if stream.dropped_bytes > 0 {
        printer.tell(&format!("{name}: … {} bytes cut off", stream.dropped_bytes));
    }
}

/// Writes what the rubric left. Links are written as text: nothing on disk points anywhere, and nothing is written twice.
fn write_scratch(folder: &Path, scratch: &ScratchTree) -> Result<(), Problem> {
    let failed = |path: &Path, error: &std::io::Error| {
        let what = format!("the scratch directory could not be written to `{}`", path.display());
        Problem::new(Exit::HarnessError, what).caused_by(error)
    };
    fs::create_dir(folder)
        .map_err(|error| failed(folder, &error).hint("--keep-scratch takes a folder that does not exist yet"))?;
    for (path, entry) in &scratch.entries {
        let target = folder.join(path);
        let written = match entry {
            ScratchEntry::Directory => fs::create_dir_all(&target),
            ScratchEntry::File(bytes) => write_below(&target, bytes),
            ScratchEntry::HardLink(to) => write_below(&target, format!("hard link to {to}\n").as_bytes()),
            ScratchEntry::Symlink(to) => write_below(&target, format!("symbolic link to {to}\n").as_bytes()),
        };
        written.map_err(|error| failed(&target, &error))?;
    }
    if scratch.left_out > 0 {
        Printer::stdio().tell(&format!("scratch: {} paths are too long to be written", scratch.left_out));
    }
    Ok(())
}

fn write_below(target: &Path, bytes: &[u8]) -> Result<(), std::io::Error> {
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(target, bytes)
}
