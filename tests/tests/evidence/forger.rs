//! Somebody who can write the store and knows every rule: what they forge has hashes, names and figures that fit.

use std::fs;
use std::path::{Path, PathBuf};

use eval_model::ids::{CaseId, TaskClassName};
use eval_model::report::{exact_mean, lower_bound_95, run_id};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A record as a forger has it on the desk.
pub(crate) struct Forgery {
    pub(crate) record: Value,
}

impl Forgery {
    pub(crate) fn of(path: &Path) -> Self {
        Self { record: serde_json::from_slice(&fs::read(path).expect("a record")).expect("JSON") }
    }

    pub(crate) fn cases(&mut self) -> &mut Vec<Value> {
        self.record["report"]["cases"].as_array_mut().expect("a list")
    }

    /// Makes it the record behind `newest`.
    pub(crate) fn behind(mut self, newest: &Path) -> Self {
        let bytes = fs::read(newest).expect("a record");
        let last: Value = serde_json::from_slice(&bytes).expect("JSON");
        self.record["seq"] = json!(last["seq"].as_u64().expect("a number") + 1);
        self.record["prev_hash"] = json!(hex(&Sha256::digest(&bytes)));
        self.record["finished_at"] = json!("2027-01-01T00:00:00.000Z");
        self
    }

    /// Gives a case every point there is.
    pub(crate) fn perfect(case: &mut Value) {
        case["score"]["passed"] = json!(true);
        case["score"]["score"] = json!(1.0);
        case["score"]["failure_modes"] = json!([]);
    }

    /// Calls a case a timeout of the agent, of which nothing is left.
    pub(crate) fn timeout(&mut self, index: usize) {
        let case = &mut self.cases()[index];
        let id = case["case_id"].as_str().expect("an id").to_owned();
        case["outcome"] = json!("sut_fault");
        for (key, value) in [
            ("passed", json!(false)),
            ("score", json!(0.0)),
            ("breakdown", json!({})),
            ("failure_modes", json!(["timeout"])),
        ] {
            case["score"][key] = value;
        }
        for key in ["fuel_used", "peak_memory_bytes", "logs_digest"] {
            case[key] = Value::Null;
        }
        self.record["output_digest_set"][&id] = Value::Null;
    }

    /// The bytes of the record, with every figure that follows from the cases.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        let task_class: TaskClassName = self.record["task_class"].as_str().expect("a name").parse().expect("a class");
        let cases = self.cases().clone();
        let ids: Vec<CaseId> =
            cases.iter().map(|case| case["case_id"].as_str().expect("an id").parse().expect("an id")).collect();
        let texts: Vec<String> = cases.iter().map(|case| score_text(&case["score"])).collect();
        let scores = || cases.iter().map(|case| case["score"]["score"].as_f64().expect("a score"));
        let mean = exact_mean(scores()).expect("a mean");
        let report = &mut self.record["report"];
        for outcome in ["scored", "sut_fault", "rubric_fault", "harness_fault", "skipped"] {
            let count = cases.iter().filter(|case| case["outcome"] == outcome).count();
            report["outcomes"][outcome] = json!(count);
        }
        report["passed_count"] = json!(cases.iter().filter(|case| case["score"]["passed"] == true).count());
        report["mean_score"] = json!(mean);
        report["lower_bound_95"] = json!(lower_bound_95(mean, cases.len() as u64));
        let blocking = |case: &&Value| {
            case["score"]["failure_modes"].as_array().is_some_and(|modes| modes.contains(&json!("harmful")))
        };
        let has_block = cases.iter().any(|case| blocking(&case));
        report["block_severity_failure_modes"] = if has_block { json!(["harmful"]) } else { json!([]) };
        self.record["run_id"] = json!(run_id(&task_class, ids.iter().zip(&texts)).to_string());
        // A score's text is hashed as it stands, so its keys keep their order.
        for (index, case) in self.cases().iter_mut().enumerate() {
            case["score"] = json!(format!("<score {index}>"));
        }
        let mut text = self.record.to_string();
        for (index, score) in texts.iter().enumerate() {
            text = text.replace(&format!("\"<score {index}>\""), score);
        }
        format!("{text}\n").into_bytes()
    }

    /// Puts the record into a store under its own name.
    pub(crate) fn append(self, store: &Path) -> PathBuf {
        let finished_at = self.record["finished_at"].as_str().expect("a time").replace(['-', ':'], "");
        let bytes = self.bytes();
        let path = store.join("runs").join(format!("{finished_at}-{}.json", &hex(&Sha256::digest(&bytes))[..8]));
        fs::write(&path, bytes).expect("written");
        path
    }
}

fn score_text(score: &Value) -> String {
    let fields = ["passed", "score", "breakdown", "failure_modes", "cost_usd", "duration_seconds"];
    let fields: Vec<_> = fields.into_iter().map(|field| format!("\"{field}\":{}", score[field])).collect();
    format!("{{{}}}", fields.join(","))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
