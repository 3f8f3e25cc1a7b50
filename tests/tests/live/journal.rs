//! A journal that is not as it was written is not resumed, and one that is always is.

use std::fs;
use std::path::{Path, PathBuf};

use eval_host_tests::Ended;
use serde_json::Value;

use super::desk::{ANSWER, Desk, Running, until};

const JOURNAL: &str = ".codegenie/eval/journals/fixture.jsonl";

const ANOTHER: &str =
    "leave out --resume to start another run: this one stays counted as unfinished, by its marker in the store";

const ON_TRUST: &str = "the journal was not remembered on this machine, so nobody can tell whether answers were removed from it \
                        before the run was resumed";

/// A desk whose agents answer at once, but for the third, which waits until it may.
fn desk() -> Desk {
    let script = format!(
        r#"echo "$id" >> "$desk/paid"
case "$id" in 003-*) until test -e "$desk/go"; do sleep 0.01; done ;; esac; echo '{ANSWER}'"#
    );
    Desk::new("max_cost_usd_per_case = 0.30", &script)
}

/// A desk with the journal of a run of three cases that was killed when two of them were answered.
fn killed() -> Desk {
    let desk = desk();
    kill_at_the_third(&desk, &[]);
    desk
}

fn kill_at_the_third(desk: &Desk, args: &[&str]) {
    let run = Running::start(desk.live(3, ["-j1"]).args(args));
    until("the third agent starts", || desk.lines("paid").len() == 3);
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("go");
}

fn journal(desk: &Desk) -> PathBuf {
    desk.path().join(JOURNAL)
}

