//! Every line type against `docs/json-lines.md`, in both directions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::attack::TallyFields;
use super::author::ImportLine;
use super::evidence::{ClassLine, FindingLine, ReplayLine};
use super::*;
use eval_evidence::anchor::RecordSignature;
use eval_evidence::chain::StoreId;
use eval_evidence::gate::{
    BenchCommit, BenchRead, Figures, LiveRuns, PromotionVerdict, ProvenRun, Reason, RecordRead, Remark, ReplayResult,
};
use eval_evidence::record::Mode;
use eval_evidence::record::Sut;
use eval_evidence::verify::{Compiled, State};
use eval_model::confinement::{Cage, Confinement, Namespace, Network};
use eval_model::contract::{Difficulty, Disposition, Meter, RawScore};
use eval_model::ids::{CaseId, Digest, TaskClassName, Tier};
use eval_model::outcome::OutcomeClass;
use eval_model::report::{PromotionMetric, Selection};
use eval_model::score::BenchScore;

const DOCUMENT: &str = include_str!("../../../../docs/json-lines.md");

/// Objects whose keys are names of something, and no part of the format.
const MAPS: [&str; 5] = ["breakdown", "outcomes", "dispositions", "difficulties", "files"];

/// The words in backticks below each heading of a kind.
fn documented() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let section = |section: &'static str| {
        let (kind, rest) = section.split_once("`\n").expect("a heading has one kind");
        let own = rest.split("\n## ").next().expect("a beginning");
        (kind, own.split('`').skip(1).step_by(2).collect())
    };
    DOCUMENT.split("\n### `").skip(1).map(section).collect()
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.insert(key.clone());
                if !MAPS.contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

fn cage() -> Cage {
    Cage {
        landlock_abi: 6,
        namespaces: Namespace::ALWAYS.into(),
        network: Network::Tcp([443].into()),
        read: ["~/.config/agent".to_owned()].into(),
        write: ["tools".to_owned()].into(),
        memory_mib: 4096,
        processes: 512,
        workspace_mib: 1024,
    }
}

/// The facts that the samples borrow from.
struct Facts {
    case_id: CaseId,
    task_class: TaskClassName,
    score: BenchScore,
    outcomes: BTreeMap<OutcomeClass, u64>,
    modes: BTreeSet<String>,
    texts: Vec<String>,
    selection: Selection,
    load_error: LoadErrorEntry,
    verdict: PromotionVerdict,
}

impl Facts {
    fn new() -> Self {
        let raw = RawScore {
            passed: false,
            score: 0.5,
            breakdown: vec![("tests".to_owned(), 0.5)],
            failure_modes: vec!["tests_fail".to_owned()],
            cost_usd: 0.0,
            duration_seconds: 0.0,
        };
        Self {
            case_id: "001-first".parse().expect("a case id"),
            task_class: "fixture".parse().expect("a task class"),
            score: BenchScore::admit(raw, Meter::default(), &BTreeSet::new()).expect("a score"),
            outcomes: [(OutcomeClass::Scored, 1)].into(),
            modes: ["tests_fail".to_owned()].into(),
            texts: vec!["a text".to_owned()],
            selection: Selection { patterns: vec!["a text".to_owned()], cases_in_bench: 2, selected: 1 },
            load_error: LoadErrorEntry {
                folder: "cases/002".to_owned(),
                field: "case_id".to_owned(),
                message: "missing".to_owned(),
            },
            verdict: verdict(),
        }
    }

