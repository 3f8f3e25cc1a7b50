//! The one producer of committed components: builds a rubric so that its bytes are the same on every machine.
//!
//! A committed binary cannot be reviewed, so anybody must be able to build it again. What could make two builds differ is
//! taken away here: paths of the machine are remapped, dependencies are locked, and flags that the environment would add are
//! dropped.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo's output is read where cargo puts it, and a bench is written as its curator would"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use eval_model::ids::{Digest, TaskClassName};

const TARGET: &str = "wasm32-wasip2";

/// What comes from the environment, read by the caller.
#[derive(Debug, Clone)]
pub(crate) struct Toolchain {
    pub(crate) cargo: OsString,
    pub(crate) cargo_home: PathBuf,
    /// Variables by which the environment would have a say in what is built.
    pub(crate) cleared_variables: Vec<OsString>,
}

/// Whether a variable changes what cargo or the compiler make of the same sources.
pub(crate) fn changes_a_build(variable: &str) -> bool {
    let prefixes = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_UNSTABLE_", "RUSTC"];
    let names = ["CARGO_ENCODED_RUSTFLAGS", "CARGO_INCREMENTAL", "RUSTFLAGS"];
    names.contains(&variable) || prefixes.iter().any(|prefix| variable.starts_with(prefix))
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildRubricError {
    #[error("`{}` is not a rubric's folder: it has no Cargo.toml", path.display())]
    NoSuchRubric { path: PathBuf },
    #[error("failed to start `{program}`: is the Rust toolchain installed?")]
    Start { program: String, source: io::Error },
    #[error("`{command}` failed{}", hint(*target_missing))]
    Failed { command: String, target_missing: bool },
    #[error("failed to {what} `{}`", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
}

fn hint(target_missing: bool) -> &'static str {
    if target_missing { ": add the target with `rustup target add wasm32-wasip2`" } else { "" }
}

/// A component as it is committed.
#[derive(Debug, Clone)]
pub(crate) struct BuiltRubric {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

impl BuiltRubric {
    /// The pin that is committed beside it, in b3sum's format.
    pub(crate) fn pin(&self) -> String {
        format!("{}  rubric.wasm\n", self.digest)
    }
}

/// Builds the rubric of `task_class` in the workspace `rubrics`.
pub(crate) fn build_rubric(
    rubrics: &Path,
    task_class: &TaskClassName,
    toolchain: &Toolchain,
) -> Result<BuiltRubric, BuildRubricError> {
    let package = rubrics.join(task_class.as_str());
    if !package.join("Cargo.toml").is_file() {
        return Err(BuildRubricError::NoSuchRubric { path: package });
    }
    let io_error = |what, path: &Path| {
        let path = path.to_owned();
        move |source| BuildRubricError::Io { what, path, source }
    };
    let rubrics = fs::canonicalize(rubrics).map_err(io_error("find", rubrics))?;
    // The sources must be on disk before their folders can be remapped.
    cargo(&rubrics, toolchain, &["fetch", "--locked", "--target", TARGET], None)?;
    let flags = remapped_paths(&rubrics, toolchain)?;
    let target_dir = rubrics.join("target").join("reproducible");
    let target_dir_argument = target_dir.to_string_lossy().into_owned();
    let arguments = [
        "build",
        "--release",
        "--locked",
        "--target",
        TARGET,
        "--target-dir",
        &target_dir_argument,
        "--package",
        task_class.as_str(),
    ];
    cargo(&rubrics, toolchain, &arguments, Some(&flags))?;
    let file_name = format!("{}.wasm", task_class.as_str().replace('-', "_"));
    let component = target_dir.join(TARGET).join("release").join(file_name);
    let bytes = fs::read(&component).map_err(io_error("read", &component))?;
    Ok(BuiltRubric { digest: Digest::of(&bytes), bytes })
}

fn cargo(
    rubrics: &Path,
    toolchain: &Toolchain,
    arguments: &[&str],
    flags: Option<&str>,
) -> Result<(), BuildRubricError> {
    let mut command = Command::new(&toolchain.cargo);
    command.args(arguments).current_dir(rubrics).stdin(Stdio::null()).stdout(Stdio::null());
    for variable in &toolchain.cleared_variables {
        command.env_remove(variable);
    }
    command.env("CARGO_HOME", &toolchain.cargo_home).env("CARGO_INCREMENTAL", "0");
    if let Some(flags) = flags {
        command.env("CARGO_ENCODED_RUSTFLAGS", flags);
    }
    let program = || toolchain.cargo.to_string_lossy().into_owned();
    let status = command.status().map_err(|source| BuildRubricError::Start { program: program(), source })?;
    if status.success() {
        return Ok(());
    }
    let target_missing = !sysroot(rubrics, toolchain)?.join("lib/rustlib").join(TARGET).is_dir();
    Err(BuildRubricError::Failed { command: format!("{} {}", program(), arguments.join(" ")), target_missing })
}

/// The flags that take this machine's paths out of the component, in cargo's encoding.
fn remapped_paths(rubrics: &Path, toolchain: &Toolchain) -> Result<String, BuildRubricError> {
    let sources = toolchain.cargo_home.join("registry").join("src");
    // The folder is named after the registry's address, which a mirror changes.
    let registries = match fs::read_dir(&sources) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(BuildRubricError::Io { what: "list", path: sources, source }),
    };
    let standard_library = sysroot(rubrics, toolchain)?.join("lib/rustlib/src/rust");
    let mut remaps: Vec<_> = registries.into_iter().map(|registry| (registry, "/registry")).collect();
    remaps.push((standard_library, "/rust"));
    remaps.push((rubrics.to_owned(), "/rubrics"));
    let flags: Vec<_> =
        remaps.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).collect();
    Ok(flags.join("\x1f"))
}

/// Where the toolchain that builds in `rubrics` lies; which one that is, rust-toolchain.toml says.
fn sysroot(rubrics: &Path, toolchain: &Toolchain) -> Result<PathBuf, BuildRubricError> {
    let rustc = Path::new(&toolchain.cargo).with_file_name("rustc");
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .current_dir(rubrics)
        .output()
        .map_err(|source| BuildRubricError::Start { program: rustc.display().to_string(), source })?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

/// Writes the component and its pin into the bench's folder.
pub(crate) fn install_rubric(built: &BuiltRubric, bench: &Path) -> Result<(), BuildRubricError> {
    for (name, bytes) in [("rubric.wasm", built.bytes.as_slice()), ("rubric.wasm.blake3", built.pin().as_bytes())] {
        let path = bench.join(name);
        fs::write(&path, bytes).map_err(|source| BuildRubricError::Io { what: "write", path, source })?;
    }
    Ok(())
}
