//! A workbench with the fixture bench and an agent of the test's own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use eval_host_tests::{Eval, PATIENCE, Workbench};

pub(crate) use eval_host_tests::{FIXTURE as TASK_CLASS, has, until};

/// As many cases as any test here wants.
const CASES: usize = 30;

/// Where the test and its agents can see each other.
const SHARED: &str = "shared";

/// A workbench with an agent. The agent is a shell script that finds the case's id in `$id`, and the folder `$desk`, where
/// the test and its agents can see each other. An agent that is told nothing, because its host died, does nothing.
pub(crate) struct Desk {
    workbench: Workbench,
}

/// What the agents of a test say when they do as they should. It is right nowhere, and no fault.
pub(crate) const ANSWER: &str = r#"{"output":{"action":"patch","diff":""},"cost_usd":0.30}"#;

impl Desk {
    /// `settings` are further lines of `[sut]`.
    pub(crate) fn new(settings: &str, script: &str) -> Self {
        let workbench = Workbench::with_fixture_of(CASES, env!("CARGO_BIN_EXE_eval-host-under-test"));
        let (agent, desk) = (workbench.path().join("agent.sh"), workbench.path().join(SHARED));
        fs::create_dir(&desk).expect("a folder");
        let text = format!(
            "#!/bin/sh\ndesk='{}'\nid=$(sed 's/.*\"case_id\":\"\\([^\"]*\\)\".*/\\1/')\ntest -n \"$id\" || exit 7\n{script}\n",
            desk.display()
        );
        fs::write(&agent, text).expect("an agent");
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let registration = workbench.fixture().join("registration.toml");
        let registered = fs::read_to_string(&registration).expect("a registration");
        let sut = format!(
            "{registered}\n[sut]\ncommand = [\"{}\"]\nenv = [\"PATH\"]\nwrite = [\"{}\"]\n{settings}\n",
            agent.display(),
            desk.display()
        );
        fs::write(registration, sut).expect("a registration");
        Self { workbench }
    }

    pub(crate) fn path(&self) -> &Path {
        self.workbench.path()
    }

    /// The folder in which the test and its agents see each other.
    pub(crate) fn shared(&self) -> PathBuf {
        self.path().join(SHARED)
    }

    /// A live run of the first `cases` cases.
    pub(crate) fn live<const N: usize>(&self, cases: usize, args: [&str; N]) -> Eval {
        self.live_of(&[&format!("--limit={cases}")]).args(args)
    }

    /// A live run that continues a capped one.
    pub(crate) fn continued<const N: usize>(&self, record: &str, args: [&str; N]) -> Eval {
        self.live_of(&["--continue", record]).args(args)
    }

    fn live_of(&self, cases: &[&str]) -> Eval {
        let tmp = self.path().join("tmp");
        fs::create_dir_all(&tmp).expect("a folder for workspaces");
        self.workbench.eval(["run", "--task-class", TASK_CLASS, "--live"]).args(cases).env("TMPDIR", tmp)
    }

    pub(crate) fn eval<const N: usize>(&self, args: [&str; N]) -> Eval {
        self.workbench.eval(args)
    }

    /// The names of the first `count` cases.
    pub(crate) fn cases(&self, count: usize) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.workbench.fixture().join("cases"))
            .expect("the cases")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort_unstable();
        names.truncate(count);
        names
    }

    /// The lines of a file that eval-host writes.
    pub(crate) fn kept(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The lines that agents have written to a file on the desk.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.shared().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn records(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path().join(".codegenie/eval/runs")) else { return Vec::new() };
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    /// Every process whose environment or command line names this desk, but for the test's own.
    pub(crate) fn processes(&self) -> Vec<String> {
        let needle = self.path().to_str().expect("UTF-8");
        let is_ours = |pid: &u32| {
            let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let contains = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(needle);
            contains(&read("cmdline")) || contains(&read("environ"))
        };
        let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
        let entries = fs::read_dir("/proc").expect("/proc");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(is_ours).map(name).filter(|name| !name.is_empty()).collect()
    }
}

/// A run that is going on, killed when it is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    stderr: mpsc::Receiver<String>,
    said: Vec<String>,
}

impl Running {
    pub(crate) fn start(eval: Eval) -> Self {
        let mut command: Command = eval.into_command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("eval-host starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, stderr: receiver, said: Vec::new() }
    }

    /// Waits for a line on stderr that contains `text`.
    #[track_caller]
    pub(crate) fn says(&mut self, text: &str) {
        while !self.said.last().is_some_and(|line| line.contains(text)) {
            match self.stderr.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("it never said {text:?} ({error}), but:\n{}", self.said.join("\n")),
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Waits for its end: the exit code, stdout, stderr.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().expect("piped");
        pipe.read_to_string(&mut stdout).expect("UTF-8");
        let code = self.child.wait().expect("it ends").code();
        self.said.extend(self.stderr.iter());
        (code, stdout, self.said.join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
