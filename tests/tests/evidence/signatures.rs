//! Signed records: who ran it, as far as the keys that are trusted can tell.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use eval_host_tests::{Ended, Workbench};
use serde_json::{Value, json};

use crate::{BINARY, run, verified, workbench};

/// Makes a key of this name in a file of this name, and gives the line that others check it with.
fn keygen(workbench: &Workbench, name: &str) -> String {
    let ended = workbench.eval(["keygen", &format!("--name={name}"), &format!("--key={name}")]).run().expect_code(0);
    ended.line("key")["verifier"].as_str().expect("a key").to_owned()
}

fn trust(workbench: &Workbench, verifiers: &[&str]) {
    let anchors = workbench.path().join("audit/anchors");
    fs::create_dir_all(&anchors).expect("made");
    fs::write(anchors.join("keys"), verifiers.join("\n") + "\n").expect("written");
}

/// Runs a case and signs, and gives the path of the record.
fn run_signed(workbench: &Workbench, key: &str) -> PathBuf {
    let key = format!("--key={key}");
    let ended = workbench.eval(["run", "--task-class=fixture", "--cases=001*", &key]).run().expect_code(0);
    ended.record_path(workbench.path())
}

/// What `verify` counts: signed by trusted keys, by unknown ones, and not signed.
fn counts(ended: &Ended) -> Value {
    let class = &ended.line("verification")["classes"][0];
    json!([class["signed"], class["signed_by_unknown_keys"], class["unsigned"]])
}

fn runs(workbench: &Workbench) -> Vec<String> {
    let entries = fs::read_dir(workbench.path().join(".codegenie/eval/runs")).expect("listed");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn a_signed_record_is_told_from_one_of_an_unknown_key_and_from_one_that_nobody_signed() {
    let workbench = workbench();
    let mine = keygen(&workbench, "mine");
    keygen(&workbench, "theirs");
    run(&workbench, "001*");
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!((state.as_str(), counts(&ended)), ("OK", json!([0, 0, 1])));
    assert!(!ended.stderr.contains("signed"), "nobody signs here: {}", ended.stderr);
    let signed = run_signed(&workbench, "mine");
    let note = fs::read_to_string(signed.with_extension("note")).expect("a note");
    assert!(note.starts_with("eval-host/record/v1\n") && note.contains("\nfixture 2 "), "{note}");
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!((state.as_str(), counts(&ended)), ("OK", json!([0, 1, 1])), "nobody is trusted yet");
    run_signed(&workbench, "theirs");
    trust(&workbench, &[&mine]);
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!((state.as_str(), counts(&ended)), ("OK", json!([1, 1, 1])));
    let told = "fixture: 1 record signed by trusted keys, 1 by unknown keys, 1 not signed\n";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
}

#[test]
fn the_log_and_a_record_say_who_signed_without_believing_a_name() {
    let workbench = workbench();
    let mine = keygen(&workbench, "mine");
    let (plain, signed, theirs) = {
        // A name that turns a terminal's line around.
        let name = "\u{202e}theirs";
        let _ended = workbench.eval(["keygen", &format!("--name={name}"), "--key=theirs"]).run().expect_code(0);
        (run(&workbench, "001*"), run_signed(&workbench, "mine"), run_signed(&workbench, "theirs"))
    };
    trust(&workbench, &[&mine]);
    let log = workbench.eval(["log"]).run().expect_code(0);
    let ends = ["  signed by nobody", "  signed by `mine`", r"  signed by the unknown key `\u{202e}theirs`"];
    let lines: Vec<_> = log.stdout.lines().filter(|line| line.contains("passed")).collect();
    assert_eq!(lines.len(), 3, "{}", log.stdout);
    for (line, end) in lines.iter().zip(ends) {
        assert!(line.ends_with(end), "{line}");
    }
    let shown = [(plain, "nobody"), (signed, "`mine`"), (theirs, r"the unknown key `\u{202e}theirs`")];
    for (record, by) in shown {
        let show = workbench.eval(["show", record.to_str().expect("UTF-8")]).run().expect_code(0);
        assert!(show.stdout.contains(&format!("\n  signed by     {by}\n")), "{}", show.stdout);
    }
}

#[test]
fn the_variable_names_the_key_where_no_flag_does() {
    let workbench = workbench();
    let (flag, variable) = (keygen(&workbench, "flag"), keygen(&workbench, "variable"));
    let run = |args: &[&str], key: &str| {
        let eval = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).args(args);
        eval.env("EVAL_HOST_KEY", key).run()
    };
    let name_of = |ended: Ended| {
        let note = ended.expect_code(0).record_path(workbench.path()).with_extension("note");
        let note = fs::read_to_string(note).ok()?;
        note.lines().last().and_then(|line| line.split(' ').nth(1)).map(str::to_owned)
    };
    assert_eq!(name_of(run(&[], "variable")).as_deref(), Some("variable"));
    assert_eq!(name_of(run(&["--key=flag"], "variable")).as_deref(), Some("flag"));
    assert_eq!(name_of(run(&[], "")), None, "an empty variable names nothing");
    trust(&workbench, &[&flag, &variable]);
    assert_eq!(counts(&verified(&workbench, &[]).1), json!([2, 0, 1]));
}

