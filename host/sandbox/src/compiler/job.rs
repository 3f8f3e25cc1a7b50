//! The compiler's process: limits itself, reads a component, says what it is, and compiles it.
//!
//! It must be started for this alone, and do nothing after. Whoever starts it confines it further between
//! [`Job::limit_this_process`] and [`Job::run`].

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit, umask};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::super::cache;
use super::super::engine::{self, Backend, Room};
use super::super::inspect::{Facts, Inspection, MOST_COMPONENT_BYTES, validate, weigh};
use super::told::Line;
use super::{CompileLimits, reason};

/// The hidden command of this program that compiles.
pub const COMPILE: &str = "compile-rubric";

const MIB: u64 = 1 << 20;

/// Most bytes of one file that is written: the result.
const MOST_FILE_BYTES: u64 = 1 << 30;

/// Most bytes of machine code and its tables, which the host maps as they are.
const MOST_CODE_BYTES: usize = 512 << 20;

/// Threads of the compiler. The same number everywhere, because what they take at a time depends on it.
pub(super) const THREADS: usize = 4;

/// A component with nothing in it.
const SMALLEST: &[u8] = b"\0asm\x0d\0\x01\0";

/// What the process is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Read,
    Compile { backend: Backend, room: Room },
}

/// What a compiler's process is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    pub(super) task: Task,
    pub(super) limits: CompileLimits,
}

fn limit(resource: Resource, most: u64, grace: u64) -> io::Result<()> {
    let most = most.min(given(resource).saturating_sub(grace));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most.saturating_add(grace)) })?)
}

/// The most that this process, or one that it starts, can have of something.
fn given(resource: Resource) -> u64 {
    getrlimit(resource).maximum.unwrap_or(u64::MAX)
}

impl CompileLimits {
    /// The limits of a compiler that this process starts: it cannot have more than this process was given.
    pub(super) fn as_given(self) -> Self {
        let address_space = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
        Self {
            memory_mib: self.memory_mib.min(given(Resource::Data) / MIB).min(address_space / MIB),
            cpu_seconds: self.cpu_seconds.min(given(Resource::Cpu).saturating_sub(1)),
            seconds: self.seconds,
        }
    }
}

impl Job {
    /// As words of a command line.
    pub(super) fn words(&self) -> Vec<String> {
        let task = match self.task {
            Task::Read => "read",
            Task::Compile { backend, room } => match (backend, room) {
                (Backend::Native, Room::Pool) => "native-pool",
                (Backend::Native, Room::Small) => "native-small",
                #[cfg(feature = "pulley")]
                (Backend::Interpreter, Room::Pool) => "interpreter-pool",
                #[cfg(feature = "pulley")]
                (Backend::Interpreter, Room::Small) => "interpreter-small",
            },
        };
        let CompileLimits { memory_mib, cpu_seconds, seconds } = self.limits;
        vec![task.to_owned(), memory_mib.to_string(), cpu_seconds.to_string(), seconds.to_string()]
    }

    pub fn from_words(words: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = words.iter().map(OsString::as_os_str).map(OsStr::to_str).collect::<Option<_>>()?;
        let [task, memory_mib, cpu_seconds, seconds] = words[..] else { return None };
        let compile = |backend, room| Some(Task::Compile { backend, room });
        let task = match task {
            "read" => Some(Task::Read),
            "native-pool" => compile(Backend::Native, Room::Pool),
            "native-small" => compile(Backend::Native, Room::Small),
            #[cfg(feature = "pulley")]
            "interpreter-pool" => compile(Backend::Interpreter, Room::Pool),
            #[cfg(feature = "pulley")]
            "interpreter-small" => compile(Backend::Interpreter, Room::Small),
            _ => None,
        }?;
        let limits = CompileLimits {
            memory_mib: memory_mib.parse().ok()?,
            cpu_seconds: cpu_seconds.parse().ok()?,
            seconds: seconds.parse().ok()?,
        };
        Some(Self { task, limits })
    }

