//! What is attacked: the answers of a bench that pass, and those that are known to be as good.
//!
//! A golden test that says why it is `equivalent` is a survivor that a curator accepted. It is known, and it is not attacked
//! itself: steps away from it would be two steps away from a right answer, without end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::own::{self, OwnMutator};
use crate::answers::{CassetteError, read_cassette};
use crate::bench::golden::{GoldenError, golden_tests};
use crate::bench::strict_toml::TomlError;
use crate::bench::{BenchFolder, InputRoot, LoadedCase};
use eval_evidence::cassette::CassetteKind;
use eval_evidence::files::{FileError, MOST_FILE_BYTES};
use eval_model::advice::{Advice, Exit};
use eval_model::case::ReadCase;
use eval_model::contract::RunnerError;
use eval_model::ids::Digest;
use eval_model::report::LoadErrorEntry;

/// The file with a bench's own mutators.
pub(crate) const OWN_MUTATORS: &str = "mutators.toml";

#[derive(Debug, thiserror::Error)]
pub(crate) enum AttackError {
    #[error("a case cannot be attacked")]
    Case(#[source] LoadErrorEntry),
    #[error("the cassette of `{case_name}` cannot be attacked")]
    Cassette { case_name: String, source: CassetteError },
    #[error("the golden tests of `{case_name}` cannot be read")]
    Golden { case_name: String, source: GoldenError },
    #[error("`{path}`: {error}")]
    OwnMutators { path: String, error: TomlError },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{answer}` of `{case_name}` does not pass, so its mutants would say nothing: {outcome}")]
    DoesNotPass { case_name: String, answer: String, outcome: String },
    #[error("the attack was not finished")]
    Runner(#[source] RunnerError),
}

impl Advice for AttackError {
    fn exit(&self) -> Exit {
        match self {
            Self::DoesNotPass { .. } => Exit::AnswerIsNo,
            _ => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        let is_wrong = matches!(self, Self::DoesNotPass { .. });
        is_wrong.then(|| "`eval-host rubric test` says which golden tests hold; mend those first".to_owned())
    }
}

/// A bench as the attack sees it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(super) cases: Vec<AttackedCase>,
    pub(super) own: Vec<OwnMutator>,
    pub(super) block: BTreeSet<String>,
    /// Covers all that an attack depends on, but for the rubric and the mutators of every bench.
    pub(crate) digest: Digest,
}

#[derive(Debug)]
pub(super) struct AttackedCase {
    pub(super) read: ReadCase,
    /// Answers that pass, by name.
    pub(super) answers: Vec<(String, Value)>,
    /// Survivors that were accepted: the test's name and the reason.
    pub(super) accepted: BTreeMap<Digest, (String, String)>,
}

/// One text for equal answers, whatever their spelling.
pub(super) fn canonical(answer: &Value) -> String {
    answer.to_string()
}

impl Target {
    /// Reads all that is attacked.
    pub(crate) fn of(bench: &BenchFolder, input_root: &InputRoot) -> Result<Self, AttackError> {
        let mut seen = Seen::default();
        let own = own_mutators(bench, &mut seen)?;
        let block = bench.registration.standards.block_modes.clone();
        block.iter().for_each(|mode| seen.add("block", Digest::of(mode.as_bytes())));
        let mut cases = Vec::new();
        for name in bench.case_names() {
            let case = bench.read_case(name, input_root).map_err(AttackError::Case)?;
            seen.add(name, case.read.case_digest);
            cases.push(attacked_case(bench, name, case, &mut seen)?);
        }
        Ok(Self { cases, own, block, digest: Digest::of(&seen.0) })
    }

    /// How many answers are attacked.
    pub(crate) fn answers(&self) -> usize {
        self.cases.iter().map(|case| case.answers.len()).sum()
    }
}

/// The bytes that the digest covers: names and digests, each name with its length before it.
#[derive(Default)]
struct Seen(Vec<u8>);

impl Seen {
    fn add(&mut self, name: &str, digest: Digest) {
        self.0.extend_from_slice(&(name.len() as u64).to_le_bytes());
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(digest.as_bytes());
    }
}

fn own_mutators(bench: &BenchFolder, seen: &mut Seen) -> Result<Vec<OwnMutator>, AttackError> {
    let text = match bench.folder.read_text(OWN_MUTATORS, MOST_FILE_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    seen.add(OWN_MUTATORS, Digest::of(text.as_bytes()));
    let path = bench.folder.path().join(OWN_MUTATORS).display().to_string();
    own::parse(&text).map_err(|error| AttackError::OwnMutators { path, error })
}

fn attacked_case(
    bench: &BenchFolder,
    name: &str,
    case: LoadedCase,
    seen: &mut Seen,
) -> Result<AttackedCase, AttackError> {
    let mut attacked = AttackedCase { answers: Vec::new(), accepted: BTreeMap::new(), read: case.read };
    let cassette = read_cassette(&case.folder, case.file.cassette_name())
        .map_err(|source| AttackError::Cassette { case_name: name.to_owned(), source })?;
    if let (CassetteKind::SolvedExample, Ok(output)) = (cassette.kind, &cassette.output) {
        seen.add("cassette", Digest::of(output.as_bytes()));
        attacked.add("cassette", value(output));
    }
    let tests = golden_tests(&bench.folder, name)
        .map_err(|source| AttackError::Golden { case_name: name.to_owned(), source })?;
    for test in tests {
        seen.add(&test.name, test.digest);
        match test.equivalent {
            Some(reason) => {
                let digest = Digest::of(canonical(&value(&test.output_json)).as_bytes());
                attacked.accepted.insert(digest, (test.name, reason));
            }
            None if test.expected.passes() => attacked.add(&test.name, value(&test.output_json)),
            None => {}
        }
    }
    Ok(attacked)
}

impl AttackedCase {
    /// The same answer under two names is attacked once.
    fn add(&mut self, name: &str, answer: Value) {
        if self.answers.iter().all(|(_, known)| *known != answer) {
            self.answers.push((name.to_owned(), answer));
        }
    }
}

/// Whoever read the file has seen that it is JSON.
fn value(output_json: &str) -> Value {
    serde_json::from_str(output_json).expect("an answer that was read is JSON")
}
