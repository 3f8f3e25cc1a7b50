//! What an agent takes of the machine, with all that it started: memory, processes, and room in its own folders.
//!
//! The kernel bounds single files, and processes where they have a user namespace of their own; the rest is looked at again and
//! again. An agent can be over a limit for the moment between two looks. What no process shows (descriptors on their way through a
//! socket, what sockets hold, a mapped file that nobody touched) is not seen at all: only a control group of the kernel could.

#![expect(
    clippy::disallowed_methods,
    reason = "what an agent made is measured by the names it has, and by the kernel's lists"
)]

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::getuid;

use crate::errand::{Errand, Resources};
use crate::events::Event;
use crate::processes::{Process, Stat, all_pids, descendants, threads};
use crate::room::{BLOCK, TooDeep, room};

/// How long to wait between two looks: so long, or so many times as long as a look takes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
const TIMES_A_LOOK: u32 = 4;

const MIB: u64 = 1 << 20;

/// Looks at what an agent takes.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    most: Resources,
    own: Vec<PathBuf>,
    segments: Segments,
}

/// Whose the shared memory is that the kernel lists.
#[derive(Debug, Clone, Copy)]
enum Segments {
    /// Nobody else's: there is an IPC namespace.
    Own,
    OfTheMachine,
}

impl Watch {
    pub(crate) fn new(errand: &Errand) -> Self {
        let segments = if errand.leaves_namespaces() { Segments::Own } else { Segments::OfTheMachine };
        Self { most: errand.resources, own: errand.own.clone(), segments }
    }

    /// Looks until there is too much or nobody listens.
    pub(crate) fn start(self, events: Sender<Event>) {
        thread::spawn(move || {
            loop {
                let began = now();
                if let Some(message) = self.too_much() {
                    // Nobody listens any more once the end is decided.
                    let _ = events.send(Event::TooMuch(message));
                    return;
                }
                thread::sleep(BETWEEN_LOOKS.max(began.elapsed() * TIMES_A_LOOK));
            }
        });
    }

    /// What the agent has too much of, if anything.
    pub(crate) fn too_much(&self) -> Option<String> {
        let processes = descendants();
        let count: u64 = processes.iter().map(|process| process.stat.threads).sum();
        if count > self.most.processes {
            return Some(format!("{count} processes and threads, and `processes` is {}", self.most.processes));
        }
        let nameless = Nameless::of(&processes, &self.own);
        let shared = self.segments.bytes().saturating_add(nameless.memory);
        let memory = mib(memory(&processes, self.most.memory_mib * MIB).saturating_add(shared));
        if memory > self.most.memory_mib {
            return Some(format!("{memory} MiB of memory, and `memory_mib` is {}", self.most.memory_mib));
        }
        let room = match room(&self.own) {
            Ok(room) => mib(room.saturating_add(nameless.room)),
            Err(TooDeep) => return Some("folders that are nested too deep to be measured".to_owned()),
        };
        if room > self.most.workspace_mib {
            return Some(format!("{room} MiB in its folders, and `workspace_mib` is {}", self.most.workspace_mib));
        }
        None
    }

    /// What is said of a file that the kernel cut.
    pub(crate) fn file_too_large(&self) -> String {
        format!("a file of more than `workspace_mib`, which is {}", self.most.workspace_mib)
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a look takes decides when the next one is due")]
fn now() -> Instant {
    Instant::now()
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(MIB)
}

/// How many processes and threads the user has.
pub(crate) fn tasks_of_user() -> u64 {
    let user = getuid().as_raw();
    let is_ours = |pid: &i32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|metadata| metadata.uid() == user);
    all_pids().into_iter().filter(is_ours).filter_map(Stat::read).map(|stat| stat.threads).sum()
}

impl Segments {
    /// What the kernel keeps in segments of shared memory, whether or not any process is attached to them. Those of the whole
    /// machine are not held against an agent.
    fn bytes(self) -> u64 {
        match self {
            Self::Own => fs::read_to_string("/proc/sysvipc/shm").map_or(0, |text| resident_segments(&text)),
            Self::OfTheMachine => 0,
        }
    }
}

/// The last but one of the columns is what is in memory, the last what was swapped out.
fn resident_segments(text: &str) -> u64 {
    let bytes = |line: &str| {
        line.split_ascii_whitespace().rev().take(2).filter_map(|column| column.parse::<u64>().ok()).sum::<u64>()
    };
    text.lines().skip(1).map(bytes).sum()
}

/// What the processes keep in memory. What they share is counted once, which takes long to find out: only where it matters.
fn memory(processes: &[Process], most: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    let resident = |process: &Process| process.resident_pages().saturating_mul(page);
    let all: u64 = processes.iter().map(resident).sum();
    if all <= most {
        return all;
    }
    processes.iter().map(|process| proportional(process.pid).unwrap_or_else(|| resident(process))).sum()
}

/// A process's share of what it has in memory.
fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Open files that have no name any more, or never had one: those on the disk of the agent's folders take room there, all others
/// take memory.
#[derive(Debug, Default)]
struct Nameless {
    memory: u64,
    room: u64,
}

impl Nameless {
    fn of(processes: &[Process], own: &[PathBuf]) -> Self {
        let disks: BTreeSet<u64> =
            own.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.dev()).collect();
        let mut seen = BTreeSet::new();
        let mut sum = Self::default();
        for file in processes.iter().flat_map(|process| open_files(process.pid)) {
            if file.is_file() && file.nlink() == 0 && seen.insert((file.dev(), file.ino())) {
                let bytes = file.blocks().saturating_mul(BLOCK);
                *if disks.contains(&file.dev()) { &mut sum.room } else { &mut sum.memory } += bytes;
            }
        }
        sum
    }
}

fn open_files(pid: i32) -> Vec<Metadata> {
    let of_thread = |thread: PathBuf| fs::read_dir(thread.join("fd")).into_iter().flatten();
    let files = threads(pid).into_iter().flat_map(of_thread).filter_map(Result::ok);
    files.filter_map(|entry| fs::metadata(entry.path()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_counted_by_what_they_keep() {
        let text = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n\
                    0 0 1600 104857600 4 4 0 0 0 0 0 1 1 1 104857600 4096\n0 1 1600 4096 4 4 0 0 0 0 0 1 1 1 0 0\n";
        assert_eq!(resident_segments(text), 104_861_696);
        assert_eq!(resident_segments(""), 0);
    }

    #[test]
    fn a_file_without_a_name_takes_room_as_long_as_somebody_holds_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, vec![1; 1 << 20]).expect("a file");
        let held = fs::File::open(&path).expect("a file");
        fs::remove_file(&path).expect("its name goes");
        let me = i32::try_from(std::process::id()).expect("a process id");
        let this = || [Process { pid: me, stat: Stat::read(me).expect("this process") }];
        let own = [folder.path().to_owned()];
        assert!(Nameless::of(&this(), &own).room >= 1 << 20);
        drop(held);
        assert!(Nameless::of(&this(), &own).room < 1 << 20);
    }
}
