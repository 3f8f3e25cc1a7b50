//! Tests of `writer`.

use super::*;
use crate::anchor::{MarkerHead, RecordSignature, TrustedKeys};
use crate::chain::Heads;
use crate::memory::IntentsFile;
use crate::pack::testing::{objects_in, packs_in, repack};
use crate::record::fixture::Run;
use crate::store::DraftEnd;
use crate::verify::{
    Checks, FirstUse, LastSeenFile, SignatureCounts, State, Verification, verify_evidence, verify_store,
};
use eval_model::ids::RecordHash;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn class(name: &str) -> TaskClassName {
    name.parse().expect("a task class")
}

pub(in crate::store) fn new_store() -> (TempDir, StoreWriter) {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = open_store(&temp.path().join(".codegenie/eval"), &temp.path().join("state"));
    (temp, store)
}

/// A store whose writer remembers in `state` what it is about to commit.
pub(in crate::store) fn open_store(path: &Path, state: &Path) -> StoreWriter {
    let last_seen = LastSeenFile::open(state, path, PATIENCE).expect("it opens");
    let intents = Intents::Remembered(IntentsFile::on(last_seen.shelf()));
    StoreWriter::open(path, user(), PATIENCE).expect("a store").remembering(intents)
}

pub(in crate::store) fn append(store: &StoreWriter, name: &str, label: u32) -> Receipt {
    try_append(store, &Snapshot::default(), name, &Run::of(name, label)).expect("committed")
}

fn try_append(store: &StoreWriter, known: &Snapshot, name: &str, run: &Run) -> Result<Receipt, AppendError> {
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    store.append(known, &class(name), &incoming, |position| run.at(position))
}

/// The secret key of Go's documentation of notes.
pub(in crate::store) const KEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

pub(in crate::store) fn append_signed(store: &StoreWriter, name: &str, label: u32) -> Receipt {
    let (run, signer) = (Run::of(name, label), KEY.parse().expect("a key"));
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let build = |position: &_| run.at(position);
    store.append_signed(&Snapshot::default(), &class(name), &incoming, Some(&signer), build).expect("committed")
}

fn verified(store: &StoreWriter) -> Verification {
    verify_evidence(store.reader(), &mut |_, _| {}).expect("it can be read")
}

pub(in crate::store) fn state_of(store: &StoreWriter) -> (State, Vec<String>) {
    let verification = verified(store);
    (verification.state(), verification.findings.iter().map(ToString::to_string).collect())
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o7777
}

#[test]
fn records_of_two_classes_are_chained_and_private() {
    let (_temp, store) = new_store();
    let mut heads = Heads::default();
    for (name, label) in [("a", 1), ("b", 2), ("a", 3), ("a", 4)] {
        let receipt = append(&store, name, label);
        assert_eq!(receipt.link.position, heads.next(store.reader().id(), &class(name)));
        heads.set(class(name), receipt.link.head());
        assert_eq!(mode_of(&receipt.path), 0o600);
        assert_eq!(hash_of(&fs::read(&receipt.path).expect("readable")), receipt.link.hash);
    }
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
}

fn signer() -> NoteSigner {
    KEY.parse().expect("a key")
}

#[test]
fn a_signed_record_has_a_private_note_beside_it_and_the_others_have_none() {
    let (_temp, store) = new_store();
    let plain = append(&store, "a", 1);
    let signed = append_signed(&store, "a", 2);
    assert!(!plain.path.with_extension("note").exists());
    let note = signed.path.with_extension("note");
    let expected = RecordNote::of(&signed.link).sign(&signer()).expect("signed");
    assert_eq!((mode_of(&note), fs::read_to_string(&note).expect("text")), (0o600, expected));
    assert_eq!(store.reader().runs().names().expect("listed").len(), 3);
}

#[test]
fn a_signature_is_unknown_until_somebody_says_whom_to_trust() {
    let (_temp, store) = new_store();
    let (plain, signed) = (append(&store, "a", 1), append_signed(&store, "a", 2));
    let mut verification = verified(&store);
    let name = || "PeterNeumann".to_owned();
    assert_eq!(*verification.signature(&signed.link), RecordSignature::UnknownKey { name: name() });
    verification.check_signatures(&TrustedKeys::default().trusting(signer().verifier()).expect("a key"));
    assert_eq!(*verification.signature(&signed.link), RecordSignature::Trusted { key: signer().verifier().clone() });
    assert_eq!(*verification.signature(&plain.link), RecordSignature::None);
    let counts = SignatureCounts { trusted: 1, unknown: 0, unsigned: 1 };
    assert_eq!((verification.signature_counts(&class("a")), verification.state()), (counts, State::Ok));
}

