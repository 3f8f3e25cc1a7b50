//! Processes as the kernel lists them, and ending those that are certainly ours.
//!
//! Nothing here signals a number alone. A process is pinned by a descriptor before it is looked at, so what was checked is what is
//! signalled.

#![expect(clippy::disallowed_methods, reason = "the kernel tells of processes in files of its own")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process_group, pidfd_open, pidfd_send_signal,
    waitid,
};
use serde::{Deserialize, Serialize};

/// How often, and after how long, what should be gone is looked for again: five seconds in all.
const MOST_ROUNDS: usize = 1000;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(5);

/// A launcher as a journal names it: enough to know later whether it is still the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The launcher's process id, which is also the number of its group.
    pub group: i32,
    /// When it was started, in the kernel's ticks since boot; unknown where there is no `/proc`.
    pub leader_started: Option<u64>,
}

impl Identity {
    pub fn of(leader: Pid) -> Self {
        let group = leader.as_raw_nonzero().get();
        Self { group, leader_started: Stat::read(group).map(|stat| stat.started) }
    }

    fn lives(&self) -> bool {
        let now = Stat::read(self.group).filter(|stat| !stat.is_dead);
        self.leader_started.is_some() && now.map(|stat| stat.started) == self.leader_started
    }
}

/// What tells one boot of a machine from another, so that process numbers are never compared across them.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Waits for the end of a launcher whose host is gone. It ends by itself with all it had started; one that does not is ended.
/// The caller has compared the boot.
pub fn wait_for_end(launcher: &Identity) {
    wait_or_end(launcher, MOST_ROUNDS);
}

fn wait_or_end(launcher: &Identity, rounds: usize) {
    for _ in 0..rounds {
        if !launcher.lives() {
            return;
        }
        thread::sleep(BETWEEN_ROUNDS);
    }
    let Some(leader) = Pid::from_raw(launcher.group) else { return };
    let Ok(_pinned) = pidfd_open(leader, PidfdFlags::empty()) else { return };
    if launcher.lives() {
        // It may have ended this moment.
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// Ends every process below this one, again and again until there is none: some are born while their parents end. Somebody else
/// reaps them.
pub(crate) fn end_descendants() {
    let own_group = getpgrp().as_raw_nonzero().get();
    for _ in 0..MOST_ROUNDS {
        let living: Vec<_> = descendants().into_iter().filter(|process| !process.stat.is_dead).collect();
        if living.is_empty() {
            return;
        }
        // Whole groups first: the kernel ends a group at once, however fast its members multiply.
        let groups: BTreeSet<i32> = living.iter().map(|process| process.stat.group).collect();
        for group in groups.into_iter().filter(|group| *group != own_group).filter_map(Pid::from_raw) {
            // A group of descendants has no other members: its number is theirs until the last is reaped.
            let _ = kill_process_group(group, Signal::KILL);
        }
        living.iter().for_each(|process| end(process.pid, |stat| stat.started == process.stat.started));
        thread::sleep(BETWEEN_ROUNDS);
    }
}

/// Whether this process has a child, which is so at its beginning if its program was started in the place of another.
pub fn has_children() -> bool {
    let me = getpid().as_raw_nonzero().get();
    all_pids().into_iter().filter_map(Stat::read).any(|stat| stat.parent == me)
}

/// Ends every child of this process that is not spared, and reaps it: orphans that came to us because their launcher was killed.
pub fn end_children(spared: &BTreeSet<i32>) {
    let me = getpid().as_raw_nonzero().get();
    for _ in 0..MOST_ROUNDS {
        let is_orphan = |pid: i32, stat: &Stat| stat.parent == me && !spared.contains(&pid);
        let orphans: Vec<_> =
            all_pids().into_iter().filter(|pid| Stat::read(*pid).is_some_and(|stat| is_orphan(*pid, &stat))).collect();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            end(pid, |stat| is_orphan(pid, stat));
            // One that is not gone yet is met again in the next round.
            let _ =
                Pid::from_raw(pid).map(|pid| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG));
        }
        thread::sleep(BETWEEN_ROUNDS);
    }
}

