//! One agent process from its start to its certain end: fed, bounded in time and output, and gone with all it started.
//!
//! The leader is reaped last. Until then its process id, which is also the number of its group, cannot be given to anybody
//! else, so the group can be ended without a race however the leader ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::mark::{CaseMark, MARK_VARIABLE, Marked};
use super::processes::{GroupIdentity, end_own};
use super::stop::Stop;
use super::streams::{Collected, Head, Tail};
use eval_model::contract::CapturedStream;

/// How long the kernel may take to end what was killed, before it is left to itself.
const ENDING: Duration = Duration::from_secs(5);

/// What to start, and within which bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) command: &'a [OsString],
    /// The whole environment but for the mark.
    pub(super) environment: &'a BTreeMap<OsString, OsString>,
    pub(super) directory: &'a Path,
    /// The folder of the case, in which nobody but its processes works.
    pub(super) folder: &'a Path,
    pub(super) request: &'a [u8],
    pub(super) mark: &'a CaseMark,
    pub(super) time: Duration,
    pub(super) most_stdout: usize,
    pub(super) most_stderr: usize,
}

/// Why an agent's process is no longer there.
#[derive(Debug)]
pub(super) enum Ending {
    NotStarted(io::Error),
    Exited(ExitStatus),
    TimedOut,
    Flooded,
    /// The host asked for it.
    Stopped,
}

/// What an agent's process left behind.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) ending: Ending,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: CapturedStream,
    pub(super) duration: Duration,
}

/// Runs the agent. `started` is called with its group when it exists and before it is given its request; if that fails, the
/// agent is ended at once.
pub(super) async fn run<E>(
    invocation: &Invocation<'_>,
    stop: &Stop,
    started: impl FnOnce(&GroupIdentity) -> Result<(), E>,
) -> Result<Ended, E> {
    let began = Instant::now();
    let mut child = match spawn(invocation) {
        Ok(child) => child,
        Err(error) => return Ok(Ended::without_a_process(error)),
    };
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let leader = leader.expect("a child that was not waited for has a process id");
    if let Err(error) = started(&GroupIdentity::of(leader)) {
        end_and_reap(&mut child, leader, invocation).await;
        return Err(error);
    }
    let feeding = feed(child.stdin.take(), invocation.request.to_vec());
    let mut stdout = Collected::new(child.stdout.take(), Head::new(invocation.most_stdout));
    let stderr = Collected::new(child.stderr.take(), Tail::new(invocation.most_stderr));
    let why = first_of(exit_of(leader), stdout.overflow(), stop, invocation.time).await;
    let duration = began.elapsed();
    let status = end_and_reap(&mut child, leader, invocation).await;
    feeding.abort();
    let (stdout, stderr) = (stdout.finish(ENDING).await, stderr.finish(ENDING).await);
    let ending = match (why, status) {
        (Cause::Stop, _) => Ending::Stopped,
        (Cause::Time, _) => Ending::TimedOut,
        (Cause::Flood, _) => Ending::Flooded,
        (Cause::Exit, _) if stdout.is_full() => Ending::Flooded,
        (Cause::Exit, Some(status)) => Ending::Exited(status),
        // It exited, so that it cannot be reaped is the kernel's secret; it gave no status that could be trusted.
        (Cause::Exit, None) => Ending::TimedOut,
    };
    Ok(Ended { ending, stdout: stdout.into_bytes(), stderr: stderr.into_stream(), duration })
}

impl Ended {
    fn without_a_process(error: io::Error) -> Self {
        Self {
            ending: Ending::NotStarted(error),
            stdout: Vec::new(),
            stderr: CapturedStream::default(),
            duration: Duration::ZERO,
        }
    }
}

fn spawn(invocation: &Invocation<'_>) -> io::Result<Child> {
    let (program, arguments) = invocation.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(invocation.environment)
        .env(MARK_VARIABLE, invocation.mark.as_str())
        .current_dir(invocation.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Writes the request and closes the pipe. An agent that reads nothing is no error.
fn feed(stdin: Option<ChildStdin>, request: Vec<u8>) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&request).await;
        }
    })
}

/// Waits until the leader has exited, and leaves it unreaped.
async fn exit_of(leader: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let waiting = move || rustix::io::retry_on_intr(|| waitid(WaitId::Pid(leader), options)).map(drop);
    // The closure cannot panic, and a runtime that is shutting down has ended the leader already.
    let _ = tokio::task::spawn_blocking(waiting).await;
}

enum Cause {
    Exit,
    Flood,
    Stop,
    Time,
}

async fn first_of(
    exit: impl Future<Output = ()>,
    flood: impl Future<Output = ()>,
    stop: &Stop,
    time: Duration,
) -> Cause {
    tokio::select! {
        biased;
        () = exit => Cause::Exit,
        () = flood => Cause::Flood,
        () = stop.requested() => Cause::Stop,
        () = sleep(time) => Cause::Time,
    }
}

/// Ends the whole group and whatever has left it, and only then lets go of the leader's process id.
async fn end_and_reap(child: &mut Child, leader: Pid, invocation: &Invocation<'_>) -> Option<ExitStatus> {
    end_own(leader, Marked::Case(invocation.mark), invocation.folder);
    timeout(ENDING, child.wait()).await.ok().and_then(Result::ok)
}
