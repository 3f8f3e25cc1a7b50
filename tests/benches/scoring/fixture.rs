//! A rubric, a case and an answer to score.

use std::fs;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use eval_model::contract::{
    BenchCase, CaseFiles, Difficulty, Disposition, Meter, RubricRunner, ScoreRequest, Scored, Source,
};
use eval_model::ids::Digest;
use eval_model::limits::Limits;
use eval_sandbox::{Backend, CompileCache, CompileLimits, Compiler, PreparedRubric, Sandbox, SandboxConfig};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::small;

/// The answer of the small case.
pub(crate) const ANSWER: &str =
    r#"{"package":"log4j-core","version":"2.17.1","files":["pom.xml","app/pom.xml"],"confidence":0.9}"#;

/// What is right in the small case, in its file [`small::FACT`].
pub(crate) const RIGHT: &str = "log4j-core\n2.17.1\npom.xml\napp/pom.xml\n";

pub(crate) struct Fixture {
    rubric: PreparedRubric,
    case: BenchCase,
    case_digest: Digest,
    files: Arc<CaseFiles>,
    output_json: String,
}

/// A recorded answer, as far as it is scored.
#[derive(Deserialize)]
struct Cassette {
    output: Box<RawValue>,
}

/// A sandbox with room for two workers, which finds nothing that was compiled before.
pub(crate) fn sandbox() -> Sandbox {
    let config = SandboxConfig {
        backend: Backend::Native,
        workers: NonZeroU32::new(2).expect("not zero"),
        compile_cache: CompileCache::Temporary { below: std::env::temp_dir() },
        compiler: Compiler {
            program: env!("CARGO_BIN_EXE_eval-host-under-test").into(),
            limits: CompileLimits::default(),
        },
    };
    Sandbox::new(&config).expect("wasmtime works here")
}

impl Fixture {
    /// A component on the small case.
    pub(crate) fn small(component: &[u8]) -> Self {
        let file = |path: &str, text: &str| (Arc::from(path), Arc::from(text.as_bytes()));
        let files = [file(small::FACT, RIGHT), file("input/pom.xml", "<project/>"), file("input/README.md", "# app")];
        Self::new(component, "small", CaseFiles::from(files), ANSWER.to_owned())
    }

    /// A component on a case of a bench, with its recorded answer.
    pub(crate) fn of_case(component: &[u8], case: &Path) -> Self {
        let mut files = CaseFiles::new();
        for folder in ["input", "expected"] {
            read_below(&case.join(folder), folder, &mut files);
        }
        let cassette = fs::read_to_string(case.join("cassette.json")).expect("a cassette");
        let cassette: Cassette = serde_json::from_str(&cassette).expect("a cassette");
        let name = case.file_name().and_then(|name| name.to_str()).expect("a name");
        Self::new(component, name, files, cassette.output.get().to_owned())
    }

    fn new(component: &[u8], case_id: &str, files: CaseFiles, output_json: String) -> Self {
        Self {
            rubric: sandbox().load(component).expect("it loads").prepare(Limits::default()),
            case: BenchCase {
                case_id: case_id.parse().expect("a slug"),
                task_class: "bench".parse().expect("a slug"),
                disposition: Disposition::Positive,
                difficulty: Difficulty::Easy,
                source: Source::Curated,
                added_at: jiff::civil::date(2026, 11, 16),
            },
            case_digest: Digest::of(case_id.as_bytes()),
            files: Arc::new(files),
            output_json,
        }
    }

    pub(crate) fn scored(&self) -> Scored {
        let request = ScoreRequest {
            case: &self.case,
            case_digest: self.case_digest,
            files: &self.files,
            output_json: &self.output_json,
            meter: Meter::default(),
        };
        self.rubric.score(&request).expect("this machine can run rubrics")
    }

    /// Scores the answer, which is a right one.
    pub(crate) fn score(&self) {
        let scored = self.scored();
        assert!(scored.result.as_ref().is_ok_and(|claim| claim.passed), "{scored:?}");
    }
}

fn read_below(folder: &Path, path: &str, files: &mut CaseFiles) {
    for entry in fs::read_dir(folder).expect("listed") {
        let entry = entry.expect("an entry");
        let path = format!("{path}/{}", entry.file_name().to_str().expect("UTF-8"));
        if entry.file_type().expect("its kind").is_dir() {
            read_below(&entry.path(), &path, files);
        } else {
            files.insert(path.into(), fs::read(entry.path()).expect("read").into());
        }
    }
}
