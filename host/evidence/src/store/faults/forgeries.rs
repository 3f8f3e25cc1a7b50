//! What a forger does who knows the format: each kind breaks one rule of `docs/record-format.md`, with every name, hash and figure
//! that does not belong to the rule made right again.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::histories::{Scene, add_record, replace_record};
use crate::pack::testing::{objects_in, packs_in, put_object, repack, take_object};
use eval_model::ids::{CaseId, Digest};
use eval_model::outcome::OutcomeClass;
use eval_model::report::{block_severity_modes, exact_mean, lower_bound_95, run_id};

/// One kind of forgery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forgery {
    pub(super) name: &'static str,
    how: How,
}

#[derive(Debug, Clone, Copy)]
enum How {
    /// Something is done to files; whether there were any.
    Files(fn(&Scene) -> Option<()>),
    /// One text in a record is another one.
    Text(&'static str, &'static str),
    /// Something in a record of cassettes cannot be. Every figure is made to follow from it.
    Cassette(fn(&mut Value)),
    /// The same in a live one.
    Live(fn(&mut Value)),
    /// The same in one that continues another.
    Continuing(fn(&mut Value)),
    /// A figure of a record of cassettes does not follow.
    Figure(fn(&mut Value)),
    LiveFigure(fn(&mut Value)),
}

impl Forgery {
    /// Gives whether there was anything to forge.
    pub(super) fn apply(&self, scene: &Scene) -> bool {
        match self.how {
            How::Files(forge) => forge(scene),
            How::Text(from, to) => replace_text(scene, from, to),
            How::Cassette(forge) => change(scene, "cassette", forge, follow),
            How::Live(forge) => change(scene, "live", forge, follow),
            How::Continuing(forge) => change_continuing(scene, forge),
            How::Figure(forge) => change(scene, "cassette", follow, forge),
            How::LiveFigure(forge) => change(scene, "live", follow, forge),
        }
        .is_some()
    }
}

fn replace_text(scene: &Scene, from: &str, to: &str) -> Option<()> {
    let (path, _) = scene.record("cassette")?;
    let text = fs::read_to_string(&path).expect("text");
    text.contains(from).then(|| replace_record(&path, &text.replacen(from, to, 1)))
}

fn change(scene: &Scene, mode: &str, first: fn(&mut Value), then: fn(&mut Value)) -> Option<()> {
    let (path, value) = scene.record(mode)?;
    change_record(&path, value, first, then);
    Some(())
}

fn change_continuing(scene: &Scene, forge: fn(&mut Value)) -> Option<()> {
    let (path, value) = scene.record_where(|value| !value["continues"].is_null())?;
    change_record(&path, value, forge, follow);
    Some(())
}

fn change_record(path: &Path, mut value: Value, first: fn(&mut Value), then: fn(&mut Value)) {
    first(&mut value);
    then(&mut value);
    replace_record(path, &format!("{value}\n"));
}

/// Makes every figure follow from the cases.
fn follow(record: &mut Value) {
    let cases = record["report"]["cases"].as_array().expect("cases").clone();
    let outcome =
        |case: &Value| -> OutcomeClass { serde_json::from_value(case["outcome"].clone()).expect("an outcome") };
    let modes = |case: &Value| -> Vec<String> { strings(&case["score"]["failure_modes"]) };
    let block = strings(&record["block_modes"]).into_iter().collect();
    let attempted: Vec<_> = cases.iter().filter(|case| outcome(case) != OutcomeClass::Skipped).collect();
    let scores = attempted.iter().map(|case| case["score"]["score"].as_f64().expect("a score").clamp(0.0, 1.0));
    let mean = exact_mean(scores).unwrap_or(0.0);
    let blocking: std::collections::BTreeSet<_> =
        cases.iter().flat_map(|case| block_severity_modes(outcome(case), &modes(case), &block)).collect();
    let cost = cases.iter().map(|case| case["score"]["cost_usd"].as_f64().expect("a cost")).sum::<f64>() + 0.0;
    let is_live = record["mode"] == "live";
    let report = &mut record["report"];
    for class in OutcomeClass::ALL {
        report["outcomes"][class.as_str()] = json!(cases.iter().filter(|case| outcome(case) == class).count());
    }
    report["attempted"] = json!(attempted.len());
    report["skipped"] = json!(cases.len() - attempted.len());
    report["aborted"] = json!(cases.len() != attempted.len());
    report["passed_count"] = json!(attempted.iter().filter(|case| case["score"]["passed"] == true).count());
    report["mean_score"] = json!(mean);
    report["lower_bound_95"] = json!(lower_bound_95(mean, attempted.len() as u64));
    report["block_severity_failure_modes"] = json!(blocking);
    report["total_cost_usd"] = json!(if is_live { cost } else { 0.0 });
    report["recorded_cost_usd"] = json!(if is_live { 0.0 } else { cost });
    identify(record);
}

/// Gives the record the `run_id` that follows from its scores.
fn identify(record: &mut Value) {
    let cases = record["report"]["cases"].as_array().expect("cases");
    let ids: Vec<CaseId> =
        cases.iter().map(|case| serde_json::from_value(case["case_id"].clone()).expect("an id")).collect();
    let texts = cases.iter().map(|case| case["score"].to_string());
    let task_class = serde_json::from_value(record["task_class"].clone()).expect("a task class");
    record["run_id"] = json!(run_id(&task_class, ids.iter().zip(texts)));
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}

fn first(record: &mut Value) -> &mut Value {
    &mut record["report"]["cases"][0]
}

