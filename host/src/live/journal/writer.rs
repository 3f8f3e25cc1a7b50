//! Writing a journal: one whole, durable line at a time.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::contents::JournalContents;
use super::lock::JournalLock;

use crate::answers::StoredAnswer;
use crate::description::RunDescription;
use crate::live::agent::{GroupIdentity, RunMark};
use eval_evidence::files::{Dir, FileError, FileProblem, Kind, Missing};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{CaseId, Digest};
use eval_model::money::Usd;

pub(super) const SCHEMA_VERSION: u32 = 1;

/// Where journals are, in a store.
const FOLDER: &str = "journals";

/// Most bytes of a journal.
const MOST_BYTES: u64 = 4 << 30;

/// The first line: which run this is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(super) schema_version: u32,
    pub(crate) run: RunDescription,
    pub(crate) mark: RunMark,
    /// The marker that announced the run, or its shard, in its store.
    pub(crate) started_marker: Digest,
}

impl Header {
    pub(crate) fn new(run: RunDescription, mark: RunMark, started_marker: Digest) -> Self {
        Self { schema_version: SCHEMA_VERSION, run, mark, started_marker }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub(super) enum Line {
    Run(Header),
    /// A process works on the run from here on. Whatever was in flight before is lost.
    Process {
        boot_id: String,
    },
    Reserved {
        case_id: CaseId,
        case_digest: Digest,
        nano_usd: Usd,
    },
    Running {
        case_id: CaseId,
        group: GroupIdentity,
    },
    Finished(StoredAnswer),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("the journal `{}` cannot be {action}", path.display())]
    File { path: PathBuf, action: &'static str, source: FileError },
    #[error("the journal `{}` is {kind}, not a file: move it away", path.display())]
    NotAFile { path: PathBuf, kind: Kind },
    #[error("a line of the journal `{}` cannot be written", path.display())]
    Line { path: PathBuf, source: io::Error },
    #[error("there is a journal `{}` already, of a run that was not finished", path.display())]
    Unfinished { path: PathBuf },
    #[error("line {line} of the journal `{}` is not one of this program: {message}", path.display())]
    Malformed { path: PathBuf, line: usize, message: String },
    #[error("another live run into this store holds the journal `{}` ({holder})", path.display())]
    Held { path: PathBuf, holder: String },
}

impl Advice for JournalError {
    fn exit(&self) -> Exit {
        Exit::HarnessError
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Held { .. } => Some("wait for its end, or name another store with --out".to_owned()),
            Self::Malformed { .. } => {
                Some("move the journal away to start another run, and keep it: its answers were paid for".to_owned())
            }
            _ => None,
        }
    }
}

/// The file of a live run, held by this process: nobody else reads it as if its run were over, or writes to it.
#[derive(Debug, Clone)]
pub(crate) struct JournalPlace {
    folder: Arc<Dir>,
    name: String,
    path: PathBuf,
    _lock: Arc<JournalLock>,
}

impl JournalPlace {
    /// Takes the place of a task class's journal in a store, or fails with who has it. Shards have journals of their own.
    ///
    /// Runs from one bench root take turns before they come here. This keeps apart those that have only the store in common.
    pub(crate) fn hold(store: &Path, run: &RunDescription, holder: &str) -> Result<Self, JournalError> {
        // Nothing but a shard has a dot in its name.
        let part = run.shard.map_or_else(String::new, |shard| format!(".shard-{}-of-{}", shard.index(), shard.count()));
        let run = format!("{}{part}", run.task_class);
        let name = format!("{run}.jsonl");
        let path = store.join(FOLDER).join(&name);
        let failed = |source| JournalError::File { path: path.clone(), action: "created", source };
        let folder = Arc::new(open_folder(store).map_err(failed)?);
        let lock = Arc::new(JournalLock::take(&folder, &run, &path, holder)?);
        Ok(Self { folder, name, path, _lock: lock })
    }

    /// What a run that was not finished left behind.
    pub(crate) fn read(&self) -> Result<Option<JournalContents>, JournalError> {
        match self.folder.read_if_any(&self.name, MOST_BYTES) {
            Ok(Some(bytes)) => JournalContents::parse(&self.path, &bytes),
            Ok(None) => Ok(None),
            Err(source) => Err(self.failed("read", source)),
        }
    }

    /// Begins the journal of a new run. There must be none, but for one that a crash tore in its first line.
    pub(crate) fn create(&self, header: Header, boot_id: String) -> Result<Journal, JournalError> {
        if self.read()?.is_some() {
            return Err(JournalError::Unfinished { path: self.path.clone() });
        }
        let file = self.new_file().map_err(|source| self.failed("created", source))?;
        let journal = Journal { place: self.clone(), lines: Mutex::new(Lines::new(file, 0)) };
        journal.append(&Line::Run(header))?;
        journal.append(&Line::Process { boot_id })?;
        self.sync_folder()?;
        Ok(journal)
    }

