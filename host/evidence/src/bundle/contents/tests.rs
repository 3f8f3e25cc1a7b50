//! Tests of `contents`: what a bundle must hold, and what it is when it is unpacked.

use super::*;
use crate::anchor::RecordNote;
use crate::pack::testing::{Packed, objects_of, pack_of, put_object, take_object};
use crate::record::RecordedRun;
use crate::record::fixture::{Grader, Run};
use crate::store::{Snapshot, StoreReader, StoreWriter};
use crate::verify::{
    Checks, Compiled, Finding, FirstUse, FuelTerms, LastSeenFile, Note, ReplaySettings, replay, replay_record,
    verify_evidence, verify_store,
};
use eval_model::contract::{RubricLoader, RubricRunner};
use eval_model::limits::Limits;
use std::error::Error;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn class(name: &str) -> TaskClassName {
    name.parse().expect("a task class")
}

fn verified(evidence: &dyn Evidence) -> Verification {
    verify_evidence(evidence, &mut |_, _| {}).expect("it can be read")
}

/// The store at a path as a command sees it, with what is remembered of it.
fn verified_store(path: &Path, last_seen: Option<&LastSeenFile>) -> Verification {
    let store = StoreReader::open(path, PATIENCE).expect("a store");
    let checks = Checks { last_seen, first_use: FirstUse::Trust, user: user() };
    verify_store(&store, checks, &mut |_, _| {}).expect("it can be read")
}

#[track_caller]
fn assert_ok(verification: &Verification) {
    assert_eq!(verification.state(), State::Ok, "{:?}", verification.findings);
}

fn append(store: &StoreWriter, name: &str, label: u32) -> Link {
    let run = Run::of(name, label);
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let receipt = store.append(&Snapshot::default(), &class(name), &incoming, |position| run.at(position));
    receipt.expect("committed").link
}

fn append_live(store: &StoreWriter, label: u32) -> Digest {
    let run = Run::new(label);
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let started_at = format!("2026-11-16T09:30:{:02}.000Z", label % 60).parse().expect("a time");
    let marker = store.announce(&class("fixture"), started_at, 2, crate::store::Announced::Whole).expect("announced");
    let build = |position: &_| run.live_at(position, marker);
    store.append(&Snapshot::default(), &class("fixture"), &incoming, build).expect("committed");
    marker
}

fn writer(path: &Path) -> StoreWriter {
    StoreWriter::open(path, user(), PATIENCE).expect("a store")
}

/// The bundle of a record of `fixture`.
fn exported(evidence: &dyn Evidence, seq: u64) -> Result<Vec<u8>, ExportError> {
    let verification = verified(evidence);
    let mut bytes = Vec::new();
    export(evidence, &verification, &verification.links[&(class("fixture"), seq)], &mut bytes).map(|()| bytes)
}

/// A store with three records of one class and one of another, and the bundle of the second. The clock went back after the
/// first, so that records do not come in their order.
fn bundled() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = writer(&temp.path().join("store"));
    for (name, label) in [("fixture", 9), ("fixture", 2), ("other", 3), ("fixture", 4)] {
        append(&store, name, label);
    }
    let path = temp.path().join("record.tar");
    fs::write(&path, exported(store.reader(), 2).expect("exported")).expect("written");
    (temp, path)
}

/// What `tar` makes of a bundle.
fn unpacked(temp: &TempDir, bundle: &Path) -> PathBuf {
    let folder = temp.path().join("unpacked");
    fs::create_dir(&folder).expect("made");
    let tar = std::process::Command::new("tar").arg("-xf").arg(bundle).arg("-C").arg(&folder).status();
    assert!(tar.expect("tar runs").success());
    // Whatever the umask of whoever runs the tests.
    for area in [folder.clone(), folder.join("runs"), folder.join("packs")] {
        fs::set_permissions(area, fs::Permissions::from_mode(0o700)).expect("private");
    }
    folder
}

/// The files of a bundle, by name.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = Archive::open(path).expect("it opens");
    let mut files = BTreeMap::new();
    while let Some((name, entry)) = archive.next_entry().expect("a header") {
        files.insert(name, archive.read(entry, u64::MAX).expect("content"));
    }
    files
}

