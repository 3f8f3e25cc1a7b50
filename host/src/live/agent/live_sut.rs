//! One agent on one case, from its workspace to its answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::family::Family;
use super::mark::RunMark;
use super::process::{Ended, Ending, Invocation};
use super::reach::Reach;
use super::response::{Response, fault};
use super::stop::Stop;
use super::workspace::{Workspace, WorkspaceError};
use crate::answers::AgentClaim;
use crate::bench::Capture;
use eval_cage::{Errand, Identity, Report, Task};
use eval_model::case::ReadCase;
use eval_model::contract::CapturedStream;
use eval_model::outcome::{HarnessErrorKind, NoOutput};

/// Most bytes of an answer. It leaves room for what a cassette writes around it.
pub(crate) const MOST_OUTPUT: usize = 8 << 20;

/// How much of the end of an agent's stderr is kept with the case.
const MOST_STDERR: usize = 16 << 10;

/// The variable that names the cost file, when the answer is taken from the workspace.
const COST_FILE_VARIABLE: &str = "EVAL_HOST_COST_FILE";

/// Most bytes of a cost file: a number is shorter.
const MOST_COST_FILE: u64 = 1024;

/// The variable that names the file in which an agent may say who it is, when the answer is taken from the workspace.
const AGENT_FILE_VARIABLE: &str = "EVAL_HOST_AGENT_FILE";

/// Most bytes of an agent file: three texts of 200 characters, however they are escaped.
const MOST_AGENT_FILE: u64 = 16 << 10;

/// How agents are started in this run.
#[derive(Debug, Clone)]
pub(crate) struct LiveSut {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The allow-listed variables with the values that they have here.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) capture: Capture,
    /// What the command line says of the agent, which wins over what the agent says of itself.
    pub(crate) named: AgentClaim,
    pub(crate) timeout: Duration,
    /// Where workspaces are made.
    pub(crate) scratch: PathBuf,
    pub(crate) mark: RunMark,
    pub(crate) reach: Reach,
    /// This program, which runs agents from processes of its own.
    pub(crate) program: PathBuf,
    pub(crate) family: Arc<Family>,
}

/// How an agent's work on one case ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LiveEnd {
    Answered(LiveAnswer),
    /// The host ended the agent for reasons that are not the case's.
    Stopped,
    /// Nothing was started, because the machine could not give the agent its place.
    NoCage(String),
}

/// What an agent gave for one case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LiveAnswer {
    /// One JSON object, verbatim, or the fault.
    pub(crate) output: Result<String, NoOutput>,
    /// What the agent says the case cost, in dollars; `None` is not known, and not nothing.
    pub(crate) cost: Option<f64>,
    /// What the agent says of itself, where the command line says nothing.
    pub(crate) agent: Option<AgentClaim>,
    pub(crate) duration_seconds: f64,
    /// The end of what the agent wrote to stderr.
    pub(crate) stderr: CapturedStream,
}

