//! `eval-host list`: which task classes there are, and how they stand.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places};
use crate::bench::{Bench, list_task_classes, load_bench};
use eval_evidence::store::{Evidence as _, Seen, Snapshot, StoreReader, scan};
use eval_model::advice::Exit;
use eval_model::contract::{Difficulty, Disposition};
use eval_model::ids::{TaskClassName, Tier};
use eval_model::utc::UtcMillis;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    places: Places,
}

#[derive(Serialize)]
struct ClassLine<'a> {
    kind: &'static str,
    task_class: &'a TaskClassName,
    current_tier: Tier,
    cases: usize,
    dispositions: BTreeMap<Disposition, u64>,
    difficulties: BTreeMap<Difficulty, u64>,
    unloadable: u64,
    last_run: Option<UtcMillis>,
}

pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let root = super::open_bench_root(&args.places.bench_root)?;
    let mut printer = Printer::stdio();
    let last_runs = last_runs(&args.places);
    let mut exit = Exit::Ok;
    for task_class in list_task_classes(&root)? {
        match load_bench(&root, &task_class) {
            Ok(bench) => {
                let line = class_line(&task_class, &bench, last_runs.get(&task_class).copied());
                printer.tell(&for_people(&line));
                printer.data(&line);
            }
            Err(error) => {
                printer.tell(&format!("{task_class}: {error}"));
                exit = Exit::HarnessError;
            }
        }
    }
    printer.finish(exit)
}

fn class_line<'a>(task_class: &'a TaskClassName, bench: &Bench, last_run: Option<UtcMillis>) -> ClassLine<'a> {
    let mut line = ClassLine {
        kind: "task_class",
        task_class,
        current_tier: bench.registration.current_tier,
        cases: bench.case_names().len(),
        dispositions: BTreeMap::new(),
        difficulties: BTreeMap::new(),
        unloadable: 0,
        last_run,
    };
    for name in bench.case_names() {
        match bench.case_file(name) {
            Ok(case) => {
                *line.dispositions.entry(case.case.disposition).or_default() += 1;
                *line.difficulties.entry(case.case.difficulty).or_default() += 1;
            }
            Err(_) => line.unloadable += 1,
        }
    }
    line
}

fn for_people(line: &ClassLine<'_>) -> String {
    let count = |name: &str, count: &u64| format!("{count} {name}");
    let dispositions: Vec<_> = line.dispositions.iter().map(|(what, n)| count(what.as_str(), n)).collect();
    let difficulties: Vec<_> = line.difficulties.iter().map(|(what, n)| count(what.as_str(), n)).collect();
    let last_run = line.last_run.map_or("never run in this store".to_owned(), |at| format!("last run {at}"));
    let unloadable = match line.unloadable {
        0 => String::new(),
        count => format!(", {count} do not load: see `eval-host fence`"),
    };
    format!(
        "{} ({}): {} cases ({}; {}){unloadable}, {last_run}",
        line.task_class,
        line.current_tier,
        line.cases,
        dispositions.join(", "),
        difficulties.join(", "),
    )
}

/// When each task class was last recorded in the store, if there is one. A listing does not judge it: `verify` does.
fn last_runs(places: &Places) -> BTreeMap<TaskClassName, UtcMillis> {
    let store = StoreReader::open(&places.out, LOCK_PATIENCE).ok();
    let Some((store, names)) = store.and_then(|store| store.names().ok().map(|names| (store, names))) else {
        return BTreeMap::new();
    };
    let mut last = BTreeMap::new();
    scan(&store, names, &Snapshot::default(), &mut |seen: &Seen<'_>| {
        let newest = last.entry(seen.record.task_class.clone()).or_insert(seen.record.finished_at);
        *newest = (*newest).max(seen.record.finished_at);
    });
    last
}
