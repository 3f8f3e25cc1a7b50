//! What the machine remembers of a store, through the commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use eval_host_tests::Workbench;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{run, verified, workbench};

const NOT_SEEN: &str = "note: eval-host has not seen this store on this machine before, so it cannot tell whether its last \
                        records are missing\n";

#[test]
fn a_lost_tail_is_noticed_and_nothing_is_run_on_top_of_it() {
    let workbench = workbench();
    run(&workbench, "001*");
    let newest = run(&workbench, "001*");
    fs::remove_file(newest).expect("removed");
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("its tail is gone: record 2 was seen here before"), "{}", ended.stderr);
    let refused = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).run().expect_code(6);
    assert!(refused.stderr.contains("its tail is gone"), "{}", refused.stderr);
}

#[test]
fn a_store_that_is_gone_altogether_is_tampered_where_it_was_seen_and_unverifiable_where_it_was_not() {
    let workbench = workbench();
    run(&workbench, "001*");
    fs::remove_dir_all(workbench.path().join(".codegenie")).expect("removed");
    let ended = workbench.eval(["verify"]).run().expect_code(6);
    assert!(ended.stderr.contains("is TAMPERED"), "{}", ended.stderr);
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let ended = workbench.eval(["verify"]).run().expect_code(6);
    assert!(ended.stderr.contains("is UNVERIFIABLE"), "{}", ended.stderr);
}

#[test]
fn a_lost_tail_is_noticed_whichever_way_one_comes_to_the_store() {
    let workbench = workbench();
    run(&workbench, "001*");
    let newest = run(&workbench, "001*");
    fs::remove_file(newest).expect("removed");
    std::os::unix::fs::symlink(".codegenie", workbench.path().join("link")).expect("linked");
    for out in ["--out=bench/../.codegenie/eval", "--out=link/eval", "--out=./.codegenie/eval/"] {
        let (state, ended) = verified(&workbench, &[out]);
        assert_eq!(state, "TAMPERED", "{out}: {}", ended.stderr);
    }
}

#[test]
fn where_nothing_is_remembered_that_is_said() {
    let workbench = workbench();
    run(&workbench, "001*");
    assert!(!verified(&workbench, &[]).1.stderr.contains("note:"), "it was seen by the run");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let log = workbench.eval(["log"]).run().expect_code(0);
    assert!(log.stderr.contains(NOT_SEEN), "{}", log.stderr);
    let (_, ended) = verified(&workbench, &[]);
    assert!(ended.stderr.contains(NOT_SEEN), "{}", ended.stderr);
    assert!(!verified(&workbench, &[]).1.stderr.contains("note:"), "now it was");
    let homeless = workbench.eval(["verify"]).env("HOME", "").run().expect_code(0);
    assert!(homeless.stderr.contains("note: without a state directory nothing is remembered"), "{}", homeless.stderr);
}

#[test]
fn in_ci_the_first_use_must_be_said() {
    let workbench = workbench();
    run(&workbench, "001*");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let verify = |args: &[&str]| workbench.eval(["verify"]).args(args).env("CI", "true").run();
    let ended = verify(&[]).expect_code(6);
    assert_eq!(ended.line("verification")["state"], "UNVERIFIABLE");
    assert!(ended.stderr.contains("--trust-on-first-use"), "{}", ended.stderr);
    let _ended = verify(&["--trust-on-first-use"]).expect_code(0);
    let _ended = verify(&[]).expect_code(0);
}

const FIRST_USE: &str = "hint: if you know where the store comes from, say `eval-host verify --trust-on-first-use` once, with its \
                         --out, and keep the state directory ($XDG_STATE_HOME/eval-host, or else ~/.local/state/eval-host) \
                         between jobs; where there is none, set HOME or say the flag each time\n";
const INVESTIGATE: &str = "keep the store unchanged";

#[test]
fn in_ci_a_store_that_the_run_makes_needs_no_trust() {
    let workbench = workbench();
    let run = || workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).env("CI", "true").run();
    let first = run().expect_code(0);
    assert!(!first.stderr.contains("note: ") && !first.stderr.contains("hint: "), "{}", first.stderr);
    let _known = run().expect_code(0);
    let _known = workbench.eval(["verify"]).env("CI", "true").run().expect_code(0);
}

#[test]
fn in_ci_a_store_that_a_failed_run_made_is_known_to_the_next() {
    let workbench = workbench();
    let run = |cases: &str| workbench.eval(["run", "--task-class=fixture", cases]).env("CI", "true").run();
    let case = workbench.fixture().join("cases/001-greets/case.toml");
    let text = fs::read(&case).expect("case.toml");
    fs::write(&case, "").expect("broken");
    let _failed = run("--cases=001*").expect_code(1);
    assert!(workbench.path().join(".codegenie/eval/store.json").exists(), "the store was made before the run failed");
    fs::write(&case, text).expect("mended");
    let _known = run("--cases=001*").expect_code(0);
}

