//! `eval-host merge`: puts the answer sets of all shards of a run together, scores them again and chains one record.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use eval_evidence::anchor::NoteSigner;
use eval_evidence::store::Announced;
use eval_model::advice::Exit;

use super::anchor::TrustedKeysArgs;
use super::bench::{InputRootArgs, open_bench, open_store, prepare_rubric};
use super::concurrency::ConcurrencyArgs;
use super::evidence::TrustArgs;
use super::failure::Failure;
use super::key::KeyArgs;
use super::run::{OutputArgs, Reporters};
use super::{Places, environment, git};
use crate::run::answer_set::{AnswerSet, MergedRun};
use crate::run::cases::{AnswerSource, Run};
use crate::run::event::emit_notes;
use crate::run::record::LiveFacts;

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The answer sets that `run --shard` wrote, one of every shard.
    #[arg(required = true, value_name = "ANSWER_SET")]
    answer_sets: Vec<PathBuf>,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
    #[command(flatten)]
    input_root: InputRootArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    trusted_keys: TrustedKeysArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

#[expect(clippy::needless_pass_by_value, reason = "the arguments end with the command")]
pub(super) fn merge(args: MergeArgs) -> Result<Exit, Failure> {
    let signer = args.key.signer()?;
    let merged = MergedRun::join(read_answer_sets(&args, signer.as_ref())?)?;
    let bench = open_bench(args.places.bench_root.path(), &merged.run.task_class)?;
    let input_root = args.input_root.open()?;
    let commit = git::bench_commit(&bench.folder);
    let description = merged.check_bench(merged.run.on_bench(&bench, commit))?;
    let concurrency = args.concurrency.scorers();
    let rubric = prepare_rubric(&bench, concurrency)?;
    let now = environment::now()?;
    let clock = || environment::now().unwrap_or(now);
    let signer = signer.as_ref();
    let run = Run {
        description,
        bench: &bench,
        input_root: &input_root,
        rubric: &rubric,
        concurrency,
        clock: &clock,
        signer,
    };
    let store = open_store(&args.places, args.trust)?;
    let mut reporters = Reporters::new(&args.output, &args.places);
    emit_notes(&store, &mut reporters.emit());
    // A record names one announcement: that of the whole, which names those of the shards. A shard that was announced in
    // another store stays unfinished there, because its record is not there either.
    let (task_class, cases) = (&run.description.task_class, run.description.names().len() as u64);
    let announced = merged.announced_in(store.id());
    store.require_unfinished(task_class, &announced)?;
    let shards: Vec<_> = announced.into_iter().map(|(_, marker)| marker).collect();
    let announce = || store.announce(task_class, now, cases, Announced::Merged(&shards));
    let warnings = merged.warnings_in(store.id());
    let shards_elsewhere = merged.shards_elsewhere(store.id());
    let live = LiveFacts {
        started_marker: &announce,
        lost_usd: merged.lost_usd,
        shards_elsewhere,
        continued_suts: BTreeSet::new(),
        warnings,
    };
    let live = run.description.live.is_some().then_some(&live);
    let committed = run.commit(&AnswerSource::Stored(&merged.answers), &store, live, &mut reporters.emit())?;
    reporters.committed(task_class, &committed, &store)
}

/// Reads the answer sets. Whoever signs the record signs for all of them, so each must be signed by the same key or by one that
/// is trusted.
fn read_answer_sets(args: &MergeArgs, signer: Option<&NoteSigner>) -> Result<Vec<AnswerSet>, Failure> {
    let trusted = signer.map(|signer| args.trusted_keys.trusting(signer.verifier())).transpose()?;
    let read = |path: &PathBuf| {
        let set = AnswerSet::read(path)?;
        if let Some(trusted) = &trusted {
            set.require_signed(path, trusted)?;
        }
        Ok(set)
    };
    args.answer_sets.iter().map(read).collect()
}
