//! `eval-host rubric attack`: spoils answers that pass, and lists what the rubric lets through.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::attack::{Attack, Mutant, Survivor, Tally, Target, attack as attack_rubric, record};
use crate::cli::bench::{BenchRootArgs, InputRootArgs, open_bench, prepare_rubric};
use crate::cli::concurrency::ConcurrencyArgs;
use crate::cli::error::{HostError, NamedFolder};
use crate::cli::failure::Failure;
use crate::cli::open_named;
use crate::cli::printer::Printer;
use crate::output::counted;
use crate::output::lines::{AttackLine, FaultedLine, Line, MutatorLine, SurvivorLine};
use eval_evidence::files::{Audience, Dir, Draft, FileError};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;

/// Every mutant of an ordinary answer, and a sample where a lock file of thousands of lines is changed.
const MOST_PER_MUTATOR: &str = "1000";

#[derive(Debug, Args)]
pub(in crate::cli) struct AttackArgs {
    /// The bench whose rubric to attack.
    #[arg(long, value_name = "NAME")]
    task_class: TaskClassName,
    #[command(flatten)]
    bench_root: BenchRootArgs,
    #[command(flatten)]
    input_root: InputRootArgs,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
    /// At most so many mutants of one answer by one mutator, spread evenly and always the same.
    #[arg(long, value_name = "N", default_value = MOST_PER_MUTATOR)]
    limit_per_mutator: NonZeroUsize,
    /// Record the attack as attack.json in the bench, which the fence asks for.
    #[arg(long, conflicts_with = "limit_per_mutator")]
    write: bool,
    /// Write nothing; exit 5 if attack.json is not what this attack gives.
    #[arg(long, conflicts_with_all = ["limit_per_mutator", "write"])]
    check: bool,
    /// Write each survivor to `DIR/<case-id>/<name>.json`, a golden test without a reason. Say in `equivalent` why it is as good
    /// as a right answer, and move it to the bench's tests, to accept it.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(super) fn attack(args: &AttackArgs) -> Result<Exit, Failure> {
    let bench = open_bench(args.bench_root.path(), &args.task_class)?;
    let target = Target::of(&bench, &args.input_root.open()?)?;
    let keep = args.keep.as_deref().map(|path| open_named(path, NamedFolder::Keep)).transpose()?;
    let workers = args.concurrency.scorers();
    let rubric = prepare_rubric(&bench, workers)?;
    let mut printer = Printer::stdio();
    let progress = |case_id: &_, so_far: Tally| {
        printer.tell(&format!("{case_id}: {} so far, {} killed", counted(so_far.mutants, "mutant"), so_far.killed));
    };
    let found = attack_rubric(&target, &rubric, workers, args.limit_per_mutator.get(), progress)?;
    report(&mut printer, &bench, &target, &found);
    if let Some(folder) = &keep {
        keep_survivors(folder, &found.survivors)?;
    }
    if args.write {
        let folder = bench.folder.path();
        record::write(folder, &found, bench.rubric_digest, &target)
            .map_err(|source| HostError::WriteAttack { path: folder.to_owned(), source })?;
    }
    advise(&mut printer, args, &found);
    let is_other = args.check && !record::is_recorded(&bench.folder, &found, bench.rubric_digest, &target);
    if is_other {
        printer.tell(&format!("{} is not what this attack gives: record it again with --write", record::FILE_NAME));
    }
    let is_clean = found.survivors.is_empty() && found.faults.is_empty() && !is_other;
    let exit = match found.total().mutants {
        0 => Exit::NoCases,
        _ if is_clean => Exit::Ok,
        _ => Exit::AnswerIsNo,
    };
    printer.finish(exit)
}

fn report(printer: &mut Printer, bench: &Bench, target: &Target, found: &Attack) {
    for survivor in &found.survivors {
        tell_mutant(printer, &survivor.mutant, &format!("passes with {}", survivor.score));
        printer.data(&Line::Survivor(SurvivorLine::from(survivor)));
    }
    for fault in &found.faults {
        tell_mutant(printer, &fault.mutant, &format!("makes the rubric fail: {}", fault.fault));
        printer.data(&Line::Faulted(FaultedLine::from(fault)));
    }
    printer.tell(&format!(
        "{:<26}{:>8}{:>8}{:>10}{:>9}{:>8}",
        "mutator", "mutants", "killed", "survivors", "accepted", "faulted"
    ));
    for (name, tally) in &found.mutators {
        tell_tally(printer, name, *tally);
        printer.data(&Line::Mutator(MutatorLine::new(name, *tally)));
    }
    tell_tally(printer, "all", found.total());
    printer.data(&Line::Attack(AttackLine {
        task_class: &bench.registration.task_class,
        rubric_digest: bench.rubric_digest,
        answers: target.answers(),
        tally: found.total().into(),
    }));
}

fn tell_tally(printer: &mut Printer, name: &str, tally: Tally) {
    let Tally { mutants, killed, survivors, accepted, faulted } = tally;
    printer.tell(&format!("{name:<26}{mutants:>8}{killed:>8}{survivors:>10}{accepted:>9}{faulted:>8}"));
}

fn tell_mutant(printer: &mut Printer, mutant: &Mutant, what: &str) {
    let Mutant { case_id, mutator, answer, difference, .. } = mutant;
    printer.tell(&format!("{case_id}: {mutator} of `{answer}` {what}"));
    difference.lines().for_each(|line| printer.tell(&format!("  {line}")));
}

/// What to do next.
fn advise(printer: &mut Printer, args: &AttackArgs, found: &Attack) {
    if !found.faults.is_empty() {
        printer.tell("mend the rubric so that it fails on no answer");
    }
    match (&args.keep, found.survivors.is_empty()) {
        (_, true) => {}
        (None, false) => printer.tell(
            "mend the rubric; or accept what is as good as a right answer: `--keep DIR` writes the survivors as golden tests",
        ),
        (Some(folder), false) => printer.tell(&format!(
            "mend the rubric; or say in `equivalent` of a file in `{}` why it is as good as a right answer, and move it to `{}`",
            folder.display(),
            args.bench_root.path().join(args.task_class.as_str()).join("tests").display()
        )),
    }
    if args.write {
        printer.tell(&format!("recorded as {}", record::FILE_NAME));
    } else if !args.check && found.survivors.is_empty() && found.faults.is_empty() {
        printer.tell(&format!("record it as {} with --write", record::FILE_NAME));
    }
}

/// Writes survivors as golden tests that lack the reason, so that nothing is accepted by copying alone.
fn keep_survivors(folder: &Dir, survivors: &[Survivor]) -> Result<(), HostError> {
    for survivor in survivors {
        let mutant = &survivor.mutant;
        let test = json!({
            "output": mutant.output,
            "expect": {"passed": true, "score": survivor.score, "failure_modes": survivor.failure_modes},
            "equivalent": "",
        });
        let text = serde_json::to_string_pretty(&test).expect("JSON serialises") + "\n";
        let name = format!("{}.json", mutant.test_name());
        write_test(folder, mutant.case_id.as_str(), &name, &text).map_err(|source| HostError::KeepSurvivor {
            path: folder.path().join(mutant.case_id.as_str()).join(&name),
            source,
        })?;
    }
    Ok(())
}

fn write_test(folder: &Dir, case_name: &str, name: &str, text: &str) -> Result<(), FileError> {
    let mut draft = Draft::begin(folder.child_or_new(case_name)?, name, Audience::Umask)?;
    draft.write(text.as_bytes())?;
    draft.publish().map(drop)
}
