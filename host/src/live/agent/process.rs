//! One agent process from its start to its certain end: told what to do, bounded in time and output, and gone with all it started.
//!
//! What is started is a launcher of this program, which starts the agent (see `eval-cage`). It ends with everything below it when
//! its standard input does, so nothing is left whether the host lets go of it or dies.

use std::future::{Future, pending};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use eval_cage::{COMMAND, Identity, LAUNCH, Report, read_report};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::family::Family;
use super::stop::Stop;
use super::streams::{Collected, Head, Tail};
use eval_model::contract::CapturedStream;

/// How long a launcher may take to end what it started, before it is ended itself.
const ENDING: Duration = Duration::from_secs(10);

/// What to start, and within which bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Invocation<'a> {
    /// This program.
    pub(super) program: &'a Path,
    /// What the launcher is told.
    pub(super) errand: &'a [u8],
    /// The folder of the case, where the launcher reports.
    pub(super) folder: &'a Path,
    pub(super) family: &'a Family,
    pub(super) time: Duration,
    pub(super) most_stdout: usize,
    pub(super) most_stderr: usize,
}

/// Why an agent's process is no longer there.
#[derive(Debug)]
pub(super) enum Ending {
    /// The launcher says how the agent ended.
    Reported(Report),
    /// The launcher was ended by somebody else.
    Lost,
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

/// Runs the agent. `started` is called with its launcher when that exists and before it is told anything; if that fails, nothing
/// is started.
pub(super) async fn run<E>(
    invocation: &Invocation<'_>,
    stop: &Stop,
    started: impl FnOnce(&Identity) -> Result<(), E>,
) -> Result<Ended, E> {
    let began = Instant::now();
    let (mut child, launcher) = match invocation.family.start(|| spawn(invocation)) {
        Ok(started) => started,
        Err(error) => return Ok(Ended::without_a_process(&error)),
    };
    let _member = invocation.family.member(launcher);
    if let Err(error) = started(&Identity::of(launcher)) {
        end(&mut child, launcher).await;
        return Err(error);
    }
    let errand = tell(child.stdin.take(), invocation.errand.to_vec());
    let mut stdout = Collected::new(child.stdout.take(), Head::new(invocation.most_stdout));
    let stderr = Collected::new(child.stderr.take(), Tail::new(invocation.most_stderr));
    let why = first_of(&mut child, stdout.overflow(), stop, invocation.time).await;
    let duration = began.elapsed();
    // The launcher's standard input ends here, and with it the launcher.
    errand.abort();
    let _ = errand.await;
    end(&mut child, launcher).await;
    let (stdout, stderr) = (stdout.finish(ENDING).await, stderr.finish(ENDING).await);
    let ending = why.judged(stdout.is_full(), invocation.folder);
    Ok(Ended { ending, stdout: stdout.into_bytes(), stderr: stderr.into_stream(), duration })
}

impl Ended {
    fn without_a_process(error: &std::io::Error) -> Self {
        let message = format!("eval-host does not start itself: {}", error.kind());
        Self {
            ending: Ending::Reported(Report::NoCage { message }),
            stdout: Vec::new(),
            stderr: CapturedStream::default(),
            duration: Duration::ZERO,
        }
    }
}

/// In a group of its own, so that Ctrl-C is for the host to handle.
fn spawn(invocation: &Invocation<'_>) -> std::io::Result<(Child, Pid)> {
    let child = Command::new(invocation.program)
        .args([COMMAND, LAUNCH])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    Ok((child, id.expect("a child that was not waited for has a process id")))
}

/// Writes the errand and holds the pipe open until this is aborted. A launcher that reads nothing is gone, and that is seen.
fn tell(stdin: Option<ChildStdin>, errand: Vec<u8>) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&errand).await;
            pending::<()>().await;
        }
    })
}

enum Cause {
    Exit,
    Flood,
    Stop,
    Time,
}

impl Cause {
    fn judged(self, is_flooded: bool, folder: &Path) -> Ending {
        match self {
            Self::Stop => Ending::Stopped,
            Self::Time => Ending::TimedOut,
            Self::Flood => Ending::Flooded,
            Self::Exit if is_flooded => Ending::Flooded,
            Self::Exit => read_report(folder).map_or(Ending::Lost, Ending::Reported),
        }
    }
}

async fn first_of(child: &mut Child, flood: impl Future<Output = ()>, stop: &Stop, time: Duration) -> Cause {
    tokio::select! {
        biased;
        // That it cannot be waited for says that it is gone.
        _ = child.wait() => Cause::Exit,
        () = flood => Cause::Flood,
        () = stop.requested() => Cause::Stop,
        () = sleep(time) => Cause::Time,
    }
}

/// Waits for the launcher, which ends all that it started; one that does not is ended with its group.
async fn end(child: &mut Child, launcher: Pid) {
    drop(child.stdin.take());
    if timeout(ENDING, child.wait()).await.is_err() {
        // Not reaped yet, so the number is still its own.
        let _ = kill_process_group(launcher, Signal::KILL);
        // What the kernel cannot end is left to it.
        let _ = timeout(ENDING, child.wait()).await;
    }
}
