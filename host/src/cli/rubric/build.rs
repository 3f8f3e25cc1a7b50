//! `eval-host rubric build`: the one producer of committed components.

use std::path::PathBuf;

use clap::Args;

use crate::bench::list_task_classes;
use crate::bench::rubric_build::{BuiltRubric, build_rubric, install_rubric};
use crate::cli::bench::BenchRootArgs;
use crate::cli::environment;
use crate::cli::error::HostError;
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::output::lines::{Line, RubricLine};
use eval_evidence::files::Dir;
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
    #[command(flatten)]
    bench_root: BenchRootArgs,
    /// Write nothing; exit 5 if the committed component is not what the sources build.
    #[arg(long)]
    check: bool,
}

pub(super) fn build(args: &BuildArgs) -> Result<Exit, Failure> {
    let toolchain = environment::toolchain().ok_or(HostError::NoCargoHome)?;
    let root = args.bench_root.open()?;
    let task_classes = match &args.task_class {
        Some(task_class) => vec![task_class.clone()],
        None => list_task_classes(&root)?,
    };
    let mut printer = Printer::stdio();
    let mut exit = Exit::Ok;
    for task_class in task_classes {
        printer.tell(&format!("building the rubric of {task_class}"));
        let built = build_rubric(&args.rubrics, &task_class, &toolchain)
            .map_err(|source| HostError::BuildRubric { task_class: task_class.clone(), source })?;
        let bench = args.bench_root.path().join(task_class.as_str());
        if args.check && !is_committed(&built, &root, &task_class) {
            let digest = built.digest;
            printer.tell(&format!("`{}` is not what its sources build, {digest}", bench.join("rubric.wasm").display()));
            exit = Exit::AnswerIsNo;
        }
        if !args.check {
            install_rubric(&built, &bench)
                .map_err(|source| HostError::InstallRubric { task_class: task_class.clone(), source })?;
        }
        printer.data(&Line::Rubric(RubricLine::new(&task_class, &built)));
    }
    printer.finish(exit)
}

fn is_committed(built: &BuiltRubric, root: &Dir, task_class: &TaskClassName) -> bool {
    let committed = |name| root.child(task_class.as_str()).and_then(|bench| bench.read(name, u64::MAX - 1)).ok();
    committed("rubric.wasm").as_deref() == Some(&built.bytes)
        && committed("rubric.wasm.blake3").as_deref() == Some(built.pin().as_bytes())
}
