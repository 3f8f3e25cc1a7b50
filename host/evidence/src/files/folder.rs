//! Reading folders that somebody else wrote: bounded, contained, and with the path in every error.
//!
//! A [`Folder`] is opened once and everything below it is reached through its descriptor, so a path can neither leave it
//! nor be swapped for a link on the way. Symlinks, devices and FIFOs are errors, never followed and never waited for.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use eval_model::advice::Advice;
use eval_model::contract::CaseFiles;

/// Most bytes of one file of a bench.
pub const MOST_FILE_BYTES: u64 = 16 << 20;

/// Most bytes, and most files, of one case.
const MOST_TREE_BYTES: u64 = 64 << 20;
const MOST_TREE_FILES: usize = 4096;

/// Deepest folder of a case.
const MOST_DEPTH: usize = 64;

/// What went wrong with a file, and which.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {problem}", path.display())]
pub struct FileError {
    pub path: PathBuf,
    pub problem: FileProblem,
}

impl Advice for FileError {}

#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    #[error("not found")]
    Missing,
    #[error("{0} is not allowed here: use a regular file")]
    Irregular(&'static str),
    #[error("more than {most} bytes")]
    TooLarge { most: u64 },
    #[error("more than {most} files")]
    TooMany { most: usize },
    #[error("folders nested deeper than {most}")]
    TooDeep { most: usize },
    #[error("the name `{0}` is not UTF-8")]
    Name(String),
    #[error("not UTF-8 text")]
    Text,
    #[error("{0}")]
    Wrong(String),
    #[error("{0}")]
    Io(io::Error),
}

impl FileError {
    pub fn is_missing(&self) -> bool {
        matches!(self.problem, FileProblem::Missing)
    }
}

