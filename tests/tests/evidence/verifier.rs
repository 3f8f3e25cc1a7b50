//! The other implementation of `docs/record-format.md`, `docs/verifier/`, beside the program as its users run it: on bundles, on
//! what is unpacked from them, and with signatures and checkpoints. Stores that are only written, a thousand of them, are compared
//! in `host/evidence/src/store/faults/independent.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use eval_host_tests::packs::{Object, objects_of, pack_of};
use eval_host_tests::{Workbench, project_root};
use serde_json::Value;

use crate::{run, workbench};

/// The interpreter that finds PyPI's `blake3`.
fn python() -> PathBuf {
    let script = project_root().join("tests/python-with-blake3.sh");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("blake3");
    let output = Command::new("bash").arg(script).arg(folder).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end())
}

/// What the other implementation says, a line for each path.
fn theirs(workbench: &Workbench, arguments: &[&str]) -> Vec<Value> {
    let verifier = project_root().join("docs/verifier/verify.py");
    let mut command = Command::new(python());
    let output = command.arg("-B").arg(verifier).arg("--json").args(arguments).current_dir(workbench.path()).output();
    let output = output.expect("the verifier runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "it complains of nothing");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    stdout.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect()
}

/// What `verify` says. Of what cannot even be opened it says it on stderr.
fn ours(workbench: &Workbench, arguments: &[&str]) -> (String, String) {
    let ended = workbench.eval(["verify", "--trust-on-first-use"]).args(arguments).run();
    let of_line = ended.lines("verification").first().map(|line| line["state"].as_str().expect("a state").to_owned());
    let of_error =
        || ["TAMPERED", "UNVERIFIABLE"].into_iter().find(|state| ended.stderr.contains(&format!("` is {state}\n")));
    let state =
        of_line.or_else(|| of_error().map(str::to_owned)).unwrap_or_else(|| panic!("no state: {}", ended.stderr));
    (state, ended.stderr)
}

const BLOCK: usize = 512;

/// The files in a bundle.
fn entries(tar: &[u8]) -> Entries {
    let (mut entries, mut rest) = (Vec::new(), tar);
    while rest.len() > 2 * BLOCK {
        let text = |range: std::ops::Range<usize>| String::from_utf8(rest[range].to_vec()).expect("text");
        let size = usize::from_str_radix(&text(124..135), 8).expect("octal digits");
        entries.push((text(0..100).trim_end_matches('\0').to_owned(), rest[BLOCK..BLOCK + size].to_vec()));
        rest = &rest[BLOCK + size.next_multiple_of(BLOCK)..];
    }
    entries
}

/// The bundle with these files.
fn bundle(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in entries {
        let mut header = vec![0; BLOCK];
        let size = format!("{:011o}\0", content.len());
        let fields = [(0, name.as_str()), (100, "0000600\0"), (108, "0000000\0"), (116, "0000000\0"), (124, &size)];
        for (at, text) in
            fields.into_iter().chain([(136, "00000000000\0"), (148, "        "), (156, "0"), (257, "ustar\x0000")])
        {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(content);
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    tar
}

/// The files of a bundle, in order.
type Entries = Vec<(String, Vec<u8>)>;

/// Something that is done to a bundle, and what it is called.
type Change<T> = (&'static str, fn(&mut T));

/// The first file whose name begins so.
fn file<'a>(entries: &'a mut Entries, name: &str) -> &'a mut (String, Vec<u8>) {
    entries.iter_mut().find(|(found, _)| found.starts_with(name)).expect("a file of this name")
}

fn edit(entries: &mut Entries, name: &str, from: &str, to: &str) {
    let (_, content) = file(entries, name);
    let text = String::from_utf8(content.clone()).expect("text");
    assert!(text.contains(from), "{text}");
    *content = text.replacen(from, to, 1).into_bytes();
}

/// Packs other objects.
fn repack(entries: &mut Entries, change: impl FnOnce(&mut Vec<Object>)) {
    let pack = file(entries, "packs/");
    let mut objects = objects_of(&pack.1);
    change(&mut objects);
    let (name, bytes) = pack_of(&objects);
    *pack = (format!("packs/{name}"), bytes);
}

fn add_object(entries: &mut Entries, content: &[u8]) {
    repack(entries, |objects| {
        objects.push((blake3::hash(content).to_hex().to_string(), content.to_vec()));
        objects.sort();
    });
}

/// What can be done to the files of a bundle, each with its header made right again.
const FORGERIES: [Change<Entries>; 20] = [
    ("nothing", |_| {}),
    ("an object that nobody names", |entries| add_object(entries, b"a stowaway")),
    ("an edited object", |entries| repack(entries, |objects| objects[0].1.push(b'x'))),
    ("a missing object", |entries| repack(entries, |objects| drop(objects.pop()))),
    ("objects in another order", |entries| repack(entries, |objects| objects.swap(0, 1))),
    ("an object twice", |entries| repack(entries, |objects| objects.insert(1, objects[0].clone()))),
    ("no objects", |entries| drop(entries.pop())),
    ("another name of the pack", |entries| file(entries, "packs/").0 = format!("packs/{}.pack", "7".repeat(64))),
    ("an edited record", |entries| edit(entries, "runs/", "\"curator\"", "\"curatoR\"")),
    ("a missing record", |entries| entries.retain(|(name, _)| !name.starts_with("runs/"))),
    ("an earlier record", |entries| edit(entries, "bundle.json", "\"seq\":2", "\"seq\":1")),
    ("a later record", |entries| edit(entries, "bundle.json", "\"seq\":2", "\"seq\":3")),
    ("another class", |entries| edit(entries, "bundle.json", "\"fixture\"", "\"another\"")),
    ("less that is left out", |entries| edit(entries, "bundle.json", "\"markers\",", "")),
    ("a description spelled otherwise", |entries| edit(entries, "bundle.json", "\"seq\":", "\"seq\": ")),
    ("no description", |entries| drop(entries.remove(1))),
    ("a newer description", |entries| edit(entries, "bundle.json", "\"schema_version\":1", "\"schema_version\":2")),
    ("an identity spelled otherwise", |entries| edit(entries, "store.json", "{", "{ ")),
    ("another order", |entries| entries.swap(2, 3)),
    ("a foreign file", |entries| entries.push(("README".to_owned(), b"hello".to_vec()))),
];

/// What can be done to the bytes of a bundle.
const DAMAGES: [Change<Vec<u8>>; 5] = [
    ("cut", |tar| tar.truncate(tar.len() - BLOCK)),
    ("cut in the middle", |tar| tar.truncate(tar.len() / 2)),
    ("longer", |tar| tar.extend([0; BLOCK])),
    ("another time in a header", |tar| tar[136] = b'1'),
    ("something between the files", |tar| tar[BLOCK + 200] = 1),
];

#[test]
fn two_implementations_agree_on_bundles_and_on_whatever_was_done_to_them() {
    let workbench = workbench();
    run(&workbench, "00*");
    let record = run(&workbench, "001*");
    let _ended = workbench.eval(["export", record.to_str().expect("UTF-8"), "--to=0.tar"]).run().expect_code(0);
    let tar = fs::read(workbench.path().join("0.tar")).expect("a bundle");
    assert_eq!(bundle(&entries(&tar)), tar, "this test writes bundles as export does");
    let forged = FORGERIES.map(|(what, forge)| {
        let mut entries = entries(&tar);
        forge(&mut entries);
        (what, bundle(&entries))
    });
    let damaged = DAMAGES.map(|(what, damage)| {
        let mut tar = tar.clone();
        damage(&mut tar);
        (what, tar)
    });
    let bundles: Vec<_> = forged.into_iter().chain(damaged).collect();
    let names: Vec<_> = (0..bundles.len()).map(|number| format!("{number}.tar")).collect();
    for (name, (_, bytes)) in names.iter().zip(&bundles) {
        fs::write(workbench.path().join(name), bytes).expect("written");
    }
    let said = theirs(&workbench, &names.iter().map(String::as_str).collect::<Vec<_>>());
    for ((name, (what, _)), line) in names.iter().zip(&bundles).zip(said) {
        let (state, stderr) = ours(&workbench, &[name]);
        assert_eq!(line["state"], state.as_str(), "{what}: {stderr}{line}");
        assert_eq!(state == "OK", *what == "nothing", "{what}: {stderr}");
    }
}

#[test]
fn two_implementations_agree_on_what_is_unpacked_from_a_bundle() {
    let workbench = workbench();
    run(&workbench, "00*");
    let record = run(&workbench, "001*");
    let _ended = workbench.eval(["export", record.to_str().expect("UTF-8"), "--to=0.tar"]).run().expect_code(0);
    let tar = fs::read(workbench.path().join("0.tar")).expect("a bundle");
    let forgeries = [
        "nothing",
        "an edited object",
        "a missing object",
        "an edited record",
        "a later record",
        "a newer description",
    ];
    for (what, forge) in FORGERIES.into_iter().filter(|(what, _)| forgeries.contains(what)) {
        let mut entries = entries(&tar);
        forge(&mut entries);
        let store = workbench.path().join(what);
        for (name, content) in entries {
            let path = store.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, content).expect("written");
        }
        let (state, stderr) = ours(&workbench, &["--out", what]);
        let line = &theirs(&workbench, &[what])[0];
        assert_eq!(line["state"], state.as_str(), "{what}: {stderr}{line}");
        assert_eq!(state == "OK", what == "nothing", "{what}: {stderr}");
    }
}

/// A key that is trusted.
fn make_key(workbench: &Workbench) {
    let key = workbench.eval(["keygen", "--name=ci.example.org/eval-host", "--key=secret"]).run().expect_code(0);
    let verifier = key.line("key")["verifier"].as_str().expect("a key").to_owned();
    fs::create_dir_all(workbench.path().join("audit/anchors")).expect("made");
    fs::write(workbench.path().join("audit/anchors/keys"), format!("# trusted\n{verifier}\n")).expect("written");
}

const STORE: &str = ".codegenie/eval";
const KEYS: &str = "audit/anchors/keys";

/// Asserts that both give the store this state, against a checkpoint.
#[track_caller]
fn both_say(workbench: &Workbench, expected: &str, checkpoint: &str) {
    both_say_of(workbench, expected, &["--against", checkpoint]);
}

/// Asserts that both give the store this state, and gives what ours says beside it, and what theirs does.
#[track_caller]
fn both_say_of(workbench: &Workbench, expected: &str, arguments: &[&str]) -> (String, Value) {
    let (state, stderr) = ours(workbench, &[arguments, &["--trusted-keys", KEYS]].concat());
    let line = theirs(workbench, &[&[STORE], arguments, &["--keys", KEYS]].concat()).remove(0);
    assert_eq!((state.as_str(), line["state"].as_str()), (expected, Some(expected)), "{stderr}{line}");
    (stderr, line)
}

#[test]
fn two_implementations_agree_on_what_a_checkpoint_says_of_a_store() {
    let workbench = workbench();
    make_key(&workbench);
    run(&workbench, "00*");
    let second = run(&workbench, "001*");
    let anchored = workbench.eval(["anchor", "--key=secret"]).run().expect_code(0).line("checkpoint");
    let checkpoint = anchored["path"].as_str().expect("a path").to_owned();
    both_say(&workbench, "OK", &checkpoint);
    let third = run(&workbench, "001*");
    both_say(&workbench, "OK", &checkpoint);
    fs::remove_dir_all(workbench.path().join("home/.local")).expect("what was seen is forgotten");
    fs::remove_file(third).expect("removed");
    both_say(&workbench, "OK", &checkpoint);
    fs::remove_file(second).expect("removed");
    both_say(&workbench, "TAMPERED", &checkpoint);
}

/// Runs a case and signs, and gives the path of the note.
fn run_signed(workbench: &Workbench, key: &str) -> PathBuf {
    let key = format!("--key={key}");
    let ended = workbench.eval(["run", "--task-class=fixture", "--cases=001*", &key]).run().expect_code(0);
    ended.record_path(workbench.path()).with_extension("note")
}

/// Asserts that both count these signed records, of four.
#[track_caller]
fn both_count(workbench: &Workbench, [trusted, unknown, unsigned]: [u64; 3]) {
    let (stderr, line) = both_say_of(workbench, "OK", &[]);
    let s = if trusted == 1 { "" } else { "s" };
    let ours = format!(
        "fixture: {trusted} record{s} signed by trusted keys, {unknown} by unknown keys, {unsigned} not signed\n"
    );
    assert!(stderr.contains(&ours), "{ours}{stderr}");
    let theirs = format!("{trusted} of 4 records are signed by a trusted key");
    assert!(line["notes"].as_array().expect("notes").contains(&Value::from(theirs)), "{line}");
}

/// Something that is made of a note, the note of a later record, and a stranger's of another one.
type NoteForgery = (&'static str, fn(&str, &str, &str) -> String);

/// The text of a note and its signatures.
fn parts(note: &str) -> (&str, &str) {
    note.split_once("\n\n").expect("a text and signatures")
}

/// The note with the last byte of its signature changed.
fn misspelled(note: &str) -> String {
    let signature = note.trim_end_matches(['\n', '=']);
    let (rest, last) = signature.split_at(signature.len() - 2);
    format!("{rest}{}{}", if last.starts_with('A') { 'B' } else { 'A' }, &note[rest.len() + 1..])
}

const NOTE_FORGERIES: [NoteForgery; 9] = [
    ("edited", |note, _, _| note.replacen("fixture 1 ", "fixture 2 ", 1)),
    ("of another record", |_, other, _| other.to_owned()),
    ("of another record by somebody unknown", |_, _, stranger| stranger.to_owned()),
    ("with the signature of another record", |note, other, _| format!("{}\n\n{}", parts(note).0, parts(other).1)),
    ("with a misspelled signature", |note, _, _| misspelled(note)),
    ("with a wrong signature behind the right one", |note, other, _| format!("{note}{}", parts(other).1)),
    ("without a signature", |note, _, _| format!("{}\n\n", parts(note).0)),
    ("with a line that is no signature", |note, _, _| format!("{note}signed, me\n")),
    ("emptied", |_, _, _| String::new()),
];

#[test]
fn two_implementations_agree_on_who_signed_a_record_and_on_whatever_was_done_to_its_note() {
    let workbench = workbench();
    make_key(&workbench);
    let _ended = workbench.eval(["keygen", "--name=stranger", "--key=stranger"]).run().expect_code(0);
    let [first, second] = [run_signed(&workbench, "secret"), run_signed(&workbench, "secret")];
    let unknown = run_signed(&workbench, "stranger");
    run(&workbench, "001*");
    both_count(&workbench, [2, 1, 1]);
    let [note, other, stranger] = [&first, &second, &unknown].map(|path| fs::read_to_string(path).expect("a note"));
    for (what, forge) in NOTE_FORGERIES {
        let forged = forge(&note, &other, &stranger);
        assert_ne!(forged, note, "{what}");
        fs::write(&first, forged).expect("written");
        let (stderr, line) = both_say_of(&workbench, "TAMPERED", &[]);
        let name = first.file_stem().and_then(|stem| stem.to_str()).expect("UTF-8");
        assert!(stderr.contains(name) && line["findings"].to_string().contains(name), "{what}: {stderr}{line}");
    }
    fs::write(&first, format!("{note}{}", parts(&stranger).1)).expect("written");
    both_count(&workbench, [2, 1, 1]);
    fs::write(&unknown, stranger.replacen("fixture 3 ", "fixture 4 ", 1)).expect("written");
    both_say_of(&workbench, "TAMPERED", &[]);
    fs::write(&unknown, stranger).expect("written");
    fs::remove_file(&first).expect("removed");
    both_count(&workbench, [1, 1, 2]);
}
