//! What the process was started in: environment, clock, terminal. Read here, handed to everything else as values.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use jiff::Timestamp;

use super::exit::Exit;
use super::problem::Problem;
use crate::output::Style;
use crate::record::GitCommit;
use crate::rubric_build::Toolchain;
use crate::sandbox::{Backend, Sandbox, SandboxConfig};
use crate::utc::UtcMillis;

/// The current time. A record's order never depends on it.
pub(super) fn now() -> Result<UtcMillis, Problem> {
    UtcMillis::new(Timestamp::now()).map_err(|error| Problem::from_error(Exit::HarnessError, &error))
}

/// Whether this runs in continuous integration, where nobody is there to be asked.
pub(super) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// Who runs this: the owner of a store must be the same.
pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// How many threads score at once unless the operator says otherwise.
pub(super) fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// How stderr should look.
pub(super) fn style(quiet: bool) -> Style {
    let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    Style { colour: io::stderr().is_terminal() && !no_colour && !dumb, quiet }
}

/// Where this user's programs keep state that must outlive a store.
pub(super) fn state_dir() -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let stated = env::var_os("XDG_STATE_HOME").and_then(absolute);
    let base = stated.or_else(|| Some(env::var_os("HOME").and_then(absolute)?.join(".local/state")));
    base.map(|base| base.join("eval-host"))
}

/// Where compiled rubrics are kept between runs.
pub(super) fn cache_dir() -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let stated = env::var_os("XDG_CACHE_HOME").and_then(absolute);
    let base = stated.or_else(|| Some(env::var_os("HOME").and_then(absolute)?.join(".cache")));
    base.map(|base| base.join("eval-host"))
}

/// The sandbox of this process, for at most `workers` cases at a time. Code that was compiled before is taken from the
/// user's cache; without a home there is none, and every load compiles.
pub(super) fn sandbox(workers: NonZeroUsize) -> Result<Sandbox, Problem> {
    sandbox_with(workers, cache_dir())
}

/// A sandbox for a verifier, which believes nothing that was compiled before.
pub(super) fn sandbox_without_cache(workers: NonZeroUsize) -> Result<Sandbox, Problem> {
    sandbox_with(workers, None)
}

fn sandbox_with(workers: NonZeroUsize, compile_cache: Option<PathBuf>) -> Result<Sandbox, Problem> {
    let workers = NonZeroU32::try_from(workers).unwrap_or(NonZeroU32::MAX);
    let config = SandboxConfig { backend: Backend::Native, workers, compile_cache };
    Sandbox::new(&config).map_err(|error| Problem::from_error(Exit::HarnessError, &error))
}

/// The cargo that builds rubrics.
pub(super) fn toolchain() -> Option<Toolchain> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    Some(Toolchain { cargo, cargo_home })
}

/// The commit that the bench's folder is checked out at, if it is in a git repository and git is installed.
pub(super) fn git_commit(folder: &Path) -> Option<GitCommit> {
    let output = Command::new("git").arg("-C").arg(folder).args(["rev-parse", "--verify", "HEAD"]).output().ok()?;
    let commit = output.status.success().then_some(String::from_utf8(output.stdout).ok()?)?;
    commit.trim_end().parse().ok()
}

/// Every file below `folder` that git tracks, relative to it; `None` outside of a repository.
pub(super) fn git_tracked(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    git_paths(folder, &["ls-files", "-z"])
}

/// Every file below `folder` at a commit, relative to it.
pub(super) fn git_files_at(folder: &Path, commit: &str) -> Option<BTreeSet<PathBuf>> {
    git_paths(folder, &["ls-tree", "-r", "-z", "--name-only", "--end-of-options", commit])
}

fn git_paths(folder: &Path, arguments: &[&str]) -> Option<BTreeSet<PathBuf>> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let path = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
    output.status.success().then(|| output.stdout.split(|byte| *byte == 0).map(path).collect())
}