/// The state of a bundle with these files, in the order of a bundle, and what is said about it.
fn state_of(files: &BTreeMap<String, Vec<u8>>) -> (State, String) {
    let order = |name: &str| ["store.json", "bundle.json", "runs/", "packs/"].iter().position(|a| name.starts_with(a));
    let mut names: Vec<_> = files.keys().collect();
    names.sort_by_key(|name| (order(name), *name));
    let mut bytes = Vec::new();
    for name in names {
        write_entry(&mut bytes, name, &files[name]).expect("written");
    }
    write_end(&mut bytes).expect("written");
    let temp = tempfile::tempdir().expect("a temporary folder");
    let path = temp.path().join("changed.tar");
    fs::write(&path, bytes).expect("written");
    match Bundle::open(&path) {
        Ok(bundle) => {
            let verification = verified(&bundle);
            (verification.state(), verification.findings.iter().map(|finding| format!("{finding}\n")).collect())
        }
        Err(error) => (error.state(), error.to_string()),
    }
}

#[test]
fn a_bundle_is_verified_like_a_store_and_says_what_it_leaves_out() {
    let (_temp, path) = bundled();
    let verification = verified(&Bundle::open(&path).expect("a bundle"));
    assert_ok(&verification);
    assert_eq!(verification.links.len(), 2);
    assert_eq!(verification.unfinished_of(&class("fixture")), None);
    assert_eq!(verification.left_out, BTreeSet::from([(class("fixture"), 1)]));
    assert!(verification.notes.contains(&Note::Excerpt { task_class: class("fixture"), seq: 2 }));
    assert_eq!(state_of(&files(&path)), (State::Ok, String::new()), "packed again it is the same");
}

#[test]
fn an_unpacked_bundle_is_a_store_that_gives_the_same_bundle() {
    let (temp, path) = bundled();
    let folder = unpacked(&temp, &path);
    let verification = verified_store(&folder, None);
    assert_ok(&verification);
    assert_eq!(verification.unfinished_of(&class("fixture")), None);
    assert!(verification.notes.contains(&Note::Excerpt { task_class: class("fixture"), seq: 2 }));
    let store = StoreReader::open(&folder, PATIENCE).expect("a store");
    assert_eq!(exported(&store, 2).expect("exported"), fs::read(&path).expect("readable"));
    let bundle = Bundle::open(&path).expect("a bundle");
    assert_eq!(exported(&bundle, 2).expect("exported"), fs::read(&path).expect("readable"));
}

#[test]
fn a_record_whose_objects_are_left_out_is_not_exported() {
    let (temp, path) = bundled();
    let store = StoreReader::open(&unpacked(&temp, &path), PATIENCE).expect("a store");
    let bundle = Bundle::open(&path).expect("a bundle");
    for evidence in [&store as &dyn Evidence, &bundle] {
        let refused = exported(evidence, 1).expect_err("its objects are left out");
        assert!(matches!(refused, ExportError::LeftOut { seq: 1, .. }), "{refused}");
        assert_eq!(refused.exit(), Exit::UsageOrCap);
    }
}

#[test]
fn what_is_appended_to_an_unpacked_bundle_is_held_to_everything() {
    let (temp, path) = bundled();
    let folder = unpacked(&temp, &path);
    let third = append(&writer(&folder), "fixture", 7);
    assert_eq!(third.position.seq, 3);
    append(&writer(&folder), "other", 8);
    let verification = verified_store(&folder, None);
    assert_ok(&verification);
    assert_eq!(verification.unfinished_of(&class("other")), Some(0));
    let packs = folder.join("packs");
    let output = |label: u32| Digest::of(format!("{{\"answer\":\"001-first {label}\"}}").as_bytes());
    for label in [7, 8, 2] {
        let bytes = take_object(&packs, output(label)).expect("it is there");
        assert_eq!(verified_store(&folder, None).state(), State::Unverifiable, "{label}");
        put_object(&packs, output(label), &bytes);
    }
    assert_ok(&verified_store(&folder, None));
    assert_eq!(take_object(&packs, output(9)), None, "it was left out");
    put_object(&packs, output(9), b"something else");
    assert_eq!(verified_store(&folder, None).state(), State::Tampered, "what is there must be right");
    take_object(&packs, output(9)).expect("it is there");
    put_object(&packs, output(9), b"{\"answer\":\"001-first 9\"}");
    assert_ok(&verified_store(&folder, None));
}

