//! Real runs for tests: scores that went through the one door, objects that hash to their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{EvalRunRecord, Mode, OutputKind, SCHEMA_MINOR, SCHEMA_VERSION, Sut};
use crate::cassette::{Recording, SutName};
use crate::chain::{Position, StoreId};
use crate::store::IncomingObjects;
use eval_model::case::ReadCase;
use eval_model::confinement::{Cage, Confinement, Namespace, Network};
use eval_model::contract::{
    BenchCase, CapturedStream, CaseFiles, Difficulty, Disposition, Meter, RawScore, RubricFault, RubricRunner,
    RunnerError, ScoreRequest, Scored, Source,
};
use eval_model::ids::{CaseId, Digest, RecordHash};
use eval_model::judge::judge;
use eval_model::limits::Limits;
use eval_model::outcome::{CaseFault, NoOutput};
use eval_model::report::{CaseResult, FinishedCase, RunFacts, Selection, aggregate};
use eval_model::score::BenchScore;

const METER: Meter = Meter { cost_usd: 0.25, duration_seconds: 1.5 };

/// A run that has everything but its place in a chain.
#[derive(Debug, Clone)]
pub struct Run {
    objects: BTreeMap<Digest, Vec<u8>>,
    record: EvalRunRecord<BenchScore>,
}

impl Run {
    /// A run of two cases of the task class `fixture`. Runs with other labels have other outputs and scores.
    pub fn new(label: u32) -> Self {
        Self::of("fixture", label)
    }

    /// The same of any task class.
    pub fn of(task_class: &str, label: u32) -> Self {
        let mut objects = BTreeMap::new();
        let mut add = |bytes: Vec<u8>| {
            let digest = Digest::of(&bytes);
            objects.insert(digest, bytes);
            digest
        };
        let cases: BTreeMap<CaseId, _> = ["001-first", "002-second"]
            .into_iter()
            .map(|id| (id.parse().expect("a case id"), format!("{{\"answer\":\"{id} {label}\"}}")))
            .collect();
        let case_digest_set = cases
            .keys()
            .map(|id| {
                let read = read_case(task_class, id);
                for bytes in read.files.values() {
                    add(bytes.to_vec());
                }
                (id.clone(), add(read.manifest))
            })
            .collect();
        let sut = SutName { name: "agent".to_owned(), version: "1".to_owned(), model: None };
        let cassette_digest_set = cases
            .iter()
            .map(|(id, output)| (id.clone(), Some(add(cassette(&sut, read_case(task_class, id).input_digest, output)))))
            .collect();
        let budget_usd_set = cases.keys().map(|id| (id.clone(), None)).collect();
        let output_digest_set =
            cases.iter().map(|(id, output)| (id.clone(), Some(add(output.clone().into_bytes())))).collect();
        let finished =
            cases.iter().map(|(id, output)| finished(&read_case(task_class, id), output, &mut add)).collect();
        let facts = RunFacts {
            selection: Selection { patterns: Vec::new(), cases_in_bench: 2, selected: 2 },
            lost_usd: 0.0,
            load_errors: Vec::new(),
            warnings: Vec::new(),
        };
        let report = aggregate(finished, facts, &BTreeSet::new()).expect("two cases were attempted");
        let task_class = task_class.parse().expect("a task class");
        let time = |second: u32| format!("2026-11-16T09:{:02}:{second:02}.000Z", label % 60).parse().expect("a moment");
        let record = EvalRunRecord {
            schema_version: SCHEMA_VERSION,
            schema_minor: SCHEMA_MINOR,
            store_id: "00000000000000000000000000000000".parse().expect("a store id"),
            run_id: report.run_id(&task_class),
            task_class,
            seq: 0,
            prev_hash: RecordHash::GENESIS,
            mode: Mode::Cassette,
            suts: BTreeSet::from([sut.into()]),
            output_kinds: BTreeSet::from([OutputKind::Recorded]),
            started_at: time(0),
            finished_at: time(30),
            started_marker: None,
            shards_elsewhere: 0,
            continues: None,
            confinement: None,
            max_cost_usd: None,
            harness_version: "0.1.0".to_owned(),
            wasmtime_version: "48.0.8".to_owned(),
            price_list_version: 1,
            bench_git_commit: Some("0123456789abcdef0123456789abcdef01234567".parse().expect("a commit")),
            bench_dirty: Some(false),
            rubric_digest: add(b"the rubric".to_vec()),
            registration_digest: add(REGISTRATION.as_bytes().to_vec()),
            rubric_world: "eval-host:rubric/rubric@0.1.0".to_owned(),
            limits: Limits::default().into(),
            block_modes: BTreeSet::from(["cve_still_present".to_owned()]),
            case_digest_set,
            cassette_digest_set,
            output_digest_set,
            budget_usd_set,
            report,
        };
        Self { objects, record }
    }

