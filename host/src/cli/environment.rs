//! What the process was started in: environment, clock, terminal. Read here, handed to everything else as values.

#![expect(clippy::disallowed_methods, reason = "this is the room that names the clock and the environment")]

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use jiff::SignedDuration;
use terminal_size::{Width, terminal_size_of};

use eval_model::advice::{Advice, Exit};
use eval_model::money::Usd;
use eval_model::utc::{UtcMillis, UtcMillisError};
use eval_sandbox::{Backend, CompileCache, CompileLimits, Compiler, Sandbox, SandboxConfig, SandboxError};

use crate::bench::KEY_VARIABLE;
use crate::bench::rubric_build::{Toolchain, changes_a_build};
use crate::live::agent::quoted;
use crate::output::{Held, Style};

/// The current time. A record's order never depends on it.
pub(super) fn now() -> Result<UtcMillis, EnvironmentError> {
    moment(SystemTime::now()).map_err(EnvironmentError::Clock)
}

/// What a clock shows, which may be set to anything.
fn moment(clock: SystemTime) -> Result<UtcMillis, UtcMillisError> {
    let elapsed = SignedDuration::system_until(SystemTime::UNIX_EPOCH, clock).map_err(|_| UtcMillisError::Range)?;
    UtcMillis::since_1970(elapsed)
}

/// Whether this runs in continuous integration, where nobody is there to be asked.
pub(super) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// The variables of this process that are on an agent's allow-list.
pub(super) fn variables(allowed: &[String]) -> BTreeMap<OsString, OsString> {
    allowed.iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect()
}

