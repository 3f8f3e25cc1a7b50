//! A run in parts: answer sets, scored again by whoever chains them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::desk::{ANSWER, Desk, Running, TASK_CLASS, until};

#[test]
fn the_shards_of_a_run_give_the_record_of_the_whole() {
    let desk = Desk::new("", "");
    let whole = desk.eval(["run", "--task-class", TASK_CLASS, "--limit=7", "--out=whole"]).run().expect_code(0);
    let answer_set = |shard: &str| {
        let store = format!("--out=store-{}", shard.replace('/', "-"));
        let ended =
            desk.eval(["run", "--task-class", TASK_CLASS, "--limit=7", "--shard", shard, &store]).run().expect_code(0);
        assert!(ended.lines("record").is_empty(), "a shard is never chained");
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    };
    let answer_sets = ["1/3", "2/3", "3/3"].map(answer_set);
    let [first, second, third] = answer_sets.each_ref().map(String::as_str);
    let merged = desk.eval(["merge", third, first, second]).run().expect_code(0);
    assert_eq!(merged.lines("case"), whole.lines("case"));
    assert_eq!(merged.line("aggregate"), whole.line("aggregate"));

    let refused = desk.eval(["merge", first, second]).run().expect_code(2);
    assert!(refused.stderr.contains("shard 3/3 is missing"), "{}", refused.stderr);
    let refused = desk.eval(["merge", first, first, second]).run().expect_code(2);
    assert!(refused.stderr.contains("shard 1/3 is there twice"), "{}", refused.stderr);
    let name = &desk.cases(1)[0];
    let input = desk.path().join("bench").join(TASK_CLASS).join("cases").join(name).join("input/extra.txt");
    fs::write(input, "x").expect("a change");
    let refused = desk.eval(["merge", first, second, third]).run().expect_code(2);
    assert!(refused.stderr.contains("another state of the bench"), "{}", refused.stderr);
}

