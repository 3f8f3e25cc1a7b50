//! Processes from their start to their exit, with everything compiled before. All of them take turns, and each is as fast as its
//! fastest turn: what the machine does when it has nothing else to do.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use eval_host_tests::{Bound, Eval, Figures, Workbench, copy_tree, project_root};

use crate::BINARY;

const TASK_CLASSES: [&str; 2] = ["vuln-remediation", "migration-chainguard-distroless"];

/// Debian's own, where it is there: one that stands earlier in the PATH may be a shell script that starts another.
const PYTHON: &str = "/usr/bin/python3";

pub(crate) fn measure(figures: Figures) {
    let rounds = figures.size(40, 3);
    let benches = TASK_CLASSES.map(|task_class| Workbench::with_bench(BINARY, task_class));
    let both = benches_together();
    for workbench in &benches {
        run(workbench).run();
    }
    let [mut version, mut nothing, mut python, mut fence] = [f64::INFINITY; 4];
    let mut runs = [f64::INFINITY; 2];
    for _ in 0..rounds {
        nothing = nothing.min(seconds(Command::new("/bin/true")));
        version = version.min(seconds(both.eval(["--version"]).into_command()));
        python = python.min(seconds(import_json()));
        fence = fence.min(seconds(both.eval(["fence"]).into_command()));
        for (least, workbench) in runs.iter_mut().zip(&benches) {
            // Every run has a new store, as a job of continuous integration has.
            workbench.forget_runs();
            *least = least.min(seconds(run(workbench).into_command()));
        }
    }
    figures.figure("/bin/true, from start to exit", nothing * 1e3, "ms");
    figures.figure("eval-host --version, from start to exit", version * 1e3, "ms");
    figures.figure("python3 -c \"import json\", from start to exit", python * 1e3, "ms");
    for (least, (task_class, workbench)) in runs.iter().zip(TASK_CLASSES.iter().zip(&benches)) {
        let name = format!("run of {task_class} ({} cases), from start to exit", cases_of(workbench, task_class));
        figures.figure(&name, least * 1e3, "ms");
    }
    let pythons = python * cases_of(&benches[0], TASK_CLASSES[0]) as f64;
    figures.ratio("run of vuln-remediation to eval-host --version", runs[0] / version, Bound::AtMost(10.0));
    let name = "python3 -c \"import json\" for every case to a run of vuln-remediation";
    figures.ratio(name, pythons / runs[0], Bound::AtLeast(100.0));
    figures.required("fence of both benches", fence, "s", Bound::AtMost(0.2));
    verdict(figures, &benches[0], rounds);
}

/// What a verdict costs, which replays every case of the record that it judges.
fn verdict(figures: Figures, workbench: &Workbench, rounds: usize) {
    let judge = ["promote-verdict", "--task-class=vuln-remediation", "--target-tier=silver"];
    let once = || {
        let begin = Instant::now();
        // Solved examples are no evidence, so the answer is no.
        let _ = workbench.eval(judge).run().expect_code(5);
        begin.elapsed().as_secs_f64()
    };
    let least = (0..rounds).map(|_| once()).fold(f64::INFINITY, f64::min);
    figures.figure("promote-verdict of vuln-remediation, from start to exit", least * 1e3, "ms");
}

fn benches_together() -> Workbench {
    let workbench = Workbench::empty(BINARY);
    copy_tree(&project_root().join("bench"), &workbench.path().join("bench"));
    workbench
}

fn run(workbench: &Workbench) -> Eval {
    let names = fs::read_dir(workbench.path().join("bench")).expect("benches");
    let name = names.map(|entry| entry.expect("an entry").file_name()).next().expect("a bench");
    let task_class = format!("--task-class={}", name.to_str().expect("UTF-8"));
    workbench.eval(["run", "--quiet", &task_class])
}

fn cases_of(workbench: &Workbench, task_class: &str) -> usize {
    fs::read_dir(workbench.path().join("bench").join(task_class).join("cases")).expect("cases").count()
}

fn import_json() -> Command {
    let mut command = Command::new(if Path::new(PYTHON).exists() { PYTHON } else { "python3" });
    command.args(["-c", "import json"]);
    command
}

fn seconds(mut command: Command) -> f64 {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status().expect("it starts");
    assert!(status.success(), "{command:?}: {status}");
    begin.elapsed().as_secs_f64()
}
