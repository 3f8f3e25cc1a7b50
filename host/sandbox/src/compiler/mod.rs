//! Reading and compiling a component in a process of its own, which is this program again.
//!
//! Fuel and the clock bound a guest that runs. Validating and compiling come before that, and what they cost cannot be told from
//! the bytes: 25 kilobytes of well-chosen code take more than 5 gigabytes. So the kernel bounds it: the process has a limit on
//! its memory, one on its CPU time and one on its time, and what it costs beyond them is its end and not the host's.
//!
//! [`Compiler::ask`] is the host's side. It hands over the component in memory, and believes nothing that the other side says but
//! facts about that component. [`Job`] is the other side. [`Told`] is what passes between them.

mod job;
mod stopped;
mod told;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

pub use self::job::{COMPILE, Job};
use self::job::{THREADS, Task};
pub use self::stopped::{Stop, Stopped};
use self::told::Told;
use super::engine::{Backend, Room};
use super::inspect::{Defect, Facts};

/// What compiling one component may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    pub memory_mib: u64,
    pub cpu_seconds: u64,
    pub seconds: u64,
}

impl CompileLimits {
    /// The settings of a host, by their names.
    pub const MEMORY_VARIABLE: &str = "EVAL_HOST_COMPILE_MEMORY_MIB";
    pub const CPU_VARIABLE: &str = "EVAL_HOST_COMPILE_CPU_SECONDS";
    pub const TIME_VARIABLE: &str = "EVAL_HOST_COMPILE_SECONDS";
}

impl Default for CompileLimits {
    /// Some three times what CPython's component takes, which is the heaviest that anybody is known to need.
    fn default() -> Self {
        Self { memory_mib: 2_048, cpu_seconds: 120, seconds: 600 }
    }
}

/// Most bytes of what a compiler says, and of what it complains.
const MOST_TOLD: u64 = 16 << 20;
const MOST_COMPLAINT: u64 = 4 << 10;

/// The program that compiles, and what it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Started with the word [`COMPILE`] and the words of a [`Job`].
    pub program: PathBuf,
    pub limits: CompileLimits,
}