#[test]
fn markers_are_unknown_up_to_the_record_of_the_bundle_and_demanded_after_it() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = writer(&temp.path().join("store"));
    append_live(&store, 1);
    append_live(&store, 2);
    let path = temp.path().join("record.tar");
    fs::write(&path, exported(store.reader(), 2).expect("exported")).expect("written");
    let folder = unpacked(&temp, &path);
    assert_ok(&verified_store(&folder, None));
    append_live(&writer(&folder), 3);
    let verification = verified_store(&folder, None);
    assert_ok(&verification);
    assert_eq!(verification.unfinished_of(&class("fixture")), None);
    let names = fs::read_dir(folder.join("started")).expect("markers");
    for name in names {
        fs::remove_file(name.expect("an entry").path()).expect("removed");
    }
    let verification = verified_store(&folder, None);
    let places: Vec<_> = verification.findings.iter().map(|finding| finding.seq).collect();
    assert_eq!((verification.state(), places), (State::Tampered, vec![Some(3)]), "{:?}", verification.findings);
}

#[test]
fn a_store_that_was_whole_cannot_say_that_it_is_a_part() {
    let (temp, path) = bundled();
    let folder = temp.path().join("store");
    let last_seen = LastSeenFile::open(&temp.path().join("state"), &folder, PATIENCE).expect("it opens");
    let remember = |seen: &Verification| {
        last_seen
            .advance(seen.store_id, seen.heads(), &seen.marker_heads(), seen.excerpt.as_ref())
            .expect("remembered");
    };
    remember(&verified_store(&folder, Some(&last_seen)));
    fs::write(folder.join(EXCERPT), &files(&path)[EXCERPT]).expect("written");
    assert_ok(&verified_store(&folder, None));
    let verification = verified_store(&folder, Some(&last_seen));
    assert_eq!(verification.state(), State::Tampered);
    assert!(
        verification.findings[0].to_string().starts_with("the store: it says that it is what a bundle of record 2"),
        "{:?}",
        verification.findings
    );
    let folder = unpacked(&temp, &path);
    let last_seen = LastSeenFile::open(&temp.path().join("state"), &folder, PATIENCE).expect("it opens");
    let seen = verified_store(&folder, Some(&last_seen));
    last_seen.advance(seen.store_id, seen.heads(), &seen.marker_heads(), seen.excerpt.as_ref()).expect("remembered");
    assert_ok(&verified_store(&folder, Some(&last_seen)));
    let third = append(&writer(&folder), "fixture", 7);
    fs::write(folder.join(EXCERPT), Excerpt::up_to(&third).encode()).expect("written");
    assert_ok(&verified_store(&folder, None));
    assert_eq!(verified_store(&folder, Some(&last_seen)).state(), State::Tampered, "it is another part now");
}

#[test]
fn what_a_bundle_says_that_it_is_must_be_in_it() {
    let (temp, path) = bundled();
    let files = files(&path);
    let excerpt = Excerpt::parse(&files[EXCERPT]).expect("it parses");
    let folder = unpacked(&temp, &path);
    let lies = [
        Excerpt { record: hash_of(b"another record"), ..excerpt.clone() },
        Excerpt { seq: 1, ..excerpt.clone() },
        Excerpt { seq: 3, ..excerpt.clone() },
        Excerpt { task_class: class("other"), ..excerpt },
    ];
    for lie in lies {
        let mut changed = files.clone();
        changed.insert(EXCERPT.to_owned(), lie.encode());
        let (state, said) = state_of(&changed);
        assert_eq!(state, State::Tampered, "{lie:?}: {said}");
        assert!(said.contains("`bundle.json`: it is not of this evidence: there is no record"), "{said}");
        fs::write(folder.join(EXCERPT), lie.encode()).expect("written");
        assert_eq!(verified_store(&folder, None).state(), State::Tampered, "{lie:?}");
    }
}