/// Ends a process if it is still the one that is meant.
fn end(pid: i32, is_meant: impl Fn(&Stat) -> bool) {
    let Some(Ok(pinned)) = Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return };
    if Stat::read(pid).is_some_and(|stat| is_meant(&stat)) {
        // It may have ended this moment.
        let _ = pidfd_send_signal(&pinned, Signal::KILL);
    }
}

/// A process and what the kernel says of it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) stat: Stat,
}

impl Process {
    /// What it has in memory. One whose first thread has ended shows that by its other threads alone.
    pub(crate) fn resident_pages(&self) -> u64 {
        let of_thread = |thread: PathBuf| Stat::parse(&fs::read_to_string(thread.join("stat")).ok()?);
        match self.stat.resident_pages {
            0 => threads(self.pid).into_iter().filter_map(of_thread).map(|stat| stat.resident_pages).max().unwrap_or(0),
            pages => pages,
        }
    }
}

/// The folders of a process's threads.
pub(crate) fn threads(pid: i32) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
}

/// All processes that this one or a descendant of it started. Orphans are among them where they come to this process.
pub(crate) fn descendants() -> Vec<Process> {
    let all: BTreeMap<i32, Stat> = all_pids().into_iter().filter_map(|pid| Some((pid, Stat::read(pid)?))).collect();
    let me = getpid().as_raw_nonzero().get();
    let is_below = |pid: i32| {
        let parents = std::iter::successors(Some(pid), |pid| all.get(pid).map(|stat| stat.parent));
        // No chain of parents is longer than there are processes.
        parents.skip(1).take(all.len()).any(|parent| parent == me)
    };
    let below: BTreeSet<i32> = all.keys().copied().filter(|pid| is_below(*pid)).collect();
    all.into_iter().filter(|(pid, _)| below.contains(pid)).map(|(pid, stat)| Process { pid, stat }).collect()
}

pub(crate) fn all_pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str().and_then(|name| name.parse().ok());
    entries.filter_map(Result::ok).filter_map(number).collect()
}

/// The fields of `/proc/<pid>/stat` that are needed here.
#[derive(Debug)]
pub(crate) struct Stat {
    pub(crate) is_dead: bool,
    parent: i32,
    group: i32,
    pub(crate) threads: u64,
    started: u64,
    pub(crate) resident_pages: u64,
}

impl Stat {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is a name in parentheses, which may itself contain spaces and parentheses.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        let threads: u64 = fields.get(17)?.parse().ok()?;
        Some(Self {
            // A process whose first thread has ended looks dead, and its other threads work on.
            is_dead: matches!(*fields.first()?, "Z" | "X") && threads <= 1,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            threads,
            started: fields.get(19)?.parse().ok()?,
            resident_pages: fields.get(21)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command, Stdio};

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let text = "7 (a) S (b) S 1 42 42 0 -1 4 0 0 0 0 0 0 0 0 20 0 3 0 98765 0 12 0";
        let stat = Stat::parse(text).expect("a stat line");
        assert_eq!((stat.parent, stat.group, stat.threads, stat.started), (1, 42, 3, 98765));
        assert!(!stat.is_dead);
        assert_eq!(stat.resident_pages, 12);
        assert!(Stat::parse("7 (a").is_none());
    }

    /// A process that says it has started, then waits for its standard input to close.
    fn waiting() -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo started; read line"]).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says so");
        child
    }

    #[test]
    fn a_launcher_is_ended_only_while_it_is_the_recorded_one() {
        let mut child = waiting();
        // Waiting for it would close this, and it would end by itself.
        let _stdin = child.stdin.take();
        let identity = Identity::of(Pid::from_child(&child));
        let reused =
            Identity { leader_started: identity.leader_started.map(|started| started + 1), ..identity.clone() };
        wait_or_end(&reused, 1);
        assert_eq!(child.try_wait().expect("a child"), None, "the number of somebody else");
        let waiter = thread::spawn(move || wait_or_end(&identity, 1));
        assert_eq!(child.wait().expect("it ended").signal(), Some(Signal::KILL.as_raw()));
        waiter.join().expect("no panic");
    }
}
