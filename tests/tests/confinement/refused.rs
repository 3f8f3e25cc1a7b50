//! What is refused before the first case.

use std::fs;
use std::path::Path;

use eval_host_tests::Ended;

use super::desk::{Desk, Machine, all_scored, confinement, has, shell};

const AGENT: &str = ": > \"$DESK/was-here\"";

/// Nothing was announced, started, spent or written.
#[track_caller]
fn nothing_happened(desk: &Desk, ended: &Ended) {
    assert_eq!(ended.stdout, "");
    assert!(!desk.shared().join("was-here").exists());
    assert!(!ended.stderr.contains("001-greets"), "{}", ended.stderr);
    let left = fs::read_dir(desk.path().join("tmp")).expect("a folder").count();
    assert_eq!(left, 0, "no workspace is left");
}

/// A run with a rule is refused, and the rule and what it shows are named.
#[track_caller]
fn refuses(flags: [&str; 2], what: &str, path: &str) {
    let desk = Desk::new("", &shell(AGENT));
    let first = desk.eval(["run", "--task-class", "fixture"]).run().expect_code(0);
    let records = fs::read_dir(desk.path().join(".codegenie/eval/runs")).expect("a store").count();
    let ended = desk.live(1, flags).run().expect_code(2);
    let here = fs::canonicalize(desk.path()).expect("a folder");
    let (rule, shown) = (flags[1], here.join(path));
    has(&ended.stderr, &format!("the rule `{rule}` would show {what}, `{}`, to the agent", shown.display()));
    nothing_happened(&desk, &ended);
    assert!(first.record_path(desk.path()).exists());
    assert_eq!(fs::read_dir(desk.path().join(".codegenie/eval/runs")).expect("a store").count(), records);
}

#[test]
fn a_rule_that_shows_the_bench_is_refused() {
    refuses(["--sut-read", "bench"], "the bench root", "bench");
    refuses(["--sut-read", "bench/fixture/cases"], "the bench root", "bench");
    refuses(["--sut-read", "."], "the bench root", "bench");
    refuses(["--sut-write", "bench/fixture"], "the bench root", "bench");
}

#[test]
fn a_rule_that_shows_the_store_is_refused() {
    refuses(["--sut-read", ".codegenie"], "the store", ".codegenie/eval");
    refuses(["--sut-write", ".codegenie/eval/runs"], "the store", ".codegenie/eval");
}

#[test]
fn a_rule_that_shows_the_repository_is_refused() {
    refuses(["--sut-read", ".git"], "the repository", ".git");
}

#[test]
fn a_rule_that_shows_the_home_with_the_state_folder_is_refused() {
    refuses(["--sut-read", "home"], "the state folder", "home/.local/state/eval-host");
    refuses(["--sut-read", "home/.local"], "the state folder", "home/.local/state/eval-host");
}

#[test]
fn a_link_that_leads_to_the_bench_is_refused_like_the_bench() {
    let desk = Desk::new("", &shell(AGENT));
    std::os::unix::fs::symlink("bench/fixture", desk.path().join("innocent")).expect("a link");
    let ended = desk.live(1, ["--sut-read", "innocent"]).run().expect_code(2);
    has(&ended.stderr, "the rule `innocent` would show the bench root");
    nothing_happened(&desk, &ended);
}

