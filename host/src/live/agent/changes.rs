//! What an agent changed in its workspace, as an answer: `{"action":"patch","diff":"…"}`.
//!
//! Only regular files count. Symbolic links, sockets and the like are neither followed nor shown: a file that became a link
//! is shown as removed. New files below the names in [`NOISE`] are left out, because tools make them without being asked;
//! what a case's own input has there is compared like everything else.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Serialize;

use super::response::fault;
use super::unified_diff::{FileChange, unified_diff};
use super::workspace::input_files;
use eval_evidence::files::{Dir, FileError, FileProblem, Kind};
use eval_model::contract::CaseFiles;
use eval_model::outcome::{HarnessErrorKind, NoOutput};

/// Files and folders that version control, package managers and caches leave behind.
const NOISE: [&[u8]; 11] = [
    b".git",
    b".hg",
    b".jj",
    b".svn",
    b".DS_Store",
    b".mypy_cache",
    b".pytest_cache",
    b".ruff_cache",
    b".venv",
    b"__pycache__",
    b"node_modules",
];

/// Most files, bytes and nested folders of a workspace that are looked at.
const MOST_FILES: usize = 16_384;
const MOST_BYTES: u64 = 64 << 20;
const MOST_DEPTH: usize = 128;

/// The shape of the answer, for every task class whose agents edit files.
#[derive(Serialize)]
struct Patch<'a> {
    action: &'static str,
    diff: &'a str,
}

/// Compares a workspace with the input that was put there. No change at all is an answer too.
pub(super) fn patch_of(workspace: &Path, files: &CaseFiles, most: usize) -> Result<String, NoOutput> {
    let before: BTreeMap<&[u8], &[u8]> = input_files(files).map(|(path, bytes)| (path.as_bytes(), bytes)).collect();
    let mut walk = Walk { before: &before, found: BTreeMap::new(), bytes: 0 };
    let root = Dir::open_ambient(workspace).map_err(Failure::Unreadable);
    root.and_then(|root| walk.folder(&root, &mut Vec::new(), 0)).map_err(Failure::into_fault)?;
    let diff = diff_of(&before, &walk.found);
    let output = serde_json::to_string(&Patch { action: "patch", diff: &diff }).expect("two texts serialise");
    if output.len() > most {
        return Err(fault(HarnessErrorKind::TooMuchOutput, format!("the diff has more than {most} bytes")));
    }
    Ok(output)
}

fn diff_of(before: &BTreeMap<&[u8], &[u8]>, after: &BTreeMap<Vec<u8>, Vec<u8>>) -> String {
    let mut changes: BTreeMap<&[u8], FileChange<'_>> = BTreeMap::new();
    for (path, bytes) in before {
        changes.insert(path, FileChange { path, before: Some(bytes), after: None });
    }
    for (path, bytes) in after {
        changes.entry(path).or_insert(FileChange { path, before: None, after: None }).after = Some(bytes);
    }
    unified_diff(changes.values())
}

/// Why a workspace cannot be compared.
enum Failure {
    TooMuch(String),
    Unreadable(FileError),
}

impl Failure {
    fn into_fault(self) -> NoOutput {
        match self {
            Self::TooMuch(what) => fault(HarnessErrorKind::TooMuchOutput, what),
            Self::Unreadable(error) => fault(
                HarnessErrorKind::UnreadableWorkspace,
                format!("it cannot be compared: {}", error.problem.words()),
            ),
        }
    }
}

