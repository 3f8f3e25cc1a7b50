//! From a folder to a [`Bench`]: the registration, the rubric and its pin, and the list of cases.
//!
//! A case's own files are read later, one case at a time, so that memory does not grow with the bench. A case that does not
//! load costs that case and never the run.

use std::ops::Deref;
use std::path::PathBuf;

use super::case_file::CaseFile;
use super::registration::{Registration, registered_name};
use super::strict_toml::TomlError;
use eval_evidence::files::{Dir, FileError, Kind, MOST_FILE_BYTES};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, ParseIdError, TaskClassName};
use eval_model::report::LoadErrorEntry;
use eval_sandbox::MOST_COMPONENT_BYTES;

/// Why a bench as a whole cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadBenchError {
    #[error("no task class `{wanted}` in `{}`; there {}", root.display(), known_classes(known))]
    TaskClassNotFound { wanted: TaskClassName, root: PathBuf, known: Vec<TaskClassName> },
    #[error(
        "TaskClassAlreadyRegistered: `{task_class}` is registered by both `{}` and `{}`: rename one of them",
        first.display(), second.display()
    )]
    TaskClassAlreadyRegistered { task_class: TaskClassName, first: PathBuf, second: PathBuf },
    #[error("`{}` registers `{registered}`, which must equal the folder's name", path.display())]
    NameDiffersFromFolder { path: PathBuf, registered: TaskClassName },
    #[error("`{}`: {error}", path.display())]
    Registration { path: PathBuf, error: TomlError },
    #[error("`{}` is not b3sum's format: one line of 64 hexadecimal digits, two spaces and `rubric.wasm`", path.display())]
    PinFormat { path: PathBuf },
    #[error(
        "`{}` has BLAKE3 {actual}, but its pin says {pinned}: rebuild it with `eval-host rubric build`, or restore the file that was reviewed",
        path.display()
    )]
    PinMismatch { path: PathBuf, actual: Digest, pinned: Digest },
    #[error(transparent)]
    File(FileError),
    #[error("the bench has no cases: add one below `{}`", path.display())]
    NoCases { path: PathBuf },
}

impl Advice for LoadBenchError {
    fn exit(&self) -> Exit {
        match self {
            Self::TaskClassNotFound { .. } => Exit::TaskClassNotFound,
            Self::NoCases { .. } => Exit::NoCases,
            _ => Exit::HarnessError,
        }
    }
}

fn known_classes(known: &[TaskClassName]) -> String {
    match known {
        [] => "is none: name another folder with --bench-root".to_owned(),
        known => {
            let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("{} {}", if known.len() == 1 { "is only" } else { "are" }, names.join(", "))
        }
    }
}

/// What a bench's folder says, but for its rubric: enough to look at the cases, and not enough to score one.
#[derive(Debug)]
pub(crate) struct BenchFolder {
    pub(crate) registration: Registration,
    /// The exact bytes, which the record's evidence keeps.
    pub(crate) registration_bytes: Vec<u8>,
    pub(crate) folder: Dir,
    /// `cases/`, which stays the same one for as long as the bench is used.
    cases: Dir,
    /// Every name below `cases/`, sorted, loadable or not.
    case_names: Vec<String>,
}

/// A bench that can be run: its folder, and the rubric that its pin vouches for.
#[derive(Debug)]
pub(crate) struct Bench {
    within: BenchFolder,
    pub(crate) rubric: Vec<u8>,
    pub(crate) rubric_digest: Digest,
}

impl Deref for Bench {
    type Target = BenchFolder;

    fn deref(&self) -> &BenchFolder {
        &self.within
    }
}

/// The task classes that have a registration, by folder name, sorted.
pub(crate) fn list_task_classes(root: &Dir) -> Result<Vec<TaskClassName>, LoadBenchError> {
    let entries = root.utf8_entries().map_err(LoadBenchError::File)?;
    let folders = entries.into_iter().filter(|(_, kind)| *kind == Kind::Directory);
    let is_bench =
        |name: &TaskClassName| root.child(name.as_str()).is_ok_and(|folder| folder.contains("registration.toml"));
    Ok(folders.filter_map(|(name, _)| name.parse().ok()).filter(is_bench).collect())
}

/// Loads a bench: everything of it but the cases' own files.
pub(crate) fn load_bench(root: &Dir, task_class: &TaskClassName) -> Result<Bench, LoadBenchError> {
    let within = load_folder(root, task_class)?;
    let (rubric, rubric_digest) = load_rubric(&within.folder)?;
    Ok(Bench { within, rubric, rubric_digest })
}