#[test]
fn the_shards_of_a_live_run_are_paid_for_once() {
    let desk = Desk::new("", &format!(r#"echo "$id" >> "$desk/paid"; echo '{ANSWER}'"#));
    let answer_sets = ["1/2", "2/2"].map(|shard| {
        let ended = desk.live(4, ["--shard", shard]).run().expect_code(0);
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    let merged = desk.eval(["merge", &answer_sets[0], &answer_sets[1]]).run().expect_code(5);
    assert_eq!(merged.lines("case").len(), 4);
    assert_eq!(desk.lines("paid").len(), 4);
    let record = fs::read(merged.record_path(desk.path())).expect("a record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
    assert_eq!((&record["mode"], &record["suts"][0]["name"]), (&"live".into(), &"agent.sh".into()));
}

/// Everything below a folder, and the folder itself.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let below = entries.flat_map(|path| if path.is_dir() { all_below(&path) } else { vec![path] });
    [folder.to_owned()].into_iter().chain(below).collect()
}

/// Fails if anybody but its owner may do anything with anything in a store.
#[track_caller]
fn assert_private(store: &Path) {
    for path in all_below(store) {
        let mode = fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777;
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{} has mode {mode:04o}", path.display());
    }
}

#[test]
fn whatever_the_umask_a_store_that_begins_with_a_shard_is_private_and_takes_the_merge() {
    for (umask, is_live) in [("umask 002", false), ("umask 0", true)] {
        let desk = Desk::new("", &format!("echo '{ANSWER}'"));
        let store = desk.path().join(".codegenie/eval");
        let answer_sets = ["1/2", "2/2"].map(|shard| {
            let run = if is_live {
                desk.live(2, ["--shard", shard])
            } else {
                desk.eval(["run", "--task-class", TASK_CLASS, "--limit=2", "--shard", shard])
            };
            let ended = run.after(umask).run().expect_code(0);
            assert_private(&store);
            ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
        });
        assert_private(&desk.path().join(".codegenie"));
        let merge = desk.eval(["merge", &answer_sets[0], &answer_sets[1]]).after(umask);
        let _ = merge.run().expect_code(if is_live { 5 } else { 0 });
        let _ = desk.eval(["verify", "--replay"]).after(umask).run().expect_code(0);
        assert_private(&store);
        let made: Vec<_> = all_below(&store)
            .iter()
            .filter_map(|path| path.strip_prefix(&store).ok()?.to_str().map(str::to_owned))
            .collect();
        assert!(made.iter().any(|path| path.starts_with("answer-sets/")), "{made:?}");
        assert_eq!(made.iter().any(|path| path.starts_with("journals/")), is_live, "{made:?}");
    }
}

/// How many live runs were started and have no record, as `verify` says.
fn unfinished(desk: &Desk) -> serde_json::Value {
    desk.eval(["verify"]).run().expect_code(0).line("verification")["classes"][0]["unfinished"].clone()
}

#[test]
fn every_shard_that_was_paid_for_is_counted_also_when_only_the_best_is_merged() {
    let desk = Desk::new("", &format!(r#"echo "$id" >> "$desk/paid"; echo '{ANSWER}'"#));
    let answer_sets = ["first", "second", "third"].map(|name| {
        let ended = desk.live(2, ["--shard=1/1"]).run().expect_code(0);
        let path = desk.path().join(ended.line("answer_set")["path"].as_str().expect("a path"));
        fs::rename(path, desk.path().join(name)).expect("kept");
        name
    });
    assert_eq!(unfinished(&desk), 3);
    let _ = desk.eval(["merge", answer_sets[1]]).run().expect_code(5);
    assert_eq!(unfinished(&desk), 2, "the two that were not merged");
    let again = desk.eval(["merge", answer_sets[1]]).run().expect_code(2);
    assert!(again.stderr.contains("is part of a record of this store already"), "{}", again.stderr);
    assert_eq!((unfinished(&desk), desk.records().len()), (2.into(), 1), "what was paid for once is chained once");
    // A shard's marker cannot be taken back, and neither can the one that names it.
    let markers = desk.path().join(".codegenie/eval/started");
    for marker in fs::read_dir(&markers).expect("markers").map(|entry| entry.expect("an entry").path()) {
        let bytes = fs::read(&marker).expect("a marker");
        fs::remove_file(&marker).expect("removed");
        let _ = desk.eval(["verify"]).run().expect_code(6);
        fs::write(&marker, bytes).expect("put back");
    }
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

fn warnings_of(record: &Path) -> Vec<String> {
    let record: serde_json::Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    serde_json::from_value(record["report"]["warnings"].clone()).expect("texts")
}

#[test]
fn an_agent_that_was_lost_with_its_process_is_told_of_in_the_record_also_of_a_shard() {
    for shard in [None, Some("--shard=1/1")] {
        let script =
            format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
        let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
        let cases = desk.cases(2);
        let live = |more: &[&str]| desk.live(2, []).args(shard).args(more.iter().copied());
        for (started, args) in [(1, &["-j1"][..]), (3, &["-j2", "--resume"])] {
            let run = Running::start(live(args));
            until("agents start", || desk.lines("paid").len() == started);
            run.signal("KILL");
            drop(run);
        }
        fs::write(desk.shared().join("go"), "").expect("go");
        let ended = live(&["--resume"]).run().expect_code(if shard.is_some() { 0 } else { 5 });
        let ended = match shard {
            None => ended,
            Some(_) => {
                let set = ended.line("answer_set")["path"].as_str().expect("a path").to_owned();
                desk.eval(["merge", &set]).run().expect_code(5)
            }
        };
        let told = [(&cases[0], 3), (&cases[1], 2)].map(|(case, answered)| {
            format!(
                "{case}: an earlier agent was started for it and lost with eval-host, so it was answered {answered} times at least"
            )
        });
        assert_eq!(warnings_of(&ended.record_path(desk.path())), told);
    }
}

/// Makes an answer set claim that it was announced by another marker of another store, with its end made right.
fn claim_marker(path: &Path, store_id: &serde_json::Value, marker: &blake3::Hash) {
    let text = fs::read_to_string(path).expect("an answer set");
    let mut lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines[0]["announced"] = serde_json::json!({"store_id": store_id, "marker": marker.to_string()});
    let end = lines.len() - 1;
    let body: String = lines[..end].iter().map(|line| format!("{line}\n")).collect();
    lines[end]["blake3"] = blake3::hash(body.as_bytes()).to_string().into();
    fs::write(path, format!("{body}{}\n", lines[end])).expect("written");
}

#[test]
fn a_run_that_nobody_liked_is_not_hidden_as_a_shard_of_another() {
    let desk = Desk::new(
        "",
        &format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#),
    );
    let disliked = Running::start(desk.live(2, ["-j1"]));
    until("an agent starts", || desk.lines("paid").len() == 1);
    disliked.signal("KILL");
    drop(disliked);
    fs::write(desk.shared().join("go"), "").expect("go");
    let ended = desk.live(2, ["--shard=1/1", "--out=throw"]).run().expect_code(0);
    let set = ended.line("answer_set")["path"].as_str().expect("a path").to_owned();
    let store = desk.path().join(".codegenie/eval");
    let identity: serde_json::Value =
        serde_json::from_slice(&fs::read(store.join("store.json")).expect("a store")).expect("JSON");
    let markers: Vec<_> =
        fs::read_dir(store.join("started")).expect("markers").map(|entry| entry.expect("an entry").path()).collect();
    let [marker] = &markers[..] else { panic!("{markers:?}") };
    let marker = blake3::hash(&fs::read(marker).expect("a marker"));
    claim_marker(&desk.path().join(&set), &identity["store_id"], &marker);
    let refused = desk.eval(["merge", &set]).run().expect_code(6);
    let said = format!("the marker `{marker}` did not announce shard 1/1 of a run of `{TASK_CLASS}`");
    assert!(refused.stderr.contains(&said), "{}", refused.stderr);
    assert_eq!((unfinished(&desk), desk.records().len()), (1.into(), 0));
}

#[test]
fn a_shard_that_is_run_again_keeps_what_was_paid_for() {
    let desk = Desk::new("", &format!("echo '{ANSWER}'"));
    let first = desk.live(2, ["--shard", "1/2"]).run().expect_code(0).line("answer_set");
    let path = desk.path().join(first["path"].as_str().expect("a path"));
    let bytes = fs::read(&path).expect("an answer set");
    let again = desk.live(2, ["--shard", "1/2"]).run().expect_code(0);
    assert!(again.stderr.contains("the answers of an earlier run of this shard are kept as `"), "{}", again.stderr);
    let sets = fs::read_dir(path.parent().expect("a folder")).expect("listed");
    let others = sets.map(|entry| entry.expect("an entry").path()).filter(|other| *other != path);
    let kept: Vec<_> = others.map(|other| fs::read(other).expect("readable")).collect();
    assert_eq!(kept, [bytes]);
}

#[test]
fn shards_of_other_stores_can_be_merged() {
    let desk = Desk::new("", &format!("echo '{ANSWER}'"));
    let answer_sets = [("1/2", "--out=one"), ("2/2", "--out=two")].map(|(shard, out)| {
        let ended = desk.live(2, ["--shard", shard, out]).run().expect_code(0);
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    let merged = desk.eval(["merge", &answer_sets[0], &answer_sets[1]]).run().expect_code(5);
    assert_eq!(unfinished(&desk), 0);
    let untold = [("1/2", "one"), ("2/2", "two")].map(|(shard, store)| {
        let identity = fs::read(desk.path().join(store).join("store.json")).expect("a store");
        let identity: serde_json::Value = serde_json::from_slice(&identity).expect("JSON");
        let store = identity["store_id"].as_str().expect("an identity");
        format!("shard {shard} was announced in the store `{store}`, so nobody can tell here how often it was tried")
    });
    let record = merged.record_path(desk.path());
    assert_eq!(warnings_of(&record), untold);
    let record: serde_json::Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    assert_eq!(record["shards_elsewhere"], 2);
    let judge = ["promote-verdict", "--task-class", TASK_CLASS, "--target-tier=silver"];
    let verdict = desk.eval(judge).run().expect_code(5);
    assert!(verdict.stdout.contains("\"shards_of_other_stores\""), "{}", verdict.stdout);
}

#[test]
fn a_run_that_was_announced_cannot_be_taken_back() {
    let desk = Desk::new("", r#"echo "$id" >> "$desk/paid"; sleep 1000"#);
    let run = Running::start(desk.live(2, ["-j1"]));
    until("an agent starts", || desk.lines("paid").len() == 1);
    run.signal("KILL");
    drop(run);
    let started = desk.path().join(".codegenie/eval/started");
    for marker in fs::read_dir(started).expect("markers") {
        fs::remove_file(marker.expect("an entry").path()).expect("removed");
    }
    let gone = desk.eval(["verify"]).run().expect_code(6);
    assert!(gone.stdout.contains("markers of started runs are gone"), "{}", gone.stdout);
}

/// Makes a key that is trusted, and a checkpoint of the desk's store.
fn anchored(desk: &Desk) -> String {
    let key = desk.eval(["keygen", "--name=k", "--key=secret"]).run().expect_code(0);
    let anchors = desk.path().join("audit/anchors");
    fs::create_dir_all(&anchors).expect("made");
    fs::write(anchors.join("keys"), key.line("key")["verifier"].as_str().expect("a key")).expect("written");
    let ended = desk.eval(["anchor", "--key=secret"]).run().expect_code(0);
    format!("--against={}", ended.line("checkpoint")["path"].as_str().expect("a path"))
}

#[test]
fn a_checkpoint_notices_that_the_last_announcement_was_taken_back_also_when_another_took_its_place() {
    let desk = Desk::new("", &format!("echo '{ANSWER}'"));
    for out in ["first", "second"] {
        let ended = desk.live(1, ["--shard=1/1"]).run().expect_code(0);
        let path = desk.path().join(ended.line("answer_set")["path"].as_str().expect("a path"));
        fs::rename(path, desk.path().join(out)).expect("kept");
    }
    let against = anchored(&desk);
    let _ = desk.eval(["verify", &against]).run().expect_code(0);
    let started = desk.path().join(".codegenie/eval/started");
    let marker = |seq: u64| {
        let paths = fs::read_dir(&started).expect("markers").map(|entry| entry.expect("an entry").path());
        let is_meant = |path: &PathBuf| fs::read_to_string(path).expect("text").contains(&format!("\"seq\":{seq},"));
        paths.into_iter().find(is_meant).expect("a marker")
    };
    // What was seen is forgotten, as on another machine.
    let forget = || fs::remove_dir_all(desk.path().join("home/.local")).expect("forgotten");
    let verified = |expected: &str| {
        forget();
        let _ = desk.eval(["verify"]).run().expect_code(0);
        let ended = desk.eval(["verify", &against]).run().expect_code(6);
        let said = format!("TAMPERED: task class `{TASK_CLASS}`: marker 2 of its started runs {expected}");
        assert!(ended.stderr.contains(&said), "{}", ended.stderr);
    };
    fs::remove_file(marker(2)).expect("removed");
    verified("is gone: the checkpoint has it\n");
    forget();
    let _ = desk.live(1, ["--shard=1/1"]).run().expect_code(0);
    verified("was replaced: the checkpoint has it as `");
    // One in the middle is missed by the chain itself.
    let gone = marker(1);
    let named = marker(2);
    fs::remove_file(gone).expect("removed");
    forget();
    let ended = desk.eval(["verify"]).run().expect_code(6);
    let file = named.file_name().expect("a name").to_string_lossy();
    let said = format!(
        "TAMPERED: `started/{file}` of `{TASK_CLASS}`: it is marker 2, and the ones before it are missing from number 1 on\n"
    );
    assert!(ended.stderr.contains(&said), "{}", ended.stderr);
}

#[test]
fn a_shard_that_is_not_whole_says_so() {
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &format!("echo '{ANSWER}'"));
    let _ = desk.live(3, ["--shard=1/1", "--max-cost-usd=0.70"]).run().expect_code(2);
    fs::create_dir(desk.path().join("empty")).expect("a folder");
    let replay = ["run", "--task-class", TASK_CLASS, "--limit=3", "--shard=1/1", "--cassettes=empty"];
    let _ = desk.eval(replay).run().expect_code(1);
}

#[test]
fn an_interrupted_shard_is_not_abandoned_for_another() {
    let script =
        format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    let mut run = Running::start(desk.live(6, ["--shard=1/2", "-j2"]));
    until("two agents start", || desk.lines("paid").len() == 2);
    run.signal("INT");
    run.says("draining");
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, _, stderr) = run.end();
    assert_eq!(code, Some(130), "{stderr}");
    let _ = desk.live(6, ["--shard=2/2"]).run().expect_code(0);
    let _ = desk.live(6, ["--shard=1/2", "--resume"]).run().expect_code(0);
    assert_eq!(desk.lines("paid").len(), 6, "every case was paid for once");
}

/// An agent that waits until it may answer.
fn patient(settings: &str) -> Desk {
    let script =
        format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
    Desk::new(settings, &script)
}

const JOURNAL: &str = ".codegenie/eval/journals/fixture.shard-1-of-1.jsonl";

#[test]
fn the_journal_of_a_shard_is_kept_until_its_answer_set_is_written() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    let run = Running::start(desk.live(2, ["--shard=1/1", "-j2"]));
    until("two agents start", || desk.lines("paid").len() == 2);
    // Where the signature of an earlier answer set would be.
    let in_the_way = desk.path().join(".codegenie/eval/answer-sets/fixture-1-of-1.jsonl.note");
    fs::create_dir(&in_the_way).expect("a folder");
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, _, stderr) = run.end();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("--resume`"), "{stderr}");
    assert!(desk.path().join(JOURNAL).exists());
    fs::remove_dir(in_the_way).expect("out of the way");
    let _ = desk.live(2, ["--shard=1/1", "--resume"]).run().expect_code(0);
    assert_eq!(desk.lines("paid").len(), 2, "nothing is paid for again");
    assert!(!desk.path().join(JOURNAL).exists(), "the answer set is its commit");
}

#[test]
fn a_shard_whose_marker_was_taken_away_was_not_merged_and_keeps_its_journal() {
    let desk = patient("max_cost_usd_per_case = 0.30");
    // Without a home nobody remembers that there was a marker.
    let live = |args: &[&str]| desk.live(2, ["--shard=1/1", "-j1"]).args(args).env("HOME", "");
    let run = Running::start(live(&[]));
    until("an agent starts", || desk.lines("paid").len() == 1);
    run.signal("KILL");
    run.end();
    let journal = desk.kept(JOURNAL);
    for marker in fs::read_dir(desk.path().join(".codegenie/eval/started")).expect("markers") {
        fs::remove_file(marker.expect("a marker").path()).expect("taken away");
    }
    for args in [&["--resume"][..], &[]] {
        let refused = live(args).run().expect_code(6);
        assert!(refused.stderr.contains("error: the marker `"), "{}", refused.stderr);
        assert_eq!(desk.kept(JOURNAL), journal);
    }
}

#[test]
fn a_shard_whose_cap_was_raised_says_so_in_the_record_of_the_whole() {
    let desk = patient("");
    let run = Running::start(desk.live(2, ["--shard=1/1", "-j1"]));
    until("an agent starts", || desk.lines("paid").len() == 1);
    run.signal("KILL");
    run.end();
    fs::write(desk.shared().join("go"), "").expect("go");
    let lost = desk.live(2, ["--shard=1/1", "--resume"]).run().expect_code(2);
    assert!(lost.stderr.contains("--resume --max-cost-usd=10.00`"), "{}", lost.stderr);
    let resumed = desk.live(2, ["--shard=1/1", "--resume", "--max-cost-usd=10.00"]).run().expect_code(0);
    let answer_set = resumed.line("answer_set")["path"].as_str().expect("a path").to_owned();
    let merged = desk.eval(["merge", &answer_set]).run().expect_code(5);
    let warnings = warnings_of(&merged.record_path(desk.path()));
    let raised = "the cost cap was raised from $5.00 to $10.00 when the run was resumed";
    assert!(warnings.iter().any(|warning| warning == raised), "{warnings:?}");
    assert!(merged.stderr.contains("cost: $5.60, of which $5.00 estimated ("), "{}", merged.stderr);
}
