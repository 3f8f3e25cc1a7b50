//! The one way to a case of a bench: its folder is opened, `case.toml` is parsed, and its files are read once and hashed as
//! they are read. What is hashed is what is scored.

use std::sync::Arc;

use serde::Deserialize;

use eval_evidence::files::{Dir, FileError, FileProblem, MOST_FILE_BYTES};
use eval_model::case::ReadCase;
use eval_model::contract::CaseFiles;
use eval_model::ids::Digest;
use eval_model::report::LoadErrorEntry;

use super::case_file::CaseFile;
use super::load::BenchFolder;

/// A case of a bench: what it is, and what lies beside it in its folder.
#[derive(Debug)]
pub(crate) struct LoadedCase {
    pub(crate) read: ReadCase,
    pub(crate) file: CaseFile,
    /// For its cassette.
    pub(crate) folder: Dir,
}

impl BenchFolder {
    /// Reads and digests a case. What is wrong with it goes into the report in words that are the same on every machine.
    pub(crate) fn read_case(&self, name: &str, input_root: &InputRoot) -> Result<LoadedCase, LoadErrorEntry> {
        let (file, folder) = self.open_case(name)?;
        match read(&file, &folder, input_root) {
            Ok(read) => Ok(LoadedCase { read, file, folder }),
            Err(ReadCaseError::File(error)) => Err(self.load_error(name, &error)),
            Err(ReadCaseError::Pointer(message)) => Err(self.load_error_entry(name, POINTER.to_owned(), message)),
        }
    }
}

/// The file that stands in for an `input/` folder.
const POINTER: &str = "input-pointer.toml";

/// Where inputs lie that are too large for the bench's folder. The host never fetches them.
#[derive(Debug, Default)]
pub(crate) struct InputRoot(pub(crate) Option<Dir>);

/// `input-pointer.toml`: an input that lies under the input root.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputPointer {
    /// The folder below the input root, `/`-separated.
    path: String,
    /// The input's digest, by the same rule as that of an `input/` folder.
    blake3: Digest,
}

/// Why the files of a case cannot be used.
enum ReadCaseError {
    File(FileError),
    /// What is wrong with its `input-pointer.toml`.
    Pointer(String),
}

impl From<FileError> for ReadCaseError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

fn read(file: &CaseFile, folder: &Dir, input_root: &InputRoot) -> Result<ReadCase, ReadCaseError> {
    // Nearly no case has a pointer, and to look for a name is cheaper than to try to open it.
    let (mut files, pinned) = match folder.stat_of(POINTER)? {
        None => (folder.read_tree("input")?, None),
        Some(_) => {
            let pointer = folder.read_text(POINTER, MOST_FILE_BYTES)?;
            pointed_input(&pointer, folder, input_root).map(|(files, pinned)| (files, Some(pinned)))?
        }
    };
    if files.is_empty() {
        return Err(FileError { path: folder.path().join("input"), problem: FileProblem::Missing }.into());
    }
    files.append(&mut folder.read_tree("expected")?);
    let read = ReadCase::new(file.case.clone(), Arc::new(files));
    match pinned {
        Some(pinned) if pinned != read.input_digest => {
            let message = format!("pins {pinned}, but the input below the input root has {}", read.input_digest);
            Err(ReadCaseError::Pointer(message))
        }
        _ => Ok(read),
    }
}