fn score(record: &mut Value) -> &mut Value {
    &mut first(record)["score"]
}

/// Writes an object as the list of its values, in the order of these keys, as serde would take it.
fn as_list(object: &mut Value, keys: &[&str]) {
    assert_eq!(object.as_object().map(serde_json::Map::len), Some(keys.len()), "{object}");
    *object = keys.iter().map(|key| object[key].take()).collect();
}

/// Makes the first case end in a fault, in every part of the record.
fn fault(record: &mut Value, outcome: &str, mode: &str) {
    let case = first(record);
    case["outcome"] = json!(outcome);
    case["score"]["passed"] = json!(false);
    case["score"]["score"] = json!(0.0);
    case["score"]["breakdown"] = json!({});
    case["score"]["failure_modes"] = json!([mode]);
}

/// Takes the output of the first case away, and all that only comes of one.
fn lose_output(record: &mut Value) {
    for trace in ["fuel_used", "peak_memory_bytes", "logs_digest"] {
        first(record)[trace] = Value::Null;
    }
    record["output_digest_set"]["001-first"] = Value::Null;
}

fn next_up(figure: &mut Value) {
    *figure = json!(figure.as_f64().expect("a figure").next_up());
}

fn any_record(scene: &Scene) -> Option<PathBuf> {
    let mut records = scene.records();
    let index = records.len().checked_sub(1)?;
    Some(records.swap_remove(index - scene.choice % records.len()).0)
}

fn rewrite(path: &PathBuf, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let bytes = fs::read(path).expect("readable");
    fs::write(path, change(bytes)).expect("written");
}

/// The first two records of some class that has more.
fn first_of_a_class(scene: &Scene) -> Option<[PathBuf; 2]> {
    let records = scene.records();
    let pair = records.windows(2).find(|pair| pair[0].1["task_class"] == pair[1].1["task_class"])?;
    Some([pair[0].0.clone(), pair[1].0.clone()])
}

fn packs(scene: &Scene) -> PathBuf {
    scene.path.join("packs")
}

/// The output of the first case of the chosen record, if it is there.
fn an_object(scene: &Scene) -> Option<Digest> {
    let (_, record) = scene.record("cassette")?;
    let digest = record["output_digest_set"]["001-first"].as_str()?.parse().ok()?;
    objects_in(&packs(scene)).iter().any(|(other, _)| *other == digest).then_some(digest)
}

/// Changes the content of an object and not what it says that it is.
fn edit_object(scene: &Scene) -> Option<()> {
    let digest = an_object(scene)?;
    repack(&packs(scene), |objects| {
        for (_, content) in objects.iter_mut().filter(|(other, _)| *other == digest) {
            content.push(b'x');
        }
    });
    Some(())
}

/// A pack, chosen as records are.
fn a_pack(scene: &Scene) -> Option<PathBuf> {
    let mut packs = packs_in(&packs(scene));
    let index = packs.len().checked_sub(1)?;
    Some(packs.swap_remove(index - scene.choice % packs.len()))
}

/// Writes a pack that lies in the place of another, and has the name that its lines give it.
fn respell_pack(scene: &Scene, change: fn(String) -> String) -> Option<()> {
    let path = a_pack(scene)?;
    // The objects of these histories are text.
    let text = String::from_utf8(fs::read(&path).ok()?).ok()?;
    let respelled = change(text.clone());
    fs::write(&path, &respelled).ok()?;
    (respelled != text).then_some(())
}

/// The object with this digest.
fn content_of(scene: &Scene, digest: &Value) -> Option<Vec<u8>> {
    let digest: Digest = digest.as_str()?.parse().ok()?;
    objects_in(&packs(scene)).into_iter().find(|(other, _)| *other == digest).map(|(_, content)| content)
}

/// The marker that the chosen live record names.
fn a_marker(scene: &Scene) -> Option<PathBuf> {
    let (_, record) = scene.record("live")?;
    let digits = record["started_marker"].as_str()?.get(..8)?.to_owned();
    scene.files("started").into_iter().find(|path| path.to_string_lossy().ends_with(&format!("-{digits}.json")))
}

/// Writes other bytes in place of a marker, under the name that these bytes have.
fn replace_marker(scene: &Scene, change: fn(&mut Value)) -> Option<()> {
    let path = a_marker(scene)?;
    let mut value: Value = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
    change(&mut value);
    fs::remove_file(&path).expect("removed");
    write_marker(&path, &value)
}

fn write_marker(beside: &Path, value: &Value) -> Option<()> {
    let text = format!("{value}\n");
    let time = beside.file_name()?.to_str()?.split_once('-')?.0.to_owned();
    let digits = Digest::of(text.as_bytes()).to_string();
    fs::write(beside.with_file_name(format!("{time}-{}.json", &digits[..8])), text).ok()
}

/// Writes another cassette in place of the first case's, and a record that names it. Every figure is made to follow.
fn replace_cassette(scene: &Scene, change: fn(&mut Value, &mut Value)) -> Option<()> {
    let (path, mut record) = scene.record("cassette")?;
    let object = content_of(scene, &record["cassette_digest_set"]["001-first"])?;
    let mut cassette: Value = serde_json::from_slice(&object).ok()?;
    change(&mut cassette, &mut record);
    let text = cassette.to_string();
    let digest = Digest::of(text.as_bytes());
    put_object(&packs(scene), digest, text.as_bytes());
    record["cassette_digest_set"]["001-first"] = json!(digest);
    follow(&mut record);
    replace_record(&path, &format!("{record}\n"));
    Some(())
}

