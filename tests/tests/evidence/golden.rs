//! Evidence that the first version of the format wrote: a program that cannot verify it has broken somebody's evidence.
//!
//! `UPDATE_GOLDEN=1 cargo test -p eval-host-tests --test evidence golden` makes the files, through the commands that anybody
//! uses. That is for a format that nobody has evidence of yet: a version that was released keeps its files as they are, and a
//! new one gets files of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs};

use eval_host_tests::{Ended, Workbench, copy_tree, project_root};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{BINARY, verified};

fn golden_folder() -> PathBuf {
    project_root().join("tests/golden/evidence")
}

fn with_golden_files() -> Workbench {
    static MADE: Once = Once::new();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        MADE.call_once(make_golden_files);
    }
    let workbench = Workbench::empty(BINARY);
    copy_tree(&golden_folder(), workbench.path());
    workbench
}

/// A store with two records, a checkpoint of it with the key that signed it, and a bundle of the second record.
fn make_golden_files() {
    let workbench = Workbench::with_fixture(BINARY);
    record_bad_answers(&workbench);
    let run = ["run", "--task-class=fixture", "--out=store-v1"];
    let _solved = workbench.eval(run).run().expect_code(0);
    let bad = workbench.eval(run).args(["--cassettes=answers"]).run().expect_code(5);
    let record = bad.record_path(workbench.path());
    let export = ["export", record.to_str().expect("UTF-8"), "--out=store-v1", "--to=bundle-v1.tar"];
    let _bundle = workbench.eval(export).run().expect_code(0);
    let key = workbench.eval(["keygen", "--name=golden.example.org/eval-host", "--key=secret"]).run().expect_code(0);
    let anchor = workbench.eval(["anchor", "--key=secret", "--out=store-v1"]).run().expect_code(0);
    let checkpoint = workbench.path().join(anchor.line("checkpoint")["path"].as_str().expect("a path"));

    let folder = golden_folder();
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the old files go");
    }
    copy_tree(&workbench.path().join("store-v1"), &folder.join("store-v1"));
    // git keeps no empty folders, and this removes no others.
    for area in fs::read_dir(folder.join("store-v1")).expect("a store") {
        let _ = fs::remove_dir(area.expect("an entry").path());
    }
    fs::copy(workbench.path().join("bundle-v1.tar"), folder.join("bundle-v1.tar")).expect("a bundle");
    fs::copy(checkpoint, folder.join("checkpoint-v1.txt")).expect("a checkpoint");
    let verifier = key.line("key")["verifier"].as_str().expect("a key").to_owned();
    fs::write(folder.join("key-v1.txt"), verifier + "\n").expect("a key");
}

/// Answers of every kind that the solved examples lack: one that does harm, one that cannot be read, and none at all.
fn record_bad_answers(workbench: &Workbench) {
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON") };
    let golden = |test: &str| read(workbench.fixture().join("tests").join(test))["output"].clone();
    let answers = [
        ("001-greets", "output", golden("001-greets/line-lost.json")),
        ("002-leaves-alone", "output", golden("002-leaves-alone/malformed.json")),
        ("003-either-way", "error", json!({ "mode": "timeout" })),
    ];
    fs::create_dir(workbench.path().join("answers")).expect("a folder");
    for (case, key, answer) in answers {
        let mut cassette = read(workbench.fixture().join("cases").join(case).join("cassette.json"));
        let fields = cassette.as_object_mut().expect("an object");
        fields.remove("output");
        fields.extend([
            (key.to_owned(), answer),
            ("kind".to_owned(), "recorded".into()),
            ("sut".to_owned(), json!({ "name": "careless", "version": "1.2.3" })),
            ("duration_seconds".to_owned(), 1.5.into()),
            ("cost_usd".to_owned(), 0.1.into()),
        ]);
        fs::write(workbench.path().join("answers").join(format!("{case}.json")), cassette.to_string())
            .expect("written");
    }
}

/// The hash of the last record, as the checkpoint has it.
fn head() -> String {
    let checkpoint = fs::read_to_string(golden_folder().join("checkpoint-v1.txt")).expect("a checkpoint");
    let line = checkpoint.lines().find_map(|line| line.strip_prefix("fixture 2 ")).expect("a line about it");
    line.split(' ').next().expect("a hash").to_owned()
}

/// The paths of the golden store's records in a workbench, in order.
fn records(workbench: &Workbench) -> Vec<PathBuf> {
    let runs = fs::read_dir(workbench.path().join("store-v1/runs")).expect("records");
    let mut records: Vec<_> = runs.map(|entry| entry.expect("an entry").path()).collect();
    records.sort();
    records
}

/// Asserts that the evidence is whole, how many cases were scored again, and how many had nothing to score.
#[track_caller]
fn holds(workbench: &Workbench, arguments: &[&str], records: u64, replayed: u64, nothing: u64) -> Ended {
    let (state, ended) = verified(workbench, &[arguments, &["--replay"]].concat());
    assert_eq!(state, "OK", "{}", ended.stderr);
    let line = ended.line("verification");
    assert_eq!((&line["classes"][0]["head"], &line["classes"][0]["records"]), (&head().into(), &2.into()));
    let replay = &line["replay"];
    let counted = ["records", "replayed", "nothing_to_replay"].map(|count| replay[count].as_u64());
    assert_eq!(counted, [records, replayed, nothing].map(Some), "{replay}");
    ended
}

