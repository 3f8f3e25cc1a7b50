//! `eval-host run --dry-run`: what would run and what it could cost, and nothing else: no lock, no store, no agent.

use serde::Serialize;

use super::super::exit::Exit;
use super::super::printer::Printer;
use super::super::problem::Problem;
use super::args::LiveArgs;
use super::session::Session;
use crate::cost::Usd;
use crate::ids::{CaseId, Digest, TaskClassName};
use crate::stage::stage;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    PlannedCase { case_id: &'a CaseId, case_digest: Digest, input_digest: Digest },
    LoadError(&'a crate::report::LoadErrorEntry),
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

pub(super) fn dry_run(session: &Session<'_>, live: &LiveArgs) -> Result<Exit, Problem> {
    let bench = session.bench;
    let mut printer = Printer::stdio();
    let (mut cases, mut load_errors) = (0, 0);
    for name in session.chosen.names() {
        let staged = bench
            .open_case(&name)
            .and_then(|folder| stage(&folder, session.input_root).map_err(|error| bench.load_error(&name, &error)));
        match staged {
            Ok(staged) => {
                cases += 1;
                printer.data(&Line::PlannedCase {
                    case_id: &staged.case.case_id,
                    case_digest: staged.case_digest,
                    input_digest: staged.input_digest,
                });
            }
            Err(entry) => {
                load_errors += 1;
                printer.data(&Line::LoadError(&entry));
            }
        }
    }
    let largest = if live.live { largest_cost(session, live, cases) } else { Usd::ZERO };
    let task_class = &bench.registration.task_class;
    printer.data(&Line::Plan(PlanLine {
        task_class,
        mode: if live.live { "live" } else { "cassette" },
        cases,
        load_errors,
        rubric_digest: bench.rubric_digest,
        registration_digest: Digest::of(&bench.registration_bytes),
        largest_possible_cost_usd: largest.dollars(),
    }));
    printer.tell(&format!("{task_class}: {cases} cases would run, at a cost of at most {largest}; nothing was run"));
    printer.finish(if load_errors > 0 { Exit::HarnessError } else { Exit::Ok })
}

fn largest_cost(session: &Session<'_>, live: &LiveArgs, cases: usize) -> Usd {
    let per_case = session.bench.registration.sut.as_ref().and_then(|sut| sut.max_cost_usd_per_case);
    match per_case.and_then(Usd::from_dollars) {
        Some(per_case) => {
            std::iter::repeat_n(per_case, cases).fold(Usd::ZERO, Usd::saturating_add).min(live.max_cost_usd)
        }
        None => live.max_cost_usd,
    }
}
