//! Keeps one agent: starts it, watches what it takes, ends all that it left, and writes down how it ended.

use std::io::{self, Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, Sender};

use rustix::process::{Pid, Signal, getpid, set_child_subreaper};

use crate::errand::{Errand, Task};
use crate::events::{self, Event};
use crate::launcher::itself;
use crate::processes::end_descendants;
use crate::report::{Report, ReportFile};
use crate::root::Root;
use crate::usage::Watch;
use crate::{BECOME, CageError, failed};

/// The first process of its PID namespace: when it returns and the process ends, the kernel ends everything in the namespace.
pub fn keep() -> Result<(), CageError> {
    let (errand, _) = Errand::read_from(io::stdin()).map_err(failed("the errand cannot be read"))?;
    let mut file = ReportFile::open(&errand.folder).map_err(failed("the report cannot be opened"))?;
    let report = match Root::build(&errand) {
        Ok(()) => stand_by(&errand).unwrap_or_else(|error| Report::NoCage { message: error.told() }),
        Err(report) => report,
    };
    file.write(&report).map_err(failed("the report cannot be written"))
}

/// Keeps the agent from this process, which stays where it is. Whatever the agent leaves behind is ended one by one.
pub(crate) fn keep_here(errand: &Errand) -> Result<(), CageError> {
    let mut file = ReportFile::open(&errand.folder).map_err(failed("the report cannot be opened"))?;
    let kept = set_child_subreaper(Some(getpid())).map_err(failed("orphans cannot be adopted"));
    let report = match kept.and_then(|()| stand_by(errand)) {
        Ok(report) => report,
        Err(error) => Report::NoCage { message: error.told() },
    };
    end_descendants();
    file.write(&report).map_err(failed("the report cannot be written"))
}

/// Starts the agent and waits for what decides its end.
fn stand_by(errand: &Errand) -> Result<Report, CageError> {
    let (sender, events) = mpsc::channel();
    let (pid, mut answers) = start(errand)?;
    events::reap(pid, sender.clone());
    events::await_release(io::stdin(), sender.clone());
    // It hangs up when it has become the agent; what it says before is why it has not.
    let mut said = Vec::new();
    let heard = answers.read_to_end(&mut said);
    heard.map_err(failed("the agent's process cannot be heard"))?;
    if !said.is_empty() {
        return serde_json::from_slice(&said).map_err(failed("the agent's process says nothing that makes sense"));
    }
    Ok(watched(errand, &sender, &events))
}

/// Starts the process that becomes the agent, and tells it what to do.
fn start(errand: &Errand) -> Result<(Pid, UnixStream), CageError> {
    let (mut ours, theirs) = UnixStream::pair().map_err(failed("there is no socket"))?;
    let mut command = itself(BECOME);
    command.stdin(Stdio::from(OwnedFd::from(theirs)));
    let child = command.spawn().map_err(failed("the agent's process does not start"))?;
    // The command holds the other end of the socket.
    drop(command);
    let line = errand.to_line().map_err(failed("the errand cannot be written"))?;
    ours.write_all(&line).map_err(failed("the agent's process ended before it was told what to do"))?;
    Ok((Pid::from_child(&child), ours))
}

fn watched(errand: &Errand, sender: &Sender<Event>, events: &Receiver<Event>) -> Report {
    let watch = Watch::new(errand);
    watch.clone().start(sender.clone());
    let report = match events.recv() {
        Ok(Event::Ended(status)) => ended(status, &watch),
        Ok(Event::TooMuch(message)) => Report::Resources { message },
        Ok(Event::Released) | Err(_) => Report::Ended,
    };
    // What it took in its last moments counts too.
    match (&report, &errand.task) {
        (Report::Exited { .. }, Task::Run { .. }) => {
            watch.too_much().map_or(report, |message| Report::Resources { message })
        }
        _ => report,
    }
}

fn ended(status: rustix::process::WaitStatus, watch: &Watch) -> Report {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Report::Exited { code },
        (None, Some(signal)) if signal == Signal::XFSZ.as_raw() => {
            Report::Resources { message: watch.file_too_large() }
        }
        (None, Some(signal)) => Report::Signalled { signal },
        (None, None) => Report::Ended,
    }
}
