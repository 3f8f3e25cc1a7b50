//! A workbench with the fixture bench in a repository of its own, and an agent of the test's own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use eval_host_tests::{Ended, Eval, FIXTURE, Workbench};
use serde_json::Value;

pub(crate) use eval_host_tests::{has, until};

/// What an agent says when it does as it should. It is right nowhere, and no fault.
pub(crate) const ANSWER: &str = r#"{"output":{"action":"patch","diff":""},"cost_usd":0.01}"#;

/// Where the test and its agent can see each other.
const SHARED: &str = "shared";

/// The agents of these tests use the system's programs, wherever the developer has others.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Somebody who owns nothing on this machine.
const NOBODY: &str = "65534";

const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

/// The copy of the program that is somebody else's.
const PROGRAM: &str = "eval-host";

/// As whom, and on what kind of a machine, eval-host is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// As the tests are.
    AsIs,
    /// For a user without any right, as it is already where the tests are not root's.
    OfNobody,
    /// The kernel gives no namespaces.
    WithoutNamespaces,
    /// The kernel has no Landlock.
    WithoutLandlock,
}

/// A program that forbids the first call of Landlock and becomes another one.
const WITHOUT_LANDLOCK: &str = include_str!("agents/without_landlock.py");

pub(crate) struct Desk {
    workbench: Workbench,
    machine: Machine,
}

/// A shell script that ends with an answer if none of its lines fails.
pub(crate) fn shell(lines: &str) -> String {
    format!("#!/bin/sh\nset -e\n{lines}\necho '{ANSWER}'\n")
}

/// A Python script that ends with an answer if it does not fail. It finds the shared folder in `desk`.
pub(crate) fn python(lines: &str) -> String {
    format!(
        "#!/usr/bin/python3\nimport json, os, sys, time\ndesk = os.environ['DESK']\n{lines}\nprint('{ANSWER}', flush=True)\n"
    )
}

impl Desk {
    /// `settings` are further lines of `[sut]`. The agent finds the shared folder in `DESK`.
    pub(crate) fn new(settings: &str, agent: &str) -> Self {
        Self::on(Machine::AsIs, settings, agent)
    }

    pub(crate) fn on(machine: Machine, settings: &str, agent: &str) -> Self {
        let workbench = Workbench::with_fixture(BINARY);
        // Without rights there is nobody else to become.
        let machine = if machine == Machine::OfNobody && !is_root() { Machine::AsIs } else { machine };
        let desk = Self { workbench, machine };
        [SHARED, "tmp"].iter().for_each(|name| fs::create_dir(desk.path().join(name)).expect("a folder"));
        desk.write_program("agent", agent);
        desk.write_program("without_landlock.py", WITHOUT_LANDLOCK);
        let registration = desk.workbench.fixture().join("registration.toml");
        let registered = fs::read_to_string(&registration).expect("a registration");
        let agent = desk.path().join("agent");
        let sut = format!(
            "{registered}\n[sut]\ncommand = [\"{}\"]\nenv = [\"PATH\", \"DESK\"]\ntimeout_seconds = 100\n{settings}\n",
            agent.display()
        );
        fs::write(registration, sut).expect("a registration");
        desk.commit_bench();
        if machine == Machine::OfNobody {
            // Where this repository lies, others may not be let in.
            fs::copy(BINARY, desk.path().join(PROGRAM)).expect("a copy");
            let owner = format!("{NOBODY}:{NOBODY}");
            run("chown", &["-R", &owner, desk.path().to_str().expect("UTF-8")], desk.path());
        }
        desk
    }

    fn write_program(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }

    fn commit_bench(&self) {
        let who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"];
        run("git", &["init", "--quiet"], self.path());
        run("git", &["add", "bench"], self.path());
        run("git", &[&who[..], &["commit", "--quiet", "--message=The bench"]].concat(), self.path());
    }

    pub(crate) fn path(&self) -> &Path {
        self.workbench.path()
    }

    pub(crate) fn shared(&self) -> PathBuf {
        self.path().join(SHARED)
    }

