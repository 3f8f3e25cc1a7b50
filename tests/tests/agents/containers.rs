//! `host/examples/adapters/container.sh`, with a client of a container engine that is none: it writes its words down, and runs the
//! command of the container as a process of its own that does not die with it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::stage::{Stage, adapters, stderr};

/// Long enough for a loaded machine, and short enough that a test which hangs is noticed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client as docker's, for `run` and `rm --force`. A path of the container is the path outside that is mounted there.
const CLIENT: &str = r#"#!/usr/bin/python3
import json, os, signal, subprocess, sys

notes = "NOTES"
words = sys.argv[1:]
with open(f"{notes}/{words[0]}", "w") as file:
    json.dump(words, file)
if words[0] == "rm":
    with open(f"{notes}/{words[2]}") as file:
        os.killpg(int(file.read()), signal.SIGKILL)
    sys.exit(0)

flags = {"--rm", "--init", "--interactive"}
mounts, env, given, rest = [], {"PATH": os.environ["PATH"]}, {}, words[1:]
while rest[0].startswith("--"):
    flag = rest.pop(0)
    if flag in flags:
        continue
    value = rest.pop(0)
    given[flag] = value
    if flag == "--volume":
        mounts.append(value.split(":")[:2])
    if flag == "--env":
        name, _, text = value.partition("=")
        env[name] = text or os.environ.get(name, "")

def outside(text):
    for source, target in mounts:
        text = text.replace(target, source)
    return text

command = [given["--entrypoint"], *(outside(word) for word in rest[1:])]
env = {name: outside(text) for name, text in env.items()}
container = subprocess.Popen(command, cwd=given["--workdir"], env=env, start_new_session=True)
with open(f"{notes}/{given['--name']}", "w") as file:
    file.write(str(container.pid))
code = container.wait()
try:
    os.killpg(container.pid, signal.SIGKILL)
except ProcessLookupError:
    pass
sys.exit(128 - code if code < 0 else code)
"#;

fn stage_with(client: &str) -> Stage {
    let stage = Stage::new();
    stage.install_file(client, &CLIENT.replace("NOTES", &stage.path().join("notes").display().to_string()));
    stage
}

fn script() -> PathBuf {
    adapters().join("container.sh")
}

/// The words that the client was told, with what differs from run to run by a name.
fn told(stage: &Stage, verb: &str, workspace: &str) -> Vec<String> {
    let words: Vec<String> = serde_json::from_str(&stage.note(verb)).expect("words");
    let folder = words.iter().find_map(|word| word.strip_suffix(":/eval-host")).unwrap_or("?").to_owned();
    let name = folder.rsplit('/').next().expect("a name").to_owned();
    let redact =
        |word: &String| word.replace(&folder, "<shared>").replace(&name, "<name>").replace(workspace, "<workspace>");
    words.iter().map(redact).collect()
}

