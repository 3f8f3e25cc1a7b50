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
    for area in ["runs", "packs"] {
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
    for (bundle, checkpoints, notes) in [
        ("first.tar", vec![&two_classes], 1),
        ("second.tar", vec![&two_classes], 1),
        ("second.tar", vec![&later], 1),
        ("second.tar", vec![&later, &two_classes], 1),
        // One that speaks of the bundle is enough, and that the other does not is said.
        ("first.tar", vec![&later, &two_classes], 2),
    ] {
        let arguments: Vec<_> = [bundle].into_iter().chain(checkpoints.iter().map(|path| path.as_str())).collect();
        let (state, ended) = verified(&workbench, &arguments);
        assert_eq!(state, "OK", "{arguments:?}: {}", ended.stderr);
        let said = ended.line("verification")["notes"].as_array().expect("a list").len();
        assert_eq!(said, notes, "{arguments:?}: {}", ended.stderr);
    }

    // The same store with another past.
    fs::remove_dir_all(workbench.path().join(".codegenie/eval/runs")).expect("removed");
    fs::create_dir(workbench.path().join(".codegenie/eval/runs")).expect("made");
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("forgotten");
    export(&run(&workbench, "002*"), "--to=forged.tar");
    for checkpoints in [vec![two_classes.as_str()], vec![&later, &two_classes]] {
        let arguments: Vec<_> = ["forged.tar"].into_iter().chain(checkpoints).collect();
        let (state, ended) = verified(&workbench, &arguments);
        assert_eq!(state, "TAMPERED", "every one that speaks must agree: {}", ended.stderr);
    }
}

#[test]
fn a_bundle_of_which_a_checkpoint_says_nothing_is_unverifiable_and_says_which_to_use() {
    let workbench = workbench();
    let first = run(&workbench, "001*");
    let second = run(&workbench, "001*");
    let later = against(&anchor(&workbench));
    for (record, to) in [(&first, "--to=first.tar"), (&second, "--to=second.tar")] {
        let _ended = workbench.eval(["export", record.to_str().expect("UTF-8"), to]).run().expect_code(0);
    }
    for more in [&[][..], &["--replay"][..]] {
        let arguments: Vec<_> = ["first.tar", &later].into_iter().chain(more.iter().copied()).collect();
        let (state, ended) = verified(&workbench, &arguments);
        assert_eq!(state, "UNVERIFIABLE", "{}", ended.stderr);
        let expected = "UNVERIFIABLE: task class `fixture`: the checkpoint has its record 2, and the bundle ends with 1, so the \
                        checkpoint says nothing about it; compare it with one that was signed when there was 1 record of it\n";
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    // And one of the same store that was signed before the class had a record.
    add_another_class(&workbench);
    let another = workbench.eval(["run", "--task-class=another", "--cases=001*"]).run().expect_code(0);
    let another = another.record_path(workbench.path());
    let _ended = workbench.eval(["export", another.to_str().expect("UTF-8"), "--to=another.tar"]).run().expect_code(0);
    let (state, ended) = verified(&workbench, &["another.tar", &later]);
    assert_eq!(state, "UNVERIFIABLE", "{}", ended.stderr);
    let expected = "task class `another`: the checkpoint has no record of it, and so says nothing about the bundle; compare it with \
                    one that was signed when there was 1 record of it\n";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
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
    // Nor does another key beside what this one signed, whatever the file is called.
    let _ended = workbench.eval(["keygen", "--name=other", "--key=other"]).run().expect_code(0);
    let refused = |times: usize| {
        let ended = workbench.eval(["anchor", "--key=other"]).run().expect_code(6);
        assert!(ended.stderr.contains(", which a trusted key signed: "), "{}", ended.stderr);
        assert!(ended.stderr.contains("it was rewritten"), "{}", ended.stderr);
        assert_eq!(count(), times, "nothing was signed");
    };
    refused(before);
    let checkpoint = checkpoints(&anchors).pop().expect("a checkpoint");
    fs::rename(anchors.join(checkpoint), anchors.join("a.txt")).expect("renamed");
    refused(before);
}

/// The names of the checkpoints in a folder.
fn checkpoints(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("listed").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().expect("UTF-8")).collect();
    names.retain(|name| name.ends_with(".txt") && !name.starts_with("rotation-"));
    names.sort_unstable();
    names
}

