//! What somebody with an editor can do to a store, and which layer notices: the chain, the last-seen head, or a checkpoint.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{
    Hand, PATIENCE, Run, State, append, append_by, class, copy, open, records_in, signer, state_of, user, verified,
};
use crate::anchor::{Checkpoint, NoteSigner, RecordNote};
use crate::chain::StoreId;
use crate::files::{FileError, LockError};
use crate::pack::testing::{packs_in, put_object, repack};
use crate::store::{Announced, Evidence, ReadObjectError, Snapshot, StoreReader, scan};
use crate::verify::{Checks, Finding, FirstUse, LastSeenFile, ObjectScope, Verification, verify_store};
use eval_model::ids::Digest;

/// A store with a past: five records of two classes, three live runs that were not finished, all seen and anchored.
struct Scene {
    temp: tempfile::TempDir,
    store: PathBuf,
    last_seen: LastSeenFile,
    checkpoint: Checkpoint,
}

impl Scene {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = temp.path().join("store");
        open(&store);
        for (name, label) in [("a", 1), ("a", 2)] {
            append(&store, name, label).expect("committed");
        }
        // An older copy, from before the rest.
        copy(&store, &temp.path().join("older"));
        for (name, label) in [("b", 3), ("a", 4), ("a", 5)] {
            append(&store, name, label).expect("committed");
        }
        let started_at = "2026-11-16T09:00:00.000Z".parse().expect("a moment");
        for _ in 0..3 {
            open(&store).announce(&class("a"), started_at, 2, Announced::Whole).expect("announced");
        }
        let last_seen = LastSeenFile::open(&temp.path().join("state"), &store, PATIENCE).expect("it opens");
        let scene = |checkpoint| Self { temp, store, last_seen, checkpoint };
        let nothing = Checkpoint::new(StoreId::from_bytes([0; 16]), started_at, []);
        let mut scene = scene(nothing);
        let seen = scene.verified(true);
        assert_eq!((seen.state(), seen.unfinished.len()), (State::Ok, 3), "{:?}", seen.findings);
        scene.last_seen.advance(seen.store_id, seen.heads(), &seen.marker_heads(), None).expect("remembered");
        scene.checkpoint = seen.checkpoint(started_at);
        scene
    }

    fn verified(&self, remember: bool) -> Verification {
        let store = StoreReader::open(&self.store, PATIENCE).expect("it is a store");
        let last_seen = remember.then_some(&self.last_seen);
        verify_store(&store, Checks { last_seen, first_use: FirstUse::Trust, user: user() }, &mut |_, _| {})
            .expect("it can be read")
    }

    /// What the chain says by itself, with the last-seen head, and with the checkpoint.
    fn states(&self) -> [State; 3] {
        let mut anchored = self.verified(false);
        anchored.compare_with_checkpoints(std::slice::from_ref(&self.checkpoint), ObjectScope::All);
        [self.verified(false).state(), self.verified(true).state(), anchored.state()]
    }

    /// The files with the records of class `a`, in their order.
    fn records(&self) -> Vec<PathBuf> {
        let links = self.verified(false).links;
        let of_a = links.into_values().filter(|link| link.position.task_class == class("a"));
        of_a.map(|link| self.store.join("runs").join(link.file_name().as_str())).collect()
    }

    /// The files with the markers, in their order.
    fn markers(&self) -> Vec<PathBuf> {
        let markers = self.verified(false).markers;
        let entries =
            fs::read_dir(self.store.join("started")).expect("listed").map(|entry| entry.expect("an entry").path());
        let by_digest: BTreeMap<_, _> =
            entries.map(|path| (Digest::of(&fs::read(&path).expect("readable")), path)).collect();
        markers.values().map(|digest| by_digest[digest].clone()).collect()
    }

    fn older(&self) -> PathBuf {
        self.temp.path().join("older")
    }

    fn replace_by(&self, other: &Path) {
        fs::remove_dir_all(&self.store).expect("removed");
        copy(other, &self.store);
    }

    fn packs(&self) -> PathBuf {
        self.store.join("packs")
    }

    /// The first of the packs, of which the first run's is one.
    fn pack(&self) -> PathBuf {
        packs_in(&self.packs()).swap_remove(0)
    }
}

