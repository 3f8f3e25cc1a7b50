//! Golden tests: for every case of a bench some answers, and for each the score it must give.
//!
//! `bench/<slug>/tests/<case-id>/<name>.json` holds `{"output": {…}, "expect": {…}}`, where `expect` is either `passed`,
//! `score` and `failure_modes`, or `fault`, if the rubric must refuse the output. The host runs them in the sandbox; this
//! module runs the same files natively, so that a rubric's author needs no host and no wasm target. It is never part of
//! a component.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Answer, BenchCase, CaseFiles, Difficulty, Disposition, Rubric, RubricError, Source};

/// A case of a bench with its golden tests.
#[derive(Debug)]
pub struct GoldenCase {
    pub case: BenchCase,
    pub files: CaseFiles,
    /// By the name of their file, without `.json`.
    pub tests: BTreeMap<String, GoldenTest>,
}

/// One answer and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenTest {
    pub output: Value,
    pub expect: Outcome,
    /// Why an answer that an attack found is as good as a right one.
    pub equivalent: Option<String>,
}

/// What a rubric makes of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Outcome {
    Score { passed: bool, score: f64, failure_modes: Vec<String> },
    Fault { fault: Fault },
}

/// Why there is no score, by the host's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    OutputMalformed,
    RubricError,
}

/// A golden test that did not give what it must, or a folder that is not as the format wants it.
#[derive(Debug)]
pub struct GoldenFailure {
    pub at: String,
    pub what: String,
}

impl fmt::Display for GoldenFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

/// The part of case.toml that a rubric can see. The host is the one that checks the rest.
#[derive(Deserialize)]
struct CaseToml {
    case_id: String,
    task_class: String,
    disposition: String,
    difficulty: String,
    source: String,
}

/// Loads the cases of a bench with their golden tests, in the order of their names.
///
/// # Errors
///
/// The first file that cannot be read, with the reason.
pub fn load(bench: &Path) -> Result<Vec<GoldenCase>, GoldenFailure> {
    let mut cases = Vec::new();
    for folder in entries(&bench.join("cases"))? {
        let text = read(&folder.join("case.toml"))?;
        let toml: CaseToml = toml::from_str(&text).map_err(|error| failure(&folder.join("case.toml"), &error))?;
        let case = bench_case(toml).map_err(|what| failure(&folder.join("case.toml"), &what))?;
        let tests = load_tests(&bench.join("tests").join(&case.case_id))?;
        cases.push(GoldenCase { case, files: CaseFiles::below(folder), tests });
    }
    Ok(cases)
}

/// Runs every golden test of the cases, and says which do not give what they must.
pub fn check<R: Rubric>(cases: &[GoldenCase]) -> Vec<GoldenFailure> {
    let tests = cases.iter().flat_map(|golden| golden.tests.iter().map(move |(name, test)| (golden, name, test)));
    tests
        .filter_map(|(golden, name, test)| {
            let got = run::<R>(golden, &test.output);
            let what = format!("expected {:?}, got {got:?}", test.expect);
            let at = format!("{}/{name}", golden.case.case_id);
            (got != test.expect).then_some(GoldenFailure { at, what })
        })
        .collect()
}

/// What a rubric makes of one answer to one case.
pub fn run<R: Rubric>(golden: &GoldenCase, output: &Value) -> Outcome {
    let answer = Answer::new(output.to_string(), 0.0, 0.0);
    let score = R::judge(&golden.case, &answer, &golden.files).and_then(|verdict| verdict.into_score(&answer));
    match score {
        Ok(score) => Outcome::Score { passed: score.passed, score: score.score, failure_modes: score.failure_modes },
        Err(RubricError::MalformedOutput(_)) => Outcome::Fault { fault: Fault::OutputMalformed },
        Err(RubricError::MalformedCase(_) | RubricError::Internal(_)) => Outcome::Fault { fault: Fault::RubricError },
    }
}

fn load_tests(folder: &Path) -> Result<BTreeMap<String, GoldenTest>, GoldenFailure> {
    let mut tests = BTreeMap::new();
    for path in entries(folder)? {
        let test: GoldenTest = parse_json(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        tests.insert(name, test);
    }
    Ok(tests)
}

fn bench_case(toml: CaseToml) -> Result<BenchCase, String> {
    Ok(BenchCase {
        case_id: toml.case_id,
        task_class: toml.task_class,
        disposition: match toml.disposition.as_str() {
            "positive" => Disposition::Positive,
            "negative" => Disposition::Negative,
            "ambiguous" => Disposition::Ambiguous,
            other => return Err(format!("disposition: `{other}` is unknown")),
        },
        difficulty: match toml.difficulty.as_str() {
            "easy" => Difficulty::Easy,
            "medium" => Difficulty::Medium,
            "hard" => Difficulty::Hard,
            other => return Err(format!("difficulty: `{other}` is unknown")),
        },
        source: match toml.source.as_str() {
            "curated" => Source::Curated,
            "outcome-ledger-derived" => Source::OutcomeLedgerDerived,
            "regression-converted" => Source::RegressionConverted,
            other => return Err(format!("source: `{other}` is unknown")),
        },
    })
}

fn parse_json<T: DeserializeOwned>(path: &Path) -> Result<T, GoldenFailure> {
    serde_json::from_str(&read(path)?).map_err(|error| failure(path, &error))
}

fn read(path: &Path) -> Result<String, GoldenFailure> {
    fs::read_to_string(path).map_err(|error| failure(path, &error))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, GoldenFailure> {
    let listing = fs::read_dir(folder).map_err(|error| failure(folder, &error))?;
    let paths: Result<Vec<PathBuf>, _> = listing.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| failure(folder, &error))?;
    paths.sort();
    Ok(paths)
}

fn failure(path: &Path, what: &dyn fmt::Display) -> GoldenFailure {
    GoldenFailure { at: path.display().to_string(), what: what.to_string() }
}