#[test]
fn checkpoints_of_strangers_are_named_and_passed_over() {
    let workbench = workbench();
    run(&workbench, "001*");
    let trusted = anchor(&workbench);
    // Somebody whom nobody trusts has signed what never was.
    let stranger = crate::workbench();
    copy_tree(&workbench.path().join(".codegenie"), &stranger.path().join(".codegenie"));
    run(&stranger, "002*");
    let _ended = stranger.eval(["keygen", "--name=stranger", "--key=secret"]).run().expect_code(0);
    let theirs = stranger.eval(["anchor", "--key=secret"]).run().expect_code(0);
    assert!(
        theirs.stderr.contains("warning: `audit/anchors/keys` does not name the key that signs"),
        "{}",
        theirs.stderr
    );
    let theirs = stranger.path().join(theirs.line("checkpoint")["path"].as_str().expect("a path"));
    let anchors = workbench.path().join("audit/anchors");
    fs::copy(theirs, anchors.join("theirs.txt")).expect("copied");
    fs::write(anchors.join("hello.txt"), "hello\n").expect("written");
    fs::create_dir(anchors.join("folder.txt")).expect("made");
    let made = Command::new("mkfifo").arg(anchors.join("fifo.txt")).status().expect("mkfifo runs");
    assert!(made.success());
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(0);
    for (name, why) in [
        ("theirs", "none of its signatures is of a key that is trusted here"),
        ("hello", "it is not a signed note"),
        ("folder", "the file cannot be read: it is not a regular file"),
        ("fifo", "the file cannot be read: it is not a regular file"),
    ] {
        let expected = format!("note: `audit/anchors/{name}.txt` is passed over: {why}");
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    // What a trusted key signed and somebody edited is not passed over.
    let text = fs::read_to_string(&trusted).expect("text");
    fs::write(&trusted, text.replace("fixture 1 ", "fixture 2 ")).expect("written");
    let edited = workbench.eval(["anchor", "--key=secret"]).run().expect_code(6);
    assert!(edited.stderr.contains("is not that of this text"), "{}", edited.stderr);
}

#[test]
fn a_retired_key_signs_nothing_and_is_trusted_up_to_its_last_checkpoint() {
    let workbench = workbench();
    run(&workbench, "001*");
    let early = anchor(&workbench);
    run(&workbench, "001*");
    let late = anchor_again(&workbench);
    let keys = workbench.path().join("audit/anchors/keys");
    let trusted = fs::read_to_string(&keys).expect("text");
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
    fs::write(&keys, format!("{} retired {}\n", trusted.trim_end(), name(&early))).expect("written");
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(2);
    let expected = "error: `audit/anchors/keys` says that the key `ci.example.org/eval-host` of `secret` is retired\n";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    assert_eq!(verified(&workbench, &[&against(&early)]).0, "OK");
    let ended = workbench.eval(["verify", &against(&late)]).run().expect_code(6);
    let expected = "the key `ci.example.org/eval-host` is retired, and what it signed goes beyond its last checkpoint";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    // A line that cannot be relied on is named.
    fs::write(&keys, format!("{trusted}# more\n{} retired none.txt\n", trusted.lines().last().expect("a key")))
        .expect("written");
    let ended = workbench.eval(["verify", &against(&early)]).run().expect_code(6);
    assert!(ended.stderr.contains("  caused by: line 4 does not name a key to trust\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("its last checkpoint `none.txt` cannot be read"), "{}", ended.stderr);
}

/// Rotates the key `secret` to `new`, and gives the path of the note and the line that retires the old key.
fn rotate(workbench: &Workbench) -> (String, String) {
    let ended = workbench.eval(["keygen", "--name=new", "--key=new", "--rotate=secret"]).run().expect_code(0);
    let key = ended.line("key");
    let (verifier, rotation) = (key["verifier"].as_str().expect("a key"), key["rotation"].as_str().expect("a path"));
    let id = verifier.split('+').nth(1).expect("an id");
    assert_eq!(rotation, format!("audit/anchors/rotation-{id}.txt"));
    let text = fs::read_to_string(workbench.path().join(rotation)).expect("text");
    let expected = format!("eval-host/key/v1\n{verifier}\n\n\u{2014} ci.example.org/eval-host ");
    assert!(text.starts_with(&expected), "{text}");
    assert!(ended.stderr.contains(&format!("commit `{rotation}`: ")), "{}", ended.stderr);
    assert!(ended.stderr.contains("line 2 of `audit/anchors/keys` becomes:\n"), "{}", ended.stderr);
    (rotation.to_owned(), ended.stderr.lines().last().expect("a line").to_owned())
}

#[test]
fn a_key_is_rotated_by_a_note_and_the_old_one_retired_by_the_line_that_keygen_prints() {
    let workbench = workbench();
    run(&workbench, "001*");
    let old = anchor(&workbench);
    let (rotation, line) = rotate(&workbench);
    assert!(line.ends_with(&format!(" retired {}", old.file_name().expect("a name").to_string_lossy())), "{line}");
    fs::write(workbench.path().join("audit/anchors/keys"), format!("# trusted\n{line}\n")).expect("written");

    run(&workbench, "001*");
    let refused = workbench.eval(["anchor", "--key=secret"]).run().expect_code(2);
    assert!(refused.stderr.contains("is retired"), "{}", refused.stderr);
    let anchored = workbench.eval(["anchor", "--key=new"]).run().expect_code(0);
    assert!(!anchored.stderr.contains("warning"), "whoever trusts the old one trusts it: {}", anchored.stderr);
    let new = workbench.path().join(anchored.line("checkpoint")["path"].as_str().expect("a path"));
    assert_eq!(verified(&workbench, &[&against(&old), &against(&new)]).0, "OK");
    // Without the note nobody knows the new key.
    fs::remove_file(workbench.path().join(rotation)).expect("removed");
    let ended = workbench.eval(["verify", &against(&new)]).run().expect_code(6);
    assert!(ended.stderr.contains("none of its signatures is of a key that is trusted"), "{}", ended.stderr);
}

#[test]
fn a_rotation_that_cannot_be_written_leaves_no_key_behind() {
    let workbench = Workbench::empty(BINARY);
    let _ended = workbench.eval(["keygen", "--name=old", "--key=secret"]).run().expect_code(0);
    // Nothing is there to be read, and nothing can be made there.
    std::os::unix::fs::symlink("nowhere", workbench.path().join("audit")).expect("linked");
    let ended = workbench.eval(["keygen", "--name=new", "--key=new", "--rotate=secret"]).run().expect_code(1);
    assert!(ended.stderr.contains("failed to write the rotation note"), "{}", ended.stderr);
    assert!(!workbench.path().join("new").exists());
}

#[test]
fn a_secret_key_that_others_can_read_or_that_is_no_file_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let workbench = workbench();
    run(&workbench, "001*");
    let _checkpoint = anchor(&workbench);
    let secret = workbench.path().join("secret");
    let set = |mode| fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).expect("set");
    let refused = |arguments: &[&str], why: &str| {
        let ended = workbench.eval([arguments[0]]).args(arguments[1..].iter().copied()).run().expect_code(2);
        assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
        ended.stderr
    };
    for (mode, said) in [(0o640, "0640"), (0o604, "0604"), (0o620, "0620"), (0o601, "0601")] {
        set(mode);
        let why = format!("others may read or write it (mode {said}), and whoever has it can sign\n");
        assert!(refused(&["anchor", "--key=secret"], &why).ends_with("hint: chmod 600 secret\n"));
        let rotate = ["keygen", "--name=new", "--key=new", "--rotate=secret"];
        assert!(refused(&rotate, &why).ends_with("hint: chmod 600 secret\n"));
        assert!(!workbench.path().join("new").exists());
    }
    set(0o400);
    let _ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(0);
    let made = Command::new("mkfifo").arg(workbench.path().join("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    for file in ["fifo", "/dev/null", "bench"] {
        refused(&["anchor", &format!("--key={file}")], "it is not a regular file");
    }
    // Only root can give a file away.
    if std::os::unix::fs::chown(&secret, Some(12345), None).is_ok() {
        refused(&["anchor", "--key=secret"], "it belongs to user 12345, and you are user ");
    }
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

/// The note of a text, signed with the secret key by another implementation.
fn signed(workbench: &Workbench, text: &str) -> String {
    let secret = fs::read_to_string(workbench.path().join("secret")).expect("text");
    let words: Vec<_> = secret.trim_end().splitn(5, '+').collect();
    let [_, _, name, id, key] = words[..] else { panic!("a secret key: {secret}") };
    // PKCS #8 has one prefix for all Ed25519 keys.
    let prefix = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    fs::write(workbench.path().join("secret.der"), [&prefix, &decoded(workbench, key)[1..]].concat()).expect("written");
    fs::write(workbench.path().join("text"), text).expect("written");
    let openssl = |arguments: &str| {
        let command = Command::new("openssl").args(arguments.split(' ')).current_dir(workbench.path()).output();
        command.expect("openssl runs").stdout
    };
    let signature = openssl("pkeyutl -sign -keyform DER -inkey secret.der -rawin -in text");
    let id = u32::from_str_radix(id, 16).expect("an id").to_be_bytes();
    fs::write(workbench.path().join("signature"), [&id, signature.as_slice()].concat()).expect("written");
    let base64 = String::from_utf8(openssl("base64 -A -in signature")).expect("base64");
    format!("{text}\n\u{2014} {name} {base64}\n")
}

#[test]
fn a_checkpoint_with_an_earlier_time_than_one_before_it_is_worth_a_note_and_no_more() {
    let workbench = workbench();
    run(&workbench, "001*");
    let first = anchor(&workbench);
    let note = fs::read_to_string(&first).expect("text");
    let (text, _) = note.split_once("\n\n").expect("an empty line");
    let time = text.lines().nth(2).expect("a time");
    assert_eq!((time.len(), &time[10..11], &time[23..]), (24, "T", "Z"), "{text}");
    assert_eq!(signed(&workbench, &format!("{text}\n")), note, "Ed25519 signs one text in one way");
    fs::write(&first, signed(&workbench, &format!("{}\n", text.replace(time, "2999-01-01T00:00:00.000Z"))))
        .expect("written");
    run(&workbench, "001*");
    let ended = workbench.eval(["anchor", "--key=secret"]).run().expect_code(0);
    let said =
        " has more than one that was signed at 2999-01-01T00:00:00.000Z: a clock was set back; nothing depends on it\n";
    assert!(ended.stderr.contains("note: a checkpoint that was signed at 2"), "{}", ended.stderr);
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let second = workbench.path().join(ended.line("checkpoint")["path"].as_str().expect("a path"));
    let (state, ended) = verified(&workbench, &[&against(&second), &against(&first)]);
    assert_eq!(state, "OK", "{}", ended.stderr);
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

#[test]
fn a_key_that_never_ends_is_refused() {
    let workbench = Workbench::with_fixture(BINARY);
    let _ = workbench.eval(["run", "--task-class=fixture"]).run().expect_code(0);
    let endless = workbench.eval(["anchor", "--key=/dev/zero"]).run().expect_code(2);
    assert!(endless.stderr.starts_with("error: `/dev/zero` is not a key to sign with\n"), "{}", endless.stderr);
}
