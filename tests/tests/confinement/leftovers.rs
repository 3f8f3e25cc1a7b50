//! What an agent leaves behind is gone with it, and everything is gone with the host.

use std::fs;

use eval_host_tests::Eval;

use super::desk::{Desk, Machine, Running, all_scored, shell, until};

/// A daemon that nothing ties to its agent but the kernel's own books: another session, another parent, no environment.
const DAEMON: &str = r#"
(env -i setsid sh -c '(while :; do echo alive >> "$0/alive"; sleep 0.05; done) & exit 0' "$DESK" </dev/null >/dev/null 2>&1 &)
until test -s "$DESK/alive"; do sleep 0.01; done
"#;

fn confined(desk: &Desk) -> Eval {
    desk.live(1, [])
}

fn unconfined(desk: &Desk) -> Eval {
    desk.unconfined(1).args(["--unconfined"])
}

#[track_caller]
fn daemon_ends(machine: Machine, live: impl Fn(&Desk) -> Eval) {
    let desk = Desk::on(machine, "", &shell(DAEMON));
    let ended = desk.there(live(&desk)).run().expect_code(5);
    all_scored(&ended);
    // The host has ended, and the daemon must have before it.
    assert_eq!(desk.processes(), Vec::<String>::new());
}

#[test]
fn a_daemon_does_not_outlive_its_case() {
    daemon_ends(Machine::AsIs, confined);
    daemon_ends(Machine::OfNobody, confined);
}

#[test]
fn a_daemon_does_not_outlive_its_case_without_namespaces_or_unconfined() {
    daemon_ends(Machine::WithoutNamespaces, confined);
    daemon_ends(Machine::AsIs, unconfined);
}

#[track_caller]
fn all_ends_with_host(machine: Machine, live: impl Fn(&Desk) -> Eval) {
    let desk = Desk::on(machine, "", &shell(&format!("{DAEMON}\n: > \"$DESK/ready\"\nsleep 1000")));
    let mut running = Running::start(desk.there(live(&desk)));
    until("the agent has started its daemon", || desk.shared().join("ready").exists());
    assert!(desk.processes().iter().any(|name| name.contains("alive")), "{:?}", desk.processes());
    running.kill();
    until("all are gone", || desk.processes().is_empty());
    assert!(fs::read_dir(desk.path().join(".codegenie/eval/runs")).map_or(0, Iterator::count) == 0, "no record");
}

#[test]
fn everything_ends_with_a_host_that_is_killed() {
    all_ends_with_host(Machine::AsIs, confined);
    all_ends_with_host(Machine::WithoutNamespaces, confined);
    all_ends_with_host(Machine::AsIs, unconfined);
}
