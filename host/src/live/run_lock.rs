//! One live run of a task class at a time, and what they have spent together.
//!
//! The lock is an exclusive `flock` on `<bench_root>/.<task_class>.runlock`; the kernel lets go of it when its holder dies. In
//! the same file lies a ledger: all that runs of this class ever spent, and what the current one has set aside. A run that
//! had to wait counts what was spent meanwhile against its own cap, so that runs which are started together cost one cap
//! and not one each. What a dead holder had set aside counts as spent: nobody knows better. It also goes on with the most that
//! a case of theirs has cost: agents that ignore what they are told would else spend once more than the cap, in each run.
//!
//! The ledger is one small block, rewritten in place by the holder and read by anybody. A reader that meets a half-written
//! block sees that its digest does not fit, and looks again.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use eval_evidence::files::{Audience, Dir, FileError};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::money::Usd;
use eval_model::utc::UtcMillis;

const SCHEMA_VERSION: u32 = 1;

/// The size of the ledger's block: one sector, so that a machine that loses its power leaves the old block or the new one.
const BLOCK: usize = 512;

/// How long a waiting run sleeps between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How often a block that is just being rewritten is read again.
const MOST_READS: usize = 100;

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Holder {
    pub(crate) process: u32,
    pub(crate) since: UtcMillis,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    schema_version: u32,
    /// `None` when the last holder ended in an orderly way.
    holder: Option<Holder>,
    /// All that was ever spent on this task class, and what its holder has set aside besides, in nano-dollars.
    spent_nano_usd: Usd,
    reserved_nano_usd: Usd,
    /// The most that a case has cost since somebody last got the lock without waiting for it.
    #[serde(default)]
    largest_nano_usd: Usd,
}

/// What a run has spent until now, as its ledger keeps it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    pub(crate) spent: Usd,
    pub(crate) reserved: Usd,
    /// The most that a case has cost, of this run or of those that it waited for.
    pub(crate) largest: Usd,
}

/// Why a run did not get its lock.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunLockError {
    #[error("a live run of `{task_class}` is going on ({}); leave out --no-wait to wait for it", describe(holder.as_ref()))]
    Held { task_class: TaskClassName, holder: Option<Holder> },
    #[error("interrupted while waiting for another live run of `{task_class}`")]
    Interrupted { task_class: TaskClassName },
    #[error("`{}` is not a ledger of this program: move it away when no live run is going on", path.display())]
    Malformed { path: PathBuf },
    #[error("the lock `{}` cannot be used", path.display())]
    File { path: PathBuf, source: FileError },
}

impl Advice for RunLockError {
    fn exit(&self) -> Exit {
        match self {
            Self::Interrupted { .. } => Exit::Interrupted,
            Self::Held { .. } | Self::Malformed { .. } | Self::File { .. } => Exit::HarnessError,
        }
    }
}

fn describe(holder: Option<&Holder>) -> String {
    match holder {
        Some(Holder { process, since }) => format!("process {process}, since {since}"),
        None => "the holder has not written who it is yet".to_owned(),
    }
}

/// A run's place in the queue for its lock. It takes the lock at once if it is free, and else notes what was spent until
/// now: make one as soon as a run is asked for.
#[derive(Debug)]
pub(crate) struct RunLockQueue {
    name: LockName,
    task_class: TaskClassName,
    place: Place,
}

#[derive(Debug)]
enum Place {
    First(File),
    Behind { spent_before: Usd },
}

/// What a run does when another one holds the lock.
pub(crate) struct Waiting<'a> {
    /// `None` does not wait.
    pub(crate) say: Option<&'a mut dyn FnMut(&str)>,
    pub(crate) is_interrupted: &'a dyn Fn() -> bool,
}

/// The lock, held until this is dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
    name: LockName,
    holder: Holder,
    /// What all earlier runs spent.
    earlier: Usd,
    /// What other runs spent while this one waited.
    pub(crate) spent_meanwhile: Usd,
    /// The most that a case of the runs cost that this one waited for.
    pub(crate) largest_meanwhile: Usd,
}

impl RunLockQueue {
    pub(crate) fn join(bench_root: &Path, task_class: &TaskClassName) -> Result<Self, RunLockError> {
        let name = LockName::new(bench_root, task_class)?;
        let file = name.open()?;
        let ledger = name.read(&file)?;
        let place = match name.try_lock(&file)? {
            Attempt::Locked => Place::First(file),
            Attempt::HeldByAnother => Place::Behind { spent_before: ledger.spent_nano_usd },
        };
        Ok(Self { name, task_class: task_class.clone(), place })
    }

