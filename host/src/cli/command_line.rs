//! The command line as a whole: the commands, where things are, and how the program ends.

#![expect(clippy::disallowed_methods, reason = "a file that the user names may be a pipe")]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::bench::BenchRootArgs;
use super::environment;
use super::error::{ArgumentError, NamedFolder};
use crate::live::agent::quoted;
use eval_evidence::files::{Dir, FileError};
use eval_model::advice::Exit;

/// Scores code agents with sandboxed, deterministic rubrics and chains the evidence.
#[derive(Debug, Parser)]
#[command(name = "eval-host", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  everything worked and the answer is yes
  1  harness error: load errors, a rubric that does not load or match its pin, missing cassettes,
     a record not written
  2  usage error, or the cost cap was reached
  3  task class not found
  4  no cases, or none selected
  5  everything worked and the answer is no: a case failed or faulted, a gap in a bench, a golden
     test that does not hold, evidence that is not sufficient
  6  evidence broken: the chain, the last-seen head or a replay does not hold, or it is unknown
     whether a record was committed
130  interrupted: nothing was chained";

#[derive(Debug, Subcommand)]
enum Command {
    /// Score the cases of a task class and chain the result.
    Run(Box<super::run::RunArgs>),
    /// Score the answer sets of a run's shards and chain the result.
    Merge(super::merge::MergeArgs),
    /// Check the chained records of a store.
    Verify(super::verify::VerifyArgs),
    /// Check that every bench is complete and in order; names all gaps at once.
    Fence(super::fence::FenceArgs),
    /// List the task classes, their tiers, their cases and when they were last run.
    List(super::list::ListArgs),
    /// List the runs of a store, with the state of its evidence.
    Log(super::log::LogArgs),
    /// Show one record, case by case.
    Show(super::show::ShowArgs),
    /// Write one record with everything it needs to a file that can be checked anywhere.
    Export(super::export::ExportArgs),
    /// Make a key that signs checkpoints and records.
    Keygen(super::keys::KeygenArgs),
    /// Sign a checkpoint of the store, to be committed where nobody can rewrite it.
    Anchor(super::anchor::AnchorArgs),
    /// Say whether the newest evidence is enough for the next tier.
    PromoteVerdict(super::promote::PromoteArgs),
    /// Refuses: a tier is changed by a human. Says where.
    Promote(super::promote::PromoteArgs),
    /// For rubric authors.
    #[command(subcommand)]
    Rubric(super::rubric::RubricCommand),
    /// Print completions for a shell.
    Completions(super::shell::CompletionsArgs),
    /// Print the man page of eval-host, or of one of its commands.
    Man(super::shell::ManArgs),
}

/// How long to wait for another process that holds the same store.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(60);

pub(super) const DEFAULT_STORE: &str = ".codegenie/eval";
pub(super) const DEFAULT_BENCH_ROOT: &str = "bench";

/// Where things are; the same for every command.
#[derive(Debug, Args)]
pub(super) struct Places {
    /// The store that holds records and objects.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_STORE)]
    pub(super) out: PathBuf,
    #[command(flatten)]
    pub(super) bench_root: BenchRootArgs,
}

impl Places {
    /// The flags that name these places for a shell, each with a space before it; those that say nothing are left out.
    pub(super) fn as_flags(&self) -> String {
        let flag = |name: &str, path: &Path, default: &str| {
            let word = quoted(&path.to_string_lossy());
            if path == Path::new(default) { String::new() } else { format!(" {name} {word}") }
        };
        flag("--out", &self.out, DEFAULT_STORE) + &flag("--bench-root", self.bench_root.path(), DEFAULT_BENCH_ROOT)
    }
}

/// Runs the command line of this process and says how it ended.
pub fn main() -> ExitCode {
    // Not among the commands: a live run starts the first for itself, three times for every case, and whatever loads a rubric
    // starts the second.
    if let Some(stage) = environment::cage_stage() {
        return super::cage::run(&stage);
    }
    if let Some(words) = environment::compiler_job() {
        return super::compiler::run(&words);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match cli.command {
        Command::Run(args) => super::run::run(&args),
        Command::Merge(args) => super::merge::merge(args),
        Command::Completions(args) => super::shell::completions(&args),
        Command::Man(args) => super::shell::man(&args),
        Command::Verify(args) => super::verify::verify(&args),
        Command::Fence(args) => super::fence::fence(&args),
        Command::List(args) => super::list::list(&args),
        Command::Log(args) => super::log::log(&args),
        Command::Show(args) => super::show::show(&args),
        Command::Export(args) => super::export::export(&args),
        Command::Keygen(args) => super::keys::keygen(&args),
        Command::Anchor(args) => super::anchor::anchor(&args),
        Command::PromoteVerdict(args) => super::promote::promote_verdict(&args),
        Command::Promote(args) => super::promote::promote(&args),
        Command::Rubric(command) => super::rubric::rubric(command),
    };
    match result {
        Ok(exit) => exit.code().into(),
        Err(failure) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "{}", failure.rendered());
            failure.exit.code().into()
        }
    }
}

/// clap's own errors, help and version. A closed stdout or stderr is not a reason to panic.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let exit = if error.use_stderr() { Exit::UsageOrCap } else { Exit::Ok };
    exit.code().into()
}

/// Opens a folder that the user named, as what it is for.
pub(super) fn open_named(path: &Path, folder: NamedFolder) -> Result<Dir, ArgumentError> {
    let FileError { path, problem } = match Dir::open_ambient(path) {
        Ok(dir) => return Ok(dir),
        Err(error) => error,
    };
    Err(ArgumentError::Folder { folder, path, problem })
}

/// Reads a file that the user named, at most `most` bytes of it. It may be a pipe.
pub(super) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, ArgumentError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(|source| ArgumentError::Read { path: path.to_owned(), source })?;
    if bytes.len() as u64 > most {
        return Err(ArgumentError::TooLarge { path: path.to_owned(), most });
    }
    Ok(bytes)
}
