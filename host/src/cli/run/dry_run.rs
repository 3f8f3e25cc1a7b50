//! `eval-host run --dry-run`: what would run and what it could cost, and nothing else: no lock, no store, no agent.

use serde::Serialize;

use eval_model::advice::Exit;
use eval_model::ids::{CaseId, Digest, TaskClassName};
use eval_model::money::Usd;
use eval_model::report::LoadErrorEntry;

use super::args::LiveArgs;
use crate::bench::{Bench, InputRoot, LoadedCase};
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::description::RunDescription;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    PlannedCase { case_id: &'a CaseId, case_digest: Digest, input_digest: Digest },
    LoadError(&'a LoadErrorEntry),
    Plan(PlanLine<'a>),
}

#[derive(Serialize)]
struct PlanLine<'a> {
    task_class: &'a TaskClassName,
    mode: &'static str,
    cases: usize,
    load_errors: usize,
    rubric_digest: Digest,
    registration_digest: Digest,
    /// What the cap, or the most that every case may cost, allows at most.
    largest_possible_cost_usd: f64,
}

pub(super) fn dry_run(
    bench: &Bench,
    description: &RunDescription,
    input_root: &InputRoot,
    live: &LiveArgs,
) -> Result<Exit, Failure> {
    let mut printer = Printer::stdio();
    let (mut cases, mut load_errors) = (0, 0);
    for name in description.names() {
        match bench.read_case(&name, input_root) {
            Ok(LoadedCase { read, .. }) => {
                cases += 1;
                printer.data(&Line::PlannedCase {
                    case_id: &read.case.case_id,
                    case_digest: read.case_digest,
                    input_digest: read.input_digest,
                });
            }
            Err(entry) => {
                load_errors += 1;
                printer.data(&Line::LoadError(&entry));
            }
        }
    }
    let largest = if live.live { largest_cost(bench, live, cases) } else { Usd::ZERO };
    let task_class = &description.task_class;
    printer.data(&Line::Plan(PlanLine {
        task_class,
        mode: if live.live { "live" } else { "cassette" },
        cases,
        load_errors,
        rubric_digest: description.rubric_digest,
        registration_digest: description.registration_digest,
        largest_possible_cost_usd: largest.dollars(),
    }));
    printer.tell(&format!("{task_class}: {cases} cases would run, at a cost of at most {largest}; nothing was run"));
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