    /// Takes the lock, after waiting for it if need be.
    pub(crate) fn acquire(self, holder: Holder, waiting: Waiting<'_>) -> Result<RunLock, RunLockError> {
        let Self { name, task_class, place } = self;
        let (file, spent_before) = match place {
            Place::First(file) => (file, None),
            Place::Behind { spent_before } => (wait_for_lock(&name, &task_class, waiting)?, Some(spent_before)),
        };
        let ledger = name.read(&file)?;
        let earlier = ledger.spent_nano_usd.saturating_add(ledger.reserved_nano_usd);
        let (spent_meanwhile, largest_meanwhile) = match spent_before {
            None => (Usd::ZERO, Usd::ZERO),
            Some(before) => (earlier.saturating_sub(before), ledger.largest_nano_usd),
        };
        let lock = RunLock { file, name, holder, earlier, spent_meanwhile, largest_meanwhile };
        lock.note(Spending { largest: largest_meanwhile, ..Spending::default() })?;
        Ok(lock)
    }
}

fn wait_for_lock(name: &LockName, task_class: &TaskClassName, mut waiting: Waiting<'_>) -> Result<File, RunLockError> {
    let mut named = None;
    loop {
        let file = name.open()?;
        if let Attempt::Locked = name.try_lock(&file)? {
            return Ok(file);
        }
        let holder = name.read(&file)?.holder;
        wait_for(holder, task_class, &mut named, &mut waiting)?;
    }
}

/// Says for whom the run waits, once per holder, and sleeps a little.
fn wait_for(
    holder: Option<Holder>,
    task_class: &TaskClassName,
    named: &mut Option<Holder>,
    waiting: &mut Waiting<'_>,
) -> Result<(), RunLockError> {
    let task_class = task_class.clone();
    let Some(say) = &mut waiting.say else { return Err(RunLockError::Held { task_class, holder }) };
    if (waiting.is_interrupted)() {
        return Err(RunLockError::Interrupted { task_class });
    }
    if holder.is_some() && *named != holder {
        say(&format!("waiting for another live run of `{task_class}` ({})", describe(holder.as_ref())));
        *named = holder;
    }
    thread::sleep(BETWEEN_LOOKS);
    Ok(())
}

enum Attempt {
    Locked,
    HeldByAnother,
}

/// Where the lock's file is: the bench root, held open, and a name in it.
#[derive(Debug)]
struct LockName {
    dir: Dir,
    name: String,
}

