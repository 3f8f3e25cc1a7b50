//! What a process costs before it does anything, and how much memory it has when it does much. Prints figures; there is nothing to
//! pass or fail. python3 asks the kernel for the peak of a process that has ended, which Rust's standard library cannot.

#![expect(clippy::print_stdout, reason = "a benchmark's figures are its output")]

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use eval_host_tests::{Eval, Workbench, copy_tree};

const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

const STARTS: usize = 200;

const PEAK: &str = "import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";

const CPU: &str = "import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime, used.ru_stime)";

/// A bench with this many cases: those of vuln-remediation, over and over under other names.
fn bench_of(cases: usize) -> Workbench {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    let folder = workbench.path().join("bench/vuln-remediation/cases");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("cases")
        .map(|entry| entry.expect("a case").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort_unstable();
    for copy in names.len()..cases {
        let (original, name) = (&names[copy % names.len()], format!("copy-{copy:05}"));
        copy_tree(&folder.join(original), &folder.join(&name));
        let file = folder.join(&name).join("case.toml");
        let text = fs::read_to_string(&file).expect("case.toml").replace(original.as_str(), &name);
        fs::write(file, text).expect("case.toml");
    }
    workbench
}

/// The most memory that a command had, in MB, and how long it took.
fn peak(eval: Eval) -> (u64, Duration) {
    let (printed, time) = measured(PEAK, eval);
    let kilobytes: u64 = printed.trim().parse().expect("a number");
    (kilobytes / 1000, time)
}

/// Seconds of a processor that a command took of its own and in the kernel, and how long it took.
fn cpu(eval: Eval) -> (f64, f64, Duration) {
    let (printed, time) = measured(CPU, eval);
    let (user, system) = printed.trim().split_once(' ').expect("two numbers");
    (user.parse().expect("a number"), system.parse().expect("a number"), time)
}

/// What python3 says of a command that it ran to its end, and how long that took.
fn measured(script: &str, eval: Eval) -> (String, Duration) {
    let command = eval.into_command();
    let start = Instant::now();
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(command.get_current_dir().expect("a folder"))
        .output()
        .expect("python3 runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), start.elapsed())
}

/// What a small case costs, with a record and without (a shard keeps no objects), by the number of cases and of workers.
fn small_cases() {
    // What is compiled is in the cache from then on.
    cpu(Workbench::with_small_cases(1, BINARY).eval(["run", "--task-class=fixture"]));
    for cases in [1_000, 10_000, 100_000] {
        let workbench = Workbench::with_small_cases(cases, BINARY);
        for (name, flags) in [("a record", &[][..]), ("a shard", &["--shard=1/1"])] {
            for workers in ["-j1", "-j2"] {
                let run = workbench.eval(["run", "--task-class=fixture", workers]).args(flags);
                let (user, system, time) = cpu(run);
                for left in [".codegenie", "home/.local"] {
                    fs::remove_dir_all(workbench.path().join(left)).expect("what a run leaves");
                }
                let [user, system, time] = [user, system, time.as_secs_f64()].map(|all| all * 1e6 / cases as f64);
                println!(
                    "{name} of {cases:>6} small cases, {workers}: {user:.0} µs + {system:.0} µs in the kernel per case, {time:.0} µs on the clock"
                );
            }
        }
    }
}

fn start(program: &str, args: &[&str]) -> Duration {
    let mut times: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let start = Instant::now();
            let status = Command::new(program).args(args).stdout(Stdio::null()).status().expect("it starts");
            assert!(status.success(), "{program}");
            start.elapsed()
        })
        .collect();
    times.sort();
    times[STARTS / 2]
}

/// What a verdict costs, which replays every case of the record that it judges.
fn gate() {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    peak(workbench.eval(["run", "--task-class=vuln-remediation", "--quiet"]));
    let judge = ["promote-verdict", "--task-class=vuln-remediation", "--target-tier=silver"];
    for (name, flag) in [("compiled before", &[][..]), ("--no-cache", &["--no-cache"])] {
        let (megabytes, time) = peak(workbench.eval(judge).args(flag));
        println!("promote-verdict, 41 cases, {name:>15}: {megabytes:>4} MB at most, {time:.2?}");
    }
}

/// What it costs to start an agent in its cage, against one that is not confined.
fn cage() {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    let agent = r#"--sut=echo '{"output":{},"cost_usd":0}'"#;
    let live = ["run", "--task-class=vuln-remediation", "--live", "-j1", "--quiet", agent];
    let middle = |flags: &[&str]| {
        let ended = workbench.eval(live).args(flags).run();
        let lines = ended.lines("case");
        let mut times: Vec<f64> =
            lines.iter().filter_map(|line| line["score"]["duration_seconds"].as_f64()).map(|time| time * 1e3).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (free, caged) = (middle(&["--unconfined"]), middle(&[]));
    let alone = start("/bin/sh", &["-c", "echo"]);
    println!(
        "an agent that answers at once: {free:.0} ms unconfined, {caged:.0} ms caged, {:.2} times; its shell alone: {alone:.2?}",
        caged / free
    );
}

fn main() {
    cage();
    let (ours, nothing) = (start(BINARY, &["--version"]), start("/bin/true", &[]));
    println!("eval-host --version: {ours:.2?} in the middle of {STARTS} starts; /bin/true: {nothing:.2?}");
    gate();
    small_cases();
    for cases in [100, 300, 1_000, 3_000] {
        let workbench = bench_of(cases);
        for (name, concurrency) in [("one worker", "-j1"), ("two workers", "-j2")] {
            let run = ["run", "--task-class=vuln-remediation", "--quiet", concurrency];
            let (megabytes, time) = peak(workbench.eval(run));
            println!("run of {cases:>5} cassettes, {name:>11}: {megabytes:>4} MB at most, {time:.2?}");
        }
        let (megabytes, time) = peak(workbench.eval(["verify", "--replay"]));
        println!("verify --replay of both records:      {megabytes:>4} MB at most, {time:.2?}");
    }
}
