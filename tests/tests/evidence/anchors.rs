//! Checkpoints: made here, checked by another implementation, and found to notice what nothing else does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use eval_host_tests::{Workbench, copy_tree};

use crate::{BINARY, run, verified, workbench};

/// Makes a key, whose verifier is trusted, and a checkpoint of the store.
fn anchor(workbench: &Workbench) -> PathBuf {
    let key = workbench.eval(["keygen", "--name=ci.example.org/eval-host", "--key=secret"]).run().expect_code(0);
    let verifier = key.line("key")["verifier"].as_str().expect("a key").to_owned();
    fs::create_dir_all(workbench.path().join("audit/anchors")).expect("made");
    fs::write(workbench.path().join("audit/anchors/keys"), format!("# trusted\n{verifier}\n")).expect("written");
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(0);
    workbench.path().join(ended.line("checkpoint")["path"].as_str().expect("a path"))
}

fn against(path: &Path) -> String {
    format!("--against={}", path.display())
}

#[test]
fn a_history_rewritten_with_all_its_hashes_is_noticed_against_a_checkpoint() {
    let workbench = workbench();
    run(&workbench, "00*");
    run(&workbench, "00*");
    let checkpoint = against(&anchor(&workbench));
    assert_eq!(verified(&workbench, &[&checkpoint]).0, "OK");
    // The owner of the machine forges another past: same store, perfect chain, and what was seen is forgotten.
    for area in ["runs", "objects"] {
        fs::remove_dir_all(workbench.path().join(".codegenie/eval").join(area)).expect("removed");
        fs::create_dir(workbench.path().join(".codegenie/eval").join(area)).expect("made");
    }
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    run(&workbench, "001*");
    run(&workbench, "001*");
    assert_eq!(verified(&workbench, &[]).0, "OK", "the chain alone cannot tell");
    let (state, ended) = verified(&workbench, &[&checkpoint]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("it was rewritten: the checkpoint has it with the hash"), "{}", ended.stderr);
}

/// Signs another checkpoint with the key that is there already.
fn anchor_again(workbench: &Workbench) -> PathBuf {
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(0);
    workbench.path().join(ended.line("checkpoint")["path"].as_str().expect("a path"))
}

/// Another task class in the same store: the fixture under another name.
fn add_another_class(workbench: &Workbench) {
    let bench = workbench.path().join("bench/another");
    copy_tree(&workbench.fixture(), &bench);
    for file in ["registration.toml", "cases/001-greets/case.toml"] {
        let text = fs::read_to_string(bench.join(file)).expect("text");
        fs::write(bench.join(file), text.replace("\"fixture\"", "\"another\"")).expect("written");
    }
}

#[test]
fn a_bundle_is_compared_with_what_a_checkpoint_says_about_it_and_with_nothing_else() {
    let workbench = workbench();
    add_another_class(&workbench);
    let first = run(&workbench, "001*");
    let _ended = workbench.eval(["run", "--task-class=another", "--cases=001*"]).run().expect_code(0);
    let two_classes = against(&anchor(&workbench));
    let second = run(&workbench, "001*");
    let later = against(&anchor_again(&workbench));
    let export = |record: &Path, to: &str| {
        let _ended = workbench.eval(["export", record.to_str().expect("UTF-8"), to]).run().expect_code(0);
    };
    export(&first, "--to=first.tar");
    export(&second, "--to=second.tar");
    for (bundle, checkpoint, notes) in [
        // One says what a bundle leaves out.
        ("first.tar", &two_classes, 1),
        ("second.tar", &two_classes, 1),
        ("second.tar", &later, 1),
        ("first.tar", &later, 2),
    ] {
        let (state, ended) = verified(&workbench, &[bundle, checkpoint]);
        assert_eq!(state, "OK", "{bundle} {checkpoint}: {}", ended.stderr);
        let said = ended.line("verification")["notes"].as_array().expect("a list").len();
        assert_eq!(said, notes, "{bundle} {checkpoint}: {}", ended.stderr);
    }
    let ended = workbench.eval(["verify", "first.tar", &later]).run().expect_code(0);
    assert!(ended.stderr.contains("note: task class `fixture`: the checkpoint has its record 2"), "{}", ended.stderr);

    // The same store with another past.
    fs::remove_dir_all(workbench.path().join(".codegenie/eval/runs")).expect("removed");
    fs::create_dir(workbench.path().join(".codegenie/eval/runs")).expect("made");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    export(&run(&workbench, "002*"), "--to=forged.tar");
    let (state, ended) = verified(&workbench, &["forged.tar", &two_classes]);
    assert_eq!(state, "TAMPERED", "{}", ended.stderr);
}

