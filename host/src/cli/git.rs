//! What git says of a bench: the commit that it is at, and whether its files are those of that commit.
//!
//! git's own word for "clean" rests on an index that anybody can tell to look away (`assume-unchanged`, `skip-worktree`, ignored
//! files), so the files are hashed and compared with the commit's tree. What cannot be found out counts as a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use eval_evidence::files::{Dir, FileError, Kind};
use eval_evidence::gate::BenchCommit;

/// What a bench consists of; `cases` is a folder.
const PARTS: [&str; 4] = ["registration.toml", "rubric.wasm", "rubric.wasm.blake3", CASES];
const CASES: &str = "cases";

/// Variables by which somebody could have git look elsewhere.
const DIVERTING: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];

/// The commit that the bench's folder is checked out at, if it is in a git repository and git is installed.
pub(super) fn bench_commit(folder: &Dir) -> Option<BenchCommit> {
    let commit = String::from_utf8(output(folder.path(), &["rev-parse", "--verify", "HEAD"])?).ok()?;
    let commit: eval_evidence::record::GitCommit = commit.trim_end().parse().ok()?;
    let hashing = hash(folder.path(), present_paths(folder));
    // While the files are hashed.
    let committed = committed_files(folder.path(), &commit.to_string());
    let present = hashing.and_then(Hashing::files);
    let is_dirty = committed.is_none() || committed != present;
    Some(BenchCommit { commit, is_dirty })
}

/// The first of the bench's files that differs from its commit, for whoever has to find out why.
pub(super) fn first_difference(folder: &Dir, at: &BenchCommit) -> Option<String> {
    let committed = committed_files(folder.path(), &at.commit.to_string())?;
    let present = hash(folder.path(), present_paths(folder))?.files()?;
    let paths: BTreeSet<_> = committed.keys().chain(present.keys()).collect();
    let path = paths.into_iter().find(|path| committed.get(*path) != present.get(*path))?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// The git ids of the bench's files at a commit, by their paths.
fn committed_files(folder: &Path, commit: &str) -> Option<BTreeMap<Vec<u8>, String>> {
    let arguments = ["ls-tree", "-r", "-z", "--end-of-options", commit];
    let listing = output(folder, &[&arguments[..], &PARTS[..]].concat())?;
    let entries = listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let files: Option<BTreeMap<_, _>> = entries.map(tree_entry).collect();
    files.map(|files| files.into_iter().filter(|(path, _)| is_part(path)).collect())
}

/// `<mode> <type> <id>\t<path>`
fn tree_entry(entry: &[u8]) -> Option<(Vec<u8>, String)> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let id = str::from_utf8(&entry[..tab]).ok()?.rsplit(' ').next()?.to_owned();
    Some((entry[tab + 1..].to_vec(), id))
}

/// What lies beside the cases' folders is of no case.
fn is_part(path: &[u8]) -> bool {
    let Some(below) = path.strip_prefix(b"cases/") else { return true };
    below.contains(&b'/')
}

/// The paths of the bench's files as they are.
fn present_paths(folder: &Dir) -> Option<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for (name, kind) in folder.entries().ok()? {
        match name.to_str().filter(|name| PARTS.contains(name)) {
            Some(CASES) if kind == Kind::Directory => list(folder, &name, CASES.as_bytes(), &mut paths).ok()?,
            Some(name) => paths.push(name.as_bytes().to_vec()),
            None => {}
        }
    }
    paths.retain(|path| is_part(path));
    Some(paths)
}

/// Adds the files below a folder, whose own path is `path`.
fn list(parent: &Dir, name: &OsStr, path: &[u8], paths: &mut Vec<Vec<u8>>) -> Result<(), FileError> {
    let (folder, entries) = parent.child_with_entries(name)?;
    for (name, kind) in entries {
        let path = [path, b"/", name.as_encoded_bytes()].concat();
        match kind {
            Kind::Directory => list(&folder, &name, &path, paths)?,
            _ => paths.push(path),
        }
    }
    Ok(())
}

/// A git that is hashing files.
struct Hashing {
    paths: Vec<Vec<u8>>,
    git: Child,
    asks: JoinHandle<io::Result<()>>,
}

