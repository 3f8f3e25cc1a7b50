//! What the commands have in common that run on a bench: where it lies, its rubric, and the store that its records go to.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{ArgumentError, HostError, NamedFolder};
use super::evidence::{TrustArgs, memory_of};
use super::failure::Failure;
use super::{DEFAULT_BENCH_ROOT, LOCK_PATIENCE, Places, environment, open_named};
use crate::bench::{Bench, InputRoot, load_bench};
use eval_evidence::files::Dir;
use eval_evidence::verified::VerifiedStore;
use eval_model::ids::TaskClassName;
use eval_model::limits::Limits;
use eval_sandbox::PreparedRubric;

#[derive(Debug, Args)]
pub(super) struct BenchRootArgs {
    /// The folder with one bench per task class.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_BENCH_ROOT)]
    bench_root: PathBuf,
}

impl BenchRootArgs {
    pub(super) fn path(&self) -> &Path {
        &self.bench_root
    }

    pub(super) fn open(&self) -> Result<Dir, ArgumentError> {
        open_named(&self.bench_root, NamedFolder::BenchRoot)
    }
}

#[derive(Debug, Args)]
pub(super) struct InputRootArgs {
    /// The folder with inputs that are too large for a bench (see input-pointer.toml).
    #[arg(long, value_name = "DIR")]
    input_root: Option<PathBuf>,
}

impl InputRootArgs {
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.input_root.clone()
    }

    pub(super) fn open(&self) -> Result<InputRoot, ArgumentError> {
        let opened = self.input_root.as_deref().map(|path| open_named(path, NamedFolder::InputRoot));
        opened.transpose().map(InputRoot)
    }
}

pub(super) fn open_bench(root: &Path, task_class: &TaskClassName) -> Result<Bench, Failure> {
    Ok(load_bench(&open_named(root, NamedFolder::BenchRoot)?, task_class)?)
}

/// Opens the store, and checks it before anything is run.
pub(super) fn open_store(places: &Places, trust: TrustArgs) -> Result<VerifiedStore, Failure> {
    let memory = memory_of(places, trust)?;
    Ok(VerifiedStore::open(&places.out, memory, LOCK_PATIENCE)?)
}

/// The rubric of a bench, compiled for so many workers.
pub(super) fn prepare_rubric(bench: &Bench, workers: NonZeroUsize) -> Result<PreparedRubric, Failure> {
    let name = format!("the rubric of `{}`", bench.registration.task_class);
    prepare_component(name, &bench.rubric, bench.registration.limits, workers)
}

/// A component that serves as a rubric; `rubric` names it where it does not load.
pub(super) fn prepare_component(
    rubric: String,
    component: &[u8],
    limits: Limits,
    workers: NonZeroUsize,
) -> Result<PreparedRubric, Failure> {
    let loaded = environment::sandbox(workers)?.load(component);
    Ok(loaded.map_err(|source| HostError::LoadRubric { rubric, source })?.prepare(limits))
}
