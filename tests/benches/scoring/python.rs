//! The design that the sandbox replaced: a process of Python's for every case, with JSON over pipes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::json;

use super::fixture::{ANSWER, RIGHT};
use super::small::{self, Judgement};

/// The small rubric in Python.
const RUBRIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/scoring/small.py");

/// Debian's own, where it is there: a `python3` that stands earlier in the PATH may be a shell script that starts another, or look
/// through hundreds of installed packages first, and either makes the process look slower than it has to be.
const SYSTEM: &str = "/usr/bin/python3";

pub(crate) struct Python {
    program: PathBuf,
    request: Vec<u8>,
}

#[derive(Deserialize)]
struct Answer {
    passed: bool,
    score: f64,
    breakdown: Vec<(String, f64)>,
    failure_modes: Vec<String>,
}

impl Python {
    pub(crate) fn start() -> Self {
        let program = if Path::new(SYSTEM).exists() { SYSTEM } else { "python3" };
        let request = json!({ "output": ANSWER, "files": { small::FACT: RIGHT } });
        Self { program: program.into(), request: request.to_string().into_bytes() }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Judges one case, in one process.
    pub(crate) fn judged(&self) -> Judgement {
        let mut child = Command::new(&self.program)
            .args(["-I", RUBRIC])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(&self.request).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let Answer { passed, score, breakdown, failure_modes } =
            serde_json::from_slice(&output.stdout).expect("it judges");
        Judgement { passed, score, breakdown, failure_modes }
    }
}