#[test]
fn a_store_of_version_1_is_verified_against_its_checkpoint_and_replayed() {
    let workbench = with_golden_files();
    let arguments = ["--out=store-v1", "--against=checkpoint-v1.txt", "--trusted-keys=key-v1.txt"];
    holds(&workbench, &arguments, 2, 5, 1);
}

#[test]
fn a_bundle_of_version_1_is_verified_against_the_checkpoint_and_replayed() {
    let workbench = with_golden_files();
    let ended = holds(&workbench, &["bundle-v1.tar"], 1, 2, 1);
    let against = ["bundle-v1.tar", "--against=checkpoint-v1.txt", "--trusted-keys=key-v1.txt"];
    assert_eq!(holds(&workbench, &against, 1, 2, 1).line("verification"), ended.line("verification"));
}

/// The golden store's records: of the solved examples, and of the bad answers.
fn read_records() -> [Value; 2] {
    let read = |path: &PathBuf| -> Value { serde_json::from_slice(&fs::read(path).expect("a record")).expect("JSON") };
    let workbench = with_golden_files();
    let [solved, bad] = &records(&workbench)[..] else { panic!("two records") };
    [read(solved), read(bad)]
}

#[test]
fn a_record_of_version_1_states_what_its_scores_depend_on() {
    for (record, kind) in read_records().iter().zip(["solved_example", "recorded"]) {
        assert_eq!((&record["schema_version"], &record["schema_minor"]), (&1.into(), &0.into()));
        assert_eq!(record["rubric_world"], "eval-host:rubric/rubric@0.1.0");
        assert_eq!(record["block_modes"], json!(["harmful"]));
        let no_agent = json!({ "001-greets": null, "002-leaves-alone": null, "003-either-way": null });
        assert_eq!((&record["output_kinds"], &record["budget_usd_set"]), (&json!([kind]), &no_agent));
    }
}

#[test]
fn the_cases_of_version_1_ended_in_every_way_that_cassettes_have() {
    let endings = |record: &Value| -> Vec<String> {
        let ending = |case: &Value| format!("{} {}", case["outcome"], case["score"]["failure_modes"]);
        record["report"]["cases"].as_array().expect("cases").iter().map(ending).collect()
    };
    let [solved, bad] = read_records();
    assert_eq!(endings(&solved), [r#""scored" []"#; 3]);
    assert_eq!(
        endings(&bad),
        [
            r#""scored" ["harmful"]"#,
            r#""sut_fault" ["output_malformed: no field `action`"]"#,
            r#""sut_fault" ["timeout"]"#,
        ]
    );
    assert_eq!(bad["report"]["block_severity_failure_modes"], json!(["harmful"]));
}

/// The fields that `docs/record-format.md` describes: the words in backticks in the first column of its table.
fn documented_fields() -> BTreeSet<String> {
    let text = fs::read_to_string(project_root().join("docs/record-format.md")).expect("the document");
    let (_, table) = text.split_once("\n| field | what it is |\n|---|---|\n").expect("a table of fields");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let names = |row: &str| -> Vec<String> {
        let column = row.split('|').nth(1).expect("a first column");
        column.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    rows.flat_map(names).collect()
}

#[test]
fn every_field_of_a_record_is_documented_and_no_other() {
    for record in read_records() {
        let fields: BTreeSet<_> = record.as_object().expect("an object").keys().cloned().collect();
        assert_eq!(fields, documented_fields());
    }
}

/// Writes other bytes in place of a record, under the name that these bytes have.
fn replace_record(record: &Path, text: &str) {
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let name = record.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let (time, _) = name.split_once('-').expect("a time and a hash");
    fs::remove_file(record).expect("the old one goes");
    fs::write(record.with_file_name(format!("{time}-{hex}.json")), text).expect("written");
}

/// What `verify` says when the newest record is another one, in which one text is replaced.
#[track_caller]
fn edited(from: &str, to: &str) -> (String, String) {
    let workbench = with_golden_files();
    let newest = records(&workbench).pop().expect("a record");
    let text = fs::read_to_string(&newest).expect("text");
    assert!(text.contains(from), "{from}");
    replace_record(&newest, &text.replacen(from, to, 1));
    let (state, ended) = verified(&workbench, &["--out=store-v1"]);
    (state, ended.stderr)
}

#[test]
fn what_a_newer_program_wrote_is_unverifiable_and_says_which() {
    for (from, to, found) in [
        (r#""schema_minor":0"#, r#""schema_minor":99,"weather":"fine""#, "1.99"),
        (r#""schema_version":1"#, r#""schema_version":2"#, "2.0"),
    ] {
        let (state, said) = edited(from, to);
        assert_eq!(state, "UNVERIFIABLE", "{said}");
        let expected = format!(
            "it has format version {found}, and this program reads up to 1.0: use eval-host 0.1.0 or a newer one"
        );
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn block_severity_follows_from_the_record_and_every_verify_checks_it() {
    let (state, said) = edited(r#""block_modes":["harmful"]"#, r#""block_modes":[]"#);
    assert_eq!(state, "TAMPERED", "{said}");
    assert!(said.contains("block_severity_failure_modes"), "{said}");
}
