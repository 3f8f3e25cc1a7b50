//! How much memory a process itself has had, without the processes that it started.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How a command ended: its exit code, what it said, and the most memory that it had.
pub(crate) struct Peak {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    pub(crate) kibibytes: u64,
}

/// Runs a command to its end. The kernel forgets what a process had when it ends, so it is asked again and again before; it never
/// has less to say than before.
pub(crate) fn peak(mut command: Command) -> Peak {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut kibibytes = 0;
    let status = loop {
        kibibytes = kibibytes.max(had(&child));
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        thread::sleep(Duration::from_millis(1));
    };
    let mut stderr = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
    Peak { code: status.code(), stderr, kibibytes }
}

fn had(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or(0, |peak| peak.trim().trim_end_matches(" kB").parse().expect("a number"))
}
