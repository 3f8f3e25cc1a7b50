//! What a run says, and to whom: terminals that are narrow, dumb or gone, JUnit for CI, a summary page.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::desk::{ANSWER, Desk, Running, TASK_CLASS, has, until};

/// Runs a command line of this desk below a pseudo-terminal of so many columns, and gives what the terminal was sent.
fn on_terminal(desk: &Desk, columns: u16, term: &str, args: &str) -> (i32, String) {
    const SCRIPT: &str = r"
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
out = b''
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    out += piece
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(status))
";
    // The terminal has its size before the program looks at it: the shell waits until that is so.
    let shell = format!(
        "until test \"$(stty size)\" = '24 {columns}'; do :; done; exec {} run --task-class {TASK_CLASS} {args}",
        env!("CARGO_BIN_EXE_eval-host-under-test")
    );
    let output = Command::new("python3")
        .args(["-c", SCRIPT, &columns.to_string(), "sh", "-c", &shell])
        .current_dir(desk.path())
        .env("HOME", desk.path().join("home"))
        .env("TERM", term)
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .output()
        .expect("python3 runs");
    (output.status.code().expect("a code"), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The same, of three cases that pass, with a store of its own.
#[track_caller]
fn passes_on_terminal(columns: u16, term: &str) -> String {
    let desk = Desk::new("", "");
    let (code, shown) = on_terminal(&desk, columns, term, "--limit=3");
    assert_eq!((code, desk.records().len()), (0, 1), "{shown}");
    shown
}

#[test]
fn a_terminal_gets_colours_and_a_bar() {
    let shown = passes_on_terminal(100, "xterm");
    assert!(shown.contains("] 3/3 (") && shown.contains("\x1b[32mpass\x1b[0m"), "{shown}");
}

#[test]
fn a_narrow_terminal_gets_a_bar_that_fits() {
    let shown = passes_on_terminal(20, "xterm");
    let drawn = shown.split("\r\x1b[2K").filter_map(|rest| rest.split(['\r', '\n']).next());
    let bars: Vec<_> = drawn.filter(|text| text.contains("/3") && !text.contains("pass")).collect();
    assert!(bars.iter().any(|bar| bar.contains("3/3")), "{shown}");
    assert!(bars.iter().all(|bar| bar.chars().count() <= 20 && bar.trim_end().len() < 20), "{bars:?}");
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let shown = passes_on_terminal(80, "dumb");
    assert!(shown.contains("[3/3] pass") && !shown.contains('\x1b'), "{shown}");
}

#[test]
fn whoever_reads_stdout_may_be_gone_and_the_record_is_there() {
    for (redirection, code) in [(">&-", 0), (">/dev/full", 1), ("2>&-", 0), (">&- 2>&-", 0), ("2>/dev/full", 0)] {
        let desk = Desk::new("", "");
        let binary = env!("CARGO_BIN_EXE_eval-host-under-test");
        let line = format!("exec {binary} run --task-class {TASK_CLASS} --limit=3 {redirection}");
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(desk.path())
            .env("HOME", desk.path().join("home"))
            .env_remove("CI")
            .output()
            .expect("sh runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{redirection}: {stderr}");
        assert!(!stderr.contains("panicked"), "{redirection}: {stderr}");
        assert_eq!(desk.records().len(), 1, "{redirection}");
    }
}

/// Installs the package once, away from whatever the machine has, and gives the interpreter that finds it.
fn python_with(package: &str) -> std::path::PathBuf {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join(package);
    let python = venv.join("bin/python");
    let has_package = || Command::new(&python).args(["-c", "import junitparser"]).status().is_ok_and(|ok| ok.success());
    if !has_package() {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).status().expect("python3 runs");
        assert!(made.success(), "a virtual environment is made");
        let installed = Command::new(&python).args(["-m", "pip", "install", "--quiet", package]).status();
        assert!(installed.expect("pip runs").success(), "{package} is installed");
    }
    python
}

