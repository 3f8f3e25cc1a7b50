//! A case as it was read: its files, hashed as they are, and its manifest both ways.
//!
//! `input_digest` says what the system under test was given; `case_digest` says all that a rubric can see. Cassettes, pins and
//! `last_validated_at` are in neither, so refreshing them moves no digest. Where the bytes come from is the caller's business:
//! a bench's folder when a run is made, the objects of a store when it is replayed.

use std::sync::Arc;

use jiff::civil::Date;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use crate::contract::{BenchCase, CaseFiles, Difficulty, Disposition, Source};
use crate::ids::{CaseId, Digest, TaskClassName};
use crate::json;

/// A case that is ready to be given to a system under test and to a rubric.
#[derive(Debug, Clone)]
pub struct ReadCase {
    pub case: BenchCase,
    /// `input/…` and `expected/…`.
    pub files: Arc<CaseFiles>,
    /// In the order of the files.
    file_digests: Vec<Digest>,
    pub input_digest: Digest,
    pub case_digest: Digest,
    /// The exact bytes whose BLAKE3 is `case_digest`: which file has which digest, and the fields that a rubric sees. Kept
    /// as an object, it leads from a record to every file of the case.
    pub manifest: Vec<u8>,
}

/// The manifest's shape, which is hashed: its field order and names are a format and do not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseManifest<P = String> {
    case_id: CaseId,
    task_class: TaskClassName,
    disposition: Disposition,
    difficulty: Difficulty,
    source: Source,
    added_at: Date,
    files: Vec<(P, Digest)>,
}

impl ReadCase {
    /// Hashes the files, once.
    pub fn new(case: BenchCase, files: Arc<CaseFiles>) -> Self {
        let file_digests: Vec<_> = files.values().map(|bytes| Digest::of(bytes)).collect();
        let digests: Vec<_> = files.keys().map(AsRef::as_ref).zip(file_digests.iter().copied()).collect();
        let input_digest = input_digest(&digests);
        let manifest = CaseManifest {
            case_id: case.case_id.clone(),
            task_class: case.task_class.clone(),
            disposition: case.disposition,
            difficulty: case.difficulty,
            source: case.source,
            added_at: case.added_at,
            files: digests,
        };
        let manifest = serde_json::to_vec(&manifest).expect("names and digests serialise");
        Self { input_digest, case_digest: Digest::of(&manifest), manifest, case, files, file_digests }
    }

    /// The content of every file, with its digest: whoever keeps it need not hash it again.
    pub fn contents(&self) -> impl Iterator<Item = (Digest, &Arc<[u8]>)> {
        self.file_digests.iter().copied().zip(self.files.values())
    }
}

impl CaseManifest {
    /// Reads a manifest back, without forgiving anything.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let text = str::from_utf8(bytes).map_err(|_| serde_json::Error::custom("it is not UTF-8 text"))?;
        json::parse(text)
    }

    pub fn case_id(&self) -> &CaseId {
        &self.case_id
    }

    pub fn task_class(&self) -> &TaskClassName {
        &self.task_class
    }

    /// What the system under test was given.
    pub fn input_digest(&self) -> Digest {
        input_digest(&self.files().collect::<Vec<_>>())
    }

    /// The case's files: each path, and the digest of its content.
    pub fn files(&self) -> impl Iterator<Item = (&str, Digest)> {
        self.files.iter().map(|(path, digest)| (path.as_str(), *digest))
    }

    /// The case with these files.
    pub fn into_case(self, files: CaseFiles) -> ReadCase {
        let case = BenchCase {
            case_id: self.case_id,
            task_class: self.task_class,
            disposition: self.disposition,
            difficulty: self.difficulty,
            source: self.source,
            added_at: self.added_at,
        };
        ReadCase::new(case, Arc::new(files))
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

    fn case(files: &[(&str, &str)]) -> ReadCase {
        let case = BenchCase {
            case_id: "001-a".parse().expect("a case id"),
            task_class: "vuln-remediation".parse().expect("a task class"),
            disposition: Disposition::Positive,
            difficulty: Difficulty::Easy,
            source: Source::OutcomeLedgerDerived,
            added_at: "2026-11-16".parse().expect("a date"),
        };
        let files = files.iter().map(|(path, text)| (Arc::from(*path), Arc::from(text.as_bytes()))).collect();
        ReadCase::new(case, Arc::new(files))
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
        let read = case(&[("expected/e", "x"), ("input/a", "1")]);
        assert_eq!(
            String::from_utf8(read.manifest.clone()).expect("JSON"),
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
        assert_eq!(read.case_digest, Digest::of(&read.manifest));
        let preimage = [&7_u64.to_le_bytes()[..], b"input/a", Digest::of(b"1").as_bytes()].concat();
        assert_eq!(read.input_digest, Digest::of(&preimage));
    }

    #[test]
    fn every_file_comes_with_its_own_digest() {
        let read = case(&[("input/b", "2"), ("expected/e", "x"), ("input/a", "1")]);
        let contents: Vec<_> = read.contents().map(|(digest, bytes)| (digest, bytes.to_vec())).collect();
        assert_eq!(contents, [b"x", b"1", b"2"].map(|bytes| (Digest::of(bytes), bytes.to_vec())));
    }

    #[test]
    fn a_manifest_is_read_back_in_its_one_spelling_alone() {
        let read = case(&[("expected/e", "x"), ("input/a", "1")]);
        let manifest = CaseManifest::parse(&read.manifest).expect("a manifest");
        assert_eq!((manifest.case_id(), manifest.input_digest()), (&read.case.case_id, read.input_digest));
        let text = String::from_utf8(read.manifest).expect("JSON");
        let list = format!(
            r#"["001-a","vuln-remediation","positive","easy","outcome-ledger-derived","2026-11-16",[["input/a","{}"]]]"#,
            Digest::of(b"1")
        );
        for (from, to) in [
            (r#""positive""#, r#"{"positive":null}"#),
            (r#"{"case_id""#, r#"{"case_id":"001-a","case_id""#),
            (r#"{"case_id""#, r#"{"weather":"fine","case_id""#),
            (r#"["input/a","#, r#"{"input/a":"#),
            (text.as_str(), list.as_str()),
        ] {
            assert!(text.contains(from), "{from}");
            CaseManifest::parse(text.replace(from, to).as_bytes()).expect_err(to);
        }
        let error = CaseManifest::parse(b"{\"case_id\":\"\xff\"}").expect_err("no text");
        assert_eq!(error.to_string(), "it is not UTF-8 text");
    }
}
