//! What an agent of one case does to the cage of the next, and to what is not its own.

use std::fs;
use std::os::unix::fs::symlink;

use super::desk::{Desk, all_scored, has, shell};

/// Looks for the answers where the rule leads.
const LOOK: &str = "find \"$DESK/../rule/\" -name right.txt -exec cp {} \"$DESK/seen\" ';' || true";

#[test]
fn a_link_that_the_agent_may_replace_leads_where_it_led_when_the_run_began() {
    let desk = Desk::new("", &shell(&format!("{LOOK}\nrm -f \"$DESK/../w/l\"\nln -s ../bench \"$DESK/../w/l\"")));
    for folder in ["w", "tools"] {
        fs::create_dir(desk.path().join(folder)).expect("a folder");
    }
    symlink("../tools", desk.path().join("w/l")).expect("a link");
    symlink("w/l", desk.path().join("rule")).expect("a link");
    let ended = desk.live(3, ["-j1", "--sut-write", "w", "--sut-read", "rule"]).run().expect_code(5);
    all_scored(&ended);
    assert_eq!(fs::read_link(desk.path().join("w/l")).expect("a link").to_str(), Some("../bench"), "it was replaced");
    assert!(!desk.shared().join("seen").exists(), "no later case was led to the bench");
}

#[test]
fn a_name_is_found_by_the_link_that_the_rule_was_given_by() {
    let desk = Desk::new("", &shell("cat \"$DESK/../link/inner/tool\" \"$DESK/../real/inner/tool\" > \"$DESK/seen\""));
    fs::create_dir_all(desk.path().join("real/inner")).expect("a folder");
    fs::write(desk.path().join("real/inner/tool"), "x").expect("a file");
    symlink("real", desk.path().join("link")).expect("a link");
    all_scored(&desk.live(1, ["--sut-read", "link/inner"]).run().expect_code(5));
    assert_eq!(fs::read_to_string(desk.shared().join("seen")).expect("it was seen"), "xx");
}

#[test]
fn what_was_started_before_eval_host_in_its_process_is_left_alone() {
    let desk = Desk::new("", &shell("true"));
    let before = r#"sleep 300 > /dev/null 2>&1 & echo $! > sleeper; exec "$0" "$@""#;
    let ended = desk.live(1, []).after(before).run().expect_code(5);
    all_scored(&ended);
    let sleeper = fs::read_to_string(desk.path().join("sleeper")).expect("a process id");
    let command = fs::read_to_string(format!("/proc/{}/cmdline", sleeper.trim())).unwrap_or_default();
    has(&command, "sleep");
    let ended = std::process::Command::new("kill").arg(sleeper.trim()).status().expect("it is ended");
    assert!(ended.success());
}
