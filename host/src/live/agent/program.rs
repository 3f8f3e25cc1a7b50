//! The files that an agent's command names: the program that is started, and the scripts that it is told to run. A record says by
//! their digests what answered.
//!
//! They are looked for where the kernel and the shell look for them. A program that is not there has no file: whether it can be
//! started is for whoever starts it to find out. Nothing here starts anything.

#![expect(
    clippy::disallowed_methods,
    reason = "a command's files lie where the operator and PATH say, and links lead to them"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::shell_line;
use eval_evidence::files::{FileError, open_ambient_file};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::Digest;

/// Where a program is looked for when there is no PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The rights by which somebody may execute a file.
const EXECUTABLE: u32 = 0o111;

/// The files that a command names, as they were before the first case.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandFiles {
    files: Vec<CommandFile>,
}

#[derive(Debug, Clone)]
struct CommandFile {
    /// The end of its path, as much of it as tells it apart from the others.
    name: String,
    /// Where the command says that it is.
    found: PathBuf,
    /// Where that leads.
    path: PathBuf,
    read: ReadFile,
}

/// A file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReadFile {
    digest: Digest,
    identity: Identity,
}

/// What is another one if a file was replaced or written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Why the files of a command cannot be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandFilesError {
    #[error("the file `{}`, which the agent's command names, cannot be opened", path.display())]
    Open { path: PathBuf, source: FileError },
    #[error("the file `{}`, which the agent's command names, cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
}

impl Advice for CommandFilesError {
    fn exit(&self) -> Exit {
        Exit::UsageOrCap
    }

    fn hint(&self) -> Option<String> {
        Some(
            "a record says what answered: let this user read the file, or have a script start it that can be read"
                .to_owned(),
        )
    }
}

impl CommandFiles {
    /// The files of a command that is started with these words, and with this PATH.
    pub(crate) fn of(words: &[OsString], path: Option<&OsStr>) -> Result<Self, CommandFilesError> {
        let (mut there, mut files) = (BTreeSet::new(), Vec::new());
        for found in named_by(words, path) {
            let Ok(path) = fs::canonicalize(&found) else { continue };
            if there.insert(path.clone()) {
                let read = ReadFile::of(&path)?;
                files.push(CommandFile { name: String::new(), found, path, read });
            }
        }
        let names: Vec<_> = files.iter().map(|file| name_among(&file.path, &there)).collect();
        for (file, name) in files.iter_mut().zip(names) {
            file.name = name;
        }
        Ok(Self { files })
    }

    /// Where the command says that they are, and where that leads: a program may look beside itself by either.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().flat_map(|file| [file.path.as_path(), file.found.as_path()])
    }

    /// What they were before the first case, by their names.
    pub(crate) fn digests(&self) -> BTreeMap<String, Digest> {
        self.files.iter().map(|file| (file.name.clone(), file.read.digest)).collect()
    }

    /// The names of those that are other files by now, or gone.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|file| file.is_changed()).map(|file| file.name.as_str())
    }
}

impl CommandFile {
    /// A file that looks as it did is believed to be the same one. Another is read again: a copy of the same bytes is no
    /// other program.
    fn is_changed(&self) -> bool {
        let looks_the_same = || {
            let path = fs::canonicalize(&self.found).ok()?;
            let identity = Identity::from(&fs::metadata(&path).ok()?);
            (path == self.path && identity == self.read.identity).then_some(())
        };
        looks_the_same().is_none() && ReadFile::of(&self.found).ok().is_none_or(|now| now.digest != self.read.digest)
    }
}

impl ReadFile {
    fn of(path: &Path) -> Result<Self, CommandFilesError> {
        let failed = |source| CommandFilesError::Read { path: path.to_owned(), source };
        let (file, _) = open_ambient_file(path, u64::MAX)
            .map_err(|source| CommandFilesError::Open { path: path.to_owned(), source })?;
        let identity = Identity::from(&file.metadata().map_err(failed)?);
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file).map_err(failed)?;
        Ok(Self { digest: Digest::from_bytes(*hasher.finalize().as_bytes()), identity })
    }
}

