//! Writing a journal: one whole, durable line at a time.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::contents::JournalContents;
use super::found::Basis;
use super::lock::JournalLock;

use crate::answers::StoredAnswer;
use crate::description::RunDescription;
use crate::live::agent::RunMark;
use eval_cage::Identity;
use eval_evidence::files::{Dir, FileError, FileProblem, Kind, Missing};
use eval_evidence::memory::{JournalMemory, MemoryError, SeenJournal};
use eval_evidence::verified::StoreMemory;
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
        /// Nobody could tell whether lines before this one had been removed, and they were believed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        on_trust: bool,
        /// The cap under which it goes on, if that is another one than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap_nano_usd: Option<Usd>,
    },
    Reserved {
        case_id: CaseId,
        case_digest: Digest,
        nano_usd: Usd,
    },
    Running {
        case_id: CaseId,
        group: Identity,
    },
    Finished(StoredAnswer),
}

impl Line {
    /// The line's bytes. Every line but the first begins with the BLAKE3 of the exact bytes of the line before.
    fn to_bytes(&self, before: Option<Digest>) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("names, texts and finite numbers serialise");
        if let Some(before) = before {
            bytes.splice(..1, chained(before).into_bytes());
        }
        bytes.push(b'\n');
        bytes
    }
}

/// How a line begins that follows the line with this digest.
pub(super) fn chained(before: Digest) -> String {
    format!("{{\"prev\":\"{before}\",")
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
    Malformed { path: PathBuf, line: u64, message: String },
    #[error(
        "line {line} of the journal `{}` does not follow line {}: one of them was changed, or lines between them were removed",
        path.display(),
        line - 1
    )]
    Unchained { path: PathBuf, line: u64 },
    #[error("line {line} of the journal `{}` is gone or damaged: this machine remembers {remembered} lines", path.display())]
    Cut { path: PathBuf, line: u64, remembered: u64 },
    #[error(
        "line {line} of the journal `{}` is not the one that this machine remembers: it was changed, or one before it was",
        path.display()
    )]
    Rewritten { path: PathBuf, line: u64 },
    #[error("the journal `{}` is gone: this machine remembers {remembered} lines of it", path.display())]
    Gone { path: PathBuf, remembered: u64 },
    #[error(
        "this machine does not remember the journal `{}`, so nobody can tell whether answers were removed from it",
        path.display()
    )]
    NotRemembered { path: PathBuf },
    #[error("what this machine remembers of the journal `{}` cannot be relied on: `{}` was damaged", path.display(), memory.display())]
    MemoryDamaged { path: PathBuf, memory: PathBuf },
    #[error("eval-host could not remember how far the journal `{}` was written", path.display())]
    Remember { path: PathBuf, source: MemoryError },
    #[error("another live run into this store holds the journal `{}` ({holder})", path.display())]
    Held { path: PathBuf, holder: String },
}

impl JournalError {
    /// Whether something is wrong with what is there, so that it is not to be believed; and not with this machine.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(
            self,
            Self::Malformed { .. }
                | Self::Unchained { .. }
                | Self::Cut { .. }
                | Self::Rewritten { .. }
                | Self::Gone { .. }
                | Self::MemoryDamaged { .. }
        )
    }
}

impl Advice for JournalError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotRemembered { .. } => Exit::EvidenceBroken,
            error if error.is_broken() => Exit::EvidenceBroken,
            _ => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        const ANOTHER: &str =
            "leave out --resume to start another run: this one stays counted as unfinished, by its marker in the store";
        match self {
            Self::Held { .. } => Some("wait for its end, or name another store with --out".to_owned()),
            Self::Remember { source, .. } => source.hint(),
            Self::NotRemembered { .. } => {
                Some(format!("say --trust-on-first-use to believe it this once, or {ANOTHER}"))
            }
            Self::Gone { .. } => Some(ANOTHER.to_owned()),
            error if error.is_broken() => Some(format!("keep it for whoever investigates, and {ANOTHER}")),
            _ => None,
        }
    }
}