    /// A sample of every type, with nothing left out: what is optional is there, and every list has an element.
    fn samples(&self) -> Vec<Line<'_>> {
        let mut samples = self.of_runs();
        samples.extend(self.of_evidence());
        samples.extend(self.of_authors());
        samples.extend(self.of_attacks());
        samples
    }

    fn of_runs(&self) -> Vec<Line<'_>> {
        let case = CaseLine {
            case_id: &self.case_id,
            outcome: OutcomeClass::Scored,
            score: &self.score,
            fuel_used: Some(1),
            peak_memory_bytes: Some(2),
            cost_is_estimate: true,
        };
        let aggregate = AggregateLine {
            schema_version: LINES_VERSION,
            task_class: &self.task_class,
            run_id: "a".repeat(64).parse().expect("a run id"),
            selection: &self.selection,
            attempted: 1,
            skipped: 0,
            outcomes: &self.outcomes,
            passed_count: 0,
            mean_score: 0.5,
            lower_bound_95: 0.1,
            total_cost_usd: 0.25,
            estimated_cost_usd: 0.125,
            recorded_cost_usd: 0.5,
            block_severity_failure_modes: &self.modes,
            aborted: false,
            had_load_errors: true,
            warnings: &self.texts,
        };
        vec![
            Line::Case(case),
            Line::LoadError(&self.load_error),
            Line::Aggregate(aggregate),
            Line::Record { path: "runs/a.json", seq: 1 },
            Line::AnswerSet { path: "shard.jsonl" },
            Line::PlannedCase(PlannedCaseLine {
                case_id: &self.case_id,
                case_digest: Digest::of(b"case"),
                input_digest: Digest::of(b"input"),
            }),
            Line::Plan(PlanLine {
                task_class: &self.task_class,
                mode: Mode::Cassette,
                cases: 1,
                load_errors: 1,
                rubric_digest: Digest::of(b"rubric"),
                registration_digest: Digest::of(b"registration"),
                largest_possible_cost_usd: 5.0,
            }),
        ]
    }

    fn of_evidence(&self) -> Vec<Line<'_>> {
        let finding = FindingLine {
            state: "TAMPERED",
            task_class: Some(&self.task_class),
            seq: Some(1),
            file: Some("runs/a.json"),
            message: "it was there and is gone".to_owned(),
        };
        let class = ClassLine {
            task_class: &self.task_class,
            records: 1,
            head: Some("a".repeat(64)),
            unfinished: Some(1),
            signed: 1,
            signed_by_unknown_keys: 2,
            unsigned: 3,
        };
        let verification = VerificationLine {
            schema_version: LINES_VERSION,
            state: "TAMPERED",
            findings: vec![finding],
            notes: self.texts.clone(),
            classes: vec![class],
            replay: Some(ReplayLine { records: 1, replayed: 2, nothing_to_replay: 3, other_fuel: 4, left_out: 5 }),
        };
        vec![
            Line::Verification(verification),
            Line::Bundle { path: "record.tar" },
            Line::Key { verifier: "tests+00000000+AQ==", rotation: Some("audit/anchors/rotation-00000000.txt") },
            Line::Checkpoint { path: "audit/anchors/a.txt" },
            Line::from(&self.verdict),
        ]
    }

    fn of_authors(&self) -> Vec<Line<'_>> {
        let task_class = TaskClassLine {
            task_class: &self.task_class,
            current_tier: Tier::Bronze,
            cases: 2,
            dispositions: [(Disposition::Positive, 1)].into(),
            difficulties: [(Difficulty::Easy, 1)].into(),
            unloadable: 1,
            last_run: Some("2026-11-16T09:30:00.000Z".parse().expect("a time")),
            last_run_by: self.verdict.agent.iter().map(Into::into).collect(),
        };
        let golden = GoldenLine {
            case_id: "001-first",
            name: "right",
            holds: false,
            expected: "pass 1 [slow]".to_owned(),
            actual: "fail 0 [tests_fail]".to_owned(),
            fuel_used: Some(1),
            peak_memory_bytes: Some(2),
        };
        let tried = TriedCaseLine {
            case_id: &self.case_id,
            outcome: OutcomeClass::Scored,
            score: &self.score,
            fuel_used: Some(1),
            fuel_limit: 2,
            peak_memory_bytes: Some(3),
            memory_limit_bytes: 4,
        };
        let import = ImportLine {
            name: "wasi:http/types",
            granted_by: Some("the sandbox"),
            refusal: Some("no network".to_owned()),
        };
        let inspection = InspectionLine {
            binary: "component",
            world: Some("eval-host:rubric/rubric@0.1.0"),
            contract_version: Some("0.1.0".to_owned()),
            bytes: 1,
            blake3: Digest::of(b"a component"),
            imports: vec![import],
            exports: &self.texts,
            loads: false,
            refusal: Some("no network".to_owned()),
        };
        vec![
            Line::Gap(GapLine { path: "bench/fixture".into(), message: "no README.md" }),
            Line::TaskClass(task_class),
            Line::Golden(golden),
            Line::Rubric(RubricLine { task_class: &self.task_class, bytes: 1, blake3: Digest::of(b"a component") }),
            Line::TriedCase(tried),
            Line::Inspection(inspection),
        ]
    }

    fn of_attacks(&self) -> Vec<Line<'_>> {
        let tally = || TallyFields { mutants: 4, killed: 1, survivors: 1, accepted: 1, faulted: 1 };
        vec![
            Line::Mutator(MutatorLine { mutator: "drop-hunk", tally: tally() }),
            Line::Survivor(SurvivorLine {
                case_id: &self.case_id,
                mutator: "drop-hunk",
                answer: "right",
                test: "equivalent-drop-hunk-00000000".to_owned(),
                score: 1.0,
                diff: "-a",
            }),
            Line::Faulted(FaultedLine {
                case_id: &self.case_id,
                mutator: "drop-hunk",
                answer: "right",
                fault: "rubric_trap",
                diff: "-a",
            }),
            Line::Attack(AttackLine {
                task_class: &self.task_class,
                rubric_digest: Digest::of(b"rubric"),
                answers: 1,
                tally: tally(),
            }),
        ]
    }
}