#[test]
fn a_bundle_that_does_not_say_what_it_leaves_out_is_refused() {
    let (_temp, path) = bundled();
    let mut changed = files(&path);
    changed.insert(EXCERPT.to_owned(), b"{\"schema_version\":2,\"region\":\"north\"}\n".to_vec());
    let (state, said) = state_of(&changed);
    assert_eq!(state, State::Unverifiable, "{said}");
    assert!(said.ends_with("is a bundle of format version 2: use a newer eval-host"), "{said}");
    changed.remove(EXCERPT);
    let (state, said) = state_of(&changed);
    assert_eq!(state, State::Tampered, "{said}");
    assert!(said.contains("has no `bundle.json`"), "{said}");
}

#[test]
fn a_bundle_holds_the_objects_of_its_record_and_nothing_else() {
    let (_temp, path) = bundled();
    let files = files(&path);
    let objects = objects_of(pack(&files));
    // One that nobody names, and one that only the record before names.
    let earlier = b"{\"answer\":\"001-first 9\"}";
    for stray in [&b"stray"[..], earlier] {
        let digest = Digest::of(stray);
        let mut more = objects.clone();
        more.push((digest, stray.to_vec()));
        more.sort();
        let (state, said) = state_of(&with_objects(&files, &more));
        assert_eq!(state, State::Tampered, "{said}");
        let expected = format!(
            "`packs`: the record of the bundle does not name the object `{digest}`, and a bundle holds nothing else\n"
        );
        assert_eq!(said, expected);
    }
    for missing in 0..objects.len() {
        let mut fewer = objects.clone();
        fewer.remove(missing);
        let (state, said) = state_of(&with_objects(&files, &fewer));
        assert_eq!(state, State::Unverifiable, "{missing}: {said}");
    }
}

#[test]
fn the_objects_of_a_bundle_are_one_pack_in_one_order() {
    let (_temp, path) = bundled();
    let files = files(&path);
    let objects = objects_of(pack(&files));
    let tampered = |files: &BTreeMap<String, Vec<u8>>, expected: &str| {
        let (state, said) = state_of(files);
        assert_eq!(state, State::Tampered, "{said}");
        assert!(said.contains(expected), "{said}");
    };
    let mut swapped = objects.clone();
    swapped.swap(0, 1);
    tampered(&with_objects(&files, &swapped), "the objects of a bundle stand in the order of their digests, each once");
    let mut twice = objects.clone();
    twice.insert(1, objects[0].clone());
    tampered(&with_objects(&files, &twice), "the objects of a bundle stand in the order of their digests, each once");
    let mut changed = objects.clone();
    changed[0].1.push(b'x');
    tampered(&with_objects(&files, &changed), "was changed: its content hashes to");
    let (name, bytes) = pack_of(&objects[..3]);
    let mut two = with_objects(&files, &objects[3..]);
    two.insert(format!("packs/{name}"), bytes);
    tampered(&two, "which no bundle does, or in another place");
    let mut renamed = with_objects(&files, &[]);
    renamed.insert(format!("packs/{}.pack", Digest::of(b"x")), pack(&files).clone());
    tampered(&renamed, "it was edited or renamed: a pack with these lines is called");
}

fn pack(files: &BTreeMap<String, Vec<u8>>) -> &Vec<u8> {
    let mut packs = files.iter().filter(|(name, _)| name.starts_with("packs/"));
    packs.next().expect("a pack").1
}

/// The files with other objects.
fn with_objects(files: &BTreeMap<String, Vec<u8>>, objects: &[Packed]) -> BTreeMap<String, Vec<u8>> {
    let mut changed = files.clone();
    changed.retain(|name, _| !name.starts_with("packs/"));
    if !objects.is_empty() {
        let (name, bytes) = pack_of(objects);
        changed.insert(format!("packs/{name}"), bytes);
    }
    changed
}

fn state_with(files: &BTreeMap<String, Vec<u8>>, name: &str, bytes: &[u8]) -> (State, String) {
    let mut changed = files.clone();
    changed.insert(name.to_owned(), bytes.to_vec());
    state_of(&changed)
}