    pub fn objects(&self) -> impl Iterator<Item = &[u8]> {
        self.objects.values().map(Vec::as_slice)
    }

    pub fn keep_objects(&self, incoming: &IncomingObjects<'_>) {
        for bytes in self.objects() {
            incoming.keep(bytes).expect("kept");
        }
    }

    /// The run's record at a place.
    pub fn at(&self, position: &Position) -> EvalRunRecord<BenchScore> {
        let mut record = self.record.clone();
        assert_eq!(record.task_class, position.task_class, "its cases are of another task class");
        record.store_id = position.store_id;
        record.seq = position.seq;
        record.prev_hash = position.prev_hash;
        record
    }

    /// The record at a place of a live run with the same answers, which this marker announced.
    pub fn live_at(&self, position: &Position, marker: Digest) -> EvalRunRecord<BenchScore> {
        let mut record = self.at(position);
        record.mode = Mode::Live;
        record.output_kinds = BTreeSet::from([OutputKind::Live]);
        let live = |sut: &Sut| Sut {
            command_digest: Some(Digest::of(b"agent")),
            files: BTreeMap::from([("agent.sh".to_owned(), Digest::of(b"script"))]),
            ..sut.clone()
        };
        record.suts = record.suts.iter().map(live).collect();
        record.started_marker = Some(marker);
        record.confinement = Some(Confinement::Caged(cage()));
        record.max_cost_usd = Some(5.0);
        record.cassette_digest_set.values_mut().for_each(|digest| *digest = None);
        record.budget_usd_set.values_mut().for_each(|budget| *budget = Some(1.0));
        record.report.total_cost_usd = record.report.recorded_cost_usd;
        record.report.recorded_cost_usd = 0.0;
        record
    }

    /// The same of one that reached its cap after the first case.
    pub fn capped_at(&self, position: &Position, marker: Digest) -> EvalRunRecord<BenchScore> {
        let mut record = self.live_at(position, marker);
        let [first, second] = <[_; 2]>::try_from(record.report.cases.clone()).expect("two cases");
        let left_out = second.case_id.clone();
        let finished = [(first, METER.cost_usd), (skipped(second), 0.0)].map(|(result, spent_usd)| FinishedCase {
            result,
            spent_usd,
            recorded_usd: 0.0,
        });
        let facts = RunFacts {
            selection: record.report.selection.clone(),
            lost_usd: 0.0,
            load_errors: Vec::new(),
            warnings: Vec::new(),
        };
        record.report = aggregate(finished.into(), facts, &BTreeSet::new()).expect("one case was attempted");
        record.run_id = record.report.run_id(&record.task_class);
        record.output_digest_set.set(&left_out, None);
        record.budget_usd_set.set(&left_out, None);
        record.max_cost_usd = Some(METER.cost_usd);
        record
    }

    /// The same of one that answers what a capped one left out.
    pub fn continuing_at(&self, position: &Position, marker: Digest, capped: RecordHash) -> EvalRunRecord<BenchScore> {
        EvalRunRecord { continues: Some(capped), ..self.live_at(position, marker) }
    }
}

fn skipped(case: CaseResult<BenchScore>) -> CaseResult<BenchScore> {
    let fault = CaseFault::NoOutput(NoOutput::SkippedCostCap);
    CaseResult {
        outcome: fault.class(),
        score: BenchScore::faulted(&fault, Meter::default()),
        fuel_used: None,
        peak_memory_bytes: None,
        logs_digest: None,
        ..case
    }
}