#[test]
fn a_key_that_is_none_ends_a_run_before_anything_is_run() {
    let workbench = workbench();
    let none = workbench.path().join("none");
    fs::write(&none, "hello\n").expect("written");
    fs::set_permissions(&none, fs::Permissions::from_mode(0o600)).expect("its owner's alone");
    let ended = workbench.eval(["run", "--task-class=fixture", "--key=none"]).run().expect_code(2);
    assert!(ended.stderr.starts_with("error: `none` is not a key to sign with\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: make one with `eval-host keygen`"), "{}", ended.stderr);
    let missing = workbench.eval(["run", "--task-class=fixture"]).env("EVAL_HOST_KEY", "missing").run().expect_code(2);
    assert!(missing.stderr.starts_with("error: `missing` is not a key to sign with\n"), "{}", missing.stderr);
    let merge = workbench.eval(["merge", "no-such-set", "--key=none"]).run().expect_code(2);
    assert!(merge.stderr.starts_with("error: `none` is not a key to sign with\n"), "{}", merge.stderr);
    assert!(!workbench.path().join(".codegenie").exists(), "nothing was begun");
}

/// Runs the two shards of a run with this key, and gives their answer sets.
fn run_shards(workbench: &Workbench, key: &[&str]) -> [String; 2] {
    ["--shard=1/2", "--shard=2/2"].map(|shard| {
        let run = workbench.eval(["run", "--task-class=fixture", shard]).args(key.iter().copied());
        let ended = run.run().expect_code(0);
        let said =
            "a shard has no record: its answer set is signed, and `eval-host merge` signs the record of the whole run";
        assert_eq!(ended.stderr.contains(said), !key.is_empty(), "{}", ended.stderr);
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    })
}

#[test]
fn a_shard_signs_its_answer_set_and_the_merge_the_record() {
    let workbench = workbench();
    let mine = keygen(&workbench, "mine");
    trust(&workbench, &[&mine]);
    let sets = run_shards(&workbench, &["--key=mine"]);
    for set in &sets {
        let set = workbench.path().join(set);
        let note = fs::read_to_string(format!("{}.note", set.display())).expect("a note");
        let digest = blake3::hash(&fs::read(set).expect("an answer set"));
        assert!(note.starts_with(&format!("eval-host/answer-set/v1\n{digest}\n\n\u{2014} mine ")), "{note}");
    }
    let _ended = workbench.eval(["merge", &sets[0], &sets[1], "--key=mine"]).run().expect_code(0);
    assert_eq!(counts(&verified(&workbench, &[]).1), json!([1, 0, 0]));
}

