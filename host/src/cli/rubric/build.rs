//! `eval-host rubric build`: the one producer of committed components.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::bench::list_task_classes;
use crate::bench::rubric_build::{BuiltRubric, build_rubric, install_rubric};
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::cli::surroundings;
use crate::output::lines::{Line, RubricLine};
use eval_evidence::files::Folder;
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;

#[derive(Debug, Args)]
pub(in crate::cli) struct BuildArgs {
    /// The bench whose rubric to build [default: every bench].
    #[arg(long, value_name = "NAME")]
    task_class: Option<TaskClassName>,
    /// The workspace of the rubrics' sources.
    #[arg(long, value_name = "DIR", default_value = "rubrics")]
    rubrics: PathBuf,
    /// The folder with one bench per task class.
    #[arg(long, value_name = "DIR", default_value = "bench")]
    bench_root: PathBuf,
    /// Write nothing; exit 5 if the committed component is not what the sources build.
    #[arg(long)]
    check: bool,
}

pub(super) fn build(args: &BuildArgs) -> Result<Exit, Failure> {
    let toolchain = surroundings::toolchain().ok_or_else(|| {
        Failure::new(Exit::HarnessError, "neither CARGO_HOME nor HOME is set, so cargo's folder is unknown")
    })?;
    let root = Folder::open_ambient(&args.bench_root).map_err(|error| {
        Failure::new(Exit::UsageOrCap, error.to_string()).hint("name the benches' folder with --bench-root")
    })?;
    let task_classes = match &args.task_class {
        Some(task_class) => vec![task_class.clone()],
        None => list_task_classes(&root)?,
    };
    let mut printer = Printer::stdio();
    let mut exit = Exit::Ok;
    for task_class in task_classes {
        printer.tell(&format!("building the rubric of {task_class}"));
        let built = build_rubric(&args.rubrics, &task_class, &toolchain).map_err(|error| {
            Failure::new(Exit::HarnessError, format!("failed to build the rubric of `{task_class}`")).caused_by(&error)
        })?;
        let bench = args.bench_root.join(task_class.as_str());
        if args.check && !is_committed(&built, &root, &task_class) {
            let digest = built.digest;
            printer.tell(&format!("`{}` is not what its sources build, {digest}", bench.join("rubric.wasm").display()));
            exit = Exit::AnswerIsNo;
        }
        if !args.check {
            install(&built, &bench)?;
        }
        printer.data(&Line::Rubric(RubricLine::new(&task_class, &built)));
    }
    printer.finish(exit)
}

fn is_committed(built: &BuiltRubric, root: &Folder, task_class: &TaskClassName) -> bool {
    let committed = |name| root.open(task_class.as_str()).and_then(|bench| bench.read(name, u64::MAX - 1)).ok();
    committed("rubric.wasm").as_deref() == Some(&built.bytes)
        && committed("rubric.wasm.blake3").as_deref() == Some(built.pin().as_bytes())
}

fn install(built: &BuiltRubric, bench: &Path) -> Result<(), Failure> {
    install_rubric(built, bench)
        .map_err(|error| Failure::new(Exit::HarnessError, "the rubric was built, but not installed").caused_by(&error))
}
