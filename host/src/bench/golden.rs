//! Golden tests of a rubric: `tests/<case-id>/<name>.json` holds an answer and the score that it must give.
//!
//! They run in the same sandbox and under the same limits as a run, so a rubric that passes them here behaves the same when a
//! score counts. What a golden test expects is compared exactly: a rubric is deterministic, so there is nothing to tolerate.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use eval_evidence::files::{FileError, Folder, MOST_FILE_BYTES};
use eval_model::advice::Advice;
use eval_model::case::ReadCase;
use eval_model::contract::{Meter, RubricRunner, RunnerError};
use eval_model::json;
use eval_model::judge::judge;

/// One golden test, as its file says.
#[derive(Debug)]
pub(crate) struct GoldenTest {
    pub(crate) name: String,
    output_json: String,
    pub(crate) expected: Outcome,
}

/// What a rubric makes of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Score {
        passed: bool,
        score: f64,
        failure_modes: BTreeSet<String>,
    },
    /// The name of the fault, without the words behind it.
    Fault(String),
}

impl Outcome {
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::Score { passed: true, .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Score { passed, score, failure_modes } => {
                let modes: Vec<_> = failure_modes.iter().map(String::as_str).collect();
                let verdict = if *passed { "pass" } else { "fail" };
                write!(f, "{verdict} {score} [{}]", modes.join(", "))
            }
            Self::Fault(name) => f.write_str(name),
        }
    }
}

/// What came of a golden test.
#[derive(Debug)]
pub(crate) struct GoldenResult {
    pub(crate) actual: Outcome,
    /// The whole failure mode, for people, when it was a fault.
    pub(crate) fault: Option<String>,
    pub(crate) fuel_used: Option<u64>,
    pub(crate) peak_memory_bytes: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GoldenError {
    #[error("{0}")]
    File(FileError),
    #[error("`{path}` is not a golden test: {message}")]
    Malformed { path: String, message: String },
}

impl Advice for GoldenError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenFile {
    output: Box<RawValue>,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    passed: Option<bool>,
    score: Option<f64>,
    failure_modes: Option<BTreeSet<String>>,
    fault: Option<String>,
}

/// The golden tests of one case, by name. A case without a folder has none.
pub(crate) fn golden_tests(bench: &Folder, case_name: &str) -> Result<Vec<GoldenTest>, GoldenError> {
    let folder = match bench.open("tests").and_then(|tests| tests.open(case_name)) {
        Ok(folder) => folder,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(GoldenError::File(error)),
    };
    let entries = folder.entries().map_err(GoldenError::File)?;
    entries.iter().map(|(file_name, _)| golden_test(&folder, case_name, file_name)).collect()
}

/// The names below `tests/` that are no case of the bench.
pub(crate) fn orphaned_tests(bench: &Folder, case_names: &[String]) -> Result<Vec<String>, FileError> {
    let names = match bench.open("tests").and_then(|tests| tests.entries()) {
        Ok(entries) => entries.into_iter().map(|(name, _)| name),
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(names.filter(|name| !case_names.contains(name)).collect())
}

fn golden_test(folder: &Folder, case_name: &str, file_name: &str) -> Result<GoldenTest, GoldenError> {
    let malformed = |message: String| {
        let path = format!("tests/{case_name}/{file_name}");
        GoldenError::Malformed { path, message }
    };
    let name =
        file_name.strip_suffix(".json").ok_or_else(|| malformed("its name does not end in `.json`".to_owned()))?;
    let text = folder.read_text(file_name, MOST_FILE_BYTES).map_err(GoldenError::File)?;
    json::check_object(&text).map_err(|error| malformed(error.to_string()))?;
    let file: GoldenFile = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    let expected = file
        .expect
        .outcome()
        .ok_or_else(|| malformed("expect has either passed, score and failure_modes, or fault".to_owned()))?;
    Ok(GoldenTest { name: name.to_owned(), output_json: file.output.get().to_owned(), expected })
}

impl Expect {
    fn outcome(self) -> Option<Outcome> {
        match self {
            Self { passed: Some(passed), score: Some(score), failure_modes: Some(failure_modes), fault: None } => {
                Some(Outcome::Score { passed, score, failure_modes })
            }
            Self { passed: None, score: None, failure_modes: None, fault: Some(name) } => Some(Outcome::Fault(name)),
            _ => None,
        }
    }
}

/// Runs one golden test.
pub(crate) fn run_golden(
    test: &GoldenTest,
    case: &ReadCase,
    runner: &dyn RubricRunner,
    block: &BTreeSet<String>,
) -> Result<GoldenResult, RunnerError> {
    let judged = judge(runner, case, &test.output_json, Meter::default(), block)?;
    let actual = match &judged.fault {
        None => Outcome::Score {
            passed: judged.score.passed(),
            score: judged.score.score(),
            failure_modes: judged.score.failure_modes().iter().cloned().collect(),
        },
        Some(fault) => Outcome::Fault(fault.name().to_owned()),
    };
    Ok(GoldenResult {
        actual,
        fault: judged.fault.map(|fault| fault.to_string()),
        fuel_used: judged.fuel_used,
        peak_memory_bytes: judged.peak_memory_bytes,
    })
}