/// A signed record that only needs to be written.
fn ready(store: &StoreWriter, label: u32) -> Ready {
    let run = Run::of("a", label);
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let prepared = store.prepare(&Snapshot::default(), &class("a"), &incoming, |position| run.at(position));
    let mut ready = prepared.expect("nothing is in the way");
    ready.note = Some(ReadyNote::new(&ready, &signer()).expect("signed"));
    ready
}

/// Another writer without the lock had the same record.
#[test]
fn a_signature_that_is_there_already_stays_with_its_record() {
    let (_temp, store) = new_store();
    append_signed(&store, "a", 1);
    let names = || store.reader().runs().names().expect("listed");
    let (mine, theirs) = (ready(&store, 2), ready(&store, 2));
    store.write_draft(&mine).expect("written");
    store.publish(&mine).expect("committed");
    let before = names();
    store.write_draft(&theirs).expect_err("the signature's name is taken");
    assert_eq!(names(), before);
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
}

/// Somebody took the place of the record after the writer had looked.
#[test]
fn a_signed_record_whose_name_is_taken_leaves_no_draft() {
    let (_temp, store) = new_store();
    let ready = ready(&store, 1);
    store.write_draft(&ready).expect("written");
    fs::write(store.reader().runs().path().join(&ready.name), "somebody else's").expect("written");
    assert!(matches!(store.publish(&ready), Err(AppendError::NotCommitted { .. })));
    assert_eq!(
        store.reader().runs().names().expect("listed"),
        [&ready.name, &RecordFileName::note_of(&ready.name)].map(std::ffi::OsString::from)
    );
    assert_eq!(state_of(&store).0, State::Tampered, "the file that somebody put there is no record");
}

#[test]
fn a_store_is_private_and_keeps_its_identity() {
    let (_temp, store) = new_store();
    let root = store.reader().root().path();
    for dir in [root, store.reader().runs().path(), store.reader().packs().shelf().dir().path()] {
        assert_eq!(mode_of(dir), 0o700, "{}", dir.display());
    }
    let again = StoreWriter::open(root, user(), PATIENCE).expect("it opens again");
    assert_eq!(again.reader().id(), store.reader().id());
}

#[test]
fn an_append_reads_only_what_is_new_but_notices_what_was_changed_or_removed() {
    let (_temp, store) = new_store();
    let first = append(&store, "a", 1);
    let second = append(&store, "a", 2);
    let known = verified(&store).snapshot;
    append(&store, "a", 3);
    let run = Run::of("a", 4);
    let again = |known: &Snapshot| try_append(&store, known, "a", &run);
    assert_eq!(again(&known).expect("committed").link.position.seq, 4);

    let removed = fs::read(&first.path).expect("readable");
    fs::remove_file(&first.path).expect("removed");
    let error = again(&known).expect_err("a record is gone");
    assert!(matches!(&error, AppendError::NotCommitted { source: NotCommitted::Broken(_), .. }), "{error:?}");
    fs::write(&first.path, removed).expect("restored");

    let known = verified(&store).snapshot;
    let newest = known.newest(&class("a")).expect("a head").file_name();
    fs::copy(&second.path, store.reader().runs().path().join(newest.as_str())).expect("overwritten");
    let error = again(&known).expect_err("the head was changed");
    assert!(matches!(&error, AppendError::NotCommitted { source: NotCommitted::HeadChanged, .. }), "{error:?}");
}

#[test]
fn a_changed_record_is_named_and_the_chain_is_not_continued() {
    let (_temp, store) = new_store();
    let receipts: Vec<_> = (1..=3).map(|label| append(&store, "a", label)).collect();
    let mut bytes = fs::read(&receipts[1].path).expect("readable");
    let place = bytes.windows(5).position(|five| five == b"agent").expect("the agent's name");
    bytes[place] = b'A';
    fs::write(&receipts[1].path, bytes).expect("overwritten");
    let (state, findings) = state_of(&store);
    assert_eq!(state, State::Tampered);
    assert_eq!(findings.len(), 1);
    let file = receipts[1].link.file_name();
    assert!(
        findings[0].starts_with(&format!("record 2 of `a` (`runs/{file}`): it was edited or renamed")),
        "{findings:?}"
    );
    let error = try_append(&store, &Snapshot::default(), "a", &Run::of("a", 4));
    assert!(matches!(error, Err(AppendError::NotCommitted { source: NotCommitted::Broken(_), .. })));
}

