//! Agents die with their host, however it dies: a second process waits for the end of the first and then ends whatever that
//! had started.
//!
//! The kernel could do it for a single process, but not for what an agent started in turn, and not without code that runs
//! between fork and exec. The guard knows its host by a pipe that nobody else holds, and the agents by their host's mark: it
//! never ends anything of a host that has resumed the run meanwhile.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use super::agent::{Marked, RunMark, end_marked};

/// The name of the command that a guard runs, which is not for people.
pub(crate) const COMMAND: &str = "guard-agents";

/// Waits until the host is gone, which closes `host_is_alive`, and ends its agents.
pub(crate) fn guard(mut host_is_alive: impl Read, host: &RunMark) {
    // Nothing is ever written to the pipe. That it cannot be read any more says the same as its end.
    let _ = io::copy(&mut host_is_alive, &mut io::sink());
    end_marked(Marked::Host(host));
}

/// The guard of this process. It is let go, and waited for, when this is dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
}

impl Guard {
    /// Starts the guard of what is marked with `host`; `program` is this program.
    pub(crate) fn start(program: &Path, host: &RunMark) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args([COMMAND, &host.to_string()]).env_clear().current_dir("/");
        // In a group of its own, so that Ctrl-C is for the host to handle.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Self { child: command.spawn()? })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
