//! From the flags of `run` to a [`Run`], and what came of it to an exit code.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use eval_evidence::anchor::NoteSigner;
use eval_evidence::record::{MOST_RECORD_BYTES, RecordedRun};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;
use eval_sandbox::PreparedRubric;

use super::args::{RunArgs, SelectionArgs};
use super::error::RunCommandError;
use super::reporters::Reporters;
use super::{dry_run, live};
use crate::bench::select::Wanted;
use crate::bench::{Bench, InputRoot};
use crate::cli::bench::{open_bench, open_store, prepare_rubric};
use crate::cli::error::NamedFolder;
use crate::cli::failure::Failure;
use crate::cli::{environment, git, open_named, read_file};
use crate::description::RunDescription;
use crate::live::run_lock::RunLockQueue;
use crate::run::answer_set::AnswerSetHeader;
use crate::run::cases::{AnswerSource, CassetteSource, Run};
use crate::run::event::emit_notes;

pub(in crate::cli) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if args.live.live && environment::is_ci() && !args.live.allow_live_in_ci {
        return Err(RunCommandError::LiveInCi.into());
    }
    let signer = args.key.signer()?;
    if signer.is_some() && args.selection.shard.is_some() {
        environment::tell(
            "a shard has no record: its answer set is signed, and `eval-host merge` signs the record of the whole run",
        );
    }
    let bench = open_bench(args.places.bench_root.path(), &args.task_class)?;
    // As soon as it is certain that there is such a bench: what others spend from here on counts against this run.
    let spends = args.live.live && !args.selection.dry_run;
    let queue = spends.then(|| RunLockQueue::join(args.places.bench_root.path(), &args.task_class));
    let input_root = args.input_root.open()?;
    let description = describe(&bench, &args.selection)?;
    match queue.transpose()? {
        _ if args.selection.dry_run => dry_run::dry_run(&bench, &description, &input_root, &args.live),
        None => replay(args, &bench, description, &input_root, signer.as_ref()),
        Some(queue) => {
            let description = description.of_bench_at(git::bench_commit(&bench.folder));
            live::run(args, &bench, description, &input_root, queue, signer.as_ref())
        }
    }
}

/// Replays cassettes.
fn replay(
    args: &RunArgs,
    bench: &Bench,
    description: RunDescription,
    input_root: &InputRoot,
    signer: Option<&NoteSigner>,
) -> Result<Exit, Failure> {
    let source = cassette_source(args.cassettes.cassettes.as_deref())?;
    let answers = AnswerSource::Cassettes { source, strict: args.cassettes.strict_cassettes };
    let concurrency = args.concurrency.scorers();
    let (rubric, description) = prepare(bench, concurrency, description)?;
    let started_at = description.started_at;
    let clock = || environment::now().unwrap_or(started_at);
    let run = Run { description, bench, input_root, rubric: &rubric, concurrency, clock: &clock, signer };
    let mut reporters = Reporters::new(&args.output, &args.places);
    if run.description.shard.is_some() {
        let header = AnswerSetHeader::new(run.description.clone(), None);
        let written = run.write_answer_set(&answers, &args.places.out, header, &mut reporters.emit())?;
        return reporters.answer_set(&args.task_class, &written);
    }
    let store = open_store(&args.places, args.trust)?;
    emit_notes(&store, &mut reporters.emit());
    let committed = run.commit(&answers, &store, None, &mut reporters.emit())?;
    reporters.committed(&args.task_class, &committed, &store)
}

/// Loads the rubric while git looks at the bench.
fn prepare(
    bench: &Bench,
    workers: NonZeroUsize,
    description: RunDescription,
) -> Result<(PreparedRubric, RunDescription), Failure> {
    thread::scope(|scope| {
        let git = scope.spawn(|| git::bench_commit(&bench.folder));
        let rubric = prepare_rubric(bench, workers)?;
        let bench_commit = git.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok((rubric, description.of_bench_at(bench_commit)))
    })
}

/// The run that the flags ask for, of a bench whose commit nobody has looked for yet.
fn describe(bench: &Bench, args: &SelectionArgs) -> Result<RunDescription, Failure> {
    let task_class = &bench.registration.task_class;
    let wanted = Wanted {
        patterns: args.cases.clone(),
        among: args.failing_from.as_deref().map(|path| failing_in(path, task_class)).transpose()?,
        limit: args.limit.map(NonZeroUsize::get),
    };
    let description = RunDescription::new(bench, &wanted, args.shard, None, environment::now()?);
    if description.names().is_empty() {
        let (task_class, cases) = (task_class.clone(), bench.folder.path().join("cases"));
        return Err(RunCommandError::NoneSelected { task_class, cases }.into());
    }
    Ok(description)
}

/// The cases that did not pass in a record.
fn failing_in(path: &Path, task_class: &TaskClassName) -> Result<BTreeSet<String>, Failure> {
    let bytes = read_file(path, MOST_RECORD_BYTES)?;
    let (record, _) =
        RecordedRun::read(&bytes).map_err(|source| RunCommandError::NotARecord { path: path.to_owned(), source })?;
    if record.task_class != *task_class {
        let (found, wanted) = (record.task_class, task_class.clone());
        return Err(RunCommandError::RecordOfOtherClass { path: path.to_owned(), found, wanted }.into());
    }
    let failing = record.report.cases.into_iter().filter(|case| !case.score.numbers().passed);
    Ok(failing.map(|case| case.case_id.as_str().to_owned()).collect())
}

fn cassette_source(folder: Option<&Path>) -> Result<CassetteSource, Failure> {
    match folder {
        None => Ok(CassetteSource::Default),
        Some(path) => Ok(CassetteSource::Folder(open_named(path, NamedFolder::Cassettes)?)),
    }
}
