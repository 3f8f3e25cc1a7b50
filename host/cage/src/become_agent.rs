//! The last stage: gives up every right that an agent must not have, and becomes the agent.
//!
//! The order matters. What needs rights comes first, Landlock comes last but for giving up the capabilities that it does not need,
//! and nothing is opened after it. Whatever fails is said to the keeper, and nothing is executed.

#![expect(clippy::disallowed_methods, reason = "a program lies where the agent's path says")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::errand::{Errand, Resources, Task};
use crate::report::Report;
use crate::usage::tasks_of_user;
use crate::{CageError, calls, failed, rules};

/// What the keeper takes for itself of the processes that an agent may have.
const OF_THE_KEEPER: u64 = 8;

const MIB: u64 = 1 << 20;

/// Where a program is looked for when there is no PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Becomes the agent of the errand that comes on standard input. It returns only if that failed.
pub fn become_agent() -> Result<(), CageError> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(failed("the keeper cannot be answered"))?;
    // A copy that nobody inherits: it closes when this process becomes the agent.
    let mut keeper = UnixStream::from(stdin);
    let (errand, _) = Errand::read_from(&keeper).map_err(failed("the errand cannot be read"))?;
    let report = match confine(&errand) {
        Err(error) => Report::NoCage { message: error.told() },
        Ok(landlock_abi) => match &errand.task {
            Task::Probe { program, word } => probe(&errand, program, word.as_deref(), landlock_abi),
            Task::Run { command, request } => run(&errand, command, request),
        },
    };
    let answer = serde_json::to_vec(&report).map_err(failed("the report cannot be written"))?;
    keeper.write_all(&answer).map_err(failed("the keeper cannot be answered"))
}

/// Gives up what the errand does not allow, and gives the version of Landlock that holds from here on.
fn confine(errand: &Errand) -> Result<u32, CageError> {
    // A session of its own has no terminal, so that nothing can be typed into the operator's.
    setsid().map_err(failed("the agent gets no session of its own"))?;
    limit(&errand.resources, errand.leaves_namespaces()).map_err(failed("a limit cannot be set"))?;
    let Some(allowed) = &errand.allowed else { return Ok(0) };
    debug_assert!(!allowed.namespaces || can_give_up_for_good(), "the keeper hands it on");
    give_up_capabilities().map_err(failed("the capabilities cannot be given up"))?;
    set_no_new_privs(true).map_err(failed("new privileges cannot be renounced"))?;
    let landlock_abi = rules::enforce(errand, allowed)?;
    calls::forbid(&allowed.network)?;
    Ok(landlock_abi)
}

/// Limits that the kernel holds by itself; the keeper watches the rest. None is above what this process was given.
fn limit(resources: &Resources, in_namespace: bool) -> rustix::io::Result<()> {
    // The kernel counts by user, and in a user namespace of its own by that.
    let others = if in_namespace { 0 } else { tasks_of_user() };
    let limits = [
        (Resource::Core, 0),
        (Resource::Fsize, resources.workspace_mib.saturating_mul(MIB)),
        (Resource::Nproc, resources.processes.saturating_add(OF_THE_KEEPER).saturating_add(others)),
    ];
    limits.into_iter().try_for_each(|(resource, most)| {
        let most = most.min(getrlimit(resource).maximum.unwrap_or(u64::MAX));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    })
}

fn can_give_up_for_good() -> bool {
    capabilities(None).is_ok_and(|mine| mine.effective.contains(CapabilitySet::SETPCAP))
}

pub(crate) fn give_up_capabilities() -> rustix::io::Result<()> {
    // Without the right to, nothing can be taken from the bounding set; and without any right nothing in it can be had.
    if can_give_up_for_good() {
        for capability in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
            if capability_is_in_bounding_set(capability).unwrap_or(false) {
                remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

fn probe(errand: &Errand, program: &OsStr, word: Option<&str>, landlock_abi: u32) -> Report {
    let not_started = |message: String| Report::NotStarted { message };
    if !is_there(program, errand) {
        return not_started(format!("`{}` is not there", program.to_string_lossy()));
    }
    match word {
        Some(word) if !shell_knows(word, errand) => not_started(format!("`{word}` is not there")),
        _ => Report::Held { landlock_abi },
    }
}

/// Whether a program can be executed, where it says it is or on the agent's own path.
fn is_there(program: &OsStr, errand: &Errand) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        return is_executable(&errand.directory.join(program));
    }
    let path = errand.environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let folders: Vec<PathBuf> = std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))).collect();
    folders.iter().any(|folder| is_executable(&folder.join(program)))
}

/// Whether a file can be executed: by its mode, and by Landlock, which only an attempt to open it asks.
fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok() && File::open(path).is_ok()
}

/// A word may be a program, a function of the shell or a part of its language: the shell knows best.
fn shell_knows(word: &str, errand: &Errand) -> bool {
    let mut shell = command(&[OsString::from("/bin/sh")], errand);
    shell.args(["-c", "command -v -- \"$1\"", "sh", word]).stdin(Stdio::null()).stderr(Stdio::null());
    let found = shell.output().ok().filter(|output| output.status.success());
    let is_there = |found: &[u8]| match std::str::from_utf8(found.trim_ascii()) {
        Ok(path) if path.starts_with('/') => is_executable(Path::new(path)),
        _ => true,
    };
    found.is_some_and(|output| is_there(&output.stdout))
}

/// Becomes the agent, or says why not.
fn run(errand: &Errand, words: &[OsString], request: &str) -> Report {
    match request_pipe(request) {
        Err(error) => Report::NoCage { message: format!("the request cannot be handed over: {error}") },
        Ok(pipe) => {
            let error = command(words, errand).stdin(pipe).exec();
            Report::NotStarted { message: error.kind().to_string() }
        }
    }
}

/// A pipe with the request in it. It is small enough to fit, so nobody has to stand by and write it.
fn request_pipe(request: &str) -> io::Result<io::PipeReader> {
    let (reader, mut writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    writer.write_all(request.as_bytes())?;
    Ok(reader)
}

fn command(words: &[OsString], errand: &Errand) -> Command {
    let (program, arguments) =
        words.split_first().map_or((OsStr::new(""), &[][..]), |(first, rest)| (first.as_os_str(), rest));
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(errand.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(&errand.directory);
    command
}