/// Where the files are that a command names, in the order in which it names them.
fn named_by(words: &[OsString], path: Option<&OsStr>) -> Vec<PathBuf> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let named = match rest {
        [option, line] if is_shell(program) && option == "-c" => in_line(&line.to_string_lossy(), path),
        rest => rest.iter().filter_map(|word| absolute_file(word)).collect(),
    };
    search(program, path).into_iter().chain(named).collect()
}

fn is_shell(program: &OsStr) -> bool {
    let shells = ["sh", "bash", "dash", "ash", "zsh"];
    Path::new(program).file_name().is_some_and(|name| shells.iter().any(|shell| name == *shell))
}

/// The files that a line for the shell names: its program, and what lies at absolute paths. What the line itself writes is no
/// program, and another file after every case.
fn in_line(line: &str, path: Option<&OsStr>) -> Vec<PathBuf> {
    let words = shell_line::words(line);
    let written: BTreeSet<_> = words.iter().filter(|word| word.is_written).filter_map(|word| word.text).collect();
    let mut words = words.iter().skip_while(|word| word.text.is_some_and(shell_line::is_before_a_program));
    let program = words.next().and_then(|word| word.text).and_then(|word| search(OsStr::new(word), path));
    let read = words.filter_map(|word| word.text).filter(|word| !written.contains(word));
    program.into_iter().chain(read.filter_map(|word| absolute_file(OsStr::new(word)))).collect()
}

/// A word that is the absolute path of a regular file, or has it behind an equals sign.
fn absolute_file(word: &OsStr) -> Option<PathBuf> {
    let bytes = word.as_bytes();
    let value = bytes.iter().position(|byte| *byte == b'=').map(|equals| OsStr::from_bytes(&bytes[equals + 1..]));
    let paths = [Some(word), value].into_iter().flatten().map(Path::new);
    paths.filter(|path| path.is_absolute()).find(|path| is_file(path)).map(Path::to_owned)
}

/// Where a program is. What PATH says from the working directory is the agent's own, and no part of its command.
fn search(program: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute() && is_file(path));
    }
    let folders = path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|byte| *byte == b':');
    let folders = folders.map(|folder| Path::new(OsStr::from_bytes(folder))).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|path| is_executable(path))
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn is_executable(path: &Path) -> bool {
    let may_be = |metadata: Metadata| metadata.is_file() && metadata.permissions().mode() & EXECUTABLE != 0;
    fs::metadata(path).is_ok_and(may_be)
}

