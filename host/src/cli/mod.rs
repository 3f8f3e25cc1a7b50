//! Flags to settings, settings to the pipeline, results to an exit code. The only module that names the environment, the
//! clock, stdout, stderr and the user's directories.
//!
//! stdout carries data and nothing else; everything for people goes to stderr. Each command is a file with one entry
//! function.

#![expect(clippy::disallowed_methods, reason = "a file that the user names may be a pipe")]

mod anchor;
mod bench;
mod concurrency;
mod environment;
mod error;
mod evidence;
mod export;
mod failure;
mod fence;
mod list;
mod log;
mod merge;
mod printer;
mod promote;
mod rubric;
mod run;
mod shell;
mod show;
mod verify;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::live::agent::{RunMark, quoted};
use crate::live::guard;
use bench::BenchRootArgs;
use error::{ArgumentError, NamedFolder};
use eval_evidence::files::{Dir, FileError};
use eval_model::advice::Exit;

/// Scores code agents with sandboxed, deterministic rubrics and chains the evidence.
#[derive(Debug, Parser)]
#[command(name = "eval-host", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
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
    Run(run::RunArgs),
    /// Score the answer sets of a run's shards and chain the result.
    Merge(merge::MergeArgs),
    /// Check the chained records of a store.
    Verify(verify::VerifyArgs),
    /// Check that every bench is complete and in order; names all gaps at once.
    Fence(fence::FenceArgs),
    /// List the task classes, their tiers, their cases and when they were last run.
    List(list::ListArgs),
    /// List the runs of a store, with the state of its evidence.
    Log(log::LogArgs),
    /// Show one record, case by case.
    Show(show::ShowArgs),
    /// Write one record with everything it needs to a file that can be checked anywhere.
    Export(export::ExportArgs),
    /// Make a key that signs checkpoints.
    Keygen(anchor::KeygenArgs),
    /// Sign a checkpoint of the store, to be committed where nobody can rewrite it.
    Anchor(anchor::AnchorArgs),
    /// Say whether the newest evidence is enough for the next tier.
    PromoteVerdict(promote::PromoteArgs),
    /// Refuses: a tier is changed by a human. Says where.
    Promote(promote::PromoteArgs),
    /// For rubric authors.
    #[command(subcommand)]
    Rubric(rubric::RubricCommand),
    /// Print completions for a shell.
    Completions(shell::CompletionsArgs),
    /// Print the man page of eval-host, or of one of its commands.
    Man(shell::ManArgs),
    /// Ends the agents of a host that is gone. A live run starts it for itself.
    #[command(name = guard::COMMAND, hide = true)]
    Guard(GuardArgs),
}

/// What the guard of a host's agents is told.
#[derive(Debug, Args)]
struct GuardArgs {
    /// The mark of the host.
    #[arg(value_parser = |text: &str| RunMark::try_from(text.to_owned()))]
    host: RunMark,
}

/// How long to wait for another process that holds the same store.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

const DEFAULT_STORE: &str = ".codegenie/eval";
const DEFAULT_BENCH_ROOT: &str = "bench";

/// Where things are; the same for every command.
#[derive(Debug, Args)]
struct Places {
    /// The store that holds records and objects.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_STORE)]
    out: PathBuf,
    #[command(flatten)]
    bench_root: BenchRootArgs,
}

impl Places {
    /// The flags that name these places for a shell, each with a space before it; those that say nothing are left out.
    fn as_flags(&self) -> String {
        let flag = |name: &str, path: &Path, default: &str| {
            let word = quoted(&path.to_string_lossy());
            if path == Path::new(default) { String::new() } else { format!(" {name} {word}") }
        };
        flag("--out", &self.out, DEFAULT_STORE) + &flag("--bench-root", self.bench_root.path(), DEFAULT_BENCH_ROOT)
    }
}

/// Runs the command line of this process and says how it ended.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Merge(args) => merge::merge(args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Fence(args) => fence::fence(&args),
        Command::List(args) => list::list(&args),
        Command::Log(args) => log::log(&args),
        Command::Show(args) => show::show(&args),
        Command::Export(args) => export::export(&args),
        Command::Keygen(args) => anchor::keygen(&args),
        Command::Anchor(args) => anchor::anchor(&args),
        Command::PromoteVerdict(args) => promote::promote_verdict(&args),
        Command::Promote(args) => promote::promote(&args),
        Command::Rubric(command) => rubric::rubric(command),
        Command::Guard(args) => {
            guard::guard(io::stdin(), &args.host);
            Ok(Exit::Ok)
        }
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
fn open_named(path: &Path, folder: NamedFolder) -> Result<Dir, ArgumentError> {
    let FileError { path, problem } = match Dir::open_ambient(path) {
        Ok(dir) => return Ok(dir),
        Err(error) => error,
    };
    Err(ArgumentError::Folder { folder, path, problem })
}

/// Reads a file that the user named, at most `most` bytes of it. It may be a pipe.
fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, ArgumentError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(|source| ArgumentError::Read { path: path.to_owned(), source })?;
    if bytes.len() as u64 > most {
        return Err(ArgumentError::TooLarge { path: path.to_owned(), most });
    }
    Ok(bytes)
}
