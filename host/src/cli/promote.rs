//! `eval-host promote-verdict` and `eval-host promote`: what the gate says, and that no program acts on it.

use std::path::PathBuf;

use clap::Args;

use super::anchor::AgainstArgs;
use super::bench::{InputRootArgs, open_bench};
use super::concurrency::ConcurrencyArgs;
use super::evidence::{FUEL_TERMS, Opened, TrustArgs};
use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places, environment, git};
use crate::bench::{Bench, InputRoot, load_folder};
use crate::output::lines::Line;
use eval_evidence::gate::{BenchNow, Body, JudgedRecord, PromotionVerdict, apply, gather, judge};
use eval_evidence::store::StoreWriter;
use eval_evidence::verify::{Compiled, ReplaySettings};
use eval_model::advice::Exit;
use eval_model::ids::{CaseId, Digest, TaskClassName, Tier};
use eval_sandbox::Sandbox;

#[derive(Debug, Args)]
pub(super) struct PromoteArgs {
    /// A bundle that `eval-host export` made, to be judged in place of a store.
    #[arg(value_name = "BUNDLE")]
    bundle: Option<PathBuf>,
    /// The task class to judge.
    #[arg(long, value_name = "NAME")]
    task_class: TaskClassName,
    /// The tier to judge it for: the one right above its own.
    #[arg(long, value_name = "TIER")]
    target_tier: Tier,
    /// The record to judge: its path, or its file's name [default: the newest live or recorded one over the whole bench].
    #[arg(long, value_name = "RECORD")]
    record: Option<PathBuf>,
    /// A bundle with the live record that recorded answers are from; may be given more than once.
    #[arg(long, value_name = "BUNDLE")]
    provenance: Vec<PathBuf>,
    /// Compile the rubric anew for the replay, and believe nothing that was compiled before.
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    against: AgainstArgs,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
    #[command(flatten)]
    input_root: InputRootArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

pub(super) fn promote_verdict(args: &PromoteArgs) -> Result<Exit, Failure> {
    let bench = open_bench(args.places.bench_root.path(), &args.task_class)?;
    let verdict = judge(&bench_now(args, &bench)?, args.target_tier, &evidence(args)?);
    let line = Line::from(&verdict);
    let mut printer = Printer::stdio();
    tell(&mut printer, &verdict);
    if let Err(problem) = recommend(args, &line.to_json()) {
        printer.tell("the store does not keep a copy of this verdict:");
        problem.rendered().lines().for_each(|line| printer.tell(line));
    }
    printer.data(&line);
    printer.finish(match &verdict {
        verdict if verdict.is_broken_evidence() => Exit::EvidenceBroken,
        verdict if verdict.evidence_sufficient() => Exit::Ok,
        _ => Exit::AnswerIsNo,
    })
}

/// Always fails, whatever the evidence, and before anybody looks at it: a human edits the registration.
pub(super) fn promote(args: &PromoteArgs) -> Result<Exit, Failure> {
    let bench = load_folder(&args.places.bench_root.open()?, &args.task_class)?;
    let path = bench.folder.path().join("registration.toml");
    let text = String::from_utf8_lossy(&bench.registration_bytes);
    match apply(args.target_tier, &path, &text) {
        Ok(never) => match never {},
        Err(error) => Err(error.into()),
    }
}

/// What is judged: a record of the store or of a bundle, verified, compared with checkpoints, and replayed.
fn evidence(args: &PromoteArgs) -> Result<JudgedRecord, Failure> {
    let mut opened = match &args.bundle {
        Some(bundle) => Opened::bundle(bundle)?,
        None => Opened::any(&args.places, args.trust)?,
    };
    opened.compare_with(&args.against)?;
    // Whoever asks about a bundle or against a checkpoint has no other command that says the same.
    let mut printer = Printer::stdio();
    for finding in &opened.verification.findings {
        printer.tell(&format!("{}: {finding}", finding.state()));
    }
    let mut provenance = args.provenance.iter().map(|path| Opened::bundle(path)).collect::<Result<Vec<_>, _>>()?;
    for opened in provenance.iter_mut().chain([&mut opened]) {
        opened.check_signatures(args.against.keys())?;
    }
    let wanted = args.record.as_deref().map(|record| opened.find(record)).transpose()?;
    let sandbox = sandbox(args)?;
    let workers = args.concurrency.scorers();
    let compiled = if args.no_cache { Compiled::Anew } else { Compiled::Before };
    let settings = ReplaySettings { loader: &sandbox, compiled, fuel_terms: FUEL_TERMS, workers };
    let provenance: Vec<Body<'_>> = provenance.iter().map(Opened::body).collect();
    Ok(gather(opened.body(), &args.task_class, wanted, &provenance, settings)?)
}

fn sandbox(args: &PromoteArgs) -> Result<Sandbox, Failure> {
    let workers = args.concurrency.scorers();
    let sandbox =
        if args.no_cache { environment::sandbox_without_cache(workers) } else { environment::sandbox(workers) };
    Ok(sandbox?)
}

fn bench_now<'a>(args: &PromoteArgs, bench: &'a Bench) -> Result<BenchNow<'a>, Failure> {
    let input_root = args.input_root.open()?;
    let case = |name: &String| Some((name.parse::<CaseId>().ok()?, case_digest(bench, name, &input_root)));
    let commit = git::bench_commit(&bench.folder);
    let dirty = commit.as_ref().filter(|commit| commit.is_dirty);
    Ok(BenchNow {
        task_class: bench.registration.task_class.clone(),
        current_tier: bench.registration.current_tier,
        standards: &bench.registration.standards,
        rubric_digest: bench.rubric_digest,
        registration_digest: Digest::of(&bench.registration_bytes),
        limits: bench.registration.limits.into(),
        differs_at: dirty.and_then(|commit| git::first_difference(&bench.folder, commit)),
        commit,
        no_cases: bench.case_names().iter().filter(|name| name.parse::<CaseId>().is_err()).cloned().collect(),
        cases: bench.case_names().iter().filter_map(case).collect(),
    })
}