/// The file of a live run, held by this process: nobody else reads it as if its run were over, or writes to it.
#[derive(Debug, Clone)]
pub(crate) struct JournalPlace {
    pub(super) folder: Arc<Dir>,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) memory: JournalMemory,
    _lock: Arc<JournalLock>,
}

impl JournalPlace {
    /// Takes the place of a task class's journal in a store, or fails with who has it. Shards have journals of their own.
    ///
    /// Runs from one bench root take turns before they come here. This keeps apart those that have only the store in common.
    pub(crate) fn hold(
        store: &Path,
        run: &RunDescription,
        holder: &str,
        memory: &StoreMemory,
    ) -> Result<Self, JournalError> {
        // Nothing but a shard has a dot in its name.
        let part = run.shard.map_or_else(String::new, |shard| format!(".shard-{}-of-{}", shard.index(), shard.count()));
        let run = format!("{}{part}", run.task_class);
        let name = format!("{run}.jsonl");
        let path = store.join(FOLDER).join(&name);
        let failed = |source| JournalError::File { path: path.clone(), action: "created", source };
        let folder = Arc::new(open_folder(store).map_err(failed)?);
        let lock = Arc::new(JournalLock::take(&folder, &run, &path, holder)?);
        Ok(Self { folder, name, path, memory: memory.journal(&run), _lock: lock })
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
        // From here on no journal but this one is expected. Its name is durable before any line is: what is remembered must be
        // there after a crash.
        let seen = SeenJournal { started_marker: header.started_marker, lines: 0, last_line: None };
        self.memory.remember(seen).map_err(|source| self.not_remembered(source))?;
        let file = self.new_file().map_err(|source| self.failed("created", source))?;
        self.sync_folder()?;
        let journal = self.journal(Lines::new(file), header.started_marker);
        journal.append(&Line::Run(header))?;
        journal.append(&Line::Process { boot_id, on_trust: false, cap_nano_usd: None })?;
        Ok(journal)
    }

    fn journal(&self, lines: Lines, started_marker: Digest) -> Journal {
        Journal { place: self.clone(), started_marker, lines: Mutex::new(lines) }
    }

    fn new_file(&self) -> Result<File, FileError> {
        // What is there was read, and is a journal that was torn in its first line.
        if self.folder.contains(&self.name) {
            self.folder.unlink(&self.name)?;
        }
        self.folder.write_new(&self.name, b"")?;
        self.folder.open_to_append(&self.name)
    }

    /// Goes on with a journal that was read, behind its last whole line, under a cap.
    pub(crate) fn go_on(&self, contents: &JournalContents, boot_id: String, cap: Usd) -> Result<Journal, JournalError> {
        let continued = |source| self.failed("continued", source);
        let file = self.folder.open_to_append(&self.name).map_err(continued)?;
        file.set_len(contents.whole_bytes).map_err(|error| continued(FileError::io("cut", &self.path, error)))?;
        let lines = Lines { whole_bytes: contents.whole_bytes, written: contents.lines, ..Lines::new(file) };
        let journal = self.journal(lines, contents.header.started_marker);
        // A crash may have left the journal one line ahead of what is remembered, and it must never come to be two. What is taken
        // on trust is not remembered before the journal says so.
        if contents.basis == Basis::Memory {
            journal.remember_lines()?;
        }
        let cap_nano_usd = Some(cap).filter(|cap| *cap != contents.cap());
        journal.append(&Line::Process { boot_id, on_trust: contents.is_on_trust(), cap_nano_usd })?;
        Ok(journal)
    }

    /// Gives an unfinished run up without losing what was paid for: its journal is kept under another name.
    pub(crate) fn set_aside(&self, name: &str) -> Result<PathBuf, JournalError> {
        let aside = format!("{}.{name}.abandoned.jsonl", self.name.strip_suffix(".jsonl").unwrap_or(&self.name));
        self.memory.leave().map_err(|source| self.not_remembered(source))?;
        self.folder.rename_new(&self.name, &self.folder, &aside).map_err(|source| self.failed("set aside", source))?;
        self.sync_folder()?;
        self.forget()?;
        Ok(self.path.with_file_name(aside))
    }

