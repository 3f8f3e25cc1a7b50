//! The journal of a live run: what was started and what was paid for, durable before the run goes on.
//!
//! It is a file of JSON lines, `<store>/journals/<task_class>.jsonl`, and belongs to one process at a time, which holds a lock
//! beside it from before it reads what an earlier run left until the run is over. Every line is on the disk before anything that depends on it happens: what a case may cost before
//! its agent starts, the agent's process group before the agent is told anything, the answer before the next case. A crash
//! can tear the last line and no other. It holds answers and never scores: whoever resumes scores again.
//!
//! The file is removed when the run's record is committed.

mod contents;
mod lock;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

pub(crate) use contents::JournalContents;
use lock::JournalLock;

use crate::answers::StoredAnswer;
use crate::description::RunDescription;
use crate::live::agent::{GroupIdentity, RunMark};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{CaseId, Digest};
use eval_model::money::Usd;

const SCHEMA_VERSION: u32 = 1;

/// Most bytes of a journal.
const MOST_BYTES: u64 = 4 << 30;

/// The first line: which run this is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    schema_version: u32,
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
enum Line {
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
    Io { path: PathBuf, action: &'static str, source: io::Error },
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
            Self::Io { .. } | Self::Malformed { .. } => None,
        }
    }
}

/// The file of a live run, held by this process: nobody else reads it as if its run were over, or writes to it.
#[derive(Debug, Clone)]
pub(crate) struct JournalPlace {
    folder: PathBuf,
    path: PathBuf,
    _lock: Arc<JournalLock>,
}

impl JournalPlace {
    /// Takes the place of a task class's journal in a store, or fails with who has it. Shards have journals of their own.
    ///
    /// Runs from one bench root take turns before they come here. This keeps apart those that have only the store in common.
    pub(crate) fn hold(store: &Path, run: &RunDescription, holder: &str) -> Result<Self, JournalError> {
        let folder = store.join("journals");
        // Nothing but a shard has a dot in its name.
        let part = run.shard.map_or_else(String::new, |shard| format!(".shard-{}-of-{}", shard.index(), shard.count()));
        let path = folder.join(format!("{}{part}.jsonl", run.task_class));
        let failed = |source| JournalError::Io { path: path.clone(), action: "created", source };
        DirBuilder::new().mode(0o700).recursive(true).create(&folder).map_err(failed)?;
        let lock = Arc::new(JournalLock::take(&path, holder)?);
        Ok(Self { folder, path, _lock: lock })
    }

    /// What a run that was not finished left behind.
    pub(crate) fn read(&self) -> Result<Option<JournalContents>, JournalError> {
        let mut bytes = Vec::new();
        let file = match open_regular(OpenOptions::new().read(true), &self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.failed("read", source)),
        };
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|source| self.failed("read", source))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(self.failed("read", io::ErrorKind::FileTooLarge.into()));
        }
        JournalContents::parse(&self.path, &bytes)
    }

    /// Begins the journal of a new run. There must be none, but for one that a crash tore in its first line.
    pub(crate) fn create(&self, header: Header, boot_id: String) -> Result<Journal, JournalError> {
        let created = |source| self.failed("created", source);
        if self.read()?.is_some() {
            return Err(created(io::ErrorKind::AlreadyExists.into()));
        }
        let options = &mut OpenOptions::new();
        let file = open_regular(options.append(true).create(true).mode(0o600), &self.path).map_err(created)?;
        file.set_len(0).map_err(created)?;
        let journal = Journal { place: self.clone(), lines: Mutex::new(Lines::new(file, 0)) };
        journal.append(&Line::Run(header))?;
        journal.append(&Line::Process { boot_id })?;
        self.sync_folder()?;
        Ok(journal)
    }

    /// Goes on with a journal that was read, behind its last whole line.
    pub(crate) fn go_on(&self, contents: &JournalContents, boot_id: String) -> Result<Journal, JournalError> {
        let opened = open_regular(OpenOptions::new().append(true), &self.path);
        let cut = |file: File| file.set_len(contents.whole_bytes).map(|()| file);
        let file = opened.and_then(cut).map_err(|source| self.failed("continued", source))?;
        let lines = Lines::new(file, contents.whole_bytes);
        let journal = Journal { place: self.clone(), lines: Mutex::new(lines) };
        journal.append(&Line::Process { boot_id })?;
        Ok(journal)
    }

    /// Gives an unfinished run up without losing what was paid for: its journal is kept under another name.
    pub(crate) fn set_aside(&self, name: &str) -> Result<PathBuf, JournalError> {
        let aside = self.path.with_extension(format!("{name}.abandoned.jsonl"));
        fs::rename(&self.path, &aside).map_err(|source| self.failed("set aside", source))?;
        self.sync_folder()?;
        Ok(aside)
    }

    /// Forgets a run whose record is committed.
    pub(crate) fn remove(&self) -> Result<(), JournalError> {
        fs::remove_file(&self.path).map_err(|source| self.failed("removed", source))?;
        self.sync_folder()
    }

    fn sync_folder(&self) -> Result<(), JournalError> {
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| self.failed("made durable", source))
    }

    fn failed(&self, action: &'static str, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), action, source }
    }
}

/// Opens a regular file: a link is not followed, and a FIFO not waited for.
fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file: move it away"))
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
        lines.append(&bytes).map_err(|source| self.place.failed("written", source))
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
