//! What somebody does who wants a verdict that the agent did not earn: each attack, and the layer that refuses it.
//!
//! The attacker can write the store and the bench, and has no key. Each attack ended in "sufficient" once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use eval_host_tests::packs::{add_object, object};
use eval_host_tests::{Ended, Eval, Workbench, copy_tree};
use serde_json::{Value, json};

use crate::forger::Forgery;
use crate::{BINARY, verified};

/// As many cases as silver asks for, and a few more.
const CASES: usize = 12;

/// A committed bench, and an agent that answers from a folder of the test's own.
struct Scene {
    workbench: Workbench,
}

impl Scene {
    /// A bench whose agent answers everything right.
    fn new() -> Self {
        let scene = Self { workbench: Workbench::with_fixture_of(CASES, BINARY) };
        let answers = scene.path().join("answers");
        fs::create_dir(&answers).expect("made");
        for name in scene.names() {
            let cassette = scene.read(&scene.case(&name).join("cassette.json"));
            scene.answer(&name, &cassette["output"]);
        }
        let agent = scene.path().join("agent.sh");
        let script = format!(
            "#!/bin/sh\nid=$(sed 's/.*\"case_id\":\"\\([^\"]*\\)\".*/\\1/')\ncat '{}'/\"$id\".json\n",
            answers.display()
        );
        fs::write(&agent, script).expect("an agent");
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("it can be run");
        scene.register(&format!(
            "\n[sut]\ncommand = [\"{}\"]\nenv = [\"PATH\"]\nmax_cost_usd_per_case = 0.1\nread = [\"{}\"]\n",
            agent.display(),
            answers.display()
        ));
        scene.git(&["init", "-q"]);
        scene.commit();
        scene
    }

    fn path(&self) -> &Path {
        self.workbench.path()
    }

    fn store(&self) -> PathBuf {
        self.path().join(".codegenie/eval")
    }