#[test]
fn the_junit_file_is_read_by_an_independent_parser() {
    let noise = r#"i=1; while test $i -lt 128; do printf "\\$(printf %03o $i)" >&2; i=$((i + 1)); done; printf '\377\376 ]]> <&"' >&2"#;
    let script =
        format!("{noise}\ncase \"$id\" in \"$(sed -n 1p \"$desk/cases\")\") exit 3 ;; *) echo '{ANSWER}' ;; esac");
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    fs::write(desk.shared().join("cases"), desk.cases(4).join("\n")).expect("the cases");
    let summary = desk.path().join("summary.md");
    let run = desk.live(4, ["--junit", "junit.xml", "--max-cost-usd", "1.00", "-j", "1"]);
    let ended = run.env("GITHUB_STEP_SUMMARY", &summary).run().expect_code(2);
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(ended.record_path(desk.path())).expect("a record")).expect("JSON");
    const READ: &str = r"
import json, sys
from junitparser import JUnitXml
def kind(case):
    return [type(result).__name__ for result in case.result]
xml = JUnitXml.fromfile(sys.argv[1])
cases = [(case.name, kind(case), '\\u{1b}' in (case.system_err or '')) for suite in xml for case in suite]
suite, = xml
properties = {property.name: property.value for property in suite.properties()}
print(json.dumps([xml.tests, xml.failures, xml.errors, cases, suite.tests, suite.failures, suite.errors, suite.skipped, suite.timestamp, properties]))
";
    let output =
        Command::new(python_with("junitparser")).args(["-c", READ]).arg(desk.path().join("junit.xml")).output();
    let output = output.expect("the parser runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names = desk.cases(4);
    assert_eq!(
        read,
        serde_json::json!([
            4,
            2,
            1,
            [
                [names[0], ["Error"], true],
                [names[1], ["Failure"], true],
                [names[2], ["Failure"], true],
                [names[3], ["Skipped"], false],
            ],
            4,
            2,
            1,
            1,
            record["started_at"],
            {
                "run_id": record["run_id"],
                "record": ended.line("record")["path"],
                "seq": "1",
                "total_cost_usd": record["report"]["total_cost_usd"].to_string(),
                "estimated_cost_usd": "0.3",
            },
        ])
    );
    let summary = fs::read_to_string(summary).expect("a summary");
    assert!(summary.contains("| 4 | 0 | 0.0"), "{summary}");
    assert!(summary.contains("**Aborted:** the cost cap left out 1 cases."), "{summary}");
    assert!(summary.contains("`harness_error: exit_status: exit status 3`"), "{summary}");
}

#[test]
fn the_next_command_that_is_told_works_also_elsewhere_than_by_default() {
    let desk = Desk::new("", "");
    fs::rename(desk.path().join("bench"), desk.path().join("my benches")).expect("another bench root");
    let run = ["run", "--task-class", TASK_CLASS, "--limit=1", "--out=elsewhere", "--bench-root", "my benches"];
    for _ in 0..2 {
        let ended = desk.eval(run).run().expect_code(0);
        let is_first = ended.line("record")["seq"] == 1;
        assert_eq!(ended.stderr.contains("a new chain begins"), is_first, "{}", ended.stderr);
        let next = ended.stderr.lines().find_map(|line| line.strip_prefix("next: eval-host ")).expect("a command");
        let line = format!("{} {next}", env!("CARGO_BIN_EXE_eval-host-under-test"));
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(desk.path()).env("HOME", desk.path().join("home")).env_remove("CI");
        assert!(shell.output().expect("sh runs").status.success(), "{line}");
    }
}

