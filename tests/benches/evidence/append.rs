//! What an append costs beside the fsyncs that make it last.
//!
//! Every append is a real one, of a record like those that a run of the fixture leaves. In turns with them, a loop in the same
//! filesystem writes files of the same sizes, makes them and their folders durable in the same order, and does nothing else.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use eval_evidence::chain::Position;
use eval_evidence::record::{EvalRunRecord, RecordedRun, RecordedScore};
use eval_evidence::store::{Evidence as _, Snapshot, StoreWriter, scan};
use eval_host_tests::{Bound, Figures, Workbench, packs};
use eval_model::contract::{Meter, RawScore};
use eval_model::report::{BenchRunReport, CaseResult, FinishedCase, RunFacts, aggregate};
use eval_model::score::BenchScore;

use crate::BINARY;

/// How long to wait for a lock that nobody else has.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Over how many appends a figure is taken. Each is as good as its middle.
const STRETCH: usize = 200;

/// A store whose chain has grown by as many records as were asked for.
pub(crate) fn measure(figures: Figures) -> Workbench {
    let records = figures.size(10_000, 3 * STRETCH);
    let workbench = Workbench::with_fixture(BINARY);
    let ended = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(0);
    let record = fs::read(ended.record_path(workbench.path())).expect("a record");
    let mut growing = Growing::new(&workbench, &record);
    let mut fsyncs = Fsyncs::new(record.len());
    let times: Vec<(f64, f64)> = (1..records).map(|number| (growing.append(number), fsyncs.again(number))).collect();
    for (what, stretch) in [("first", &times[..STRETCH]), ("last", &times[times.len() - STRETCH..])] {
        let (appends, fsyncs): (Vec<f64>, Vec<f64>) = stretch.iter().copied().unzip();
        let (append, fsync) = (middle(appends), middle(fsyncs));
        let name = format!("append of a record, the {what} {STRETCH} of {records}");
        figures.figure(&name, append * 1e3, "ms");
        figures.figure(&format!("{name}: its fsyncs alone"), fsync * 1e3, "ms");
        figures.ratio(&format!("{name}: to its fsyncs alone"), append / fsync, Bound::AtMost(2.0));
    }
    let all: f64 = times.iter().map(|(append, _)| append).sum();
    figures.figure(&format!("append of {records} records"), all, "s");
    workbench
}

