//! Killed at any moment, a live run continues.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::desk::{ANSWER, Desk, Running, until};

const CASES: usize = 30;
const KILLS: usize = 20;
const ARGS: [&str; 4] = ["--max-cost-usd", "100", "-j", "3"];
const JOURNAL: &str = ".codegenie/eval/journals/fixture.jsonl";

fn desk() -> Desk {
    let script = format!(r#"echo "$id" >> "$desk/paid"; sleep 0.3 & wait; echo '{ANSWER}'"#);
    Desk::new("max_cost_usd_per_case = 0.30", &script)
}

/// The cases that were in flight when the process died, by the journal.
fn in_flight(desk: &Desk) -> Vec<String> {
    let mut reserved = Vec::new();
    for line in desk.kept(JOURNAL) {
        // The last line may be torn.
        let Ok(line) = serde_json::from_str::<Value>(&line) else { break };
        let case_id = line["case_id"].as_str().unwrap_or_default().to_owned();
        match line["kind"].as_str().expect("a kind") {
            "process" => reserved.clear(),
            "reserved" => reserved.push(case_id),
            "finished" => reserved.retain(|other| *other != case_id),
            _ => {}
        }
    }
    reserved
}

/// What a record says of its cases, but for how long they took.
fn results(desk: &Desk) -> Vec<Value> {
    let [record] = &desk.records()[..] else { panic!("one record, not {:?}", desk.records()) };
    let mut record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    let cases = record["report"]["cases"].as_array_mut().expect("cases");
    for case in cases.iter_mut() {
        case["score"]["duration_seconds"] = Value::Null;
    }
    cases.clone()
}

/// Moments that differ from kill to kill and are the same in every run of this test.
fn moments() -> impl Iterator<Item = Duration> {
    let next =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    let states = std::iter::successors(Some(0x2545_f491_4f6c_dd1d_u64), next);
    states.skip(1).take(KILLS).map(|state| Duration::from_millis((state >> 33) % 300))
}

/// Runs until a moment after the run has begun, and kills it then.
fn run_and_kill(desk: &Desk, moment: Duration) {
    let begun = desk.kept(JOURNAL).len();
    let resume: &[&str] = if begun == 0 { &[] } else { &["--resume"] };
    let mut run = Running::start(desk.live(CASES, ARGS).args(resume));
    until("the run begins", || desk.kept(JOURNAL).len() > begun);
    thread::sleep(moment);
    assert!(run.child.try_wait().expect("a child").is_none(), "it was over before it could be killed");
    run.signal("KILL");
}

/// How often each case was paid for.
fn paid(desk: &Desk) -> BTreeMap<String, usize> {
    let mut paid = BTreeMap::new();
    for case in desk.lines("paid") {
        *paid.entry(case).or_default() += 1;
    }
    paid
}

#[track_caller]
fn nothing_is_left(desk: &Desk) {
    assert_eq!(desk.processes(), Vec::<String>::new(), "no agent is left");
    assert_eq!(fs::read_dir(desk.path().join("tmp")).expect("a folder").count(), 0, "no workspace is left");
}

#[test]
fn a_run_that_is_killed_again_and_again_pays_for_every_case_once_but_for_what_was_in_flight() {
    let desk = desk();
    let mut may_be_paid: BTreeMap<String, usize> = desk.cases(CASES).into_iter().map(|name| (name, 1)).collect();
    for moment in moments() {
        run_and_kill(&desk, moment);
        for case in in_flight(&desk) {
            *may_be_paid.entry(case).or_default() += 1;
        }
    }
    let ended = desk.live(CASES, ARGS).args(["--resume"]).run().expect_code(5);
    assert!(!ended.stderr.contains("the journal"), "it is as it was written: {}", ended.stderr);
    nothing_is_left(&desk);
    let paid = paid(&desk);
    assert_eq!(paid.len(), CASES, "every case was run");
    let too_often: Vec<_> = paid.iter().filter(|(case, times)| **times > may_be_paid[*case]).collect();
    assert!(too_often.is_empty(), "{too_often:?}, and may be paid for: {may_be_paid:?}");
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);

    let undisturbed = self::desk();
    let _ = undisturbed.live(CASES, ARGS).run().expect_code(5);
    assert_eq!(results(&desk), results(&undisturbed));
}