    /// What an agent wrote into the shared folder.
    #[track_caller]
    pub(crate) fn report(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.shared().join(name)).expect("the agent reports");
        serde_json::from_str(&text).expect("JSON")
    }

    /// A live run of the first `cases` cases.
    pub(crate) fn live<const N: usize>(&self, cases: usize, args: [&str; N]) -> Eval {
        let shared = self.shared();
        self.unconfined(cases).args(["--sut-write", shared.to_str().expect("UTF-8")]).args(args)
    }

    /// A live run to which `--unconfined` can be said.
    pub(crate) fn unconfined(&self, cases: usize) -> Eval {
        self.eval(["run", "--task-class", FIXTURE, "--live", &format!("--limit={cases}")])
    }

    pub(crate) fn eval<const N: usize>(&self, args: [&str; N]) -> Eval {
        let home = self.path().join("home");
        let eval = self.workbench.eval(args).env("TMPDIR", self.path().join("tmp"));
        eval.env("XDG_CACHE_HOME", home.join(".cache")).env("PATH", PATH).env("DESK", self.shared())
    }

    /// The same command line on the desk's machine.
    pub(crate) fn there(&self, eval: Eval) -> Eval {
        let wrapper = self.path().join("without_landlock.py");
        let lines = match self.machine {
            Machine::AsIs => return eval,
            Machine::OfNobody => {
                let program = self.path().join(PROGRAM);
                let program = program.display();
                format!(r#"exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups '{program}' "$@""#)
            }
            Machine::WithoutNamespaces => {
                let lines = r#"echo 0 > /proc/sys/user/max_user_namespaces && exec "$@""#;
                format!(r#"exec unshare --user --map-root-user sh -c '{lines}' sh "$0" "$@""#)
            }
            Machine::WithoutLandlock => format!(r#"exec /usr/bin/python3 '{}' "$0" "$@""#, wrapper.display()),
        };
        eval.after(&lines)
    }

    /// Every process whose environment or command line names this desk.
    pub(crate) fn processes(&self) -> Vec<String> {
        let needle = self.path().to_str().expect("UTF-8");
        let read = |pid: u32, name: &str| {
            String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()).replace('\0', " ")
        };
        let is_ours = |pid: &u32| ["cmdline", "environ"].iter().any(|name| read(*pid, name).contains(needle));
        let pids =
            fs::read_dir("/proc").expect("/proc").filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(is_ours).map(|pid| read(pid, "cmdline")).filter(|name| !name.is_empty()).collect()
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc").uid() == 0
}

/// Runs a program of the system to its end.
#[track_caller]
fn run(program: &str, args: &[&str], folder: &Path) {
    let output = Command::new(program).args(args).current_dir(folder).output().expect("it starts");
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What the record of a run says of its agent's confinement.
#[track_caller]
pub(crate) fn confinement(ended: &Ended, desk: &Desk) -> Value {
    let record = fs::read_to_string(ended.record_path(desk.path())).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    record["confinement"].clone()
}

/// How every case ended: its outcome and its first failure mode.
pub(crate) fn outcomes(ended: &Ended) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cases = ended.lines("case");
    cases.iter().map(|line| (text(&line["outcome"]), text(&line["score"]["failure_modes"][0]))).collect()
}

#[track_caller]
pub(crate) fn all_scored(ended: &Ended) {
    let faults: Vec<_> = outcomes(ended).into_iter().filter(|(outcome, _)| outcome != "scored").collect();
    assert!(faults.is_empty(), "{faults:?}\nstdout:\n{}\nstderr:\n{}", ended.stdout, ended.stderr);
}

/// A run that is going on, killed when it is dropped.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(eval: Eval) -> Self {
        let mut command = eval.into_command();
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("eval-host starts"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("it is killed");
        self.0.wait().expect("it ends");
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
            thread::spawn(move || pipe.map(|pipe| std::io::read_to_string(pipe).expect("UTF-8")).unwrap_or_default())
        };
        let stdout = read(self.0.stdout.take().map(|pipe| Box::new(pipe) as _));
        let stderr = read(self.0.stderr.take().map(|pipe| Box::new(pipe) as _));
        let code = self.0.wait().expect("it ends").code();
        Ended { code, stdout: stdout.join().expect("no panic"), stderr: stderr.join().expect("no panic") }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