/// A folder, held open. Its path is for messages only.
pub struct Folder {
    dir: Dir,
    path: PathBuf,
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Irregular(&'static str),
}

impl Folder {
    /// Opens a folder that the operator named. This is where ambient authority ends.
    pub fn open_ambient(path: &Path) -> Result<Self, FileError> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => Ok(Self { dir, path: path.to_owned() }),
            Err(error) => Err(file_error(path.to_owned(), error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a direct child.
    pub fn open(&self, name: &str) -> Result<Self, FileError> {
        let path = self.path.join(name);
        match self.kind_of(name)? {
            EntryKind::Folder => {}
            EntryKind::File => {
                return Err(FileError { path, problem: FileProblem::Irregular("a file in place of a folder") });
            }
            EntryKind::Irregular(what) => return Err(FileError { path, problem: FileProblem::Irregular(what) }),
        }
        match self.dir.open_dir(name) {
            Ok(dir) => Ok(Self { dir, path }),
            Err(error) => Err(file_error(path, error)),
        }
    }

    pub fn contains(&self, name: &str) -> bool {
        self.dir.symlink_metadata(name).is_ok()
    }

    fn kind_of(&self, name: &str) -> Result<EntryKind, FileError> {
        match self.dir.symlink_metadata(name) {
            Ok(metadata) => Ok(kind_of(metadata.file_type())),
            Err(error) => Err(file_error(self.path.join(name), error)),
        }
    }

    /// The names and kinds of the direct children, sorted.
    pub fn entries(&self) -> Result<Vec<(String, EntryKind)>, FileError> {
        let failed = |error| file_error(self.path.clone(), error);
        let mut entries = Vec::new();
        for entry in self.dir.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().map_err(|name| FileError {
                path: self.path.clone(),
                problem: FileProblem::Name(name.to_string_lossy().escape_default().to_string()),
            })?;
            entries.push((name, kind_of(entry.file_type().map_err(failed)?)));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// Reads a regular file below this folder, at most `most` bytes of it.
    pub fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, FileError> {
        let path = self.path.join(name);
        let failed = |error| file_error(path.clone(), error);
        if let EntryKind::Irregular(what) = self.kind_of(name)? {
            return Err(FileError { path, problem: FileProblem::Irregular(what) });
        }
        // Not following a link and not waiting for a FIFO, should the entry have been swapped since.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = self.dir.open_with(name, &options).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(FileError { path, problem: FileProblem::Irregular("a folder in place of a file") });
        }
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > most {
            return Err(FileError { path, problem: FileProblem::TooLarge { most } });
        }
        Ok(bytes)
    }

    pub fn read_text(&self, name: &str, most: u64) -> Result<String, FileError> {
        let bytes = self.read(name, most)?;
        String::from_utf8(bytes).map_err(|_| FileError { path: self.path.join(name), problem: FileProblem::Text })
    }

    /// Reads every file below the child `name`, keyed by `name/…`.
    pub fn read_tree(&self, name: &str) -> Result<CaseFiles, FileError> {
        let mut tree = Tree { files: CaseFiles::new(), bytes: 0 };
        tree.add(&self.open(name)?, name, 1)?;
        Ok(tree.files)
    }
}

/// A tree while it is being read.
struct Tree {
    files: CaseFiles,
    bytes: u64,
}

impl Tree {
    fn add(&mut self, folder: &Folder, prefix: &str, depth: usize) -> Result<(), FileError> {
        if depth > MOST_DEPTH {
            return Err(FileError { path: folder.path.clone(), problem: FileProblem::TooDeep { most: MOST_DEPTH } });
        }
        for (name, kind) in folder.entries()? {
            let path = format!("{prefix}/{name}");
            match kind {
                EntryKind::Folder => self.add(&folder.open(&name)?, &path, depth + 1)?,
                EntryKind::File => self.add_file(folder, &name, path)?,
                EntryKind::Irregular(what) => {
                    return Err(FileError { path: folder.path.join(name), problem: FileProblem::Irregular(what) });
                }
            }
        }
        Ok(())
    }

    fn add_file(&mut self, folder: &Folder, name: &str, path: String) -> Result<(), FileError> {
        let bytes = folder.read(name, MOST_FILE_BYTES)?;
        self.bytes += bytes.len() as u64;
        self.files.insert(path.into(), Arc::from(bytes));
        let problem = if self.files.len() > MOST_TREE_FILES {
            FileProblem::TooMany { most: MOST_TREE_FILES }
        } else if self.bytes > MOST_TREE_BYTES {
            FileProblem::TooLarge { most: MOST_TREE_BYTES }
        } else {
            return Ok(());
        };
        Err(FileError { path: folder.path.clone(), problem })
    }
}

fn kind_of(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Folder
    } else if file_type.is_symlink() {
        EntryKind::Irregular("a symbolic link")
    } else {
        EntryKind::Irregular("a device, socket or FIFO")
    }
}

fn file_error(path: PathBuf, error: io::Error) -> FileError {
    let problem = if error.kind() == io::ErrorKind::NotFound { FileProblem::Missing } else { FileProblem::Io(error) };
    FileError { path, problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn folder() -> (tempfile::TempDir, Folder) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::open_ambient(temp.path()).expect("it opens");
        (temp, folder)
    }

    fn problem(result: Result<impl Sized, FileError>) -> String {
        result.err().expect("a file error").problem.to_string()
    }

    #[test]
    fn a_tree_is_read_with_its_paths_sorted() {
        let (temp, folder) = folder();
        fs::create_dir_all(temp.path().join("input/b/c")).expect("folders");
        fs::write(temp.path().join("input/b/c/d"), "deep").expect("a file");
        fs::write(temp.path().join("input/a"), "").expect("a file");
        let files = folder.read_tree("input").expect("a tree");
        assert_eq!(files.keys().map(AsRef::as_ref).collect::<Vec<_>>(), ["input/a", "input/b/c/d"]);
        assert_eq!(files["input/b/c/d"].as_ref(), b"deep");
    }

    #[test]
    fn nothing_but_regular_files_is_read() {
        let (temp, folder) = folder();
        symlink("/etc/passwd", temp.path().join("link")).expect("a link");
        let fifo = temp.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("a FIFO");
        fs::create_dir(temp.path().join("dir")).expect("a folder");
        assert_eq!(problem(folder.read("link", 10)), "a symbolic link is not allowed here: use a regular file");
        assert_eq!(
            problem(folder.read("fifo", 10)),
            "a device, socket or FIFO is not allowed here: use a regular file"
        );
        assert_eq!(
            problem(folder.read("dir", 10)),
            "a folder in place of a file is not allowed here: use a regular file"
        );
        assert_eq!(problem(folder.open("link")), "a symbolic link is not allowed here: use a regular file");
        assert_eq!(problem(folder.read("absent", 10)), "not found");
    }

    #[test]
    fn a_symlink_deep_in_a_tree_is_named() {
        let (temp, folder) = folder();
        fs::create_dir_all(temp.path().join("input/sub")).expect("folders");
        symlink("../../secret", temp.path().join("input/sub/out")).expect("a link");
        let error = folder.read_tree("input").expect_err("a link");
        assert!(error.path.ends_with("input/sub/out"), "{error}");
    }

    #[test]
    fn a_file_over_its_bound_is_refused() {
        let (temp, folder) = folder();
        fs::write(temp.path().join("file"), "12345").expect("a file");
        assert_eq!(folder.read("file", 5).expect("at the bound"), b"12345");
        assert_eq!(problem(folder.read("file", 4)), "more than 4 bytes");
    }

    #[test]
    fn a_path_cannot_leave_the_folder() {
        let (temp, folder) = folder();
        fs::write(temp.path().join("outside"), "secret").expect("a file");
        fs::create_dir(temp.path().join("sub")).expect("a folder");
        let sub = folder.open("sub").expect("a folder");
        assert!(sub.read("../outside", 10).is_err());
        assert!(sub.read("/etc/passwd", 10).is_err());
    }
}
