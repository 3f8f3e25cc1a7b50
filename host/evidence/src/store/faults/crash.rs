//! Every state in which a power failure can leave a store, made from the system calls of a real append.
//!
//! A kill does not lose what the kernel has taken, so killing processes says nothing about durability. Here the calls of an
//! append are traced, and for every point in time each state is built that a disk may be in then: file contents count only
//! after an fsync of the file or of the whole filesystem, names only after one of their directory; whatever is pending may
//! be there or not, in any combination, and content that is not durable may be whole, cut, empty or zeros.
//!
//! The same enumeration must find fault with writers that lack one of the steps, or it would prove nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{
    Hand, State, Told, append, child_of, class, copy, intents_of, lines_of_the_append, lost_records, state_of,
    store_with, told, verified,
};
use crate::record::RecordedRun;

/// So many changes that are not durable yet are tried in every combination.
const MOST_PENDING: usize = 9;

/// One step of an append, with paths relative to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    MakeDir(PathBuf),
    Create(PathBuf),
    Write(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
    SyncFile(PathBuf),
    SyncDir(PathBuf),
    SyncFilesystem,
    /// The writer has said that the record is committed.
    Report,
}

/// The steps of an append, and what the files that it made contain in the end.
struct Trace {
    hand: Hand,
    steps: Vec<Step>,
    contents: BTreeMap<PathBuf, Vec<u8>>,
}

fn trace(original: &Path, hand: Hand) -> Trace {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let (store, log) = (temp.path().join("store"), temp.path().join("log"));
    copy(original, &store);
    let calls = "trace=openat,openat2,write,fsync,syncfs,rename,renameat,renameat2,unlink,unlinkat,mkdirat,pwrite64,ftruncate,link,linkat";
    let strace = ["strace", "-f", "-y", "-s", "40", "-o", log.to_str().expect("UTF-8"), "-e", calls];
    let output = child_of(hand, &strace, &store, "a", 2).output().expect("strace runs");
    assert!(matches!(told(&output), Told::Committed { .. }), "{output:?}");
    let lines = fs::read_to_string(&log).expect("a log");
    let steps: Vec<_> = lines_of_the_append(&lines).into_iter().filter_map(|line| step(line, &store)).collect();
    let contents = steps.iter().filter_map(|step| made_file(step, &steps, &store)).collect();
    Trace { hand, steps, contents }
}

/// What a file that was made contains, read where it is in the end.
fn made_file(step: &Step, steps: &[Step], store: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let Step::Create(path) = step else { return None };
    let renamed = steps.iter().find_map(|step| match step {
        Step::Rename { from, to } if from == path => Some(to),
        _ => None,
    });
    // All but an index get their names at the end.
    let content = fs::read(store.join(renamed.unwrap_or(path)));
    Some((path.clone(), content.expect("readable")))
}

/// The step in a line of strace's log, if it succeeded and concerns the store.
fn step(line: &str, store: &Path) -> Option<Step> {
    if line.contains("COMMITTED AS") {
        return Some(Step::Report);
    }
    let (name, arguments) = line.split_once('(')?;
    let call = Call { name, arguments, store };
    if line.contains("= -1 ") { None } else { call.step() }
}

/// A call in strace's log, where each descriptor is followed by its path.
struct Call<'a> {
    name: &'a str,
    arguments: &'a str,
    store: &'a Path,
}

impl Call<'_> {
    fn step(&self) -> Option<Step> {
        match self.name {
            "openat" | "openat2" if self.arguments.contains("O_CREAT") => self.named(0).map(Step::Create),
            "openat" | "openat2" => None,
            "write" => self.descriptor().map(Step::Write),
            "mkdirat" => self.named(0).map(Step::MakeDir),
            "unlinkat" => self.named(0).map(Step::Remove),
            "renameat" | "renameat2" => Some(Step::Rename { from: self.named(0)?, to: self.named(1)? }),
            "syncfs" => self.descriptor().map(|_| Step::SyncFilesystem),
            "fsync" => self.descriptor().map(sync),
            other => panic!("a call that the model does not know: {other}({}", self.arguments),
        }
    }

    /// The path of the first descriptor, relative to the store.
    fn descriptor(&self) -> Option<PathBuf> {
        self.inside(Path::new(between(self.arguments, '<', '>').first()?))
    }

    /// The path of the n-th name, which is relative to the n-th descriptor.
    fn named(&self, index: usize) -> Option<PathBuf> {
        let descriptors = between(self.arguments, '<', '>');
        let names = between(self.arguments, '"', '"');
        self.inside(&Path::new(descriptors.get(index)?).join(names.get(index)?))
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(self.store).ok().map(Path::to_owned)
    }
}

