//! The fresh folders that one agent has for one case: a workspace with a copy of the case's `input/` and nothing else, a home, a
//! place for temporary files, and one for what it has to say of itself.
//!
//! Every case gets a parent folder of its own, so that nothing of another case and nothing of the host lies beside them. The
//! folder is removed when the case is over, whatever rights its agent has taken from it; what a killed host left behind is
//! found by the run's mark in its name.

#![expect(clippy::disallowed_methods, reason = "a case's folder lies where temporary files do, and a home has links")]

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::mark::RunMark;
use super::removal::remove;
use eval_evidence::files::{Dir, FileError};
use eval_model::contract::CaseFiles;

/// What the folders of all cases are called.
pub(super) const FOLDER_PREFIX: &str = "eval-host-";

/// The agent's own folders, below the folder made for the case.
const WORKSPACE: &str = "workspace";
const HOME: &str = "home";
const TEMPORARY: &str = "tmp";
const SAYS: &str = "says";

/// The files in which an agent says what it cost, and who it is.
const COST_FILE: &str = "cost_usd";
const AGENT_FILE: &str = "agent.json";

/// Something of the user's that an agent finds in its home as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HomeLink {
    /// Its name below the home.
    pub(crate) name: PathBuf,
    pub(crate) target: PathBuf,
}

/// A folder for one case, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Workspace {
    folder: TempDir,
}

/// Why a workspace could not be made: the machine's trouble, and never a fault of the case.
#[derive(Debug, thiserror::Error)]
#[error("a workspace could not be made in `{}`: see that the folder is there and has room, or name another with TMPDIR", scratch.display())]
pub(crate) struct WorkspaceError {
    scratch: PathBuf,
    source: MakeError,
}

/// What went wrong when it was made.
#[derive(Debug, thiserror::Error)]
enum MakeError {
    #[error("the folder for the case cannot be made")]
    Folder(#[source] io::Error),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // What is left after this is left to whoever resumes the run. The folder itself would recurse into it.
        let _ = remove(self.folder.path());
        self.folder.disable_cleanup(true);
    }
}

impl Workspace {
    /// Copies the files below `input/` into a new folder below `scratch`, and makes the agent's other folders.
    pub(super) fn create(
        scratch: &Path,
        mark: &RunMark,
        files: &CaseFiles,
        links: &[HomeLink],
    ) -> Result<Self, WorkspaceError> {
        let failed = |source| WorkspaceError { scratch: scratch.to_owned(), source };
        let folder = tempfile::Builder::new().prefix(&prefix(mark)).tempdir_in(scratch);
        let workspace = Self { folder: folder.map_err(|error| failed(MakeError::Folder(error)))? };
        workspace.fill(files).map_err(|error| failed(error.into()))?;
        links.iter().try_for_each(|link| workspace.link(link)).map_err(|error| failed(MakeError::Folder(error)))?;
        Ok(workspace)
    }

    fn fill(&self, files: &CaseFiles) -> Result<(), FileError> {
        let folder = Dir::open_ambient(self.folder.path())?;
        [HOME, TEMPORARY, SAYS].into_iter().try_for_each(|name| folder.child_or_new(name).map(drop))?;
        let root = folder.child_or_new(WORKSPACE)?;
        for (path, bytes) in input_files(files) {
            put(&root, path, bytes)?;
        }
        Ok(())
    }

