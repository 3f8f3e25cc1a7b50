//! Ending processes that are certainly ours: a group whose leader has not been reaped, everything that carries our mark, and
//! what was born below us and has lost its parents.
//!
//! Nothing here signals a number alone. A process is pinned by a descriptor before it is looked at, so what was checked is
//! what is signalled; a group is signalled only while one of its members is known, because a group's number is not given
//! away before its last member is gone. Where there is no `/proc`, only groups with a living leader can be ended.

#![expect(clippy::disallowed_methods, reason = "the kernel tells of processes in files of its own")]

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};
use serde::{Deserialize, Serialize};

use super::mark::Marked;

/// How often, and after how long, what should be gone is looked for again: two seconds in all.
const MOST_ROUNDS: usize = 1000;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(2);

/// A process group as a journal names it: enough to know later whether it is still the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupIdentity {
    /// The group's number, which is its leader's process id.
    pub(crate) group: i32,
    /// When the leader was started, in the kernel's ticks since boot; unknown where there is no `/proc`.
    pub(crate) leader_started: Option<u64>,
}

impl GroupIdentity {
    pub(crate) fn of(leader: Pid) -> Self {
        let group = leader.as_raw_nonzero().get();
        Self { group, leader_started: Stat::read(group).map(|stat| stat.started) }
    }

    /// Whether the group's leader is still the process that it was.
    fn leader_lives(&self) -> bool {
        self.leader_started.is_some() && Stat::read(self.group).map(|stat| stat.started) == self.leader_started
    }
}

/// What tells one boot of a machine from another, so that process numbers are never compared across them.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Ends the group of a leader that this process started and has not reaped yet, so that its number cannot be anybody
/// else's, every process that carries the mark, and every orphan that works in the case's folder; returns when none of them
/// lives.
pub(super) fn end_own(leader: Pid, marked: Marked<'_>, folder: &Path) {
    // The group may be gone already, and a member that changed its user cannot be signalled: there is nothing to do about
    // either.
    let _ = kill_process_group(leader, Signal::KILL);
    let group = leader.as_raw_nonzero().get();
    end_living(|pid| is_living_member(pid, group) || is_marked(pid, marked) || is_orphan_in(pid, folder));
}

/// Ends every child of this process but for one, and reaps it. The caller knows that none of them is anybody's but an
/// orphan of an agent that is gone.
pub(super) fn end_children(spared: Option<Pid>) {
    let spared = spared.map(|pid| pid.as_raw_nonzero().get());
    let is_orphan = |pid: i32| Some(pid) != spared && Stat::read(pid).is_some_and(|stat| stat.is_child());
    for _ in 0..MOST_ROUNDS {
        let children: Vec<_> = all_pids().into_iter().filter(|pid| is_orphan(*pid)).collect();
        if children.is_empty() {
            break;
        }
        for pid in children {
            PinnedProcess::pin(pid, is_orphan).iter().for_each(PinnedProcess::end);
            // One that is not gone yet is met again in the next round.
            let _ =
                Pid::from_raw(pid).map(|pid| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG));
        }
        thread::sleep(BETWEEN_ROUNDS);
    }
}

/// Ends every process that carries the mark, and with each the group it is in. Returns how many were found.
pub(crate) fn end_marked(marked: Marked<'_>) -> usize {
    end_living(|pid| is_marked(pid, marked))
}

/// Ends all processes that `is_ours` knows, again and again until there is none: some are born while their parents end, and
/// a killed process takes a moment to be gone.
fn end_living(is_ours: impl Fn(i32) -> bool) -> usize {
    let mut ended = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let found: Vec<_> = all_pids().into_iter().filter_map(|pid| PinnedProcess::pin(pid, &is_ours)).collect();
        if found.is_empty() {
            break;
        }
        for process in &found {
            process.end();
            ended.insert(process.pid);
        }
        thread::sleep(BETWEEN_ROUNDS);
    }
    ended.len()
}

fn is_living_member(pid: i32, group: i32) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.group == group && !stat.is_dead)
}

/// Whether a process was left to us by its parents and works below the folder. Anybody may work there who likes to; only
/// descendants of ours are left to us.
fn is_orphan_in(pid: i32, folder: &Path) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.is_child() && !stat.is_dead)
        && fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.starts_with(folder))
}

