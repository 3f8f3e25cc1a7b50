//! Whether a record says of its cases and answers what the objects say that it names: each case is its manifest's, and each
//! replayed answer its cassette's.
//!
//! Every verification checks it, because a case without an output has nothing to replay, and because a rubric does not see who
//! answered. It scores nothing. An object that is missing is somebody else's finding: here it says nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::case::read_manifest;
use super::finding::State;
use crate::cassette::{Cassette, CassetteError, CassetteKind, Provenance, SutName};
use crate::record::{Mode, OutputKind, RecordedRun, RecordedScore, Sut};
use crate::store::Evidence;
use eval_model::contract::Meter;
use eval_model::ids::{CaseId, Digest, TaskClassName};
use eval_model::outcome::HostMode;
use eval_model::report::CaseResult;

/// How a record contradicts the objects that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerDefect {
    #[error("case `{case_id}` has the files of another case: of `{found}` of the task class `{class}`")]
    OtherCase { case_id: CaseId, found: CaseId, class: TaskClassName },
    #[error("the cassette of case `{case_id}` is none that this program reads")]
    NoCassette {
        case_id: CaseId,
        #[source]
        source: CassetteError,
    },
    #[error("case `{case_id}` has {what} than its cassette")]
    OtherAnswer { case_id: CaseId, what: &'static str },
    #[error("its {field} are not those of its cassettes")]
    OtherSource { field: &'static str },
}

impl AnswerDefect {
    pub(super) fn state(&self) -> State {
        match self {
            Self::NoCassette { source: CassetteError::Newer { .. }, .. } => State::Unverifiable,
            _ => State::Tampered,
        }
    }
}

/// What a cassette says, without its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CassetteFacts {
    pub(crate) sut: SutName,
    pub(crate) kind: CassetteKind,
    pub(crate) input_digest: Digest,
    pub(crate) provenance: Option<Provenance>,
    output_digest: Option<Digest>,
    /// The failure mode of an answer without an output.
    fault: Option<String>,
    meter: Meter,
}

impl From<Cassette> for CassetteFacts {
    fn from(cassette: Cassette) -> Self {
        Self {
            output_digest: cassette.output_digest(),
            fault: cassette.output.as_ref().err().map(ToString::to_string),
            sut: cassette.sut,
            kind: cassette.kind,
            input_digest: cassette.input_digest,
            provenance: cassette.provenance,
            meter: cassette.meter,
        }
    }
}

/// What a case's manifest says, without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestFacts {
    case_id: CaseId,
    task_class: TaskClassName,
    pub(crate) input_digest: Digest,
}

/// How many objects are remembered for the next record that names them: a bench has the same cases in every run.
const MOST_REMEMBERED: usize = 8192;

fn make_room<T>(remembered: &mut BTreeMap<Digest, T>) {
    if remembered.len() >= MOST_REMEMBERED {
        remembered.clear();
    }
}

/// What the objects of some evidence say, each read once whoever names it, up to some number. What cannot be read says nothing.
pub(crate) struct ObjectFacts<'a> {
    evidence: &'a dyn Evidence,
    manifests: BTreeMap<Digest, Option<ManifestFacts>>,
    cassettes: BTreeMap<Digest, Option<Result<CassetteFacts, CassetteError>>>,
}

impl<'a> ObjectFacts<'a> {
    pub(crate) fn new(evidence: &'a dyn Evidence) -> Self {
        Self { evidence, manifests: BTreeMap::new(), cassettes: BTreeMap::new() }
    }

    pub(crate) fn manifest(&mut self, digest: Digest) -> Option<&ManifestFacts> {
        make_room(&mut self.manifests);
        let evidence = self.evidence;
        let read = || {
            let manifest = read_manifest(evidence, digest).ok()?;
            let (case_id, task_class) = (manifest.case_id().clone(), manifest.task_class().clone());
            Some(ManifestFacts { case_id, task_class, input_digest: manifest.input_digest() })
        };
        self.manifests.entry(digest).or_insert_with(read).as_ref()
    }

    fn try_cassette(&mut self, digest: Digest) -> Option<&Result<CassetteFacts, CassetteError>> {
        make_room(&mut self.cassettes);
        let evidence = self.evidence;
        let read = || Some(Cassette::parse(&evidence.object(digest).ok()?).map(CassetteFacts::from));
        self.cassettes.entry(digest).or_insert_with(read).as_ref()
    }

    pub(crate) fn cassette(&mut self, digest: Digest) -> Option<&CassetteFacts> {
        self.try_cassette(digest)?.as_ref().ok()
    }