/// Reads the input that a pointer names, as if it were the case's own `input/`.
fn pointed_input(pointer: &str, folder: &Dir, root: &InputRoot) -> Result<(CaseFiles, Digest), ReadCaseError> {
    let wrong = ReadCaseError::Pointer;
    if folder.contains("input") {
        return Err(wrong("there is an `input` folder as well: keep one of the two".to_owned()));
    }
    let pointer: InputPointer = toml::from_str(pointer).map_err(|error| wrong(error.message().to_owned()))?;
    let InputRoot(Some(root)) = root else {
        return Err(wrong(format!(
            "the input lies elsewhere: give its folder with --input-root, and put it at `{}` there",
            pointer.path
        )));
    };
    let parts: Vec<_> = pointer.path.split('/').collect();
    if parts.iter().any(|part| part.is_empty() || *part == "." || *part == "..") {
        return Err(wrong(format!("`{}` is not a path below the input root", pointer.path)));
    }
    let missing = |_| wrong(format!("`{}` is not below the input root: put the input there", pointer.path));
    let mut parent = None;
    for part in &parts[..parts.len() - 1] {
        parent = Some(parent.as_ref().unwrap_or(root).child(part).map_err(missing)?);
    }
    let parent = parent.as_ref().unwrap_or(root);
    let name = parts[parts.len() - 1];
    parent.child(name).map_err(missing)?;
    let files = parent.read_tree(name)?;
    let renamed = |path: &Arc<str>| Arc::from(format!("input{}", &path[name.len()..]));
    Ok((files.into_iter().map(|(path, bytes)| (renamed(&path), bytes)).collect(), pointer.blake3))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bench::fixture::Fixture;
    use crate::bench::load_folder;

    const CASE: &str = "001-greets";

    fn read_case(fixture: &Fixture, input_root: &InputRoot) -> Result<LoadedCase, LoadErrorEntry> {
        load_folder(&fixture.root(), &Fixture::task_class()).expect("a bench").read_case(CASE, input_root)
    }

    /// A fixture whose first case has its input at `large/note` below an input root.
    fn pointed() -> (Fixture, InputRoot) {
        let fixture = Fixture::new();
        fs::create_dir_all(fixture.path("inputs/large")).expect("folders");
        fs::rename(fixture.path("cases/001-greets/input"), fixture.path("inputs/large/note")).expect("moved");
        let input_root = InputRoot(Some(fixture.open("inputs")));
        (fixture, input_root)
    }

    fn point(fixture: &Fixture, path: &str, digest: Digest) {
        let text = format!("path = \"{path}\"\nblake3 = \"{digest}\"\n");
        fixture.write("cases/001-greets/input-pointer.toml", text);
    }

    #[test]
    fn an_input_that_lies_elsewhere_has_the_digest_that_it_would_have_here() {
        let here = read_case(&Fixture::new(), &InputRoot::default()).expect("a case").read;
        let (fixture, input_root) = pointed();
        point(&fixture, "large/note", here.input_digest);
        let elsewhere = read_case(&fixture, &input_root).expect("a case").read;
        assert_eq!((elsewhere.input_digest, elsewhere.case_digest), (here.input_digest, here.case_digest));
        assert_eq!(elsewhere.files, here.files);
    }

    #[test]
    fn what_is_wrong_with_a_pointer_is_said_with_what_to_do() {
        let (fixture, input_root) = pointed();
        let right = Digest::of(b"");
        let refused = |expected: &str| {
            let entry = read_case(&fixture, &input_root).expect_err(expected);
            let place = (entry.folder.as_str(), entry.field.as_str());
            assert_eq!(place, ("fixture/cases/001-greets", "input-pointer.toml"));
            assert_eq!(entry.message, expected);
        };
        for path in ["", "/large/note", "large//note", "large/./note", "../inputs/large/note", "large/note/"] {
            point(&fixture, path, right);
            refused(&format!("`{path}` is not a path below the input root"));
        }
        for path in ["small", "small/note", "large/other", "large/note/note.txt"] {
            point(&fixture, path, right);
            refused(&format!("`{path}` is not below the input root: put the input there"));
        }
        point(&fixture, "large/note", right);
        let actual = read_case(&Fixture::new(), &InputRoot::default()).expect("a case").read.input_digest;
        refused(&format!("pins {right}, but the input below the input root has {actual}"));
        fixture.write("cases/001-greets/input-pointer.toml", "path = \"large/note\"\n");
        refused("missing field `blake3`");
        point(&fixture, "large/note", actual);
        fixture.write("cases/001-greets/input/note.txt", "");
        refused("there is an `input` folder as well: keep one of the two");
    }

    #[test]
    fn an_input_without_files_is_none() {
        let fixture = Fixture::new();
        fixture.remove("cases/001-greets/input/note.txt");
        let entry = read_case(&fixture, &InputRoot::default()).expect_err("nothing to be given to anybody");
        assert_eq!((entry.field.as_str(), entry.message.as_str()), ("input", "not found"));
    }
}
