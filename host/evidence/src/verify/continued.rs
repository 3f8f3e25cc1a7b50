//! Whether a record that continues a capped one took from it what it says: the cases that were answered there, as they were
//! answered.
//!
//! Without this, a run could be capped until its answers were liked, and its bad ones answered again under the name of going on
//! with it; or an agent could be let out of its cage for the first half. It compares two records, and reads no object.

use std::ffi::OsString;

use super::figures::Contradiction;
use super::finding::{Defect, Finding};
use super::verification::Verification;
use crate::chain::{Link, hash_of};
use crate::record::{Mode, RecordedRun, RecordedScore};
use crate::store::Evidence;
use eval_model::ids::RecordHash;
use eval_model::outcome::OutcomeClass;
use eval_model::report::CaseResult;

/// The first way in which a record contradicts the one that it continues, of which `earlier` is what was found.
fn contradiction(record: &RecordedRun, earlier: Option<&RecordedRun>) -> Option<Contradiction> {
    let continues = record.continues?;
    let is_earlier = |earlier: &&RecordedRun| {
        (&earlier.store_id, &earlier.task_class) == (&record.store_id, &record.task_class) && earlier.seq < record.seq
    };
    let Some(earlier) = earlier.filter(is_earlier) else {
        return Some(Contradiction::NothingContinued { record: continues });
    };
    let seq = earlier.seq;
    let run = || Some(Contradiction::Continued { seq, what: other_run(record, earlier)? });
    let mut answered = earlier.report.cases.iter().filter(|case| case.outcome != OutcomeClass::Skipped);
    let case = |case: &CaseResult<RecordedScore>| {
        let what = other_answer(record, earlier, case)?;
        Some(Contradiction::ContinuedCase { seq, case_id: case.case_id.clone(), what })
    };
    run().or_else(|| answered.find_map(case))
}

/// Why one record cannot go on with the run of another.
fn other_run(record: &RecordedRun, earlier: &RecordedRun) -> Option<&'static str> {
    let checks = [
        ("which is of no live run", earlier.mode == Mode::Live),
        ("which left no case out", earlier.report.aborted),
        ("which is of other cases", earlier.case_digest_set == record.case_digest_set),
        ("which is of another rubric", earlier.rubric_digest == record.rubric_digest),
        ("which is of another registration", earlier.registration_digest == record.registration_digest),
        ("whose agents were confined otherwise", earlier.confinement == record.confinement),
        ("and does not name all who answered there", earlier.suts.is_subset(&record.suts)),
    ];
    checks.into_iter().find(|(_, holds)| !holds).map(|(what, _)| what)
}

/// What differs in a case that was answered before.
fn other_answer(record: &RecordedRun, earlier: &RecordedRun, case: &CaseResult<RecordedScore>) -> Option<&'static str> {
    let id = &case.case_id;
    // The cases of a record are sorted by their ids, and both have the same ones.
    let index = record.report.cases.binary_search_by(|other| other.case_id.cmp(id)).ok()?;
    let now = &record.report.cases[index];
    let (before, after) = (case.score.numbers(), now.score.numbers());
    let budget = |record: &RecordedRun| record.budget_usd_set.get(id).copied().flatten().map(f64::to_bits);
    let checks = [
        ("another output", earlier.output_digest_set.get(id) == record.output_digest_set.get(id)),
        ("another outcome", case.outcome == now.outcome),
        ("another cost", before.cost_usd.to_bits() == after.cost_usd.to_bits()),
        ("another duration", before.duration_seconds.to_bits() == after.duration_seconds.to_bits()),
        ("another budget", budget(earlier) == budget(record)),
    ];
    checks.into_iter().find(|(_, holds)| !holds).map(|(what, _)| what)
}

/// The same for a record that is about to be committed beside records of these names.
pub(crate) fn continued_contradiction(
    record: &RecordedRun,
    evidence: &dyn Evidence,
    names: &[OsString],
) -> Option<Contradiction> {
    let hash = record.continues?;
    let ending = format!("-{}.json", &hash.to_string()[..8]);
    let named = names.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(&ending));
    let read = |name: &str| {
        let bytes = evidence.record(name).ok().filter(|bytes| hash_of(bytes) == hash)?;
        RecordedRun::read(&bytes).ok().map(|(record, _)| record)
    };
    let earlier = named.filter(|name| !name.starts_with('.')).find_map(read);
    contradiction(record, earlier.as_ref())
}

