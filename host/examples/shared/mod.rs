//! What both reference agents need: the protocol, the workspace and a unified diff. They use nothing of eval-host itself, as an
//! agent of somebody else would not.

mod diff;
mod protocol;
mod workspace;

pub(crate) use diff::unified;
pub(crate) use protocol::{Answer, serve};
pub(crate) use workspace::{Files, required};

/// What went wrong, for the agent's stderr: the host makes a fault of the SUT of it.
pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error>>;