/// Why no agent can be started: the machine's trouble, which the next case would meet too.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareError {
    #[error(transparent)]
    Workspace(WorkspaceError),
    #[error("the runtime does not start")]
    Runtime(#[source] io::Error),
    #[error("the case's folder has a path that is not UTF-8: name another one with TMPDIR")]
    Path(#[source] serde_json::Error),
}

/// All that an agent needs before it can be started.
#[derive(Debug)]
pub(crate) struct Prepared {
    workspace: Workspace,
    runtime: tokio::runtime::Runtime,
}

impl LiveSut {
    /// Makes what the agent needs for one case. Nothing is started and nothing can be spent yet.
    pub(crate) fn prepare(&self, staged: &ReadCase) -> Result<Prepared, PrepareError> {
        let made = Workspace::create(&self.scratch, &self.mark, &staged.files, &self.reach.home_links);
        let workspace = made.map_err(PrepareError::Workspace)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Prepared { workspace, runtime: runtime.map_err(PrepareError::Runtime)? })
    }

    /// Runs the agent for one case. `started` is told the agent's launcher before that is told anything; its error is the only
    /// one, and nothing is started then.
    pub(crate) fn answer<E>(
        &self,
        staged: &ReadCase,
        prepared: Prepared,
        budget_usd: f64,
        stop: &Stop,
        started: impl FnOnce(&Identity) -> Result<(), E>,
    ) -> Result<LiveEnd, E> {
        let Prepared { workspace, runtime } = prepared;
        let request = super::request::request(&staged.case, &workspace.path(), budget_usd);
        let task = Task::Run { command: self.command.clone(), request };
        let errand = match self.errand(task, &workspace).to_line() {
            Ok(errand) => errand,
            Err(error) => return Ok(LiveEnd::NoCage(PrepareError::Path(error).to_string())),
        };
        let invocation = Invocation {
            program: &self.program,
            errand: &errand,
            folder: &workspace.folder(),
            family: &self.family,
            time: self.timeout,
            most_stdout: MOST_OUTPUT,
            most_stderr: MOST_STDERR,
        };
        let ended = runtime.block_on(super::process::run(&invocation, stop, started));
        // An agent that the kernel cannot end must not keep the run from its end.
        runtime.shutdown_background();
        Ok(self.judge(ended?, &workspace, staged))
    }

    /// What a launcher is told.
    pub(super) fn errand(&self, task: Task, workspace: &Workspace) -> Errand {
        Errand {
            task,
            environment: self.environment_for(workspace).into_iter().collect(),
            directory: workspace.path(),
            folder: workspace.folder(),
            own: workspace.own(),
            temporary: workspace.temporary(),
            allowed: self.reach.allowed.clone(),
            resources: self.reach.resources,
        }
    }

    fn environment_for(&self, workspace: &Workspace) -> BTreeMap<OsString, OsString> {
        let mut environment = self.environment.clone();
        environment.insert("HOME".into(), workspace.home().into());
        environment.insert("TMPDIR".into(), workspace.temporary().into());
        if self.capture == Capture::WorkspaceDiff {
            environment.insert(COST_FILE_VARIABLE.into(), workspace.cost_file().into());
            environment.insert(AGENT_FILE_VARIABLE.into(), workspace.agent_file().into());
        }
        environment
    }

    fn judge(&self, ended: Ended, workspace: &Workspace, staged: &ReadCase) -> LiveEnd {
        let response = match ended.ending {
            Ending::Stopped => return LiveEnd::Stopped,
            Ending::Reported(Report::NoCage { message } | Report::NoNamespaces { message }) => {
                return LiveEnd::NoCage(message);
            }
            Ending::Reported(report) => self.judge_report(report, &ended.stdout, workspace, staged),
            Ending::Lost => Response::broken(HarnessErrorKind::Signal, "the process that keeps the agent was killed"),
            Ending::TimedOut => Response { output: Err(NoOutput::SutTimeout), cost: None, agent: None },
            Ending::Flooded => {
                let message = format!("more than {MOST_OUTPUT} bytes on stdout");
                Response::broken(HarnessErrorKind::TooMuchOutput, message)
            }
        };
        LiveEnd::Answered(LiveAnswer {
            output: response.output,
            cost: response.cost,
            agent: response.agent.map(|said| said.besides(&self.named)),
            duration_seconds: whole_milliseconds(ended.duration),
            stderr: as_text(&ended.stderr),
        })
    }

    /// An agent that failed may still have said what it cost.
    fn judge_report(&self, report: Report, stdout: &[u8], workspace: &Workspace, staged: &ReadCase) -> Response {
        let response = || self.read_response(stdout, workspace, staged);
        match report {
            Report::Exited { code: 0 } => response(),
            Report::Exited { code } => response().failed(HarnessErrorKind::ExitStatus, format!("exit status {code}")),
            Report::Signalled { signal } => {
                response().failed(HarnessErrorKind::Signal, format!("killed by signal {signal}"))
            }
            // It was ended in the middle of something, so what is there is no answer.
            Report::Resources { message } => Response::broken(HarnessErrorKind::Resources, message),
            Report::NotStarted { message } => not_started(&message),
            Report::Ended | Report::NoCage { .. } | Report::NoNamespaces { .. } | Report::Held { .. } => {
                Response::broken(HarnessErrorKind::Signal, "the agent was ended")
            }
        }
    }

    fn read_response(&self, stdout: &[u8], workspace: &Workspace, staged: &ReadCase) -> Response {
        match self.capture {
            Capture::Response => Response::parse(stdout),
            Capture::WorkspaceDiff => {
                let output = super::changes::patch_of(&workspace.path(), &staged.files, MOST_OUTPUT);
                match workspace.read_agent(MOST_AGENT_FILE) {
                    Ok(agent) => Response::captured(output, read_cost_file(workspace).as_deref(), agent.as_deref()),
                    Err(_) => Response::captured(output, read_cost_file(workspace).as_deref(), None)
                        .failed(HarnessErrorKind::MalformedResponse, "the agent file is no short regular file"),
                }
            }
        }
    }
}

/// Nothing was started, so nothing was spent.
fn not_started(why: &str) -> Response {
    let message = format!("the command does not start: {why}");
    Response { output: Err(fault(HarnessErrorKind::Spawn, message)), cost: Some(0.0), agent: None }
}

/// An agent owns its cost file and may have put anything there; what is no short regular file says nothing.
fn read_cost_file(workspace: &Workspace) -> Option<Vec<u8>> {
    workspace.read_cost(MOST_COST_FILE)
}

/// What an agent says is text wherever it is kept, so that it is the same whether it was kept once or twice.
fn as_text(stream: &CapturedStream) -> CapturedStream {
    let kept = String::from_utf8_lossy(&stream.kept).into_owned().into_bytes();
    CapturedStream { kept, dropped_bytes: stream.dropped_bytes }
}

/// Finer than a millisecond is noise, and makes for long numbers.
fn whole_milliseconds(duration: Duration) -> f64 {
    u32::try_from(duration.as_millis()).map_or(f64::from(u32::MAX), f64::from) / 1000.0
}

#[cfg(test)]
mod tests;