#[test]
fn a_bundle_holds_the_records_up_to_its_own_and_no_others() {
    let (temp, path) = bundled();
    let files = files(&path);
    let store = StoreReader::open(&temp.path().join("store"), PATIENCE).expect("a store");
    let links = verified(&store).links;
    for place in [(class("fixture"), 3), (class("other"), 1)] {
        let name = links[&place].file_name();
        let record = store.record(name.as_str()).expect("a record");
        let (state, said) = state_with(&files, &format!("runs/{name}"), &record);
        assert_eq!(state, State::Tampered, "{said}");
        assert!(said.contains("a bundle holds one record and those before it, and this is none of them"), "{said}");
    }
}

#[test]
fn a_record_too_large_for_any_is_refused_by_its_header() {
    let (_temp, path) = bundled();
    for size in [MOST_RECORD_BYTES + 1, 3 << 30] {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let huge = temp.path().join("huge.tar");
        let mut bytes = Vec::new();
        for name in [IDENTITY, EXCERPT] {
            write_entry(&mut bytes, name, &files(&path)[name]).expect("written");
        }
        let name = "runs/20261116T093000.120Z-ba7816bf.json";
        bytes.extend(crate::bundle::archive::header(name, size).expect("a header"));
        let mut file = File::create(&huge).expect("created");
        file.write_all(&bytes).expect("written");
        // A hole, which costs nothing unless somebody reads it.
        let end = bytes.len() as u64 + size.next_multiple_of(512) + 1024;
        file.set_len(end).expect("extended");
        let refused = Bundle::open(&huge).expect_err("refused");
        assert_eq!(refused.state(), State::Tampered, "{refused}");
        assert!(refused.to_string().contains(&format!("has {size} bytes, more than the ")), "{refused}");
    }
}

/// The note of a record, signed with the secret key of Go's documentation.
fn note_of(link: &Link) -> Vec<u8> {
    let key = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    RecordNote::of(link).sign(&key.parse().expect("a key")).expect("signed").into_bytes()
}

/// A store whose records have notes beside them.
struct WithNotes<'a>(&'a StoreReader);

impl Evidence for WithNotes<'_> {
    fn id(&self) -> StoreId {
        self.0.id()
    }

    fn names(&self) -> Result<Vec<OsString>, LockError> {
        self.0.names()
    }

    fn record(&self, name: &str) -> Result<Vec<u8>, FileError> {
        self.0.record(name)
    }

    fn survey(&self) -> Result<Vec<Finding>, LockError> {
        self.0.survey()
    }

    fn object(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
        self.0.object(digest)
    }

    fn check_object(&self, digest: Digest) -> Result<(), ReadObjectError> {
        self.0.check_object(digest)
    }

    fn object_length(&self, digest: Digest) -> Result<u64, ReadObjectError> {
        self.0.object_length(digest)
    }

    fn note(&self, record_name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let (_, link) = RecordedRun::read(&self.0.record(record_name)?).expect("a record");
        Ok(Some(note_of(&link)))
    }
}

#[test]
fn notes_travel_with_their_records_and_without_one_they_are_refused() {
    let (temp, path) = bundled();
    let store = StoreReader::open(&temp.path().join("store"), PATIENCE).expect("a store");
    fs::write(&path, exported(&WithNotes(&store), 2).expect("exported")).expect("written");
    let bundle = Bundle::open(&path).expect("a bundle");
    assert_eq!(exported(&bundle, 2).expect("exported"), fs::read(&path).expect("readable"));
    let verification = verified(&bundle);
    assert_ok(&verification);
    for link in verification.links.values() {
        let name = link.file_name();
        let note = bundle.note(name.as_str()).expect("readable").expect("a note");
        assert_eq!(note, note_of(link));
    }
    let files = files(&path);
    let record = files.keys().find(|name| name.ends_with(".json") && name.starts_with("runs/")).expect("a record");
    let mut changed = files.clone();
    changed.remove(record);
    assert_eq!(state_of(&changed).0, State::Tampered, "a note without its record");
    let note = files.keys().find(|name| name.ends_with(".note")).expect("a note");
    let mut changed = files.clone();
    changed.insert(note.clone(), vec![b'x'; 1 << 17]);
    assert_eq!(state_of(&changed).0, State::Tampered, "a note that is none");
}

