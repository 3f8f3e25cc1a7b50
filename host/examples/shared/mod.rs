//! What both reference agents need: the protocol, the workspace and a unified diff. They use nothing of eval-host itself, as an
//! agent of somebody else would not.

mod patch;
mod protocol;
mod workspace;

pub(crate) use patch::unified;
pub(crate) use protocol::{Answer, serve};
pub(crate) use workspace::{Files, required};
