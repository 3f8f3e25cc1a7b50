//! Random histories of stores, written as fast as files can be: nothing is made durable, because nobody pulls the plug. What a
//! writer does is tested elsewhere; here only what it leaves matters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::class;
use super::forgeries::Forgery;
use crate::chain::{Heads, Position, StoreId, hash_of};
use crate::pack::testing::{objects_in, write_pack};
use crate::record::RecordedRun;
use crate::record::fixture::Run;
use crate::store::encode_identity;
use eval_model::ids::Digest;

const CLASSES: [&str; 3] = ["fixture", "a", "z-last"];

/// An index of a pack that is not there, which is as good as none.
const INDEX: &str = "packs/7777777777777777777777777777777777777777777777777777777777777777.index";

/// splitmix64: the same history for the same seed, on every machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).expect("less than `sides`")
    }
}

/// A store that is being written, and what was done to it.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) path: PathBuf,
    id: StoreId,
    heads: Heads,
    /// The last marker of each class.
    markers: BTreeMap<String, (u64, Digest)>,
    label: u32,
    /// Which of several records is meant, counted from the last.
    pub(super) choice: usize,
    pub(super) story: Vec<String>,
}

impl Scene {
    pub(super) fn new(path: PathBuf, id: StoreId) -> Self {
        for area in ["runs", "packs", "started"] {
            fs::create_dir_all(path.join(area)).expect("made");
        }
        fs::write(path.join("store.json"), encode_identity(id)).expect("written");
        let (heads, markers) = (Heads::default(), BTreeMap::new());
        Self { path, id, heads, markers, label: 0, choice: 0, story: Vec::new() }
    }

    /// A store with all that a forger could want: several records of each class, live ones too, and runs that were not finished.
    /// The last record of cassettes, the last live one and the one that continues another are the last of their classes, so that no
    /// forgery of them is found by the next record's `prev_hash` alone.
    pub(super) fn rich(path: PathBuf) -> Self {
        let mut scene = Self::new(path, StoreId::from_bytes([7; 16]));
        for index in [0, 0, 1, 2, 2] {
            scene.append(CLASSES[index]);
        }
        scene.append_live(CLASSES[0]);
        scene.announce(CLASSES[0]);
        scene.append_live(CLASSES[0]);
        scene.append_continued(CLASSES[1]);
        scene
    }

    /// Some steps of any kind, and then, for most, something that should not have happened.
    pub(super) fn random(path: PathBuf, seed: u64, forgeries: &[Forgery]) -> Self {
        let mut dice = Dice(seed);
        let id = u128::from(seed).wrapping_mul(0x1234_5678_9abc_def1_2345).to_be_bytes();
        let mut scene = Self::new(path, StoreId::from_bytes(id));
        for _ in 0..1 + dice.roll(7) {
            let name = CLASSES[dice.roll(3)];
            match dice.roll(13) {
                0..7 => scene.append(name),
                7..9 => scene.append_live(name),
                9 => drop(scene.announce(name)),
                10 => scene.append_continued(name),
                11 => scene.crash(name, dice.roll(2)),
                _ => scene.leave_something_harmless(dice.roll(4)),
            }
        }
        for _ in 0..dice.roll(3) {
            let forgery = &forgeries[dice.roll(forgeries.len())];
            scene.choice = dice.roll(8);
            let applied = forgery.apply(&scene);
            scene.story.push(format!("forged: {} (applied: {applied})", forgery.name));
        }
        scene
    }

    fn next(&mut self, name: &str) -> (Run, Position) {
        self.label += 1;
        let run = Run::of(name, self.label);
        let packs = self.path.join("packs");
        let stored: BTreeSet<_> = objects_in(&packs).into_iter().map(|(digest, _)| digest).collect();
        let objects = run.objects().map(|bytes| (Digest::of(bytes), bytes.to_vec()));
        write_pack(&packs, &objects.filter(|(digest, _)| !stored.contains(digest)).collect::<Vec<_>>());
        (run, self.heads.next(self.id, &class(name)))
    }

    fn commit(&mut self, bytes: &[u8]) -> PathBuf {
        let (_, link) = RecordedRun::read(bytes).expect("a record");
        let path = self.path.join("runs").join(link.file_name().as_str());
        fs::write(&path, bytes).expect("written");
        self.heads.set(link.position.task_class.clone(), link.head());
        path
    }

    fn append(&mut self, name: &str) {
        let (run, position) = self.next(name);
        self.commit(&run.at(&position).to_bytes());
        self.story.push(format!("appended to {name}"));
    }

    fn append_live(&mut self, name: &str) {
        let marker = self.announce(name);
        let (run, position) = self.next(name);
        self.commit(&run.live_at(&position, marker).to_bytes());
        self.story.push(format!("appended a live run to {name}"));
    }

