//! What happens to a store when the machine, the disk or somebody with an editor is against it. On the real writer, in real
//! processes, on real files.

mod crash;
mod crowd;
mod forgeries;
mod histories;
mod hostile;
mod independent;
mod injected;
mod model;
mod tamper;

use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use super::writer::tests::KEY;
use super::{AppendError, Receipt, Snapshot, StoreReader, StoreWriter};
use crate::anchor::{NoteSigner, TrustedKeys};
use crate::memory::{Intents, IntentsFile};
use crate::pack::index;
use crate::record::RecordedRun;
use crate::record::fixture::Run;
use crate::verify::{LastSeenError, LastSeenFile, State, Verification, verify_evidence};
use eval_model::ids::TaskClassName;

const PATIENCE: Duration = Duration::from_secs(120);

/// What a child process is told that only holds a store's lock, until its stdin ends.
const CHILD_LOCKS: &str = "EVAL_HOST_CHILD_LOCKS";

/// What a child process is told: the store, the task class and the label of the run to append.
const CHILD_STORE: &str = "EVAL_HOST_CHILD_STORE";
const CHILD_CLASS: &str = "EVAL_HOST_CHILD_CLASS";
const CHILD_LABEL: &str = "EVAL_HOST_CHILD_LABEL";

/// The secret key that a child process signs its record with, if it does.
const CHILD_SIGNS: &str = "EVAL_HOST_CHILD_SIGNS";

/// Whether a child process brings so many objects that their pack has an index.
const CHILD_FILLS: &str = "EVAL_HOST_CHILD_FILLS";

/// What a writer does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hand {
    Plain,
    Signing,
    /// It brings so many objects that their pack has an index.
    Filling,
}

impl Hand {
    fn signer(self) -> Option<NoteSigner> {
        (self == Self::Signing).then(signer)
    }
}

fn signer() -> NoteSigner {
    KEY.parse().expect("a key")
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn class(name: &str) -> TaskClassName {
    name.parse().expect("a task class")
}

fn open(path: &Path) -> StoreWriter {
    let writer = StoreWriter::open(path, user(), PATIENCE).expect("the store opens");
    writer.remembering(intents_of(path).expect("it is remembered what is about to be committed"))
}

/// What the writers of a store remember, in a folder beside it.
fn intents_of(path: &Path) -> Result<Intents, LastSeenError> {
    let state = path.parent().expect("a store is in a folder").join("state");
    let last_seen = LastSeenFile::open(&state, path, PATIENCE)?;
    Ok(Intents::Remembered(IntentsFile::on(last_seen.shelf())))
}

/// The records that lie in `unfinished/` although they are whole, and are in the chain under no name.
fn lost_records(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path.join("unfinished")) else { return Vec::new() };
    let links = verified(path).links;
    let is_lost = |bytes: &[u8]| {
        RecordedRun::read(bytes).is_ok_and(|(_, link)| links.values().all(|committed| committed.hash != link.hash))
    };
    let names = entries.map(|entry| entry.expect("an entry").path());
    names.filter(|path| is_lost(&fs::read(path).expect("readable"))).map(|path| path.display().to_string()).collect()
}

/// One append as a run does it: what a crash left is finished first.
fn append(path: &Path, name: &str, label: u32) -> Result<Receipt, AppendError> {
    append_by(Hand::Plain, path, name, label)
}

fn append_by(hand: Hand, path: &Path, name: &str, label: u32) -> Result<Receipt, AppendError> {
    let store = open(path);
    store.finish().expect("what a crash left is finished");
    let run = Run::of(name, label);
    let incoming = store.incoming().expect("it takes objects");
    run.keep_objects(&incoming);
    let signer = hand.signer();
    let build = |position: &_| run.at(position);
    store.append_signed(&Snapshot::default(), &class(name), &incoming, signer.as_ref(), build)
}

/// The store as somebody sees it who trusts the key that its records are signed with.
fn verified(path: &Path) -> Verification {
    let store = StoreReader::open(path, PATIENCE).expect("it is a store");
    let mut verification = verify_evidence(&store, &mut |_, _| {}).expect("it can be read");
    verification.check_signatures(&TrustedKeys::default().trusting(signer().verifier()).expect("a key"));
    verification
}

fn state_of(path: &Path) -> (State, Vec<String>) {
    let verification = verified(path);
    (verification.state(), verification.findings.iter().map(ToString::to_string).collect())
}

/// A store with some records of one class.
fn store_with(records: u32) -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let path = temp.path().join("store");
    open(&path);
    for label in 1..=records {
        append(&path, "a", label).expect("committed");
    }
    (temp, path)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
    fs::set_permissions(to, fs::metadata(from).expect("it exists").permissions()).expect("as private");
}

/// The records' names, sorted.
fn records_in(path: &Path) -> Vec<String> {
    let Ok(names) = fs::read_dir(path.join("runs")) else { return Vec::new() };
    let mut names: Vec<_> =
        names.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

/// How a child process says that its append ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Committed {
        file: String,
    },
    NotCommitted,
    Unknown,
    /// It died, or did not come so far.
    Nothing,
}

