//! Runs eval-host as an operator would, in an environment that holds nothing of the developer's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// An eval-host command line.
#[derive(Debug)]
pub struct Eval {
    command: Command,
}

/// What a command line did.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Eval {
    /// Starts `binary` in `folder`, with `home` as the only thing it knows of its user.
    pub fn new(binary: &Path, folder: &Path, home: &Path) -> Self {
        let mut command = Command::new(binary);
        command.current_dir(folder).env_clear().env("HOME", home).stdin(Stdio::null());
        // The second is where a measurement of coverage wants its figures.
        for name in ["PATH", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        Self { command }
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs lines of shell first, such as `umask 0`, in the process that then becomes eval-host.
    #[must_use]
    pub fn after(self, shell: &str) -> Self {
        self.wrapped("/bin/sh", &["-c", &format!("{shell}\nexec \"$0\" \"$@\"")])
    }

    /// Lets a hang-up and Ctrl-\ do what they usually do, also where the tests themselves were told to ignore them: a shell
    /// cannot take that back.
    #[must_use]
    pub fn with_default_signals(self) -> Self {
        self.wrapped("env", &["--default-signal=HUP,QUIT"])
    }

    /// The same command line behind another program that becomes it.
    fn wrapped(self, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .stdin(Stdio::null())
            .env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.command.get_current_dir().unwrap_or(Path::new(".")));
        Self { command }
    }

    /// The command itself, for tests that need more than its output.
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or prints anything but UTF-8.
    pub fn run(mut self) -> Ended {
        let Output { status, stdout, stderr } = self.command.output().expect("eval-host starts");
        Ended {
            code: status.code(),
            stdout: String::from_utf8(stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(stderr).expect("stderr is UTF-8"),
        }
    }
}

impl Ended {
    /// Asserts the exit code, and shows everything when it is another.
    ///
    /// # Panics
    ///
    /// If the code is another.
    #[track_caller]
    #[must_use]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// stdout as JSON lines of one kind.
    ///
    /// # Panics
    ///
    /// If a line is not JSON.
    #[track_caller]
    pub fn lines(&self, kind: &str) -> Vec<Value> {
        let parse = |line| serde_json::from_str::<Value>(line).expect("stdout is JSON lines");
        self.stdout.lines().map(parse).filter(|line| line["kind"] == kind).collect()
    }

    /// The only line of a kind.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    #[track_caller]
    pub fn line(&self, kind: &str) -> Value {
        let mut lines = self.lines(kind);
        assert_eq!(lines.len(), 1, "lines of kind {kind} in:\n{}", self.stdout);
        lines.remove(0)
    }

    /// The record that a run wrote.
    #[track_caller]
    pub fn record_path(&self, folder: &Path) -> PathBuf {
        folder.join(self.line("record")["path"].as_str().expect("a path"))
    }
}