    /// The first way in which a record contradicts its objects.
    pub(crate) fn contradiction(&mut self, record: &RecordedRun) -> Option<AnswerDefect> {
        let manifests = record.case_digest_set.iter().find_map(|(case_id, digest)| {
            let found = self.manifest(*digest)?;
            let is_it = (&found.case_id, &found.task_class) == (case_id, &record.task_class);
            let (found, class) = (found.case_id.clone(), found.task_class.clone());
            (!is_it).then(|| AnswerDefect::OtherCase { case_id: case_id.clone(), found, class })
        });
        let answers = |facts: &mut Self| record.report.cases.iter().find_map(|case| facts.other_answer(record, case));
        match record.mode {
            Mode::Live => manifests,
            Mode::Cassette => manifests.or_else(|| answers(self)).or_else(|| self.other_source(record)),
        }
    }

    /// How a replayed case contradicts its cassette.
    fn other_answer(&mut self, record: &RecordedRun, case: &CaseResult<RecordedScore>) -> Option<AnswerDefect> {
        let case_id = || case.case_id.clone();
        let digest = record.cassette_digest_set.get(&case.case_id).copied().flatten()?;
        let cassette = match self.try_cassette(digest)? {
            Ok(cassette) => cassette,
            Err(source) => return Some(AnswerDefect::NoCassette { case_id: case_id(), source: source.clone() }),
        };
        let score = case.score.fields();
        let mode = score.failure_modes.first().map(String::as_str);
        let output = record.output_digest_set.get(&case.case_id).copied().flatten();
        // Strictness is the run's own decision, and leaves no trace but this.
        let was_refused = mode == Some(HostMode::CassetteStale.name());
        let is_fault = cassette.fault.as_deref() == mode || cassette.fault.is_none();
        let checks = [
            ("another cost", score.cost_usd.to_bits() == cassette.meter.cost_usd.to_bits()),
            ("another duration", score.duration_seconds.to_bits() == cassette.meter.duration_seconds.to_bits()),
            ("another output", was_refused || output == cassette.output_digest),
            ("another fault", was_refused || is_fault),
        ];
        let (what, _) = checks.into_iter().find(|(_, holds)| !holds)?;
        Some(AnswerDefect::OtherAnswer { case_id: case_id(), what })
    }

    /// Whether the record says of who answered, and of what kind the answers are, what the cassettes say.
    fn other_source(&mut self, record: &RecordedRun) -> Option<AnswerDefect> {
        let (mut answers, mut kinds) = (BTreeMap::new(), BTreeSet::new());
        for digest in record.cassette_digest_set.values().copied().flatten() {
            let cassette = self.cassette(digest)?;
            let output: &mut Option<Digest> = answers.entry(Sut::from(cassette.sut.clone())).or_default();
            *output = output.or(cassette.output_digest);
            kinds.insert(OutputKind::from(cassette.kind));
        }
        let suts = Sut::of_answers(answers);
        let checks = [("suts", suts == record.suts), ("output_kinds", kinds == record.output_kinds)];
        let (field, _) = checks.into_iter().find(|(_, holds)| !holds)?;
        Some(AnswerDefect::OtherSource { field })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Heads, StoreId};
    use crate::record::fixture::Run;
    use crate::store::{IncomingObjects, Snapshot, StoreWriter};
    use serde_json::{Value, json};
    use std::time::Duration;

    const TASK_CLASS: &str = "fixture";

