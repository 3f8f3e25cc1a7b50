//! Ctrl-C once drains, twice stops; the journal stays, and nothing is chained.

use std::fs;

use super::desk::{ANSWER, Desk, Running, has, until};

fn desk() -> Desk {
    desk_with("max_cost_usd_per_case = 0.30")
}

fn desk_with(settings: &str) -> Desk {
    let script =
        format!(r#"echo "$id" >> "$desk/paid"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
    Desk::new(settings, &script)
}

#[test]
fn once_drains_and_the_run_can_be_resumed() {
    let desk = desk();
    let mut run = Running::start(desk.live(4, ["-j", "2"]));
    until("two agents start", || desk.lines("paid").len() == 2);
    run.signal("INT");
    run.says("draining");
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, stdout, stderr) = run.end();
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("--resume`"), "the resume command is printed: {stderr}");
    assert!(!stdout.contains("\"kind\":\"aggregate\"") && desk.records().is_empty(), "nothing is chained: {stdout}");
    assert_eq!(desk.lines("paid").len(), 2, "no further case was started");

    let resumed = desk.live(4, ["--resume"]).run().expect_code(5);
    assert_eq!(resumed.lines("case").len(), 4);
    assert_eq!(desk.lines("paid").len(), 4, "what was drained is not paid for again");
    assert_eq!(resumed.line("aggregate")["total_cost_usd"].as_f64().map(|cost| (cost * 100.0).round()), Some(120.0));
    let _ = desk.live(4, ["--resume"]).run().expect_code(2);
}

#[test]
fn twice_stops_now() {
    let desk = desk();
    let mut run = Running::start(desk.live(4, ["-j", "2"]));
    until("two agents start", || desk.lines("paid").len() == 2);
    run.signal("INT");
    run.says("draining");
    run.signal("INT");
    let (code, _, stderr) = run.end();
    assert_eq!(code, Some(130), "{stderr}");
    assert!(desk.records().is_empty());
    assert_eq!(desk.processes(), Vec::<String>::new());
}

#[test]
fn a_terminal_that_is_gone_and_its_relatives_stop_too() {
    for signal in ["HUP", "QUIT", "TERM"] {
        let desk = desk();
        let mut run = Running::start(desk.live(4, ["-j", "2"]).with_default_signals());
        until("two agents start", || desk.lines("paid").len() == 2);
        run.signal(signal);
        run.says("stopping");
        let (code, _, stderr) = run.end();
        assert_eq!(code, Some(130), "{signal}: {stderr}");
        assert_eq!(desk.processes(), Vec::<String>::new(), "{signal}");
    }
}

#[test]
fn a_hang_up_that_is_to_be_ignored_is_ignored() {
    let desk = desk();
    let run = Running::start(desk.live(2, ["-j", "2"]).after("trap '' HUP"));
    until("two agents start", || desk.lines("paid").len() == 2);
    run.signal("HUP");
    fs::write(desk.shared().join("go"), "").expect("go");
    let (code, _, stderr) = run.end();
    assert_eq!(code, Some(5), "{stderr}");
}

#[test]
fn another_bench_or_other_flags_are_not_resumed() {
    let desk = desk();
    let mut run = Running::start(desk.live(4, ["-j", "1"]));
    until("an agent starts", || desk.lines("paid").len() == 1);
    run.signal("TERM");
    run.says("stopping");
    assert_eq!(run.end().0, Some(130));
    fs::write(desk.shared().join("go"), "").expect("go");

    let other = desk.live(4, ["--resume", "--max-cost-usd", "4"]).run().expect_code(2);
    assert!(
        other.stderr.contains(" goes on under a cap of $5.00, which can be raised and not lowered to $4.00"),
        "{}",
        other.stderr
    );
    assert!(other.stderr.contains("--resume --max-cost-usd=5.00`"), "{}", other.stderr);
    let other = desk.live(5, ["--resume"]).run().expect_code(2);
    assert!(other.stderr.contains("another selection"), "{}", other.stderr);
    let other = desk.live(4, ["--resume", "--sut", "true"]).run().expect_code(2);
    assert!(other.stderr.contains("another command"), "{}", other.stderr);
    let name = &desk.cases(1)[0];
    let input = desk.path().join("bench/fixture/cases").join(name).join("input/extra.txt");
    fs::write(&input, "x").expect("a change");
    let other = desk.live(4, ["--resume"]).run().expect_code(2);
    assert!(other.stderr.contains(&format!("case `{name}`")), "{}", other.stderr);
    fs::remove_file(input).expect("the change is taken back");
    let _ = desk.live(4, ["--resume", "--max-cost-usd", "9"]).run().expect_code(5);
    assert_eq!(desk.lines("paid").len(), 5, "what was in flight is paid for once more, and nothing else");
}

const JOURNAL: &str = ".codegenie/eval/journals/fixture.jsonl";

/// Starts a run, or goes on with it, and kills it in its first case.
fn kill_in_the_first_case(desk: &Desk, args: &[&str]) {
    let paid = desk.lines("paid").len();
    let run = Running::start(desk.live(2, ["-j", "1"]).args(args));
    until("an agent starts", || desk.lines("paid").len() == paid + 1);
    run.signal("KILL");
    run.end();
}

/// The command that a failure says to go on with, without the program.
fn told_command(stderr: &str) -> Vec<String> {
    let (_, rest) = stderr.split_once("its journal is kept: continue it with `").expect("a command is told");
    let (command, _) = rest.split_once('`').expect("it ends");
    command.split(' ').skip(1).map(str::to_owned).collect()
}

