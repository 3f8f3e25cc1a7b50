//! Facts only: no field anywhere has a name that would hold somebody's opinion of itself.

use std::collections::BTreeSet;
use std::fs;

use eval_host_tests::{Workbench, project_root};
use serde_json::Value;

const BANNED_WORDS: [&str; 4] = ["confidence", "llm", "self_reported", "model_says"];

/// The banned word in a name, however its parts are joined.
fn banned(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase().replace('-', "_");
    BANNED_WORDS.into_iter().find(|word| name.contains(word) || name.contains(&word.replace('_', "")))
}

#[track_caller]
fn assert_facts(names: &BTreeSet<String>) {
    let opinions: Vec<&String> = names.iter().filter(|name| banned(name).is_some()).collect();
    assert!(opinions.is_empty(), "{opinions:?}");
}

/// Every key of a JSON value, however deep.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.insert(key.clone());
                keys(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

/// Every name in the contract: what is left of it without comments and punctuation.
#[test]
fn the_contract_names_facts_only() {
    let wit = fs::read_to_string(project_root().join("wit/rubric.wit")).expect("the contract");
    let code = wit.lines().filter(|line| !line.trim_start().starts_with("//"));
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let names: BTreeSet<String> =
        code.flat_map(|line| line.split(|character| !is_part(character))).map(str::to_owned).collect();
    assert!(names.contains("failure-modes") && names.contains("duration-seconds"), "{names:?}");
    assert_facts(&names);
}

#[test]
fn records_reports_and_json_lines_name_facts_only() {
    let workbench = Workbench::with_bench(env!("CARGO_BIN_EXE_eval-host-under-test"), "vuln-remediation");
    let ended = workbench.eval(["run", "--task-class=vuln-remediation"]).run();
    let record = fs::read(ended.record_path(workbench.path())).expect("the record");
    let mut names = BTreeSet::new();
    keys(&serde_json::from_slice(&record).expect("a record is JSON"), &mut names);
    for line in ended.stdout.lines() {
        keys(&serde_json::from_str(line).expect("stdout is JSON lines"), &mut names);
    }
    for expected in ["mean_score", "prev_hash", "failure_modes", "fuel_used", "passed_count"] {
        assert!(names.contains(expected), "`{expected}` is not in {names:?}");
    }
    assert_facts(&names);
}

/// Every key that any command prints stands in this document, which another test sees to; the schemas have those of a bench's
/// files.
#[test]
fn documents_and_schemas_name_facts_only() {
    let document = fs::read_to_string(project_root().join("docs/json-lines.md")).expect("the document");
    let mut names: BTreeSet<String> = document.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    for schema in ["case.schema.json", "registration.schema.json"] {
        let schema = fs::read(project_root().join("docs/schemas").join(schema)).expect("a schema");
        keys(&serde_json::from_slice(&schema).expect("a schema is JSON"), &mut names);
    }
    for expected in ["evidence_sufficient", "nothing_to_replay", "disposition", "promotion_metric"] {
        assert!(names.contains(expected), "`{expected}` is not in {names:?}");
    }
    assert_facts(&names);
}

#[test]
fn a_banned_word_is_found_in_every_spelling() {
    for name in ["confidence", "llm-score", "selfReported", "self-reported", "model_says_so", "LLM"] {
        assert!(banned(name).is_some(), "{name}");
    }
    assert!(banned("failure_modes").is_none());
}
