//! What a case and a load cost: `cargo bench -p eval-host-tests`.
//!
//! A rubric that reads a file, lists a folder and prints a line is scored over and over, in a fresh instance each time. Machines
//! differ, so the ratio of two threads to one is what to watch: a pool that is not tuned makes it smaller than 1.

#![expect(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use eval_host_tests::guests::{CALLS_THE_HOST_FOREVER, HONEST};
use eval_model::contract::{
    BenchCase, CaseFiles, Difficulty, Disposition, Meter, RubricRunner, ScoreRequest, Scored, Source,
};
use eval_model::ids::Digest;
use eval_model::limits::Limits;
use eval_sandbox::{Backend, CompileCache, CompileLimits, Compiler, PreparedRubric, Sandbox, SandboxConfig};

const ROUNDS: u32 = 5_000;

struct Fixture {
    rubric: PreparedRubric,
    case: BenchCase,
    files: Arc<CaseFiles>,
}

fn sandbox() -> Sandbox {
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
    fn of(component: &[u8]) -> Self {
        let sandbox = sandbox();
        let file = |path: &str| (Arc::from(path), Arc::from(vec![b'x'; 1_000]));
        let mut files: CaseFiles = (0..10).map(|index| file(&format!("input/{index}.txt"))).collect();
        files.extend([file("expected/fact.txt")]);
        Self {
            rubric: sandbox.load(component).expect("it loads").prepare(Limits::default()),
            case: BenchCase {
                case_id: "bench".parse().expect("a slug"),
                task_class: "bench".parse().expect("a slug"),
                disposition: Disposition::Positive,
                difficulty: Difficulty::Easy,
                source: Source::Curated,
                added_at: jiff::civil::date(2026, 11, 16),
            },
            files: Arc::new(files),
        }
    }

    fn scored(&self, output_json: &str) -> Scored {
        let request = ScoreRequest {
            case: &self.case,
            case_digest: Digest::of(b"bench"),
            files: &self.files,
            output_json,
            meter: Meter::default(),
        };
        self.rubric.score(&request).expect("this machine can run rubrics")
    }

    fn score(&self) -> Duration {
        let start = Instant::now();
        let scored = self.scored("{}");
        let took = start.elapsed();
        assert!(scored.result.is_ok(), "{scored:?}");
        took
    }

    /// Cases per second on this many threads.
    fn throughput(&self, threads: u32) -> f64 {
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..ROUNDS).for_each(|_| _ = self.score()));
            }
        });
        f64::from(threads * ROUNDS) / start.elapsed().as_secs_f64()
    }
}

/// How long a guest can keep the host busy with its calls before its fuel is gone: fuel should end it before the clock does.
fn longest_hold() {
    let kinds = ["clock", "read", "write", "random", "resize", "list", "walk", "create", "long-path", "long-write"];
    for kind in kinds.into_iter().chain(["long-links"]) {
        let fixture = Fixture::of(CALLS_THE_HOST_FOREVER);
        let start = Instant::now();
        let scored = fixture.scored(&format!(r#"{{"do":"{kind}"}}"#));
        let fault = scored.result.expect_err("it never returns");
        println!("all fuel spent on host calls, {kind:>10}: {:>6.2?}, {fault:?}", start.elapsed());
    }
}

/// What a load takes when the rubric has to be compiled, and when it was before.
fn loads() {
    let load = |sandbox: &Sandbox| {
        let start = Instant::now();
        sandbox.load(HONEST).expect("it loads");
        start.elapsed()
    };
    let mut compiled: Vec<Duration> = (0..20).map(|_| load(&sandbox())).collect();
    let sandbox = sandbox();
    load(&sandbox);
    let mut kept: Vec<Duration> = (0..200).map(|_| load(&sandbox)).collect();
    compiled.sort();
    kept.sort();
    let (compiled, kept) = (compiled[10], kept[100]);
    println!(
        "one load: {:.1} ms to compile, {:.1} ms from the cache: {:.0} times as fast",
        millis(compiled),
        millis(kept),
        compiled.as_secs_f64() / kept.as_secs_f64()
    );
}

fn main() {
    loads();
    longest_hold();
    let fixture = Fixture::of(HONEST);
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| fixture.score()).collect();
    times.sort();
    let median = times[times.len() / 2];
    println!("one case: {:.1} µs at best, {:.1} µs in the middle", micros(times[0]), micros(median));
    let (one, two) = (fixture.throughput(1), fixture.throughput(2));
    println!("cases per second: {one:.0} on one thread, {two:.0} on two: {:.2} times as many", two / one);
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