fn id(flag: &str) -> String {
    let output = Command::new("id").arg(flag).output().expect("id runs");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

#[test]
fn an_agent_in_a_container_sees_the_workspace_and_its_cost_comes_out() {
    let stage = stage_with("docker");
    stage.install(
        "claude",
        r#"test "$1" = --version && { echo '2.1.240 (Claude Code)'; exit 0; }
pwd > "$notes/workspace"; echo "$HOME" > "$notes/home"; echo "$SECRET" > "$notes/secret"
cat > "$notes/prompt"; echo 'Hello, Ada!' >> note.txt; cat "$tools/printed/claude-code/finished.json""#,
    );
    let command = format!(
        "SECRET=key {} --network bridge --env SECRET --volume {}:/adapters:ro -- agents:1 python3 /adapters/claude_code.py --prompt prompt.txt",
        script().display(),
        adapters().display()
    );
    let ended = stage.live(&command).expect_code(0);
    let case = ended.line("case");
    assert_eq!((&case["score"]["passed"], &case["score"]["cost_usd"]), (&true.into(), &0.087_341_5.into()), "{case}");
    assert_eq!(stage.note("secret"), "key\n");

    let workspace = stage.note("workspace").trim().to_owned();
    let words = told(&stage, "run", &workspace);
    let user = format!("{}:{}", id("-u"), id("-g"));
    let adapters = format!("{}:/adapters:ro", adapters().display());
    let expected = [
        &["run"][..],
        &["--rm", "--init", "--interactive", "--name", "eval-host-<name>", "--entrypoint", "sh"],
        &["--user", &user, "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
        &["--volume", "<workspace>:<workspace>", "--workdir", "<workspace>", "--volume", "<shared>:/eval-host"],
        &["--env", "HOME=/eval-host/home", "--env", "EVAL_HOST_COST_FILE=/eval-host/cost_usd"],
        &["--env", "EVAL_HOST_AGENT_FILE=/eval-host/agent.json"],
        &["--network", "bridge", "--env", "SECRET", "--volume", &adapters, "agents:1", "-c"],
    ]
    .concat();
    assert_eq!(words[..expected.len()], expected);
    let command = ["20", "python3", "/adapters/claude_code.py", "--prompt", "prompt.txt"];
    assert_eq!(words[expected.len() + 1..], command);
    let home = stage.note("home");
    assert!(home.trim().ends_with("/home") && !Path::new(home.trim()).exists(), "{home} went away with the container");
}

#[test]
fn who_answered_comes_out_and_podman_keeps_the_user() {
    let stage = stage_with("podman");
    let mut command = stage.command(&script());
    command.args(["--engine", "podman", "--", "agents:1", "sh", "-c"]);
    command.arg(r#"read -r request; echo "$request"; echo 0.25 > "$EVAL_HOST_COST_FILE"; echo '{"name":"a"}' > "$EVAL_HOST_AGENT_FILE"; exit 7"#);
    let ended = stage.ask(command, 0.5);
    assert_eq!(ended.status.code(), Some(7), "{}", stderr(&ended));
    assert_eq!(String::from_utf8_lossy(&ended.stdout).trim(), stage.request(0.5).to_string());
    assert_eq!(stage.cost().as_deref(), Some("0.25"));
    assert_eq!(stage.agent(), serde_json::json!({ "name": "a" }));
    assert_eq!(told(&stage, "run", &stage.workspace().display().to_string())[1..3], ["--userns", "keep-id"]);
    assert_eq!(fs::read_dir(stage.path().join("tmp")).expect("a folder").count(), 0, "nothing is left");
}

#[test]
fn what_an_agent_links_to_in_place_of_its_cost_is_not_read() {
    let stage = stage_with("docker");
    let mut command = stage.command(&script());
    command.args(["--", "agents:1", "sh", "-c", r#"ln -s /etc/hostname "$EVAL_HOST_COST_FILE""#]);
    assert!(stage.ask(command, 0.5).status.success());
    assert_eq!(stage.cost(), None);
}

#[test]
fn a_command_without_an_image_or_an_agent_is_refused() {
    for words in [&[][..], &["--"], &["--", "agents:1"], &["--network", "none", "agents:1", "sh"]] {
        let stage = stage_with("docker");
        let mut command = stage.command(&script());
        command.args(words);
        let ended = stage.ask(command, 0.5);
        let wanted =
            "error: an image and a command are needed: container.sh [<option of run>...] -- <image> <command>...\n";
        assert_eq!((ended.status.code(), stderr(&ended)), (Some(2), wanted.to_owned()), "{words:?}");
        assert!(!stage.has_note("run"));
    }
}

/// Starts an agent that works for ever, and gives its process when it does.
fn endless(stage: &Stage) -> (Child, String) {
    let mut command = stage.command(&script());
    let pid = stage.path().join("notes/pid");
    command
        .args(["--grace", "2", "--", "agents:1", "sh", "-c", "echo $$ > \"$0\"; while :; do sleep 1; done"])
        .arg(&pid);
    let mut wrapper = command.spawn().expect("it starts");
    let mut stdin = wrapper.stdin.take().expect("its stdin");
    writeln!(stdin, "{}", stage.request(0.5)).expect("it reads the request");
    drop(stdin);
    let told = || fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n'));
    until("the agent runs", || told().is_some());
    (wrapper, told().expect("a process").trim().to_owned())
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_gone(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.is_empty() || status.contains("State:\tZ")
}

#[test]
fn a_container_ends_when_the_script_is_killed_and_can_do_nothing_more() {
    let stage = stage_with("docker");
    let (mut wrapper, pid) = endless(&stage);
    assert!(!is_gone(&pid));
    wrapper.kill().expect("it is killed");
    // Whoever is dead and not waited for still counts as there.
    let _ = wrapper.wait().expect("it is gone");
    until("the container has noticed", || is_gone(&pid));
    assert!(!stage.has_note("rm"), "nobody told the engine");
}

#[test]
fn a_container_is_removed_when_the_script_is_asked_to_end() {
    let stage = stage_with("docker");
    let (mut wrapper, pid) = endless(&stage);
    let status = Command::new("kill").args(["-s", "TERM", &wrapper.id().to_string()]).status().expect("kill runs");
    assert!(status.success());
    assert_eq!(wrapper.wait().expect("it ends").code(), Some(143));
    until("the container is gone", || is_gone(&pid));
    let words: Vec<String> = serde_json::from_str(&stage.note("rm")).expect("words");
    let run: Vec<String> = serde_json::from_str(&stage.note("run")).expect("words");
    let name = run.iter().skip_while(|word| *word != "--name").nth(1).expect("a name");
    assert_eq!(words, ["rm", "--force", name]);
    assert_eq!(fs::read_dir(stage.path().join("tmp")).expect("a folder").count(), 0, "nothing is left");
}