/// Makes a cassette one without an answer, in every part of it and of the record.
fn time_out(cassette: &mut Value, record: &mut Value) {
    drop(cassette.as_object_mut().and_then(|map| map.remove("output")));
    cassette["provenance"]["output_digest"] = Value::Null;
    cassette["error"] = json!({"mode": "timeout"});
    fault(record, "sut_fault", "timeout");
    lose_output(record);
}

/// Announces one more run, which lists the last one of its class as its shard.
fn list_a_whole_run(scene: &Scene) -> Option<()> {
    let path = a_marker(scene)?;
    let read = |path: PathBuf| fs::read(path).ok();
    let parsed = |bytes: Vec<u8>| Some((Digest::of(&bytes), serde_json::from_slice::<Value>(&bytes).ok()?));
    let (_, named) = read(path.clone()).and_then(parsed)?;
    let all = scene.files("started").into_iter().filter_map(read).filter_map(parsed);
    let of_class = all.filter(|(_, marker)| marker["task_class"] == named["task_class"]);
    let (digest, mut marker) = of_class.max_by_key(|(_, marker)| marker["seq"].as_u64())?;
    marker["seq"] = json!(marker["seq"].as_u64()? + 1);
    marker["prev"] = json!(digest);
    marker["started_at"] = named["started_at"].clone();
    marker["shards"] = json!([digest]);
    write_marker(&path, &marker)
}

macro_rules! forgeries {
    ($($kind:ident $name:literal: $how:expr),* $(,)?) => { &[$(Forgery { name: $name, how: How::$kind($how) }),*] };
    ($($name:literal: $from:expr => $to:expr),* $(,)?) => { &[$(Forgery { name: $name, how: How::Text($from, $to) }),*] };
}

const FILES: &[Forgery] = forgeries![
    Files "edited in place": |scene| {
        any_record(scene).map(|path| rewrite(&path, |bytes| [&bytes[..bytes.len() - 2], b" }\n"].concat()))
    },
    Files "renamed": |scene| {
        let path = any_record(scene)?;
        fs::rename(&path, path.with_file_name("20261116T093000.120Z-ba7816bf.json")).ok()
    },
    Files "cut": |scene| any_record(scene).map(|path| rewrite(&path, |bytes| bytes[..bytes.len() - 1].to_vec())),
    Files "emptied": |scene| any_record(scene).map(|path| rewrite(&path, |_| Vec::new())),
    Files "not UTF-8": |scene| any_record(scene).map(|path| rewrite(&path, |bytes| [&bytes[..40], b"\xff"].concat())),
    Files "copied under another name": |scene| {
        fs::copy(any_record(scene)?, scene.path.join("runs/20261116T093000.120Z-ba7816bf.json")).ok().map(drop)
    },
    Files "the first record removed": |scene| fs::remove_file(&first_of_a_class(scene)?[0]).ok(),
    Files "two records swapped": |scene| {
        let [one, two] = first_of_a_class(scene)?;
        let bytes = fs::read(&one).ok()?;
        fs::copy(&two, &one).ok()?;
        fs::write(&two, bytes).ok()
    },
    Files "a fork": |scene| {
        let path = any_record(scene)?;
        let text = fs::read_to_string(&path).ok()?;
        let other = text.replacen("\"warnings\":[]", "\"warnings\":[\"another\"]", 1);
        (other != text).then(|| add_record(&path, &other))
    },
    Files "a stray file": |scene| fs::write(scene.path.join("runs/notes.txt"), "x").ok(),
    Files "what an editor left": |scene| {
        let path = any_record(scene)?;
        fs::copy(&path, format!("{}~", path.display())).ok().map(drop)
    },
    Files "a record that is a link": |scene| {
        let path = any_record(scene)?;
        fs::rename(&path, scene.path.join("elsewhere")).ok()?;
        symlink("../elsewhere", &path).ok()
    },
    Files "a record that is a folder": |scene| {
        let path = any_record(scene)?;
        fs::remove_file(&path).ok()?;
        fs::create_dir(&path).ok()
    },
    Files "a broken draft": |scene| fs::write(scene.path.join("runs/.tmp-x"), "x").ok(),
    Files "an identity spelled otherwise": |scene| {
        let path = scene.path.join("store.json");
        let text = fs::read_to_string(&path).ok()?;
        fs::write(&path, text.replace(':', ": ")).ok()
    },
    Files "another identity": |scene| {
        scene.records().first()?;
        fs::write(scene.path.join("store.json"), format!("{{\"schema_version\":1,\"store_id\":\"{}\"}}\n", "5".repeat(32))).ok()
    },
    Files "no identity": |scene| fs::remove_file(scene.path.join("store.json")).ok(),
    Files "an identity that is a link": |scene| {
        fs::rename(scene.path.join("store.json"), scene.path.join("identity")).ok()?;
        symlink("identity", scene.path.join("store.json")).ok()
    },
    Files "a newer identity": |scene| {
        fs::write(scene.path.join("store.json"), "{\"schema_version\":2,\"region\":\"north\"}\n").ok()
    },
    Files "no packs at all": |scene| fs::remove_dir_all(packs(scene)).ok(),
    Files "an edited object": edit_object,
    Files "a missing object": |scene| take_object(&packs(scene), an_object(scene)?).map(drop),
    Files "an object of nobody's that is not what it says": |scene| {
        put_object(&packs(scene), Digest::of(b"one"), b"another");
        Some(())
    },
    Files "a missing pack": |scene| fs::remove_file(a_pack(scene)?).ok(),
    Files "a pack that is a link": |scene| {
        let path = a_pack(scene)?;
        fs::rename(&path, scene.path.join("elsewhere.pack")).ok()?;
        symlink("../elsewhere.pack", &path).ok()
    },
    Files "a pack that is a folder": |scene| {
        let path = a_pack(scene)?;
        fs::remove_file(&path).ok()?;
        fs::create_dir(&path).ok()
    },
    Files "a pack that is cut": |scene| a_pack(scene).map(|path| rewrite(&path, |bytes| bytes[..bytes.len() / 2].to_vec())),
    Files "a pack without its last byte": |scene| {
        a_pack(scene).map(|path| rewrite(&path, |bytes| bytes[..bytes.len() - 1].to_vec()))
    },
    Files "a pack that is empty": |scene| a_pack(scene).map(|path| rewrite(&path, |_| Vec::new())),
    Files "a pack with something behind it": |scene| {
        a_pack(scene).map(|path| rewrite(&path, |bytes| [&bytes[..], b"\n"].concat()))
    },
    Files "a renamed pack": |scene| {
        let path = a_pack(scene)?;
        fs::rename(&path, path.with_file_name(format!("{}.pack", "7".repeat(64)))).ok()
    },
    Files "a pack under a name that is none": |scene| {
        let path = a_pack(scene)?;
        fs::rename(&path, path.with_extension("pack~")).ok()
    },
    Files "a pack with another first line": |scene| respell_pack(scene, |text| text.replacen("v1", "v2", 1)),
    Files "a pack with a length spelled otherwise": |scene| {
        respell_pack(scene, |text| {
            let (first, rest) = text.split_once(' ').unwrap_or_default();
            format!("{first} 0{rest}")
        })
    },
    Files "a pack with a digest spelled otherwise": |scene| {
        respell_pack(scene, |text| {
            let (first, rest) = text.split_once('\n').unwrap_or_default();
            let (digest, rest) = rest.split_at(64);
            format!("{first}\n{}{rest}", digest.to_uppercase())
        })
    },
    Files "a pack that promises more than it has": |scene| {
        respell_pack(scene, |text| {
            let (first, rest) = text.split_once(' ').unwrap_or_default();
            let (_, rest) = rest.split_once('\n').unwrap_or_default();
            format!("{first} 67108864\n{rest}")
        })
    },
    Files "a draft of a pack": |scene| fs::write(packs(scene).join(".tmp-0123456789abcdef"), "eval-host/pack/v1\n").ok(),
    Files "a stray file among the packs": |scene| fs::write(packs(scene).join("notes.txt"), "x").ok(),
    Files "a marker edited in place": |scene| a_marker(scene).map(|path| rewrite(&path, |bytes| [&bytes[..], b" "].concat())),
    Files "a marker removed": |scene| fs::remove_file(a_marker(scene)?).ok(),
    Files "a marker renamed": |scene| {
        let path = a_marker(scene)?;
        fs::rename(&path, path.with_file_name("20261116T093000.120Z-ba7816bf.json")).ok()
    },
    Files "a marker that is a link": |scene| {
        let path = a_marker(scene)?;
        fs::rename(&path, scene.path.join("elsewhere.marker")).ok()?;
        symlink("../elsewhere.marker", &path).ok()
    },
    Files "a marker of another store": |scene| replace_marker(scene, |marker| marker["store_id"] = json!("5".repeat(32))),
    Files "a marker with an unknown key": |scene| replace_marker(scene, |marker| marker["weather"] = json!("fine")),
    Files "a newer marker": |scene| replace_marker(scene, |marker| marker["schema_version"] = json!(2)),
    Files "a marker of a version that never was": |scene| replace_marker(scene, |marker| marker["schema_version"] = json!(0)),
    Files "a stray file among the markers": |scene| fs::write(scene.path.join("started/notes.txt"), "x").ok(),
];