    fn new_file(&self) -> Result<File, FileError> {
        // What is there was read, and is a journal that was torn in its first line.
        if self.folder.contains(&self.name) {
            self.folder.unlink(&self.name)?;
        }
        self.folder.write_new(&self.name, b"")?;
        self.folder.open_to_append(&self.name)
    }

    /// Goes on with a journal that was read, behind its last whole line.
    pub(crate) fn go_on(&self, contents: &JournalContents, boot_id: String) -> Result<Journal, JournalError> {
        let continued = |source| self.failed("continued", source);
        let file = self.folder.open_to_append(&self.name).map_err(continued)?;
        file.set_len(contents.whole_bytes).map_err(|error| continued(FileError::io("cut", &self.path, error)))?;
        let lines = Lines::new(file, contents.whole_bytes);
        let journal = Journal { place: self.clone(), lines: Mutex::new(lines) };
        journal.append(&Line::Process { boot_id })?;
        Ok(journal)
    }

    /// Gives an unfinished run up without losing what was paid for: its journal is kept under another name.
    pub(crate) fn set_aside(&self, name: &str) -> Result<PathBuf, JournalError> {
        let aside = format!("{}.{name}.abandoned.jsonl", self.name.strip_suffix(".jsonl").unwrap_or(&self.name));
        self.folder.rename_new(&self.name, &self.folder, &aside).map_err(|source| self.failed("set aside", source))?;
        self.sync_folder()?;
        Ok(self.path.with_file_name(aside))
    }

    /// Forgets a run whose record is committed.
    pub(crate) fn remove(&self) -> Result<(), JournalError> {
        self.folder.unlink(&self.name).map_err(|source| self.failed("removed", source))?;
        self.sync_folder()
    }

    fn sync_folder(&self) -> Result<(), JournalError> {
        self.folder.sync().map_err(|source| self.failed("made durable", source))
    }

    fn failed(&self, action: &'static str, source: FileError) -> JournalError {
        let path = self.path.clone();
        match source.problem {
            FileProblem::NotAFile(kind) => JournalError::NotAFile { path, kind },
            _ => JournalError::File { path, action, source },
        }
    }
}

/// The folder of journals in a store, which is made if there is none. A journal is worth nothing if a crash takes its folder
/// away.
fn open_folder(store: &Path) -> Result<Dir, FileError> {
    let store = Dir::open_own(store, Missing::Create)?;
    let folder = store.child_or_new(FOLDER)?;
    store.sync()?;
    Ok(folder)
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    place: JournalPlace,
    lines: Mutex<Lines>,
}

impl Journal {
    /// Before an agent is started: what it may cost.
    pub(crate) fn reserved(&self, case_id: &CaseId, case_digest: Digest, amount: Usd) -> Result<(), JournalError> {
        self.append(&Line::Reserved { case_id: case_id.clone(), case_digest, nano_usd: amount })
    }

    /// Before an agent is told anything: how to find it.
    pub(crate) fn running(&self, case_id: &CaseId, group: &GroupIdentity) -> Result<(), JournalError> {
        self.append(&Line::Running { case_id: case_id.clone(), group: group.clone() })
    }

    /// Before anything is done with an answer.
    pub(crate) fn finished(&self, answer: StoredAnswer) -> Result<(), JournalError> {
        self.append(&Line::Finished(answer))
    }

    /// The run's record is committed.
    pub(crate) fn remove(self) -> Result<(), JournalError> {
        self.place.remove()
    }

    /// Writes a whole line durably. A line that could not be written whole is taken back, so that the next one does not
    /// begin in its middle; where that is not certain, nothing is written behind it any more.
    fn append(&self, line: &Line) -> Result<(), JournalError> {
        let mut bytes = serde_json::to_vec(line).expect("names, texts and finite numbers serialise");
        bytes.push(b'\n');
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.append(&bytes).map_err(|source| JournalError::Line { path: self.place.path.clone(), source })
    }
}

/// A file of whole lines.
#[derive(Debug)]
struct Lines {
    file: File,
    /// Up to the end of the last whole line.
    whole_bytes: u64,
    /// The file may not end with a whole line.
    is_torn: bool,
}

impl Lines {
    fn new(file: File, whole_bytes: u64) -> Self {
        Self { file, whole_bytes, is_torn: false }
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_torn {
            return Err(io::Error::other("an earlier line could not be written, and not be taken back"));
        }
        if let Err(error) = self.file.write_all(line) {
            self.is_torn = self.file.set_len(self.whole_bytes).is_err();
            return Err(error);
        }
        // After a failed sync nobody knows what of the file is on the disk, and no later sync would say.
        self.file.sync_data().inspect_err(|_| self.is_torn = true)?;
        self.whole_bytes += line.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