const CAUGHT: State = State::Tampered;

#[track_caller]
fn check(expected: [State; 3], attack: impl FnOnce(&Scene)) {
    let scene = Scene::new();
    assert_eq!(scene.states(), [State::Ok; 3], "before the attack");
    attack(&scene);
    assert_eq!(scene.states(), expected, "chain, last-seen head, checkpoint");
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("removed");
}

fn edit(path: &Path) {
    let text = fs::read_to_string(path).expect("text");
    fs::write(path, text.replacen("\"agent\"", "\"agenT\"", 1)).expect("written");
}

#[test]
fn an_edited_record_is_noticed_by_the_chain_even_if_it_is_the_last() {
    for index in 0..4 {
        check([CAUGHT; 3], |scene| edit(&scene.records()[index]));
    }
}

#[test]
fn a_record_deleted_from_the_front_or_the_middle_is_noticed_by_the_chain() {
    for index in 0..3 {
        check([CAUGHT; 3], |scene| remove(&scene.records()[index]));
    }
}

#[test]
fn a_lost_tail_is_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    for kept in 0..4 {
        check([State::Ok, CAUGHT, CAUGHT], |scene| scene.records()[kept..].iter().for_each(|path| remove(path)));
    }
}

#[test]
fn a_wiped_store_is_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    check([State::Ok, CAUGHT, CAUGHT], |scene| {
        fs::remove_dir_all(scene.store.join("runs")).expect("removed");
        fs::create_dir(scene.store.join("runs")).expect("made");
    });
}

#[test]
fn swapped_duplicated_and_cut_records_are_noticed_by_the_chain() {
    check([CAUGHT; 3], |scene| {
        let records = scene.records();
        let (one, two) = (fs::read(&records[1]).expect("readable"), fs::read(&records[2]).expect("readable"));
        fs::write(&records[1], two).expect("written");
        fs::write(&records[2], one).expect("written");
    });
    check([CAUGHT; 3], |scene| {
        let copy = scene.store.join("runs/20261116T093000.120Z-ba7816bf.json");
        fs::copy(&scene.records()[1], copy).expect("copied");
    });
    check([CAUGHT; 3], |scene| {
        let record = &scene.records()[1];
        let bytes = fs::read(record).expect("readable");
        fs::write(record, &bytes[..bytes.len() - 1]).expect("written");
    });
}

#[test]
fn a_record_of_another_store_or_class_is_noticed_by_the_chain() {
    check([CAUGHT; 3], |scene| {
        let other = scene.temp.path().join("other");
        open(&other);
        for (name, label) in [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("a", 6)] {
            append(&other, name, label).expect("committed");
        }
        for name in records_in(&other) {
            let target = scene.store.join("runs").join(&name);
            fs::copy(other.join("runs").join(&name), target).expect("copied");
        }
    });
    check([CAUGHT; 3], |scene| {
        // A class renamed in one record, with its file's name made right again.
        let record = &scene.records()[1];
        let text =
            fs::read_to_string(record).expect("text").replacen("\"task_class\":\"a\"", "\"task_class\":\"b\"", 1);
        let (_, link) = crate::record::RecordedRun::read(text.as_bytes()).expect("a record");
        remove(record);
        fs::write(record.with_file_name(link.file_name().as_str()), text).expect("written");
    });
}

#[test]
fn an_older_copy_is_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    check([State::Ok, CAUGHT, CAUGHT], |scene| scene.replace_by(&scene.older()));
}

#[test]
fn a_tail_rewritten_with_all_its_hashes_is_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    check([State::Ok, CAUGHT, CAUGHT], |scene| {
        scene.replace_by(&scene.older());
        for (name, label) in [("b", 3), ("a", 10), ("a", 12), ("a", 14)] {
            append(&scene.store, name, label).expect("committed");
        }
    });
}