/// The one record of a desk.
fn record(desk: &Desk) -> serde_json::Value {
    let [record] = &desk.records()[..] else { panic!("one record, not {:?}", desk.records()) };
    serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON")
}

/// Without a price limit the first agent has all that there is.
#[test]
fn a_run_whose_whole_cap_was_lost_goes_on_as_it_is_told_under_a_higher_one() {
    let desk = desk_with("");
    kill_in_the_first_case(&desk, &[]);
    fs::write(desk.shared().join("go"), "").expect("go");
    let journal = desk.kept(JOURNAL);
    for args in [&["--resume"][..], &["--resume", "--max-cost-usd", "5"]] {
        let capped = desk.live(2, ["-j", "1"]).args(args).run().expect_code(2);
        has(&capped.stderr, "error: $5.00 was charged for agents of the run of 2");
        let why = " that were lost with eval-host, so no case fits under the cap of $5.00: nothing is left of it\n";
        has(&capped.stderr, why);
        assert_eq!((desk.kept(JOURNAL), desk.records().len()), (journal.clone(), 0), "the journal is as it was");
        assert_eq!(told_command(&capped.stderr).last().map(String::as_str), Some("--max-cost-usd=10.00"));
    }
    let capped = desk.live(2, ["-j", "1", "--resume"]).run().expect_code(2);
    let told = told_command(&capped.stderr);
    let resumed = desk.eval([]).args(told).env("TMPDIR", desk.path().join("tmp")).run().expect_code(5);
    has(&resumed.stderr, "cost: $5.60, of which $5.00 estimated (");
    assert_eq!(resumed.line("aggregate")["estimated_cost_usd"], 5.0);
    let record = record(&desk);
    assert_eq!(
        record["report"]["warnings"][0],
        "the cost cap was raised from $5.00 to $10.00 when the run was resumed"
    );
    assert_eq!(record["max_cost_usd"], 10.0, "the cap that held at the end");
    assert!(!desk.path().join(JOURNAL).exists(), "the record is committed");
    let _ = desk.eval(["verify", "--replay"]).run().expect_code(0);
}

#[test]
fn a_cap_can_be_raised_again_and_is_never_lowered_without_a_word() {
    let desk = desk_with("");
    kill_in_the_first_case(&desk, &["--max-cost-usd=1"]);
    kill_in_the_first_case(&desk, &["--max-cost-usd=2.50", "--resume"]);
    fs::write(desk.shared().join("go"), "").expect("go");
    let lower = desk.live(2, ["--resume", "--max-cost-usd=2"]).run().expect_code(2);
    let why = " goes on under a cap of $2.50, which can be raised and not lowered to $2.00\n";
    assert!(lower.stderr.contains(why), "{}", lower.stderr);
    assert_eq!(told_command(&lower.stderr).last().map(String::as_str), Some("--max-cost-usd=2.50"));
    let lost = desk.live(2, ["--resume", "--max-cost-usd=2.50"]).run().expect_code(2);
    assert!(lost.stderr.contains("error: $2.50 was charged for agents"), "{}", lost.stderr);
    let _ = desk.live(2, ["--resume", "--max-cost-usd=4"]).run().expect_code(5);
    let warnings = record(&desk)["report"]["warnings"].clone();
    let told = |from: &str, to: &str| format!("the cost cap was raised from {from} to {to} when the run was resumed");
    let raised: Vec<_> =
        warnings.as_array().expect("warnings").iter().filter(|text| text.to_string().contains("cap")).collect();
    assert_eq!(record(&desk)["max_cost_usd"], 4.0);
    assert_eq!(raised, [&told("$1.00", "$2.50"), &told("$2.50", "$4.00")]);
    assert_eq!(record(&desk)["budget_usd_set"][&desk.cases(1)[0]], 1.5, "what is left of the last cap");
}

#[test]
fn agents_die_with_their_host_however_it_dies() {
    let desk = desk();
    let run = Running::start(desk.live(4, ["-j", "2"]));
    until("two agents start", || desk.lines("paid").len() == 2);
    run.signal("KILL");
    drop(run);
    until("nothing of the run is left", || desk.processes().is_empty());
}

#[test]
fn what_outlives_the_holder_of_a_lock_does_not_hold_it() {
    let script = format!(
        r#"env -i setsid sh -c 'cd /; echo $$ > "$0/escaped"; while :; do sleep 1; done' "$desk" </dev/null >/dev/null 2>&1 &
until test -s "$desk/escaped"; do sleep 0.01; done; echo "$id" >> "$desk/paid"
until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#
    );
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    let run = Running::start(desk.live(1, []));
    until("an agent starts", || desk.lines("paid").len() == 1);
    let escaped = desk.lines("escaped").remove(0);
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("go");
    let files = fs::read_dir(format!("/proc/{escaped}/fd")).expect("it lives on");
    let files: Vec<_> = files.map(|entry| fs::read_link(entry.expect("an entry").path()).expect("a file")).collect();
    assert!(files.iter().all(|file| !file.starts_with(desk.path())), "{files:?}");
    let _ = desk.live(1, ["--resume", "--no-wait"]).run().expect_code(5);
    let killed = std::process::Command::new("kill").args(["-KILL", &escaped]).status().expect("kill runs");
    assert!(killed.success(), "nobody else could know whose it was");
}
