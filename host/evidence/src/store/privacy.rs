//! Who besides the user could have read or written a store.
//!
//! A reader takes a store as it is, so this is worth a note and never a refusal. A writer refuses: see [`super::open`].

use rustix::fs::Stat;

use super::open;
use super::reader::StoreReader;
use crate::files::{FileError, printable};
use crate::verify::Note;

/// Everything that a store makes is its owner's alone.
const OTHERS: u32 = 0o077;

impl StoreReader {
    /// What others own, and what is open to others: of each the first, and how many more there are.
    pub fn privacy(&self, user: u32) -> Result<Vec<Note>, FileError> {
        let things = self.things()?;
        let mut foreign = things.iter().filter(|(_, stat)| stat.st_uid != user);
        let owner = foreign.next().map(|(file, stat)| Note::ForeignOwner {
            file: file.clone(),
            owner: stat.st_uid,
            user,
            more: foreign.count(),
        });
        let mut open = things.iter().filter(|(_, stat)| stat.st_mode & OTHERS != 0);
        let mode = open.next().map(|(file, stat)| Note::OpenToOthers {
            file: file.clone(),
            mode: stat.st_mode & 0o7777,
            more: open.count(),
        });
        Ok(owner.into_iter().chain(mode).collect())
    }

    /// The store's folders and what should be its records and packs, by names that are safe to print.
    fn things(&self) -> Result<Vec<(String, Stat)>, FileError> {
        let folders = [
            (".", Some(self.root())),
            (open::RUNS, Some(self.runs())),
            (open::PACKS, Some(self.packs().shelf().dir())),
        ];
        let folders = folders.into_iter().chain([(open::STARTED, self.markers())]);
        let mut things = Vec::new();
        for (name, folder) in folders {
            if let Some(folder) = folder {
                things.push((name.to_owned(), folder.stat()?));
            }
        }
        for (area, folder) in [(open::RUNS, self.runs()), (open::PACKS, self.packs().shelf().dir())] {
            for name in folder.names()? {
                if let Some(stat) = folder.stat_of(&name)? {
                    things.push((format!("{area}/{}", printable(&name)), stat));
                }
            }
        }
        Ok(things)
    }
}