    /// A run that reached its cap, and one that answers what it left out.
    fn append_continued(&mut self, name: &str) {
        let (first, second) = (self.announce(name), self.announce(name));
        let (run, position) = self.next(name);
        self.commit(&run.capped_at(&position, first).to_bytes());
        let task_class = class(name);
        let capped = self.heads.get(&task_class).expect("it was committed").hash;
        self.commit(&run.continuing_at(&self.heads.next(self.id, &task_class), second, capped).to_bytes());
        self.story.push(format!("continued a capped run of {name}"));
    }

    /// The marker is written here and not by the writer, which waits for the disk.
    fn announce(&mut self, name: &str) -> Digest {
        self.story.push(format!("announced in {name}"));
        let started_at = format!("2026-11-16T08:{:02}:00.000Z", self.label % 60);
        let (seq, prev) = self.markers.get(name).map_or((1, None), |(seq, digest)| (seq + 1, Some(*digest)));
        let prev = prev.map_or_else(|| "null".to_owned(), |prev| format!("\"{prev}\""));
        let text = format!(
            "{{\"schema_version\":1,\"store_id\":\"{}\",\"task_class\":\"{name}\",\"seq\":{seq},\"prev\":{prev},\"started_at\":\"{started_at}\",\"cases\":2}}\n",
            self.id
        );
        let digest = Digest::of(text.as_bytes());
        let time = started_at.replace(['-', ':'], "");
        fs::write(self.path.join(format!("started/{time}-{}.json", &digest.to_string()[..8])), text).expect("written");
        self.markers.insert(name.to_owned(), (seq, digest));
        digest
    }

    /// An append that dies before its record has its name: with the whole of it, or with a part.
    fn crash(&mut self, name: &str, cut: usize) {
        let heads = self.heads.clone();
        let (run, position) = self.next(name);
        let path = self.commit(&run.at(&position).to_bytes());
        self.heads = heads;
        let bytes = fs::read(&path).expect("readable");
        let draft = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        fs::write(path.with_file_name(format!(".tmp-{draft}")), &bytes[..bytes.len() >> cut]).expect("written");
        fs::remove_file(path).expect("removed");
        self.story.push(format!("crashed in {name}"));
    }

    fn leave_something_harmless(&mut self, which: usize) {
        let name = ["runs/.DS_Store", "started/Thumbs.db", "started/.tmp-marker", INDEX][which];
        fs::write(self.path.join(name), "x").expect("written");
        self.story.push(format!("left {name}"));
    }

    /// The records that can be read, with what they say, by their places.
    pub(super) fn records(&self) -> Vec<(PathBuf, Value)> {
        let entries =
            fs::read_dir(self.path.join("runs")).expect("listed").map(|entry| entry.expect("an entry").path());
        let read = |path: PathBuf| {
            let value: Value = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            let is_record = path.extension().is_some_and(|extension| extension == "json") && value["seq"].is_u64();
            let is_draft = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            (is_record && !is_draft).then_some((path, value))
        };
        let mut records: Vec<_> = entries.filter_map(read).collect();
        let place = |value: &Value| (value["task_class"].to_string(), value["seq"].as_u64());
        records.sort_by_key(|(path, value)| (place(value), path.clone()));
        records
    }

    /// The chosen one of the records of a mode. One that was made a thing of another shape before cannot be forged further.
    pub(super) fn record(&self, mode: &str) -> Option<(PathBuf, Value)> {
        self.record_where(|value| value["mode"] == mode)
    }

    /// The same of the records of which something holds.
    pub(super) fn record_where(&self, holds: impl Fn(&Value) -> bool) -> Option<(PathBuf, Value)> {
        let reads = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| RecordedRun::read(&bytes).is_ok());
        let mut records = self.records();
        records.retain(|(path, value)| holds(value) && reads(path));
        let index = records.len().checked_sub(1)?;
        Some(records.swap_remove(index - self.choice % records.len()))
    }

    /// The files in a folder of the store, sorted.
    pub(super) fn files(&self, area: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path.join(area)) else { return Vec::new() };
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        files
    }
}

/// Writes other bytes in place of a record, under the name that these bytes have.
pub(super) fn replace_record(record: &Path, text: &str) {
    fs::remove_file(record).expect("the old one goes");
    add_record(record, text);
}

/// Writes a record beside another one of the same time, under the name that its bytes have.
pub(super) fn add_record(beside: &Path, text: &str) {
    let name = beside.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let (time, _) = name.split_once('-').expect("a time and a hash");
    let hash = hash_of(text.as_bytes()).to_string();
    fs::write(beside.with_file_name(format!("{time}-{}.json", &hash[..8])), text).expect("written");
}