const TEXTS: &[Forgery] = forgeries![
    "a byte order mark": "{\"" => "\u{feff}{\"",
    "text behind the end": "}}\n" => "}}\n{}",
    "a key twice": "\"mode\":\"cassette\"" => "\"mode\":\"cassette\",\"mode\":\"cassette\"",
    "a key twice, escaped": "\"mode\":\"cassette\"" => "\"mode\":\"cassette\",\"\\u006dode\":\"cassette\"",
    "a key twice, deep": "\"failure_modes\":[]" => "\"failure_modes\":[],\"failure_modes\":[]",
    "a name twice in a set": "\"budget_usd_set\":{" => "\"budget_usd_set\":{\"001-first\":null,",
    "an unknown key": "\"mode\":\"cassette\"" => "\"mode\":\"cassette\",\"weather\":\"fine\"",
    "an unknown key, deep": "\"cost_is_estimate\"" => "\"grade\":1,\"cost_is_estimate\"",
    "a key left out that is null": "\"started_marker\":null," => "",
    "a number that is none": "\"duration_seconds\":1.5" => "\"duration_seconds\":NaN",
    "a number that is too large": "\"duration_seconds\":1.5" => "\"duration_seconds\":1e400",
    "a number with a leading zero": "\"duration_seconds\":1.5" => "\"duration_seconds\":01.5",
    "a count with a fraction": "\"cases_in_bench\":2" => "\"cases_in_bench\":2.0",
    "a count below zero": "\"cases_in_bench\":2" => "\"cases_in_bench\":-2",
    "a count that is a text": "\"cases_in_bench\":2" => "\"cases_in_bench\":\"2\"",
    "a count beyond 64 bits": "\"cases_in_bench\":2" => "\"cases_in_bench\":18446744073709551616",
    "a flag that is a number": "\"aborted\":false" => "\"aborted\":0",
    "half a character": "\"agent\"" => "\"\\ud800\"",
    "the wrong half first": "\"agent\"" => "\"\\udc00\\ud800\"",
    "a control character": "\"agent\"" => "\"a\u{1}\"",
    "a bad escape": "\"agent\"" => "\"\\x\"",
    "a comma too many": "\"warnings\":[]" => "\"warnings\":[,]",
    "a mode in another case": "\"mode\":\"cassette\"" => "\"mode\":\"Cassette\"",
    "a time with an offset": "00.000Z\",\"finished_at\"" => "00.000+00:00\",\"finished_at\"",
    "a time of other precision": "00.000Z\",\"finished_at\"" => "00.00Z\",\"finished_at\"",
    "a day that there is not": "\"started_at\":\"2026-11-16" => "\"started_at\":\"2026-11-31",
    "a commit that is too short": "0123456789abcdef01234567\"" => "0123456789abcdef0123456\"",
    "a hash in upper case": "\"rubric_digest\":\"" => "\"rubric_digest\":\"A",
    "a limit left out": "\"fuel\":1000000000," => "",
    "a limit that is null": "\"memory_mib\":256" => "\"memory_mib\":null",
    "the host's mode as a block mode": "[\"cve_still_present\"]" => "[\"rubric_trap\"]",
    "another case in a set": "\"001-first\":" => "\"000-none\":",
    "a case id in upper case": "\"001-first\":" => "\"001-FIRST\":",
    "a newer minor version": "\"schema_minor\":0" => "\"schema_minor\":7,\"weather\":\"fine\"",
    "a newer version": "\"schema_version\":1" => "\"schema_version\":2",
    "a version that never was": "\"schema_version\":1" => "\"schema_version\":0",
    "two versions": "\"schema_version\":1" => "\"schema_version\":2,\"schema_version\":2",
    "a selection that is a list":
        "{\"patterns\":[],\"cases_in_bench\":2,\"selected\":2}" => "[[],2,2]",
    "a system under test that is a list":
        "{\"name\":\"agent\",\"version\":\"1\",\"model\":null,\"command_digest\":null,\"files\":{}}"
            => "[\"agent\",\"1\",null,null,{}]",
    "a mode that is an object": "\"mode\":\"cassette\"" => "\"mode\":{\"cassette\":null}",
    "a kind that is an object": "[\"recorded\"]" => "[{\"recorded\":null}]",
    "an outcome that is an object": "\"outcome\":\"scored\"" => "\"outcome\":{\"scored\":null}",
    "a key of outcomes that is a list": "\"outcomes\":{\"scored\":2" => "\"outcomes\":{[\"scored\"]:2",
];