/// Of the files of an append only drafts are made durable one by one; everything else that is, is a directory.
fn sync(path: PathBuf) -> Step {
    let is_draft = path.to_str().is_some_and(|path| path.contains(".tmp-"));
    if is_draft { Step::SyncFile(path) } else { Step::SyncDir(path) }
}

fn between(text: &str, open: char, close: char) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(open) {
        let Some((inner, after)) = after.split_once(close) else { break };
        found.push(inner.to_owned());
        rest = after;
    }
    found
}

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Dir,
    /// A file that the append made, by the path it was made under.
    Made(PathBuf),
}

/// A change of one name that is not durable yet. Within a directory a rename is one change, between two it is two.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    dirs: BTreeSet<PathBuf>,
    remove: Option<PathBuf>,
    add: Option<(PathBuf, Node)>,
}

/// How content that is not durable comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lost {
    Nothing,
    Half,
    Everything,
    Zeroed,
}

const LOSSES: [Lost; 4] = [Lost::Nothing, Lost::Half, Lost::Everything, Lost::Zeroed];

/// A disk at one time: what is durable, and what may be.
#[derive(Debug, Clone, Default)]
struct Disk {
    names: BTreeMap<PathBuf, Node>,
    removed: BTreeSet<PathBuf>,
    pending: Vec<Change>,
    /// Where each file is now, as the running system sees it.
    current: BTreeMap<PathBuf, PathBuf>,
    written: BTreeSet<PathBuf>,
    durable: BTreeSet<PathBuf>,
    is_reported: bool,
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

impl Disk {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::MakeDir(path) => self.change(None, Some((path.clone(), Node::Dir))),
            Step::Create(path) => {
                self.current.insert(path.clone(), path.clone());
                self.change(None, Some((path.clone(), Node::Made(path.clone()))));
            }
            Step::Write(path) => drop(self.made(path).map(|made| self.written.insert(made))),
            Step::Remove(path) => {
                self.current.remove(path);
                self.change(Some(path.clone()), None);
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::SyncFile(path) => drop(self.made(path).map(|made| self.durable.insert(made))),
            Step::SyncDir(path) => {
                let (done, left) =
                    std::mem::take(&mut self.pending).into_iter().partition(|change| change.dirs.contains(path));
                self.pending = left;
                self.settle(done);
            }
            Step::SyncFilesystem => {
                self.durable.extend(self.written.iter().cloned());
                let done = std::mem::take(&mut self.pending);
                self.settle(done);
            }
            Step::Report => self.is_reported = true,
        }
    }

    /// The path that the file which is now at `path` was made under.
    fn made(&self, path: &Path) -> Option<PathBuf> {
        self.current.get(path).cloned()
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let made = self.current.remove(from).expect("only files that the append made are renamed");
        self.current.insert(to.to_owned(), made.clone());
        let add = Some((to.to_owned(), Node::Made(made)));
        if parent(from) == parent(to) {
            self.change(Some(from.to_owned()), add);
        } else {
            self.change(None, add);
            self.change(Some(from.to_owned()), None);
        }
    }

    fn change(&mut self, remove: Option<PathBuf>, add: Option<(PathBuf, Node)>) {
        let added = add.iter().map(|(path, _)| parent(path));
        let dirs = remove.iter().map(|path| parent(path)).chain(added).collect();
        self.pending.push(Change { dirs, remove, add });
    }

    fn settle(&mut self, changes: Vec<Change>) {
        for change in changes {
            if let Some(path) = change.remove {
                self.names.remove(&path);
                self.removed.insert(path);
            }
            if let Some((path, node)) = change.add {
                self.removed.remove(&path);
                self.names.insert(path, node);
            }
        }
    }

    /// Every disk that a power failure may leave now; of very many, some of every kind.
    fn after_a_crash(&self) -> Vec<Self> {
        let count = self.pending.len();
        assert!(count <= 14, "too many combinations: {:?}", self.pending);
        let subset = |bits: u32| {
            let mut disk = self.clone();
            let survives = |(index, _): &(usize, &Change)| bits & (1 << index) != 0;
            let survivors =
                self.pending.iter().enumerate().filter(survives).map(|(_, change)| change.clone()).collect();
            disk.settle(survivors);
            disk
        };
        // Odd, so that every change is there in some of them and missing in others. A writer that syncs never has so many.
        let stride = (1 << count.saturating_sub(MOST_PENDING)) | 1;
        (0..1_u32 << count).step_by(stride).map(subset).collect()
    }

