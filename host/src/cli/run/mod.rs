//! `eval-host run`: load → read and digest → answer → score → admit → aggregate → chain → report.

mod args;
mod beginning;
mod dry_run;
mod live;
mod session;

use std::path::Path;

pub(super) use args::{OutputArgs, RunArgs};
pub(super) use session::{Chosen, OpenStore, Session, open_bench};

use super::failure::Failure;
use super::surroundings;
use crate::answers::shard::BundleHeader;
use crate::live::run_lock::RunLockQueue;
use crate::run::pipeline::{AnswerSource, CassetteSource};
use eval_model::advice::Exit;

#[expect(clippy::needless_pass_by_value, reason = "the arguments end with the command")]
pub(super) fn run(args: RunArgs) -> Result<Exit, Failure> {
    if args.live.live && surroundings::is_ci() && !args.live.allow_live_in_ci {
        return Err(Failure::new(Exit::UsageOrCap, "--live is refused because the variable CI is set")
            .hint("replay cassettes, or say that CI may spend money with --allow-live-in-ci"));
    }
    let bench = open_bench(&args.places, &args.task_class)?;
    // As soon as it is certain that there is such a bench: what others spend from here on counts against this run.
    let spends = args.live.live && !args.selection.dry_run;
    let queue = spends.then(|| RunLockQueue::join(&args.places.bench_root, &args.task_class));
    let input_root = super::open_input_root(args.input_root.as_deref())?;
    let session = Session {
        bench: &bench,
        input_root: &input_root,
        chosen: session::choose(&bench, &args.selection)?,
        concurrency: if args.live.live { args.concurrency.agents() } else { args.concurrency.scorers() },
        now: surroundings::now()?,
        output: &args.output,
        places: &args.places,
    };
    match queue.transpose() {
        _ if args.selection.dry_run => dry_run::dry_run(&session, &args.live),
        Ok(None) => replay(&session, &args),
        Ok(Some(queue)) => live::run(&session, &args, queue),
        Err(error) => Err(Failure::from_error(Exit::HarnessError, &error)),
    }
}

/// Replays cassettes.
fn replay(session: &Session<'_>, args: &RunArgs) -> Result<Exit, Failure> {
    let source = cassette_source(args.cassettes.cassettes.as_deref())?;
    let answers = AnswerSource::Cassettes { source, strict: args.cassettes.strict_cassettes };
    let rubric = session.prepare_rubric()?;
    if session.chosen.shard.is_some() {
        let header = BundleHeader::new(session.terms(None), session.now);
        return Ok(session.bundle(&rubric, answers, header)?);
    }
    let store = OpenStore::open(&args.places, args.trust)?;
    Ok(session.evaluate(&rubric, answers, None, session.now, &store)?)
}

fn cassette_source(folder: Option<&Path>) -> Result<CassetteSource, Failure> {
    match folder {
        None => Ok(CassetteSource::Default),
        Some(path) => super::open_named(path, "the cassettes' folder").map(CassetteSource::Folder),
    }
}