    /// Takes from this process what it may not use. It ends with its host, and what it writes is its user's.
    pub fn limit_this_process(&self) -> io::Result<()> {
        umask(Mode::RWXG | Mode::RWXO);
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let CompileLimits { memory_mib, cpu_seconds, .. } = self.limits;
        // Not the address space, of which every thread reserves more than it will ever use: what can be written to.
        limit(Resource::Data, memory_mib.saturating_mul(MIB), 0)?;
        // At the first limit the kernel says that time is up, at the second it kills without a word.
        limit(Resource::Cpu, cpu_seconds, 1)?;
        limit(Resource::Fsize, MOST_FILE_BYTES, 0)?;
        limit(Resource::Core, 0, 0)
    }

    /// Parses, weighs and validates, and says after each how it went. `None`: something is wrong.
    fn read(bytes: &[u8], mut told: impl Write) -> io::Result<Option<Facts>> {
        let read = match weigh(bytes) {
            Ok((makeup, facts)) => {
                Line::Weighed(makeup).write_to(&mut told)?;
                validate(bytes, facts)
            }
            Err(defect) => Err(defect),
        };
        match read {
            Ok(facts) => {
                Line::Read(facts.clone()).write_to(&mut told)?;
                Ok(Some(facts))
            }
            Err(defect) => Line::Defect(defect).write_to(&mut told).map(|()| None),
        }
    }

    /// Reads a component, and says what it is. The compiled code is in `folder` afterwards, in a cache of wasmtime's.
    pub fn run(&self, component: impl Read, folder: &Path, mut told: impl Write) -> io::Result<()> {
        let engine = self.engine(folder)?;
        let mut bytes = Vec::new();
        component.take(MOST_COMPONENT_BYTES).read_to_end(&mut bytes)?;
        let Some(facts) = Self::read(&bytes, &mut told)? else { return Ok(()) };
        if let Some(engine) = engine
            && Inspection::of(&bytes, Ok(facts)).refusal.is_none()
        {
            Line::Compiled { refused: compile(&engine, &bytes).err() }.write_to(&mut told)?;
        }
        Line::Done.write_to(&mut told)
    }

    /// The engine, if there is something to compile, with its threads: a machine that has none for it is not to be mistaken for a
    /// component that leaves none.
    fn engine(&self, folder: &Path) -> io::Result<Option<Engine>> {
        let Task::Compile { backend, room } = self.task else { return Ok(None) };
        let threads: Vec<_> = (0..THREADS).map(|_| thread::Builder::new().spawn(|| ())).collect();
        for started in threads {
            // It does nothing, and so cannot panic.
            let _ = started?.join();
        }
        // Compiling anything starts those that compile the component.
        let cache = cache::wasmtime_cache(folder).map_err(io::Error::other)?;
        let engine = engine::compiling_engine(backend, room, cache).map_err(io::Error::other)?;
        engine.precompile_component(SMALLEST).map_err(io::Error::other)?;
        Ok(Some(engine))
    }
}

/// Compiles a component, which puts it into the engine's cache.
fn compile(engine: &Engine, bytes: &[u8]) -> Result<(), String> {
    let component = Component::from_binary(engine, bytes).map_err(|error| {
        if is_lack_of_memory(&error) {
            // As anything does here that gets no memory, wherever it first asked in vain.
            std::process::abort();
        }
        reason(&error)
    })?;
    let code = component.image_range();
    let size = code.end.addr() - code.start.addr();
    if size > MOST_CODE_BYTES {
        return Err(format!("compiled, it has {size} bytes, above the maximum of {MOST_CODE_BYTES}"));
    }
    Ok(())
}

fn is_lack_of_memory(error: &wasmtime::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<wasmtime::error::OutOfMemory>()
            || cause.downcast_ref() == Some(&rustix::io::Errno::NOMEM)
            || cause.downcast_ref().is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::OutOfMemory)
    })
}
