//! A journal held against what this machine remembers of it.
//!
//! The chain of a journal shows what was changed by accident. Whoever changes it on purpose can chain it anew, cut it, or put an
//! older one in its place: that shows here, and only here. A crash may leave the journal one line ahead of what is remembered,
//! and never behind it.

use super::contents::JournalContents;
use super::writer::{JournalError, JournalPlace};
use eval_evidence::memory::{RecalledJournal, SeenJournal};
use eval_evidence::verify::FirstUse;
use eval_model::ids::Digest;

/// What a record says of a run that was resumed from a journal which nobody remembered.
pub(crate) const ON_TRUST: &str = "the journal was not remembered on this machine, so nobody can tell whether answers were removed \
                                   from it before the run was resumed";

/// What is in a journal's place.
#[derive(Debug)]
pub(crate) enum FoundJournal {
    /// No run left anything.
    Nothing,
    Whole(Box<JournalContents>),
    /// It is not as it was written, or gone.
    Broken(JournalError),
}

/// Why a journal is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// This machine remembers it.
    Memory,
    /// Nothing is known against it, and nobody can tell whether lines were removed from it or added.
    Trust,
}

impl JournalPlace {
    /// What a run that was not finished left behind. `is_over` says of a run, by its marker, that it has a result: then what is
    /// remembered of its journal says nothing about this one.
    pub(crate) fn find(&self, is_over: impl Fn(Digest) -> bool) -> Result<FoundJournal, JournalError> {
        let contents = match self.read() {
            Err(error) if error.is_broken() => return Ok(FoundJournal::Broken(error)),
            read => read?,
        };
        let seen = match self.memory.recall().map_err(|source| self.not_remembered(source))? {
            RecalledJournal::Damaged { path: memory } => {
                return Ok(FoundJournal::Broken(JournalError::MemoryDamaged { path: self.path.clone(), memory }));
            }
            RecalledJournal::Leaving(_) if !self.is_taken() => None,
            RecalledJournal::Seen(seen) | RecalledJournal::Leaving(seen) => Some(seen),
            RecalledJournal::Nothing => None,
        };
        let seen = seen.filter(|seen| !is_over(seen.started_marker));
        let found = match (contents, seen) {
            (None, None) => Ok(FoundJournal::Nothing),
            (None, Some(seen)) => self.nothing_lost(seen).map(|()| FoundJournal::Nothing),
            (Some(contents), None) => Ok(FoundJournal::Whole(Box::new(contents))),
            (Some(mut contents), Some(seen)) => self.basis(&contents, seen).map(|basis| {
                contents.basis = basis;
                FoundJournal::Whole(Box::new(contents))
            }),
        };
        Ok(found.unwrap_or_else(FoundJournal::Broken))
    }

    /// Fails unless a journal may be believed without being remembered.
    pub(crate) fn require_trust(&self) -> Result<(), JournalError> {
        match self.memory.first_use() {
            FirstUse::Trust => Ok(()),
            FirstUse::Refuse => Err(JournalError::NotRemembered { path: self.path.clone() }),
        }
    }

    /// Nothing whole is there, so nothing may ever have been.
    fn nothing_lost(&self, seen: SeenJournal) -> Result<(), JournalError> {
        let (path, remembered) = (self.path.clone(), seen.lines);
        match self.is_taken() {
            _ if remembered == 0 => Ok(()),
            true => Err(JournalError::Cut { path, line: 1, remembered }),
            false => Err(JournalError::Gone { path, remembered }),
        }
    }

    fn basis(&self, contents: &JournalContents, seen: SeenJournal) -> Result<Basis, JournalError> {
        let (path, there, remembered) = (self.path.clone(), contents.lines.count, seen.lines);
        if there < remembered {
            return Err(JournalError::Cut { path, line: there + 1, remembered });
        }
        if contents.header.started_marker != seen.started_marker {
            return Err(JournalError::Rewritten { path, line: 1 });
        }
        if contents.digest_of_line(remembered) != seen.last_line {
            return Err(JournalError::Rewritten { path, line: remembered });
        }
        // What is further ahead was written where this machine does not remember it.
        Ok(if there > remembered + 1 { Basis::Trust } else { Basis::Memory })
    }
}

#[cfg(test)]
mod tests;
