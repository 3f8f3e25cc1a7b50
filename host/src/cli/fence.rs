//! `eval-host fence`: everything that must hold before a bench is worth running.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::bench::{BenchRootArgs, InputRootArgs};
use super::error::ArgumentError;
use super::failure::Failure;
use super::printer::Printer;
use super::{environment, git};
use crate::bench::fence::{GitFacts, fence as check_benches};
use crate::output::counted;
use crate::output::lines::Line;
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;

#[derive(Debug, Args)]
pub(super) struct FenceArgs {
    /// The commit to compare with: a registration that is not there is new, and must be bronze.
    #[arg(long, value_name = "GIT REV")]
    base: Option<String>,
    #[command(flatten)]
    bench_root: BenchRootArgs,
    #[command(flatten)]
    input_root: InputRootArgs,
}

pub(super) fn fence(args: &FenceArgs) -> Result<Exit, Failure> {
    let root = args.bench_root.open()?;
    let input_root = args.input_root.open()?;
    let git = GitFacts {
        tracked: git::tracked(args.bench_root.path()),
        registered_at_base: args.base.as_deref().map(|base| registered_at(args.bench_root.path(), base)).transpose()?,
    };
    let mut printer = Printer::stdio();
    if git.tracked.is_none() {
        printer.tell(&format!(
            "warning: `{}` is in no git repository, so the fence does not check which files are tracked",
            args.bench_root.path().display()
        ));
    }
    let sandbox = environment::sandbox(NonZeroUsize::MIN)?;
    let tries = |component: &[u8]| sandbox.load(component).map(drop);
    let (benches, gaps) = check_benches(&root, &git, &input_root, &tries)?;
    for gap in &gaps {
        printer.tell(&format!("{}: {}", gap.path.display(), gap.message));
        printer.data(&Line::from(gap));
    }
    let benches = counted(benches as u64, "bench");
    let exit = match gaps.len() {
        0 => {
            printer.tell(&format!("{benches}, nothing missing"));
            Exit::Ok
        }
        count => {
            printer.tell(&format!("{benches}, {}", counted(count as u64, "gap")));
            Exit::AnswerIsNo
        }
    };
    printer.finish(exit)
}

fn registered_at(bench_root: &Path, base: &str) -> Result<BTreeSet<TaskClassName>, ArgumentError> {
    let files = git::files_at(bench_root, base).ok_or_else(|| ArgumentError::NotACommit { base: base.to_owned() })?;
    let slug = |file: &PathBuf| match file.iter().collect::<Vec<_>>().as_slice() {
        [slug, name] if *name == "registration.toml" => slug.to_str()?.parse().ok(),
        _ => None,
    };
    Ok(files.iter().filter_map(slug).collect())
}