    fn link(&self, link: &HomeLink) -> io::Result<()> {
        let path = self.home().join(&link.name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        // Another rule may lie above it, and show it already.
        if fs::symlink_metadata(&path).is_ok() { Ok(()) } else { symlink(&link.target, path) }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder().join(WORKSPACE)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder().join(HOME)
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.folder().join(TEMPORARY)
    }

    /// All that is the agent's.
    pub(super) fn own(&self) -> Vec<PathBuf> {
        [WORKSPACE, HOME, TEMPORARY, SAYS].map(|name| self.folder().join(name)).into()
    }

    /// The folder made for the case, as the kernel names it.
    pub(super) fn folder(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap_or_else(|_| self.folder.path().to_owned())
    }

    pub(super) fn cost_file(&self) -> PathBuf {
        self.folder().join(SAYS).join(COST_FILE)
    }

    pub(super) fn agent_file(&self) -> PathBuf {
        self.folder().join(SAYS).join(AGENT_FILE)
    }

    /// What the agent wrote to its agent file; `None` if it wrote none.
    pub(super) fn read_agent(&self, most: u64) -> Result<Option<Vec<u8>>, FileError> {
        Dir::open_ambient(&self.folder().join(SAYS)).and_then(|folder| folder.read_if_any(AGENT_FILE, most))
    }

    /// What the agent wrote to its cost file.
    pub(super) fn read_cost(&self, most: u64) -> Option<Vec<u8>> {
        Dir::open_ambient(&self.folder().join(SAYS)).and_then(|folder| folder.read(COST_FILE, most)).ok()
    }
}

/// Writes one file below `dir`, and the folders that it lies in.
fn put(dir: &Dir, path: &str, bytes: &[u8]) -> Result<(), FileError> {
    match path.split_once('/') {
        Some((folder, rest)) => put(&dir.child_or_new(folder)?, rest, bytes),
        None => dir.write_new(path, bytes),
    }
}

/// A case's input by the paths that an agent sees. The paths were read from a folder by name, so they are plain.
pub(super) fn input_files(files: &CaseFiles) -> impl Iterator<Item = (&str, &[u8])> {
    files.iter().filter_map(|(path, bytes)| path.strip_prefix("input/").map(|path| (path, bytes.as_ref())))
}

fn prefix(mark: &RunMark) -> String {
    format!("{FOLDER_PREFIX}{mark}-")
}

/// What could not be removed, and why.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Removes the workspaces that an earlier, killed host left behind, and gives those that stay. Call it when the run's agents
/// are ended.
pub(crate) fn remove_leftovers(scratch: &Path, mark: &RunMark) -> Vec<Leftover> {
    let unreadable = |error| vec![Leftover { path: scratch.to_owned(), error }];
    let entries = match fs::read_dir(scratch).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) => return unreadable(error),
    };
    let is_ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix(mark));
    let ours = entries.into_iter().filter(is_ours).map(|entry| entry.path());
    ours.filter_map(|path| remove(&path).err().map(|error| Leftover { path, error })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    fn files() -> CaseFiles {
        [("input/a/b.txt", "in"), ("input/top", "x"), ("expected/fix.diff", "secret")]
            .map(|(path, text)| (Arc::from(path), Arc::from(text.as_bytes())))
            .into()
    }

    fn below(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_workspace_has_the_input_and_nothing_beside_it() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mark = RunMark::new().expect("randomness");
        let workspace = Workspace::create(scratch.path(), &mark, &files(), &[]).expect("a workspace");
        let path = workspace.path();
        assert_eq!(below(&path), ["a", "top"]);
        assert_eq!(fs::read(path.join("a/b.txt")).expect("a copy"), b"in");
        assert_eq!(below(path.parent().expect("a parent")), [HOME, SAYS, TEMPORARY, WORKSPACE]);
        drop(workspace);
        assert!(below(scratch.path()).is_empty());
    }

    #[test]
    fn leftovers_of_a_run_are_removed_and_nothing_else() {
        let scratch = tempfile::tempdir().expect("a folder");
        let (ours, theirs) = (RunMark::new().expect("randomness"), RunMark::new().expect("randomness"));
        let leak = |mark| {
            let mut workspace = Workspace::create(scratch.path(), mark, &files(), &[]).expect("a workspace");
            workspace.folder.disable_cleanup(true);
            let path = workspace.folder.path().to_owned();
            std::mem::forget(workspace);
            path
        };
        let (gone, kept) = (leak(&ours), leak(&theirs));
        fs::set_permissions(gone.join("workspace/a"), fs::Permissions::from_mode(0o000)).expect("no rights");
        fs::write(scratch.path().join("file"), "").expect("a file");
        assert!(remove_leftovers(scratch.path(), &ours).is_empty());
        assert_eq!(below(scratch.path()).len(), 2);
        assert!(!gone.exists() && kept.exists());
    }

    #[test]
    fn what_cannot_be_removed_is_named() {
        let scratch = tempfile::tempdir().expect("a folder");
        let mark = RunMark::new().expect("randomness");
        let file = scratch.path().join(format!("{}file", prefix(&mark)));
        fs::write(&file, "").expect("not a folder");
        let left = remove_leftovers(scratch.path(), &mark);
        assert_eq!(left.into_iter().map(|left| left.path).collect::<Vec<_>>(), [file]);
    }
}