/// A cage that lacks nothing.
pub fn cage() -> Cage {
    Cage {
        landlock_abi: 6,
        namespaces: Namespace::ALWAYS.into(),
        network: Network::Open,
        read: BTreeSet::from(["~/.config/agent".to_owned()]),
        write: BTreeSet::new(),
        memory_mib: 4096,
        processes: 512,
        workspace_mib: 1024,
    }
}

fn cassette(sut: &SutName, input_digest: Digest, output: &str) -> Vec<u8> {
    let recording = Recording {
        sut,
        input_digest,
        store_id: StoreId::from_bytes([9; 16]),
        started_marker: Digest::of(b"a marker"),
        recorded_at: "2026-11-16T00:00:00.000Z".parse().expect("a time"),
        output: &Ok(output.to_owned()),
        meter: METER,
    };
    recording.to_bytes().expect("an answer")
}

fn read_case(task_class: &str, id: &CaseId) -> ReadCase {
    let case = BenchCase {
        case_id: id.clone(),
        task_class: task_class.parse().expect("a task class"),
        disposition: Disposition::Positive,
        difficulty: Difficulty::Easy,
        source: Source::Curated,
        added_at: "2026-11-16".parse().expect("a date"),
    };
    let file = |path: &str, text: String| (Arc::from(path), Arc::from(text.into_bytes()));
    let files = CaseFiles::from([
        file("expected/truth.txt", format!("the answer to {id}")),
        file("input/question.txt", format!("the question of {id}")),
    ]);
    ReadCase::new(case, Arc::new(files))
}

/// The rubric of these runs, run natively: it reads the label from the output and says how it found it.
#[derive(Debug)]
pub struct Grader;

impl RubricRunner for Grader {
    fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
        let label =
            request.output_json.rsplit_once(' ').and_then(|(_, rest)| rest.trim_end_matches("\"}").parse().ok());
        let result = match label {
            Some(label) => Ok(grade(label, request.meter)),
            None => Err(RubricFault::OutputMalformed("no label".to_owned())),
        };
        let stdout = CapturedStream { kept: b"graded".to_vec(), dropped_bytes: 0 };
        let stderr = CapturedStream::default();
        Ok(Scored { result, fuel_used: Some(12_345), peak_memory_bytes: Some(65_536), stdout, stderr })
    }
}

fn grade(label: u32, meter: Meter) -> RawScore {
    RawScore {
        passed: label.is_multiple_of(2),
        score: 1.0 / (f64::from(label) + 1.0),
        breakdown: vec![("fixed".to_owned(), 0.1 + 0.2)],
        failure_modes: Vec::new(),
        cost_usd: meter.cost_usd,
        duration_seconds: meter.duration_seconds,
    }
}

fn finished(case: &ReadCase, output_json: &str, add: &mut dyn FnMut(Vec<u8>) -> Digest) -> FinishedCase {
    let judged = judge(&Grader, case, output_json, METER, &BTreeSet::new()).expect("it never fails");
    FinishedCase {
        result: CaseResult {
            case_id: case.case.case_id.clone(),
            outcome: judged.outcome(),
            logs_digest: judged.log_object().map(add),
            score: judged.score,
            fuel_used: judged.fuel_used,
            peak_memory_bytes: judged.peak_memory_bytes,
            agent_log_digest: None,
            cost_is_estimate: false,
        },
        spent_usd: 0.0,
        recorded_usd: METER.cost_usd,
    }
}

/// The bytes of a registration: an object that a record names, and that nothing reads.
pub const REGISTRATION: &str = r#"
task_class = "fixture"
current_tier = "bronze"
promotion_metric = "mean_score"
[min_cases_for_promotion]
silver = 2
gold = 3
platinum = 4
[tier_thresholds]
silver = 0.80
gold = 0.90
platinum = 0.97
[failure_modes]
block = ["cve_still_present"]
"#;
