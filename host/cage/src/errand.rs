//! What a launcher is told: which agent, where, with what in reach. It goes through a pipe as one line of JSON, so that no command
//! line and no environment shows it.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use eval_model::confinement::Network;

/// One agent on one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errand {
    pub task: Task,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory, one of the agent's own folders or below one.
    pub directory: PathBuf,
    /// The case's folder, of which the agent sees only what is its own. The report is written here.
    pub folder: PathBuf,
    /// The agent's own folders and files, in which it may do anything.
    pub own: Vec<PathBuf>,
    /// The one of its own folders that is also `/tmp`, where there are mount namespaces.
    pub temporary: PathBuf,
    /// `None`: unconfined, on purpose.
    pub allowed: Option<Allowed>,
    pub resources: Resources,
}

/// What is to be done in the cage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Run the agent.
    Run {
        /// The program and its arguments.
        command: Vec<OsString>,
        /// What it reads on its standard input. It must fit into a pipe.
        request: String,
    },
    /// Say what holds, and whether the program is there.
    Probe {
        program: OsString,
        /// A word that the shell must know as a command.
        word: Option<String>,
    },
}

/// What a confined agent reaches besides the system and what is its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// Whether to leave the host's namespaces.
    pub namespaces: bool,
    pub network: Network,
    /// What it may read and execute: existing files and folders, by canonical paths.
    pub read: Vec<PathBuf>,
    /// Where it may also write.
    pub write: Vec<PathBuf>,
    /// Other names of what it may reach, by which it finds it too where it has a root of its own.
    pub names: Vec<OtherName>,
}

/// Another name of something that is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherName {
    pub name: PathBuf,
    /// The canonical path that is shown.
    pub of: PathBuf,
}

/// The most that an agent with all it starts may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    pub memory_mib: u64,
    /// Processes and threads.
    pub processes: u64,
    /// What is in its own folders.
    pub workspace_mib: u64,
}

/// Most bytes of an errand: an environment has at most some megabytes.
const MOST_BYTES: u64 = 64 << 20;

impl Errand {
    /// As one line. Paths that are not UTF-8 cannot be written so.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Reads one line.
    pub(crate) fn read_from(stream: impl Read) -> io::Result<(Self, Vec<u8>)> {
        let mut line = Vec::new();
        BufReader::new(stream.take(MOST_BYTES)).read_until(b'\n', &mut line)?;
        let errand = serde_json::from_slice(&line)?;
        Ok((errand, line))
    }

    /// Whether the agent gets namespaces of its own.
    pub(crate) fn leaves_namespaces(&self) -> bool {
        self.allowed.as_ref().is_some_and(|allowed| allowed.namespaces)
    }
}