#[test]
fn a_whole_history_rewritten_under_the_same_identity_is_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    check([State::Ok, CAUGHT, CAUGHT], |scene| {
        for area in ["runs", "packs", "started"] {
            fs::remove_dir_all(scene.store.join(area)).expect("removed");
        }
        // Its identity alone is kept, which is what an owner who forges a better past would do.
        for area in ["runs", "packs", "started"] {
            fs::create_dir(scene.store.join(area)).expect("made");
        }
        for (name, label) in [("a", 10), ("a", 12), ("a", 14), ("a", 16), ("b", 18)] {
            append(&scene.store, name, label).expect("committed");
        }
    });
}

#[test]
fn another_store_in_the_same_place_is_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    check([State::Ok, CAUGHT, CAUGHT], |scene| {
        fs::remove_dir_all(&scene.store).expect("removed");
        append(&scene.store, "a", 1).expect("committed");
    });
}

#[test]
fn an_edited_object_is_noticed_and_a_missing_one_leaves_the_evidence_unverifiable() {
    check([CAUGHT; 3], |scene| repack(&scene.packs(), |objects| objects[0].1.push(b'x')));
    check([State::Unverifiable; 3], |scene| repack(&scene.packs(), |objects| drop(objects.pop())));
    check([State::Unverifiable; 3], |scene| remove(&scene.pack()));
}

/// A pack gets its name when it is durable, so no crash of a writer cuts one that has its name.
#[test]
fn a_pack_that_was_cut_or_renamed_is_noticed_and_so_is_any_of_its_bits() {
    let cut = |kept: fn(usize) -> usize| {
        check([CAUGHT; 3], |scene| {
            let bytes = fs::read(scene.pack()).expect("readable");
            fs::write(scene.pack(), &bytes[..kept(bytes.len())]).expect("written");
        });
    };
    cut(|_| 0);
    cut(|_| 10);
    cut(|length| length / 2);
    cut(|length| length - 1);
    check([CAUGHT; 3], |scene| {
        let pack = scene.pack();
        fs::rename(&pack, pack.with_file_name(format!("{}.pack", Digest::of(b"another")))).expect("renamed");
    });
    check([CAUGHT; 3], |scene| {
        let pack = scene.pack();
        fs::rename(&pack, pack.with_extension("pack~")).expect("renamed");
    });
    let scene = Scene::new();
    let (pack, bytes) = (scene.pack(), fs::read(scene.pack()).expect("readable"));
    for bit in (0..bytes.len() * 8).step_by(13) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&pack, flipped).expect("written");
        let verification = scene.verified(false);
        assert_eq!(verification.state(), CAUGHT, "bit {bit}: {:?}", verification.findings);
    }
}

#[test]
fn what_is_stored_and_no_record_names_is_held_to_its_name_too() {
    check([State::Ok; 3], |scene| put_object(&scene.packs(), Digest::of(b"a stray"), b"a stray"));
    check([CAUGHT; 3], |scene| put_object(&scene.packs(), Digest::of(b"a stray"), b"another"));
}

#[test]
fn the_vanished_markers_of_all_unfinished_runs_are_noticed_by_the_last_seen_head_and_the_checkpoint_only() {
    check([State::Ok, CAUGHT, CAUGHT], |scene| {
        let started = scene.store.join("started");
        fs::remove_dir_all(&started).expect("removed");
        fs::create_dir(&started).expect("made");
    });
}

#[test]
fn a_vanished_marker_is_noticed_by_the_chain_unless_it_is_the_last() {
    for index in 0..2 {
        check([CAUGHT; 3], |scene| remove(&scene.markers()[index]));
    }
    check([State::Ok, CAUGHT, CAUGHT], |scene| remove(&scene.markers()[2]));
}