const CASES: &[Forgery] = forgeries![
    Cassette "a score without an output": |record| record["output_digest_set"]["001-first"] = Value::Null,
    Cassette "a score without fuel": |record| first(record)["fuel_used"] = Value::Null,
    Cassette "a score without memory": |record| first(record)["peak_memory_bytes"] = Value::Null,
    Cassette "a score above one": |record| score(record)["score"] = json!(1.5),
    Cassette "a score below zero": |record| score(record)["score"] = json!(-0.5),
    Cassette "a bad key in a breakdown": |record| score(record)["breakdown"] = json!({"Fixed": 1.0}),
    Cassette "a banned word in a breakdown": |record| score(record)["breakdown"] = json!({"my_llm_score": 1.0}),
    Cassette "too many keys in a breakdown": |record| {
        score(record)["breakdown"] = (0..65).map(|key| (format!("k{key}"), json!(1.0))).collect();
    },
    Cassette "a failure mode that is no name": |record| score(record)["failure_modes"] = json!(["bad mode"]),
    Cassette "the host's failure mode in a verdict": |record| score(record)["failure_modes"] = json!(["timeout"]),
    Cassette "failure modes not sorted": |record| score(record)["failure_modes"] = json!(["b", "a"]),
    Cassette "a failure mode twice": |record| score(record)["failure_modes"] = json!(["a", "a"]),
    Cassette "passed with a block mode": |record| {
        score(record)["passed"] = json!(true);
        score(record)["failure_modes"] = json!(["cve_still_present"]);
    },
    Cassette "a cost below zero": |record| score(record)["cost_usd"] = json!(-0.25),
    Cassette "a duration below zero": |record| score(record)["duration_seconds"] = json!(-1.0),
    Cassette "an estimated cost of a cassette": |record| first(record)["cost_is_estimate"] = json!(true),
    Cassette "a budget of a cassette": |record| record["budget_usd_set"]["001-first"] = json!(0.5),
    Cassette "an output without a cassette": |record| record["cassette_digest_set"]["001-first"] = Value::Null,
    Cassette "a cassette left out for its cost": |record| {
        fault(record, "skipped", "skipped_cost_cap");
        lose_output(record);
    },
    Cassette "a fault with a score": |record| {
        fault(record, "rubric_fault", "rubric_timeout");
        score(record)["score"] = json!(0.5);
    },
    Cassette "a fault that passed": |record| {
        fault(record, "rubric_fault", "rubric_timeout");
        score(record)["passed"] = json!(true);
    },
    Cassette "a fault with a breakdown": |record| {
        fault(record, "rubric_fault", "rubric_timeout");
        score(record)["breakdown"] = json!({"fixed": 1.0});
    },
    Cassette "two faults": |record| {
        fault(record, "rubric_fault", "rubric_timeout");
        score(record)["failure_modes"] = json!(["rubric_timeout", "rubric_trap: exit"]);
    },
    Cassette "no fault": |record| {
        fault(record, "rubric_fault", "rubric_timeout");
        score(record)["failure_modes"] = json!([]);
    },
    Cassette "a fault that the host does not have": |record| fault(record, "rubric_fault", "rubric_slept"),
    Cassette "a fault of another outcome": |record| fault(record, "sut_fault", "rubric_timeout"),
    Cassette "a timeout with an output": |record| fault(record, "sut_fault", "timeout"),
    Cassette "a trap without an output": |record| {
        fault(record, "rubric_fault", "rubric_trap: exit");
        lose_output(record);
    },
    Cassette "fuel without an output": |record| {
        fault(record, "sut_fault", "timeout");
        lose_output(record);
        first(record)["fuel_used"] = json!(5);
    },
    Cassette "logs without an output": |record| {
        fault(record, "sut_fault", "timeout");
        let logs = first(record)["logs_digest"].clone();
        lose_output(record);
        first(record)["logs_digest"] = logs;
    },
    Live "a live case from a cassette": |record| record["cassette_digest_set"]["001-first"] = json!("1".repeat(64)),
    Live "a live case without a cassette": |record| {
        fault(record, "harness_fault", "cassette_missing");
        lose_output(record);
    },
    Live "a budget below zero": |record| record["budget_usd_set"]["001-first"] = json!(-0.5),
    Live "a budget beyond reason": |record| record["budget_usd_set"]["001-first"] = json!(1e300),
    Live "a live output without a budget": |record| record["budget_usd_set"]["001-first"] = Value::Null,
    Live "a live run without a marker": |record| record["started_marker"] = Value::Null,
    Cassette "cassettes with a marker": |record| record["started_marker"] = json!("1".repeat(64)),
];