impl LockName {
    fn new(bench_root: &Path, task_class: &TaskClassName) -> Result<Self, RunLockError> {
        let name = format!(".{task_class}.runlock");
        match Dir::open_ambient(bench_root) {
            Ok(dir) => Ok(Self { dir, name }),
            Err(source) => Err(RunLockError::File { path: bench_root.join(name), source }),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    fn refused(&self, action: &'static str, error: io::Error) -> RunLockError {
        let path = self.path();
        RunLockError::File { source: FileError::io(action, &path, error), path }
    }

    /// It lies in a repository, where others may run too.
    fn open(&self) -> Result<File, RunLockError> {
        let opened = self.dir.open_or_new(&self.name, Audience::Umask);
        opened.map_err(|source| RunLockError::File { path: self.path(), source })
    }

    fn try_lock(&self, file: &File) -> Result<Attempt, RunLockError> {
        match file.try_lock() {
            Ok(()) if self.is_of(file) => Ok(Attempt::Locked),
            // Somebody moved the file away: its lock keeps nobody out, and the next attempt opens the new one.
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(Attempt::HeldByAnother),
            Err(TryLockError::Error(error)) => Err(self.refused("locked", error)),
        }
    }

    /// Whether the name is still this file's.
    fn is_of(&self, file: &File) -> bool {
        let held = file.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
        let named = self.dir.stat_of(&self.name).map(|stat| stat.map(|stat| (stat.st_dev, stat.st_ino)));
        matches!((held, named), (Ok(held), Ok(Some(named))) if held == named)
    }

    fn read(&self, file: &File) -> Result<Ledger, RunLockError> {
        for _ in 0..MOST_READS {
            let mut block = [0; BLOCK];
            let length = file.read_at(&mut block, 0).map_err(|error| self.refused("read", error))?;
            if let Some(ledger) = from_block(&block[..length]) {
                return Ok(ledger);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(RunLockError::Malformed { path: self.path() })
    }
}

impl RunLock {
    /// Notes what this run has spent and set aside until now.
    pub(crate) fn note(&self, spending: Spending) -> Result<(), RunLockError> {
        self.write(Some(self.holder.clone()), spending)
    }

    /// Ends in an orderly way: what is still set aside was spent, for all that is known, and nobody holds the lock.
    pub(crate) fn release(self, spending: Spending) -> Result<(), RunLockError> {
        let spent = spending.spent.saturating_add(spending.reserved);
        self.write(None, Spending { spent, reserved: Usd::ZERO, ..spending })
    }

    /// Ends a run that spent nothing.
    pub(crate) fn release_unused(self) -> Result<(), RunLockError> {
        let largest = self.largest_meanwhile;
        self.release(Spending { largest, ..Spending::default() })
    }

    fn write(&self, holder: Option<Holder>, spending: Spending) -> Result<(), RunLockError> {
        let ledger = Ledger {
            schema_version: SCHEMA_VERSION,
            holder,
            spent_nano_usd: self.earlier.saturating_add(spending.spent),
            reserved_nano_usd: spending.reserved,
            largest_nano_usd: spending.largest,
        };
        self.file.write_all_at(&to_block(&ledger), 0).map_err(|error| self.name.refused("written", error))
    }
}

/// A line with the ledger, a line with its digest, and spaces up to the block's size.
fn to_block(ledger: &Ledger) -> [u8; BLOCK] {
    let line = serde_json::to_string(ledger).expect("numbers and a time serialise");
    let text = format!("{line}\n{}\n", Digest::of(line.as_bytes()));
    let mut block = [b' '; BLOCK];
    block[..text.len()].copy_from_slice(text.as_bytes());
    block
}

fn from_block(block: &[u8]) -> Option<Ledger> {
    if block.is_empty() {
        return Some(Ledger::default());
    }
    let mut lines = std::str::from_utf8(block).ok()?.lines();
    let (line, digest) = (lines.next()?, lines.next()?.parse::<Digest>().ok()?);
    let ledger: Ledger = serde_json::from_str(line).ok()?;
    (Digest::of(line.as_bytes()) == digest && ledger.schema_version == SCHEMA_VERSION).then_some(ledger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn class() -> TaskClassName {
        "vuln-remediation".parse().expect("a task class")
    }

    fn holder(process: u32) -> Holder {
        Holder { process, since: "2026-11-16T09:30:00.000Z".parse().expect("a time") }
    }

    fn usd(dollars: f64) -> Usd {
        Usd::from_dollars(dollars).expect("an amount")
    }

    fn spending(spent: f64, reserved: f64, largest: f64) -> Spending {
        Spending { spent: usd(spent), reserved: usd(reserved), largest: usd(largest) }
    }

    fn without_waiting(root: &Path, process: u32) -> Result<RunLock, RunLockError> {
        let waiting = Waiting { say: None, is_interrupted: &|| false };
        RunLockQueue::join(root, &class())?.acquire(holder(process), waiting)
    }

    #[test]
    fn a_second_run_does_not_get_the_lock_and_is_told_who_has_it() {
        let root = tempfile::tempdir().expect("a folder");
        let first = without_waiting(root.path(), 41).expect("the lock");
        let error = without_waiting(root.path(), 42).expect_err("it is held");
        assert_eq!(
            error.to_string(),
            "a live run of `vuln-remediation` is going on (process 41, since 2026-11-16T09:30:00.000Z); leave out --no-wait to wait for it"
        );
        drop(first);
        without_waiting(root.path(), 42).expect("the lock is free again");
    }

    #[test]
    fn what_was_spent_while_waiting_is_counted_and_what_was_spent_before_is_not() {
        let root = tempfile::tempdir().expect("a folder");
        let first = without_waiting(root.path(), 41).expect("the lock");
        first.note(spending(0.3, 0.0, 0.3)).expect("noted");
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let file = RunLockQueue::join(root.path(), &class()).expect("a lock file");
                let mut say = |text: &str| tell.send(text.to_owned()).expect("somebody listens");
                file.acquire(holder(42), Waiting { say: Some(&mut say), is_interrupted: &|| false })
            });
            assert!(told.recv().expect("it says for whom it waits").contains("process 41"));
            first.note(spending(0.6, 0.3, 0.3)).expect("noted");
            first.release(spending(0.9, 0.0, 0.6)).expect("released");
            let second = second.join().expect("no panic").expect("the lock");
            assert_eq!((second.spent_meanwhile, second.largest_meanwhile), (usd(0.6), usd(0.6)));
            second.note(spending(0.1, 0.0, 0.6)).expect("noted");
        });
        let third = without_waiting(root.path(), 43).expect("the lock");
        assert_eq!((third.earlier, third.spent_meanwhile), (usd(1.0), Usd::ZERO), "the ledger goes on from run to run");
    }

    #[test]
    fn what_a_dead_holder_had_set_aside_counts_as_spent() {
        let root = tempfile::tempdir().expect("a folder");
        let waits = {
            let first = without_waiting(root.path(), 41).expect("the lock");
            let waits = RunLockQueue::join(root.path(), &class()).expect("a lock file");
            first.note(spending(0.3, 0.5, 0.2)).expect("noted");
            waits
        };
        let second = waits.acquire(holder(42), Waiting { say: None, is_interrupted: &|| false }).expect("the lock");
        assert_eq!(second.spent_meanwhile, usd(0.8));
    }

    #[test]
    fn the_largest_cost_is_handed_on_in_the_queue_and_forgotten_with_it() {
        let root = tempfile::tempdir().expect("a folder");
        let no_waiting = || Waiting { say: None, is_interrupted: &|| false };
        let queued = || RunLockQueue::join(root.path(), &class()).expect("a lock file");
        let first = without_waiting(root.path(), 41).expect("the lock");
        first.note(spending(0.6, 0.0, 0.6)).expect("noted");
        let (waits, waits_too) = (queued(), queued());
        first.release(spending(0.6, 0.0, 0.6)).expect("released");
        let second = waits.acquire(holder(42), no_waiting()).expect("the lock");
        assert_eq!(second.largest_meanwhile, usd(0.6));
        second.release_unused().expect("released");
        let third = waits_too.acquire(holder(43), no_waiting()).expect("the lock");
        assert_eq!(third.largest_meanwhile, usd(0.6), "it is handed on by a run that could afford nothing");
        drop(third);
        let later = without_waiting(root.path(), 44).expect("the lock");
        assert_eq!((later.largest_meanwhile, later.spent_meanwhile), (Usd::ZERO, Usd::ZERO), "it did not wait");
        drop(queued().acquire(holder(45), no_waiting()).expect_err("it is held"));
        let waits = queued();
        drop(later);
        let last = waits.acquire(holder(46), no_waiting()).expect("the lock");
        assert_eq!(last.largest_meanwhile, Usd::ZERO, "nor has the queue that began with it seen a case");
    }

    #[test]
    fn a_ledger_of_before_there_was_a_largest_cost_is_read() {
        let line = r#"{"schema_version":1,"holder":null,"spent_nano_usd":7,"reserved_nano_usd":0}"#;
        let block = format!("{line}\n{}\n", Digest::of(line.as_bytes()));
        let ledger = from_block(block.as_bytes()).expect("a ledger");
        assert_eq!((ledger.spent_nano_usd, ledger.largest_nano_usd), (Usd::from_nanos(7), Usd::ZERO));
    }

    #[test]
    fn waiting_can_be_interrupted() {
        let root = tempfile::tempdir().expect("a folder");
        let _first = without_waiting(root.path(), 41).expect("the lock");
        let file = RunLockQueue::join(root.path(), &class()).expect("a lock file");
        let error = file.acquire(holder(42), Waiting { say: Some(&mut |_| {}), is_interrupted: &|| true });
        assert!(matches!(error, Err(RunLockError::Interrupted { .. })));
    }

    #[test]
    fn a_file_that_is_no_ledger_is_refused_and_left_alone() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join(".vuln-remediation.runlock");
        std::fs::write(&path, "not a ledger").expect("a file");
        assert!(matches!(RunLockQueue::join(root.path(), &class()), Err(RunLockError::Malformed { .. })));
        assert_eq!(std::fs::read(path).expect("a file"), b"not a ledger");
    }

    #[test]
    fn the_largest_ledger_fits_its_block() {
        let ledger = Ledger {
            schema_version: u32::MAX,
            holder: Some(holder(u32::MAX)),
            spent_nano_usd: usd(1e300),
            reserved_nano_usd: usd(1e300),
            largest_nano_usd: usd(1e300),
        };
        assert!(serde_json::to_string(&ledger).expect("JSON").len() + 66 <= BLOCK);
        assert_eq!(
            from_block(&to_block(&Ledger { schema_version: SCHEMA_VERSION, ..ledger.clone() })),
            Some(Ledger { schema_version: SCHEMA_VERSION, ..ledger })
        );
    }
}
