//! A workbench with command-line agents that are none: programs with their names, which print what those are documented to print.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use eval_host_tests::{Ended, FIXTURE, Workbench, copy_tree, project_root};
use serde_json::{Value, json};

/// The first case of the fixture, whose right answer every fake gives.
pub(crate) const CASE: &str = "001-greets";

/// The prompt of the tests. It begins with a dash, as no flag does that an agent must not mistake it for.
const PROMPT: &str = "--greet whom the note in {workspace} is for,\nfor {budget_usd} dollars. {braces} stay.";

pub(crate) fn adapters() -> PathBuf {
    project_root().join("host/examples/adapters")
}

/// A workbench with the fixture; `tools/` with the fakes and what they print; `notes/`, where they write down what they were told.
pub(crate) struct Stage {
    workbench: Workbench,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { workbench: Workbench::with_fixture(super::BINARY) };
        for folder in ["tools", "notes", "tmp", "workspace"] {
            fs::create_dir(stage.path().join(folder)).expect("a folder");
        }
        copy_tree(&project_root().join("tests/fixture/agents"), &stage.tools().join("printed"));
        copy_tree(&stage.workbench.fixture().join("cases").join(CASE).join("input"), &stage.workspace());
        fs::write(stage.tools().join("prompt.txt"), PROMPT).expect("a prompt");
        stage
    }

    pub(crate) fn path(&self) -> &Path {
        self.workbench.path()
    }

    pub(crate) fn tools(&self) -> PathBuf {
        self.path().join("tools")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path().join("workspace")
    }

    /// Puts a program on the path. It knows the folders as `$tools` and `$notes`.
    pub(crate) fn install(&self, name: &str, script: &str) {
        let (tools, notes) = (self.tools(), self.path().join("notes"));
        let head = format!("#!/bin/sh\ntools='{}'\nnotes='{}'\n", tools.display(), notes.display());
        self.install_file(name, &format!("{head}{script}\n"));
    }

    pub(crate) fn install_file(&self, name: &str, text: &str) {
        let path = self.tools().join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }

    /// What a fake wrote down.
    #[track_caller]
    pub(crate) fn note(&self, name: &str) -> String {
        fs::read_to_string(self.path().join("notes").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn has_note(&self, name: &str) -> bool {
        self.path().join("notes").join(name).exists()
    }

    /// The fakes, and then the system's programs: whoever has a Python of their own somewhere else keeps it to themselves.
    fn path_variable(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.tools().display())
    }

    /// How a live run of one case is asked for. This is the one place that says what the agents of these tests need of the
    /// machine beside their workspace: the adapters and `tools/` to read, and `notes/` to write.
    fn live_flags(&self, command: &str) -> Vec<String> {
        let flag = |flag: &str, path: &Path| format!("--sut-{flag}={}", path.display());
        let reach = [
            flag("read", &adapters()),
            flag("read", &self.path().join("tools")),
            flag("write", &self.path().join("notes")),
        ];
        [
            "run",
            "--live",
            "--task-class",
            FIXTURE,
            "--limit=1",
            "--max-cost-usd=0.5",
            "--capture=workspace-diff",
            "--record=recorded",
        ]
        .into_iter()
        .map(str::to_owned)
        .chain(reach)
        .chain([format!("--sut={command}")])
        .collect()
    }

    /// A live run of one case by eval-host.
    pub(crate) fn live(&self, command: &str) -> Ended {
        let eval = self.workbench.eval([]).args(self.live_flags(command));
        eval.env("PATH", self.path_variable()).env("TMPDIR", self.path().join("tmp")).run()
    }

    /// The answer that a live run recorded.
    pub(crate) fn recorded(&self) -> Value {
        let path = self.path().join("recorded").join(format!("{CASE}.json"));
        serde_json::from_str(&fs::read_to_string(path).expect("a cassette")).expect("JSON")
    }

    /// A command that eval-host would start, started by the test: in the workspace, and with the variables of the protocol.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.workspace()).env_clear().env("PATH", self.path_variable()).env("HOME", self.path());
        command.env("TMPDIR", self.path().join("tmp"));
        command.env("EVAL_HOST_COST_FILE", self.path().join("cost"));
        command.env("EVAL_HOST_AGENT_FILE", self.path().join("agent.json"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What an adapter does with a request, without eval-host.
    pub(crate) fn adapter(&self, name: &str, arguments: &[&str]) -> Output {
        let mut command = self.command(Path::new("python3"));
        command.arg(adapters().join(name)).args(arguments);
        self.ask(command, 0.5)
    }

    /// Runs a command to its end, with a request that has this budget.
    pub(crate) fn ask(&self, mut command: Command, budget_usd: f64) -> Output {
        let mut agent = command.spawn().expect("it starts");
        let mut stdin = agent.stdin.take().expect("its stdin");
        // An adapter that has something to complain about does so before it reads.
        let _ = writeln!(stdin, "{}", self.request(budget_usd));
        drop(stdin);
        agent.wait_with_output().expect("it ends")
    }

    pub(crate) fn request(&self, budget_usd: f64) -> Value {
        let case = json!({ "case_id": CASE, "task_class": FIXTURE });
        json!({ "protocol": 1, "case": case, "workspace": self.workspace(), "budget_usd": budget_usd })
    }

    /// What was written to the cost file.
    pub(crate) fn cost(&self) -> Option<String> {
        fs::read_to_string(self.path().join("cost")).ok().map(|text| text.trim().to_owned())
    }

    pub(crate) fn agent(&self) -> Value {
        let text = fs::read_to_string(self.path().join("agent.json")).expect("who answered");
        serde_json::from_str(&text).expect("JSON")
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
