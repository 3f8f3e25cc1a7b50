//! What every guest of the suite comes to: `cargo bench -p eval-host-tests --bench fuel`, the table of `docs/hostile-guests.md`.
//!
//! A guest has the default limits, so one that never ends has a billion fuel to spend; `-- 3` takes the least of three runs, `-- 1
//! chases` those with such a name. CPU time is that of the thread that scores: compiling is no part of it, and other processes
//! hardly are.

#![expect(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::{env, fs};

use eval_host_tests::{asked_of, guests};
use eval_model::contract::{
    BenchCase, CaseFiles, Difficulty, Disposition, Meter, RubricRunner, ScoreRequest, Scored, Source,
};
use eval_model::ids::Digest;
use eval_model::limits::Limits;
use eval_model::outcome::CaseFault;
use eval_model::score::BenchScore;
use eval_sandbox::{Backend, CompileCache, CompileLimits, Compiler, PreparedRubric, Sandbox, SandboxConfig};

struct Fixture {
    case: BenchCase,
    files: Arc<CaseFiles>,
}

impl Fixture {
    fn new() -> Self {
        let file = |path: &str| (Arc::from(path), Arc::from(&b"some text"[..]));
        Self {
            case: BenchCase {
                case_id: "hostile".parse().expect("a slug"),
                task_class: "hostile".parse().expect("a slug"),
                disposition: Disposition::Positive,
                difficulty: Difficulty::Easy,
                source: Source::Curated,
                added_at: jiff::civil::date(2026, 11, 16),
            },
            files: Arc::new(CaseFiles::from(["input/a.txt", "input/nested/b.txt", "expected/fact.txt"].map(file))),
        }
    }

    /// What came of it, and the CPU time that it took.
    fn score(&self, rubric: &PreparedRubric, asked: &str) -> (Scored, f64) {
        let request = ScoreRequest {
            case: &self.case,
            case_digest: Digest::of(b"hostile"),
            files: &self.files,
            output_json: &format!(r#"{{"do":"{asked}"}}"#),
            meter: Meter::default(),
        };
        let before = cpu_seconds();
        let scored = rubric.score(&request).expect("this machine can run rubrics");
        (scored, cpu_seconds() - before)
    }
}

/// The CPU time of this thread.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux says");
    let nanoseconds: f64 = text.split(' ').next().expect("a field").parse().expect("a number");
    nanoseconds / 1e9
}

fn ended(scored: Scored) -> String {
    match scored.result.and_then(|claim| BenchScore::admit(claim, Meter::default(), &BTreeSet::new())) {
        Ok(_) => "scored".to_owned(),
        Err(fault) => CaseFault::Rubric(fault).name().to_owned(),
    }
}

fn print_guest(fixture: &Fixture, rubric: &PreparedRubric, name: &str, asked: &str, runs: usize) {
    let runs = (0..runs).map(|_| fixture.score(rubric, asked));
    let (scored, seconds) = runs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("at least one run");
    let (fuel, rate) = match scored.fuel_used {
        Some(fuel) if fuel > 10_000_000 => (fuel.to_string(), format!("{:.1}", seconds * 1e9 / fuel as f64)),
        Some(fuel) => (fuel.to_string(), "-".to_owned()),
        None => ("unknown".to_owned(), "-".to_owned()),
    };
    println!("| `{name}` | {asked} | `{}` | {fuel} | {seconds:.3} | {rate} |", ended(scored));
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let runs = arguments.first().map_or(1, |runs| runs.parse().expect("how many runs"));
    let wanted = arguments.get(1).map_or("", String::as_str);
    let config = SandboxConfig {
        backend: Backend::Native,
        workers: NonZeroU32::new(1).expect("not zero"),
        compile_cache: CompileCache::Temporary { below: env::temp_dir() },
        compiler: Compiler {
            program: env!("CARGO_BIN_EXE_eval-host-under-test").into(),
            limits: CompileLimits::default(),
        },
    };
    let sandbox = Sandbox::new(&config).expect("wasmtime works here");
    let fixture = Fixture::new();
    println!("| guest | asked for | ends as | fuel | CPU seconds | per 1e9 fuel |\n|---|---|---|--:|--:|--:|");
    for (name, component) in guests::ALL.iter().filter(|(name, _)| name.contains(wanted)) {
        match sandbox.load(component) {
            Err(_) => println!("| `{name}` | | does not load | - | - | - |"),
            Ok(rubric) => {
                let rubric = rubric.prepare(Limits::default());
                asked_of(name).iter().for_each(|asked| print_guest(&fixture, &rubric, name, asked, runs));
            }
        }
    }
}
