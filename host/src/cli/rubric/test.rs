//! `eval-host rubric test`: a bench's golden tests, in the sandbox of a run and under its limits.

use std::num::NonZeroUsize;

use clap::Args;

use super::author::{ForAuthor, tell_backtrace};
use crate::bench::golden::{GoldenResult, GoldenTest, golden_tests, run_golden};
use crate::bench::{Bench, InputRoot};
use crate::cli::bench::{BenchRootArgs, InputRootArgs, open_bench, prepare_rubric};
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::output::counted;
use crate::output::lines::{GoldenLine, Line};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;

#[derive(Debug, Args)]
pub(in crate::cli) struct TestArgs {
    /// The bench whose rubric to test.
    #[arg(long, value_name = "NAME")]
    task_class: TaskClassName,
    #[command(flatten)]
    bench_root: BenchRootArgs,
    #[command(flatten)]
    input_root: InputRootArgs,
}

/// What the golden tests used at most, to be held against the limits.
#[derive(Default)]
struct Tally {
    held: usize,
    failed: usize,
    most_fuel: u64,
    most_memory: u64,
}

pub(in crate::cli) fn test(args: &TestArgs) -> Result<Exit, Failure> {
    let bench = open_bench(args.bench_root.path(), &args.task_class)?;
    let input_root = args.input_root.open()?;
    let rubric = prepare_rubric(&bench, NonZeroUsize::MIN)?;
    let rubric = ForAuthor::new(&rubric);
    let mut printer = Printer::stdio();
    let mut tally = Tally::default();
    for name in bench.case_names() {
        test_case(&bench, name, &rubric, &input_root, &mut printer, &mut tally)?;
    }
    let limits = bench.registration.limits;
    printer.tell(&format!("{} passed, {} failed", counted(tally.held as u64, "golden test"), tally.failed));
    printer.tell(&format!("most fuel: {} of {}", tally.most_fuel, limits.fuel()));
    printer.tell(&format!("peak memory: {} of {} bytes", tally.most_memory, limits.memory_bytes()));
    printer.finish(match tally {
        Tally { held: 0, failed: 0, .. } => Exit::NoCases,
        Tally { failed: 0, .. } => Exit::Ok,
        Tally { .. } => Exit::AnswerIsNo,
    })
}

fn test_case(
    bench: &Bench,
    name: &str,
    rubric: &ForAuthor<'_>,
    input_root: &InputRoot,
    printer: &mut Printer,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let case = bench.read_case(name, input_root)?;
    let tests = golden_tests(&bench.folder, name)?;
    for test in &tests {
        let result = run_golden(test, &case.read, rubric, &bench.registration.standards.block_modes)?;
        tally.most_fuel = tally.most_fuel.max(result.fuel_used.unwrap_or(0));
        tally.most_memory = tally.most_memory.max(result.peak_memory_bytes.unwrap_or(0));
        if result.actual == test.expected {
            tally.held += 1;
        } else {
            tally.failed += 1;
            tell_difference(printer, name, test, &result);
            rubric.take_leavings().iter().for_each(|leavings| tell_backtrace(printer, leavings));
        }
        printer.data(&Line::Golden(GoldenLine::new(name, test, &result)));
    }
    Ok(())
}

fn tell_difference(printer: &mut Printer, case_name: &str, test: &GoldenTest, result: &GoldenResult) {
    printer.tell(&format!("{case_name}/{}:", test.name));
    printer.tell(&format!("  expected {}", test.expected));
    printer.tell(&format!("  actual   {}", result.fault.clone().unwrap_or_else(|| result.actual.to_string())));
}
