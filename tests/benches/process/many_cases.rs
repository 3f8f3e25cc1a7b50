//! Runs of very many small cases: what a case costs by the number of cases and of workers, how much memory a run has, what it leaves in
//! the store, and what it takes to score all of it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use eval_host_tests::{Bound, Figures, Usage, Workbench, packs};

use crate::BINARY;

const WORKERS: [&str; 2] = ["-j1", "-j2"];

/// What a run may have in memory besides the bytes of its record.
const MOST_MEGABYTES: f64 = 100.0;

/// What was measured of one number of cases.
struct Measured {
    cases: f64,
    /// With one worker, and with two.
    runs: [Usage; 2],
    replays: [Usage; 2],
    store: Store,
}

/// What a run leaves.
struct Store {
    files: f64,
    bytes: f64,
    /// The bytes of the record, and of every object once.
    content: f64,
    record: f64,
}

pub(crate) fn measure(figures: Figures) {
    compile();
    let sizes = figures.size([(1_000, 10), (10_000, 5), (100_000, 2)], [(100, 2), (500, 1), (1_000, 1)]);
    let [_, some, many] = sizes.map(|(cases, rounds)| {
        let measured = measured(cases, rounds);
        print(figures, &measured);
        measured
    });
    require(figures, &some, &many);
}

/// What is compiled is in the cache from then on.
fn compile() {
    let _ = Workbench::with_small_cases(1, BINARY).eval(["run", "--task-class=fixture"]).run().expect_code(0);
}

fn measured(cases: usize, rounds: usize) -> Measured {
    let workbench = Workbench::with_small_cases(cases, BINARY);
    let (mut runs, mut replays) = ([Usage::NOTHING; 2], [Usage::NOTHING; 2]);
    for _ in 0..rounds {
        for (index, workers) in WORKERS.iter().enumerate() {
            workbench.forget_runs();
            runs[index] = runs[index].and(usage(&workbench, ["run", "--task-class=fixture", workers]));
            replays[index] = replays[index].and(usage(&workbench, ["verify", "--replay", workers]));
        }
    }
    Measured { cases: cases as f64, runs, replays, store: Store::at(&workbench.store()) }
}

fn usage<const N: usize>(workbench: &Workbench, args: [&str; N]) -> Usage {
    Usage::of(workbench.eval(args).into_command()).expect("it says yes")
}

impl Store {
    fn at(store: &Path) -> Self {
        let mut files = Vec::new();
        files_below(store, &mut files);
        let size = |path: &PathBuf| fs::metadata(path).expect("it is there").len() as f64;
        let is_record = |path: &&PathBuf| path.starts_with(store.join("runs"));
        let record = files.iter().filter(is_record).map(size).sum();
        let mut objects = BTreeMap::new();
        for pack in packs::packs(store) {
            let pack = packs::objects_of(&fs::read(pack).expect("a pack"));
            objects.extend(pack.into_iter().map(|(digest, content)| (digest, content.len())));
        }
        Self {
            files: files.len() as f64,
            bytes: files.iter().map(size).sum(),
            content: objects.values().sum::<usize>() as f64 + record,
            record,
        }
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("its kind").is_dir() {
            files_below(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}

fn print(figures: Figures, Measured { cases, runs, replays, store }: &Measured) {
    for (what, usages) in [("run", runs), ("verify --replay", replays)] {
        for (workers, usage) in ["one worker", "two workers"].iter().zip(usages) {
            let name = |figure: &str| format!("{what} of {cases} small cases, {workers}: {figure}");
            figures.figure(&name("time"), usage.seconds, "s");
            figures.figure(&name("time per case"), usage.seconds * 1e6 / cases, "µs");
            figures.figure(&name("CPU time per case"), usage.cpu_seconds * 1e6 / cases, "µs");
            figures.figure(&name("most memory"), usage.peak_bytes / 1e6, "MB");
        }
    }
    figures.figure(&format!("store of a run of {cases} small cases"), store.bytes / 1e6, "MB");
    figures.figure(&format!("store of a run of {cases} small cases: its record"), store.record / 1e6, "MB");
    figures.figure(&format!("store of a run of {cases} small cases: files"), store.files, "files");
}

fn require(figures: Figures, some: &Measured, many: &Measured) {
    let per_case = |measured: &Measured, workers: usize| measured.runs[workers].seconds / measured.cases;
    let run = format!("run of {} small cases", many.cases);
    for (index, workers) in ["one worker", "two workers"].iter().enumerate() {
        let cpu_micros = many.runs[index].cpu_seconds * 1e6 / many.cases;
        figures.required(&format!("{run}, {workers}: CPU time per case"), cpu_micros, "µs", Bound::AtMost(120.0));
        let slower = per_case(many, index) / per_case(some, index);
        let name = format!("{run}, {workers}: time per case to that of {}", some.cases);
        figures.ratio(&name, slower, Bound::AtMost(1.2));
        let replay = many.replays[index].seconds / many.runs[index].seconds;
        figures.ratio(&format!("{run}, {workers}: replay to run"), replay, Bound::AtMost(1.0));
        let megabytes = (many.runs[index].peak_bytes - many.store.record) / 1e6;
        let name = format!("{run}, {workers}: most memory besides its record");
        figures.required(&name, megabytes, "MB", Bound::AtMost(MOST_MEGABYTES));
    }
    let faster = many.runs[0].seconds / many.runs[1].seconds;
    figures.ratio(&format!("{run}: two workers to one, in speed"), faster, Bound::AtLeast(1.6));
    let larger = many.store.bytes / many.store.content;
    figures.ratio(&format!("{run}: store to its content, in bytes"), larger, Bound::AtMost(1.5));
    figures.required(&format!("{run}: files in the store"), many.store.files, "files", Bound::AtMost(19.0));
}
