//! The judgement of the small rubric of the benchmarks: parses an answer and holds it to the lines of one file of the case.
//!
//! It stands alone, because two programs run it: the guest `judges_a_version` includes this file, and so does the benchmark, which
//! calls it without any sandbox. `tests/benches/scoring/small.py` says the same in Python.

use serde::Deserialize;

/// Where the case says what is right: a package, a version, and the files that have to change, a line for each.
pub(crate) const FACT: &str = "expected/fact.txt";

#[derive(Deserialize)]
pub(crate) struct Answer {
    package: String,
    version: String,
    files: Vec<String>,
    confidence: f64,
}

/// What an answer is worth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) passed: bool,
    pub(crate) score: f64,
    pub(crate) breakdown: Vec<(String, f64)>,
    pub(crate) failure_modes: Vec<String>,
}

impl Answer {
    pub(crate) fn parse(json: &str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    pub(crate) fn judge(&self, fact: &str) -> Judgement {
        let mut lines = fact.lines();
        let facts = [
            ("wrong_package", lines.next() == Some(self.package.as_str())),
            ("wrong_version", lines.next() == Some(self.version.as_str())),
            ("wrong_files", lines.eq(self.files.iter().map(String::as_str))),
        ];
        let holding = facts.iter().filter(|(_, holds)| *holds).count();
        Judgement {
            passed: holding == facts.len(),
            score: holding as f64 / facts.len() as f64,
            breakdown: vec![("confidence".to_owned(), self.confidence), ("holding".to_owned(), holding as f64)],
            failure_modes: facts.iter().filter(|(_, holds)| !holds).map(|(mode, _)| (*mode).to_owned()).collect(),
        }
    }
}
