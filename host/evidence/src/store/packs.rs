//! The folder of a store with its packs, and what is wrong in it.
//!
//! A pack gets its name when all of it is durable. What is called `.tmp-…` is being written by whoever holds a lock on it, or is what
//! a crash left: nothing names what is in it.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::open::PACKS;
use super::reader::{DRAFT_PREFIX, is_ignored};
use crate::files::{Dir, FileError, FileProblem, printable};
use crate::pack::{Library, PackDefect, PackFinding, PackName, Shelf, Span};
use crate::verify::{Defect, Finding};

/// The packs of a store.
pub(super) type Packs = Library<Folder>;

#[derive(Debug)]
pub(super) struct Folder(Arc<Dir>);

impl Shelf for Folder {
    fn names(&self) -> Result<Vec<PackName>, FileError> {
        let names = self.0.names()?;
        Ok(names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect())
    }

    fn open(&self, name: PackName) -> Result<Span, FileError> {
        let (file, size) = self.0.open_file(name.to_string(), u64::MAX)?;
        Ok(Span::new(file, 0, size))
    }

    fn index(&self, name: PackName, most: u64) -> Option<Vec<u8>> {
        self.0.read(name.index_name(), most).ok()
    }

    fn path(&self, name: PackName) -> PathBuf {
        self.0.path().join(name.to_string())
    }
}

pub(super) fn packs(dir: Dir) -> Packs {
    Library::new(Folder(Arc::new(dir)))
}

impl Folder {
    pub(super) fn dir(&self) -> &Arc<Dir> {
        &self.0
    }

    /// What lies in the folder and should not, and what a crash left there.
    pub(super) fn strangers(&self) -> Result<Vec<Finding>, FileError> {
        let finding = |name: OsString| {
            let file = format!("{PACKS}/{}", printable(&name));
            let defect = match Resident::of(&name) {
                Resident::AtHome => return None,
                Resident::Stranger => Defect::ForeignPack,
                Resident::Draft => match self.life(&name) {
                    Ok(Life::Now) => return None,
                    Ok(Life::Over) => Defect::PackDraft,
                    Ok(Life::Never) => Defect::ForeignPack,
                    Err(error) => Defect::Unreadable(error),
                },
            };
            Some(Finding::of_file(file, defect))
        };
        Ok(self.0.names()?.into_iter().filter_map(finding).collect())
    }

    /// Takes away what crashes left, as far as it can be looked at, and says what that was. The caller holds the store's lock.
    pub(super) fn sweep(&self) -> Result<Vec<String>, FileError> {
        let mut swept = Vec::new();
        for name in self.0.names()? {
            if matches!(Resident::of(&name), Resident::Draft) && matches!(self.life(&name), Ok(Life::Over)) {
                self.0.unlink(&name)?;
                swept.push(printable(&name));
            }
        }
        Ok(swept)
    }

    /// Whether somebody writes a draft. One that is gone got its name, or was taken away.
    fn life(&self, name: &OsString) -> Result<Life, FileError> {
        let failed = |errno| FileError::io("locked", &self.0.path().join(name), errno);
        match self.0.open_file(name, u64::MAX) {
            Ok((file, _)) => match hold(&file, FlockOperation::NonBlockingLockShared).map_err(failed)? {
                true => Ok(Life::Over),
                false => Ok(Life::Now),
            },
            Err(error) if error.is_missing() => Ok(Life::Now),
            Err(FileError { problem: FileProblem::NotAFile(_), .. }) => Ok(Life::Never),
            Err(error) => Err(error),
        }
    }
}

/// Whether a draft is being written.
enum Life {
    Now,
    Over,
    /// It is no file.
    Never,
}

/// Takes a lock on a draft, unless somebody has it.
pub(super) fn hold(file: &File, how: FlockOperation) -> Result<bool, Errno> {
    match retry_on_intr(|| flock(file, how)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// What a name in the folder says.
enum Resident {
    AtHome,
    Draft,
    Stranger,
}

impl Resident {
    fn of(name: &OsString) -> Self {
        let Some(text) = name.to_str() else { return Self::Stranger };
        if text.starts_with(DRAFT_PREFIX) {
            Self::Draft
        } else if is_ignored(name) || text.parse::<PackName>().is_ok() || PackName::of_index(text).is_some() {
            Self::AtHome
        } else {
            Self::Stranger
        }
    }
}

impl From<PackFinding> for Finding {
    fn from(PackFinding { pack, defect }: PackFinding) -> Self {
        let defect = match defect {
            PackDefect::Pack(error) => Defect::Pack(error),
            PackDefect::Object(error) => Defect::PackedObject(error),
            PackDefect::MoreObjects(more) => Defect::MorePackedObjects { more },
        };
        Self::of_file(format!("{PACKS}/{pack}"), defect)
    }
}
