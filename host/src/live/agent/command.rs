//! Which command answers: from the registration and the command line to a program that can be started from anywhere, and to
//! what that is called in a record.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use eval_evidence::record::Sut;
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::money::Usd;

use super::program::CommandFiles;
use super::shell_line;
use crate::answers::{AgentClaim, AgentText};
use crate::bench::{Capture, SutSettings};

/// How agents are started, and what that is called in a record.
#[derive(Debug, Clone)]
pub(crate) struct AgentCommand {
    pub(crate) settings: SutSettings,
    /// The program and its arguments. A program that is named by a relative path is an absolute one here, and so is a file
    /// that is named by a path from `.` or `..`, because agents run in folders of their own.
    pub(crate) words: Vec<OsString>,
    /// What the command line says of the agent, which wins over what the agent says of itself.
    pub(crate) named: AgentClaim,
    digest: Digest,
    name: String,
}

/// What the command line says of the agent, over what the registration says.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentFlags {
    /// A line for the shell.
    pub(crate) command: Option<String>,
    /// Variables that the agent gets besides.
    pub(crate) env: Vec<String>,
    pub(crate) capture: Option<Capture>,
    pub(crate) name: Option<AgentText>,
    pub(crate) version: Option<AgentText>,
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
            (Some(settings), Some(line)) => SutSettings { command: shell(line), ..settings },
            (None, Some(line)) => SutSettings::of_command(shell(line)),
            (None, None) => return Err(NoAgentError { task_class: task_class.clone() }),
        };
        settings.env.extend(flags.env.iter().cloned());
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
        let (name, words) = match line {
            Some(line) => (name_of_line(line), shell(&absolute_line(line, here)).into_iter().map(Into::into).collect()),
            None => (name_of_words(&settings.command), absolute_words(&settings.command, here)),
        };
        let named = AgentClaim { name: flags.name.clone(), version: flags.version.clone(), model: None };
        Ok(Self { settings, words, named, digest, name })
    }

    /// The system under test as it is known before its first answer: by what the command line calls it, else by its
    /// program's file and by the way of running it.
    pub(crate) fn sut(&self, files: &CommandFiles) -> Sut {
        let mut version = self.digest.to_string();
        version.truncate(12);
        self.named.of(&Sut {
            name: self.name.clone(),
            version,
            model: None,
            command_digest: Some(self.digest),
            files: files.digests(),
        })
    }

    /// The most that a case may cost, if the registration says so.
    pub(crate) fn most_per_case(&self) -> Option<Usd> {
        self.settings.max_cost_usd_per_case.and_then(Usd::from_dollars)
    }
}

/// A command line for the shell.
fn shell(line: &str) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()]
}

/// The words of a command, with absolute paths in place of those that say where its files are from `here`.
fn absolute_words(command: &[String], here: &Path) -> Vec<OsString> {
    let absolute = |(index, word): (usize, &String)| {
        let is_path = if index == 0 { word.contains('/') } else { is_file_from(here, word) };
        if is_path { from(here, word).into_os_string() } else { word.into() }
    };
    command.iter().enumerate().map(absolute).collect()
}

/// A line for the shell, with absolute paths in place of the plain words that say where its files are from `here`. What
/// follows a change of the folder is left alone.
fn absolute_line(line: &str, here: &Path) -> String {
    let (mut absolute, mut copied) = (String::new(), 0);
    let words = shell_line::words(line);
    let stays = words.iter().take_while(|word| !matches!(word.text, Some("cd" | "pushd")));
    for (index, word) in stays.enumerate() {
        let text = &line[word.place.clone()];
        let is_path = if index == 0 { text.contains('/') } else { !word.is_written && is_file_from(here, text) };
        if is_path && is_plain(text) {
            absolute += &line[copied..word.place.start];
            absolute += &quoted(&from(here, text).to_string_lossy());
            copied = word.place.end;
        }
    }
    absolute + &line[copied..]
}

/// Whether a word of a shell line is a path that the shell takes as it is, and nothing else.
fn is_plain(word: &str) -> bool {
    word.chars().all(|character| character.is_ascii_alphanumeric() || "-_./+".contains(character))
}