    fn case(&self, name: &str) -> PathBuf {
        self.workbench.fixture().join("cases").join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.workbench.fixture().join("cases")).expect("the cases");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("a case").file_name().into_string().expect("UTF-8")).collect();
        names.sort_unstable();
        names
    }

    fn read(&self, path: &Path) -> Value {
        serde_json::from_slice(&fs::read(self.path().join(path)).expect("a file")).expect("JSON")
    }

    /// What the agent says to a case from now on.
    fn answer(&self, name: &str, output: &Value) {
        let text = json!({"output": output, "cost_usd": 0.01}).to_string();
        fs::write(self.path().join("answers").join(format!("{name}.json")), text).expect("written");
    }

    /// Adds lines to the registration.
    fn register(&self, lines: &str) {
        let path = self.workbench.fixture().join("registration.toml");
        let text = fs::read_to_string(&path).expect("text");
        fs::write(path, format!("{text}{lines}")).expect("written");
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path()).args(["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]);
        assert!(git.args(arguments).status().expect("git runs").success(), "{arguments:?}");
    }

    fn commit(&self) {
        self.git(&["add", "-A", "bench"]);
        self.git(&["commit", "-q", "-m", "the bench"]);
    }

    /// Signs what the store has now, and gives the flag that compares with it.
    fn anchor(&self) -> String {
        let key = self.workbench.eval(["keygen", "--name=tests", "--key=anchor.key"]).run().expect_code(0).line("key");
        fs::create_dir_all(self.path().join("audit/anchors")).expect("made");
        let keys = key["verifier"].as_str().expect("a key");
        fs::write(self.path().join("audit/anchors/keys"), format!("{keys}\n")).expect("written");
        let anchored = self.workbench.eval(["anchor", "--key=anchor.key"]).run().expect_code(0);
        format!("--against={}", anchored.line("checkpoint")["path"].as_str().expect("a path"))
    }

    fn export(&self, record: &Path, args: &[&str]) {
        let ended = self.workbench.eval(["export"]).args([record.file_name().expect("a name")]).args(args).run();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }

    fn run(&self, args: &[&str]) -> PathBuf {
        self.workbench.eval(["run", "--task-class=fixture"]).args(args).run().record_path(self.path())
    }

    fn live(&self, args: &[&str]) -> PathBuf {
        self.run(&[&["--live", "-j1"], args].concat())
    }

    fn judge(&self, args: &[&str]) -> Eval {
        self.workbench.eval(["promote-verdict", "--task-class=fixture", "--target-tier=silver"]).args(args)
    }

    /// The codes of the reasons, with the exit code checked against them.
    #[track_caller]
    fn reasons(&self, args: &[&str]) -> Vec<String> {
        let ended = self.judge(args).run();
        let verdict = ended.line("verdict");
        let codes = codes(&verdict["reasons"]);
        let expected = match &codes[..] {
            [] => 0,
            codes if codes.iter().any(|code| code.starts_with("replay_")) => 6,
            _ => 5,
        };
        assert_eq!(ended.code, Some(expected), "{}", ended.stderr);
        codes
    }

    #[track_caller]
    fn refuses_to_judge(&self, args: &[&str], because: &str) -> Ended {
        let ended = self.judge(args).run().expect_code(6);
        assert!(ended.stderr.contains(because), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
        ended
    }
}

fn codes(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    list.iter().map(|entry| entry["code"].as_str().expect("a code").to_owned()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn an_honest_live_run_is_sufficient_and_the_verdict_names_all_that_it_rests_on() {
    let scene = Scene::new();
    scene.live(&["--cases=001*"]);
    let record = scene.live(&[]);
    assert_eq!(scene.reasons(&[]), NONE);
    let verdict = scene.judge(&[]).run().line("verdict");
    assert_eq!(verdict["record"]["file"], json!(record.file_name().expect("a name").to_str()));
    let replay = json!({"state": "OK", "replayed": 12, "nothing_to_replay": 0, "other_fuel": 0, "compiled": "before", "findings": []});
    let live_runs = json!({"earlier": 1, "later": 0, "unfinished": 0});
    assert_eq!((&verdict["replay"], &verdict["live_runs"]), (&replay, &live_runs));
    let bench = &verdict["bench"];
    assert_eq!((&bench["dirty_at_run"], &bench["commit_at_run"]), (&json!(false), &bench["commit_now"]));
    assert_eq!(bench["case_set_digest_at_run"], bench["case_set_digest_now"]);
    assert_eq!(verdict["agent"]["name"], json!("agent.sh"));
    let mut remarks = codes(&verdict["remarks"]);
    // What the kernel of this machine lacks is not the run's doing.
    remarks.retain(|code| code != "weaker_confinement");
    assert_eq!(remarks, ["earlier_live_runs", "not_signed"]);
}

#[test]
fn the_verdict_on_a_live_run_has_the_confinement_of_its_record() {
    let scene = Scene::new();
    let record = scene.live(&[]);
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let confinement = &scene.judge(&[]).run().line("verdict")["confinement"];
    assert_eq!(*confinement, record["confinement"]);
    assert!(confinement["caged"]["landlock_abi"].as_u64() >= Some(1), "{confinement}");
}

/// 1. Every score at 1.0, no key needed: the chain is whole, the figures follow, no checkpoint knows, and only a replay can tell.
#[test]
fn an_appended_forgery_is_found_by_the_gates_own_replay() {
    let scene = Scene::new();
    for name in scene.names() {
        scene.answer(&name, &json!({"action": "patch", "diff": ""}));
    }
    scene.live(&["--record=cassettes"]);
    let record = scene.run(&["--cassettes=cassettes"]);
    assert!(scene.reasons(&[]).contains(&"below_threshold".to_owned()));
    let checkpoint = scene.anchor();
    let mut forged = Forgery::of(&record).behind(&record);
    forged.cases().iter_mut().for_each(Forgery::perfect);
    let forged = forged.append(&scene.store());
    assert_eq!(verified(&scene.workbench, &[&checkpoint]).0, "OK", "the chain is whole");
    let reasons = scene.reasons(&[&checkpoint]);
    assert!(reasons.contains(&"replay_differs".to_owned()), "{reasons:?}");
    assert_eq!(verified(&scene.workbench, &["--replay"]).0, "TAMPERED");
    fs::remove_file(forged).expect("removed");
    fs::remove_dir_all(scene.path().join("home/.local/state")).expect("forgotten");
}

/// 1. The same as a draft, which a crash might have left.
#[test]
fn nobody_finishes_a_record_that_nobody_began() {
    let scene = Scene::new();
    let record = scene.run(&[]);
    let mut forged = Forgery::of(&record).behind(&record);
    forged.cases().iter_mut().for_each(Forgery::perfect);
    let forged = forged.append(&scene.store());
    let name = forged.file_name().expect("a name").to_str().expect("UTF-8");
    fs::rename(&forged, forged.with_file_name(format!(".tmp-{name}"))).expect("renamed");
    assert_eq!(verified(&scene.workbench, &[]).0, "INCOMPLETE");
    assert!(!forged.exists(), "it is set aside");
    assert_eq!(verified(&scene.workbench, &[]).0, "OK");
}

/// 2. The answer key, called an agent's.
#[test]
fn relabelled_cassettes_have_no_live_record() {
    let scene = Scene::new();
    let cassettes = scene.path().join("cassettes");
    fs::create_dir(&cassettes).expect("made");
    for name in scene.names() {
        let text = fs::read_to_string(scene.case(&name).join("cassette.json")).expect("text");
        let text = text.replace("solved-example", "recorded");
        fs::write(cassettes.join(format!("{name}.json")), text).expect("written");
    }
    scene.run(&["--cassettes=cassettes"]);
    assert_eq!(scene.reasons(&[]), ["provenance_unknown"]);
}

/// 2. Relabelled in the record instead.
#[test]
fn a_record_cannot_say_otherwise_than_its_cassettes() {
    let scene = Scene::new();
    let record = scene.run(&[]);
    let mut forged = Forgery::of(&record).behind(&record);
    forged.record["output_kinds"] = json!(["recorded"]);
    forged.append(&scene.store());
    let (state, ended) = verified(&scene.workbench, &[]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("its output_kinds are not those of its cassettes"), "{}", ended.stderr);
    scene.refuses_to_judge(&[], "the evidence is TAMPERED");
}

#[test]
fn recorded_answers_of_an_agent_that_says_who_it_is_are_borne_out_by_their_live_record() {
    let scene = Scene::new();
    let say = |name: &str, model: &str| {
        let output = &scene.read(&scene.case(name).join("cassette.json"))["output"];
        let agent = json!({"name": "An agent", "version": "2.0", "model": model});
        let text = json!({"output": output, "cost_usd": 0.01, "agent": agent}).to_string();
        fs::write(scene.path().join("answers").join(format!("{name}.json")), text).expect("written");
    };
    scene.names().iter().for_each(|name| say(name, "small"));
    // It is a fault, of which nobody can say whose.
    fs::write(scene.path().join("answers/001-greets.json"), "").expect("written");
    scene.live(&["--record=cassettes"]);
    scene.run(&["--cassettes=cassettes"]);
    let verdict = scene.judge(&[]).run().line("verdict");
    assert_eq!(verdict["provenance"]["seq"], json!(1), "{verdict}");
    let agent = &verdict["agent"];
    assert_eq!(
        [&agent["name"], &agent["version"], &agent["model"]],
        ["An agent", "2.0", "small"].map(|text| json!(text)).each_ref()
    );
    say(&scene.names()[1], "large");
    scene.live(&["--record=cassettes"]);
    let replay = format!("--record={}", scene.run(&["--cassettes=cassettes"]).display());
    let verdict = scene.judge(&[&replay]).run().line("verdict");
    assert_eq!(verdict["provenance"]["seq"], json!(3), "{verdict}");
    let reasons = verdict["reasons"].as_array().expect("a list");
    let message = "outputs are of several systems under test: `An agent 2.0 (large)`, `An agent 2.0 (small)`";
    let several = json!({"code": "several_systems_under_test", "message": message});
    assert!(reasons.contains(&several), "{reasons:?}");
}

/// 2. Recorded answers to other questions.
#[test]
fn stale_cassettes_are_a_reason() {
    let scene = Scene::new();
    scene.live(&["--record=cassettes"]);
    assert_eq!(scene.reasons(&[]), NONE);
    fs::write(scene.case("001-greets").join("input/more.txt"), "another question").expect("written");
    scene.commit();
    let record = format!("--record={}", scene.run(&["--cassettes=cassettes"]).display());
    assert_eq!(scene.reasons(&[&record]), ["provenance_unknown", "stale_cassettes"]);
}

/// 2. An agent that finds the answers in its workspace, on a bench that is put right again before anybody looks.
#[test]
fn answers_to_other_questions_prove_nothing_whatever_their_cassettes_say() {
    let scene = Scene::new();
    let question = scene.case("001-greets").join("input/answer.txt");
    fs::write(&question, "the answer").expect("written");
    scene.live(&["--record=cassettes"]);
    fs::remove_file(question).expect("as it was");
    let path = scene.path().join("cassettes/001-greets.json");
    let digest = |path: &Path| scene.read(path)["input_digest"].as_str().expect("a digest").to_owned();
    let honest = digest(&scene.case("001-greets").join("cassette.json"));
    let text = fs::read_to_string(&path).expect("text").replace(&digest(&path), &honest);
    fs::write(path, text).expect("written");
    let record = format!("--record={}", scene.run(&["--cassettes=cassettes"]).display());
    assert_eq!(scene.reasons(&[&record]), ["provenance_unknown"]);
}

/// 12. A free replay of an older run, after later ones that were worse.
#[test]
fn a_replay_stands_in_the_place_of_the_run_that_it_replays() {
    let scene = Scene::new();
    scene.live(&["--record=cassettes"]);
    scene.answer("001-greets", &harmful(&scene));
    let bad = scene.live(&[]);
    let replay = scene.run(&["--cassettes=cassettes"]);
    let verdict = scene.judge(&[]).run().expect_code(5).line("verdict");
    assert_eq!(verdict["record"]["file"], json!(bad.file_name().expect("a name").to_str()));
    let replay = format!("--record={}", replay.display());
    let verdict = scene.judge(&[&replay]).run().expect_code(0).line("verdict");
    assert_eq!(verdict["live_runs"], json!({"earlier": 0, "later": 1, "unfinished": 0}));
}

/// 2. The other runs in the chain of what is handed over count too.
#[test]
fn a_bundle_that_is_handed_over_brings_its_other_runs_along() {
    let scene = Scene::new();
    scene.live(&["--cases=001*", "--out=elsewhere"]);
    let live = scene.live(&["--record=cassettes", "--out=elsewhere"]);
    scene.export(&live, &["--out=elsewhere", "--to=live.tar"]);
    scene.run(&["--cassettes=cassettes"]);
    let verdict = scene.judge(&["--provenance=live.tar"]).run().expect_code(0).line("verdict");
    assert_eq!(verdict["live_runs"], json!({"earlier": 1, "later": null, "unfinished": null}));
}

/// 2. The best of many runs elsewhere, recorded and replayed here.
#[test]
fn recorded_answers_count_with_the_live_record_that_they_are_from_and_not_without() {
    let scene = Scene::new();
    let live = scene.live(&["--record=cassettes", "--out=elsewhere"]);
    scene.run(&["--cassettes=cassettes"]);
    assert_eq!(scene.reasons(&[]), ["provenance_unknown"]);
    scene.export(&live, &["--out=elsewhere", "--to=live.tar"]);
    assert_eq!(scene.reasons(&["--provenance=live.tar"]), NONE);
    let verdict = scene.judge(&["--provenance=live.tar"]).run().line("verdict");
    assert_eq!(verdict["provenance"]["seq"], json!(1));

    // One answer of another run among them, and it is the best of many again.
    scene.answer("001-greets", &json!({"action": "patch", "diff": "", "again": true}));
    scene.live(&["--record=cassettes", "--cases=001*", "--out=elsewhere"]);
    scene.run(&["--cassettes=cassettes"]);
    let reasons = scene.reasons(&["--provenance=live.tar"]);
    assert!(reasons.contains(&"provenance_unknown".to_owned()), "{reasons:?}");
}

#[test]
fn what_was_recorded_from_a_live_run_of_this_chain_is_as_good_as_it() {
    let scene = Scene::new();
    scene.live(&["--record=cassettes"]);
    let replayed = scene.run(&["--cassettes=cassettes"]);
    assert_eq!(scene.reasons(&[]), NONE);
    let verdict = scene.judge(&[]).run().line("verdict");
    assert_eq!(verdict["record"]["file"], json!(replayed.file_name().expect("a name").to_str()));
    assert_eq!(verdict["provenance"]["seq"], json!(1));
    assert_eq!(verdict["live_runs"]["earlier"], json!(0), "it is not another one");
}

/// 3. The cases that the agent fails are deleted, or the bench is edited otherwise.
#[test]
fn a_dirty_bench_is_recorded_and_refused() {
    let scene = Scene::new();
    for name in &scene.names()[10..] {
        fs::remove_dir_all(scene.case(name)).expect("removed");
    }
    let record = scene.live(&[]);
    assert_eq!(scene.read(&record)["bench_dirty"], json!(true));
    assert_eq!(scene.reasons(&[]), ["bench_dirty", "bench_was_dirty"]);
    scene.git(&["checkout", "-q", "--", "bench"]);
    assert_eq!(scene.reasons(&[]), ["not_every_case", "bench_was_dirty"]);
}

/// 4. A threshold that is lowered after the run counts, and the verdict says so.
#[test]
fn a_registration_that_changed_since_is_said() {
    let scene = Scene::new();
    let path = scene.workbench.fixture().join("registration.toml");
    let text = fs::read_to_string(&path).expect("text");
    scene.live(&[]);
    assert!(!codes(&scene.judge(&[]).run().line("verdict")["remarks"]).contains(&"registration_changed".to_owned()));
    fs::write(&path, text.replace("silver = 0.80", "silver = 0.10")).expect("written");
    scene.commit();
    let verdict = scene.judge(&[]).run().expect_code(0).line("verdict");
    assert!(codes(&verdict["remarks"]).contains(&"registration_changed".to_owned()), "{verdict}");
    assert_ne!(verdict["bench"]["registration_digest_at_run"], verdict["bench"]["registration_digest_now"]);
}

/// An answer that does harm.
fn harmful(scene: &Scene) -> Value {
    scene.read(&scene.workbench.fixture().join("tests/001-greets/line-lost.json"))["output"].clone()
}

/// 5. A failure of block severity that becomes a timeout has nothing to replay.
#[test]
fn a_failure_that_is_called_a_timeout_is_found_in_the_cassette_or_refused_for_want_of_a_signature() {
    let scene = Scene::new();
    scene.answer("001-greets", &harmful(&scene));
    let live = scene.live(&["--record=cassettes"]);
    assert_eq!(scene.reasons(&[]), ["block_severity_failure_modes"]);
    let replayed = scene.run(&["--cassettes=cassettes"]);
    assert_eq!(scene.reasons(&[]), ["block_severity_failure_modes"]);

    let forge = |template: &Path| {
        fs::remove_file(template).expect("its place is free");
        let _ = fs::remove_dir_all(scene.path().join("home/.local/state"));
    };
    let mut forged = Forgery::of(&replayed);
    forged.timeout(0);
    forge(&replayed);
    let path = forged.append(&scene.store());
    scene.refuses_to_judge(&[], "the evidence is TAMPERED");
    fs::remove_file(path).expect("removed");

    let mut forged = Forgery::of(&live);
    forged.timeout(0);
    forge(&live);
    forged.append(&scene.store());
    assert_eq!(verified(&scene.workbench, &["--replay"]).0, "OK", "there is nothing to replay");
    assert_eq!(scene.reasons(&[]), ["cannot_be_replayed"]);
}

/// 8. All cases with the manifest, the output and the score of an easy one.
#[test]
fn a_case_cannot_stand_for_another() {
    let scene = Scene::new();
    for name in &scene.names()[1..] {
        scene.answer(name, &json!({"action": "patch", "diff": ""}));
    }
    let record = scene.live(&[]);
    let mut forged = Forgery::of(&record);
    let names = scene.names();
    for set in ["case_digest_set", "output_digest_set"] {
        for name in &names {
            forged.record[set][name] = forged.record[set][&names[0]].clone();
        }
    }
    let easy = forged.cases()[0].clone();
    for (case, name) in forged.cases().iter_mut().zip(&names) {
        *case = easy.clone();
        case["case_id"] = json!(name);
    }
    fs::remove_file(&record).expect("its place is free");
    forged.append(&scene.store());
    fs::remove_dir_all(scene.path().join("home/.local/state")).expect("forgotten");
    let (state, ended) = verified(&scene.workbench, &[]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("has the files of another case"), "{}", ended.stderr);
}

/// 9. Two records that name one marker hide a run.
#[test]
fn one_announcement_is_one_run() {
    let scene = Scene::new();
    let first = scene.live(&["--cases=001*"]);
    let second = scene.live(&["--cases=002*"]);
    let mut forged = Forgery::of(&second).behind(&second);
    forged.record["started_marker"] = scene.read(&first)["started_marker"].clone();
    forged.append(&scene.store());
    let (state, ended) = verified(&scene.workbench, &[]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("announced the run of record 1 of `fixture`, and no other"), "{}", ended.stderr);
}

/// 9. Limits that the recorded registration does not set, and a peak of memory that no replay has.
#[test]
fn limits_are_the_gates_and_memory_is_the_replays() {
    let scene = Scene::new();
    let record = scene.live(&[]);
    let rewrite = |change: &dyn Fn(&mut Forgery)| {
        let mut forged = Forgery::of(&record);
        change(&mut forged);
        let kept = fs::read(&record).expect("a record");
        fs::remove_file(&record).expect("its place is free");
        let path = forged.append(&scene.store());
        let _ = fs::remove_dir_all(scene.path().join("home/.local/state"));
        let reasons = scene.reasons(&[]);
        fs::remove_file(path).expect("removed");
        fs::write(&record, kept).expect("put back");
        reasons
    };
    let more_fuel = |forged: &mut Forgery| forged.record["limits"]["fuel"] = json!(999_999_999);
    assert_eq!(rewrite(&more_fuel), ["other_limits"]);
    let less_memory = |forged: &mut Forgery| forged.cases()[0]["peak_memory_bytes"] = json!(1);
    assert_eq!(rewrite(&less_memory), ["replay_differs"]);
}

/// 12. A free run of cassettes after a paid live run.
#[test]
fn the_newest_run_of_an_agent_over_the_whole_bench_is_judged_and_not_what_came_after_it() {
    let scene = Scene::new();
    for name in scene.names() {
        scene.answer(&name, &json!({"action": "patch", "diff": ""}));
    }
    let bad = scene.live(&[]);
    let solved = scene.run(&[]);
    scene.live(&["--cases=001*"]);
    let verdict = scene.judge(&[]).run().expect_code(5).line("verdict");
    assert_eq!(verdict["record"]["file"], json!(bad.file_name().expect("a name").to_str()));
    assert_eq!(verdict["live_runs"], json!({"earlier": 0, "later": 1, "unfinished": 0}));
    let solved = format!("--record={}", solved.display());
    let verdict = scene.judge(&[&solved]).run().expect_code(5).line("verdict");
    assert_eq!(codes(&verdict["reasons"]), ["solved_examples"]);
    let ended = scene.judge(&["--record=nothing.json"]).run().expect_code(2);
    assert!(ended.stderr.contains("`eval-host log` lists the records"), "{}", ended.stderr);
}

/// Rewrites a live record with the right answer in the place of the first one, as if the agent had given it.
fn invent_an_answer(scene: &Scene, record: &Path) -> PathBuf {
    let mut forged = Forgery::of(record);
    // What the rubric says of it is found out elsewhere, where nobody looks.
    let elsewhere = scene.read(&scene.run(&["--cases=001*", "--out=elsewhere"]));
    let output = &elsewhere["output_digest_set"]["001-greets"];
    let answer = object(&scene.path().join("elsewhere"), output.as_str().expect("a digest"));
    add_object(&scene.store(), &answer);
    forged.record["output_digest_set"]["001-greets"] = output.clone();
    let (mut right, wrong) = (elsewhere["report"]["cases"][0].clone(), forged.cases()[0].clone());
    for key in ["cost_usd", "duration_seconds"] {
        right["score"][key] = wrong["score"][key].clone();
    }
    forged.cases()[0] = right;
    fs::remove_file(record).expect("its place is free");
    fs::remove_dir_all(scene.path().join("home/.local/state")).expect("forgotten");
    forged.append(&scene.store())
}

/// What remains: outputs that somebody invents replay, and nobody can tell who made them. A signature can.
#[test]
fn invented_outputs_are_refused_where_the_bench_demands_signatures() {
    let scene = Scene::new();
    scene.answer("001-greets", &harmful(&scene));
    scene.register("\n[evidence]\nsigned_records = true\n");
    scene.commit();
    scene.live(&["--cases=002*"]);
    scene.anchor();
    let record = scene.live(&["--key=anchor.key"]);
    assert_eq!(scene.reasons(&[]), ["block_severity_failure_modes"]);
    let note = record.with_extension("note");
    let forged = invent_an_answer(&scene, &record);
    fs::rename(&note, forged.with_extension("note")).expect("the signature of the other");
    scene.refuses_to_judge(&[], "the evidence is TAMPERED");
    fs::remove_file(forged.with_extension("note")).expect("removed");
    assert_eq!(verified(&scene.workbench, &["--replay"]).0, "OK", "nobody can tell");
    assert_eq!(scene.reasons(&[]), ["unsigned"]);

    // Whoever signs with another key is nobody here.
    let other = scene.workbench.eval(["keygen", "--name=tests", "--key=other.key"]).run();
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    scene.answer("001-greets", &scene.read(&scene.case("001-greets").join("cassette.json"))["output"]);
    scene.live(&["--key=other.key"]);
    assert_eq!(scene.reasons(&[]), ["unsigned"]);
    scene.live(&["--key=anchor.key"]);
    assert_eq!(scene.reasons(&[]), NONE);
}

/// A fault that a trusted key vouches for counts as what it is.
#[test]
fn a_signed_live_run_may_have_a_fault_of_the_agent() {
    let scene = Scene::new();
    fs::write(scene.path().join("answers/001-greets.json"), "").expect("no answer");
    scene.live(&[]);
    assert_eq!(scene.reasons(&[]), ["cannot_be_replayed"]);
    scene.anchor();
    scene.live(&["--key=anchor.key", "--record=cassettes"]);
    assert_eq!(scene.reasons(&[]), NONE);
    scene.run(&["--cassettes=cassettes"]);
    assert_eq!(scene.reasons(&[]), NONE, "whoever saw it signed it");
}

#[test]
fn a_bundle_is_judged_in_place_of_a_store() {
    let scene = Scene::new();
    let record = scene.live(&[]);
    scene.export(&record, &["--to=record.tar"]);
    let elsewhere = Scene::new();
    fs::copy(scene.path().join("record.tar"), elsewhere.path().join("record.tar")).expect("copied");
    copy_tree(&scene.workbench.fixture(), &elsewhere.workbench.fixture());
    elsewhere.commit();
    assert_eq!(elsewhere.reasons(&["record.tar"]), NONE);
    assert!(!elsewhere.store().exists(), "nothing is written beside a bundle");
}
