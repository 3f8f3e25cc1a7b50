//! The case's files: `input/…` and `expected/…`.
//!
//! In the sandbox they are below `/`. Natively they are below any folder, or in memory. Paths are always relative to the
//! case, with `/` between names, and never leave it. Lists are sorted, wherever they come from.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::RubricError;

/// Read access to the files of one case.
#[derive(Debug, Clone)]
pub struct CaseFiles {
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Folder(PathBuf),
    Memory(BTreeMap<String, Vec<u8>>),
}

/// A file of the case that could not be read as the rubric needs it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("`{path}` is not in the case")]
    Missing { path: String },
    #[error("`{path}` is not UTF-8 text")]
    NotText { path: String },
    #[error("`{path}` is not a path inside the case: write it relative to the case's folder, without `.` and `..`")]
    NotContained { path: String },
    #[error("`{path}` cannot be read: {kind}")]
    Unreadable { path: String, kind: io::ErrorKind },
}

/// A case whose files are not there or not readable is the bench's failure, and so the rubric says.
impl From<FileError> for RubricError {
    fn from(error: FileError) -> Self {
        Self::MalformedCase(error.to_string())
    }
}

impl CaseFiles {
    /// The files as a component sees them, in its one preopened folder.
    pub fn sandbox() -> Self {
        Self::below("/")
    }

    /// The files below a folder: a case of a bench, in a native test.
    pub fn below(folder: impl Into<PathBuf>) -> Self {
        Self { place: Place::Folder(folder.into()) }
    }

    /// Files that a test makes up.
    pub fn in_memory<P: Into<String>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, B)>) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect();
        Self { place: Place::Memory(files) }
    }

    /// Reads one file.
    ///
    /// # Errors
    ///
    /// A [`FileError`] that names the path.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        contained(path)?;
        match &self.place {
            Place::Folder(folder) => fs::read(folder.join(path)).map_err(|error| FileError::at(path, &error)),
            Place::Memory(files) => {
                files.get(path).cloned().ok_or_else(|| FileError::Missing { path: path.to_owned() })
            }
        }
    }

    /// Reads one file as text.
    ///
    /// # Errors
    ///
    /// A [`FileError`] that names the path.
    pub fn read_text(&self, path: &str) -> Result<String, FileError> {
        String::from_utf8(self.read(path)?).map_err(|_| FileError::NotText { path: path.to_owned() })
    }

    /// Reads one file as text, or gives `None` if the case has no such file.
    ///
    /// # Errors
    ///
    /// A [`FileError`] that names the path, for anything but a missing file.
    pub fn read_text_if_present(&self, path: &str) -> Result<Option<String>, FileError> {
        match self.read_text(path) {
            Ok(text) => Ok(Some(text)),
            Err(FileError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The paths of all files below a folder of the case, sorted byte by byte. A folder that is not there has none.
    ///
    /// # Errors
    ///
    /// A [`FileError`] that names the folder that cannot be listed, or a file whose name is not UTF-8.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, FileError> {
        contained(folder)?;
        let mut paths = match &self.place {
            Place::Folder(root) => list_on_disk(root, folder)?,
            Place::Memory(files) => files.keys().filter(|path| is_below(path, folder)).cloned().collect(),
        };
        paths.sort();
        Ok(paths)
    }

    /// Reads all files below a folder of the case, keyed by their path relative to that folder.
    ///
    /// # Errors
    ///
    /// A [`FileError`] that names the path.
    pub fn read_tree(&self, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, FileError> {
        let mut tree = BTreeMap::new();
        for path in self.list(folder)? {
            let bytes = self.read(&path)?;
            tree.insert(path[folder.len() + 1..].to_owned(), bytes);
        }
        Ok(tree)
    }
}

impl FileError {
    fn at(path: &str, error: &io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            kind => Self::Unreadable { path, kind },
        }
    }
}

fn contained(path: &str) -> Result<(), FileError> {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\\');
    if path.split('/').all(plain) { Ok(()) } else { Err(FileError::NotContained { path: path.to_owned() }) }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn list_on_disk(root: &Path, folder: &str) -> Result<Vec<String>, FileError> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(|error| FileError::at(&folder, &error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| FileError::at(&folder, &error))?;
            let name = entry.file_name().into_string().map_err(|_| FileError::NotText { path: folder.clone() })?;
            let path = format!("{folder}/{name}");
            let kind = entry.file_type().map_err(|error| FileError::at(&path, &error))?;
            if kind.is_dir() { waiting.push(path) } else { found.push(path) }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> CaseFiles {
        CaseFiles::in_memory([("input/b/c.txt", "c"), ("input/a.txt", "a"), ("expected/x", "x"), ("inputs/no", "n")])
    }

    /// The crate's own folder stands for a case on disk.
    fn disk() -> CaseFiles {
        CaseFiles::below(env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn a_list_is_sorted_recursive_and_stays_below_its_folder() {
        assert_eq!(memory().list("input"), Ok(vec!["input/a.txt".to_owned(), "input/b/c.txt".to_owned()]));
        let on_disk = disk().list("src").unwrap();
        assert!(on_disk.is_sorted());
        assert!(on_disk.contains(&"src/files.rs".to_owned()));
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_files() {
        assert_eq!(memory().list("nothing"), Ok(vec![]));
        assert_eq!(disk().list("nothing"), Ok(vec![]));
    }

    #[test]
    fn a_tree_is_keyed_relative_to_its_folder() {
        let tree = memory().read_tree("input").unwrap();
        assert_eq!(tree.keys().collect::<Vec<_>>(), ["a.txt", "b/c.txt"]);
        assert_eq!(tree["b/c.txt"], b"c");
    }

    #[test]
    fn a_missing_file_is_named_and_is_none_where_it_is_optional() {
        for files in [memory(), disk()] {
            assert_eq!(files.read("input/no"), Err(FileError::Missing { path: "input/no".to_owned() }));
            assert_eq!(files.read_text_if_present("input/no"), Ok(None));
        }
    }

    #[test]
    fn a_path_that_leaves_the_case_is_refused() {
        for path in ["../x", "input/../../x", "/etc/passwd", "input//x", "./x", "", "a\\b"] {
            assert_eq!(disk().read(path), Err(FileError::NotContained { path: path.to_owned() }));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_as_text_only() {
        let files = CaseFiles::in_memory([("input/x", vec![0xff])]);
        assert_eq!(files.read("input/x"), Ok(vec![0xff]));
        assert_eq!(files.read_text("input/x"), Err(FileError::NotText { path: "input/x".to_owned() }));
    }
}