#[test]
fn a_marker_in_the_place_of_another_is_noticed_by_the_chain_or_if_it_is_the_last_by_whoever_saw_it() {
    let announce = |scene: &Scene| {
        let later = "2026-11-16T10:00:00.000Z".parse().expect("a moment");
        open(&scene.store).announce(&class("a"), later, 1, Announced::Whole).expect("announced");
    };
    // The number of markers is the same again.
    check([State::Ok, CAUGHT, CAUGHT], |scene| {
        remove(&scene.markers()[2]);
        announce(scene);
    });
    check([CAUGHT; 3], |scene| {
        let markers = scene.markers();
        let third = fs::read(&markers[2]).expect("readable");
        markers[1..].iter().for_each(|path| remove(path));
        announce(scene);
        fs::write(&markers[2], third).expect("put back");
    });
}

#[test]
fn a_break_in_the_markers_names_the_file_and_the_task_class() {
    let findings = |attack: &dyn Fn(&Scene, &[PathBuf])| -> Vec<String> {
        let scene = Scene::new();
        attack(&scene, &scene.markers());
        scene.verified(false).findings.iter().map(ToString::to_string).collect()
    };
    let check = |found: &[String], says: &str| {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("`started/20261116T") && found[0].contains(".json` of `a`: "), "{found:?}");
        assert!(found[0].contains(says), "{found:?}");
    };
    let gap = findings(&|_, markers| remove(&markers[1]));
    check(&gap, "it is marker 3, and the ones before it are missing from number 2 on");
    let fork = findings(&|scene, markers| {
        let last = fs::read(&markers[2]).expect("readable");
        remove(&markers[2]);
        let later = "2026-11-16T10:00:00.000Z".parse().expect("a moment");
        open(&scene.store).announce(&class("a"), later, 1, Announced::Whole).expect("announced");
        fs::write(&markers[2], last).expect("put back");
    });
    check(&fork, "the markers fork here: 2 have the number 3: `started/");
    let unlinked = findings(&|_, markers| {
        let text = fs::read_to_string(&markers[2]).expect("text");
        let prev = format!("\"prev\":\"{}\"", Digest::of(&fs::read(&markers[1]).expect("readable")));
        assert!(text.contains(&prev), "{text}");
        let text = text.replace(&prev, &format!("\"prev\":\"{}\"", Digest::of(b"elsewhere")));
        write_marker(&markers[2], &text);
    });
    check(&unlinked, "it is marker 3, its prev is `");
    let first = findings(&|_, markers| {
        let text = fs::read_to_string(&markers[0]).expect("text");
        markers.iter().for_each(|path| remove(path));
        write_marker(&markers[0], &text.replace("\"prev\":null", &format!("\"prev\":\"{}\"", Digest::of(b"one"))));
    });
    check(&first, "and there is none before the first");
}

/// Writes a marker with other content, under the name that it has then.
fn write_marker(old: &Path, text: &str) {
    let _ = fs::remove_file(old);
    let name = old.file_name().expect("a name").to_string_lossy();
    let digits = &Digest::of(text.as_bytes()).to_string()[..8];
    fs::write(old.with_file_name(format!("{}-{digits}.json", &name[..20])), text).expect("written");
}

#[test]
fn an_unfinished_run_is_not_hidden_among_the_shards_of_another() {
    let scene = Scene::new();
    let markers = scene.markers();
    let [first, .., last] = &markers[..] else { panic!("{markers:?}") };
    let (hidden, last_text) =
        (Digest::of(&fs::read(first).expect("a marker")), fs::read_to_string(last).expect("text"));
    let prev = Digest::of(last_text.as_bytes());
    let identity = StoreReader::open(&scene.store, PATIENCE).expect("a store").id();
    let text = format!(
        "{{\"schema_version\":1,\"store_id\":\"{identity}\",\"task_class\":\"a\",\"seq\":4,\"prev\":\"{prev}\",\"started_at\":\"2026-11-16T09:00:00.000Z\",\"cases\":2,\"shards\":[\"{hidden}\"]}}\n"
    );
    let merged = Digest::of(text.as_bytes());
    fs::write(last.with_file_name(format!("20261116T090000.000Z-{}.json", &merged.to_string()[..8])), text)
        .expect("written");
    let (store, run) = (open(&scene.store), Run::of("a", 9));
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let build = |position: &_| run.live_at(position, merged);
    store.append(&Snapshot::default(), &class("a"), &incoming, build).expect("committed");
    let found = scene.verified(false);
    let said: Vec<_> = found.findings.iter().map(ToString::to_string).collect();
    let [said] = &said[..] else { panic!("{said:?}") };
    let expected =
        format!("it lists the marker `{hidden}` as that of a shard of its run: it announced a whole run and no shard");
    assert!(said.ends_with(&expected), "{said}");
    assert_eq!((found.state(), found.unfinished.len()), (State::Tampered, 3), "the run that was listed is unfinished");
}

