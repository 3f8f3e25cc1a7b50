//! Many processes at one store.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::{
    AppendError, State, StoreReader, StoreWriter, Told, append, child, records_in, state_of, store_with, told, verified,
};
use crate::pack::testing::packs_in;
use crate::record::RecordedRun;
use crate::verify::{Checks, FirstUse, LastSeenFile, verify_store};

#[test]
fn two_hundred_processes_append_two_hundred_records_and_no_fork() {
    let (_temp, path) = store_with(0);
    let start = |number: u32| {
        let name = if number.is_multiple_of(4) { "b" } else { "a" };
        child(&[], &path, name, number).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let children: Vec<_> = (0..200).map(start).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(matches!(told(&output), Told::Committed { .. }), "{output:?}");
    }
    assert_eq!(state_of(&path), (State::Ok, Vec::new()));
    let verification = verified(&path);
    assert_eq!(verification.classes[&super::class("a")].records, 150);
    assert_eq!(verification.classes[&super::class("b")].records, 50);
    let packs = path.join("packs");
    assert_eq!(fs::read_dir(&packs).expect("listed").count(), packs_in(&packs).len(), "everybody cleaned up");
}

/// Everything that a live run does to a store, in the midst of somebody's verification of it.
#[test]
fn whoever_verifies_while_others_append_never_calls_it_tampered() {
    let (temp, path) = store_with(2);
    let last_seen = LastSeenFile::open(&temp.path().join("state"), &path, super::PATIENCE).expect("it opens");
    let reader = StoreReader::open(&path, super::PATIENCE).expect("a store");
    let checks = Checks { last_seen: Some(&last_seen), first_use: FirstUse::Trust, user: super::user() };
    let append_and_remember = |label: u32| {
        let store = super::open(&path);
        let started_at = "2026-11-16T09:00:00.000Z".parse().expect("a moment");
        let marker =
            store.announce(&super::class("a"), started_at, 2, crate::store::Announced::Whole).expect("announced");
        let run = super::Run::of("a", label);
        let incoming = store.incoming().expect("it takes objects");
        run.keep_objects(&incoming);
        let build = |position: &_| run.live_at(position, marker);
        store.append(&super::Snapshot::default(), &super::class("a"), &incoming, build).expect("committed");
        let seen = verify_store(store.reader(), checks, &mut |_, _| {}).expect("it can be read");
        last_seen.advance(seen.store_id, seen.heads(), &seen.marker_heads(), None).expect("remembered");
    };
    let check = |progress: &mut dyn FnMut(usize, usize)| {
        let verification = verify_store(&reader, checks, progress).expect("it can be read");
        assert_eq!(verification.state(), State::Ok, "{:?}", verification.findings);
    };
    // After the records were listed and before the end.
    check(&mut |done, _| append_and_remember(u32::try_from(done).expect("a few")));
    // And at any other time.
    thread::scope(|scope| {
        let others = scope.spawn(|| (10..50).for_each(append_and_remember));
        while !others.is_finished() {
            check(&mut |_, _| {});
        }
    });
}

#[test]
fn a_writer_whose_store_was_replaced_while_it_waited_writes_nothing() {
    let (temp, path) = store_with(1);
    let store = super::open(&path);
    let incoming = store.incoming().expect("it takes objects");
    let run = super::Run::of("a", 2);
    run.keep_objects(&incoming);
    fs::rename(&path, temp.path().join("moved")).expect("moved");
    super::open(&path);
    let error = store.append(&super::Snapshot::default(), &super::class("a"), &incoming, |position| run.at(position));
    let text = format!("{:?}", error.expect_err("the store is another one"));
    assert!(text.contains("Replaced"), "{text}");
    assert_eq!(records_in(&path).len(), 0);
    assert_eq!(records_in(&temp.path().join("moved")).len(), 1);
}

#[test]
fn a_stopped_holder_of_the_lock_is_named_and_a_killed_one_holds_it_no_longer() {
    let (_temp, path) = store_with(1);
    let mut holder = child(&[], &path, "a", 2)
        .env(super::CHILD_LOCKS, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(holder.stdout.take().expect("its stdout")).lines();
    assert!(lines.any(|line| line.expect("text") == "LOCKED"), "it ended without the lock");
    let pid = Pid::from_child(&holder);
    kill_process(pid, Signal::STOP).expect("stopped");
    waitpid(Some(pid), WaitOptions::UNTRACED).expect("it is a child");
    let impatient = StoreWriter::open(&path, super::user(), Duration::ZERO).expect("no lock is needed to open it");
    let error = impatient.lock().expect_err("it is held").to_string();
    assert!(error.contains(&format!("locked by process {}, which is stopped", holder.id())), "{error}");
    holder.kill().expect("killed");
    holder.wait().expect("it ends");
    append(&path, "a", 2).expect("the lock is free");
    assert_eq!(state_of(&path), (State::Ok, Vec::new()));
}

/// Two writers that did not exclude each other: each appended to a copy, and both records are in one store afterwards.
#[test]
fn two_records_with_one_number_are_a_fork_that_is_named_with_its_files() {
    let (temp, path) = store_with(2);
    let other = temp.path().join("other");
    super::copy(&path, &other);
    let mine = append(&path, "a", 3).expect("committed");
    let theirs = append(&other, "a", 4).expect("committed");
    super::copy(&other, &path);
    let (state, findings) = state_of(&path);
    assert_eq!((state, findings.len()), (State::Tampered, 1), "{findings:?}");
    assert!(findings[0].starts_with("record 3 of `a`: the chain forks here: 2 records"), "{findings:?}");
    for receipt in [&mine, &theirs] {
        assert!(findings[0].contains(receipt.link.file_name().as_str()), "{findings:?}");
    }
    assert!(append(&path, "a", 5).is_err(), "a forked chain is not continued");
}

/// Somebody who holds no lock puts a file where the record is about to go, after the writer has looked.
#[test]
fn a_name_that_is_taken_is_never_written_over() {
    let (_temp, path) = store_with(1);
    let store = super::open(&path);
    let run = super::Run::of("a", 2);
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let mut taken = path.join("runs");
    let build = |position: &_| {
        let record = run.at(position);
        let (_, link) = RecordedRun::read(&record.to_bytes()).expect("a record");
        taken.push(link.file_name().as_str());
        fs::write(&taken, "somebody else's").expect("written");
        record
    };
    let error = store.append(&super::Snapshot::default(), &super::class("a"), &incoming, build).expect_err("taken");
    assert!(matches!(error, AppendError::NotCommitted { .. }), "{error:?}");
    assert_eq!(fs::read(&taken).expect("readable"), b"somebody else's");
    let drafts = fs::read_dir(path.join("runs")).expect("listed").count() - records_in(&path).len();
    assert_eq!(drafts, 0, "the draft was taken away");
}