#[test]
fn a_workspace_that_cannot_be_made_costs_nothing() {
    let desk = Desk::new("", &format!(r#"echo "$id" >> "$desk/paid"; echo '{ANSWER}'"#));
    let tmp = desk.path().join("tmp");
    let live = |args: [&str; 1]| desk.live(3, args).env("TMPDIR", desk.path().join("gone"));
    let failed = live(["-j1"]).run().expect_code(1);
    assert!(failed.stderr.contains("a workspace could not be made in"), "{}", failed.stderr);
    assert!(!desk.path().join(JOURNAL).exists(), "nothing began");
    fs::rename(tmp, desk.path().join("gone")).expect("a folder for workspaces");
    let resumed = live(["-j1"]).run().expect_code(5);
    assert_eq!(resumed.line("aggregate")["total_cost_usd"].as_f64().map(|cost| (cost * 100.0).round()), Some(90.0));
    assert_eq!(desk.lines("paid").len(), 3);
}

#[test]
fn a_resumed_run_that_waited_for_itself_counts_its_spending_once() {
    let script =
        format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go-$id"; do sleep 0.01; done; echo '{ANSWER}'"#);
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    let go = |case: &String| fs::write(desk.shared().join(format!("go-{case}")), "").expect("go");
    let (cases, cap) = (desk.cases(4), ["--max-cost-usd=1.00", "-j1"]);
    let first = Running::start(desk.live(4, cap));
    until("the first agent starts", || desk.lines("paid").len() == 1);
    let mut second = Running::start(desk.live(4, cap).args(["--resume"]));
    second.says("waiting for another live run");
    go(&cases[0]);
    until("the second agent starts", || desk.lines("paid").len() == 2);
    first.signal("KILL");
    cases.iter().for_each(go);
    let (code, stdout, stderr) = second.end();
    assert_eq!(code, Some(2), "{stdout}{stderr}");
    assert_eq!(desk.lines("paid").len(), 3, "$0.30 were paid and $0.30 lost, so one more case fits: {stdout}{stderr}");
}

#[test]
fn a_line_that_does_not_fit_is_taken_back_and_the_others_are_kept() {
    // The first answer is larger than a file may be; the second fits.
    let script = r#"echo "$id" >> "$desk/paid"
case "$id" in
"$(cat "$desk/large")")
  until test "$(wc -l < "$desk/paid")" -ge 2; do sleep 0.01; done
  printf '{"output":{"diff":"'; head -c 3000000 /dev/zero | tr '\0' x; printf '"},"cost_usd":0.30}'
  : > "$desk/said" ;;
*)
  until test -e "$desk/said"; do sleep 0.01; done
  echo 'ANSWER' ;;
esac"#;
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script.replace("ANSWER", ANSWER));
    fs::write(desk.shared().join("large"), &desk.cases(1)[0]).expect("the first case");
    let failed = desk.live(2, ["-j2"]).after("ulimit -f 2000; trap '' XFSZ").run().expect_code(1);
    assert!(failed.stderr.contains("File too large"), "{}", failed.stderr);
    let kind = |line: &String| serde_json::from_str::<Value>(line).expect("a whole line")["kind"].clone();
    let kinds: Vec<_> = desk.kept(JOURNAL).iter().map(kind).collect();
    assert_eq!((kinds.len(), &kinds[6]), (7, &"finished".into()), "{kinds:?}");
    let _ = desk.live(2, ["--resume"]).run().expect_code(5);
    assert_eq!(desk.lines("paid").len(), 3, "only the answer that could not be written is paid for again");
}

/// For a user whom rights on files do not stop, such as root: gives that up first.
const LIKE_ANYBODY: &str = r#"if test "$(id -u)" = 0; then exec setpriv --bounding-set=-all -- "$0" "$@"; fi"#;

#[test]
fn a_workspace_that_its_agent_has_locked_is_in_nobodys_way() {
    let script = format!(
        r#"mkdir -p deep/locked/inside; chmod 0 deep/locked; echo "$id" >> "$desk/paid"
until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#
    );
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    let run = Running::start(desk.live(2, ["-j2"]).after(LIKE_ANYBODY));
    until("two agents start", || desk.lines("paid").len() == 2);
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("go");
    let mark = fs::read_to_string(desk.path().join(JOURNAL)).expect("a journal");
    let mark = mark.split(r#""mark":""#).nth(1).and_then(|rest| rest.get(..32)).expect("a mark");
    let immovable = desk.path().join(format!("tmp/eval-host-{mark}-file"));
    fs::write(&immovable, "").expect("what is not a folder");
    let resumed = desk.live(2, ["--resume"]).after(LIKE_ANYBODY).run().expect_code(5);
    let warning = format!("warning: `{}`, which an earlier run left behind", immovable.display());
    assert!(resumed.stderr.contains(&warning), "{}", resumed.stderr);
    fs::remove_file(immovable).expect("removed by hand");
    nothing_is_left(&desk);
}

#[test]
fn a_committed_run_whose_journal_is_left_is_not_run_again_and_ends_as_it_did() {
    let desk = desk();
    let run = Running::start(desk.live(1, []));
    until("the agent is written down", || desk.kept(JOURNAL).len() == 4);
    fs::copy(desk.path().join(JOURNAL), desk.path().join("journal")).expect("a copy");
    assert_eq!(run.end().0, Some(5));
    // As if the process had died between its commit and the end of its journal.
    fs::copy(desk.path().join("journal"), desk.path().join(JOURNAL)).expect("put back");
    let resumed = desk.live(1, ["--resume"]).run().expect_code(5);
    assert!(resumed.stderr.contains("its record is committed"), "{}", resumed.stderr);
    assert_eq!((desk.lines("paid").len(), desk.records().len()), (1, 1));
}

#[test]
fn what_cannot_begin_leaves_no_trace() {
    let desk = desk();
    let _ = desk.live(1, []).env("XDG_CACHE_HOME", "/dev/null").run().expect_code(1);
    let _ = desk.live(1, ["--record=/dev/null/cassettes"]).run().expect_code(2);
    assert!(!desk.path().join(JOURNAL).exists(), "nothing is to be resumed");
    let markers = fs::read_dir(desk.path().join(".codegenie/eval/started")).into_iter().flatten();
    assert_eq!(markers.count(), 0, "nothing was announced");
    let mistyped = ["run", "--live", "--task-class", "typo"];
    let _ = desk.eval(mistyped).run().expect_code(3);
    assert!(!desk.path().join("bench/.typo.runlock").exists());
}