impl Verification {
    /// Compares records with those that they continue. One that only a newer program can read may be the one that is named.
    pub(super) fn check_continued(&mut self, evidence: &dyn Evidence, continuing: &[(Link, RecordHash)]) {
        let has_unread = self.has_unread_records();
        let finding = |(link, hash): &(Link, RecordHash)| {
            let record = evidence.verified_record(link)?;
            let named = self.links.values().find(|other| other.hash == *hash);
            let earlier = named.and_then(|link| evidence.verified_record(link));
            let found = contradiction(&record, earlier.as_ref())?;
            let is_unknown = matches!(found, Contradiction::NothingContinued { .. });
            (!is_unknown || !has_unread).then(|| Finding::at(link, Defect::Contradiction(found)))
        };
        let findings: Vec<_> = continuing.iter().filter_map(finding).collect();
        self.add(findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Heads, StoreId};
    use crate::record::fixture::Run;
    use eval_model::ids::Digest;
    use serde_json::{Value, json};

    /// A capped record and one that continues it, as JSON.
    fn pair() -> [Value; 2] {
        let mut heads = Heads::default();
        let task_class = "fixture".parse().expect("a task class");
        let (store, run) = (StoreId::from_bytes([1; 16]), Run::new(2));
        let capped = run.capped_at(&heads.next(store, &task_class), Digest::of(b"first")).to_bytes();
        let (_, link) = RecordedRun::read(&capped).expect("a record");
        heads.set(task_class.clone(), link.head());
        let whole = run.continuing_at(&heads.next(store, &task_class), Digest::of(b"second"), link.hash).to_bytes();
        [capped, whole].map(|bytes| serde_json::from_slice(&bytes).expect("JSON"))
    }

    fn read(value: &Value) -> RecordedRun {
        RecordedRun::read(value.to_string().as_bytes()).expect("a record").0
    }

    #[track_caller]
    fn says(change: impl FnOnce(&mut Value, &mut Value), expected: Option<&str>) {
        let [mut earlier, mut record] = pair();
        change(&mut earlier, &mut record);
        let found = contradiction(&read(&record), Some(&read(&earlier)));
        assert_eq!(found.map(|found| found.to_string()).as_deref(), expected);
    }

    #[test]
    fn a_run_that_goes_on_where_a_capped_one_stopped_contradicts_nothing() {
        says(|_, _| {}, None);
        let [_, mut record] = pair();
        record["continues"] = Value::Null;
        assert_eq!(contradiction(&read(&record), None), None, "a run of its own");
    }

    #[test]
    fn a_record_continues_an_earlier_one_of_its_class_and_store() {
        let [_, record] = pair();
        let hash = record["continues"].as_str().expect("a hash").to_owned();
        let expected =
            format!("it says that it continues `{hash}`, and no earlier record of its task class here has that hash");
        let found = contradiction(&read(&record), None).expect("nothing is there");
        assert_eq!(found.to_string(), expected);
        says(|earlier, _| earlier["task_class"] = json!("another"), Some(&expected));
        says(|earlier, _| earlier["store_id"] = json!("5".repeat(32)), Some(&expected));
        let not_earlier = |earlier: &mut Value, record: &mut Value| {
            earlier["seq"] = record["seq"].clone();
            earlier["prev_hash"] = record["prev_hash"].clone();
        };
        says(not_earlier, Some(&expected));
    }

    #[test]
    fn only_a_capped_live_run_of_the_same_bench_and_agent_is_continued() {
        let says = |change: fn(&mut Value), expected: &str| {
            says(|earlier, _| change(earlier), Some(&format!("it continues record 1, {expected}")));
        };
        says(|earlier| earlier["mode"] = json!("cassette"), "which is of no live run");
        says(|earlier| earlier["report"]["aborted"] = json!(false), "which left no case out");
        says(|earlier| earlier["case_digest_set"]["002-second"] = json!("0".repeat(64)), "which is of other cases");
        says(|earlier| earlier["rubric_digest"] = json!("0".repeat(64)), "which is of another rubric");
        says(|earlier| earlier["registration_digest"] = json!("0".repeat(64)), "which is of another registration");
        says(|earlier| earlier["confinement"] = json!("none"), "whose agents were confined otherwise");
        says(|earlier| earlier["suts"][0]["name"] = json!("b"), "and does not name all who answered there");
    }

    #[test]
    fn what_was_answered_before_is_not_answered_again() {
        let says = |change: fn(&mut Value), expected: &str| {
            let expected = format!("it continues record 1, and its case `001-first` has {expected} than there");
            says(|_, record| change(record), Some(&expected));
        };
        says(|record| record["output_digest_set"]["001-first"] = json!("0".repeat(64)), "another output");
        says(|record| record["report"]["cases"][0]["outcome"] = json!("sut_fault"), "another outcome");
        says(|record| record["report"]["cases"][0]["score"]["cost_usd"] = json!(0.5), "another cost");
        says(|record| record["report"]["cases"][0]["score"]["duration_seconds"] = json!(0.5), "another duration");
        says(|record| record["budget_usd_set"]["001-first"] = json!(0.5), "another budget");
    }

    #[test]
    fn what_was_left_out_before_is_answered_as_it_may_be() {
        says(|_, record| record["budget_usd_set"]["002-second"] = json!(0.5), None);
        says(|_, record| record["report"]["cases"][1]["score"]["cost_usd"] = json!(0.5), None);
    }
}