/// Whether a word says where a file is from `here`, and it is there.
#[expect(clippy::disallowed_methods, reason = "a command's files lie where the operator says")]
fn is_file_from(here: &Path, word: &str) -> bool {
    let is_from_here = word.starts_with("./") || word.starts_with("../");
    is_from_here && std::fs::metadata(here.join(word)).is_ok_and(|metadata| metadata.is_file())
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

/// What a command of these words is called.
fn name_of_words(command: &[String]) -> String {
    shell_line::called(command.iter().map(String::as_str)).unwrap_or_else(|| command[0].clone())
}

/// What a line is called: as far as it is understood, like its words, and else by what it begins with.
fn name_of_line(line: &str) -> String {
    let words = shell_line::words(line);
    let beginning = words.first().map_or(line, |word| &line[word.place.clone()]);
    shell_line::called(words.iter().map_while(|word| word.text)).unwrap_or_else(|| beginning.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(registered: Option<SutSettings>, flags: &AgentFlags, here: &Path) -> Result<AgentCommand, NoAgentError> {
        AgentCommand::new(&"fixture".parse().expect("a task class"), registered, flags, here)
    }

    fn command(registered: Option<SutSettings>, line: Option<&str>) -> Result<AgentCommand, NoAgentError> {
        let flags = AgentFlags { command: line.map(str::to_owned), ..AgentFlags::default() };
        given(registered, &flags, Path::new("/here"))
    }

    fn sut(agent: &AgentCommand) -> Sut {
        agent.sut(&CommandFiles::default())
    }

    #[test]
    fn a_program_is_found_from_where_the_run_was_started() {
        let agent = command(None, Some("./agent.sh --fast 'a b'")).expect("an agent");
        assert_eq!(agent.words, ["/bin/sh", "-c", "/here/agent.sh --fast 'a b'"]);
        assert_eq!(sut(&agent).name, "agent.sh");
        let registered = SutSettings::of_command(vec!["bin/agent".to_owned(), "--json".to_owned()]);
        assert_eq!(command(Some(registered), None).expect("an agent").words, ["/here/bin/agent", "--json"]);
        let on_path = SutSettings::of_command(vec!["agent".to_owned()]);
        assert_eq!(command(Some(on_path), None).expect("an agent").words, ["agent"]);
    }

    #[test]
    fn files_that_a_command_names_from_here_are_found_from_anywhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path();
        std::fs::write(here.join("agent.py"), "").expect("a file");
        let absolute = here.join("agent.py").to_str().expect("UTF-8").to_owned();
        let line_of = |line: &str| {
            let flags = AgentFlags { command: Some(line.to_owned()), ..AgentFlags::default() };
            let words = given(None, &flags, here).expect("an agent").words;
            words[2].to_str().expect("UTF-8").to_owned()
        };
        assert_eq!(line_of("python3 ./agent.py --fast"), format!("python3 {absolute} --fast"));
        assert_eq!(line_of("python3 ./agent.py; cat ./agent.py"), format!("python3 {absolute}; cat {absolute}"));
        for left_alone in [
            "python3 agent.py ./other.py",
            "echo 'see ./agent.py here' > ./agent.py",
            "cd /opt && python3 ./agent.py",
            "python3 \"$DIR\"/./agent.py",
        ] {
            assert_eq!(line_of(left_alone), left_alone);
        }
        let words = ["python3", "./agent.py", "./other.py"].map(str::to_owned);
        let agent = given(Some(SutSettings::of_command(words.into())), &AgentFlags::default(), here);
        assert_eq!(agent.expect("an agent").words, ["python3", &absolute, "./other.py"]);
    }

    #[test]
    fn a_command_is_the_same_one_from_wherever_it_is_given() {
        let flags = AgentFlags { command: Some("./agent.sh".to_owned()), ..AgentFlags::default() };
        let at = |here: &str| sut(&given(None, &flags, Path::new(here)).expect("an agent"));
        assert_eq!(at("/here"), at("/there"));
    }

    #[test]
    fn the_version_is_of_the_way_in_which_the_command_is_run() {
        let one = command(None, Some("agent")).expect("an agent");
        assert_eq!(sut(&one), sut(&command(None, Some("agent")).expect("an agent")));
        assert_ne!(sut(&one), sut(&command(None, Some("agent --fast")).expect("an agent")));
        let slower = SutSettings { timeout_seconds: 1, ..one.settings.clone() };
        assert_ne!(sut(&one).version, sut(&command(Some(slower), None).expect("an agent")).version);
    }

    #[test]
    fn what_the_command_line_calls_an_agent_wins() {
        let flags = AgentFlags {
            command: Some("exec python3 -u agent.py".to_owned()),
            version: Some("1.2.3".parse().expect("a text")),
            ..AgentFlags::default()
        };
        let agent = given(None, &flags, Path::new("/here")).expect("an agent");
        assert_eq!((sut(&agent).name.as_str(), sut(&agent).version.as_str()), ("agent.py", "1.2.3"));
        let flags = AgentFlags { name: Some("My agent".parse().expect("a text")), ..flags };
        let named = given(None, &flags, Path::new("/here")).expect("an agent");
        assert_eq!(sut(&named).name, "My agent");
        assert_eq!(sut(&named).command_digest, sut(&agent).command_digest, "it is the same command");
    }

    #[test]
    fn without_a_command_it_is_said_where_to_name_one() {
        let error = command(None, None).expect_err("there is none");
        assert_eq!(error.to_string(), "no agent is named for `fixture`");
        assert!(error.hint().is_some_and(|hint| hint.contains("--sut")));
    }
}
