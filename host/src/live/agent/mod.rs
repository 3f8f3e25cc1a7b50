//! Runs a real agent for one case by the protocol: a fresh workspace, one request, one answer, and nothing left running.
//!
//! What the agent does wrong is a fault of the case. What the machine does wrong (no room for a workspace, a journal that
//! cannot be written) is an error that ends the run, because no case would fare better. Nothing here decides what a case may
//! cost or what is charged when nobody knows: see [`crate::live::cost`].

mod changes;
mod command;
mod family;
mod live_sut;
mod mark;
mod mounts;
mod probe;
mod process;
mod program;
mod reach;
mod removal;
mod request;
mod response;
mod shell_line;
mod stop;
mod streams;
mod unified_diff;
mod workspace;

#[cfg(test)]
pub(crate) mod testing;

pub(crate) use command::{AgentCommand, AgentFlags, quoted};
pub(crate) use family::Family;
pub(crate) use live_sut::{LiveAnswer, LiveEnd, LiveSut, PrepareError, Prepared};
pub(crate) use mark::RunMark;
pub(crate) use probe::Probed;
pub(crate) use program::CommandFiles;
pub(crate) use reach::{Confine, Protected, Reach, ReachArgs};
pub(crate) use stop::Stop;
pub(crate) use workspace::{Leftover, remove_leftovers};