#[test]
fn a_checkpoint_that_is_not_trusted_or_of_another_store_is_refused() {
    let workbench = workbench();
    run(&workbench, "001*");
    let path = anchor(&workbench);
    let note = fs::read_to_string(&path).expect("text");
    let refused = |text: &str, expected: &str| {
        fs::write(workbench.path().join("changed.txt"), text).expect("written");
        let ended = workbench.eval(["verify", "--against=changed.txt"]).run().expect_code(6);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    };
    refused(&note.replace("fixture 1 ", "fixture 2 "), "is not that of this text");
    refused(&note.replace("ci.example.org", "cj.example.org"), "none of its signatures is of a key that is trusted");
    refused("hello\n", "it is not a signed note");

    let other = crate::workbench();
    run(&other, "001*");
    fs::copy(workbench.path().join("secret"), other.path().join("secret")).expect("copied");
    let theirs = other.eval(["anchor", "--key=secret"]).run().expect_code(0);
    let theirs = other.path().join(theirs.line("checkpoint")["path"].as_str().expect("a path"));
    let (state, ended) = verified(&workbench, &[&against(&theirs)]);
    assert_eq!(state, "TAMPERED");
    assert!(ended.stderr.contains("the checkpoint is of the store"), "{}", ended.stderr);
}

#[test]
fn a_key_does_not_sign_two_pasts_of_one_store() {
    let workbench = workbench();
    run(&workbench, "001*");
    let newest = run(&workbench, "001*");
    anchor(&workbench);
    let anchors = workbench.path().join("audit/anchors");
    let count = || fs::read_dir(&anchors).expect("listed").count();
    let before = count();
    // An older copy is put back, and what was seen is forgotten.
    fs::remove_file(&newest).expect("removed");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(6);
    assert!(ended.stderr.contains("the checkpoint has 2 records of it, and now there are 1"), "{}", ended.stderr);
    run(&workbench, "002*");
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(6);
    assert!(ended.stderr.contains("it was rewritten"), "{}", ended.stderr);
    assert_eq!(count(), before, "nothing was signed");
    // Another key has signed nothing of it yet.
    let _ended = workbench.eval(["keygen", "--name=other", "--key=other"]).run().expect_code(0);
    let _ended = workbench.eval(["anchor", "--key=other"]).run().expect_code(0);
}

#[test]
fn a_secret_key_is_private_and_never_written_over() {
    use std::os::unix::fs::PermissionsExt as _;
    let workbench = Workbench::empty(BINARY);
    let _ended = workbench.eval(["keygen", "--name=k", "--key=secret"]).run().expect_code(0);
    let path = workbench.path().join("secret");
    let secret = fs::read(&path).expect("readable");
    assert_eq!(fs::metadata(&path).expect("it exists").permissions().mode() & 0o777, 0o600);
    let _ended = workbench.eval(["keygen", "--name=k", "--key=secret"]).run().expect_code(1);
    assert_eq!(fs::read(&path).expect("readable"), secret);
}

/// OpenSSL knows nothing of notes, but it knows Ed25519: it gets the key, the text and the signature as they are.
#[test]
fn another_implementation_accepts_the_signature_and_refuses_it_for_another_text() {
    let workbench = workbench();
    run(&workbench, "001*");
    let note = fs::read_to_string(anchor(&workbench)).expect("text");
    let keys = fs::read_to_string(workbench.path().join("audit/anchors/keys")).expect("text");
    let (text, signature) = note.split_once("\n\n").expect("an empty line");
    let signature = decoded(&workbench, signature.trim_end().rsplit_once(' ').expect("a signature").1);
    let key = decoded(&workbench, keys.trim_end().splitn(3, '+').nth(2).expect("a key"));
    assert_eq!((key.len(), signature.len()), (33, 68));
    // The key in X.509's form, which has one prefix for all Ed25519 keys.
    let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    fs::write(workbench.path().join("key.der"), [&prefix, &key[1..]].concat()).expect("written");
    fs::write(workbench.path().join("signature"), &signature[4..]).expect("written");
    assert!(openssl_accepts(&workbench, &format!("{text}\n")));
    assert!(!openssl_accepts(&workbench, &format!("{text}\n\n")));
}

fn decoded(workbench: &Workbench, base64: &str) -> Vec<u8> {
    let path = workbench.path().join("base64");
    fs::write(&path, base64).expect("written");
    let output = Command::new("openssl").args(["base64", "-d", "-A", "-in"]).arg(path).output().expect("openssl runs");
    output.stdout
}

fn openssl_accepts(workbench: &Workbench, text: &str) -> bool {
    fs::write(workbench.path().join("text"), text).expect("written");
    let arguments = "pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in text -sigfile signature";
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(workbench.path()).output();
    output.expect("openssl runs").status.success()
}

#[test]
fn a_key_that_never_ends_is_refused() {
    let workbench = Workbench::with_fixture(BINARY);
    let _ = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(0);
    let endless = workbench.eval(["anchor", "--key=/dev/zero"]).run().expect_code(2);
    assert!(endless.stderr.starts_with("error: `/dev/zero` is not a key to sign with\n"), "{}", endless.stderr);
}