#[test]
fn a_second_name_that_a_mount_gives_the_bench_is_refused_like_the_bench() {
    for (mounted, named) in [("bench", "the bench root"), (".codegenie", "the store"), (".git", "the repository")] {
        let desk = Desk::new("", &shell(AGENT));
        for folder in [".codegenie/eval", "tools/inner"] {
            fs::create_dir_all(desk.path().join(folder)).expect("a folder");
        }
        // What is mounted below a rule is shown with it.
        let mount = format!(r#"mount --bind {mounted} tools/inner && exec "$@""#);
        let mount = format!(r#"exec unshare --user --map-root-user --mount sh -c '{mount}' sh "$0" "$@""#);
        for rule in ["tools", "tools/inner"] {
            let ended = desk.live(1, ["--sut-read", rule]).after(&mount).run().expect_code(2);
            has(&ended.stderr, &format!("the rule `{rule}` would show {named}"));
            nothing_happened(&desk, &ended);
        }
        all_scored(&desk.live(1, ["--sut-read", "tools"]).run());
    }
}

/// A run with flags is refused, and what is wrong is said.
#[track_caller]
fn refuses_to_run<const N: usize>(desk: &Desk, flags: [&str; N], said: &str) {
    let ended = desk.live(1, flags).run().expect_code(2);
    has(&ended.stderr, said);
    nothing_happened(desk, &ended);
}

#[test]
fn what_lies_where_the_agent_writes_is_no_rule_of_its_own() {
    let desk = Desk::new("", &shell(AGENT));
    fs::create_dir_all(desk.path().join("w/x/inner")).expect("a folder");
    let nested = "lies in `w`, where the agent may write: it could put anything in its place";
    refuses_to_run(&desk, ["--sut-write", "w", "--sut-write", "w/x/inner"], nested);
    refuses_to_run(&desk, ["--sut-write", "w", "--sut-read", "w/x"], nested);
}

#[test]
fn an_agent_may_not_write_where_eval_host_itself_lies() {
    let desk = Desk::new("", &shell(AGENT));
    fs::create_dir(desk.path().join("bin")).expect("a folder");
    fs::copy(env!("CARGO_BIN_EXE_eval-host-under-test"), desk.path().join("bin/eval-host")).expect("a copy");
    let copy = r#"exec bin/eval-host "$@""#;
    let ended = desk.live(1, ["--sut-write", "bin"]).after(copy).run().expect_code(2);
    has(&ended.stderr, "bin/eval-host` lies in `bin`, where the agent may write");
    nothing_happened(&desk, &ended);
}

#[test]
fn a_rule_of_a_process_is_refused_because_it_is_another_one_in_the_cage() {
    let desk = Desk::new("", &shell(AGENT));
    for rule in ["/proc/self/cwd", "/proc/self/root", "/dev/fd"] {
        refuses_to_run(&desk, ["--sut-read", rule], &format!("the rule `{rule}` lies in `/proc`"));
    }
}

#[test]
fn what_eval_host_writes_for_others_is_not_written_by_an_agent() {
    let desk = Desk::new("", &shell(AGENT));
    fs::create_dir(desk.path().join("w")).expect("a folder");
    refuses_to_run(&desk, ["--sut-write", "w", "--junit", "w/out.xml"], "the rule `w` would show the JUnit report");
}

#[test]
fn the_store_is_protected_where_temporary_files_lie_too() {
    let desk = Desk::new("", &shell(AGENT));
    let runs = desk.path().join("tmp/runs");
    let _ = desk.eval(["run", "--task-class", "fixture", "--out", "tmp"]).run().expect_code(0);
    let ended = desk.live(1, ["--out", "tmp", "--sut-read", "tmp/runs"]).run().expect_code(2);
    has(&ended.stderr, "the rule `tmp/runs` would show the store");
    assert!(runs.exists() && !desk.shared().join("was-here").exists());
}

#[test]
fn objects_of_git_are_protected_though_git_says_nothing_and_wherever_they_lie() {
    let desk = Desk::new("", &shell(AGENT));
    fs::create_dir_all(desk.path().join("lent/objects")).expect("a folder");
    fs::write(desk.path().join(".git/objects/info/alternates"), "../../lent/objects\n").expect("a file");
    fs::create_dir(desk.path().join("bin")).expect("a folder");
    for (rule, path) in [(".git", ".git"), ("lent", "lent/objects")] {
        let shown = fs::canonicalize(desk.path()).expect("a folder").join(path);
        let said = format!("the rule `{rule}` would show the repository, `{}`", shown.display());
        let without_git = desk.live(1, ["--sut-read", rule]).env("PATH", desk.path().join("bin"));
        let ended = without_git.run().expect_code(2);
        has(&ended.stderr, &said);
        nothing_happened(&desk, &ended);
    }
}

#[test]
fn a_command_that_does_not_exist_is_refused() {
    for (command, named) in [("no-such-agent --fast", "no-such-agent"), ("/usr/bin/no-such-agent", "no-such-agent")] {
        let desk = Desk::new("", &shell(AGENT));
        let ended = desk.live(1, ["--sut", command]).run().expect_code(2);
        has(&ended.stderr, named);
        nothing_happened(&desk, &ended);
        assert!(!Path::new(&desk.path().join(".codegenie/eval/runs")).exists());
    }
}

#[test]
fn without_landlock_no_agent_is_run_unless_the_operator_says_so_and_then_no_verdict_rests_on_it() {
    let desk = Desk::on(Machine::WithoutLandlock, "", &shell(AGENT));
    let refused = desk.there(desk.live(1, [])).run().expect_code(1);
    has(&refused.stderr, "the agent cannot be confined: there is no Landlock");
    has(&refused.stderr, "say --unconfined");
    nothing_happened(&desk, &refused);

    let ended = desk.there(desk.unconfined(3).args(["--unconfined"])).run().expect_code(5);
    all_scored(&ended);
    has(&ended.stderr, "warning: the agent is not confined");
    assert_eq!(confinement(&ended, &desk), "none");
    let judged = desk.eval(["promote-verdict", "--task-class=fixture", "--target-tier=silver"]).run();
    has(&judged.stdout, "agent_not_confined");
    assert_ne!(judged.code, Some(0));
}

#[test]
fn a_network_of_its_own_is_refused_where_there_are_no_namespaces() {
    let desk = Desk::on(Machine::WithoutNamespaces, "network = \"none\"", &shell(AGENT));
    let refused = desk.there(desk.live(1, [])).run().expect_code(1);
    has(&refused.stderr, "`network = \"none\"` needs namespaces, which this kernel does not give");
    nothing_happened(&desk, &refused);
}