/// Who owns the stores of this process.
pub(crate) fn user() -> u32 {
    fs::metadata("/proc/self").expect("Linux says").uid()
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A store, and what is known of it.
struct Growing {
    store: StoreWriter,
    known: Snapshot,
    record: RecordedRun,
    report: BenchRunReport,
}

impl Growing {
    fn new(workbench: &Workbench, record: &[u8]) -> Self {
        let store = StoreWriter::open_existing(&workbench.store(), user(), PATIENCE).expect("a store");
        // As before a run: what holds the objects is read once.
        let findings = store.reader().survey().expect("it is read");
        assert!(findings.is_empty(), "{findings:?}");
        let (record, _) = RecordedRun::read(record).expect("a record");
        let report = admitted(&record);
        Self { store, known: Snapshot::default(), record, report }
    }

    /// The seconds of one append, with an object that the store did not have.
    fn append(&mut self, number: usize) -> f64 {
        let reader = self.store.reader();
        self.known = scan(reader, reader.names().expect("it is listed"), &self.known, &mut |_| {}).snapshot;
        let incoming = self.store.incoming().expect("a pack begins");
        incoming.keep(new_object(number).as_bytes()).expect("there is room");
        let build = |position: &Position| self.record_at(position);
        let begin = Instant::now();
        self.store.append(&self.known, &self.record.task_class, &incoming, build).expect("it is committed");
        begin.elapsed().as_secs_f64()
    }

    fn record_at(&self, position: &Position) -> EvalRunRecord<BenchScore> {
        let record = self.record.clone();
        EvalRunRecord {
            schema_version: record.schema_version,
            schema_minor: record.schema_minor,
            store_id: position.store_id,
            task_class: record.task_class,
            seq: position.seq,
            prev_hash: position.prev_hash,
            run_id: record.run_id,
            mode: record.mode,
            suts: record.suts,
            output_kinds: record.output_kinds,
            started_at: record.started_at,
            finished_at: record.finished_at,
            started_marker: record.started_marker,
            shards_elsewhere: record.shards_elsewhere,
            continues: record.continues,
            confinement: record.confinement,
            max_cost_usd: record.max_cost_usd,
            harness_version: record.harness_version,
            wasmtime_version: record.wasmtime_version,
            price_list_version: record.price_list_version,
            bench_git_commit: record.bench_git_commit,
            bench_dirty: record.bench_dirty,
            rubric_digest: record.rubric_digest,
            registration_digest: record.registration_digest,
            rubric_world: record.rubric_world,
            limits: record.limits,
            block_modes: record.block_modes,
            case_digest_set: record.case_digest_set,
            cassette_digest_set: record.cassette_digest_set,
            output_digest_set: record.output_digest_set,
            budget_usd_set: record.budget_usd_set,
            report: self.report.clone(),
        }
    }
}

/// The report of a record, from scores that are admitted once more: none that was only read can be chained.
fn admitted(record: &RecordedRun) -> BenchRunReport {
    let finished = record.report.cases.iter().map(|case| FinishedCase {
        result: CaseResult {
            case_id: case.case_id.clone(),
            outcome: case.outcome,
            score: score(&case.score),
            fuel_used: case.fuel_used,
            peak_memory_bytes: case.peak_memory_bytes,
            logs_digest: case.logs_digest,
            agent_log_digest: case.agent_log_digest,
            cost_is_estimate: case.cost_is_estimate,
        },
        spent_usd: 0.0,
        recorded_usd: case.score.numbers().cost_usd,
    });
    let facts = RunFacts {
        selection: record.report.selection.clone(),
        lost_usd: 0.0,
        load_errors: Vec::new(),
        warnings: record.report.warnings.clone(),
    };
    aggregate(finished.collect(), facts, &record.block_modes).expect("cases were attempted")
}

fn score(recorded: &RecordedScore) -> BenchScore {
    let fields = recorded.fields();
    let raw = RawScore {
        passed: fields.passed,
        score: fields.score,
        breakdown: fields.breakdown.into_iter().collect(),
        failure_modes: fields.failure_modes,
        cost_usd: fields.cost_usd,
        duration_seconds: fields.duration_seconds,
    };
    let meter = Meter { cost_usd: fields.cost_usd, duration_seconds: fields.duration_seconds };
    BenchScore::admit(raw, meter, &BTreeSet::new()).expect("it was admitted before")
}

fn new_object(number: usize) -> String {
    format!("{{\"action\":\"patch\",\"number\":{number}}}")
}

/// What an append makes durable: a pack and its folder, a record under a draft's name and, when it has its own, its folder.
struct Fsyncs {
    _temp: tempfile::TempDir,
    packs: PathBuf,
    runs: PathBuf,
    record: Vec<u8>,
}

impl Fsyncs {
    fn new(record_bytes: usize) -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let [packs, runs] = ["packs", "runs"].map(|name| temp.path().join(name));
        for folder in [&packs, &runs] {
            fs::create_dir(folder).expect("a folder");
        }
        Self { _temp: temp, packs, runs, record: vec![b'x'; record_bytes] }
    }

    /// The seconds of one turn. The pack is begun before, as it is before an append.
    fn again(&mut self, number: usize) -> f64 {
        let object = new_object(number).into_bytes();
        let (_, pack) = packs::pack_of(&[(blake3::hash(&object).to_hex().to_string(), object)]);
        let draft = File::create(self.packs.join(".tmp")).expect("a draft");
        let begin = Instant::now();
        durable(draft, &pack, &self.packs, number);
        let draft = File::create(self.runs.join(".tmp")).expect("a draft");
        durable(draft, &self.record, &self.runs, number);
        begin.elapsed().as_secs_f64()
    }
}

/// Writes a draft, gives it its name and makes both last.
fn durable(mut draft: File, bytes: &[u8], folder: &Path, number: usize) {
    draft.write_all(bytes).expect("written");
    draft.sync_all().expect("durable");
    fs::rename(folder.join(".tmp"), folder.join(number.to_string())).expect("renamed");
    File::open(folder).and_then(|folder| folder.sync_all()).expect("durable");
}