    /// What would be found, to tell equal disks.
    fn key(&self, lost: Lost) -> (BTreeMap<PathBuf, Node>, BTreeSet<PathBuf>, Option<Lost>, bool) {
        let made = self.names.values().filter_map(|node| if let Node::Made(made) = node { Some(made) } else { None });
        let is_at_risk = made.into_iter().any(|made| !self.durable.contains(made));
        (self.names.clone(), self.removed.clone(), is_at_risk.then_some(lost), self.is_reported)
    }

    fn build(&self, original: &Path, contents: &BTreeMap<PathBuf, Vec<u8>>, lost: Lost, store: &Path) {
        copy(original, store);
        for (path, node) in &self.names {
            let target = store.join(path);
            fs::create_dir_all(target.parent().expect("inside the store")).expect("made");
            match node {
                Node::Dir => fs::create_dir_all(&target).expect("made"),
                Node::Made(made) => fs::write(&target, self.content(made, &contents[made], lost)).expect("written"),
            }
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(store, private).expect("as private");
    }

    fn content(&self, made: &Path, whole: &[u8], lost: Lost) -> Vec<u8> {
        match lost {
            _ if self.durable.contains(made) => whole.to_vec(),
            _ if !self.written.contains(made) => Vec::new(),
            Lost::Nothing => whole.to_vec(),
            Lost::Half => whole[..whole.len() / 2].to_vec(),
            Lost::Everything => Vec::new(),
            Lost::Zeroed => vec![0; whole.len()],
        }
    }
}

/// What every crash may leave, and the violations among it.
fn violations(original: &Path, trace: &Trace, enough: usize) -> (usize, Vec<String>) {
    let mut disk = Disk::default();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for index in 0..=trace.steps.len() {
        assert!(enough == 1 || disk.pending.len() <= MOST_PENDING, "a writer is judged by every state");
        for crashed in disk.after_a_crash() {
            for lost in LOSSES {
                if found.len() < enough && seen.insert(crashed.key(lost)) {
                    let violation = check(&crashed, original, trace, lost).err();
                    found.extend(violation.map(|violation| format!("after step {index}, {lost:?}: {violation}")));
                }
            }
        }
        if let Some(step) = trace.steps.get(index) {
            disk.apply(step);
        }
    }
    (seen.len(), found)
}

fn check(disk: &Disk, original: &Path, trace: &Trace, lost: Lost) -> Result<(), String> {
    // In memory if possible: what is looked at here has been through its crash already.
    let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder");
    let store = temp.path().join("store");
    disk.build(original, &trace.contents, lost, &store);
    let (state, findings) = state_of(&store);
    if state > State::Incomplete {
        return Err(format!("{state}: {findings:?}"));
    }
    if disk.is_reported && verified(&store).links.len() != 2 {
        return Err("the record was reported as committed and is gone".to_owned());
    }
    check_signed(&store, trace.hand, 1)?;
    intend_drafts(&store);
    append(&store, "a", 3).map_err(|error| format!("the next append fails: {error:?}"))?;
    let lost = lost_records(&store);
    if !lost.is_empty() {
        return Err(format!("whole records were not finished: {lost:?}"));
    }
    // What was finished since is signed too.
    check_signed(&store, trace.hand, 2)?;
    match state_of(&store) {
        (State::Ok, _) => Ok(()),
        (state, findings) => Err(format!("after the next append: {state}: {findings:?}")),
    }
}

/// Whoever sees the record of a writer that signs sees its signature. `others` are the records that nobody signed.
fn check_signed(store: &Path, hand: Hand, others: u64) -> Result<(), String> {
    let verification = verified(store);
    let written = verification.links.len() as u64 - others;
    let trusted = verification.signature_counts(&class("a")).trusted;
    let expected = if hand == Hand::Signing { written } else { 0 };
    if trusted == expected { Ok(()) } else { Err(format!("{trusted} of {expected} records are signed")) }
}

/// What the writer remembers lies elsewhere, and is durable before it makes the draft.
fn intend_drafts(store: &Path) {
    let intents = intents_of(store).expect("it opens");
    for entry in fs::read_dir(store.join("runs")).into_iter().flatten() {
        let entry = entry.expect("an entry");
        let record = RecordedRun::read(&fs::read(entry.path()).expect("readable"));
        if let (true, Ok((_, link))) = (entry.file_name().to_string_lossy().starts_with(".tmp-"), record) {
            intents.intend(&link).expect("remembered");
        }
    }
}

#[test]
fn no_power_failure_breaks_a_store_or_loses_what_was_reported() {
    for (hand, fewest) in [(Hand::Plain, 12), (Hand::Signing, 20), (Hand::Filling, 20)] {
        no_power_failure_breaks_what_is_written_by(hand, fewest);
    }
}

fn no_power_failure_breaks_what_is_written_by(hand: Hand, fewest: usize) {
    let (_temp, original) = store_with(1);
    let trace = trace(&original, hand);
    assert_eq!(trace.steps.last(), Some(&Step::Report), "{:?}", trace.steps);
    let (states, found) = violations(&original, &trace, usize::MAX);
    assert!(states >= fewest, "only {states} states of {hand:?}");
    assert!(found.is_empty(), "{} of {states} states: {found:#?}", found.len());
}

fn is_in_runs(path: &Path) -> bool {
    path.starts_with("runs")
}

/// The steps of a writer that lacks something must lead to violations.
#[track_caller]
fn is_caught(mutate: impl FnOnce(&mut Vec<Step>)) {
    is_caught_of(Hand::Plain, mutate);
}

#[track_caller]
fn is_caught_of(hand: Hand, mutate: impl FnOnce(&mut Vec<Step>)) {
    let (_temp, original) = store_with(1);
    let mut trace = trace(&original, hand);
    let before = trace.steps.clone();
    mutate(&mut trace.steps);
    assert_ne!(trace.steps, before, "the mutant is the writer");
    let (states, found) = violations(&original, &trace, 1);
    assert!(!found.is_empty(), "none of {states} states shows the mutant");
}

#[test]
fn a_writer_without_the_files_fsync_is_caught() {
    is_caught(|steps| steps.retain(|step| !matches!(step, Step::SyncFile(path) if is_in_runs(path))));
}

#[test]
fn a_writer_without_the_directorys_fsync_is_caught() {
    is_caught(|steps| steps.retain(|step| !matches!(step, Step::SyncDir(path) if is_in_runs(path))));
}

#[test]
fn a_writer_without_the_fsync_of_the_pack_is_caught() {
    is_caught(|steps| steps.retain(|step| !matches!(step, Step::SyncFile(path) if path.starts_with("packs"))));
}

#[test]
fn a_writer_without_the_fsync_of_the_packs_directory_is_caught() {
    is_caught(|steps| steps.retain(|step| !matches!(step, Step::SyncDir(path) if path.ends_with("packs"))));
}

#[test]
fn a_writer_that_writes_the_record_before_its_objects_is_caught() {
    is_caught(|steps| {
        let is_records = |step: &Step| match step {
            Step::Create(path) | Step::Write(path) | Step::SyncFile(path) | Step::SyncDir(path) => is_in_runs(path),
            Step::Rename { to, .. } => is_in_runs(to),
            _ => false,
        };
        let (mut record, mut others): (Vec<_>, Vec<_>) = steps.drain(..).partition(is_records);
        steps.append(&mut record);
        steps.append(&mut others);
    });
}

fn is_of_the_note(step: &Step) -> bool {
    let is_note = |path: &Path| path.extension().is_some_and(|extension| extension == "note");
    match step {
        Step::Create(path) | Step::Write(path) | Step::SyncFile(path) => is_note(path),
        Step::Rename { to, .. } => is_note(to),
        _ => false,
    }
}

#[test]
fn a_signing_writer_without_the_fsync_of_the_note_is_caught() {
    is_caught_of(Hand::Signing, |steps| {
        steps.retain(|step| !(matches!(step, Step::SyncFile(_)) && is_of_the_note(step)));
    });
}

/// The place of the one rename of a signature, and of the fsync of its directory before or after it.
fn fsync_at(steps: &[Step], offset: isize) -> usize {
    let renamed = steps.iter().position(|step| matches!(step, Step::Rename { .. }) && is_of_the_note(step));
    let place = renamed.expect("a signature gets its name").checked_add_signed(offset).expect("inside");
    assert!(matches!(&steps[place], Step::SyncDir(path) if is_in_runs(path)), "{:?}", steps[place]);
    place
}

#[test]
fn a_signing_writer_that_names_the_note_before_the_draft_is_durable_is_caught() {
    is_caught_of(Hand::Signing, |steps| drop(steps.remove(fsync_at(steps, -1))));
}

#[test]
fn a_signing_writer_that_names_the_record_before_the_note_is_durable_is_caught() {
    is_caught_of(Hand::Signing, |steps| drop(steps.remove(fsync_at(steps, 1))));
}

#[test]
fn a_signing_writer_that_signs_at_the_end_is_caught() {
    is_caught_of(Hand::Signing, |steps| {
        let (mut note, mut others): (Vec<_>, Vec<_>) = steps.drain(..).partition(is_of_the_note);
        let report = others.pop().expect("a report");
        steps.append(&mut others);
        steps.append(&mut note);
        steps.push(report);
    });
}
