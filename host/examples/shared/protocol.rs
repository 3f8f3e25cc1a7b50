//! The SUT protocol: one JSON request on stdin, one JSON response on stdout.

use std::io::{Write as _, stderr, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::workspace::{Files, read};

/// The version of the protocol that the agents speak.
const PROTOCOL: u64 = 1;

/// The parts of a request that the agents use. They do not look at the case's name, and what costs nothing needs no budget.
#[derive(Deserialize)]
struct Request {
    protocol: u64,
    workspace: PathBuf,
}

#[derive(Serialize)]
struct Response {
    output: Answer,
    cost_usd: f64,
}

/// What an agent answers, in the form that both benches ask for.
#[derive(Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(crate) enum Answer {
    Patch { diff: String },
    Decline { reason: String, explanation: String },
}

/// Answers one request with `agent`, which sees the workspace's files and nothing else.
pub(crate) fn serve(agent: impl FnOnce(&Files) -> anyhow::Result<Answer>) -> ExitCode {
    match respond(agent) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody left to tell if stderr is closed.
            let _ = writeln!(stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn respond(agent: impl FnOnce(&Files) -> anyhow::Result<Answer>) -> anyhow::Result<()> {
    let request: Request = serde_json::from_reader(stdin().lock()).context("stdin has no request")?;
    let Request { protocol, workspace } = request;
    ensure!(protocol == PROTOCOL, "the request has protocol {protocol}, and this agent speaks {PROTOCOL}");
    let output = agent(&read(&workspace)?)?;
    let mut stdout = stdout().lock();
    serde_json::to_writer(&mut stdout, &Response { output, cost_usd: 0.0 })?;
    writeln!(stdout)?;
    Ok(())
}