    /// What the objects of a run say against its record, when the record was changed so by somebody who may add objects too.
    fn found(change: impl FnOnce(&mut Value, &IncomingObjects<'_>)) -> Option<AnswerDefect> {
        let temp = tempfile::tempdir().expect("a folder");
        let user = rustix::process::geteuid().as_raw();
        let store = StoreWriter::open(&temp.path().join("store"), user, Duration::from_secs(60)).expect("a store");
        let run = Run::new(2);
        let incoming = store.incoming().expect("it takes objects");
        run.keep_objects(&incoming);
        let task_class = TASK_CLASS.parse().expect("a task class");
        let position = Heads::default().next(StoreId::from_bytes([1; 16]), &task_class);
        let mut record = serde_json::from_slice(&run.at(&position).to_bytes()).expect("JSON");
        change(&mut record, &incoming);
        store.append(&Snapshot::default(), &task_class, &incoming, |position| run.at(position)).expect("committed");
        let (record, _) = RecordedRun::read(record.to_string().as_bytes()).expect("a record");
        ObjectFacts::new(store.reader()).contradiction(&record)
    }

    #[track_caller]
    fn says(change: impl FnOnce(&mut Value, &IncomingObjects<'_>), expected: &str) {
        assert_eq!(found(change).map(|defect| defect.to_string()).as_deref(), Some(expected));
    }

    /// Puts another cassette under the first case: the one that it has, edited.
    fn edit_cassette(record: &mut Value, incoming: &IncomingObjects<'_>, from: &str, to: &str) {
        let output = "{\"answer\":\"001-first 2\"}";
        let first = format!(
            "{{\"schema_version\":1,\"sut\":{{\"name\":\"agent\",\"version\":\"1\"}},\"kind\":\"recorded\",\"input_digest\":\"{}\",\
             \"recorded_at\":\"2026-11-16T00:00:00Z\",\"duration_seconds\":1.5,\"cost_usd\":0.25,\"output\":{output}}}",
            Digest::of(b"input")
        );
        assert!(first.contains(from), "{first}");
        let digest = incoming.keep(first.replacen(from, to, 1).as_bytes()).expect("kept");
        record["cassette_digest_set"]["001-first"] = json!(digest);
    }

    #[test]
    fn what_the_host_writes_agrees_with_its_objects() {
        assert_eq!(found(|_, _| {}), None);
        assert_eq!(found(|record, incoming| edit_cassette(record, incoming, "agent", "agent")), None);
    }

    /// All cases with the manifest, the output and the score of an easy one would replay.
    #[test]
    fn a_case_is_the_one_that_its_manifest_is_of() {
        let same_easy_case = |record: &mut Value, _: &IncomingObjects<'_>| {
            record["case_digest_set"]["002-second"] = record["case_digest_set"]["001-first"].clone();
        };
        let expected = "case `002-second` has the files of another case: of `001-first` of the task class `fixture`";
        says(same_easy_case, expected);
        let other_class = |record: &mut Value, _: &IncomingObjects<'_>| record["task_class"] = json!("another");
        let expected = "case `001-first` has the files of another case: of `001-first` of the task class `fixture`";
        says(other_class, expected);
    }

    #[test]
    fn an_answer_key_cannot_be_relabelled_in_the_record() {
        let solved = |record: &mut Value, incoming: &IncomingObjects<'_>| {
            edit_cassette(record, incoming, "recorded", "solved-example");
        };
        says(solved, "its output_kinds are not those of its cassettes");
        let other_agent =
            |record: &mut Value, incoming: &IncomingObjects<'_>| edit_cassette(record, incoming, "agent", "curator");
        says(other_agent, "its suts are not those of its cassettes");
        let other_model = |record: &mut Value, incoming: &IncomingObjects<'_>| {
            edit_cassette(record, incoming, "\"version\":\"1\"", "\"version\":\"1\",\"model\":\"another\"");
        };
        says(other_model, "its suts are not those of its cassettes");
    }

    /// A fault leaves nothing to replay, so it is what hides a failure of block severity.
    #[test]
    fn an_answer_cannot_be_called_a_timeout() {
        let relabelled = |record: &mut Value, _: &IncomingObjects<'_>| {
            let case = &mut record["report"]["cases"][0];
            case["outcome"] = json!("sut_fault");
            case["score"]["failure_modes"] = json!(["timeout"]);
            record["output_digest_set"]["001-first"] = Value::Null;
        };
        says(relabelled, "case `001-first` has another output than its cassette");
        let other_fault = |record: &mut Value, incoming: &IncomingObjects<'_>| {
            relabelled(record, incoming);
            let error = "\"error\":{\"mode\":\"harness_error\",\"kind\":\"signal\",\"message\":\"9\"}";
            edit_cassette(record, incoming, "\"output\":{\"answer\":\"001-first 2\"}", error);
        };
        says(other_fault, "case `001-first` has another fault than its cassette");
        let strict = |record: &mut Value, incoming: &IncomingObjects<'_>| {
            relabelled(record, incoming);
            record["report"]["cases"][0]["outcome"] = json!("harness_fault");
            record["report"]["cases"][0]["score"]["failure_modes"] = json!(["cassette_stale"]);
        };
        assert_eq!(found(strict), None, "a strict run took no answer from it");
    }

    #[test]
    fn the_meter_is_the_cassettes() {
        let cheaper = |record: &mut Value, incoming: &IncomingObjects<'_>| {
            edit_cassette(record, incoming, "\"cost_usd\":0.25", "\"cost_usd\":0.5");
        };
        says(cheaper, "case `001-first` has another cost than its cassette");
        let slower = |record: &mut Value, incoming: &IncomingObjects<'_>| {
            edit_cassette(record, incoming, "\"duration_seconds\":1.5", "\"duration_seconds\":2.5");
        };
        says(slower, "case `001-first` has another duration than its cassette");
    }

    #[test]
    fn a_cassette_of_a_newer_version_is_unverifiable_and_any_other_object_is_none() {
        let edited = |from: &'static str, to: &'static str| {
            found(move |record, incoming| edit_cassette(record, incoming, from, to)).expect("a defect").state()
        };
        assert_eq!(edited("\"schema_version\":1", "\"schema_version\":2"), State::Unverifiable);
        assert_eq!(edited("\"kind\"", "\"sort\""), State::Tampered);
    }
}