#[test]
fn a_merge_signs_only_what_a_key_signed_that_it_trusts() {
    let workbench = workbench();
    let (mine, other) = (keygen(&workbench, "mine"), keygen(&workbench, "other"));
    let merge = |sets: &[String; 2], args: &[&str]| {
        workbench.eval(["merge", &sets[0], &sets[1], "--key=mine"]).args(args.iter().copied()).run()
    };
    let unsigned = merge(&run_shards(&workbench, &[]), &[]).expect_code(2);
    let said =
        "1-of-2.jsonl` is not signed, and the record would be\nhint: run the shard with --key, or merge without one";
    assert!(unsigned.stderr.contains(said), "{}", unsigned.stderr);
    // Whoever signs needs to name nobody else.
    let _ended = merge(&run_shards(&workbench, &["--key=mine"]), &[]).expect_code(0);
    let sets = run_shards(&workbench, &["--key=other"]);
    let stranger = merge(&sets, &[]).expect_code(2);
    assert!(stranger.stderr.contains("no key that is trusted here signed the answer set `"), "{}", stranger.stderr);
    fs::write(workbench.path().join("others"), format!("{other}\n")).expect("written");
    let _ended = merge(&sets, &["--trusted-keys=others"]).expect_code(0);
    trust(&workbench, &[&mine, &other]);
    let _ended = merge(&sets, &[]).expect_code(0);
    // An answer set that was run again without a key leaves no signature of the one before.
    let _ = run_shards(&workbench, &[]);
    let again = merge(&sets, &[]).expect_code(2);
    assert!(again.stderr.contains("is not signed, and the record would be"), "{}", again.stderr);
    let _ended = workbench.eval(["merge", &sets[0], &sets[1]]).run().expect_code(0);
    assert_eq!(counts(&verified(&workbench, &[]).1), json!([3, 0, 1]));
}

#[test]
fn an_answer_set_that_was_edited_with_its_end_made_right_is_not_signed_into_a_record() {
    let workbench = workbench();
    keygen(&workbench, "mine");
    let sets = run_shards(&workbench, &["--key=mine"]);
    let path = workbench.path().join(&sets[0]);
    let text = fs::read_to_string(&path).expect("an answer set");
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines[1]["duration_seconds"] = json!(9.5);
    let end = lines.len() - 1;
    let body: String = lines[..end].iter().map(|line| format!("{line}\n")).collect();
    lines[end]["blake3"] = json!(blake3::hash(body.as_bytes()).to_string());
    fs::write(&path, format!("{body}{}\n", lines[end])).expect("written");
    let refused = workbench.eval(["merge", &sets[0], &sets[1], "--key=mine"]).run().expect_code(6);
    let said = "1-of-2.jsonl` is not its signature\n";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    assert!(refused.stderr.contains("it is that of other bytes"), "{}", refused.stderr);
}

/// Changes the note of a store's second record, and gives what `verify` says then.
#[track_caller]
fn tampered(change: impl FnOnce(&[PathBuf; 2]), expected: &str) {
    let workbench = workbench();
    let mine = keygen(&workbench, "mine");
    trust(&workbench, &[&mine]);
    let notes = [1, 2].map(|_| run_signed(&workbench, "mine").with_extension("note"));
    assert_eq!(verified(&workbench, &[]).0, "OK");
    change(&notes);
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!(state, "TAMPERED");
    let finding = &ended.line("verification")["findings"][0];
    assert_eq!((&finding["task_class"], &finding["seq"]), (&json!("fixture"), &json!(2)), "{finding}");
    assert!(finding["message"].as_str().expect("a text").contains(expected), "{finding}");
    assert_eq!(counts(&ended), json!([1, 0, 1]), "it counts as not signed");
    let record = notes[1].with_extension("json");
    for eval in [workbench.eval(["log"]), workbench.eval(["show", record.to_str().expect("UTF-8")])] {
        let told = eval.run().expect_code(6).stdout;
        assert!(told.contains("evidence: TAMPERED") && told.contains("nobody"), "{told}");
    }
}