#[test]
fn a_record_is_given_only_as_it_was_verified() {
    let (_temp, store) = new_store();
    let (first, second) = (append(&store, "a", 1), append(&store, "a", 2));
    assert_eq!(store.reader().verified_record(&first.link).expect("as verified").seq, 1);
    fs::copy(&second.path, &first.path).expect("overwritten");
    assert!(store.reader().verified_record(&first.link).is_none(), "another record is there now");
    fs::remove_file(&first.path).expect("removed");
    assert!(store.reader().verified_record(&first.link).is_none());
    assert_eq!(store.reader().verified_record(&second.link).expect("as verified").seq, 2);
}

#[test]
fn a_marker_of_a_newer_version_is_unverifiable_and_not_tampered() {
    let (temp, store) = new_store();
    let newer = b"{\"schema_version\":2,\"region\":\"north\"}\n";
    let path = store.started.path().join("20261116T090000.000Z-00000000.json");
    fs::write(&path, newer).expect("written");
    let (run, incoming) = (Run::of("a", 1), store.incoming().expect("it takes objects"));
    run.keep_objects(&incoming);
    let build = |position: &_| run.live_at(position, Digest::of(newer));
    store.append(&Snapshot::default(), &class("a"), &incoming, build).expect("committed");
    let last_seen = LastSeenFile::open(temp.path(), store.reader().root().path(), PATIENCE).expect("a last-seen head");
    let started = [(class("a"), MarkerHead { seq: 1, digest: Digest::of(newer) })].into();
    last_seen.advance(store.reader().id(), verified(&store).heads(), &started, None).expect("remembered");
    let state = || {
        let checks = Checks { last_seen: Some(&last_seen), first_use: FirstUse::Refuse, user: user() };
        let found = verify_store(store.reader(), checks, &mut |_, _| {}).expect("it can be read");
        (found.state(), found.findings.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let (unverifiable, findings) = state();
    assert_eq!((unverifiable, findings.len()), (State::Unverifiable, 1), "{findings:?}");
    assert!(findings[0].ends_with("it has format version 2, and this program reads up to 1: use a newer eval-host"));
    fs::write(&path, "{\"schema_version\":1,\"region\":\"north\"}\n").expect("written");
    assert_eq!(state().0, State::Tampered);
    fs::remove_file(&path).expect("removed");
    assert_eq!(state().0, State::Tampered);
}

/// What cannot be remembered is not written either: nobody could finish it.
#[test]
fn a_record_that_nobody_could_remember_is_not_committed() {
    let (temp, store) = new_store();
    append(&store, "a", 1);
    let state = temp.path().join("state/last-seen");
    let intents = fs::read_dir(&state).expect("listed").map(|entry| entry.expect("an entry").path());
    let intents: Vec<_> = intents.filter(|path| path.to_str().is_some_and(|path| path.contains("intents"))).collect();
    fs::write(&intents[0], "damaged").expect("written");
    let error = try_append(&store, &Snapshot::default(), "a", &Run::of("a", 2)).expect_err("nothing is remembered");
    assert!(matches!(&error, AppendError::NotCommitted { source: NotCommitted::Intend(_), .. }), "{error:?}");
    assert_eq!((error.exit(), error.hint().is_some()), (Exit::HarnessError, true));
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    assert_eq!(verified(&store).links.len(), 1);
}

#[test]
fn a_record_cannot_name_what_is_not_stored() {
    let (_temp, store) = new_store();
    let run = Run::of("a", 1);
    let nothing = store.incoming().expect("it takes objects");
    let error = store.append(&Snapshot::default(), &class("a"), &nothing, |position| run.at(position));
    assert!(matches!(error, Err(AppendError::NotCommitted { source: NotCommitted::Object(_), .. })));
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
}

/// Commits a record of a live run with the answers of one label, whatever it says of itself.
fn try_append_live(
    store: &StoreWriter,
    run: &Run,
    build: impl FnOnce(&Position) -> EvalRunRecord<BenchScore>,
) -> Result<Receipt, AppendError> {
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    store.append(&Snapshot::default(), &class("a"), &incoming, build)
}

#[test]
fn a_record_is_held_to_the_one_that_it_continues_before_it_is_chained() {
    let (_temp, store) = new_store();
    let (run, other) = (Run::of("a", 2), Run::of("a", 4));
    let marker = |name: &[u8]| Digest::of(name);
    let capped =
        try_append_live(&store, &run, |position| run.capped_at(position, marker(b"first"))).expect("committed");
    let refused = |run: &Run, hash: RecordHash| {
        let build = |position: &_| run.continuing_at(position, marker(b"second"), hash);
        match try_append_live(&store, run, build) {
            Err(AppendError::NotCommitted { source: NotCommitted::Contradiction(found), .. }) => found.to_string(),
            end => panic!("{end:?}"),
        }
    };
    let nothing = refused(&run, RecordHash::GENESIS);
    assert!(nothing.ends_with("no earlier record of its task class here has that hash"), "{nothing}");
    assert_eq!(
        refused(&other, capped.link.hash),
        "it continues record 1, and its case `001-first` has another output than there"
    );
    let build = |position: &_| run.continuing_at(position, marker(b"second"), capped.link.hash);
    try_append_live(&store, &run, build).expect("committed");
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
}

/// The record that is named may be one that only a newer program reads.
#[test]
fn a_record_that_continues_what_cannot_be_read_is_unverifiable_and_not_tampered() {
    let (_temp, store) = new_store();
    let run = Run::of("a", 2);
    let capped = try_append_live(&store, &run, |position| run.capped_at(position, Digest::of(b"first")));
    let capped = capped.expect("committed");
    let build = |position: &_| run.continuing_at(position, Digest::of(b"second"), capped.link.hash);
    try_append_live(&store, &run, build).expect("committed");
    fs::write(&capped.path, "{\"schema_version\":2}\n").expect("written");
    let findings = verified(&store).findings;
    let continued = |finding: &&Finding| finding.to_string().contains("it says that it continues");
    assert!(!findings.iter().any(|finding| continued(&finding)), "{findings:?}");
    fs::remove_file(&capped.path).expect("removed");
    let findings = verified(&store).findings;
    assert!(findings.iter().any(|finding| continued(&finding)), "{findings:?}");
}

/// The lock keeps writers from losing their work to each other. Where it does not exclude, nothing is lost without a word
/// either: both records are there, and the fork is named.
#[test]
fn writers_without_the_lock_write_nothing_over_and_make_a_fork_that_is_named() {
    let (_temp, store) = new_store();
    append(&store, "a", 1);
    let ready = |label| {
        let run = Run::of("a", label);
        let incoming = store.incoming().expect("it takes objects");
        run.keep_objects(&incoming);
        let ready = store.prepare(&Snapshot::default(), &class("a"), &incoming, |position| run.at(position));
        ready.expect("nothing is in the way")
    };
    let all = [ready(2), ready(3), ready(2)];
    let ends = all.each_ref().map(|ready| store.write_draft(ready).map(|()| store.publish(ready)));
    assert!(matches!(ends, [Ok(Ok(_)), Ok(Ok(_)), Ok(Err(AppendError::NotCommitted { .. }))]), "{ends:?}");
    let (state, findings) = state_of(&store);
    assert_eq!((state, findings.len()), (State::Tampered, 1), "{findings:?}");
    assert!(findings[0].starts_with("record 2 of `a`: the chain forks here: 2 records"), "{findings:?}");
}

#[test]
fn a_record_for_another_place_is_not_committed() {
    let (_temp, store) = new_store();
    let run = Run::of("b", 1);
    let elsewhere = Heads::default().next(store.reader().id(), &class("b"));
    let incoming = store.incoming().expect("it takes objects");
    let error = store.append(&Snapshot::default(), &class("a"), &incoming, |_| run.at(&elsewhere));
    assert!(matches!(error, Err(AppendError::NotCommitted { source: NotCommitted::Misplaced, .. })));
}

#[test]
fn objects_are_stored_once_and_a_changed_one_is_noticed_by_writer_and_verifier() {
    let (_temp, store) = new_store();
    append(&store, "a", 1);
    let packs = packs_of(&store);
    let before = packs_in(&packs);
    append(&store, "a", 1);
    assert_eq!(packs_in(&packs), before, "nothing was new");
    append(&store, "a", 2);
    let stored: Vec<_> = objects_in(&packs).into_iter().map(|(digest, _)| digest).collect();
    assert_eq!(stored.len(), stored.iter().collect::<BTreeSet<_>>().len(), "each is stored once");
    repack(&packs, |objects| objects[0].1.push(b'x'));
    assert_eq!(state_of(&store).0, State::Tampered);
    let incoming = store.incoming().expect("it takes objects");
    let kept: Vec<_> = Run::of("a", 1).objects().map(|bytes| incoming.keep(bytes)).collect();
    assert!(kept.iter().any(|kept| matches!(kept, Err(KeepObjectError::Existing(_)))), "{kept:?}");
    repack(&packs, |objects| drop(objects.remove(0)));
    assert_eq!(state_of(&store).0, State::Unverifiable);
}

fn packs_of(store: &StoreWriter) -> PathBuf {
    store.reader().packs().shelf().dir().path().to_owned()
}

/// Two runs at a time do not know of each other's objects until they commit.
#[test]
fn objects_that_two_runs_bring_at_once_are_stored_once() {
    let (_temp, store) = new_store();
    let runs = [Run::of("a", 1), Run::of("a", 2), Run::of("a", 1)];
    let incoming = [0; 3].map(|_| store.incoming().expect("it takes objects"));
    for (run, incoming) in runs.iter().zip(&incoming) {
        run.keep_objects(incoming);
    }
    for (run, incoming) in runs.iter().zip(&incoming) {
        store.append(&Snapshot::default(), &class("a"), incoming, |position| run.at(position)).expect("committed");
    }
    drop(incoming);
    let mut stored: Vec<_> = objects_in(&packs_of(&store)).into_iter().map(|(digest, _)| digest).collect();
    assert_eq!(packs_in(&packs_of(&store)).len(), 2, "the third had nothing that was new");
    stored.sort();
    let expected: BTreeSet<_> = runs.iter().flat_map(Run::objects).map(Digest::of).collect();
    assert_eq!(stored, expected.into_iter().collect::<Vec<_>>());
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    assert_eq!(fs::read_dir(packs_of(&store)).expect("listed").count(), 2, "no draft is left");
}

#[test]
fn an_object_that_comes_after_the_others_were_stored_is_refused() {
    let (_temp, store) = new_store();
    let (run, incoming) = (Run::of("a", 1), store.incoming().expect("it takes objects"));
    run.keep_objects(&incoming);
    store.append(&Snapshot::default(), &class("a"), &incoming, |position| run.at(position)).expect("committed");
    assert!(matches!(incoming.keep(b"late"), Err(KeepObjectError::Late)));
}

/// A run with so many objects that its pack has an index.
fn append_many(store: &StoreWriter) -> Vec<Vec<u8>> {
    let (run, incoming) = (Run::of("a", 1), store.incoming().expect("it takes objects"));
    run.keep_objects(&incoming);
    let others: Vec<_> = (0..2000_u32).map(|number| number.to_string().into_bytes()).collect();
    for other in &others {
        incoming.keep(other).expect("kept");
    }
    store.append(&Snapshot::default(), &class("a"), &incoming, |position| run.at(position)).expect("committed");
    others
}

/// Where there is no survey an index leads to the objects, and whatever it says, what is there is found.
#[test]
fn an_index_is_never_believed() {
    let (_temp, store) = new_store();
    let objects = append_many(&store);
    let index = packs_in(&packs_of(&store))[0].with_extension("index");
    let bytes = fs::read(&index).expect("a large pack has an index");
    let reversed: Vec<u8> = bytes.chunks(16).rev().flatten().copied().collect();
    let mut shifted = bytes.clone();
    shifted.iter_mut().skip(15).step_by(16).for_each(|byte| *byte ^= 1);
    let emptied = Vec::new();
    let cut = bytes[..bytes.len() / 2].to_vec();
    let elsewhere = [&bytes[..8], &u64::MAX.to_be_bytes(), &bytes[16..]].concat();
    for index_bytes in [bytes.clone(), reversed, shifted, emptied, cut, elsewhere, b"\xff".to_vec()] {
        fs::write(&index, &index_bytes).expect("written");
        let reader = StoreReader::open(store.reader().root().path(), PATIENCE).expect("a store");
        for object in &objects {
            reader.check_object(Digest::of(object)).expect("it is there");
            assert_eq!(reader.object(Digest::of(object)).expect("it is there"), *object);
        }
        assert!(matches!(reader.object(Digest::of(b"none")), Err(ReadObjectError::Missing { .. })));
    }
    fs::remove_file(&index).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", &index).expect("linked");
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    let reader = StoreReader::open(store.reader().root().path(), PATIENCE).expect("a store");
    reader.object(Digest::of(&objects[7])).expect("it is there");
}

#[test]
fn an_index_that_cannot_be_written_costs_no_record() {
    let (_temp, store) = new_store();
    append_many(&store);
    let index = packs_in(&packs_of(&store))[0].with_extension("index");
    // The same objects make a pack of the same name, and here a folder has the place of its index.
    let (_other, store) = new_store();
    let in_the_way = packs_of(&store).join(index.file_name().expect("a name"));
    fs::create_dir(&in_the_way).expect("made");
    let objects = append_many(&store);
    assert!(in_the_way.is_dir());
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    assert_eq!(store.reader().object(Digest::of(&objects[0])).expect("it is there"), objects[0]);
}

/// The bytes that reading one object of a large pack takes, as the kernel counts them for this thread.
#[test]
fn an_object_is_read_without_its_pack() {
    let (_temp, store) = new_store();
    let objects = append_many(&store);
    let incoming = store.incoming().expect("it takes objects");
    let run = Run::of("a", 2);
    run.keep_objects(&incoming);
    incoming.keep(&vec![7; 20 << 20]).expect("kept");
    (3000..5000_u32).for_each(|number| _ = incoming.keep(number.to_string().as_bytes()).expect("kept"));
    store.append(&Snapshot::default(), &class("a"), &incoming, |position| run.at(position)).expect("committed");
    let read_bytes = || -> u64 {
        let text = fs::read_to_string("/proc/thread-self/io").expect("the kernel tells");
        text.lines()
            .find_map(|line| line.strip_prefix("rchar: "))
            .and_then(|count| count.parse().ok())
            .expect("a count")
    };
    let reader = StoreReader::open(store.reader().root().path(), PATIENCE).expect("a store");
    let before = read_bytes();
    assert_eq!(reader.object(Digest::of(b"4711")).expect("it is there"), b"4711");
    assert_eq!(reader.object(Digest::of(&objects[0])).expect("it is there"), objects[0]);
    let read = read_bytes() - before;
    assert!(read < 1 << 20, "{read} bytes were read");
}

#[test]
fn leftovers_of_a_crash_are_in_nobodys_way() {
    let (_temp, store) = new_store();
    append(&store, "a", 1);
    fs::write(store.reader().runs().path().join(".tmp-cut"), "{\"sch").expect("written");
    let (cut, torn) = (packs_of(&store).join(".tmp-dead"), "eval-host/pack/v1\nhalf an obj");
    fs::write(&cut, torn).expect("written");
    let (state, findings) = state_of(&store);
    assert_eq!(state, State::Incomplete, "{findings:?}");
    assert!(
        findings.iter().any(|finding| finding.starts_with("`packs/.tmp-dead`: a crash left it unfinished")),
        "{findings:?}"
    );
    append(&store, "a", 2);
    assert!(!cut.exists(), "a run takes away what it finds");
}

#[test]
fn what_a_crash_left_of_a_pack_is_taken_away_and_that_of_a_run_that_is_alive_is_not() {
    let (_temp, store) = new_store();
    append(&store, "a", 1);
    fs::write(store.reader().runs().path().join(".tmp-cut"), "{\"sch").expect("written");
    let alive = store.incoming().expect("it takes objects");
    alive.keep(b"still needed").expect("kept");
    fs::write(packs_of(&store).join(".tmp-dead"), "eval-host/pack/v1\nhalf an obj").expect("written");
    assert_eq!(state_of(&store).0, State::Incomplete);
    let ends: Vec<_> = store.finish().expect("finished").into_iter().map(|draft| draft.end).collect();
    assert_eq!(ends, [DraftEnd::TakenAway, DraftEnd::SetAside("unfinished/cut.0".to_owned())]);
    let drafts = || fs::read_dir(packs_of(&store)).expect("listed").count() - packs_in(&packs_of(&store)).len();
    assert_eq!(drafts(), 1, "that of the run that is alive");
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    drop(alive);
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    assert_eq!(drafts(), 0);
}

#[test]
fn what_is_no_pack_among_the_packs_is_foreign_and_stays() {
    let (_temp, store) = new_store();
    append(&store, "a", 1);
    let packs = packs_of(&store);
    fs::write(packs.join(".DS_Store"), "x").expect("written");
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    std::os::unix::fs::symlink("/", packs.join(".tmp-link")).expect("linked");
    fs::create_dir(packs.join(".tmp-folder")).expect("made");
    fs::write(packs.join("notes.txt"), "x").expect("written");
    append(&store, "a", 2);
    let (state, findings) = state_of(&store);
    assert_eq!((state, findings.len()), (State::Tampered, 3), "{findings:?}");
    for (finding, name) in findings.iter().zip([".tmp-folder", ".tmp-link", "notes.txt"]) {
        let expected = "only packs and their indexes belong in this folder, and this is the name of neither";
        assert_eq!(*finding, format!("`packs/{name}`: {expected}"));
    }
}

#[test]
fn a_store_that_is_not_safe_is_refused_before_anything_is_written() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let open =
        |name: &str| StoreWriter::open(&temp.path().join(name), user(), PATIENCE).expect_err("refused").to_string();
    fs::create_dir(temp.path().join("shared")).expect("made");
    fs::set_permissions(temp.path().join("shared"), fs::Permissions::from_mode(0o777)).expect("opened up");
    assert!(open("shared").contains("others may write to"), "{}", open("shared"));
    std::os::unix::fs::symlink("shared", temp.path().join("link")).expect("linked");
    assert!(open("link").contains("is a symbolic link; a store must be a directory"), "{}", open("link"));
    assert!(open("link/").contains("is a symbolic link; a store must be a directory"), "{}", open("link/"));
    fs::write(temp.path().join("file"), "").expect("written");
    assert!(open("file").contains("is a file; a store must be a directory"), "{}", open("file"));
    let other = StoreWriter::open(&temp.path().join("mine"), user() + 1, PATIENCE).expect_err("another's").to_string();
    assert!(other.contains(&format!("belongs to user {}", user())), "{other}");
    fs::create_dir_all(temp.path().join("old/runs")).expect("made");
    fs::write(temp.path().join("old/runs/20261116T093000.120Z-ba7816bf.json"), "").expect("written");
    assert!(open("old").contains("no `store.json`"), "{}", open("old"));
    assert_eq!(fs::read_dir(temp.path().join("shared")).expect("listed").count(), 0);
}

#[test]
fn a_clock_that_jumps_changes_nothing_and_is_noted_when_it_went_back() {
    let (_temp, store) = new_store();
    for (name, label) in [("a", 59), ("b", 30), ("a", 1), ("a", 58), ("a", 2), ("a", 57), ("a", 57)] {
        append(&store, name, label);
    }
    assert_eq!(state_of(&store), (State::Ok, Vec::new()));
    let notes: Vec<_> = verified(&store).notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("record 2 of `a` says that it was finished before"), "{notes:?}");
    assert!(notes[1].starts_with("record 4 of `a` "), "{notes:?}");
}

#[test]
fn only_a_chain_that_does_not_hold_or_is_in_doubt_is_broken_evidence() {
    let exit = |source| AppendError::NotCommitted { task_class: class("fixture"), source }.exit();
    assert_eq!(exit(NotCommitted::HeadChanged), Exit::EvidenceBroken);
    assert_eq!(exit(NotCommitted::Broken(Vec::new())), Exit::EvidenceBroken);
    assert_eq!(exit(NotCommitted::Misplaced), Exit::HarnessError);
    assert_eq!(exit(NotCommitted::TooLarge { size: u64::MAX }), Exit::HarnessError);
    let source = FileError::io("sync", &PathBuf::from("runs"), std::io::Error::other("gone"));
    let path = PathBuf::from("runs/a.json");
    let unknown = AppendError::Unknown { task_class: class("fixture"), seq: 1, path, source };
    assert_eq!(unknown.exit(), Exit::EvidenceBroken);
}
