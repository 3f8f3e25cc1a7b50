//! Agents die with their host, however it dies: a second process waits for the end of the first and then ends whatever that
//! had started.
//!
//! The kernel could do it for a single process, but not for what an agent started in turn, and not without code that runs
//! between fork and exec. The guard knows its host by a pipe that nobody else holds, and the agents by their host's mark: it
//! never ends anything of a host that has resumed the run meanwhile.

use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use clap::Args;
use rustix::process::Pid;

use super::failure::Failure;
use crate::live::agent::{Marked, RunMark, end_marked};
use eval_model::advice::Exit;

/// The name of the command, which is not for people.
pub(super) const COMMAND: &str = "guard-agents";

#[derive(Debug, Args)]
pub(super) struct GuardArgs {
    /// The mark of the host.
    #[arg(value_parser = |text: &str| RunMark::try_from(text.to_owned()))]
    host: RunMark,
}

/// Waits until the host is gone, and ends its agents.
pub(super) fn guard(args: &GuardArgs) -> Result<Exit, Failure> {
    // Nothing is ever written to the pipe. That it cannot be read any more says the same as its end.
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    end_marked(Marked::Host(&args.host));
    Ok(Exit::Ok)
}

/// The guard of this process. It is let go, and waited for, when this is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
}

impl Guard {
    pub(super) fn start(host: &RunMark) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args([COMMAND, &host.to_string()]).env_clear().current_dir("/");
        // In a group of its own, so that Ctrl-C is for the host to handle.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Self { child: command.spawn()? })
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
