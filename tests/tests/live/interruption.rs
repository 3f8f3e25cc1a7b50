//! Ctrl-C once drains, twice stops; the journal stays, and nothing is chained.

use std::fs;

use super::desk::{ANSWER, Desk, Running, until};

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
    fs::write(desk.path().join("go"), "").expect("go");
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
    fs::write(desk.path().join("go"), "").expect("go");
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
    fs::write(desk.path().join("go"), "").expect("go");

    let other = desk.live(4, ["--resume", "--max-cost-usd", "4"]).run().expect_code(2);
    assert!(other.stderr.contains("another --max-cost-usd"), "{}", other.stderr);
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

/// Without a price limit the first agent has all that there is.
#[test]
fn a_run_whose_whole_cap_was_lost_goes_on_under_a_higher_one() {
    let desk = desk_with("");
    let mut run = Running::start(desk.live(2, ["-j", "1"]));
    until("an agent starts", || desk.lines("paid").len() == 1);
    run.child.kill().expect("killed");
    run.end();
    fs::write(desk.path().join("go"), "").expect("go");
    let capped = desk.live(2, ["--resume"]).run().expect_code(2);
    assert!(capped.stderr.contains("the cost cap leaves nothing"), "{}", capped.stderr);
    let _ = desk.live(2, ["--resume", "--max-cost-usd", "20"]).run().expect_code(5);
    assert_eq!(desk.records().len(), 1, "nothing that was paid for is lost");
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
    fs::write(desk.path().join("go"), "").expect("go");
    let files = fs::read_dir(format!("/proc/{escaped}/fd")).expect("it lives on");
    let files: Vec<_> = files.map(|entry| fs::read_link(entry.expect("an entry").path()).expect("a file")).collect();
    assert!(files.iter().all(|file| !file.starts_with(desk.path())), "{files:?}");
    let _ = desk.live(1, ["--resume", "--no-wait"]).run().expect_code(5);
    let killed = std::process::Command::new("kill").args(["-KILL", &escaped]).status().expect("kill runs");
    assert!(killed.success(), "nobody else could know whose it was");
}