/// Why nothing is known about a component: the machine, not the component.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    #[error("the compiler's process cannot be started: `{}`", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("the component cannot be handed to the compiler's process")]
    HandOver(#[source] io::Error),
    #[error("the compiler's process cannot be waited for")]
    Wait(#[source] io::Error),
    #[error("the compiler's process cannot work here: {complaint}")]
    CannotWork { complaint: String },
    #[error("the compiler's process said what this host does not understand")]
    Said(#[source] serde_json::Error),
    #[error("compiled code cannot be kept in the compile cache")]
    Keep(#[source] io::Error),
    #[error("compiled code did not reach the compile cache")]
    NothingKept,
    #[error("compiled code cannot be loaded from the compile cache")]
    Unusable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl CompilerError {
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Start { .. } => {
                "eval-host starts itself once more through `/proc`, which must be there; `ulimit -a` shows whether it may"
            }
            Self::HandOver(_) | Self::Wait(_) | Self::CannotWork { .. } | Self::Said(_) => {
                "the machine may lack memory, files or processes; see its limits with `ulimit -a`"
            }
            Self::Keep(_) | Self::NothingKept | Self::Unusable(_) => {
                "make room on its disk, see that its folder can be written and that files may grow (`ulimit -f`), or name another \
                 folder with XDG_CACHE_HOME"
            }
        }
    }
}

/// What is known of a component when the compiler has ended.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is no component that can be loaded.
    Defect(Defect),
    /// It was read, and compiled if that was asked for.
    Read(Facts),
    /// It is a component, and the engine does not take it.
    DoesNotCompile(Facts, String),
    /// A limit was reached.
    Stopped(Stopped),
}

impl Compiler {
    /// Has a component read by another process, and compiled if `folder` is to hold the result.
    pub(super) fn read_and_compile(
        &self,
        component: &[u8],
        (backend, room): (Backend, Room),
        folder: &Path,
    ) -> Result<Answer, CompilerError> {
        self.ask(component, folder, Task::Compile { backend, room })
    }

    /// Has a component read by another process.
    pub(super) fn read(&self, component: &[u8], folder: &Path) -> Result<Answer, CompilerError> {
        self.ask(component, folder, Task::Read)
    }

    fn ask(&self, component: &[u8], folder: &Path, task: Task) -> Result<Answer, CompilerError> {
        let limits = self.limits.as_given();
        let job = Job { task, limits };
        let streams = || Ok::<_, io::Error>((held(component)?, in_memory("told")?, in_memory("complaint")?));
        let (component, mut told, mut complaint) = streams().map_err(CompilerError::HandOver)?;
        let started = self.start(&job, folder, component, (&told, &complaint));
        let start = |source| CompilerError::Start { program: self.program.clone(), source };
        let mut child = started.map_err(start)?;
        let end = wait(&mut child, Duration::from_secs(limits.seconds)).map_err(CompilerError::Wait)?;
        let told = beginning(&mut told, MOST_TOLD).map_err(CompilerError::Wait)?;
        let complaint = beginning(&mut complaint, MOST_COMPLAINT).map_err(CompilerError::Wait)?;
        answer(end, &told, &String::from_utf8_lossy(&complaint), limits)
    }

    fn start(&self, job: &Job, folder: &Path, component: File, (told, complaint): (&File, &File)) -> io::Result<Child> {
        // Whatever whoever started this process left open stays here.
        close_fds::set_fds_cloexec(3, &[]);
        Command::new(&self.program)
            .arg(COMPILE)
            .args(job.words())
            .env_clear()
            .env("RAYON_NUM_THREADS", THREADS.to_string())
            .current_dir(folder)
            .stdin(component)
            .stdout(told.try_clone()?)
            .stderr(Stdio::from(complaint.try_clone()?))
            // Ctrl-C is for the host, with which it ends.
            .process_group(0)
            .spawn()
    }
}

/// Why an engine does not take a component, on one line.
pub(super) fn reason(error: &wasmtime::Error) -> String {
    let whole: Vec<_> = error.chain().map(ToString::to_string).collect();
    whole.join(": ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
enum End {
    ByItself(ExitStatus),
    TimeIsUp,
}

/// Waits for the end of a process, and makes it when its time is up.
#[expect(clippy::disallowed_methods, reason = "this is where the deadline holds")]
fn wait(child: &mut Child, time: Duration) -> io::Result<End> {
    let deadline = Instant::now() + time;
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&left)) {
            Ok(0) => {
                child.kill()?;
                child.wait()?;
                return Ok(End::TimeIsUp);
            }
            Ok(_) => return child.wait().map(End::ByItself),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A file that is in memory alone.
fn in_memory(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

/// These bytes as a file that nobody can change any more, to be read from its beginning.
fn held(bytes: &[u8]) -> io::Result<File> {
    let mut file = in_memory("component")?;
    file.write_all(bytes)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

fn beginning(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a process said, and how it ended, as one answer.
fn answer(end: End, told: &[u8], complaint: &str, limits: CompileLimits) -> Result<Answer, CompilerError> {
    let Told { makeup, outcome } = Told::read(told).map_err(CompilerError::Said)?;
    let stop = match (end, outcome) {
        (End::TimeIsUp, _) => Stop::Time { seconds: limits.seconds },
        (End::ByItself(status), Some(outcome)) if status.success() => return Ok(outcome),
        (End::ByItself(status), _) if status.signal() == Some(Signal::XFSZ.as_raw()) => {
            return Err(CompilerError::NothingKept);
        }
        (End::ByItself(status), _) => match Stop::of(status, complaint, limits) {
            Some(stop) => stop,
            None => return Err(CompilerError::CannotWork { complaint: stopped::gist(complaint) }),
        },
    };
    Ok(Answer::Stopped(Stopped { stop, makeup }))
}