fn verdict() -> PromotionVerdict {
    PromotionVerdict {
        task_class: "fixture".parse().expect("a task class"),
        current_tier: Tier::Bronze,
        target_tier: Tier::Silver,
        reasons: vec![Reason::Aborted],
        remarks: vec![Remark::EarlierLiveRuns { count: 2 }],
        figures: Figures {
            metric: PromotionMetric::MeanScore,
            value: 1.0,
            threshold: Some(0.8),
            mean_score: 1.0,
            lower_bound_95: 0.223_606_797_749_979,
            attempted: 2,
            passed_count: 2,
            passed_needed: Some(2),
        },
        record: RecordRead {
            file: "20261116T090030.000Z-cc953e05.json".to_owned(),
            seq: 1,
            hash: "cc953e0597f30cb7abfb6b248a7b523c509e98700a167f08a19a766a535e2649".parse().expect("a hash"),
            run_id: "084e9469e443f17f3baefbbc63cce20621b9cf73f2f4a47a27736f5aa265a012".parse().expect("a run id"),
            rubric_digest: "66bd998b39518c47f1118be0c2f9e0d599b986818eb312df372b7cbdecffc9f9"
                .parse()
                .expect("a digest"),
        },
        bench: BenchRead {
            commit_at_run: Some(BenchCommit { commit: "b".repeat(40).parse().expect("a commit"), is_dirty: false }),
            commit_now: Some(BenchCommit { commit: "a".repeat(40).parse().expect("a commit"), is_dirty: true }),
            registration_digest_at_run: Digest::of(b"then"),
            registration_digest_now: Digest::of(b"now"),
            case_set_digest_at_run: Digest::of(b"cases then"),
            case_set_digest_now: Digest::of(b"cases now"),
        },
        agent: Some(Sut {
            name: "agent".to_owned(),
            version: "1".to_owned(),
            model: Some("a-model".to_owned()),
            command_digest: Some(Digest::of(b"agent")),
            files: BTreeMap::from([("agent.sh".to_owned(), Digest::of(b"script"))]),
        }),
        confinement: Some(Confinement::Caged(cage())),
        signature: RecordSignature::Trusted {
            key: "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".parse().expect("a key"),
        },
        provenance: Some(ProvenRun {
            store_id: StoreId::from_bytes([7; 16]),
            seq: 3,
            hash: "cc953e0597f30cb7abfb6b248a7b523c509e98700a167f08a19a766a535e2649".parse().expect("a hash"),
            is_signed: false,
            shards_elsewhere: 0,
            confinement: Some(Confinement::Caged(cage())),
            continues: None,
        }),
        live_runs: LiveRuns { earlier: 2, later: Some(0), unfinished: Some(1), unfinished_at_least: 1 },
        replay: ReplayResult {
            replayed: 2,
            nothing_to_replay: 0,
            other_fuel: 0,
            compiled: Compiled::Before,
            state: State::Tampered,
            findings: vec!["a case differs".to_owned()],
        },
    }
}

/// A number for every variant. A new one does not compile here until it has one, and then asks for a sample.
fn variant(line: &Line<'_>) -> usize {
    match line {
        Line::Case(_) => 0,
        Line::LoadError(_) => 1,
        Line::Aggregate(_) => 2,
        Line::Record { .. } => 3,
        Line::AnswerSet { .. } => 4,
        Line::PlannedCase(_) => 5,
        Line::Plan(_) => 6,
        Line::Verification(_) => 7,
        Line::Bundle { .. } => 8,
        Line::Key { .. } => 9,
        Line::Checkpoint { .. } => 10,
        Line::Verdict(_) => 11,
        Line::Gap(_) => 12,
        Line::TaskClass(_) => 13,
        Line::Golden(_) => 14,
        Line::Rubric(_) => 15,
        Line::TriedCase(_) => 16,
        Line::Inspection(_) => 17,
        Line::Mutator(_) => 18,
        Line::Survivor(_) => 19,
        Line::Faulted(_) => 20,
        Line::Attack(_) => 21,
    }
}