#[test]
fn in_ci_a_merge_may_make_its_store() {
    let workbench = workbench();
    let answer_sets = ["1/2", "2/2"].map(|shard| {
        let run = workbench.eval(["run", "--task-class=fixture", "--shard", shard]).env("CI", "true").run();
        run.expect_code(0).line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    let merge = || workbench.eval(["merge", &answer_sets[0], &answer_sets[1]]).env("CI", "true").run();
    let _made = merge().expect_code(0);
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let refused = merge().expect_code(6);
    assert!(refused.stderr.ends_with(FIRST_USE) && !refused.stderr.contains(INVESTIGATE), "{}", refused.stderr);
}

#[test]
fn in_ci_every_command_says_what_to_do_about_a_store_that_was_never_seen() {
    let workbench = workbench();
    let record = run(&workbench, "001*");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let name = record.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let _key = workbench.eval(["keygen", "--name=k", "--key=key"]).run().expect_code(0);
    let commands: [&[&str]; 7] = [
        &["run", "--task-class=fixture", "--cases=001*"],
        &["verify"],
        &["log"],
        &["show", name],
        &["export", name],
        &["anchor", "--key=key"],
        &["promote-verdict", "--task-class=fixture", "--target-tier=silver"],
    ];
    for command in commands {
        let ended = workbench.eval([]).args(command).env("CI", "true").run().expect_code(6);
        assert_eq!(ended.stderr.matches(FIRST_USE).count(), 1, "{command:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains(INVESTIGATE), "{command:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("`eval-host verify` says"), "{command:?}: {}", ended.stderr);
    }
    let _advised = workbench.eval(["verify", "--trust-on-first-use"]).env("CI", "true").run().expect_code(0);
    for command in commands.into_iter().filter(|command| command[0] != "promote-verdict") {
        let _known = workbench.eval([]).args(command).env("CI", "true").run().expect_code(0);
    }
}

#[test]
fn in_ci_a_store_that_does_not_exist_is_a_matter_of_its_name() {
    let workbench = workbench();
    let commands: [&[&str]; 4] = [&["verify"], &["log"], &["show", "x.json"], &["export", "x.json"]];
    for command in commands {
        let ended = workbench.eval([]).args(command).env("CI", "true").run().expect_code(6);
        let hint = "hint: name the store with --out; `eval-host run` makes one where there was none\n";
        assert!(ended.stderr.ends_with(hint), "{command:?}: {}", ended.stderr);
    }
}

#[test]
fn a_store_that_was_seen_and_is_gone_is_not_made_anew() {
    for ci in ["", "true"] {
        let workbench = workbench();
        run(&workbench, "001*");
        fs::remove_dir_all(workbench.path().join(".codegenie")).expect("removed");
        let again = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).env("CI", ci).run().expect_code(6);
        assert!(
            again.stderr.contains("is TAMPERED: the store is gone, and eval-host saw one there"),
            "{}",
            again.stderr
        );
        assert!(again.stderr.ends_with("hint: restore it, or start another with --out\n"), "{}", again.stderr);
        assert!(!workbench.path().join(".codegenie").exists(), "nothing hides that it is gone");
        let elsewhere = ["run", "--task-class=fixture", "--cases=001*", "--out=elsewhere"];
        let _another = workbench.eval(elsewhere).env("CI", ci).run().expect_code(0);
    }
}

#[test]
fn only_a_store_that_was_meddled_with_is_kept_for_an_investigation() {
    let workbench = workbench();
    run(&workbench, "001*");
    fs::remove_file(run(&workbench, "001*")).expect("removed");
    let refused =
        workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).env("CI", "true").run().expect_code(6);
    let hint = "hint: keep the store unchanged for the investigation, and start another with --out\n";
    assert!(refused.stderr.ends_with(hint), "{}", refused.stderr);
}

/// Everything that is remembered, by the names of the files.
fn remembered(workbench: &Workbench) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = workbench.path().join("home/.local/state/eval-host/last-seen");
    let paths = fs::read_dir(folder).expect("something is remembered").map(|entry| entry.expect("an entry").path());
    paths.map(|path| (path.clone(), fs::read(path).expect("readable"))).collect()
}

/// A workbench whose last run died when its record was a draft, in front of its rename: the record's path. `is_intended` says
/// whether the run had remembered that it was about to commit it, as every run does.
fn died_before_the_rename(workbench: &Workbench, is_intended: bool) -> PathBuf {
    run(workbench, "001*");
    let before = remembered(workbench);
    let newest = run(workbench, "001*");
    let name = newest.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    fs::rename(&newest, newest.with_file_name(format!(".tmp-{name}"))).expect("back to a draft");
    for (path, bytes) in before {
        let is_intents = path.to_string_lossy().ends_with(".intents.json");
        let bytes = if is_intents && is_intended { intent(&bytes, &newest) } else { bytes };
        fs::write(path, bytes).expect("as it was");
    }
    newest
}