/// This test binary again, set up to do nothing but one append.
fn child(program: &[&str], store: &Path, name: &str, label: u32) -> Command {
    let this = std::env::current_exe().expect("this test's binary");
    let mut command = match program {
        [] => Command::new(&this),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&this);
            command
        }
    };
    command
        .args(["--exact", "store::faults::an_append_in_a_process_of_its_own", "--test-threads=1", "--nocapture"])
        .env_clear()
        .env(CHILD_STORE, store)
        .env(CHILD_CLASS, name)
        .env(CHILD_LABEL, label.to_string());
    command
}

/// The same, by a writer that may sign.
fn child_of(hand: Hand, program: &[&str], store: &Path, name: &str, label: u32) -> Command {
    let mut command = child(program, store, name, label);
    match hand {
        Hand::Plain => &mut command,
        Hand::Signing => command.env(CHILD_SIGNS, KEY),
        Hand::Filling => command.env(CHILD_FILLS, "1"),
    };
    command
}

fn told(output: &Output) -> Told {
    let text = String::from_utf8_lossy(&output.stdout);
    let said = |prefix: &str| text.lines().find_map(|line| line.split_once(prefix).map(|(_, rest)| rest.to_owned()));
    match said("COMMITTED AS ") {
        Some(file) => Told::Committed { file },
        None if said("NOT COMMITTED").is_some() => Told::NotCommitted,
        None if said("UNKNOWN").is_some() => Told::Unknown,
        None => Told::Nothing,
    }
}

/// Appends once where it is told to, and says how that ended. Run by itself it has a store of its own, and must commit.
#[test]
#[expect(clippy::print_stdout, reason = "it is how a child process tells its parent")]
fn an_append_in_a_process_of_its_own() {
    let Some(store) = std::env::var_os(CHILD_STORE) else {
        let (_temp, path) = store_with(1);
        append(&path, "a", 2).expect("committed");
        return;
    };
    if std::env::var_os(CHILD_LOCKS).is_some() {
        let store = open(Path::new(&store));
        let _lock = store.lock().expect("locked");
        println!("\nLOCKED");
        std::io::stdin().read_to_end(&mut Vec::new()).expect("it ends");
        return;
    }
    make_idle_calls();
    let name = std::env::var(CHILD_CLASS).expect("a task class");
    let label = std::env::var(CHILD_LABEL).ok().and_then(|label| label.parse().ok()).expect("a label");
    match child_append(Path::new(&store), &name, label) {
        Ok(receipt) => println!("\nCOMMITTED AS {}", receipt.link.file_name()),
        Err(Some(AppendError::Unknown { .. })) => println!("\nUNKNOWN"),
        Err(_) => println!("\nNOT COMMITTED"),
    }
}

/// How many idle calls come before an append: more than the test harness makes on its own thread.
const IDLE_CALLS: usize = 64;

/// strace counts calls per thread, and a fault at "the 9th read" also hits the 9th read of the harness's thread. After this
/// the calls of an append have numbers that the other thread never comes to.
fn make_idle_calls() {
    let mut byte = [0];
    for _ in 0..IDLE_CALLS {
        let file = fs::OpenOptions::new().read(true).write(true).open("/dev/null").expect("it opens");
        file.metadata().expect("it is there");
        rustix::fs::fstat(&file).expect("it is there");
        rustix::fs::statat(rustix::fs::CWD, "/dev/null", rustix::fs::AtFlags::empty()).expect("it is there");
        (&file).read_exact(&mut byte).expect_err("it is empty");
        (&file).write_all(&byte).expect("it takes everything");
        file.read_at(&mut byte, 0).expect("it is empty");
        (&file).rewind().expect("it does nothing");
        getrandom::fill(&mut byte).expect("a number");
    }
}

/// The lines of strace's log that are of the thread which touched a store.
fn lines_of_the_append(log: &str) -> Vec<&str> {
    let pid = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let thread = log.lines().find(|line| line.contains("store\"")).and_then(pid);
    let of_thread = log.lines().filter(|line| thread.is_some() && pid(line) == thread);
    of_thread.map(|line| line.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start())).collect()
}

/// Like [`append`], but every failure before the commit is one, and none is a panic.
fn child_append(path: &Path, name: &str, label: u32) -> Result<Receipt, Option<AppendError>> {
    let store = StoreWriter::open(path, user(), PATIENCE).map_err(|_| None)?;
    let store = store.remembering(intents_of(path).map_err(|_| None)?);
    store.finish().map_err(|_| None)?;
    let run = Run::of(name, label);
    let incoming = store.incoming().map_err(|_| None)?;
    for bytes in run.objects() {
        incoming.keep(bytes).map_err(|_| None)?;
    }
    for number in 0..if std::env::var_os(CHILD_FILLS).is_some() { index::FEWEST } else { 0 } {
        incoming.keep(number.to_string().as_bytes()).map_err(|_| None)?;
    }
    let signer = std::env::var(CHILD_SIGNS).ok().and_then(|key| key.parse().ok());
    let build = |position: &_| run.at(position);
    store.append_signed(&Snapshot::default(), &class(name), &incoming, signer.as_ref(), build).map_err(Some)
}