const FIGURES: &[Forgery] = forgeries![
    Figure "another run_id": |record| record["run_id"] = json!("1".repeat(64)),
    Figure "another count of attempted cases": |record| record["report"]["attempted"] = json!(3),
    Figure "another count of skipped cases": |record| record["report"]["skipped"] = json!(1),
    Figure "another count per outcome": |record| record["report"]["outcomes"]["scored"] = json!(9),
    Figure "no count of an outcome": |record| drop(record["report"]["outcomes"].as_object_mut().map(|map| map.remove("skipped"))),
    Figure "one more passed": |record| record["report"]["passed_count"] = json!(7),
    Figure "a mean that is one unit too high": |record| next_up(&mut record["report"]["mean_score"]),
    Figure "a bound that is one unit too high": |record| next_up(&mut record["report"]["lower_bound_95"]),
    Figure "cassettes that cost something now": |record| record["report"]["total_cost_usd"] = json!(0.5),
    Figure "a recorded cost that is one unit too high": |record| next_up(&mut record["report"]["recorded_cost_usd"]),
    LiveFigure "a live run that cost less than its cases": |record| record["report"]["total_cost_usd"] = json!(0.25),
    LiveFigure "a live run with a recorded cost": |record| record["report"]["recorded_cost_usd"] = json!(0.5),
    Figure "aborted": |record| record["report"]["aborted"] = json!(true),
    Figure "load errors without any": |record| record["report"]["had_load_errors"] = json!(true),
    Figure "fewer selected than there are": |record| record["report"]["selection"]["selected"] = json!(1),
    Figure "a bench smaller than its selection": |record| record["report"]["selection"]["cases_in_bench"] = json!(1),
    Figure "a block mode that did not occur": |record| {
        record["report"]["block_severity_failure_modes"] = json!(["cve_still_present"]);
    },
    Figure "a fault that is hidden": |record| {
        fault(record, "rubric_fault", "rubric_timeout");
        follow(record);
        record["report"]["block_severity_failure_modes"] = json!([]);
    },
    Figure "cases in another order": |record| record["report"]["cases"].as_array_mut().expect("cases").reverse(),
    Figure "another store's record": |record| record["store_id"] = json!("5".repeat(32)),
    Figure "a number left out": |record| record["seq"] = json!(record["seq"].as_u64().expect("a number") + 1),
    Figure "the number zero": |record| record["seq"] = json!(0),
    Figure "another predecessor": |record| record["prev_hash"] = json!("1".repeat(64)),
];

