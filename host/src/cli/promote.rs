//! `eval-host promote-verdict` and `eval-host promote`: what the gate says, and that no program acts on it.

use clap::Args;

use super::bench::{InputRootArgs, open_bench};
use super::evidence::{Opened, TrustArgs};
use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places, environment};
use crate::bench::{Bench, InputRoot, load_folder};
use crate::output::lines::Line;
use eval_evidence::gate::{BenchNow, PromotionVerdict, VerifiedRecord, apply, judge};
use eval_evidence::store::StoreWriter;
use eval_model::advice::Exit;
use eval_model::ids::{CaseId, Digest, TaskClassName, Tier};

#[derive(Debug, Args)]
pub(super) struct PromoteArgs {
    /// The task class to judge.
    #[arg(long, value_name = "NAME")]
    task_class: TaskClassName,
    /// The tier to judge it for: the one right above its own.
    #[arg(long, value_name = "TIER")]
    target_tier: Tier,
    #[command(flatten)]
    input_root: InputRootArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

pub(super) fn promote_verdict(args: &PromoteArgs) -> Result<Exit, Failure> {
    let bench = open_bench(args.places.bench_root.path(), &args.task_class)?;
    let verdict = verdict(args, &bench)?;
    let line = Line::from(&verdict);
    let mut printer = Printer::stdio();
    tell(&mut printer, &verdict);
    if let Err(problem) = recommend(args, &line.to_json()) {
        printer.tell("the store does not keep a copy of this verdict:");
        problem.rendered().lines().for_each(|line| printer.tell(line));
    }
    printer.data(&line);
    printer.finish(if verdict.evidence_sufficient() { Exit::Ok } else { Exit::AnswerIsNo })
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

fn verdict(args: &PromoteArgs, bench: &Bench) -> Result<PromotionVerdict, Failure> {
    let opened = Opened::any(&args.places, args.trust)?;
    let evidence = VerifiedRecord::newest(&opened.verification, &args.task_class, |link| opened.read(link))?;
    let input_root = args.input_root.open()?;
    let case = |name: &String| Some((name.parse::<CaseId>().ok()?, case_digest(bench, name, &input_root)));
    let bench = BenchNow {
        task_class: bench.registration.task_class.clone(),
        current_tier: bench.registration.current_tier,
        standards: &bench.registration.standards,
        rubric_digest: bench.rubric_digest,
        cases: bench.case_names().iter().filter_map(case).collect(),
    };
    Ok(judge(&bench, args.target_tier, &evidence))
}

/// The digest that a run would give the case now.
fn case_digest(bench: &Bench, name: &str, input_root: &InputRoot) -> Option<Digest> {
    bench.read_case(name, input_root).ok().map(|case| case.read.case_digest)
}

fn tell(printer: &mut Printer, verdict: &PromotionVerdict) {
    let PromotionVerdict { task_class, current_tier, target_tier, .. } = verdict;
    let word = if verdict.evidence_sufficient() { "sufficient" } else { "not sufficient" };
    printer.tell(&format!("{task_class}: the evidence is {word} for {target_tier} (now {current_tier})"));
    for reason in &verdict.reasons {
        printer.tell(&format!("  - {reason}"));
    }
    if verdict.unfinished_runs > 0 {
        printer.tell(&format!("  {} live runs were started and never recorded", verdict.unfinished_runs));
    }
    if verdict.evidence_sufficient() {
        printer.tell("a human changes the tier, in a reviewed pull request");
    }
}

/// Keeps a copy of the verdict in the store, for information: nothing reads it, and a verdict without one is as good.
fn recommend(args: &PromoteArgs, line: &str) -> Result<(), Failure> {
    let store = StoreWriter::open_existing(&args.places.out, environment::user(), LOCK_PATIENCE)?;
    let name = format!("{}-{}-{}.json", environment::now()?.basic(), args.task_class, args.target_tier);
    store.recommend(&name, format!("{line}\n").as_bytes())?;
    Ok(())
}