#[test]
fn a_marker_of_a_newer_version_is_unverifiable_and_its_neighbours_are_not_tampered() {
    for index in 0..3 {
        let scene = Scene::new();
        let markers = scene.markers();
        let mut prev: Option<(String, String)> = None;
        for (at, path) in markers.iter().enumerate() {
            let mut text = fs::read_to_string(path).expect("text");
            if at == index {
                text = text.replace("\"schema_version\":1", "\"schema_version\":2,\"weather\":\"fine\"");
            } else if let Some((old, new)) = &prev {
                text = text.replace(old.as_str(), new);
            }
            prev = Some((
                Digest::of(&fs::read(path).expect("readable")).to_string(),
                Digest::of(text.as_bytes()).to_string(),
            ));
            write_marker(path, &text);
        }
        let found = scene.verified(false);
        assert_eq!((found.state(), found.findings.len()), (State::Unverifiable, 1), "{index}: {:?}", found.findings);
        assert!(found.findings[0].to_string().contains("it has format version 2"), "{:?}", found.findings);
        let refused = open(&scene.store).announce(
            &class("a"),
            "2026-11-16T10:00:00.000Z".parse().expect("a moment"),
            1,
            Announced::Whole,
        );
        let refused = refused.expect_err("nobody knows which number is next").to_string();
        assert!(refused.starts_with("the markers of earlier runs are not whole, and are not continued: "), "{refused}");
    }
}

#[test]
fn runs_that_are_announced_at_once_get_one_place_each() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let path = temp.path().join("store");
    open(&path);
    let started_at = "2026-11-16T09:00:00.000Z".parse().expect("a moment");
    std::thread::scope(|scope| {
        for name in ["a", "a", "b", "a"] {
            let path = &path;
            scope.spawn(move || {
                let store = open(path);
                for _ in 0..5 {
                    store.announce(&class(name), started_at, 2, Announced::Whole).expect("announced");
                }
            });
        }
    });
    let (markers, findings) = StoreReader::open(&path, PATIENCE).expect("a store").started().expect("readable");
    assert!(findings.is_empty(), "{findings:?}");
    let of = |name| markers.iter().filter(|started| started.marker.task_class == class(name)).count();
    assert_eq!((of("a"), of("b")), (15, 5));
}

#[test]
fn a_checkpoint_vouches_for_the_records_up_to_its_last_and_for_none_if_it_disagrees() {
    let scene = Scene::new();
    append(&scene.store, "a", 6).expect("committed");
    let anchored = |scene: &Scene| {
        let mut verification = scene.verified(false);
        assert_eq!(verification.is_anchored(&class("a"), 1), None, "nothing was compared");
        verification.compare_with_checkpoints(std::slice::from_ref(&scene.checkpoint), ObjectScope::All);
        [("a", 1), ("a", 4), ("a", 5), ("b", 1), ("c", 1)]
            .map(|(name, seq)| verification.is_anchored(&class(name), seq).expect("it was compared"))
    };
    assert_eq!(anchored(&scene), [true, true, false, true, false]);
    // The newest records of one class are others now.
    scene.records()[3..].iter().for_each(|path| remove(path));
    append(&scene.store, "a", 7).expect("committed");
    assert_eq!(anchored(&scene), [false, false, false, true, false]);
}

