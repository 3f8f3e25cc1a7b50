//! A live run that signs its record, also when it takes more than one process to get there.

use std::fs;

use super::desk::{ANSWER, Desk, Running, until};

/// A desk with a key, which is trusted, and an agent that says what it sees of the environment.
fn desk(script: &str) -> Desk {
    let desk = Desk::new("max_cost_usd_per_case = 0.30", script);
    let key = desk.eval(["keygen", "--name=mine", "--key=secret"]).run().expect_code(0);
    let verifier = key.line("key")["verifier"].as_str().expect("a key").to_owned();
    fs::create_dir_all(desk.path().join("audit/anchors")).expect("made");
    fs::write(desk.path().join("audit/anchors/keys"), verifier + "\n").expect("written");
    desk
}

/// How many records a trusted key has signed.
fn signed(desk: &Desk) -> serde_json::Value {
    desk.eval(["verify", "--replay"]).run().expect_code(0).line("verification")["classes"][0]["signed"].clone()
}

#[test]
fn a_live_run_is_signed_and_its_agents_do_not_learn_by_which_key() {
    let desk = desk(&format!(r#"env > "$desk/seen"; echo '{ANSWER}'"#));
    let _ = desk.live(1, []).env("EVAL_HOST_KEY", "secret").run().expect_code(5);
    let seen = fs::read_to_string(desk.shared().join("seen")).expect("text");
    assert!(seen.contains("PATH=") && !seen.contains("EVAL_HOST_KEY") && !seen.contains("secret"), "{seen}");
    assert_eq!(signed(&desk), 1);
}

#[test]
fn a_key_that_is_none_ends_a_live_run_before_anything_is_paid_for() {
    let desk = desk(&format!(r#"echo "$id" >> "$desk/paid"; echo '{ANSWER}'"#));
    let _ = desk.live(1, ["--key=audit"]).run().expect_code(2);
    assert_eq!((desk.lines("paid").len(), desk.records().len()), (0, 0));
    assert!(!desk.path().join(".codegenie").exists(), "nothing was announced");
}

#[test]
fn a_run_that_was_killed_is_signed_by_whoever_resumes_it() {
    let desk = desk(&format!(r#"echo "$id" >> "$desk/started"; test -e "$desk/go" || sleep 60; echo '{ANSWER}'"#));
    let run = Running::start(desk.live(2, ["--key=secret", "-j", "1"]));
    until("an agent is started", || !desk.lines("started").is_empty());
    run.signal("KILL");
    drop(run);
    fs::write(desk.shared().join("go"), "").expect("written");
    let _ = desk.live(2, ["--resume", "--key=secret"]).run().expect_code(5);
    assert_eq!(signed(&desk), 1);
}
