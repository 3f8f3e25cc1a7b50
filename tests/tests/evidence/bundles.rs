//! One record handed to somebody who has nothing but eval-host.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use eval_host_tests::Workbench;

use crate::{BINARY, run, verified, workbench};

/// A bundle of the second of two records, and the workbench it came from.
fn bundle() -> (Workbench, PathBuf) {
    let workbench = workbench();
    run(&workbench, "00*");
    let record = run(&workbench, "001*");
    let _ended = workbench.eval(["export", record.to_str().expect("UTF-8"), "--to=record.tar"]).run().expect_code(0);
    let path = workbench.path().join("record.tar");
    (workbench, path)
}

#[test]
fn a_bundle_is_verified_and_replayed_where_there_is_nothing_else() {
    let (_origin, path) = bundle();
    let elsewhere = Workbench::empty(BINARY);
    let copy = elsewhere.path().join("from-somebody.tar");
    fs::copy(&path, &copy).expect("copied");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o444)).expect("read-only");
    let (state, ended) = verified(&elsewhere, &["from-somebody.tar", "--replay"]);
    assert_eq!(state, "OK", "{}", ended.stderr);
    assert_eq!(ended.line("verification")["replay"]["records"], 1);
    assert_eq!(ended.line("verification")["classes"][0]["records"], 2, "with the chain before it");
    assert!(!elsewhere.path().join(".codegenie").exists(), "nothing was written");
}

#[test]
fn whatever_the_umask_a_bundle_is_verified_and_private_things_stay_private() {
    let (_origin, path) = bundle();
    for umask in ["umask 000", "umask 077", "umask 777"] {
        let elsewhere = Workbench::empty(BINARY);
        fs::copy(&path, elsewhere.path().join("from-somebody.tar")).expect("copied");
        let ended = elsewhere.eval(["verify", "from-somebody.tar", "--replay"]).after(umask).run().expect_code(0);
        assert_eq!(ended.line("verification")["state"], "OK", "{umask}: {}", ended.stderr);
    }
    let careless = workbench();
    let ended = careless.eval(["run", "--task-class=fixture", "--cases=001*"]).after("umask 000").run();
    let mode = fs::metadata(ended.record_path(careless.path())).expect("a record").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn exporting_twice_gives_the_same_bytes_and_never_writes_over_a_file() {
    let (workbench, path) = bundle();
    let names = fs::read_dir(workbench.path().join(".codegenie/eval/runs")).expect("listed");
    let newest = names.map(|entry| entry.expect("an entry").file_name()).max().expect("a record");
    let newest = newest.to_str().expect("UTF-8");
    let _ended = workbench.eval(["export", newest, "--to=again.tar"]).run().expect_code(0);
    let again = workbench.path().join("again.tar");
    assert_eq!(fs::read(&again).expect("readable"), fs::read(&path).expect("readable"));
    fs::write(&again, "something of the user's").expect("written");
    let _ended = workbench.eval(["export", newest, "--to=again.tar"]).run().expect_code(1);
    assert_eq!(fs::read(&again).expect("readable"), b"something of the user's");
}

#[test]
fn a_bundle_with_one_byte_changed_is_tampered() {
    let (workbench, path) = bundle();
    let bytes = fs::read(&path).expect("readable");
    for place in [3, 600, 5000, bytes.len() / 2, bytes.len() - 3000, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[place] ^= 0x20;
        fs::write(&path, changed).expect("written");
        let ended = workbench.eval(["verify", "record.tar"]).run().expect_code(6);
        assert!(ended.stderr.contains("TAMPERED"), "byte {place}: {}", ended.stderr);
    }
}

#[test]
fn the_whole_store_is_replayed_without_the_bench() {
    let workbench = workbench();
    run(&workbench, "00*");
    fs::remove_dir_all(workbench.path().join("bench")).expect("removed");
    let (state, ended) = verified(&workbench, &["--replay"]);
    assert_eq!(state, "OK", "{}", ended.stderr);
    let replay = &ended.line("verification")["replay"];
    assert_eq!(replay["replayed"], 3, "{replay}");
    let (state, ended) = verified(&workbench, &["--replay", "--since=2999-01-01"]);
    assert_eq!((state.as_str(), &ended.line("verification")["replay"]["replayed"]), ("OK", &0.into()));
}