#[test]
fn every_type_has_a_sample_and_says_its_kind_first() {
    let facts = Facts::new();
    let samples = facts.samples();
    assert_eq!(samples.iter().map(variant).collect::<Vec<_>>(), (0..22).collect::<Vec<_>>());
    for sample in &samples {
        let line = sample.to_json();
        assert!(line.starts_with(r#"{"kind":""#) && !line.contains('\n'), "{line}");
        assert!(!line.contains(":null") && !line.contains("[]"), "a sample leaves nothing out: {line}");
    }
}

#[test]
fn every_key_is_documented_under_its_kind_and_every_documented_kind_has_a_type() {
    let documented = documented();
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    for sample in Facts::new().samples() {
        let mut line: Value = serde_json::from_str(&sample.to_json()).expect("a line is JSON");
        let fields = line.as_object_mut().expect("a line is an object");
        let kind = fields.remove("kind").and_then(|kind| Some(kind.as_str()?.to_owned())).expect("a kind");
        let mut found = BTreeSet::new();
        keys(&line, &mut found);
        let words = documented.get(kind.as_str()).unwrap_or_else(|| panic!("`{kind}` has no heading"));
        let missing: Vec<_> = found.iter().filter(|key| !words.contains(key.as_str())).collect();
        assert!(missing.is_empty(), "docs/json-lines.md does not say what {missing:?} of `{kind}` are");
        kinds.insert(kind);
    }
    let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
    assert_eq!(
        kinds,
        documented.into_keys().collect::<Vec<_>>(),
        "the kinds that have a type, and the documented ones"
    );
}

#[test]
fn the_line_of_a_verdict_says_everything() {
    let json = Line::from(&verdict()).to_json();
    insta::assert_snapshot!(json, @r#"{"kind":"verdict","schema_version":1,"task_class":"fixture","current_tier":"bronze","target_tier":"silver","evidence_sufficient":false,"reasons":[{"code":"aborted","message":"the run was aborted"}],"remarks":[{"code":"earlier_live_runs","message":"live runs that were recorded before: 2"}],"figures":{"metric":"mean_score","value":1.0,"threshold":0.8,"mean_score":1.0,"lower_bound_95":0.223606797749979,"attempted":2,"passed_count":2,"passed_needed":2},"record":{"file":"20261116T090030.000Z-cc953e05.json","seq":1,"hash":"cc953e0597f30cb7abfb6b248a7b523c509e98700a167f08a19a766a535e2649","run_id":"084e9469e443f17f3baefbbc63cce20621b9cf73f2f4a47a27736f5aa265a012","rubric_digest":"66bd998b39518c47f1118be0c2f9e0d599b986818eb312df372b7cbdecffc9f9"},"bench":{"commit_at_run":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","dirty_at_run":false,"commit_now":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","dirty_now":true,"registration_digest_at_run":"98340107f06d36800a9f58e30d1cb5bcd1729ba92f01378849274a4fc693ec54","registration_digest_now":"470e9beee4988feac1d5f0bad8d580e89f415722ffa35e75c5f11d139b64edd2","case_set_digest_at_run":"40ce8dc9b9ef616da0a078ab4f15832943d35939e14a512b559ab401a4797f9d","case_set_digest_now":"d8960c38e149ed7ce19b04a71756c80422bf3e6bbae4f5a1a74370ef0ccd1331"},"agent":{"name":"agent","version":"1","model":"a-model","command_digest":"363fa6804258ec0314090d1a0238bfeb045ee272c909de19383847694571b5e6","files":{"agent.sh":"6c737280e30ad499f0612336da629536d6af3f7b06d40284620b99a59a60e342"}},"confinement":{"caged":{"landlock_abi":6,"namespaces":["ipc","mount","pid","user"],"network":[443],"read":["~/.config/agent"],"write":["tools"],"memory_mib":4096,"processes":512,"workspace_mib":1024}},"signature":{"state":"trusted","key":"PeterNeumann","verifier":"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"},"provenance":{"store_id":"07070707070707070707070707070707","seq":3,"hash":"cc953e0597f30cb7abfb6b248a7b523c509e98700a167f08a19a766a535e2649","signed":false},"live_runs":{"earlier":2,"later":0,"unfinished":1},"replay":{"state":"TAMPERED","replayed":2,"nothing_to_replay":0,"other_fuel":0,"compiled":"before","findings":["a case differs"]}}"#);
}