struct Walk<'a> {
    before: &'a BTreeMap<&'a [u8], &'a [u8]>,
    found: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Dir, prefix: &mut Vec<u8>, depth: usize) -> Result<(), Failure> {
        if depth > MOST_DEPTH {
            return Err(Failure::TooMuch(format!("folders in the workspace are nested deeper than {MOST_DEPTH}")));
        }
        for (name, kind) in folder.entries().map_err(Failure::Unreadable)? {
            let length = prefix.len();
            prefix.extend_from_slice(name.as_bytes());
            if !self.is_noise(&name, prefix) {
                self.entry(folder, &name, kind, prefix, depth)?;
            }
            prefix.truncate(length);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        folder: &Dir,
        name: &OsStr,
        kind: Kind,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), Failure> {
        match kind {
            Kind::Directory => {
                path.push(b'/');
                self.folder(&folder.child(name).map_err(Failure::Unreadable)?, path, depth + 1)
            }
            Kind::File => self.file(folder, name, path),
            _ => Ok(()),
        }
    }

    /// Whether a tool made this without being asked: the case came neither with this file, nor with files below this folder.
    fn is_noise(&self, name: &OsStr, path: &[u8]) -> bool {
        let is_below = |key: &&[u8]| key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        NOISE.contains(&name.as_bytes()) && !self.before.keys().any(is_below)
    }

    fn file(&mut self, folder: &Dir, name: &OsStr, path: &[u8]) -> Result<(), Failure> {
        let bytes = folder.read(name, MOST_BYTES - self.bytes).map_err(|error| match error.problem {
            FileProblem::TooLarge { .. } => Failure::TooMuch(format!("the workspace has more than {MOST_BYTES} bytes")),
            _ => Failure::Unreadable(error),
        })?;
        self.bytes += bytes.len() as u64;
        self.found.insert(path.to_vec(), bytes);
        if self.found.len() > MOST_FILES {
            return Err(Failure::TooMuch(format!("the workspace has more than {MOST_FILES} files")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    fn files() -> CaseFiles {
        [
            ("input/package.json", "{\n  \"ws\": \"8.0\"\n}\n"),
            ("input/node_modules/kept.js", "1\n"),
            ("expected/x", "y"),
        ]
        .map(|(path, text)| (Arc::from(path), Arc::from(text.as_bytes())))
        .into()
    }

    fn workspace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("node_modules")).expect("a folder");
        fs::write(folder.path().join("node_modules/kept.js"), "1\n").expect("a file");
        fs::write(folder.path().join("package.json"), "{\n  \"ws\": \"8.0\"\n}\n").expect("a file");
        folder
    }

    fn diff(folder: &Path) -> String {
        let output = patch_of(folder, &files(), 1 << 20).expect("an answer");
        let value: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        assert_eq!(value["action"], "patch");
        value["diff"].as_str().expect("a text").to_owned()
    }

    #[test]
    fn nothing_changed_is_an_empty_diff() {
        assert_eq!(diff(workspace().path()), "");
    }

    #[test]
    fn a_change_is_shown_and_noise_is_not() {
        let folder = workspace();
        let path = folder.path();
        fs::write(path.join("package.json"), "{\n  \"ws\": \"8.17\"\n}\n").expect("a file");
        fs::write(path.join("node_modules/kept.js"), "2\n").expect("a file");
        for noise in [".git/objects", "__pycache__", "src/.mypy_cache"] {
            fs::create_dir_all(path.join(noise)).expect("a folder");
            fs::write(path.join(noise).join("file"), "noise").expect("a file");
        }
        symlink("/etc/passwd", path.join("link")).expect("a link");
        let expected = "\
diff --git a/node_modules/kept.js b/node_modules/kept.js
--- a/node_modules/kept.js
+++ b/node_modules/kept.js
@@ -1 +1 @@
-1
+2
diff --git a/package.json b/package.json
--- a/package.json
+++ b/package.json
@@ -1,3 +1,3 @@
 {
-  \"ws\": \"8.0\"
+  \"ws\": \"8.17\"
 }
";
        assert_eq!(diff(path), expected);
    }

    #[test]
    fn a_diff_over_its_bound_is_too_much_output() {
        let folder = workspace();
        fs::write(folder.path().join("new"), "x".repeat(5000)).expect("a file");
        let fault = patch_of(folder.path(), &files(), 1000).expect_err("too much");
        assert_eq!(fault.to_string(), "harness_error: too_much_output: the diff has more than 1000 bytes");
    }
}
