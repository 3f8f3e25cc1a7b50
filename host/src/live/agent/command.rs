//! Which command answers: from the registration and the command line to a program that can be started from anywhere, and to
//! what that is called in a record.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use eval_evidence::record::Sut;
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::money::Usd;

use crate::bench::{Capture, SutSettings};
use eval_evidence::cassette::SutName;

/// How agents are started, and what that is called in a record.
#[derive(Debug, Clone)]
pub(crate) struct AgentCommand {
    pub(crate) settings: SutSettings,
    /// The program and its arguments. A program that is named by a relative path is an absolute one here, because agents
    /// run in folders of their own.
    pub(crate) words: Vec<OsString>,
    digest: Digest,
    name: String,
}

/// What the command line says of the agent, over what the registration says.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentFlags {
    /// A line for the shell.
    pub(crate) command: Option<String>,
    pub(crate) capture: Option<Capture>,
}

/// Neither the registration nor the command line names an agent.
#[derive(Debug, thiserror::Error)]
#[error("no agent is named for `{task_class}`")]
pub(crate) struct NoAgentError {
    task_class: TaskClassName,
}

impl Advice for NoAgentError {
    fn exit(&self) -> Exit {
        Exit::UsageOrCap
    }

    fn hint(&self) -> Option<String> {
        Some("name one with --sut '<command>', or with `[sut]` in registration.toml".to_owned())
    }
}

/// All that makes one way of running an agent different from another.
#[derive(Serialize)]
struct CommandFacts<'a> {
    command: &'a [String],
    env: &'a [String],
    capture: Capture,
    timeout_seconds: u64,
}

impl AgentCommand {
    /// `here` is the folder that relative paths are looked for from.
    pub(crate) fn new(
        task_class: &TaskClassName,
        registered: Option<SutSettings>,
        flags: &AgentFlags,
        here: &Path,
    ) -> Result<Self, NoAgentError> {
        let line = flags.command.as_deref();
        let mut settings = match (registered, line) {
            (Some(settings), None) => settings,
            (Some(settings), Some(line)) => SutSettings { command: shell(line, here), ..settings },
            (None, Some(line)) => SutSettings::of_command(shell(line, here)),
            (None, None) => return Err(NoAgentError { task_class: task_class.clone() }),
        };
        if let Some(capture) = flags.capture {
            settings.capture = capture;
        }
        let facts = CommandFacts {
            command: &settings.command,
            env: &settings.env,
            capture: settings.capture,
            timeout_seconds: settings.timeout_seconds,
        };
        let digest = Digest::of(&serde_json::to_vec(&facts).expect("texts and a number serialise"));
        let name = program_name(line.unwrap_or(&settings.command[0]));
        let mut words: Vec<_> = settings.command.iter().map(OsString::from).collect();
        if settings.command[0].contains('/') {
            words[0] = from(here, &settings.command[0]).into_os_string();
        }
        Ok(Self { settings, words, digest, name })
    }

    /// The same name and version for the same way of running the same command.
    pub(crate) fn name(&self) -> SutName {
        let mut version = self.digest.to_string();
        version.truncate(12);
        SutName { name: self.name.clone(), version }
    }

    pub(crate) fn sut(&self) -> Sut {
        let SutName { name, version } = self.name();
        Sut { name, version, model: None, command_digest: Some(self.digest), files: BTreeMap::new() }
    }

    /// The most that a case may cost, if the registration says so.
    pub(crate) fn most_per_case(&self) -> Option<Usd> {
        self.settings.max_cost_usd_per_case.and_then(Usd::from_dollars)
    }
}

/// A command line for the shell.
fn shell(line: &str, here: &Path) -> Vec<String> {
    let (program, rest) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./+".contains(character);
    let line = if program.contains('/') && program.chars().all(is_plain) {
        format!("{}{rest}", quoted(&from(here, program).to_string_lossy()))
    } else {
        line.to_owned()
    };
    vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
}

/// A path from a folder, without the `.`s that people write.
fn from(here: &Path, path: &str) -> PathBuf {
    here.join(path).components().collect()
}

/// A word that a shell takes as it is.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_=./:,@%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The file name of the program that a command line begins with.
fn program_name(line: &str) -> String {
    let program = line.split_whitespace().next().unwrap_or(line);
    Path::new(program).file_name().map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(registered: Option<SutSettings>, line: Option<&str>) -> Result<AgentCommand, NoAgentError> {
        let flags = AgentFlags { command: line.map(str::to_owned), capture: None };
        AgentCommand::new(&"fixture".parse().expect("a task class"), registered, &flags, Path::new("/here"))
    }

    #[test]
    fn a_program_is_found_from_where_the_run_was_started() {
        let agent = command(None, Some("./agent.sh --fast 'a b'")).expect("an agent");
        assert_eq!(agent.words, ["/bin/sh", "-c", "/here/agent.sh --fast 'a b'"]);
        assert_eq!(agent.name().name, "agent.sh");
        let registered = SutSettings::of_command(vec!["bin/agent".to_owned(), "--json".to_owned()]);
        assert_eq!(command(Some(registered), None).expect("an agent").words, ["/here/bin/agent", "--json"]);
        let on_path = SutSettings::of_command(vec!["agent".to_owned()]);
        assert_eq!(command(Some(on_path), None).expect("an agent").words, ["agent"]);
    }

    #[test]
    fn the_version_is_of_the_way_in_which_the_command_is_run() {
        let one = command(None, Some("agent")).expect("an agent");
        assert_eq!(one.name(), command(None, Some("agent")).expect("an agent").name());
        assert_ne!(one.name(), command(None, Some("agent --fast")).expect("an agent").name());
        let slower = SutSettings { timeout_seconds: 1, ..one.settings.clone() };
        assert_ne!(one.name().version, command(Some(slower), None).expect("an agent").name().version);
    }

    #[test]
    fn without_a_command_it_is_said_where_to_name_one() {
        let error = command(None, None).expect_err("there is none");
        assert_eq!(error.to_string(), "no agent is named for `fixture`");
        assert!(error.hint().is_some_and(|hint| hint.contains("--sut")));
    }
}
