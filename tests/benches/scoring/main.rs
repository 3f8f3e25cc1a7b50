//! What scoring a case costs: `cargo bench --workspace --bench scoring`, with `-- --table` for a script.
//!
//! One run measures all that its ratios compare, in turns, so that a machine that is busy for a while is so for all of them: the small
//! rubric as a native call, in the sandbox and as a process of Python's per case (which the sandbox replaced), an empty rubric, and
//! a real rubric on a real case; then one thread against two, and a load that compiles against one from the cache.
//!
//! The figure of a call is the least of many batches: what the machine does when it has nothing else to do. That is kind to
//! everything it is compared with.

mod fixture;
mod python;
#[path = "../../guests/shared/small.rs"]
mod small;
mod timing;

use std::fs;
use std::hint::black_box;

use eval_host_tests::guests::{JUDGES_A_VERSION, JUDGES_NOTHING};
use eval_host_tests::{Bound, Figures, project_root};

use fixture::{ANSWER, Fixture, RIGHT};
use python::Python;
use small::{Answer, Judgement};
use timing::{Subject, loads, measure, pace};

/// What scoring in the sandbox may cost: so many native calls, and so much.
const NATIVE_CALLS: f64 = 3.0;
const SANDBOX_MICROS: f64 = 35.0;

/// The same judgement without a sandbox; reading a file of the case is copying it, as it is in the sandbox.
fn native() -> Judgement {
    let answer = Answer::parse(black_box(ANSWER)).expect("the answer is one");
    let fact = black_box(RIGHT).to_owned();
    answer.judge(&fact)
}

/// Three ways to the same judgement are compared, so it has to be the same.
fn check(small: &Fixture, python: &Python) {
    let claim = small.scored().result.expect("it judges");
    let sandboxed = Judgement {
        passed: claim.passed,
        score: claim.score,
        breakdown: claim.breakdown,
        failure_modes: claim.failure_modes,
    };
    assert_eq!(sandboxed, native());
    assert_eq!(python.judged(), native());
}

fn calls(figures: Figures) {
    let (empty, small) = (Fixture::small(JUDGES_NOTHING), Fixture::small(JUDGES_A_VERSION));
    let bench = project_root().join("bench/vuln-remediation");
    let component = fs::read(bench.join("rubric.wasm")).expect("the rubric");
    let real = Fixture::of_case(&component, &bench.join("cases/001-ws-several-branches"));
    let python = Python::start();
    check(&small, &python);
    figures.note(&format!("python: {}", python.program().display()));

    let [native, empty, small, real, python] = measure(&[
        Subject { batch: 2_000, call: &|| drop(black_box(native())) },
        Subject { batch: 100, call: &|| empty.score() },
        Subject { batch: 100, call: &|| small.score() },
        Subject { batch: 10, call: &|| real.score() },
        Subject { batch: 1, call: &|| drop(python.judged()) },
    ]);
    figures.figure("small rubric, native call", native, "µs");
    figures.figure("empty rubric, sandboxed", empty, "µs");
    figures.figure("small rubric, sandboxed", small, "µs");
    figures.figure("vuln-remediation on a case, sandboxed", real, "µs");
    figures.figure("small rubric, a python3 -I process", python, "µs");
    let allowed = NATIVE_CALLS * native + SANDBOX_MICROS;
    let name = format!("small rubric, sandboxed to {NATIVE_CALLS} native calls and {SANDBOX_MICROS} µs");
    figures.ratio(&name, small / allowed, Bound::AtMost(1.0));
    figures.ratio("small rubric, a python3 -I process to sandboxed", python / small, Bound::AtLeast(1_000.0));
}

fn threads(figures: Figures) {
    let small = Fixture::small(JUDGES_A_VERSION);
    let [one, two] = pace(&|| small.score(), [1, 2]);
    for (threads, pace) in [("one thread", one), ("two threads", two)] {
        figures.figure(&format!("small rubric, {threads}"), pace.cases_per_second, "cases per second");
        figures.figure(&format!("small rubric, {threads}, CPU time of a case"), pace.cpu_micros, "µs");
    }
    let faster = two.cases_per_second / one.cases_per_second;
    figures.ratio("small rubric, two threads to one", faster, Bound::AtLeast(1.6));
    // What two free cores would make of it: all that is lost is what the threads cost each other.
    let by_cpu = 2.0 * one.cpu_micros / two.cpu_micros;
    figures.ratio("small rubric, two threads to one, by CPU time", by_cpu, Bound::AtLeast(1.6));
}

fn preparing(figures: Figures) {
    let (cold, warm) = loads(JUDGES_A_VERSION);
    figures.figure("prepare, compiling", cold / 1e3, "ms");
    figures.figure("prepare, from the compile cache", warm / 1e3, "ms");
    figures.ratio("prepare, from the compile cache to compiling", warm / cold, Bound::AtMost(0.05));
}

fn main() {
    let figures = Figures::asked_for();
    calls(figures);
    threads(figures);
    preparing(figures);
}
