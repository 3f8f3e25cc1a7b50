//! Runs one agent where it reaches nothing that is not its own, and ends it with all that it started.
//!
//! Three processes of this program stand between the host and an agent, each started by the one before:
//!
//! 1. [`launch`] is what the host starts. It hears of the host's end, or of its wish to end, by the end of its standard input. It
//!    leaves the host's namespaces where the kernel allows that without rights.
//! 2. The keeper is the first process of the new PID namespace, so that the kernel ends everything with it. It builds the only
//!    files that there are, starts the agent, watches what it takes, and writes down how it ended. Without namespaces the launcher
//!    keeps the agent itself: orphans come to it, and it ends them one by one.
//! 3. The last gives up every right (capabilities, new privileges, and by Landlock all files but the named ones) and becomes the
//!    agent.
//!
//! Every stage must be a process of its own: a thread that confines itself shares its memory with threads that are not confined.
//! Nothing here decides what an agent may see; that is in the [`Errand`]. Nothing here is weaker than the errand says: what
//! cannot be set up is an error, and the agent is not started.
//!
//! [`only_compute`] is for another process that cannot be trusted: the one that compiles rubrics. It is its own cage.

mod become_agent;
mod calls;
mod errand;
mod events;
mod keeper;
mod launcher;
mod mounts;
mod namespaces;
mod only_compute;
mod processes;
mod report;
mod room;
mod root;
mod rules;
mod usage;

pub use become_agent::become_agent;
pub use errand::{Allowed, Errand, OtherName, Resources, Task};
pub use keeper::keep;
pub use launcher::launch;
pub use mounts::Mount;
pub use only_compute::only_compute;
pub use processes::{Identity, boot_id, end_children, has_children, wait_for_end};
pub use report::{Report, read_report};
pub use rules::{SYSTEM_FOLDERS, resolver_files};

/// The hidden command of this program that runs a stage, and the stages' names.
pub const COMMAND: &str = "agent-cage";

/// By what a process starts its own program once more, whatever lies by now where its file was.
pub const ITSELF: &str = "/proc/self/exe";

pub const LAUNCH: &str = "launch";
pub const KEEP: &str = "keep";
pub const BECOME: &str = "become";

/// What a stage could not do.
#[derive(Debug, thiserror::Error)]
#[error("{action}")]
pub struct CageError {
    action: String,
    source: std::io::Error,
}

impl CageError {
    fn new(action: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self { action: action.into(), source: source.into() }
    }

    /// With its cause, as one text.
    fn told(&self) -> String {
        format!("{}: {}", self.action, self.source)
    }
}

/// Names what failed, for `map_err`.
fn failed<E: Into<std::io::Error>>(action: &'static str) -> impl FnOnce(E) -> CageError {
    move |source| CageError::new(action, source)
}