/// The journal's lines, each with its newline.
fn lines(desk: &Desk) -> Vec<String> {
    let text = fs::read_to_string(journal(desk)).expect("a journal");
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn write(desk: &Desk, lines: &[String]) {
    fs::write(journal(desk), lines.concat()).expect("written");
}

/// The same lines with every hash made anew, as anybody can.
fn chained(lines: &[String]) -> Vec<String> {
    let mut chained: Vec<String> = Vec::new();
    for line in lines {
        let mut line: Value = serde_json::from_str(line).expect("a line");
        let mut text = String::new();
        if let (Some(before), Some(object)) = (chained.last(), line.as_object_mut()) {
            object.remove("prev");
            text = format!("\"prev\":\"{}\",", blake3::hash(before.as_bytes()).to_hex());
        }
        chained.push(format!("{{{text}{}\n", &line.to_string()[1..]));
    }
    chained
}

/// Fails unless the run is not resumed for this reason, and another one can be started.
#[track_caller]
fn is_refused(desk: &Desk, why: &str) {
    let before = fs::read(journal(desk)).ok();
    let refused = desk.live(3, ["--resume"]).run().expect_code(6);
    assert!(refused.stderr.contains(why), "{why}: {}", refused.stderr);
    assert!(refused.stderr.contains(ANOTHER), "{}", refused.stderr);
    assert_eq!(fs::read(journal(desk)).ok(), before, "it is kept as it is");
    assert!(desk.records().is_empty(), "nothing is chained");
    another_can_be_started(desk, why, before.as_deref());
}

#[track_caller]
fn another_can_be_started(desk: &Desk, why: &str, before: Option<&[u8]>) {
    let paid = desk.lines("paid").len();
    let another = desk.live(3, []).run().expect_code(5);
    let warning = another.stderr.lines().find(|line| line.contains(why)).expect("it warns").to_owned();
    assert!(warning.starts_with("warning: ") && warning.ends_with("its run stays unfinished"), "{warning}");
    assert_eq!(desk.lines("paid").len(), paid + 3, "everything is paid for again");
    let kept = fs::read_dir(journal(desk).parent().expect("a folder")).expect("listed");
    let kept =
        kept.map(|entry| entry.expect("an entry").path()).find(|path| path.to_string_lossy().contains("abandoned"));
    assert_eq!(kept.map(|path| fs::read(path).expect("kept")).as_deref(), before, "what was paid for is kept");
    let verified = desk.eval(["verify"]).run().expect_code(0).line("verification");
    assert_eq!((&verified["classes"][0]["records"], &verified["classes"][0]["unfinished"]), (&1.into(), &1.into()));
    let _ = desk.live(3, ["--resume"]).run().expect_code(2);
}

/// What the only record says that a reader should know.
fn warnings(desk: &Desk) -> Vec<String> {
    let [record] = &desk.records()[..] else { panic!("one record, not {:?}", desk.records()) };
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let warnings = record["report"]["warnings"].as_array().expect("warnings");
    warnings.iter().map(|warning| warning.as_str().expect("a text").to_owned()).collect()
}

/// What a record says of the third case, for which an agent was lost.
fn third_lost(desk: &Desk, answered: u32) -> String {
    let case = &desk.cases(3)[2];
    format!(
        "{case}: an earlier agent was started for it and lost with eval-host, so it was answered {answered} times at least"
    )
}

#[test]
fn bad_answers_that_were_dropped_cannot_be_asked_for_again() {
    let desk = killed();
    let whole = lines(&desk);
    assert_eq!(whole.len(), 10, "{whole:?}");
    let without: Vec<_> = whole.iter().filter(|line| !line.contains("\"kind\":\"finished\"")).cloned().collect();
    write(&desk, &without);
    is_refused(&desk, "line 5 of the journal");

    let desk = killed();
    let without: Vec<_> = lines(&desk).into_iter().filter(|line| !line.contains("\"kind\":\"finished\"")).collect();
    write(&desk, &chained(&without));
    is_refused(&desk, "line 9 of the journal");
}

#[test]
fn an_answer_that_was_edited_is_not_scored() {
    let edited = |desk: &Desk| -> Vec<String> {
        lines(desk).iter().map(|line| line.replace(r#"\"diff\":\"\""#, r#"\"diff\":\"better\""#)).collect()
    };
    let desk = killed();
    assert_ne!(edited(&desk), lines(&desk));
    write(&desk, &edited(&desk));
    is_refused(&desk, "line 6 of the journal");

    let desk = killed();
    write(&desk, &chained(&edited(&desk)));
    is_refused(&desk, "line 10 of the journal");
}

#[test]
fn a_tail_that_was_cut_off_is_missed_and_so_is_an_older_copy() {
    let desk = killed();
    write(&desk, &lines(&desk)[..4]);
    is_refused(&desk, "line 5 of the journal");

    // The last answer is damaged, as if a crash had torn it.
    let desk = killed();
    let mut damaged = lines(&desk)[..8].to_vec();
    damaged[7].truncate(40);
    write(&desk, &damaged);
    is_refused(&desk, "line 8 of the journal");

    // Put back after the run had gone on.
    let desk = self::desk();
    let run = Running::start(desk.live(3, ["-j1"]));
    until("the third agent starts", || desk.lines("paid").len() == 3);
    run.signal("KILL");
    drop(run);
    let older = lines(&desk);
    let run = Running::start(desk.live(3, ["-j1", "--resume"]));
    until("the third agent starts again", || desk.lines("paid").len() == 4);
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("go");
    write(&desk, &older);
    is_refused(&desk, "line 11 of the journal");
}

#[test]
fn a_journal_that_is_gone_is_missed() {
    let desk = killed();
    fs::remove_file(journal(&desk)).expect("removed");
    is_refused(&desk, "is gone: this machine remembers 10 lines of it");
}

#[test]
fn a_journal_that_was_left_alone_is_resumed_without_a_word_about_it() {
    let desk = killed();
    let resumed = desk.live(3, ["--resume"]).run().expect_code(5);
    assert!(!resumed.stderr.contains("journal"), "{}", resumed.stderr);
    let told = vec![third_lost(&desk, 2)];
    assert_eq!((desk.lines("paid").len(), warnings(&desk)), (4, told), "what was in flight is paid for again");
    let remembered = desk.path().join("home/.local/state/eval-host/last-seen");
    let names = fs::read_dir(remembered).expect("listed").map(|entry| entry.expect("an entry").file_name());
    let names: Vec<_> = names.filter(|name| name.to_string_lossy().contains("journal")).collect();
    assert_eq!(names, Vec::<std::ffi::OsString>::new(), "a journal that is no more is forgotten");
}

#[test]
fn a_run_that_is_resumed_where_nobody_remembers_its_journal_says_so_in_its_record() {
    let desk = killed();
    let forget = || fs::remove_dir_all(desk.path().join("home/.local")).expect("forgotten");
    forget();
    let in_ci = |args: &[&str]| desk.live(3, ["--resume", "-j1", "--allow-live-in-ci"]).args(args).env("CI", "true");
    // Somebody who saw the store, and did not write the journal. What the killed run left of its pack is taken away, with a word.
    let seen = desk.eval(["verify"]).run().expect_code(6);
    assert_eq!(seen.line("verification")["state"], "INCOMPLETE", "{}", seen.stderr);
    let _ = desk.eval(["verify"]).run().expect_code(0);
    let refused = in_ci(&[]).run().expect_code(6);
    assert!(refused.stderr.contains("this machine does not remember the journal"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("say --trust-on-first-use to believe it this once, or {ANOTHER}")));
    fs::remove_file(desk.shared().join("go")).expect("the third agent waits");
    let run = Running::start(in_ci(&["--trust-on-first-use"]));
    until("the third agent starts again", || desk.lines("paid").len() == 4);
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("go");
    // It is remembered now, but what was believed once stays in doubt.
    let resumed = in_ci(&[]).run().expect_code(5);
    assert!(resumed.stderr.contains(&format!("warning: {ON_TRUST}")), "{}", resumed.stderr);
    assert_eq!(warnings(&desk), [ON_TRUST.to_owned(), third_lost(&desk, 3)]);
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn without_a_home_nothing_is_remembered_and_that_is_said_in_the_record() {
    let desk = desk();
    let live = |args: &[&str]| desk.live(3, ["-j1"]).args(args).env("HOME", "");
    let run = Running::start(live(&[]));
    until("the third agent starts", || desk.lines("paid").len() == 3);
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("go");
    let resumed = live(&["--resume"]).run().expect_code(5);
    assert!(resumed.stderr.contains(&format!("warning: {ON_TRUST}")), "{}", resumed.stderr);
    assert_eq!(warnings(&desk), [ON_TRUST.to_owned(), third_lost(&desk, 2)]);
}

#[test]
fn every_shard_has_a_journal_of_its_own_and_what_is_in_doubt_comes_into_the_record_of_the_whole() {
    let desk = desk();
    kill_at_the_third(&desk, &["--shard=1/1"]);
    let shard = desk.path().join(".codegenie/eval/journals/fixture.shard-1-of-1.jsonl");
    let whole = fs::read(&shard).expect("a journal");
    fs::write(&shard, &whole[..whole.len() / 2]).expect("cut");
    let refused = desk.live(3, ["--resume", "--shard=1/1"]).run().expect_code(6);
    assert!(refused.stderr.contains(" lines"), "{}", refused.stderr);
    fs::write(&shard, whole).expect("put back");
    fs::remove_dir_all(desk.path().join("home/.local")).expect("forgotten");
    let resumed = desk.live(3, ["--resume", "--shard=1/1"]).run().expect_code(0);
    let answer_set = resumed.line("answer_set")["path"].as_str().expect("a path").to_owned();
    let _ = desk.eval(["merge", &answer_set]).run().expect_code(5);
    assert_eq!(warnings(&desk), [third_lost(&desk, 2), ON_TRUST.to_owned()]);
}

#[test]
fn a_memory_that_cannot_be_written_stops_the_run_before_more_is_spent() {
    let desk = desk();
    let run = Running::start(desk.live(3, ["-j1"]));
    until("the third agent starts", || desk.lines("paid").len() == 3);
    let folder = desk.path().join("home/.local/state/eval-host/last-seen");
    let names = fs::read_dir(&folder).expect("listed").map(|entry| entry.expect("an entry").file_name());
    let name =
        names.map(|name| name.into_string().expect("UTF-8")).find(|name| name.contains(".journal.")).expect("a file");
    let in_the_way = folder.join(format!(".tmp-{name}"));
    fs::create_dir(&in_the_way).expect("something in its way");
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, _, stderr) = run.end();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("eval-host could not remember how far the journal"), "{stderr}");
    assert!(desk.records().is_empty());
    fs::remove_dir(in_the_way).expect("removed");
    let _ = desk.live(3, ["--resume"]).run().expect_code(5);
    assert_eq!((desk.lines("paid").len(), warnings(&desk)), (3, Vec::new()), "the last answer was durable");
}

/// Where the calls are made that write the journal and what is remembered of it.
fn places(desk: &Desk) -> [(&'static str, PathBuf); 4] {
    let remembered = desk.path().join("home/.local/state/eval-host/last-seen");
    let folder = desk.path().join(".codegenie/eval/journals");
    [
        ("renameat,renameat2", remembered.clone()),
        ("fsync", remembered),
        ("fdatasync", journal(desk)),
        ("unlinkat", folder),
    ]
}

/// Kills the run at the n-th of its calls on a path, or lets it end if there are fewer.
fn killed_at(desk: &Desk, (calls, path): (&str, &Path), count: usize) -> Ended {
    let strace = format!(
        "exec strace -f -qq -o /dev/null -P '{}' -e trace={calls} -e inject={calls}:signal=KILL:when={count} \"$0\" \"$@\"",
        path.display()
    );
    desk.live(2, ["-j1"]).after(&strace).run()
}

#[test]
fn wherever_a_run_is_killed_nothing_is_missed_that_was_not_taken_away() {
    let mut kills = 0;
    for place in 0..4 {
        for count in 1..=16 {
            let desk = desk();
            let (calls, path) = places(&desk)[place].clone();
            let killed = killed_at(&desk, (calls, &path), count);
            if killed.code.is_some() {
                break;
            }
            kills += 1;
            let said = format!("{calls} {count}");
            let resumed = desk.live(2, ["--resume"]).run();
            let ended = if resumed.code == Some(2) { desk.live(2, []).run() } else { resumed };
            assert_eq!(ended.code, Some(5), "{said}: {}", ended.stderr);
            assert!(!ended.stderr.contains("journal"), "{said}: {}", ended.stderr);
            let _ = desk.eval(["verify"]).run().expect_code(0);
        }
    }
    assert!(kills > 20, "only {kills} kills");
}
