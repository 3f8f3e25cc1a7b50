//! `eval-host merge`: puts the bundles of all shards of a run together, scores them again and chains one record.

use std::path::PathBuf;

use clap::Args;

use super::concurrency::ConcurrencyArgs;
use super::evidence::TrustArgs;
use super::failure::Failure;
use super::run::{Chosen, OpenStore, OutputArgs, Session, open_bench};
use super::{Places, surroundings};
use crate::answers::shard::{Bundle, BundleError, WholeRun};
use crate::run::evaluation::LiveFacts;
use crate::run::pipeline::AnswerSource;
use eval_model::advice::Exit;

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The bundles that `run --shard` wrote, one of every shard.
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
    /// Where inputs lie that are too large for a bench (see input-pointer.toml).
    #[arg(long, value_name = "DIR")]
    input_root: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

#[expect(clippy::needless_pass_by_value, reason = "the arguments end with the command")]
pub(super) fn merge(args: MergeArgs) -> Result<Exit, Failure> {
    let bundles: Result<Vec<_>, _> = args.bundles.iter().map(|path| Bundle::read(path)).collect();
    let unusable = |error: BundleError| Failure::from_error(Exit::UsageOrCap, &error);
    let whole = bundles.and_then(WholeRun::join).map_err(unusable)?;
    let bench = open_bench(&args.places, &whole.terms.task_class)?;
    let input_root = super::open_input_root(args.input_root.as_deref())?;
    let session = Session {
        bench: &bench,
        input_root: &input_root,
        chosen: Chosen {
            patterns: whole.terms.patterns.clone(),
            selected: whole.terms.cases.keys().cloned().collect(),
            shard: None,
        },
        concurrency: args.concurrency.scorers(),
        now: surroundings::now()?,
        output: &args.output,
        places: &args.places,
    };
    let differences = session.terms(whole.terms.live.clone()).differences(&whole.terms);
    if !differences.is_empty() {
        let what = format!("the bundles were made from another state of the bench: {}", differences.join("; "));
        return Err(Failure::new(Exit::UsageOrCap, what).hint("check out the commit that the shards were run from"));
    }
    let rubric = session.prepare_rubric()?;
    let store = OpenStore::open(&args.places, args.trust)?;
    // A record names one announcement: that of the whole, which names those of the shards. A shard that was announced in
    // another store stays unfinished there, because its record is not there either.
    let announce = |sut| {
        let started_marker = store.announce(&session, &store.own(&whole.announced)?)?;
        Ok::<_, Failure>(LiveFacts { sut, started_marker, lost_usd: whole.lost_usd })
    };
    let live = whole.sut.map(announce).transpose()?;
    let answers = AnswerSource::Stored(&whole.answers);
    Ok(session.evaluate(&rubric, answers, live, whole.started_at, &store)?)
}
