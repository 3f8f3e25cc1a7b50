//! What both reference agents need: the protocol, the workspace and a unified diff. They use nothing of eval-host itself, as an
//! agent of somebody else would not.

mod patch;
mod protocol;
#[expect(clippy::allow_attributes, reason = "the tests build these agents too, by rules that ban nothing here")]
#[allow(clippy::disallowed_methods, reason = "an agent reads its workspace as any program does")]
mod workspace;

pub(crate) use patch::unified;
pub(crate) use protocol::{Answer, serve};
pub(crate) use workspace::{Files, required};
