//! Reading a case's tree whole, within bounds.

use std::path::Path;
use std::sync::Arc;

use super::dir::Dir;
use super::error::{FileError, FileProblem, Kind};
use eval_model::contract::CaseFiles;

/// Most bytes of one file of a bench.
pub const MOST_FILE_BYTES: u64 = 16 << 20;

/// Most bytes, and most files, of one case.
const MOST_TREE_BYTES: u64 = 64 << 20;
const MOST_TREE_FILES: usize = 4096;

/// Deepest directory of a case.
const MOST_DEPTH: usize = 64;

impl Dir {
    /// Reads every file below the child `name`, keyed by `name/…`.
    pub fn read_tree(&self, name: &str) -> Result<CaseFiles, FileError> {
        let mut tree = Tree { files: CaseFiles::new(), bytes: 0 };
        walk(self, name, name, 1, &mut |dir, name, path| tree.add(dir, name, path))?;
        Ok(tree.files)
    }

    /// The same paths, and no file is opened.
    pub fn tree_paths(&self, name: &str) -> Result<Vec<String>, FileError> {
        let mut paths = Vec::new();
        let mut add = |_: &Self, _: &str, path| {
            paths.push(path);
            Ok(())
        };
        walk(self, name, name, 1, &mut add)?;
        Ok(paths)
    }
}

/// Comes by every file below the child `name`, in order: its directory, its name there, and its path below `prefix`.
fn walk(
    parent: &Dir,
    name: &str,
    prefix: &str,
    depth: usize,
    file: &mut dyn FnMut(&Dir, &str, String) -> Result<(), FileError>,
) -> Result<(), FileError> {
    if depth > MOST_DEPTH {
        return Err(wrong(&parent.path().join(name), FileProblem::TooDeep { most: MOST_DEPTH }));
    }
    let (dir, entries) = parent.child_with_entries(name)?;
    for (name, kind) in dir.with_text(entries)? {
        let path = format!("{prefix}/{name}");
        match kind {
            Kind::Directory => walk(&dir, &name, &path, depth + 1, file)?,
            Kind::File => file(&dir, &name, path)?,
            other => return Err(wrong(&dir.path().join(name), FileProblem::NotAFile(other))),
        }
    }
    Ok(())
}

/// A tree while it is being read.
struct Tree {
    files: CaseFiles,
    bytes: u64,
}

impl Tree {
    fn add(&mut self, dir: &Dir, name: &str, path: String) -> Result<(), FileError> {
        let bytes = dir.read(name, MOST_FILE_BYTES)?;
        self.bytes += bytes.len() as u64;
        self.files.insert(path.into(), Arc::from(bytes));
        if self.files.len() > MOST_TREE_FILES {
            return Err(wrong(dir.path(), FileProblem::TooMany { most: MOST_TREE_FILES }));
        }
        if self.bytes > MOST_TREE_BYTES {
            return Err(wrong(dir.path(), FileProblem::TooMuch { most: MOST_TREE_BYTES }));
        }
        Ok(())
    }
}

fn wrong(path: &Path, problem: FileProblem) -> FileError {
    FileError { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn dir() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_ambient(temp.path()).expect("it opens");
        (temp, dir)
    }

    #[test]
    fn a_tree_is_read_with_its_paths_sorted() {
        let (temp, dir) = dir();
        fs::create_dir_all(temp.path().join("input/b/c")).expect("folders");
        fs::write(temp.path().join("input/b/c/d"), "deep").expect("a file");
        fs::write(temp.path().join("input/a"), "").expect("a file");
        let files = dir.read_tree("input").expect("a tree");
        assert_eq!(files.keys().map(AsRef::as_ref).collect::<Vec<_>>(), ["input/a", "input/b/c/d"]);
        assert_eq!(files["input/b/c/d"].as_ref(), b"deep");
        assert_eq!(dir.tree_paths("input").expect("a tree"), ["input/a", "input/b/c/d"]);
    }

    #[test]
    fn a_symlink_deep_in_a_tree_is_named() {
        let (temp, dir) = dir();
        fs::create_dir_all(temp.path().join("input/sub")).expect("folders");
        symlink("../../secret", temp.path().join("input/sub/out")).expect("a link");
        let error = dir.read_tree("input").expect_err("a link");
        assert!(error.path.ends_with("input/sub/out"), "{error}");
        assert_eq!(error.problem.to_string(), "it is a symbolic link, not a file");
    }

    #[test]
    fn a_tree_of_too_many_files_or_folders_is_refused() {
        let (temp, dir) = dir();
        fs::create_dir(temp.path().join("wide")).expect("a folder");
        for number in 0..=MOST_TREE_FILES {
            fs::write(temp.path().join(format!("wide/{number}")), "").expect("a file");
        }
        let error = dir.read_tree("wide").expect_err("too many");
        assert_eq!(error.problem.to_string(), "it has more than 4096 files");
        let mut deep = temp.path().join("deep");
        (0..MOST_DEPTH).for_each(|_| deep.push("d"));
        fs::create_dir_all(deep).expect("folders");
        let error = dir.read_tree("deep").expect_err("too deep");
        assert_eq!(error.problem.to_string(), "its directories are nested deeper than 64");
    }
}