/// The end of a path that no other of these paths has: the file's name, or with as many folders before it as it takes. An
/// absolute path would tell of the machine.
fn name_among(path: &Path, all: &BTreeSet<PathBuf>) -> String {
    let parts = path.components().count();
    let end = |path: &Path, count: usize| {
        let skipped = path.components().count().saturating_sub(count);
        path.components().skip(skipped).collect::<PathBuf>()
    };
    let is_own = |count: &usize| all.iter().filter(|other| end(other, *count) == end(path, *count)).count() == 1;
    let count = (1..parts).find(is_own).unwrap_or(parts);
    end(path, count).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A folder without a link in its path.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = fs::canonicalize(folder.path()).expect("a path");
        (folder, path)
    }

    fn put(path: &Path, text: &str, mode: u32) -> String {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("rights");
        path.to_str().expect("UTF-8").to_owned()
    }

    fn files(words: &[&str], path: &Path) -> CommandFiles {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        CommandFiles::of(&words, Some(path.as_os_str())).expect("readable files")
    }

    fn named(files: &CommandFiles) -> Vec<String> {
        files.digests().into_keys().collect()
    }

    #[test]
    fn a_program_is_found_by_path_and_its_scripts_by_their_paths() {
        let (_folder, here) = folder();
        put(&here.join("bin/agent"), "no program", 0o644);
        put(&here.join("more/agent"), "a program", 0o755);
        let script = put(&here.join("agent.py"), "a script", 0o644);
        let settings = format!("--settings={}", put(&here.join("settings.json"), "{}", 0o600));
        let search = PathBuf::from(format!("relative:{0}/bin::{0}/more", here.display()));
        let words =
            ["agent", &script, &settings, "/nowhere/file", "/dev/null", "agent.py", here.to_str().expect("UTF-8")];
        let found = files(&words, &search);
        assert_eq!(
            found.paths().step_by(2).collect::<Vec<_>>(),
            [here.join("more/agent"), here.join("agent.py"), here.join("settings.json")]
        );
        let expected = [("agent", "a program"), ("agent.py", "a script"), ("settings.json", "{}")];
        assert_eq!(found.digests(), expected.map(|(name, text)| (name.to_owned(), Digest::of(text.as_bytes()))).into());
    }

    #[test]
    fn a_line_for_the_shell_is_the_shell_its_program_and_its_files() {
        let (_folder, here) = folder();
        let program = put(&here.join("agent"), "program", 0o755);
        let (data, log) = (put(&here.join("data"), "data", 0o644), put(&here.join("log"), "log", 0o644));
        let sh = fs::canonicalize("/bin/sh").expect("a shell");
        let sh = sh.file_name().expect("a name").to_string_lossy();
        let found = |line: &str| {
            let mut names = named(&files(&["/bin/sh", "-c", line], &here));
            names.retain(|name| *name != sh);
            names
        };
        assert_eq!(found("agent --fast"), ["agent"]);
        assert_eq!(found(&format!("MODE=1 exec agent --data={data} > {log}; cat '{data}'")), ["agent", "data"]);
        assert_eq!(found(&format!("echo x >> {log}; agent < {log}")), [""; 0]);
        assert_eq!(found(&format!("$AGENT {data}")), ["data"]);
        assert_eq!(found(&format!("{program} \"$x{data}\"")), ["agent"]);
        assert_eq!(files(&["/bin/sh", "-c", "agent"], &here).digests().len(), 2);
    }

    #[test]
    fn what_does_not_exist_has_no_file() {
        let (_folder, here) = folder();
        for words in [&["agent"][..], &["/nowhere/agent"], &["./agent"], &[""], &[]] {
            assert_eq!(files(words, &here).paths().count(), 0, "{words:?}");
        }
        let default = CommandFiles::of(&["sh".into()], None).expect("a shell");
        assert_eq!(default.paths().count(), 2, "without a PATH it is where the system has it");
    }

    #[test]
    fn files_of_one_name_are_told_apart_by_their_folders() {
        let (_folder, here) = folder();
        let at = |path: &str| put(&here.join(path), path, 0o755);
        let words = [at("one/bin/run"), at("two/bin/run"), at("three/run"), at("agent")];
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        assert_eq!(named(&files(&words, &here)), ["agent", "one/bin/run", "three/run", "two/bin/run"]);
        let twice = [words[3], words[3]];
        assert_eq!(named(&files(&twice, &here)), ["agent"]);
    }

    #[test]
    fn a_file_that_changed_is_named_and_one_that_was_only_touched_is_not() {
        let (_folder, here) = folder();
        let at = |path: &str| put(&here.join(path), path, 0o755);
        let words = [at("stays"), at("touched"), at("edited"), at("removed"), at("v1")];
        symlink(here.join("v1"), here.join("current")).expect("a link");
        let current = here.join("current").to_str().expect("UTF-8").to_owned();
        let words: Vec<_> = words[..4].iter().chain([&current]).map(String::as_str).collect();
        let found = files(&words, &here);
        assert_eq!(found.changed().count(), 0);
        fs::remove_file(here.join("touched")).expect("gone");
        at("touched");
        put(&here.join("edited"), "EDITED", 0o755);
        fs::remove_file(here.join("removed")).expect("gone");
        fs::remove_file(here.join("current")).expect("gone");
        at("v2");
        symlink(here.join("v2"), here.join("current")).expect("a link");
        assert_eq!(found.changed().collect::<Vec<_>>(), ["edited", "removed", "v1"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_that_says_what_to_do() {
        let path = PathBuf::from("/opt/agent");
        let error = CommandFilesError::Read { path, source: io::ErrorKind::PermissionDenied.into() };
        assert_eq!(error.to_string(), "the file `/opt/agent`, which the agent's command names, cannot be read");
        assert_eq!(error.exit(), Exit::UsageOrCap);
        assert!(error.hint().is_some_and(|hint| hint.contains("let this user read the file")));
        // A kernel's file that is a regular one and cannot be read at its beginning.
        let words = ["/proc/self/mem".into()];
        assert!(matches!(CommandFiles::of(&words, None), Err(CommandFilesError::Read { .. })));
    }
}