#[test]
fn checkpoints_are_compared_whatever_their_times_say() {
    let scene = Scene::new();
    let older = StoreReader::open(&scene.older(), PATIENCE).expect("a store");
    let checks = Checks { last_seen: None, first_use: FirstUse::Trust, user: user() };
    let older = verify_store(&older, checks, &mut |_, _| {}).expect("it can be read");
    let late = older.checkpoint("2026-11-17T09:00:00.000Z".parse().expect("a moment"));
    let mut verification = scene.verified(false);
    verification.compare_with_checkpoints(&[late, scene.checkpoint.clone()], ObjectScope::All);
    assert_eq!(verification.state(), State::Ok, "{:?}", verification.findings);
    let notes: Vec<_> = verification.notes.iter().map(ToString::to_string).collect();
    let went_back = "a checkpoint that was signed at 2026-11-16T09:00:00.000Z has more than one that was signed at \
                     2026-11-17T09:00:00.000Z: a clock was set back; nothing depends on it";
    assert!(notes.iter().any(|note| note == went_back), "{notes:?}");
}

#[test]
fn an_edited_identity_is_noticed() {
    let scene = Scene::new();
    let path = scene.store.join("store.json");
    let text = fs::read_to_string(&path).expect("text");
    let (first, other) = if text.contains("\":\"0") { ("\":\"0", "\":\"1") } else { ("\":\"", "\":\"0") };
    fs::write(&path, text.replacen(first, other, 1)).expect("written");
    match StoreReader::open(&scene.store, PATIENCE) {
        Ok(_) => assert_eq!(scene.states(), [CAUGHT; 3]),
        Err(error) => assert_eq!(error.state(), CAUGHT),
    }
}

/// What somebody without the key can do to the signature of a record, and what it looks like to those who trust the key.
struct SignedScene {
    _temp: tempfile::TempDir,
    store: PathBuf,
    /// The notes of the two records of class `a`.
    notes: [PathBuf; 2],
}

impl SignedScene {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = temp.path().join("store");
        open(&store);
        let notes = [1, 2]
            .map(|label| append_by(Hand::Signing, &store, "a", label).expect("committed").path.with_extension("note"));
        assert_eq!(state_of(&store), (State::Ok, Vec::new()));
        Self { _temp: temp, store, notes }
    }

    /// How many of its records are signed by the trusted key, by others and by nobody.
    fn counts(&self) -> (u64, u64, u64) {
        let counts = verified(&self.store).signature_counts(&class("a"));
        (counts.trusted, counts.unknown, counts.unsigned)
    }

    /// The last record's note, as somebody else would sign it.
    fn resigned(&self) -> String {
        let mallory = NoteSigner::generate("PeterNeumann").expect("a key");
        let verification = verified(&self.store);
        RecordNote::of(&verification.links[&(class("a"), 2)]).sign(&mallory).expect("signed")
    }
}

#[track_caller]
fn is_found(attack: impl FnOnce(&SignedScene), expected: &str) {
    let scene = SignedScene::new();
    attack(&scene);
    let (state, findings) = state_of(&scene.store);
    assert_eq!((state, findings.len()), (State::Tampered, 1), "{findings:?}");
    assert!(findings[0].contains(expected), "{findings:?}");
    assert_eq!(scene.counts().0, 1, "the other record is signed as before");
}

#[test]
fn a_note_that_is_not_the_signature_of_its_record_is_found_and_the_record_is_named() {
    let found = |attack: &dyn Fn(&SignedScene), why: &str| {
        is_found(attack, &format!(": the note beside it is not its signature: {why}"));
    };
    found(
        &|scene| assert!(fs::copy(&scene.notes[0], &scene.notes[1]).is_ok()),
        "it is of another record: record 1 of `a`",
    );
    found(&|scene| fs::write(&scene.notes[1], "").expect("written"), "it is not a signed note");
    found(&|scene| fs::write(&scene.notes[1], b"\xff").expect("written"), "it is not UTF-8 text");
    let swap = |scene: &SignedScene| {
        let (one, two) = (fs::read_to_string(&scene.notes[0]), fs::read_to_string(&scene.notes[1]));
        let (one, two) = (one.expect("text"), two.expect("text"));
        let (text, _) = two.split_once("\n\n").expect("a note");
        let (_, signature) = one.split_once("\n\n").expect("a note");
        fs::write(&scene.notes[1], format!("{text}\n\n{signature}")).expect("written");
    };
    found(&swap, "the signature of `PeterNeumann` is not that of this text");
    is_found(|scene| fs::write(&scene.notes[1], "").expect("written"), "record 2 of `a` (`runs/2026");
}