/// The registration and the list of cases.
pub(crate) fn load_folder(root: &Dir, task_class: &TaskClassName) -> Result<BenchFolder, LoadBenchError> {
    let known = list_task_classes(root)?;
    refuse_double_registration(root, task_class, &known)?;
    if !known.contains(task_class) {
        let root = root.path().to_owned();
        return Err(LoadBenchError::TaskClassNotFound { wanted: task_class.clone(), root, known });
    }
    let folder = root.child(task_class.as_str()).map_err(LoadBenchError::File)?;
    let text = folder.read_text("registration.toml", MOST_FILE_BYTES).map_err(LoadBenchError::File)?;
    let path = folder.path().join("registration.toml");
    let registration = match Registration::parse(&text) {
        Ok(registration) => registration,
        Err(error) => return Err(LoadBenchError::Registration { path, error }),
    };
    if registration.task_class != *task_class {
        return Err(LoadBenchError::NameDiffersFromFolder { path, registered: registration.task_class });
    }
    let (cases, case_names) = cases(&folder)?;
    Ok(BenchFolder { registration, registration_bytes: text.into_bytes(), folder, cases, case_names })
}

/// The component that the pin vouches for, and its digest.
pub(crate) fn load_rubric(folder: &Dir) -> Result<(Vec<u8>, Digest), LoadBenchError> {
    let rubric = folder.read("rubric.wasm", MOST_COMPONENT_BYTES).map_err(LoadBenchError::File)?;
    let digest = Digest::of(&rubric);
    check_pin(folder, digest)?;
    Ok((rubric, digest))
}

/// Two folders that register one name, found before any name is compared with its folder.
fn refuse_double_registration(
    root: &Dir,
    task_class: &TaskClassName,
    known: &[TaskClassName],
) -> Result<(), LoadBenchError> {
    let registers = |name: &&TaskClassName| {
        let text = root.child(name.as_str()).and_then(|folder| folder.read_text("registration.toml", MOST_FILE_BYTES));
        text.ok().and_then(|text| registered_name(&text)).as_ref() == Some(task_class)
    };
    let mut folders = known.iter().filter(registers).map(|name| root.path().join(name.as_str()));
    match (folders.next(), folders.next()) {
        (Some(first), Some(second)) => {
            Err(LoadBenchError::TaskClassAlreadyRegistered { task_class: task_class.clone(), first, second })
        }
        _ => Ok(()),
    }
}

fn check_pin(folder: &Dir, actual: Digest) -> Result<(), LoadBenchError> {
    let text = folder.read_text("rubric.wasm.blake3", 4096).map_err(LoadBenchError::File)?;
    let hex = text.strip_suffix("  rubric.wasm\n").or_else(|| text.strip_suffix("  rubric.wasm"));
    let pinned = hex.ok_or(()).and_then(|hex| hex.parse().map_err(|_: ParseIdError| ()));
    match pinned {
        Ok(pinned) if pinned == actual => Ok(()),
        Ok(pinned) => Err(LoadBenchError::PinMismatch { path: folder.path().join("rubric.wasm"), actual, pinned }),
        Err(()) => Err(LoadBenchError::PinFormat { path: folder.path().join("rubric.wasm.blake3") }),
    }
}

fn cases(folder: &Dir) -> Result<(Dir, Vec<String>), LoadBenchError> {
    let no_cases = || LoadBenchError::NoCases { path: folder.path().join("cases") };
    let cases = match folder.child("cases") {
        Ok(cases) => cases,
        Err(error) if error.is_missing() => return Err(no_cases()),
        Err(error) => return Err(LoadBenchError::File(error)),
    };
    let names: Vec<_> = cases.utf8_entries().map_err(LoadBenchError::File)?.into_iter().map(|(name, _)| name).collect();
    if names.is_empty() { Err(no_cases()) } else { Ok((cases, names)) }
}

impl BenchFolder {
    pub(crate) fn case_names(&self) -> &[String] {
        &self.case_names
    }

    /// What a case says of itself, without reading its files.
    pub(crate) fn case_file(&self, name: &str) -> Result<CaseFile, LoadErrorEntry> {
        self.open_case(name).map(|(file, _)| file)
    }

    /// Opens one case and reads what it says of itself.
    pub(super) fn open_case(&self, name: &str) -> Result<(CaseFile, Dir), LoadErrorEntry> {
        let file_error = |error: FileError| self.load_error(name, &error);
        let folder = self.cases.child(name).map_err(file_error)?;
        let text = folder.read_text("case.toml", MOST_FILE_BYTES).map_err(file_error)?;
        match CaseFile::parse(&text, name, &self.registration.task_class) {
            Ok(file) => Ok((file, folder)),
            Err(error) => Err(self.load_error_entry(name, error.field(), format!("case.toml: {error}"))),
        }
    }

    /// What goes into the report for a case whose file cannot be used: the same words on every machine, so nothing of what
    /// lies before the case's folder.
    pub(crate) fn load_error(&self, name: &str, error: &FileError) -> LoadErrorEntry {
        let case_path = self.folder.path().join("cases").join(name);
        let field = error.path.strip_prefix(case_path).map(|below| below.display().to_string()).unwrap_or_default();
        self.load_error_entry(name, field, error.problem.words())
    }

    pub(crate) fn load_error_entry(&self, name: &str, field: String, message: String) -> LoadErrorEntry {
        let folder = format!("{}/cases/{}", self.registration.task_class, name.escape_default());
        LoadErrorEntry { folder, field, message }
    }
}