#[test]
fn a_changed_byte_anywhere_in_a_bundle_is_noticed() {
    let (_temp, path) = bundled();
    let bytes = fs::read(&path).expect("readable");
    let other = path.with_extension("changed");
    // The first headers whole; beyond them a stride that comes to every offset of a block.
    let places = (0..2048).chain((2048..bytes.len()).step_by(17));
    for index in places {
        let mut changed = bytes.clone();
        changed[index] ^= 1 << (index % 8);
        fs::write(&other, &changed).expect("written");
        let state = match Bundle::open(&other) {
            Ok(bundle) => verified(&bundle).state(),
            Err(error) => error.state(),
        };
        assert!(state >= State::Unverifiable, "byte {index}: {state}");
    }
}

#[test]
fn a_bundle_of_a_newer_version_is_unverifiable_and_not_tampered() {
    let with = |identity: &[u8]| state_of(&BTreeMap::from([(IDENTITY.to_owned(), identity.to_vec())]));
    let (state, said) = with(b"{\"schema_version\":2,\"region\":\"north\"}\n");
    assert_eq!(state, State::Unverifiable, "{said}");
    assert!(said.ends_with("is of a store of format version 2: use a newer eval-host"), "{said}");
    assert_eq!(with(b"{\"schema_version\":1,\"region\":\"north\"}\n").0, State::Tampered);
}

#[test]
fn a_record_that_a_newer_program_wrote_is_unverifiable_and_so_are_its_objects() {
    let (_temp, path) = bundled();
    let mut files = files(&path);
    let excerpt = Excerpt::parse(&files[EXCERPT]).expect("it parses");
    let is_meant = |(_, bytes): &(&String, &Vec<u8>)| hash_of(bytes) == excerpt.record;
    let (name, bytes) =
        files.iter().find(is_meant).map(|(name, bytes)| (name.clone(), bytes.clone())).expect("a record");
    let newer = String::from_utf8(bytes).expect("text").replace("\"schema_minor\":0", "\"schema_minor\":99");
    files.remove(&name);
    let hash = hash_of(newer.as_bytes());
    let (time, _) = name.split_once('-').expect("a time and a hash");
    files.insert(format!("{time}-{}.json", &hash.to_string()[..8]), newer.into_bytes());
    files.insert(EXCERPT.to_owned(), Excerpt { record: hash, ..excerpt }.encode());
    let (state, said) = state_of(&files);
    assert_eq!(state, State::Unverifiable, "{said}");
}

#[test]
fn a_cut_or_extended_bundle_is_refused() {
    let (_temp, path) = bundled();
    let bytes = fs::read(&path).expect("readable");
    for changed in [&bytes[..bytes.len() - 1], &bytes[..bytes.len() - 512], &[&bytes[..], b"x"].concat(), b""] {
        fs::write(&path, changed).expect("written");
        assert_eq!(Bundle::open(&path).expect_err("refused").state(), State::Tampered);
    }
    assert_eq!(Bundle::open(&path.with_extension("none")).expect_err("refused").state(), State::Unverifiable);
}

/// Gives the rubric of the fixture.
struct TheRubric;

impl RubricLoader for TheRubric {
    fn load(&self, _: &[u8], _: &str, _: Limits) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>> {
        Ok(Box::new(Grader))
    }
}

#[test]
fn what_is_left_out_is_counted_and_not_replayed_and_nobody_can_rely_on_it() {
    let (_temp, path) = bundled();
    let bundle = Bundle::open(&path).expect("a bundle");
    let verification = verified(&bundle);
    let workers = NonZeroUsize::new(1).expect("one");
    let fuel_terms = FuelTerms { wasmtime_version: "48.0.8", price_list_version: 1 };
    let settings = ReplaySettings { loader: &TheRubric, compiled: Compiled::Anew, fuel_terms, workers };
    let all = replay(&bundle, &verification, settings, &|_| true, &mut |_, _| {});
    assert_eq!((all.records, all.replayed, all.left_out), (1, 2, 1));
    assert!(all.findings.is_empty(), "{:?}", all.findings);
    let of = |seq| replay_record(&bundle, &verification, settings, &verification.links[&(class("fixture"), seq)]);
    assert!(of(2).findings.is_empty());
    let states: Vec<_> = of(1).findings.iter().map(Finding::state).collect();
    assert_eq!(states, [State::Unverifiable]);
}