/// The file of the key that records are signed with, where no flag names one.
pub(super) fn signing_key() -> Option<PathBuf> {
    env::var_os(KEY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Where relative paths are looked for from.
pub(super) fn working_directory() -> Result<PathBuf, EnvironmentError> {
    env::current_dir().map_err(EnvironmentError::WorkingDirectory)
}

/// The file of this program, as it was called when it was started. Whoever can write there may have put another in its place.
pub(super) fn this_program() -> Result<PathBuf, EnvironmentError> {
    env::current_exe().map_err(EnvironmentError::Program)
}

/// The stage that this process is, if it is one between a host and its agent.
pub(super) fn cage_stage() -> Option<OsString> {
    let mut words = env::args_os().skip(1);
    words.next().filter(|word| word == eval_cage::COMMAND).map(|_| words.next().unwrap_or_default())
}

/// What this process is to compile, if it is one that compiles for another.
pub(super) fn compiler_job() -> Option<Vec<OsString>> {
    let mut words = env::args_os().skip(1);
    words.next().filter(|word| word == eval_sandbox::COMPILE).map(|_| words.collect())
}

/// The home of whoever runs this.
pub(super) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Tells a person something beside what the reporters tell.
pub(super) fn tell(text: &str) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

/// What this process was started in is not as a program needs it.
#[derive(Debug, thiserror::Error)]
pub(super) enum EnvironmentError {
    #[error("the working directory is gone")]
    WorkingDirectory(#[source] io::Error),
    #[error("eval-host cannot find its own file")]
    Program(#[source] io::Error),
    #[error(transparent)]
    Clock(UtcMillisError),
    #[error(transparent)]
    Sandbox(SandboxError),
    #[error("the setting {variable} is no number above 0")]
    Setting { variable: &'static str },
}

impl Advice for EnvironmentError {
    fn exit(&self) -> Exit {
        match self {
            Self::Setting { .. } => Exit::UsageOrCap,
            _ => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Sandbox(error) => error.hint(),
            _ => None,
        }
    }
}

/// Where agents' workspaces are made.
pub(super) fn scratch() -> PathBuf {
    env::temp_dir()
}

/// The command line of this process, with `--resume`, for a shell.
pub(super) fn resume_command() -> String {
    let mut words: Vec<_> = env::args().map(|word| quoted(&word)).collect();
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".to_owned());
    }
    words.join(" ")
}

/// The same under another cap.
pub(super) fn resume_command_under(cap: Usd) -> String {
    let words: Vec<_> = env::args().collect();
    for_a_shell(&resuming(&words, cap))
}

/// The command line of this process as one that continues a record under this cap, for a shell.
pub(super) fn continue_command(record: &Path, cap: Usd) -> String {
    let words: Vec<_> = env::args().collect();
    for_a_shell(&continuing(&words, &record.to_string_lossy(), cap))
}

const CAP: &str = "--max-cost-usd";

/// The words of a command line as one that resumes its run under another cap.
fn resuming(words: &[String], cap: Usd) -> Vec<String> {
    without(words, &[CAP]).into_iter().chain(["--resume".to_owned(), cap_flag(cap)]).collect()
}

/// The words of a command line with another record to continue and another cap. The selection is the record's.
fn continuing(words: &[String], record: &str, cap: Usd) -> Vec<String> {
    let kept = without(words, &["--cases", "--failing-from", "--limit", "--continue", CAP]);
    kept.into_iter().chain(["--continue".to_owned(), record.to_owned(), cap_flag(cap)]).collect()
}

/// The words of a command line without `--resume`, and without these flags and their values.
fn without(words: &[String], flags: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (flag, value) = word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
        match (flags.contains(&flag), value) {
            (true, Some(_)) => {}
            (true, None) => drop(rest.next()),
            (false, _) if word == "--resume" => {}
            (false, _) => kept.push(word.clone()),
        }
    }
    kept
}

/// A shell would take `$5` for a variable.
fn cap_flag(cap: Usd) -> String {
    format!("{CAP}={}", cap.to_string().trim_start_matches('$'))
}

fn for_a_shell(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Who runs this: the owner of a store must be the same.
pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// How many threads can compute at once.
pub(super) fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// How stderr should look.
pub(super) fn style(quiet: bool) -> Style {
    let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = io::stderr().is_terminal() && !dumb;
    let columns = terminal.then(|| terminal_size_of(io::stderr())).flatten();
    Style { colour: terminal && !no_colour, quiet, columns: columns.map(|(Width(columns), _)| columns.into()) }
}

/// Whether lines on stdout are held back: not on a terminal, where somebody watches and a bar is drawn.
pub(super) fn held_of_stdout() -> Held {
    if io::stdout().is_terminal() { Held::Never } else { Held::UntilFlushed }
}

/// A clock that starts now.
pub(super) fn stopwatch() -> Box<dyn Fn() -> Duration> {
    let began = Instant::now();
    Box::new(move || began.elapsed())
}

/// The file that GitHub shows on a job's page, if this runs in one.
pub(super) fn step_summary() -> Option<PathBuf> {
    env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Where this user's programs keep state that must outlive a store.
pub(super) fn state_dir() -> Option<PathBuf> {
    user_dir("XDG_STATE_HOME", ".local/state")
}

/// Where compiled rubrics are kept between runs.
pub(super) fn cache_dir() -> Option<PathBuf> {
    user_dir("XDG_CACHE_HOME", ".cache")
}

/// This program's folder below the one that a variable names, or else below one of the user's home.
fn user_dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)));
    base.map(|base| base.join("eval-host"))
}

/// The sandbox of this process, for at most `workers` cases at a time, and never more than there are cores: with more, a case
/// would lose time of its own to its neighbours. Code that was compiled before is taken from the
/// user's cache; without a home there is none, and every load compiles.
pub(super) fn sandbox(workers: NonZeroUsize) -> Result<Sandbox, EnvironmentError> {
    sandbox_with(workers, cache_dir().map_or_else(no_cache, CompileCache::Kept))
}

/// A sandbox for a verifier, which believes nothing that was compiled before.
pub(super) fn sandbox_without_cache(workers: NonZeroUsize) -> Result<Sandbox, EnvironmentError> {
    sandbox_with(workers, no_cache())
}

fn no_cache() -> CompileCache {
    CompileCache::Temporary { below: scratch() }
}

fn sandbox_with(workers: NonZeroUsize, compile_cache: CompileCache) -> Result<Sandbox, EnvironmentError> {
    let workers = NonZeroU32::try_from(workers.min(cores())).unwrap_or(NonZeroU32::MAX);
    let compiler = Compiler { program: eval_cage::ITSELF.into(), limits: compile_limits()? };
    let config = SandboxConfig { backend: Backend::Native, workers, compile_cache, compiler };
    Sandbox::new(&config).map_err(EnvironmentError::Sandbox)
}

/// What compiling a rubric may take: a setting of this machine's, and not of a bench, whose author is not to be trusted with it.
fn compile_limits() -> Result<CompileLimits, EnvironmentError> {
    let default = CompileLimits::default();
    Ok(CompileLimits {
        memory_mib: setting(CompileLimits::MEMORY_VARIABLE, default.memory_mib)?,
        cpu_seconds: setting(CompileLimits::CPU_VARIABLE, default.cpu_seconds)?,
        seconds: setting(CompileLimits::TIME_VARIABLE, default.seconds)?,
    })
}

fn setting(variable: &'static str, default: u64) -> Result<u64, EnvironmentError> {
    let Some(value) = env::var_os(variable).filter(|value| !value.is_empty()) else { return Ok(default) };
    let number = value.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.ok_or(EnvironmentError::Setting { variable })
}

/// The cargo that builds rubrics.
pub(super) fn toolchain() -> Option<Toolchain> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let variables = env::vars_os().map(|(name, _)| name);
    let cleared_variables = variables.filter(|name| name.to_str().is_some_and(changes_a_build)).collect();
    Some(Toolchain { cargo, cargo_home, cleared_variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_continued_without_what_the_record_says_itself() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let cap = Usd::from_dollars(7.5).expect("an amount");
        let line = "eval-host run --live --limit 3 --cases=00* --resume --sut x --max-cost-usd 5 --continue=1 -j 2";
        assert_eq!(
            continuing(&words(line), "runs/b.json", cap),
            words("eval-host run --live --sut x -j 2 --continue runs/b.json --max-cost-usd=7.50")
        );
    }

    #[test]
    fn a_command_line_is_resumed_under_another_cap_and_else_as_it_was() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let cap = Usd::from_dollars(7.5).expect("an amount");
        for given in ["--max-cost-usd 5 --resume", "--max-cost-usd=5", "--resume --max-cost-usd 5"] {
            let line = format!("eval-host run --live {given} --limit 3 --continue 1 --sut x");
            let expected = "eval-host run --live --limit 3 --continue 1 --sut x --resume --max-cost-usd=7.50";
            assert_eq!(resuming(&words(&line), cap), words(expected));
        }
    }

    #[test]
    fn a_clock_that_is_set_to_anything_gives_a_moment_or_an_error_and_never_a_panic() {
        let year_10_000 = Duration::from_secs(253_402_300_800);
        let shown = |clock: Option<SystemTime>| moment(clock.expect("a clock can show it")).map(|at| at.to_string());
        let millisecond = Duration::from_millis(1);
        let last = SystemTime::UNIX_EPOCH.checked_add(year_10_000 - millisecond);
        assert_eq!(shown(last), Ok("9999-12-31T23:59:59.999Z".to_owned()));
        assert_eq!(shown(SystemTime::UNIX_EPOCH.checked_add(year_10_000)), Err(UtcMillisError::Range));
        let year_0 = Duration::from_secs(62_167_219_200);
        assert_eq!(shown(SystemTime::UNIX_EPOCH.checked_sub(year_0)), Ok("0000-01-01T00:00:00.000Z".to_owned()));
        assert_eq!(shown(SystemTime::UNIX_EPOCH.checked_sub(year_0 + millisecond)), Err(UtcMillisError::Range));
        let farthest = Duration::from_secs(i64::MAX.unsigned_abs());
        assert_eq!(shown(SystemTime::UNIX_EPOCH.checked_add(farthest)), Err(UtcMillisError::Range));
        assert_eq!(shown(SystemTime::UNIX_EPOCH.checked_sub(farthest)), Err(UtcMillisError::Range));
    }
}
