//! One record handed to somebody who has nothing but eval-host.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use eval_host_tests::Workbench;
use eval_host_tests::packs::remove_object;
use serde_json::Value;

use crate::{BINARY, run, verified, workbench};

const LEFT_OUT: &str = "note: this is what a bundle of record 2 of `fixture` holds: objects of earlier records, markers of live \
                        runs up to it and other task classes are left out";

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
    let line = ended.line("verification");
    assert_eq!((&line["replay"]["records"], &line["replay"]["left_out"]), (&1.into(), &1.into()));
    assert_eq!(line["classes"][0]["records"], 2, "with the chain before it");
    assert!(!elsewhere.path().join(".codegenie").exists(), "nothing was written");
}

#[test]
fn what_a_bundle_leaves_out_is_said_and_is_neither_missing_nor_nought() {
    let (workbench, _) = bundle();
    let (_, ended) = verified(&workbench, &["record.tar", "--replay"]);
    assert_eq!(ended.line("verification")["classes"][0]["unfinished"], Value::Null, "nobody can know");
    for said in [LEFT_OUT, "fixture: 2 records, unfinished runs unknown\n", "; left out with their objects: 1 record\n"]
    {
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
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

/// Unpacks a bundle into a folder of the workbench, as anybody does.
fn unpack(workbench: &Workbench, bundle: &Path, folder: &str) {
    let folder = workbench.path().join(folder);
    fs::create_dir(&folder).expect("made");
    let mut tar = Command::new("/bin/sh");
    tar.args(["-c", "umask 077; exec tar -xf \"$0\" -C \"$1\""]).arg(bundle).arg(&folder);
    assert!(tar.status().expect("tar runs").success());
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("private");
}

/// The names of the records of a store, the oldest first.
fn records(store: &Path) -> Vec<String> {
    let names = fs::read_dir(store.join("runs")).expect("listed");
    let mut names: Vec<_> =
        names.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// Names the store that a bundle was unpacked to.
const UNPACKED: &str = "--out=unpacked";

/// A workbench with a bundle of the second record, which is unpacked there, too.
fn with_unpacked() -> (Workbench, PathBuf) {
    let (workbench, path) = bundle();
    unpack(&workbench, &path, "unpacked");
    (workbench, path)
}

#[test]
fn an_unpacked_bundle_is_verified_and_replayed_as_far_as_it_goes() {
    let (workbench, _) = with_unpacked();
    let (state, ended) = verified(&workbench, &[UNPACKED, "--replay"]);
    assert_eq!(state, "OK", "{}", ended.stderr);
    assert!(ended.stderr.contains(LEFT_OUT), "{}", ended.stderr);
    let line = ended.line("verification");
    assert_eq!(line["classes"][0]["unfinished"], Value::Null);
    let replay = ["records", "replayed", "left_out"].map(|count| line["replay"][count].as_u64());
    assert_eq!(replay, [Some(1), Some(1), Some(1)], "{line}");
}

#[test]
fn an_unpacked_bundle_gives_the_same_bundle_and_none_of_what_it_lacks() {
    let (workbench, path) = with_unpacked();
    let [first, second] = &records(&workbench.path().join("unpacked"))[..] else { panic!("two records") };
    let _ended = workbench.eval(["export", second, UNPACKED, "--to=again.tar"]).run().expect_code(0);
    let again = fs::read(workbench.path().join("again.tar")).expect("a bundle");
    assert!(again == fs::read(&path).expect("a bundle"), "the same evidence gives the same bytes");
    let refused = workbench.eval(["export", first, UNPACKED, "--to=first.tar"]).run().expect_code(2);
    assert!(refused.stderr.contains("objects of record 1 of `fixture` are left out"), "{}", refused.stderr);
    assert!(!workbench.path().join("first.tar").exists());
}

#[test]
fn every_command_accepts_an_unpacked_bundle_as_a_store() {
    let (workbench, _) = with_unpacked();
    let log = workbench.eval(["log", UNPACKED]).run().expect_code(0);
    assert!(log.stdout.starts_with("evidence: OK\n"), "{}", log.stdout);
    for record in records(&workbench.path().join("unpacked")) {
        let _ended = workbench.eval(["show", &record, UNPACKED]).run().expect_code(0);
    }
    let _key = workbench.eval(["keygen", "--name=tests", "--key=secret"]).run().expect_code(0);
    let _ended = workbench.eval(["anchor", "--key=secret", "--to=anchors", UNPACKED]).run().expect_code(0);
    let verdict = ["promote-verdict", "--task-class=fixture", "--target-tier=silver", UNPACKED];
    let verdict = workbench.eval(verdict).run().expect_code(5);
    assert_eq!(verdict.line("verdict")["record"]["seq"], 2, "{}", verdict.stderr);
}

#[test]
fn nothing_is_judged_of_which_the_objects_are_left_out() {
    let (workbench, _) = with_unpacked();
    let first = &records(&workbench.path().join("unpacked"))[0];
    let record = format!("--record={first}");
    for evidence in [UNPACKED, "record.tar"] {
        let verdict = ["promote-verdict", "--task-class=fixture", "--target-tier=silver", &record, evidence];
        let verdict = workbench.eval(verdict).run().expect_code(6);
        let line = verdict.line("verdict");
        let is_it = |reason: &Value| reason["code"] == "replay_impossible";
        assert!(line["reasons"].as_array().expect("reasons").iter().any(is_it), "{line}");
        assert!(verdict.stderr.contains("its objects are left out of this evidence"), "{}", verdict.stderr);
    }
}

#[test]
fn a_run_continues_an_unpacked_bundle_and_is_held_to_everything() {
    let (workbench, _) = with_unpacked();
    let run = workbench.eval(["run", "--task-class=fixture", "--cases=003*", UNPACKED]).run().expect_code(0);
    assert_eq!(run.line("record")["seq"], 3, "{}", run.stderr);
    let (state, ended) = verified(&workbench, &[UNPACKED, "--replay"]);
    assert_eq!(state, "OK", "{}", ended.stderr);
    let replay = ended.line("verification")["replay"].clone();
    assert_eq!((&replay["records"], &replay["left_out"]), (&2.into(), &1.into()));
    let record = fs::read(run.record_path(workbench.path())).expect("a record");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    let output = record["output_digest_set"].as_object().and_then(|outputs| outputs.values().next()?.as_str());
    remove_object(&workbench.path().join("unpacked"), output.expect("an output"));
    let (state, ended) = verified(&workbench, &[UNPACKED]);
    assert_eq!((state.as_str(), &ended.line("verification")["findings"][0]["seq"]), ("UNVERIFIABLE", &3.into()));
}

#[test]
fn a_store_that_was_whole_gains_nothing_by_saying_that_it_is_a_part() {
    let (workbench, _) = with_unpacked();
    let store = workbench.path().join(".codegenie/eval");
    fs::copy(workbench.path().join("unpacked/bundle.json"), store.join("bundle.json")).expect("copied");
    let (state, ended) = verified(&workbench, &[]);
    assert_eq!(state, "TAMPERED", "{}", ended.stderr);
    assert!(ended.stderr.contains("and it was a whole store when it was seen here before"), "{}", ended.stderr);
    let _ended = workbench.eval(["run", "--task-class=fixture", "--cases=001*"]).run().expect_code(6);
    fs::write(store.join("bundle.json"), "{}\n").expect("written");
    let ended = workbench.eval(["verify"]).run().expect_code(6);
    assert!(ended.stderr.contains("is TAMPERED"), "{}", ended.stderr);
    fs::write(store.join("bundle.json"), "{\"schema_version\":2}\n").expect("written");
    let ended = workbench.eval(["verify"]).run().expect_code(6);
    assert!(ended.stderr.contains("is UNVERIFIABLE"), "{}", ended.stderr);
}

#[test]
fn a_bundle_is_private_and_there_when_it_is_whole() {
    let (workbench, path) = bundle();
    let record = records(&workbench.path().join(".codegenie/eval")).pop().expect("a record");
    for umask in ["umask 000", "umask 022", "umask 777"] {
        let to = format!("{}.tar", umask.replace(' ', "-"));
        let export = ["export", &record, &format!("--to={to}")];
        let _ended = workbench.eval(export).after(umask).run().expect_code(0);
        let written = workbench.path().join(&to);
        assert_eq!(fs::metadata(&written).expect("a bundle").permissions().mode() & 0o7777, 0o600, "{umask}");
        assert!(fs::read(&written).expect("a bundle") == fs::read(&path).expect("a bundle"), "{umask}");
    }
    // An object that is gone after the verification cannot be had in a test; a place that cannot be written can.
    let ended = workbench.eval(["export", &record, "--to=nowhere/record.tar"]).run().expect_code(1);
    assert!(ended.stderr.contains("--to takes a file that does not exist yet"), "{}", ended.stderr);
    let drafts = fs::read_dir(workbench.path()).expect("listed").map(|entry| entry.expect("an entry").file_name());
    assert_eq!(drafts.filter(|name| name.to_string_lossy().starts_with(".tmp-")).count(), 0);
}

#[test]
fn a_pack_that_promises_more_than_any_object_is_tampered_however_large_it_is() {
    let (workbench, path) = bundle();
    let bytes = fs::read(&path).expect("a bundle");
    let pack = bytes.chunks(512).position(|block| block.starts_with(b"packs/")).expect("a pack") * 512;
    // A pack of one object, and then a hole in the file where three gibibytes of content would be.
    let start = format!("eval-host/pack/v1\n{} {}\n", "f".repeat(64), 3_u64 << 30);
    let mut bytes = bytes[..pack].to_vec();
    bytes.extend(header(&format!("packs/{}.pack", "f".repeat(64)), 3 << 30));
    let length = bytes.len() as u64 + (3 << 30) + 1024;
    bytes.extend(start.as_bytes());
    fs::write(&path, bytes).expect("written");
    fs::File::options().write(true).open(&path).expect("opened").set_len(length).expect("extended");
    let ended = workbench.eval(["verify", "record.tar"]).run().expect_code(6);
    assert!(ended.stderr.contains("TAMPERED: `packs/ffff"), "{}", ended.stderr);
    assert!(ended.stderr.contains("there is no header of an object at byte 18"), "{}", ended.stderr);
}

/// The header of a file in a bundle, as the documents of tar have it.
fn header(name: &str, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    for (at, text) in [(100, "0000600"), (108, "0000000"), (116, "0000000"), (136, "00000000000"), (148, "        ")] {
        put(at, text);
    }
    put(124, &format!("{size:011o}"));
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
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