/// What is remembered just before the draft of a second record is written.
fn intent(remembered: &[u8], record: &Path) -> Vec<u8> {
    let text = str::from_utf8(remembered).expect("text");
    let mut kept: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(kept["seen"], Value::Array(Vec::new()), "the head has moved on, so nothing is intended any more");
    let name = record.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let draft = fs::read(record.with_file_name(format!(".tmp-{name}"))).expect("a draft");
    let hash = Sha256::digest(draft).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    kept["seen"] = serde_json::json!([{ "task_class": "fixture", "seq": 2, "hash": hash }]);
    let line = format!("{kept}\n");
    format!("{line}{}\n", blake3::hash(line.as_bytes()).to_hex()).into_bytes()
}

#[test]
fn what_a_crash_left_is_finished_by_verify_and_said() {
    let workbench = workbench();
    let newest = died_before_the_rename(&workbench, true);
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!(state, "INCOMPLETE");
    assert!(ended.stderr.contains("it is record 2 of `fixture` now"), "{}", ended.stderr);
    assert!(newest.exists());
    assert_eq!(verified(&workbench, &[]).0, "OK");
}

#[test]
fn what_a_crash_left_is_finished_by_the_next_run_and_said() {
    let workbench = workbench();
    let newest = died_before_the_rename(&workbench, true);
    let next = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).run().expect_code(0);
    assert!(next.stderr.contains("it is record 2 of `fixture` now"), "{}", next.stderr);
    assert!(newest.exists());
    assert_eq!(next.line("record")["seq"], 3);
    assert_eq!(verified(&workbench, &["--replay"]).0, "OK");
}

#[test]
fn a_draft_that_nobody_remembers_is_committed_by_no_command() {
    let workbench = workbench();
    let newest = died_before_the_rename(&workbench, false);
    let name = newest.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
    let draft = newest.with_file_name(format!(".tmp-{name}"));
    let bytes = fs::read(&draft).expect("a draft");
    let refused = format!(
        "`runs/.tmp-{name}`: it is a whole record without a name, and nobody remembers on this machine that it was about to be \
         committed; it is kept as `unfinished/{name}.0`"
    );
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!(state, "INCOMPLETE");
    assert!(ended.stderr.contains(&format!("INCOMPLETE: {refused}")), "{}", ended.stderr);
    let kept = newest.parent().expect("runs").with_file_name("unfinished").join(format!("{name}.0"));
    assert_eq!(fs::read(&kept).expect("kept"), bytes);
    assert_eq!(verified(&workbench, &[]).0, "OK");

    fs::rename(&kept, &draft).expect("put there again");
    let next = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).run().expect_code(0);
    assert!(next.stderr.contains(&format!("note: {refused}")), "{}", next.stderr);
    assert_eq!(next.line("record")["seq"], 2);
    assert!(kept.exists() && !newest.exists());
}

#[test]
fn where_nothing_can_be_remembered_every_whole_draft_is_believed_but_not_in_ci() {
    let workbench = workbench();
    run(&workbench, "001*");
    let record = run(&workbench, "001*");
    let back = record.with_file_name(".tmp-forged");
    fs::rename(&record, &back).expect("back to a draft");
    fs::copy(&back, workbench.path().join("forged")).expect("kept");
    let homeless = |ci: &str| workbench.eval(["verify"]).env("HOME", "").env("CI", ci).run().expect_code(6);
    let in_ci = homeless("true");
    assert!(!record.exists(), "{}", in_ci.stderr);
    fs::copy(workbench.path().join("forged"), &back).expect("put there again");
    let elsewhere = homeless("");
    assert!(elsewhere.stderr.contains("it is record 2 of `fixture` now") && record.exists(), "{}", elsewhere.stderr);
}

#[test]
fn the_log_and_a_record_are_shown_with_the_state_of_the_evidence() {
    let workbench = workbench();
    run(&workbench, "00*");
    let record = run(&workbench, "001*");
    let log = workbench.eval(["log"]).run().expect_code(0);
    assert!(log.stdout.starts_with("evidence: OK\n\nfixture\n     1  "), "{}", log.stdout);
    assert_eq!(log.stdout.lines().filter(|line| line.contains("passed")).count(), 2, "{}", log.stdout);
    let name = record.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let show = workbench.eval(["show", name]).run().expect_code(0);
    assert!(show.stdout.starts_with(&format!("fixture record 2 ({name})")), "{}", show.stdout);
    assert!(show.stdout.contains("001-"), "{}", show.stdout);
    let _ended = workbench.eval(["show", "20261116T000000.000Z-00000000.json"]).run().expect_code(2);
}

#[test]
fn a_run_that_continues_a_store_of_strangers_says_so() {
    let workbench = workbench();
    let cases = ["run", "--task-class=fixture", "--cases=001*"];
    let first = workbench.eval(cases).run();
    assert!(!first.stderr.contains("note: "), "a new store is nobody's: {}", first.stderr);
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let second = workbench.eval(cases).run().expect_code(0);
    assert!(second.stderr.contains(NOT_SEEN), "{}", second.stderr);
    assert!(!workbench.eval(cases).run().stderr.contains("note: "), "it is known now");
}