/// Has git begin to give the ids of the exact bytes of these files.
fn hash(folder: &Path, paths: Option<Vec<Vec<u8>>>) -> Option<Hashing> {
    let paths = paths?;
    // git takes what stands on a line from the root of the work tree, wherever it was started.
    let absolute = std::path::absolute(folder).ok()?;
    let mut lines = Vec::new();
    paths.iter().for_each(|path| add_line(&[absolute.as_os_str().as_encoded_bytes(), b"/", path].concat(), &mut lines));
    let mut command = git(folder);
    command.args(["hash-object", "--no-filters", "--stdin-paths"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = command.stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = git.stdin.take()?;
    let asks = std::thread::spawn(move || stdin.write_all(&lines));
    Some(Hashing { paths, git, asks })
}

impl Hashing {
    /// The ids by the paths.
    fn files(self) -> Option<BTreeMap<Vec<u8>, String>> {
        let output = self.git.wait_with_output().ok()?;
        let has_asked = self.asks.join().is_ok_and(|written| written.is_ok());
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success() && has_asked)?;
        let ids: Vec<_> = text.lines().map(str::to_owned).collect();
        (ids.len() == self.paths.len()).then(|| self.paths.into_iter().zip(ids).collect())
    }
}

/// An absolute path on a line of its own. git reads the quotes of C, which a path needs whose bytes are not all plain.
fn add_line(path: &[u8], lines: &mut Vec<u8>) {
    if path.iter().all(|byte| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\')) {
        lines.extend_from_slice(path);
    } else {
        let octal = path.iter().flat_map(|byte| format!("\\{byte:03o}").into_bytes());
        lines.extend([b'"'].into_iter().chain(octal).chain([b'"']));
    }
    lines.push(b'\n');
}

/// Every file below `folder` that git tracks, relative to it; `None` outside of a repository.
pub(super) fn tracked(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    paths(folder, &["ls-files", "-z"])
}

/// Every file below `folder` at a commit, relative to it.
pub(super) fn files_at(folder: &Path, commit: &str) -> Option<BTreeSet<PathBuf>> {
    paths(folder, &["ls-tree", "-r", "-z", "--name-only", "--end-of-options", commit])
}

fn paths(folder: &Path, arguments: &[&str]) -> Option<BTreeSet<PathBuf>> {
    let path = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
    Some(output(folder, arguments)?.split(|byte| *byte == 0).map(path).collect())
}

fn output(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = git(folder).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).arg("--no-replace-objects");
    DIVERTING.into_iter().for_each(|variable| {
        git.env_remove(variable);
    });
    git
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A bench that is committed, and its folder.
    fn committed() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().expect("a folder");
        let bench = temp.path().join("bench/fixture");
        fs::create_dir_all(bench.join("cases/001-a/input")).expect("made");
        for (path, text) in [
            ("registration.toml", "a"),
            ("rubric.wasm", "b"),
            ("rubric.wasm.blake3", "c"),
            ("cases/001-a/case.toml", "d"),
            ("cases/001-a/input/odd \"name\"\nof two lines", "e"),
        ] {
            fs::write(bench.join(path), text).expect("written");
        }
        for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "a bench"]] {
            let mut git = git(temp.path());
            git.args(["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]).args(arguments);
            assert!(git.status().expect("git runs").success());
        }
        (temp, bench)
    }

    fn is_dirty(bench: &Path) -> bool {
        bench_commit(&Dir::open_ambient(bench).expect("a folder")).expect("a commit").is_dirty
    }

    #[test]
    fn what_belongs_to_no_bench_does_not_make_it_dirty() {
        let (temp, bench) = committed();
        assert!(!is_dirty(&bench));
        fs::write(temp.path().join("notes.txt"), "x").expect("written");
        fs::write(bench.join("README.md"), "x").expect("written");
        fs::write(bench.join("cases/.DS_Store"), "x").expect("written");
        assert!(!is_dirty(&bench));
    }

    #[test]
    fn a_file_that_was_changed_added_or_removed_makes_a_bench_dirty() {
        for change in [
            (|bench: &Path| fs::write(bench.join("registration.toml"), "A").expect("written")) as fn(&Path),
            |bench| fs::write(bench.join("cases/001-a/input/new"), "A").expect("written"),
            |bench| fs::remove_dir_all(bench.join("cases/001-a")).expect("removed"),
            |bench| fs::remove_file(bench.join("rubric.wasm.blake3")).expect("removed"),
        ] {
            let (_temp, bench) = committed();
            change(&bench);
            assert!(is_dirty(&bench));
        }
    }

    #[test]
    fn an_index_that_looks_away_hides_nothing() {
        let (temp, bench) = committed();
        let look_away = ["update-index", "--assume-unchanged", "bench/fixture/registration.toml"];
        assert!(git(temp.path()).args(look_away).status().expect("git runs").success());
        fs::write(temp.path().join(".gitignore"), "*.txt\n").expect("written");
        fs::write(bench.join("registration.toml"), "A").expect("written");
        assert!(is_dirty(&bench));
        let folder = Dir::open_ambient(&bench).expect("a folder");
        let commit = bench_commit(&folder).expect("a commit");
        assert_eq!(first_difference(&folder, &commit).as_deref(), Some("registration.toml"));
        fs::write(bench.join("registration.toml"), "a").expect("written");
        assert!(!is_dirty(&bench));
        fs::write(bench.join("cases/001-a/input/ignored.txt"), "A").expect("written");
        assert!(is_dirty(&bench));
    }

    #[test]
    fn a_bench_outside_of_git_has_no_commit() {
        let temp = tempfile::tempdir().expect("a folder");
        assert!(bench_commit(&Dir::open_ambient(temp.path()).expect("a folder")).is_none());
    }
}