fn is_marked(pid: i32, marked: Marked<'_>) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ"));
    environment.is_ok_and(|environment| marked.is_in(&environment)) && Stat::read(pid).is_some_and(|stat| !stat.is_dead)
}

/// Ends a group of an earlier run whose leader still lives. The caller has compared the boot.
pub(crate) fn end_group_with_living_leader(identity: &GroupIdentity) -> bool {
    let Some(leader) = Pid::from_raw(identity.group) else { return false };
    let Ok(_pinned) = pidfd_open(leader, PidfdFlags::empty()) else { return false };
    identity.leader_lives() && kill_process_group(leader, Signal::KILL).is_ok()
}

/// The members of a group that are more than a dead entry which nobody has reaped.
#[cfg(test)]
pub(super) fn living_members(group: i32) -> usize {
    all_pids().into_iter().filter(|pid| is_living_member(*pid, group)).count()
}

/// A process of ours, held by a descriptor.
struct PinnedProcess {
    pid: i32,
    descriptor: OwnedFd,
}

impl PinnedProcess {
    fn pin(pid: i32, is_ours: impl Fn(i32) -> bool) -> Option<Self> {
        let descriptor = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        is_ours(pid).then_some(Self { pid, descriptor })
    }

    fn end(&self) {
        let group = Stat::read(self.pid).and_then(|stat| Pid::from_raw(stat.group));
        let still_there = pidfd_send_signal(&self.descriptor, Signal::KILL) != Err(Errno::SRCH);
        // The mark is inherited, so the rest of its group is ours as well, even what has wiped its own environment: but only
        // if it leads or joined a group of its own and not the group of whoever started this program.
        if let (true, Some(group)) = (still_there, group)
            && group != rustix::process::getpgrp()
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn all_pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str().and_then(|name| name.parse().ok());
    entries.filter_map(Result::ok).filter_map(number).collect()
}

/// The fields of `/proc/<pid>/stat` that are needed here.
struct Stat {
    is_dead: bool,
    parent: i32,
    group: i32,
    started: u64,
}

impl Stat {
    /// Whether it is a child of this process, born or adopted.
    fn is_child(&self) -> bool {
        self.parent == rustix::process::getpid().as_raw_nonzero().get()
    }

    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is a name in parentheses, which may itself contain spaces and parentheses.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        Some(Self {
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::{MARK_VARIABLE, RunMark};
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command, Stdio};

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let text = "7 (a) S (b) S 1 42 42 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let stat = Stat::parse(text).expect("a stat line");
        assert_eq!((stat.parent, stat.group, stat.started, stat.is_dead), (1, 42, 98765, false));
        assert!(Stat::parse("7 (a").is_none());
    }

    /// A process that says it has started, then waits for its standard input to close.
    fn waiting(command: &mut Command) -> Child {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says so");
        child
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_carries_the_mark_is_ended_and_nothing_else() {
        let (ours, theirs) = (RunMark::new().expect("randomness"), RunMark::new().expect("randomness"));
        let case = "001-a".parse().expect("a case id");
        let marked = |mark: &RunMark| {
            waiting(shell("echo started; read line").env(MARK_VARIABLE, mark.of_case(&case, mark).as_str()))
        };
        let (mut our_child, mut their_child) = (marked(&ours), marked(&theirs));
        assert_eq!(end_marked(Marked::Run(&ours)), 1);
        assert_eq!(our_child.wait().expect("it ended").signal(), Some(Signal::KILL.as_raw()));
        assert_eq!(their_child.try_wait().expect("a child"), None, "another run's process goes on");
        drop(their_child.stdin.take());
        their_child.wait().expect("it ends by itself");
    }

    #[test]
    fn a_group_is_ended_only_while_its_leader_is_the_recorded_one() {
        let mut child = waiting(&mut shell("echo started; read line"));
        let leader = Pid::from_child(&child);
        let identity = GroupIdentity::of(leader);
        let reused = GroupIdentity { leader_started: identity.leader_started.map(|started| started + 1), ..identity };
        assert!(!end_group_with_living_leader(&reused));
        assert_eq!(child.try_wait().expect("a child"), None);
        assert!(end_group_with_living_leader(&GroupIdentity::of(leader)));
        assert_eq!(child.wait().expect("it ended").signal(), Some(Signal::KILL.as_raw()));
    }
}