/// The digest that a run would give the case now.
fn case_digest(bench: &Bench, name: &str, input_root: &InputRoot) -> Option<Digest> {
    bench.read_case(name, input_root).ok().map(|case| case.read.case_digest)
}

fn tell(printer: &mut Printer, verdict: &PromotionVerdict) {
    let PromotionVerdict { task_class, current_tier, target_tier, record, replay, .. } = verdict;
    let word = if verdict.evidence_sufficient() { "sufficient" } else { "not sufficient" };
    printer.tell(&format!("{task_class}: the evidence is {word} for {target_tier} (now {current_tier})"));
    printer.tell(&format!("judged: record {} (`{}`); cases replayed: {}", record.seq, record.file, replay.replayed));
    for reason in &verdict.reasons {
        printer.tell(&format!("  - {}: {reason}", reason.code()));
    }
    for remark in &verdict.remarks {
        printer.tell(&format!("  note: {}: {remark}", remark.code()));
    }
    if verdict.evidence_sufficient() {
        printer.tell("a human changes the tier, in a reviewed pull request");
    }
}

/// Keeps a copy of the verdict in the store, for information: nothing reads it, and a verdict without one is as good. A bundle has
/// no place for one.
fn recommend(args: &PromoteArgs, line: &str) -> Result<(), Failure> {
    if args.bundle.is_some() {
        return Ok(());
    }
    let store = StoreWriter::open_existing(&args.places.out, environment::user(), LOCK_PATIENCE)?;
    let name = format!("{}-{}-{}.json", environment::now()?.basic(), args.task_class, args.target_tier);
    store.recommend(&name, format!("{line}\n").as_bytes())?;
    Ok(())
}
