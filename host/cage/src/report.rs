//! How an agent ended, as its keeper writes it down in the case's folder, out of the agent's reach.

#![expect(clippy::disallowed_methods, reason = "the report has a fixed place, in a folder that the host made")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

const FILE: &str = "report.json";

/// How an agent's work ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Report {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    /// It met a limit: what it took, and what it may take.
    Resources {
        message: String,
    },
    /// The host went away or wanted it to end.
    Ended,
    /// The cage stands, but the command cannot be started in it.
    NotStarted {
        message: String,
    },
    /// The kernel gives no namespaces, or not what a root in them needs, and nothing was started.
    NoNamespaces {
        message: String,
    },
    /// The cage could not be built, and nothing was started.
    NoCage {
        message: String,
    },
    /// The answer to a probe: the version of Landlock that holds, 0 where nothing was asked of it.
    Held {
        landlock_abi: u32,
    },
}

/// The file that a report will be written to, opened while it can still be named.
#[derive(Debug)]
pub(crate) struct ReportFile(File);

impl ReportFile {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        File::create(folder.join(FILE)).map(Self)
    }

    pub(crate) fn write(&mut self, report: &Report) -> io::Result<()> {
        self.0.write_all(&serde_json::to_vec(report).map_err(io::Error::other)?)
    }
}

/// What the keeper wrote; `None` if it was ended before it could.
pub fn read_report(folder: &Path) -> Option<Report> {
    serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
}
