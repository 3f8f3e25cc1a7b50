//! `eval-host run`: load → read and digest → answer → score → admit → aggregate → chain → report.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::evidence::{Recollection, TrustArgs};
use super::exit::Exit;
use super::problem::Problem;
use super::{LOCK_PATIENCE, Places, surroundings};
use crate::bench::{Bench, load_bench};
use crate::evaluation::{EvaluateError, RunSetting, evaluate};
use crate::event::{Event, Reporter as _};
use crate::files::Folder;
use crate::ids::TaskClassName;
use crate::output::{JsonLines, People};
use crate::pipeline::{CassetteSource, Plan};
use crate::report::BenchRunReport;
use crate::sandbox::PreparedRubric;
use crate::score::OutcomeClass;
use crate::select::select;
use crate::store::{AppendError, NotCommitted, StoreWriter};
use crate::verify::{Verification, verify_store};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The kind of work to evaluate: a folder below the bench root.
    #[arg(long, value_name = "NAME")]
    task_class: TaskClassName,
    /// Only the cases whose id matches (`*` any characters, `?` one); may be given more than once.
    #[arg(long, value_name = "GLOB")]
    cases: Vec<String>,
    /// How many cases to score at once [default: the number of cores].
    #[arg(long, short = 'j', value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// Replay the cassettes `<DIR>/<case-id>.json` instead of each case's own.
    #[arg(long, value_name = "DIR")]
    cassettes: Option<PathBuf>,
    /// Make a stale cassette, or one that does not match its pin, a fault instead of a warning.
    #[arg(long)]
    strict_cassettes: bool,
    /// Print only problems and the summary to stderr.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

pub(super) fn run(args: RunArgs) -> Result<Exit, Problem> {
    let root = open_bench_root(&args.places)?;
    let bench = load_bench(&root, &args.task_class)?;
    let names = select(bench.case_names(), &args.cases);
    if names.is_empty() {
        let what = format!("no case of `{}` matches {}", args.task_class, args.cases.join(", "));
        return Err(Problem::new(Exit::NoCases, what)
            .hint(format!("the cases are below `{}`", bench.folder.path().join("cases").display())));
    }
    let concurrency = args.concurrency.unwrap_or_else(surroundings::cores);
    let rubric = prepare_rubric(&bench, concurrency)?;
    let recollection = Recollection::of(&args.places, args.trust)?;
    let (store, verified) = open_store(&args.places, &recollection)?;
    let now = surroundings::now()?;
    let plan = Plan {
        bench: &bench,
        names,
        cassettes: cassette_source(args.cassettes.as_deref())?,
        strict_cassettes: args.strict_cassettes,
        concurrency,
        today: now.date(),
    };
    let setting = RunSetting {
        patterns: args.cases,
        started_at: now,
        bench_git_commit: surroundings::git_commit(bench.folder.path()),
    };
    let mut json_lines = JsonLines::new(io::stdout());
    let mut people = People::new(io::stderr(), surroundings::style(args.quiet));
    let mut emit = |event: &Event<'_>| {
        json_lines.event(event);
        people.event(event);
    };
    // Should the clock fail after the run, its start is the best that can be said.
    let clock = || surroundings::now().unwrap_or(now);
    let (report, receipt) = evaluate(&plan, &setting, &rubric, &store, &verified.snapshot, &clock, &mut emit)?;
    let mut heads = verified.heads().clone();
    heads.set(args.task_class.clone(), receipt.link.head());
    recollection.advance(&verified, &heads)?;
    match json_lines.finish() {
        Ok(()) => Ok(exit_of(&report)),
        Err(error) => {
            let what = "the record was committed, but the report of it could not be written to stdout";
            Err(Problem::new(Exit::HarnessError, what).caused_by(&error))
        }
    }
}

pub(super) fn open_bench_root(places: &Places) -> Result<Folder, Problem> {
    Folder::open_ambient(&places.bench_root).map_err(|error| {
        let what = format!("the bench root {error}");
        Problem::new(Exit::UsageOrCap, what)
            .hint("run from the repository's root, or name the benches' folder with --bench-root")
    })
}

fn prepare_rubric(bench: &Bench, concurrency: NonZeroUsize) -> Result<PreparedRubric, Problem> {
    let sandbox = surroundings::sandbox(concurrency)?;
    let rubric = sandbox.load(&bench.rubric).map_err(|error| {
        let what = format!("failed to load the rubric of `{}`", bench.registration.task_class);
        Problem::new(Exit::HarnessError, what).caused_by(&error)
    })?;
    Ok(rubric.prepare(bench.registration.limits))
}

/// Opens the store, finishes what a crash left in it, and checks it before anything is run: a broken chain is not
/// continued.
fn open_store(places: &Places, recollection: &Recollection) -> Result<(StoreWriter, Verification), Problem> {
    let store = StoreWriter::open(&places.out, surroundings::user(), LOCK_PATIENCE).map_err(|error| {
        Problem::new(Exit::HarnessError, format!("the store `{}` cannot be used", places.out.display()))
            .caused_by(&error)
    })?;
    store
        .finish()
        .map_err(|error| Problem::new(Exit::HarnessError, "what a crash left cannot be finished").caused_by(&error))?;
    let verified = verify_store(store.reader(), recollection.checks(), &mut |_, _| {})
        .map_err(|error| Problem::new(Exit::HarnessError, "the store cannot be read").caused_by(&error))?;
    if verified.is_sound() {
        return Ok((store, verified));
    }
    let findings: Vec<_> = verified.findings.iter().map(ToString::to_string).collect();
    let what = format!("the evidence in `{}` is {}: {}", places.out.display(), verified.state(), findings.join("; "));
    Err(Problem::new(Exit::EvidenceBroken, what)
        .hint("keep the store as it is for whoever investigates; start another with --out"))
}

fn cassette_source(folder: Option<&Path>) -> Result<CassetteSource, Problem> {
    match folder {
        None => Ok(CassetteSource::Default),
        Some(path) => match Folder::open_ambient(path) {
            Ok(folder) => Ok(CassetteSource::Folder(folder)),
            Err(error) => Err(Problem::new(Exit::UsageOrCap, format!("the cassettes' folder {error}"))),
        },
    }
}

impl From<EvaluateError> for Problem {
    fn from(error: EvaluateError) -> Self {
        let exit = match &error {
            EvaluateError::Append(AppendError::Unknown { .. }) => Exit::EvidenceBroken,
            EvaluateError::Append(AppendError::NotCommitted {
                source: NotCommitted::Broken(_) | NotCommitted::HeadChanged,
                ..
            }) => Exit::EvidenceBroken,
            EvaluateError::NothingAttempted { .. } | EvaluateError::Keep(_) | EvaluateError::Append(_) => {
                Exit::HarnessError
            }
        };
        Self::from_error(exit, &error)
    }
}

/// The exit code of a run whose record is committed.
fn exit_of(report: &BenchRunReport) -> Exit {
    let count = |class| report.outcomes.get(&class).copied().unwrap_or(0);
    if report.had_load_errors || count(OutcomeClass::HarnessFault) > 0 {
        Exit::HarnessError
    } else if report.passed_count < report.attempted || !report.block_severity_failure_modes.is_empty() {
        Exit::AnswerIsNo
    } else {
        Exit::Ok
    }
}
