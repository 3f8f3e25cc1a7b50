//! What the host starts: goes where the agent shall be, and ends all of it when the host goes away.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::errand::Errand;
use crate::report::{Report, ReportFile};
use crate::{COMMAND, CageError, ITSELF, KEEP, failed, keeper, namespaces};

/// Runs the errand that comes on standard input, and ends when that ends. How it went is in the report.
pub fn launch() -> Result<(), CageError> {
    // No rule holds for what is open already: whatever whoever started eval-host left open ends here.
    close_fds::set_fds_cloexec(3, &[]);
    let (errand, line) = Errand::read_from(io::stdin()).map_err(failed("the errand cannot be read"))?;
    if !errand.leaves_namespaces() {
        return keeper::keep_here(&errand);
    }
    let result = match leave(&errand) {
        Ok(()) => keep_there(&line).map_err(|error| (Report::NoCage { message: error.told() }, error)),
        Err(error) => Err((Report::NoNamespaces { message: error.told() }, error)),
    };
    result.or_else(|(report, error)| {
        let written = ReportFile::open(&errand.folder).and_then(|mut file| file.write(&report));
        written.map_err(failed("the report cannot be written"))?;
        Err(error)
    })
}

fn leave(errand: &Errand) -> Result<(), CageError> {
    errand.allowed.as_ref().map_or(Ok(()), |allowed| namespaces::leave(&allowed.network))
}

/// Starts the keeper in the new namespaces and waits for its end, or for the host's.
fn keep_there(line: &[u8]) -> Result<(), CageError> {
    let mut keeper = itself(KEEP).stdin(Stdio::piped()).spawn().map_err(failed("the keeper does not start"))?;
    // It dies with this end of its standard input, and with everything in its namespace.
    let mut control = keeper.stdin.take().expect("its standard input is a pipe");
    control.write_all(line).map_err(failed("the keeper ended before it was told what to do"))?;
    wait_for_either_end(&keeper).map_err(failed("the keeper cannot be waited for"))?;
    // It may be gone already. It is reaped when its whole namespace is gone.
    let _ = kill_process(Pid::from_child(&keeper), Signal::KILL);
    keeper.wait().map(drop).map_err(failed("the keeper cannot be waited for"))
}

/// Waits until the keeper ends or the host does. Without a thread: there can be none between leaving a PID namespace and its end.
fn wait_for_either_end(keeper: &Child) -> rustix::io::Result<()> {
    let ended = pidfd_open(Pid::from_child(keeper), PidfdFlags::empty())?;
    let host = io::stdin();
    let mut ends = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&host, PollFlags::IN)];
    // Nothing more comes from the host, so whatever its pipe has to say is its end.
    rustix::io::retry_on_intr(|| poll(&mut ends, None)).map(drop)
}

/// This very program, wherever its file is, in another stage.
pub(crate) fn itself(stage: &str) -> Command {
    let mut command = Command::new(ITSELF);
    command.args([COMMAND, stage]).env_clear();
    command
}