const SOURCES: &[Forgery] = forgeries![
    Cassette "no word of the bench's files": |record| drop(record.as_object_mut().map(|map| map.remove("bench_dirty"))),
    Cassette "a commit, and no word of the bench's files": |record| record["bench_dirty"] = Value::Null,
    Cassette "a bench's files without a commit": |record| {
        record["bench_git_commit"] = Value::Null;
        record["bench_dirty"] = json!(false);
    },
    Live "a live run of recorded outputs": |record| record["output_kinds"] = json!(["recorded"]),
    Live "a live run without outputs": |record| record["output_kinds"] = json!([]),
    Live "a live run of nobody": |record| record["suts"] = json!([]),
    Live "a live run without a command": |record| record["suts"][0]["command_digest"] = Value::Null,
    Live "a live run of two commands": |record| {
        let mut other = record["suts"][0].clone();
        other["name"] = json!("another");
        other["command_digest"] = json!("1".repeat(64));
        record["suts"] = json!([record["suts"][0], other]);
    },
    Live "a live run of one command with two programs": |record| {
        let mut other = record["suts"][0].clone();
        other["name"] = json!("another");
        other["files"] = json!({"agent.sh": "1".repeat(64)});
        record["suts"] = json!([record["suts"][0], other]);
    },
    Cassette "cassettes of another model": |record| record["suts"][0]["model"] = json!("another"),
    Cassette "cassettes of a program": |record| record["suts"][0]["files"] = json!({"agent.sh": "1".repeat(64)}),
    Cassette "cassettes of somebody else": |record| record["suts"][0]["name"] = json!("another"),
    Cassette "cassettes of another kind": |record| record["output_kinds"] = json!(["solved_example"]),
    Cassette "no kinds at all": |record| record["output_kinds"] = json!([]),
    Cassette "a case with the manifest of another": |record| {
        record["case_digest_set"]["001-first"] = record["case_digest_set"]["002-second"].clone();
    },
    Cassette "a case with the cassette of another": |record| {
        record["cassette_digest_set"]["001-first"] = record["cassette_digest_set"]["002-second"].clone();
    },
    Cassette "something else as a cassette": |record| {
        record["cassette_digest_set"]["001-first"] = record["rubric_digest"].clone();
    },
    Cassette "another cost than the cassette's": |record| score(record)["cost_usd"] = json!(0.5),
    Cassette "another duration than the cassette's": |record| score(record)["duration_seconds"] = json!(2.5),
    Cassette "an answer relabelled as a timeout": |record| {
        fault(record, "sut_fault", "timeout");
        lose_output(record);
    },
    Cassette "a timeout without a cassette": |record| {
        fault(record, "sut_fault", "timeout");
        lose_output(record);
        record["cassette_digest_set"]["001-first"] = Value::Null;
    },
    Cassette "a cassette that is missing and there": |record| {
        fault(record, "harness_fault", "cassette_missing");
        lose_output(record);
    },
    Files "one marker for two records": |scene| {
        let live: Vec<_> = scene.records().into_iter().filter(|(_, value)| value["mode"] == "live").collect();
        let [(_, one), (path, other), ..] = &live[..] else { return None };
        let mut other = other.clone();
        other["started_marker"] = one["started_marker"].clone();
        replace_record(path, &format!("{other}\n"));
        Some(())
    },
    Files "a signature of a record that is not there": |scene| {
        fs::write(scene.path.join("runs/20261116T093000.120Z-ba7816bf.note"), "x").ok()
    },
    Files "a signature of something else": |scene| {
        let note = "eval-host/record/v1\nanother\nfixture 1 x\n\n\u{2014} key AAAAAAA=\n";
        fs::write(any_record(scene)?.with_extension("note"), note).ok()
    },
];

/// How agents were confined, under which cap, and which run a record goes on with.
const CONFINEMENTS: &[Forgery] = forgeries![
    Live "agents of whose confinement nothing is said": |record| record["confinement"] = Value::Null,
    Live "agents without a cap": |record| record["max_cost_usd"] = Value::Null,
    Live "a cap below nothing": |record| record["max_cost_usd"] = json!(-1.0),
    Live "a cap above everything": |record| record["max_cost_usd"] = json!(1e7),
    Live "a cage without Landlock": |record| cage(record)["landlock_abi"] = json!(0),
    Live "a cage of a Landlock that is too large a number": |record| cage(record)["landlock_abi"] = json!(1_u64 << 32),
    Live "a cage with some namespaces": |record| cage(record)["namespaces"] = json!(["pid", "user"]),
    Live "a cage with a namespace that there is not": |record| {
        cage(record)["namespaces"] = json!(["ipc", "mount", "pid", "user", "uts"]);
    },
    Live "a cage with nothing but a network namespace": |record| {
        cage(record)["namespaces"] = json!(["net"]);
        cage(record)["network"] = json!("none");
    },
    Live "no network without a namespace for it": |record| cage(record)["network"] = json!("none"),
    Live "a network namespace and an open network": |record| {
        cage(record)["namespaces"] = json!(["ipc", "mount", "net", "pid", "user"]);
    },
    Live "ports that Landlock did not know yet": |record| {
        cage(record)["network"] = json!([443]);
        cage(record)["landlock_abi"] = json!(3);
    },
    Live "a network with no port": |record| cage(record)["network"] = json!([]),
    Live "a network with the port 0": |record| cage(record)["network"] = json!([443, 0]),
    Live "a network with a port that is too large": |record| cage(record)["network"] = json!([65536]),
    Live "a network of another word": |record| cage(record)["network"] = json!("closed"),
    Live "a network that is an object": |record| cage(record)["network"] = json!({"open": null}),
    Live "a cage with a key too many": |record| cage(record)["pids"] = json!(1),
    Live "a cage with a key too few": |record| drop(cage(record).as_object_mut().map(|cage| cage.remove("read"))),
    Live "a cage that is a list": |record| {
        let keys = ["landlock_abi", "namespaces", "network", "read", "write", "memory_mib", "processes", "workspace_mib"];
        as_list(cage(record), &keys);
    },
    Live "a confinement with two keys": |record| record["confinement"]["none"] = Value::Null,
    Live "a confinement of another word": |record| record["confinement"] = json!("caged"),
    Live "a confinement that is an object of none": |record| record["confinement"] = json!({"none": null}),
    Live "a system under test with a file of no hash": |record| record["suts"][0]["files"] = json!({"agent.sh": "x"}),
    Cassette "cassettes of confined agents": |record| record["confinement"] = json!("none"),
    Cassette "cassettes with a cap": |record| record["max_cost_usd"] = json!(5.0),
    Cassette "cassettes with files": |record| record["suts"][0]["files"] = json!({"agent.sh": "0".repeat(64)}),
    Cassette "cassettes of another model": |record| record["suts"][0]["model"] = json!("another"),
    Cassette "cassettes that continue a live run": |record| record["continues"] = json!("0".repeat(64)),
    Live "a run that continues what is not there": |record| record["continues"] = json!("1".repeat(64)),
    Live "a run that continues one that left nothing out": |record| record["continues"] = record["prev_hash"].clone(),
    Files "a run that continues a record of another class": |scene| {
        let (_, other) = scene.record_where(|value| !value["continues"].is_null())?;
        let hash = other["continues"].clone();
        let (path, mut record) = scene.record_where(|value| {
            value["mode"] == "live" && value["task_class"] != other["task_class"]
        })?;
        record["continues"] = hash;
        replace_record(&path, &format!("{record}\n"));
        Some(())
    },
    Continuing "other cases than before": |record| {
        record["case_digest_set"]["002-second"] = record["case_digest_set"]["001-first"].clone();
    },
    Continuing "another rubric than before": |record| record["rubric_digest"] = record["registration_digest"].clone(),
    Continuing "another registration than before": |record| {
        record["registration_digest"] = record["rubric_digest"].clone();
    },
    Continuing "another confinement than before": |record| record["confinement"] = json!("none"),
    Continuing "another agent than before": |record| record["suts"][0]["version"] = json!("2"),
    Continuing "another output than before": |record| {
        record["output_digest_set"]["001-first"] = record["output_digest_set"]["002-second"].clone();
    },
    Continuing "another outcome than before": |record| fault(record, "rubric_fault", "rubric_timeout"),
    Continuing "another cost than before": |record| score(record)["cost_usd"] = json!(0.5),
    Continuing "another duration than before": |record| score(record)["duration_seconds"] = json!(2.5),
    Continuing "another budget than before": |record| record["budget_usd_set"]["001-first"] = json!(0.5),
];

