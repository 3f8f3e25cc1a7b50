//! `eval-host list`: which task classes there are, and how they stand.

use std::collections::BTreeMap;

use clap::Args;

use super::failure::Failure;
use super::log::named;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places};
use crate::bench::{list_task_classes, load_bench};
use crate::output::counted;
use crate::output::lines::{LastRun, Line, TaskClassLine};
use eval_evidence::store::{Evidence as _, Seen, Snapshot, StoreReader, scan};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    places: Places,
}

pub(super) fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let root = args.places.bench_root.open()?;
    let mut printer = Printer::stdio();
    let last_runs = last_runs(&args.places);
    let mut exit = Exit::Ok;
    for task_class in list_task_classes(&root)? {
        match load_bench(&root, &task_class) {
            Ok(bench) => {
                let last_run = last_runs.get(&task_class);
                let line = TaskClassLine::new(&task_class, &bench, last_run);
                printer.tell(&for_people(&line, last_run));
                printer.data(&Line::TaskClass(line));
            }
            Err(error) => {
                printer.tell(&format!("{task_class}: {error}"));
                exit = Exit::HarnessError;
            }
        }
    }
    printer.finish(exit)
}

fn for_people(line: &TaskClassLine<'_>, last_run: Option<&LastRun>) -> String {
    let count = |name: &str, count: &u64| format!("{count} {name}");
    let dispositions: Vec<_> = line.dispositions.iter().map(|(what, n)| count(what.as_str(), n)).collect();
    let difficulties: Vec<_> = line.difficulties.iter().map(|(what, n)| count(what.as_str(), n)).collect();
    let last_run = last_run
        .map_or("never run in this store".to_owned(), |run| format!("last run {} by {}", run.at, named(&run.suts)));
    let unloadable = match line.unloadable {
        0 => String::new(),
        1 => ", 1 does not load: see `eval-host fence`".to_owned(),
        count => format!(", {count} do not load: see `eval-host fence`"),
    };
    format!(
        "{} ({}): {} ({}; {}){unloadable}, {last_run}",
        line.task_class,
        line.current_tier,
        counted(line.cases as u64, "case"),
        dispositions.join(", "),
        difficulties.join(", "),
    )
}

/// When each task class was last recorded in the store, if there is one, and who answered. A listing does not judge it:
/// `verify` does.
fn last_runs(places: &Places) -> BTreeMap<TaskClassName, LastRun> {
    let store = StoreReader::open(&places.out, LOCK_PATIENCE).ok();
    let Some((store, names)) = store.and_then(|store| store.names().ok().map(|names| (store, names))) else {
        return BTreeMap::new();
    };
    let mut last: BTreeMap<_, LastRun> = BTreeMap::new();
    scan(&store, names, &Snapshot::default(), &mut |seen: &Seen<'_>| {
        let run = LastRun { at: seen.record.finished_at, suts: seen.record.suts.clone() };
        let newest = last.entry(seen.record.task_class.clone()).or_insert_with(|| run.clone());
        if newest.at < run.at {
            *newest = run;
        }
    });
    last
}