#[test]
fn a_signature_without_its_record_is_found_and_the_chain_is_not_continued() {
    let scene = SignedScene::new();
    let note = scene.notes[1].file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
    remove(&scene.notes[1].with_extension("json"));
    let (state, findings) = state_of(&scene.store);
    assert_eq!(state, State::Tampered);
    assert_eq!(findings, [format!("`runs/{note}`: it is the signature of a record that is not there")]);
    append(&scene.store, "a", 3).expect_err("a broken store is not continued");
    assert_eq!(open(&scene.store).finish().expect("left alone"), []);
    assert!(scene.notes[1].exists());
}

/// By design: who may sign is for the gate to ask.
#[test]
fn a_signature_that_is_gone_or_of_somebody_else_is_counted_and_no_finding() {
    let scene = SignedScene::new();
    assert_eq!(scene.counts(), (2, 0, 0));
    let resigned = scene.resigned();
    fs::write(&scene.notes[1], &resigned).expect("written");
    assert_eq!(scene.counts(), (1, 1, 0), "it has the name of the key and not the key");
    remove(&scene.notes[1]);
    assert_eq!(scene.counts(), (1, 0, 1));
    assert_eq!(state_of(&scene.store), (State::Ok, Vec::new()));
    assert_eq!(
        signer().verifier().to_string().split('+').next(),
        resigned.lines().last().and_then(|line| line.split(' ').nth(1))
    );
}

/// One record, as a file of this name.
struct OneRecord {
    id: StoreId,
    bytes: Vec<u8>,
}

impl Evidence for OneRecord {
    fn id(&self) -> StoreId {
        self.id
    }

    fn names(&self) -> Result<Vec<OsString>, LockError> {
        Ok(Vec::new())
    }

    fn record(&self, _: &str) -> Result<Vec<u8>, FileError> {
        Ok(self.bytes.clone())
    }

    fn note(&self, _: &str) -> Result<Option<Vec<u8>>, FileError> {
        Ok(None)
    }

    fn survey(&self) -> Result<Vec<Finding>, LockError> {
        Ok(Vec::new())
    }

    fn object(&self, digest: Digest) -> Result<Vec<u8>, ReadObjectError> {
        Err(ReadObjectError::Missing { digest })
    }

    fn check_object(&self, digest: Digest) -> Result<(), ReadObjectError> {
        Err(ReadObjectError::Missing { digest })
    }

    fn object_length(&self, digest: Digest) -> Result<u64, ReadObjectError> {
        Err(ReadObjectError::Missing { digest })
    }
}

#[test]
fn every_flipped_bit_of_every_record_is_noticed() {
    let scene = Scene::new();
    let id = scene.verified(false).store_id;
    let names = records_in(&scene.store);
    let undetected: BTreeMap<_, _> = names.iter().map(|name| (name, undetected_flips(&scene, id, name))).collect();
    assert!(undetected.values().all(Vec::is_empty), "{undetected:?}");
}

fn undetected_flips(scene: &Scene, id: StoreId, name: &str) -> Vec<usize> {
    let mut evidence = OneRecord { id, bytes: fs::read(scene.store.join("runs").join(name)).expect("readable") };
    let mut is_undetected = |bit: usize| {
        evidence.bytes[bit / 8] ^= 1 << (bit % 8);
        let scan = scan(&evidence, vec![OsString::from(name)], &Snapshot::default(), &mut |_| {});
        evidence.bytes[bit / 8] ^= 1 << (bit % 8);
        // What the file itself shows; that the record is not alone in its chain does not count.
        !scan.links.is_empty()
    };
    let bits = fs::read(scene.store.join("runs").join(name)).expect("readable").len() * 8;
    (0..bits).filter(|bit| is_undetected(*bit)).collect()
}
