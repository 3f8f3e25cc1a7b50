//! The agents of `host/examples/`: the reference agents and what was recorded of them, a baseline that passes some cases and fails
//! others; and the adapters for agents as they are sold.

mod adapters;
mod containers;
mod stage;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use eval_host_tests::{Ended, Workbench, copy_tree, project_root};
use serde_json::value::RawValue;
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

/// A bench and the agent that was recorded for it.
struct Reference {
    task_class: &'static str,
    agent: &'static str,
}

const REFERENCES: [Reference; 2] = [
    Reference { task_class: "vuln-remediation", agent: env!("CARGO_BIN_EXE_remediator") },
    Reference { task_class: "migration-chainguard-distroless", agent: env!("CARGO_BIN_EXE_migrator") },
];

impl Reference {
    fn bench(&self) -> PathBuf {
        project_root().join("bench").join(self.task_class)
    }

    /// The folders of the cases, by their ids.
    fn cases(&self) -> BTreeMap<String, PathBuf> {
        let folders = fs::read_dir(self.bench().join("cases")).expect("the cases");
        let by_id = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.expect("a case");
            (entry.file_name().into_string().expect("UTF-8"), entry.path())
        };
        folders.map(by_id).collect()
    }

    /// Replays a set of cassettes, or the cases' own. All must be there, and made for the input that the cases have.
    fn replay(&self, cassettes: Option<&Path>) -> Ended {
        let workbench = Workbench::with_bench(BINARY, self.task_class);
        let task_class = format!("--task-class={}", self.task_class);
        let run = workbench.eval(["run", &task_class, "--strict-cassettes"]);
        run.args(cassettes.map(|folder| format!("--cassettes={}", folder.display()))).run()
    }

    /// The section of the bench's README that shows what was measured.
    fn published_results(&self) -> String {
        let readme = fs::read_to_string(self.bench().join("README.md")).expect("a README");
        readme.split_once("\n## Results\n").expect("a section `Results`").1.to_owned()
    }

    /// What the agent says of a case, verbatim.
    fn ask(&self, case_id: &str, case: &Path) -> Box<RawValue> {
        let workspace = tempfile::tempdir().expect("a workspace");
        copy_tree(&case.join("input"), workspace.path());
        let request = json!({
            "protocol": 1,
            "case": { "case_id": case_id, "task_class": self.task_class },
            "workspace": workspace.path(),
            "budget_usd": 0.0,
        });
        let output = answer(Command::new(self.agent).env_clear().current_dir(&workspace), &request);
        let mut response: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&output).expect("a JSON response");
        assert_eq!(response.remove("cost_usd").expect("a cost").get(), "0.0", "{case_id}");
        let output = response.remove("output").expect("an output");
        assert!(response.is_empty(), "{case_id}: more than the protocol has: {:?}", response.keys());
        output
    }
}

fn answer(command: &mut Command, request: &Value) -> Vec<u8> {
    let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
    let mut stdin = agent.stdin.take().expect("its stdin");
    writeln!(stdin, "{request}").expect("it reads the request");
    drop(stdin);
    let output = agent.wait_with_output().expect("the agent ends");
    assert!(output.status.success(), "{request}: {}", output.status);
    output.stdout
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn passed(case: &Value) -> bool {
    case["score"]["passed"].as_bool().expect("a verdict")
}

/// The row of a README's results for a run.
fn row(answers: &str, ended: &Ended) -> String {
    let aggregate = ended.line("aggregate");
    let (passed, mean) = (&aggregate["passed_count"], aggregate["mean_score"].as_f64().expect("a mean"));
    format!("| {answers} | {passed} of {} | {mean:.3} |", ended.lines("case").len())
}

#[test]
fn a_reference_agent_passes_some_cases_and_fails_others() {
    for reference in &REFERENCES {
        let ended = reference.replay(Some(&reference.bench().join("cassettes-reference"))).expect_code(5);
        let cases = ended.lines("case");
        assert_eq!(cases.len(), reference.cases().len());
        assert!(cases.iter().all(|case| case["outcome"] == "scored"), "{}", ended.stdout);
        let passed = cases.iter().filter(|case| passed(case)).count();
        assert!(0 < passed && passed < cases.len(), "{passed} of {}", cases.len());
    }
}

#[test]
fn the_results_that_a_bench_publishes_are_the_ones_that_it_gives() {
    for reference in &REFERENCES {
        let solved = reference.replay(None).expect_code(0);
        let recorded = reference.replay(Some(&reference.bench().join("cassettes-reference"))).expect_code(5);
        let cases = recorded.lines("case");
        let modes = failure_modes(&cases);
        let mut rows = vec![row("solved examples", &solved), row("reference agent", &recorded)];
        rows.extend(modes.iter().map(|(mode, count)| format!("| `{mode}` | {count} |")));
        let results = reference.published_results();
        for row in rows {
            assert!(results.contains(&row), "{}: the README's results lack the row {row}", reference.task_class);
        }
        let published = results.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(published, modes.len(), "{}: the README shows modes that do not occur", reference.task_class);
    }
}

fn failure_modes(cases: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    let modes = cases.iter().flat_map(|case| case["score"]["failure_modes"].as_array().expect("failure modes"));
    for mode in modes {
        *counts.entry(mode.as_str().expect("a name")).or_default() += 1;
    }
    counts
}

#[test]
fn what_was_recorded_is_what_the_agents_say_today() {
    for reference in &REFERENCES {
        for (case_id, case) in reference.cases() {
            let path = reference.bench().join("cassettes-reference").join(format!("{case_id}.json"));
            let cassette: BTreeMap<String, Box<RawValue>> = read_json(&path);
            assert_eq!(cassette["kind"].get(), r#""recorded""#, "{case_id}");
            assert_eq!(cassette["output"].get(), reference.ask(&case_id, &case).get(), "{case_id}: record it again");
        }
    }
}

#[test]
fn an_empty_answer_to_every_case_passes_no_positive_case() {
    for reference in &REFERENCES {
        for output in [json!({}), json!({ "action": "patch", "diff": "" })] {
            let cassettes = tempfile::tempdir().expect("a folder");
            for (case_id, case) in reference.cases() {
                let mut cassette: Value = read_json(&case.join("cassette.json"));
                cassette["output"] = output.clone();
                fs::write(cassettes.path().join(format!("{case_id}.json")), cassette.to_string()).expect("a cassette");
            }
            let ended = reference.replay(Some(cassettes.path())).expect_code(5);
            let positive: Vec<_> =
                ended.lines("case").into_iter().filter(|case| is_positive(reference, case)).collect();
            assert!(positive.len() >= 10, "{}", positive.len());
            assert!(!positive.iter().any(passed), "{output}: {}", ended.stdout);
        }
    }
}

fn is_positive(reference: &Reference, case: &Value) -> bool {
    let case_id = case["case_id"].as_str().expect("a case id");
    let text = fs::read_to_string(reference.cases()[case_id].join("case.toml")).expect("a case");
    let case: toml::Table = text.parse().expect("TOML");
    case["disposition"].as_str() == Some("positive")
}