fn cage(record: &mut Value) -> &mut Value {
    &mut record["confinement"]["caged"]
}

/// What serde reads and the document does not allow.
const SPELLINGS: &[Forgery] = forgeries![
    Figure "limits that are a list": |record| {
        let keys = ["fuel", "wall_clock_seconds", "memory_mib", "scratch_mib", "scratch_entries", "output_kib"];
        as_list(&mut record["limits"], &keys);
    },
    Figure "outcomes that are a list of pairs": |record| {
        let outcomes = record["report"]["outcomes"].as_object().expect("outcomes").clone();
        record["report"]["outcomes"] = outcomes.into_iter().map(|(name, count)| json!([name, count])).collect();
    },
    Figure "a case that is a list": |record| {
        let traces = ["fuel_used", "peak_memory_bytes", "logs_digest", "agent_log_digest", "cost_is_estimate"];
        as_list(first(record), &[&["case_id", "outcome", "score"], &traces[..]].concat());
    },
    Figure "a score that is a list": |record| {
        as_list(score(record), &["passed", "score", "breakdown", "failure_modes", "cost_usd", "duration_seconds"]);
        identify(record);
    },
    Files "a cassette whose system under test is a list": |scene| {
        replace_cassette(scene, |cassette, _| as_list(&mut cassette["sut"], &["name", "version"]))
    },
    Files "a cassette whose provenance is a list": |scene| {
        replace_cassette(scene, |cassette, _| {
            as_list(&mut cassette["provenance"], &["store_id", "started_marker", "output_digest"]);
        })
    },
    Files "a cassette whose kind is an object": |scene| {
        replace_cassette(scene, |cassette, _| cassette["kind"] = json!({"recorded": null}))
    },
    Files "a cassette without an error, which is null": |scene| {
        replace_cassette(scene, |cassette, _| cassette["error"] = Value::Null)
    },
    Files "a cassette of a version that never was": |scene| {
        replace_cassette(scene, |cassette, _| cassette["schema_version"] = json!(0))
    },
    Files "a cassette with an error that says too much": |scene| {
        replace_cassette(scene, |cassette, record| {
            time_out(cassette, record);
            cassette["error"]["x"] = json!("1");
        })
    },
    Files "a cassette with an error that is a list": |scene| {
        replace_cassette(scene, |cassette, record| {
            time_out(cassette, record);
            cassette["error"] = json!(["timeout"]);
        })
    },
    Files "a manifest with an object as a name": |scene| {
        let (path, mut record) = scene.record("cassette")?;
        let text = String::from_utf8(content_of(scene, &record["case_digest_set"]["001-first"])?).ok()?;
        let other = text.replace("\"positive\"", "{\"positive\":null}");
        let digest = Digest::of(other.as_bytes());
        put_object(&packs(scene), digest, other.as_bytes());
        record["case_digest_set"]["001-first"] = json!(digest);
        replace_record(&path, &format!("{record}\n"));
        (other != text).then_some(())
    },
];

/// What the chain of the markers finds.
const MARKERS: &[Forgery] = forgeries![
    Files "a marker with another number": |scene| replace_marker(scene, |marker| marker["seq"] = json!(9)),
    Files "a marker with another predecessor": |scene| replace_marker(scene, |marker| marker["prev"] = json!("1".repeat(64))),
    Files "a fork among the markers": |scene| {
        let path = a_marker(scene)?;
        let mut value: Value = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        value["cases"] = json!(40);
        write_marker(&path, &value)
    },
    Files "a whole run among the shards of another": list_a_whole_run,
];

/// Every kind.
pub(super) fn all() -> Vec<Forgery> {
    [FILES, TEXTS, CASES, FIGURES, SOURCES, CONFINEMENTS, SPELLINGS, MARKERS].concat()
}
