//! `eval-host run --dry-run`: what would run and what it could cost, and nothing else: no lock, no store, no agent.

use eval_evidence::record::Mode;
use eval_model::advice::Exit;
use eval_model::money::Usd;

use super::args::LiveArgs;
use crate::bench::{Bench, InputRoot, LoadedCase};
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::description::RunDescription;
use crate::output::counted;
use crate::output::lines::{Line, PlanLine};

pub(super) fn dry_run(
    bench: &Bench,
    description: &RunDescription,
    input_root: &InputRoot,
    live: &LiveArgs,
) -> Result<Exit, Failure> {
    let mut printer = Printer::stdio();
    let (mut cases, mut load_errors) = (0, 0);
    for name in description.names().iter() {
        match bench.read_case(name, input_root) {
            Ok(LoadedCase { read, .. }) => {
                cases += 1;
                printer.data(&Line::from(&read));
            }
            Err(entry) => {
                load_errors += 1;
                printer.data(&Line::from(&entry));
            }
        }
    }
    let largest = if live.live { largest_cost(bench, live, cases) } else { Usd::ZERO };
    let task_class = &description.task_class;
    let mode = if live.live { Mode::Live } else { Mode::Cassette };
    printer.data(&Line::Plan(PlanLine::new(description, mode, cases, load_errors, largest)));
    let cases = counted(cases as u64, "case");
    printer.tell(&format!("{task_class}: {cases} would run, at a cost of at most {largest}; nothing was run"));
    printer.finish(if load_errors > 0 { Exit::HarnessError } else { Exit::Ok })
}

fn largest_cost(bench: &Bench, live: &LiveArgs, cases: usize) -> Usd {
    let per_case = bench.registration.sut.as_ref().and_then(|sut| sut.max_cost_usd_per_case);
    match per_case.and_then(Usd::from_dollars) {
        Some(per_case) => {
            std::iter::repeat_n(per_case, cases).fold(Usd::ZERO, Usd::saturating_add).min(live.max_cost_usd)
        }
        None => live.max_cost_usd,
    }
}