#[test]
fn a_note_that_is_not_the_signature_of_its_record_is_tampered_and_the_record_is_named() {
    tampered(
        |notes| assert!(fs::copy(&notes[0], &notes[1]).is_ok()),
        "the note beside it is not its signature: it is of another record: record 1 of `fixture`",
    );
    tampered(
        |notes| fs::write(&notes[1], "signed, me\n").expect("written"),
        "the note beside it is not its signature: it is not a signed note",
    );
    let of_another = |notes: &[PathBuf; 2]| {
        let [one, two] = notes.each_ref().map(|note| fs::read_to_string(note).expect("text"));
        let (text, signature) = (two.split_once("\n\n").expect("a note").0, one.split_once("\n\n").expect("a note").1);
        fs::write(&notes[1], format!("{text}\n\n{signature}")).expect("written");
    };
    tampered(of_another, "the note beside it is not its signature: the signature of `mine` is not that of this text");
}

#[test]
fn a_signature_whose_record_is_gone_is_tampered_and_no_run_goes_on() {
    let workbench = workbench();
    keygen(&workbench, "mine");
    run(&workbench, "001*");
    let record = run_signed(&workbench, "mine");
    fs::remove_file(&record).expect("removed");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("it is the signature of a record that is not there"), "{}", ended.stderr);
    let ended = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).run().expect_code(6);
    assert!(ended.stderr.contains("it is the signature of a record that is not there"), "{}", ended.stderr);
}

#[test]
fn keys_that_somebody_names_must_be_there() {
    let workbench = workbench();
    let mine = keygen(&workbench, "mine");
    run_signed(&workbench, "mine");
    fs::write(workbench.path().join("elsewhere"), format!("{mine}\n")).expect("written");
    let (_, ended) = verified(&workbench, &["--trusted-keys=elsewhere"]);
    assert_eq!(counts(&ended), json!([1, 0, 0]));
    for command in ["verify", "log"] {
        let ended = workbench.eval([command, "--trusted-keys=nowhere"]).run().expect_code(6);
        assert!(ended.stderr.contains("error: `nowhere` does not name the keys to trust"), "{}", ended.stderr);
    }
    trust(&workbench, &["not a key"]);
    let ended = workbench.eval(["verify"]).run().expect_code(6);
    assert!(ended.stderr.contains("error: `audit/anchors/keys` does not name the keys to trust"), "{}", ended.stderr);
}

#[test]
fn what_a_crash_left_of_a_signed_record_is_finished_by_verify_with_its_signature() {
    let workbench = workbench();
    let mine = keygen(&workbench, "mine");
    trust(&workbench, &[&mine]);
    let record = run_signed(&workbench, "mine");
    let before = runs(&workbench);
    let draft = |record: &Path| {
        record.with_file_name(format!(".tmp-{}", record.file_name().and_then(|name| name.to_str()).expect("UTF-8")))
    };
    fs::rename(&record, draft(&record)).expect("back to a draft");
    // Where nothing is remembered, every draft is somebody's own.
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let ended = workbench.eval(["verify"]).env("HOME", "").run().expect_code(6);
    let state = ended.line("verification")["state"].clone();
    assert_eq!((state, counts(&ended)), (json!("INCOMPLETE"), json!([1, 0, 0])), "{}", ended.stderr);
    assert_eq!(runs(&workbench), before);
    assert_eq!(verified(&workbench, &[]).0, "OK");
}

#[test]
fn a_registration_that_hands_the_key_to_agents_does_not_load() {
    let workbench = Workbench::with_fixture(BINARY);
    let path = workbench.fixture().join("registration.toml");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, format!("{text}\n[sut]\ncommand = [\"true\"]\nenv = [\"EVAL_HOST_KEY\"]\n")).expect("written");
    let ended = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(1);
    assert!(ended.stderr.contains("`EVAL_HOST_KEY` names the key that records are signed with"), "{}", ended.stderr);
}
