//! A case's files, read once into one immutable tree and hashed as they are read: what is hashed is what is scored.
//!
//! `input_digest` says what the system under test was given; `case_digest` says all that a rubric can see. Cassettes, pins and
//! `last_validated_at` are in neither, so refreshing them moves no digest.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bench::CaseFolder;
use crate::contract::{BenchCase, CaseFiles, Difficulty, Disposition, Source};
use crate::files::{FileError, FileProblem, Folder, MOST_FILE_BYTES};
use crate::ids::{CaseId, Digest, TaskClassName};

/// The file that stands in for an `input/` folder.
const POINTER: &str = "input-pointer.toml";

/// A case that is ready to be given to a system under test and to a rubric.
#[derive(Debug, Clone)]
pub(crate) struct StagedCase {
    pub(crate) case: BenchCase,
    /// `input/…` and `expected/…`.
    pub(crate) files: Arc<CaseFiles>,
    pub(crate) input_digest: Digest,
    pub(crate) case_digest: Digest,
    /// The exact bytes whose BLAKE3 is `case_digest`: which file has which digest, and the fields that a rubric sees. Kept
    /// as an object, it leads from a record to every file of the case.
    pub(crate) manifest: Vec<u8>,
}

/// The manifest's shape, which is hashed: its field order and names are a format and do not change.
#[derive(Serialize)]
struct Manifest<'a> {
    case_id: &'a CaseId,
    task_class: &'a TaskClassName,
    disposition: Disposition,
    difficulty: Difficulty,
    source: Source,
    added_at: String,
    files: Vec<(&'a str, Digest)>,
}

/// Where inputs lie that are too large for the bench's folder. The host never fetches them.
#[derive(Debug, Default)]
pub(crate) struct InputRoot(pub(crate) Option<Folder>);

/// `input-pointer.toml`: an input that lies under the input root.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputPointer {
    /// The folder below the input root, `/`-separated.
    path: String,
    /// The input's digest, by the same rule as that of an `input/` folder.
    blake3: Digest,
}

/// Reads and digests a case.
pub(crate) fn stage(case_folder: &CaseFolder, input_root: &InputRoot) -> Result<StagedCase, FileError> {
    let folder = &case_folder.folder;
    let (mut files, pinned) = match folder.contains(POINTER) {
        true => pointed_input(folder, input_root)?,
        false => (folder.read_tree("input")?, None),
    };
    if files.is_empty() {
        return Err(FileError { path: folder.path().join("input"), problem: FileProblem::Missing });
    }
    files.append(&mut folder.read_tree("expected")?);
    let staged = StagedCase::new(case_folder.file.case.clone(), Arc::new(files));
    match pinned {
        Some(pinned) if pinned != staged.input_digest => {
            let message = format!("pins {pinned}, but the input below the input root has {}", staged.input_digest);
            Err(FileError { path: folder.path().join(POINTER), problem: FileProblem::Wrong(message) })
        }
        _ => Ok(staged),
    }
}

/// Reads the input that a pointer names, as if it were the case's own `input/`.
fn pointed_input(folder: &Folder, root: &InputRoot) -> Result<(CaseFiles, Option<Digest>), FileError> {
    let wrong = |message: String| FileError { path: folder.path().join(POINTER), problem: FileProblem::Wrong(message) };
    if folder.contains("input") {
        return Err(wrong("there is an `input` folder as well: keep one of the two".to_owned()));
    }
    let text = folder.read_text(POINTER, MOST_FILE_BYTES)?;
    let pointer: InputPointer = toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
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
        parent = Some(parent.as_ref().unwrap_or(root).open(part).map_err(missing)?);
    }
    let parent = parent.as_ref().unwrap_or(root);
    let name = parts[parts.len() - 1];
    parent.open(name).map_err(missing)?;
    let files = parent.read_tree(name)?;
    let renamed = |path: &Arc<str>| Arc::from(format!("input{}", &path[name.len()..]));
    Ok((files.into_iter().map(|(path, bytes)| (renamed(&path), bytes)).collect(), Some(pointer.blake3)))
}

impl StagedCase {
    pub(crate) fn new(case: BenchCase, files: Arc<CaseFiles>) -> Self {
        let digests: Vec<_> = files.iter().map(|(path, bytes)| (path.as_ref(), Digest::of(bytes))).collect();
        let input_digest = input_digest(&digests);
        let manifest = Manifest {
            case_id: &case.case_id,
            task_class: &case.task_class,
            disposition: case.disposition,
            difficulty: case.difficulty,
            source: case.source,
            added_at: case.added_at.to_string(),
            files: digests,
        };
        let manifest = serde_json::to_vec(&manifest).expect("names and digests serialise");
        Self { input_digest, case_digest: Digest::of(&manifest), manifest, case, files }
    }
}

/// BLAKE3 over the sorted (path, BLAKE3) pairs of `input/`, each path with its length before it.
fn input_digest(digests: &[(&str, Digest)]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for (path, digest) in digests.iter().filter(|(path, _)| path.starts_with("input/")) {
        hasher.update(&(path.len() as u64).to_le_bytes());
        hasher.update(path.as_bytes());
        hasher.update(digest.as_bytes());
    }
    Digest::from_bytes(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(files: &[(&str, &str)]) -> StagedCase {
        let case = BenchCase {
            case_id: "001-a".parse().expect("a case id"),
            task_class: "vuln-remediation".parse().expect("a task class"),
            disposition: Disposition::Positive,
            difficulty: Difficulty::Easy,
            source: Source::OutcomeLedgerDerived,
            added_at: "2026-11-16".parse().expect("a date"),
        };
        let files = files.iter().map(|(path, text)| (Arc::from(*path), Arc::from(text.as_bytes()))).collect();
        StagedCase::new(case, Arc::new(files))
    }

    #[test]
    fn the_input_digest_covers_the_input_and_nothing_else() {
        let first = case(&[("expected/fix.diff", "x"), ("input/a", "1"), ("input/b", "2")]);
        let other_truth = case(&[("expected/fix.diff", "y"), ("input/a", "1"), ("input/b", "2")]);
        assert_eq!(first.input_digest, other_truth.input_digest);
        assert_ne!(first.case_digest, other_truth.case_digest);
        let moved = case(&[("expected/fix.diff", "x"), ("input/a", "12"), ("input/b", "")]);
        assert_ne!(first.input_digest, moved.input_digest);
    }

    #[test]
    fn the_digests_are_a_format_that_never_moves() {
        let staged = case(&[("expected/e", "x"), ("input/a", "1")]);
        assert_eq!(
            String::from_utf8(staged.manifest.clone()).expect("JSON"),
            format!(
                concat!(
                    r#"{{"case_id":"001-a","task_class":"vuln-remediation","disposition":"positive","difficulty":"easy","#,
                    r#""source":"outcome-ledger-derived","added_at":"2026-11-16","#,
                    r#""files":[["expected/e","{}"],["input/a","{}"]]}}"#
                ),
                Digest::of(b"x"),
                Digest::of(b"1")
            )
        );
        assert_eq!(staged.case_digest, Digest::of(&staged.manifest));
        let preimage = [&7_u64.to_le_bytes()[..], b"input/a", Digest::of(b"1").as_bytes()].concat();
        assert_eq!(staged.input_digest, Digest::of(&preimage));
    }
}
