//! Real runs for tests: scores that went through the one door, objects that hash to their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{EvalRunRecord, Mode, OutputKind, SCHEMA_VERSION, Sut};
use crate::chain::Position;
use crate::contract::{
    BenchCase, CapturedStream, CaseFiles, Difficulty, Disposition, Meter, RawScore, RubricFault, RubricRunner,
    RunnerError, ScoreRequest, Scored, Source,
};
use crate::ids::{CaseId, Digest, RecordHash};
use crate::pipeline::log_object;
use crate::report::{CaseResult, FinishedCase, RunFacts, Selection, aggregate};
use crate::sandbox::Limits;
use crate::score::{BenchScore, OutcomeClass};
use crate::stage::StagedCase;
use crate::store::Intake;

const METER: Meter = Meter { cost_usd: 0.25, duration_seconds: 1.5 };

/// A run that has everything but its place in a chain.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    objects: BTreeMap<Digest, Vec<u8>>,
    record: EvalRunRecord<BenchScore>,
}

impl Run {
    /// A run of two cases. Runs with other labels have other outputs and scores.
    pub(crate) fn new(label: u32) -> Self {
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
                let staged = staged_case(id);
                for bytes in staged.files.values() {
                    add(bytes.to_vec());
                }
                (id.clone(), add(staged.manifest))
            })
            .collect();
        let cassette_digest_set = cases.keys().map(|id| (id.clone(), None)).collect();
        let output_digest_set =
            cases.iter().map(|(id, output)| (id.clone(), Some(add(output.clone().into_bytes())))).collect();
        let finished = cases.iter().map(|(id, output)| finished(id, output, &mut add)).collect();
        let facts = RunFacts {
            selection: Selection { patterns: Vec::new(), cases_in_bench: 2, selected: 2 },
            lost_usd: 0.0,
            load_errors: Vec::new(),
            warnings: Vec::new(),
        };
        let report = aggregate(finished, facts, &BTreeSet::new()).expect("two cases were attempted");
        let task_class = "unplaced".parse().expect("a task class");
        let time = |second: u32| format!("2026-11-16T09:{:02}:{second:02}.000Z", label % 60).parse().expect("a moment");
        let record = EvalRunRecord {
            schema_version: SCHEMA_VERSION,
            store_id: "00000000000000000000000000000000".parse().expect("a store id"),
            run_id: report.run_id(&task_class),
            task_class,
            seq: 0,
            prev_hash: RecordHash::GENESIS,
            mode: Mode::Cassette,
            suts: BTreeSet::from([Sut { name: "agent".to_owned(), version: "1".to_owned(), command_digest: None }]),
            output_kinds: BTreeSet::from([OutputKind::Recorded]),
            started_at: time(0),
            finished_at: time(30),
            started_marker: None,
            harness_version: "0.1.0".to_owned(),
            wasmtime_version: "48.0.8".to_owned(),
            bench_git_commit: Some("0123456789abcdef0123456789abcdef01234567".parse().expect("a commit")),
            rubric_digest: add(b"the rubric".to_vec()),
            registration_digest: add(REGISTRATION.as_bytes().to_vec()),
            limits: Limits::default().into(),
            case_digest_set,
            cassette_digest_set,
            output_digest_set,
            report,
        };
        Self { objects, record }
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &[u8]> {
        self.objects.values().map(Vec::as_slice)
    }

    pub(crate) fn keep_objects(&self, intake: &Intake<'_>) {
        for bytes in self.objects() {
            intake.keep(bytes).expect("kept");
        }
    }

    /// The run's record at a place.
    pub(crate) fn at(&self, position: &Position) -> EvalRunRecord<BenchScore> {
        let mut record = self.record.clone();
        record.store_id = position.store_id;
        record.run_id = record.report.run_id(&position.task_class);
        record.task_class = position.task_class.clone();
        record.seq = position.seq;
        record.prev_hash = position.prev_hash;
        record
    }
}

fn staged_case(id: &CaseId) -> StagedCase {
    let case = BenchCase {
        case_id: id.clone(),
        task_class: "fixture".parse().expect("a task class"),
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
    StagedCase::new(case, Arc::new(files))
}

/// The rubric of these runs, run natively: it reads the label from the output and says how it found it.
#[derive(Debug)]
pub(crate) struct Grader;

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

fn finished(id: &CaseId, output_json: &str, add: &mut dyn FnMut(Vec<u8>) -> Digest) -> FinishedCase {
    let staged = staged_case(id);
    let request = ScoreRequest {
        case: &staged.case,
        case_digest: staged.case_digest,
        files: &staged.files,
        output_json,
        meter: METER,
    };
    let scored = Grader.score(&request).expect("it never fails");
    let logs_digest = log_object(&scored).map(add);
    let raw = scored.result.expect("a label");
    FinishedCase {
        result: CaseResult {
            case_id: id.clone(),
            outcome: OutcomeClass::Scored,
            score: BenchScore::admit(raw, METER, &BTreeSet::new()).expect("admissible"),
            fuel_used: scored.fuel_used,
            peak_memory_bytes: scored.peak_memory_bytes,
            logs_digest,
            agent_log_digest: None,
            cost_is_estimate: false,
        },
        fault: None,
        spent_usd: 0.0,
        recorded_usd: METER.cost_usd,
    }
}

pub(crate) const REGISTRATION: &str = r#"
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
