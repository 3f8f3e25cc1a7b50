//! One agent that tries everything: on this machine, for a user without rights, and where the kernel gives no namespaces.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use eval_host_tests::Ended;
use serde_json::{Value, json};

use super::desk::{Desk, Machine, Running, all_scored, confinement, has, until};

const AGENT: &str = include_str!("agents/attacks.py");

/// Attacks that only namespaces stop.
const WEAKER: &str = "weaker: ";

/// What must be among the files that were attacked, or the test has looked in the wrong place.
const ATTACKED: [&str; 9] = [
    "bench/.fixture.runlock",
    "bench/fixture/cases/001-greets/cassette.json",
    "bench/fixture/cases/001-greets/expected/",
    "bench/fixture/rubric.wasm",
    ".codegenie/eval/runs/",
    ".codegenie/eval/journals/",
    ".git/objects/",
    "home/.local/state/eval-host/",
    "home/.cache/",
];

#[test]
fn a_hostile_agent_learns_nothing_and_changes_nothing() {
    let (desk, ended) = attacked(Machine::AsIs);
    holds_fully(&desk, &ended);
}

#[test]
fn a_hostile_agent_of_a_user_without_rights_learns_nothing_and_changes_nothing() {
    let (desk, ended) = attacked(Machine::OfNobody);
    holds_fully(&desk, &ended);
}

#[test]
fn without_namespaces_a_hostile_agent_still_learns_no_contents_and_the_record_says_what_is_missing() {
    let (desk, ended) = attacked(Machine::WithoutNamespaces);
    assert_eq!(worked(&desk, |name| !name.starts_with(WEAKER)), BTreeMap::new());
    let caged = &confinement(&ended, &desk)["caged"];
    assert_eq!(caged["namespaces"], json!([]));
    has(&ended.stderr, "warning: this machine gives no namespaces");
    has(&ended.stderr, "confined by Landlock alone");
}

#[track_caller]
fn holds_fully(desk: &Desk, ended: &Ended) {
    assert_eq!(worked(desk, |_| true), BTreeMap::new());
    let caged = &confinement(ended, desk)["caged"];
    assert_eq!(caged["namespaces"], json!(["ipc", "mount", "pid", "user"]), "{caged}");
    assert!(caged["landlock_abi"].as_u64() >= Some(1), "{caged}");
    assert!(!ended.stderr.contains("no namespaces"), "{}", ended.stderr);
}

/// The attacks that worked, of those that count.
#[track_caller]
fn worked(desk: &Desk, counts: impl Fn(&str) -> bool) -> BTreeMap<String, Value> {
    let report = desk.report("report.json");
    let controls = report["controls"].as_object().expect("controls");
    assert!(controls.values().all(|control| control["worked"] == true), "{controls:#?}");
    let attacks = report["attacks"].as_object().expect("attacks");
    for part in ATTACKED {
        assert!(attacks.keys().any(|name| name.starts_with("read ") && name.contains(part)), "{part} was not attacked");
    }
    let starved = attacks.values().find(|result| result["said"].to_string().contains("Cannot allocate memory"));
    assert_eq!(starved, None, "an attack that failed for want of memory proves nothing");
    let did_work = attacks.iter().filter(|(name, result)| result["worked"] != false && counts(name));
    did_work.map(|(name, result)| (name.clone(), result["said"].clone())).collect()
}

/// Runs the agent on one case, and holds everything against what was there before.
fn attacked(machine: Machine) -> (Desk, Ended) {
    let desk = Desk::on(machine, "", AGENT);
    let first = desk.there(desk.eval(["run", "--task-class", "fixture"])).run();
    let first = first.expect_code(0);
    let socket = desk.path().join("outside.sock");
    let _by_path = UnixListener::bind(&socket).expect("a socket");
    let name = format!("eval-host-test-{}-{machine:?}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let _by_name = UnixListener::bind_addr(&address).expect("a socket");
    let before = contents(&desk);

    let running = Running::start(desk.there(desk.live(1, [])));
    until("the agent starts", || desk.shared().join("started").exists());
    let (files, folders) = below(desk.path());
    let plan = json!({
        "root": desk.path(), "files": files, "folders": folders,
        "host": running.pid(), "abstract": name, "socket": socket,
    });
    let written = desk.path().join("plan.json");
    fs::write(&written, plan.to_string()).expect("a plan");
    fs::rename(written, desk.shared().join("plan.json")).expect("a plan");
    let ended = running.end().expect_code(5);

    all_scored(&ended);
    assert_eq!(contents(&desk), before, "something was changed");
    assert!(first.record_path(desk.path()).exists());
    let _ = desk.there(desk.eval(["verify", "--replay"])).run().expect_code(0);
    assert!(!desk.path().join("planted").exists());
    (desk, ended)
}

/// The contents of all that no run changes.
fn contents(desk: &Desk) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = ["bench/fixture", ".git"].map(|name| below(&desk.path().join(name)).0);
    folders.into_iter().flatten().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// All files and folders below one that are not the agent's own.
fn below(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut folders, mut waiting) = (Vec::new(), Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("its kind");
            let is_agents = ["shared", "tmp", "agent"].iter().any(|name| entry.path() == root.join(name));
            if kind.is_dir() && !is_agents {
                waiting.push(entry.path());
                folders.push(entry.path());
            } else if kind.is_file() && !is_agents {
                files.push(entry.path());
            }
        }
    }
    (files, folders)
}
