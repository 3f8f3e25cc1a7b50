//! What is promised to programs is written down: every key of every JSON line stands in `docs/json-lines.md`, and every path that
//! a document links to is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use eval_host_tests::{Ended, Workbench, guests, project_root};
use serde_json::Value;

const TASK_CLASS: &str = "migration-chainguard-distroless";

/// Objects whose keys are names of something, and no part of the format.
const MAPS: [&str; 4] = ["breakdown", "outcomes", "dispositions", "difficulties"];

/// The words in backticks below each heading of a kind.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(project_root().join("docs/json-lines.md")).expect("the document");
    let section = |section: &str| {
        let (kind, rest) = section.split_once("`\n").expect("a heading has one kind");
        let own = rest.split("\n## ").next().expect("a beginning");
        (kind.to_owned(), own.split('`').skip(1).step_by(2).map(str::to_owned).collect())
    };
    text.split("\n### `").skip(1).map(section).collect()
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

/// Runs every command that prints JSON lines, and gives the keys per kind.
fn printed() -> BTreeMap<String, BTreeSet<String>> {
    let workbench = Workbench::with_bench(env!("CARGO_BIN_EXE_eval-host-under-test"), TASK_CLASS);
    fs::write(workbench.path().join("networked.wasm"), guests::IMPORTS_HTTP).expect("a component");
    let class = format!("--task-class={TASK_CLASS}");
    let case = format!("bench/{TASK_CLASS}/cases/001-python-flask");
    let broken = workbench.path().join("bench").join(TASK_CLASS).join("cases/999-broken");
    fs::write(workbench.path().join("empty.json"), "{}").expect("an output");
    fs::create_dir(&broken).expect("a case that does not load");
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let record = workbench.eval(["run", &class, "--limit=1"]).run().record_path(Path::new(""));
    let record = record.to_str().expect("UTF-8").to_owned();
    let commands: [&[&str]; 13] = [
        &["run", &class],
        &["run", &class, "--dry-run"],
        &["run", &class, "--limit=1", "--shard=1/1"],
        &["verify", "--replay"],
        &["promote-verdict", &class, "--target-tier=silver"],
        &["export", &record, "--to=record.tar"],
        &["keygen", "--name=tests", "--key=secret"],
        &["anchor", "--key=secret"],
        &["fence"],
        &["list"],
        &["rubric", "test", &class],
        &["rubric", "inspect", "networked.wasm"],
        &[
            "rubric",
            "score",
            "--rubric",
            &format!("bench/{TASK_CLASS}/rubric.wasm"),
            "--case",
            &case,
            "--output=empty.json",
        ],
    ];
    for command in commands {
        gather(&workbench.eval([]).args(command).run(), &mut kinds);
    }
    // A broken store has more to say.
    fs::write(workbench.path().join(".codegenie/eval/runs/stray.json"), "{}").expect("a stray file");
    gather(&workbench.eval(["verify"]).run(), &mut kinds);
    let fixture = Workbench::with_fixture(env!("CARGO_BIN_EXE_eval-host-under-test"));
    gather(&fixture.eval(["rubric", "attack", "--task-class=fixture"]).run(), &mut kinds);
    kinds
}

fn gather(ended: &Ended, kinds: &mut BTreeMap<String, BTreeSet<String>>) {
    for line in ended.stdout.lines() {
        let mut line: Value = serde_json::from_str(line).expect("stdout is JSON lines");
        let fields = line.as_object_mut().expect("a line is an object");
        let kind = fields.remove("kind").and_then(|kind| Some(kind.as_str()?.to_owned())).expect("a kind");
        keys(&line, kinds.entry(kind).or_default());
    }
}

#[test]
fn every_key_of_every_line_is_documented() {
    let documented = documented();
    let mut printed = printed();
    // Building a rubric takes a toolchain and minutes.
    printed.insert("rubric".to_owned(), BTreeSet::new());
    // The fixture's rubric judges every mutant.
    printed.insert("faulted".to_owned(), BTreeSet::new());
    let kinds = |of: &BTreeMap<String, BTreeSet<String>>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(kinds(&printed), kinds(&documented), "the kinds that are printed, and those that are documented");
    for (kind, keys) in &printed {
        let missing: Vec<_> = keys.difference(&documented[kind]).collect();
        assert!(missing.is_empty(), "docs/json-lines.md does not say what {missing:?} of `{kind}` are");
    }
}

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !["target", ".git", "cases", ".codegenie"].contains(&name) {
            documents(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let mut found = Vec::new();
    documents(&project_root(), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for document in found {
        let text = fs::read_to_string(&document).expect("text");
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let path = document.parent().expect("a folder").join(target.split('#').next().expect("a path"));
            assert!(path.exists(), "{} links to `{target}`", document.display());
        }
    }
}
