//! `eval-host agent-cage`: the processes between a host and its agent. See `eval-cage`; nothing is decided here.

use std::error::Error as _;
use std::ffi::OsStr;
use std::process::ExitCode;

use eval_cage::{BECOME, KEEP, LAUNCH, become_agent, keep, launch};

use super::environment;

/// Runs one stage. Whatever goes wrong is in the report; what cannot be reported is said where the agent's words go.
pub(super) fn run(stage: &OsStr) -> ExitCode {
    let result = match stage.to_str() {
        Some(LAUNCH) => launch(),
        Some(KEEP) => keep(),
        Some(BECOME) => become_agent(),
        _ => {
            environment::tell("error: `agent-cage` is for live runs, which start it themselves");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            environment::tell(&format!("eval-host: {error}: {cause}"));
            ExitCode::FAILURE
        }
    }
}
