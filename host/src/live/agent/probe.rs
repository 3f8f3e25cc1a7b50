//! Finds out before the first case what holds an agent on this machine, and whether its command is there: the whole cage is built
//! once, with the rules of the run, and nothing is started in it.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use eval_cage::{COMMAND, LAUNCH, Report, Task, read_report};
use eval_model::advice::{Advice, Exit};
use eval_model::confinement::{Confinement, Network};
use eval_model::contract::CaseFiles;

use super::live_sut::{LiveSut, PrepareError};
use super::workspace::Workspace;

/// What was found out.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) confinement: Confinement,
    /// Why there are no namespaces.
    pub(crate) weaker_because: Option<String>,
}

/// Why no agent can be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error("the agent cannot be confined: {why}")]
    NoCage { why: String },
    #[error("`network = \"none\"` needs namespaces, which this kernel does not give: {why}")]
    NoOwnNetwork { why: String },
    #[error("the agent's command cannot be started: {message}")]
    NoCommand { message: String },
    #[error(transparent)]
    Prepare(PrepareError),
    #[error("the process that confines agents does not start")]
    Launcher(#[source] io::Error),
    #[error("the process that confines agents ended without a word")]
    Lost,
}

impl Advice for ProbeError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoCommand { .. } => Exit::UsageOrCap,
            Self::NoCage { .. } | Self::NoOwnNetwork { .. } | Self::Prepare(_) | Self::Launcher(_) | Self::Lost => {
                Exit::HarnessError
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoCage { .. } => Some(
                "run it on Linux 5.13 or newer with Landlock turned on (`lsm=landlock,…`; a list of TCP ports needs 6.7), or say --unconfined, on which no verdict will rest"
                    .to_owned(),
            ),
            Self::NoOwnNetwork { .. } => Some(
                "allow unprivileged user namespaces on this machine, or run it on another one: it is never weaker than it says"
                    .to_owned(),
            ),
            Self::NoCommand { .. } => Some(
                "an agent sees the system's folders, the files that its command names, and what --sut-read and `[sut] read` name: \
                 check PATH, or name the folder that it is in"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl LiveSut {
    /// Builds the cage once. Where the kernel gives no namespaces, the run goes on without them, unless they are what holds.
    pub(crate) fn probe(&mut self) -> Result<Probed, ProbeError> {
        let why = match self.try_cage()? {
            Report::Held { landlock_abi } => {
                let confinement = self.reach.confinement(landlock_abi);
                return Ok(Probed { confinement, weaker_because: None });
            }
            Report::NoNamespaces { message } => message,
            other => return Err(refused(other)),
        };
        match &mut self.reach.allowed {
            Some(allowed) if allowed.network == Network::None => return Err(ProbeError::NoOwnNetwork { why }),
            Some(allowed) => allowed.namespaces = false,
            None => return Err(ProbeError::NoCage { why }),
        }
        match self.try_cage()? {
            Report::Held { landlock_abi } => {
                Ok(Probed { confinement: self.reach.confinement(landlock_abi), weaker_because: Some(why) })
            }
            other => Err(refused(other)),
        }
    }

    fn try_cage(&self) -> Result<Report, ProbeError> {
        let nothing = CaseFiles::new();
        let workspace = Workspace::create(&self.scratch, &self.mark, &nothing, &self.reach.home_links);
        let workspace = workspace.map_err(|error| ProbeError::Prepare(PrepareError::Workspace(error)))?;
        let program = self.command.first().cloned().unwrap_or_default();
        let errand = self.errand(Task::Probe { program, word: self.shell_word() }, &workspace);
        let errand = errand.to_line().map_err(|error| ProbeError::Prepare(PrepareError::Path(error)))?;
        let mut command = Command::new(&self.program);
        command.args([COMMAND, LAUNCH]).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut launcher = command.spawn().map_err(ProbeError::Launcher)?;
        let told = launcher.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(&errand));
        // It ends by itself; its standard input must not end before.
        let stdin = launcher.stdin.take();
        launcher.wait().map_err(ProbeError::Launcher)?;
        drop(stdin);
        told.map_err(ProbeError::Launcher)?;
        read_report(&workspace.folder()).ok_or(ProbeError::Lost)
    }

    /// The first word of a line for the shell, if it is one that no expansion changes.
    fn shell_word(&self) -> Option<String> {
        let [shell, flag, line] = self.command.as_slice() else { return None };
        let word = line.to_str()?.split_whitespace().next()?;
        let is_plain = word.chars().all(|character| character.is_ascii_alphanumeric() || "-_./+".contains(character));
        (shell == "/bin/sh" && flag == "-c" && is_plain).then(|| word.to_owned())
    }
}

fn refused(report: Report) -> ProbeError {
    match report {
        Report::NotStarted { message } => ProbeError::NoCommand { message },
        Report::NoCage { message } | Report::NoNamespaces { message } => ProbeError::NoCage { why: message },
        _ => ProbeError::Lost,
    }
}