    /// Whether anything has the journal's name.
    pub(crate) fn is_taken(&self) -> bool {
        self.folder.contains(&self.name)
    }

    /// Forgets how far a journal was written that is gone.
    pub(crate) fn forget(&self) -> Result<(), JournalError> {
        self.memory.forget().map_err(|source| self.not_remembered(source))
    }

    /// Forgets a run whose record is committed.
    pub(crate) fn remove(&self) -> Result<(), JournalError> {
        self.memory.leave().map_err(|source| self.not_remembered(source))?;
        self.folder.unlink(&self.name).map_err(|source| self.failed("removed", source))?;
        self.sync_folder()?;
        self.forget()
    }

    pub(super) fn not_remembered(&self, source: MemoryError) -> JournalError {
        JournalError::Remember { path: self.path.clone(), source }
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
    /// Of the run.
    started_marker: Digest,
    lines: Mutex<Lines>,
}

impl Journal {
    /// Before an agent is started: what it may cost.
    pub(crate) fn reserved(&self, case_id: &CaseId, case_digest: Digest, amount: Usd) -> Result<(), JournalError> {
        self.append(&Line::Reserved { case_id: case_id.clone(), case_digest, nano_usd: amount })
    }

    /// Before an agent is told anything: how to find it.
    pub(crate) fn running(&self, case_id: &CaseId, group: &Identity) -> Result<(), JournalError> {
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

    /// Writes a whole line durably, and remembers that it was written. A line that could not be written whole is taken back,
    /// so that the next one does not begin in its middle; where that is not certain, nothing is written behind it any more.
    fn append(&self, line: &Line) -> Result<(), JournalError> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = line.to_bytes(lines.written.last);
        lines.append(&bytes).map_err(|source| JournalError::Line { path: self.place.path.clone(), source })?;
        self.remember(&mut lines)
    }

    fn remember_lines(&self) -> Result<(), JournalError> {
        self.remember(&mut self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A journal that is more than one line ahead of what is remembered looks as if somebody had added to it, so nothing is
    /// written behind a line that could not be remembered.
    fn remember(&self, lines: &mut Lines) -> Result<(), JournalError> {
        let Written { count, last } = lines.written;
        let seen = SeenJournal { started_marker: self.started_marker, lines: count, last_line: last };
        let remembered = self.place.memory.remember(seen);
        remembered.map_err(|source| {
            lines.is_closed = true;
            self.place.not_remembered(source)
        })
    }
}

/// How many lines there are, and the BLAKE3 of the last one with its newline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) count: u64,
    pub(super) last: Option<Digest>,
}

impl Written {
    pub(super) fn add(&mut self, line: &[u8]) {
        self.count += 1;
        self.last = Some(Digest::of(line));
    }
}

/// A file of whole lines.
#[derive(Debug)]
struct Lines {
    file: File,
    /// Up to the end of the last whole line.
    whole_bytes: u64,
    written: Written,
    /// Nothing may be written any more: the file may not end with a whole line, or with one that is not remembered.
    is_closed: bool,
}

impl Lines {
    /// Of an empty file.
    fn new(file: File) -> Self {
        Self { file, whole_bytes: 0, written: Written::default(), is_closed: false }
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_closed {
            return Err(io::Error::other("an earlier line could not be written and taken back, or not be remembered"));
        }
        if let Err(error) = self.file.write_all(line) {
            self.is_closed = self.file.set_len(self.whole_bytes).is_err();
            return Err(error);
        }
        // After a failed sync nobody knows what of the file is on the disk, and no later sync would say.
        self.file.sync_data().inspect_err(|_| self.is_closed = true)?;
        self.whole_bytes += line.len() as u64;
        self.written.add(line);
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