#[test]
fn a_chain_begins_once_also_when_a_run_began_before_the_first_was_over() {
    let script = format!(r#": > "$desk/started"; until test -e "$desk/go"; do sleep 0.01; done; echo '{ANSWER}'"#);
    let desk = Desk::new("", &script);
    let run = Running::start(desk.live(1, []));
    until("an agent starts", || desk.shared().join("started").exists());
    let first = desk.eval(["run", "--task-class", TASK_CLASS, "--limit=1"]).run().expect_code(0);
    assert!(first.stderr.contains("a new chain begins"), "{}", first.stderr);
    fs::write(desk.shared().join("go"), "").expect("go");
    let (_, stdout, stderr) = run.end();
    assert!(stdout.contains(r#""seq":2"#) && !stderr.contains("a new chain begins"), "{stdout}{stderr}");
}

#[test]
fn completions_and_the_man_page_come_from_the_command_line() {
    let desk = Desk::new("", "");
    for shell in ["bash", "zsh", "fish"] {
        assert!(desk.eval(["completions", shell]).run().expect_code(0).stdout.contains("task-class"), "{shell}");
    }
    assert!(desk.eval(["man"]).run().expect_code(0).stdout.contains(".TH eval-host"));
}

#[test]
fn an_estimated_cost_says_so_wherever_it_is_printed() {
    let script = format!(r#"case "$id" in "$(cat "$desk/first")") kill -KILL $$ ;; *) echo '{ANSWER}' ;; esac"#);
    let desk = Desk::new("max_cost_usd_per_case = 0.50", &script);
    fs::write(desk.shared().join("first"), &desk.cases(1)[0]).expect("the first case");
    let summary = desk.path().join("summary.md");
    let run = desk.live(2, ["-j1", "--junit=junit.xml"]).env("GITHUB_STEP_SUMMARY", &summary);
    let ended = run.run().expect_code(5);
    let estimates: Vec<_> = ended.lines("case").iter().map(|line| line["cost_is_estimate"].clone()).collect();
    assert_eq!(estimates, [true, false]);
    assert_eq!(ended.line("aggregate")["estimated_cost_usd"], 0.5);
    let told = "$0.80, of which $0.50 estimated";
    has(&ended.stderr, &format!("cost: {told} (cassettes cost $0.00 when made)\n"));
    let read = |path: &Path| fs::read_to_string(path).expect("a report");
    has(&read(&summary), &format!(" | {told} |\n"));
    let junit = read(&desk.path().join("junit.xml"));
    has(&junit, r#"<property name="estimated_cost_usd" value="0.5"/>"#);
    let log = desk.eval(["log"]).run().expect_code(0).stdout;
    // What the log says between the two of how the agent was confined is another test's business.
    let (_, rest) = log.split_once(&format!("  {told}  ")).expect("its cost");
    has(rest, "  1 sut_fault  by ");
    let record = ended.record_path(desk.path());
    let show = desk.eval(["show"]).args([record]).run().expect_code(0).stdout;
    has(&show, told);
    has(&show, "killed by signal 9  ($0.50, estimated)\n");
    let replayed = desk.eval(["run", "--task-class", TASK_CLASS, "--limit=1"]).run().expect_code(0);
    assert_eq!(replayed.line("aggregate")["estimated_cost_usd"], 0.0);
    has(&replayed.stderr, "cost: $0.00 (");
}

#[test]
fn what_an_agent_said_last_is_shown_with_its_fault_and_harmless() {
    let script = format!(
        r#"case "$id" in "$(cat "$desk/first")")
  i=1; while test $i -le 9; do echo "step $i" >&2; i=$((i + 1)); done; printf '\033]0;owned\007no \033[31mkey\n' >&2; exit 3 ;;
*) echo "all is well" >&2; echo '{ANSWER}' ;; esac"#
    );
    let desk = Desk::new("max_cost_usd_per_case = 0.50", &script);
    let names = desk.cases(2);
    fs::write(desk.shared().join("first"), &names[0]).expect("the first case");
    let ended = desk.live(2, ["-j1"]).run().expect_code(5);
    let said = "      agent: step 6\n      agent: step 7\n      agent: step 8\n      agent: step 9\n      \
                agent: \\u{1b}]0;owned\\u{7}no \\u{1b}[31mkey\n";
    let fault = format!("[1/2] fault {} 0.000  harness_error: exit_status: exit status 3\n{said}[2/2] fail ", names[0]);
    assert!(ended.stderr.contains(&fault), "{}", ended.stderr);
    assert!(!ended.stderr.contains("all is well"), "{}", ended.stderr);
    let show = desk.eval(["show"]).args([ended.record_path(desk.path())]).run().expect_code(0).stdout;
    assert!(show.contains(&format!("exit status 3  ($0.50, estimated)\n{said}  fail ")), "{show}");
    assert!(!show.contains("all is well"), "{show}");
    let (_, screen) = on_terminal(&desk, 80, "xterm", "--live --limit=1 --max-cost-usd=9 >/dev/null");
    assert!(screen.contains("      agent: step 9\r\n"), "{screen}");
    let quiet = desk.live(2, ["-j1", "--quiet"]).run().expect_code(5);
    assert!(!quiet.stderr.contains("agent:"), "{}", quiet.stderr);
}
