//! Real agents as processes, each of them one shell script that does one thing, well or badly.

use std::convert::Infallible;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use super::*;
use crate::live::agent::testing::{processes_of, program, unconfined};
use eval_model::contract::{BenchCase, Difficulty, Disposition, Source};

struct Bench {
    scratch: tempfile::TempDir,
    sut: LiveSut,
}

fn agent(script: &str) -> Bench {
    let scratch = tempfile::tempdir().expect("a folder");
    let sut = LiveSut {
        command: ["/bin/sh", "-c", script].map(OsString::from).into(),
        environment: [("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into())).into(),
        capture: Capture::Response,
        named: AgentClaim::default(),
        timeout: Duration::from_secs(60),
        scratch: scratch.path().to_owned(),
        mark: RunMark::new().expect("randomness"),
        reach: unconfined(),
        program: program(),
        family: Arc::default(),
    };
    Bench { scratch, sut }
}

fn staged() -> ReadCase {
    let case = BenchCase {
        case_id: "001-a".parse().expect("a case id"),
        task_class: "vuln-remediation".parse().expect("a task class"),
        disposition: Disposition::Positive,
        difficulty: Difficulty::Easy,
        source: Source::Curated,
        added_at: "2026-11-16".parse().expect("a date"),
    };
    let files = [("input/app.js", "one\ntwo\n"), ("expected/fix.diff", "secret")];
    ReadCase::new(case, Arc::new(files.map(|(path, text)| (Arc::from(path), Arc::from(text.as_bytes()))).into()))
}

impl Bench {
    fn end(&self) -> LiveEnd {
        let never_fails = |_: &Identity| Ok::<_, Infallible>(());
        let Ok(end) = self.sut.answer(&staged(), self.prepared(), 0.5, &Stop::new(), never_fails);
        end
    }

    fn prepared(&self) -> Prepared {
        self.sut.prepare(&staged()).expect("the machine is fine")
    }

    #[track_caller]
    fn answer(&self) -> LiveAnswer {
        match self.end() {
            LiveEnd::Answered(answer) => answer,
            other => panic!("nobody asked it to stop: {other:?}"),
        }
    }

    #[track_caller]
    fn fails(&self, expected: &str, cost: Option<f64>) {
        let answer = self.answer();
        assert_eq!(answer.output.expect_err("a fault").to_string(), expected);
        assert_eq!(answer.cost, cost);
    }

    /// Every process of this run that is still there.
    fn survivors(&self) -> usize {
        processes_of(self.scratch.path()).len()
    }
}

#[test]
fn an_agent_that_works_gets_its_request_and_answers_verbatim() {
    let bench = agent(
        r#"read request; cat app.js >&2
           printf '{"output":{ "request":%s, "cwd":"%s" },"cost_usd":0.125}' "$request" "$PWD""#,
    );
    let answer = bench.answer();
    let output = answer.output.expect("an answer");
    assert!(output.starts_with("{ \"request\":"), "verbatim: {output}");
    let output: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    let told = serde_json::json!({
        "protocol": 1,
        "case": {"case_id": "001-a", "task_class": "vuln-remediation"},
        "workspace": output["cwd"],
        "budget_usd": 0.5,
    });
    assert_eq!(output["request"], told);
    assert_eq!(answer.cost, Some(0.125));
    assert_eq!(answer.stderr.kept, b"one\ntwo\n");
    assert_eq!(fs::read_dir(bench.scratch.path()).expect("a folder").count(), 0, "the workspace is gone");
}

#[test]
fn an_agent_sees_the_allow_listed_environment_and_nothing_beside_its_workspace() {
    let bench = agent(
        r#"names=$(env | cut -d= -f1 | sort | tr '\n' ' ')
           found=$(find . "$HOME" "$TMPDIR" | sed "s:$HOME:HOME:; s:$TMPDIR:TMPDIR:" | sort | tr '\n' ' ')
           printf '{"output":{"names":"%s","found":"%s"},"cost_usd":0}' "$names" "$found""#,
    );
    let output: serde_json::Value = serde_json::from_str(&bench.answer().output.expect("an answer")).expect("JSON");
    assert_eq!(output["names"], "HOME PATH PWD TMPDIR ", "PWD is the shell's own");
    assert_eq!(output["found"], ". ./app.js HOME TMPDIR ");
}

#[test]
fn each_bad_ending_has_its_own_name() {
    let unknown = None;
    agent("exit 3").fails("harness_error: exit_status: exit status 3", unknown);
    agent(r#"echo '{"output":{},"cost_usd":0.25}'; exit 3"#)
        .fails("harness_error: exit_status: exit status 3", Some(0.25));
    agent("kill -SEGV $$").fails("harness_error: signal: killed by signal 11", unknown);
    agent("true").fails("harness_error: missing_response: nothing on stdout", unknown);
    agent(r#"echo '{"output":{},"cost_usd":-1}'"#)
        .fails("harness_error: impossible_cost: the cost is negative, -1", unknown);
    agent("yes").fails("harness_error: too_much_output: more than 8388608 bytes on stdout", unknown);
    let mut missing = agent("");
    missing.sut.command = vec!["/nowhere/agent".into()];
    missing.fails("harness_error: spawn: the command does not start: entity not found", Some(0.0));
}

#[test]
fn an_agent_that_hangs_is_ended_with_its_grandchildren() {
    // The grandchild has left the process group, and another has wiped its environment.
    let mut bench = agent("setsid sh -c 'sleep 1000' & env -i sleep 1000 & sh -c 'sleep 1000 & wait' & sleep 1000");
    bench.sut.timeout = Duration::from_millis(300);
    let started = |_: &Identity| Ok::<_, Infallible>(());
    let end = bench.sut.answer(&staged(), bench.prepared(), 0.5, &Stop::new(), started);
    let Ok(LiveEnd::Answered(answer)) = end else { panic!("it ran out of time") };
    assert_eq!(answer.output, Err(NoOutput::SutTimeout));
    assert_eq!(answer.cost, None);
    assert_eq!(bench.survivors(), 0);
}

#[test]
fn what_outlives_an_agent_that_forks_and_exits_is_ended() {
    // The child holds stdout open for ever, so reading to the end of it would never return.
    let bench = agent(r#"sleep 1000 & (setsid sleep 1000 &); echo '{"output":{},"cost_usd":0.5}'"#);
    let answer = bench.answer();
    assert_eq!(answer.output, Ok("{}".to_owned()));
    assert_eq!(answer.cost, Some(0.5));
    assert_eq!(bench.survivors(), 0);
}

#[test]
fn only_the_tail_of_stderr_is_kept() {
    let bench = agent(r#"head -c 100000 /dev/zero >&2; echo the end >&2; echo '{"output":{},"cost_usd":0}'"#);
    let stderr = bench.answer().stderr;
    assert!(stderr.kept.ends_with(b"the end\n"));
    assert_eq!(stderr.kept.len(), MOST_STDERR);
    assert_eq!(stderr.dropped_bytes, 100_008 - MOST_STDERR as u64);
}

#[test]
fn a_shell_one_liner_that_edits_files_is_an_agent_too() {
    let mut bench = agent(r#"sed -i s/two/2/ app.js; echo 0.25 > "$EVAL_HOST_COST_FILE"; echo chatter"#);
    bench.sut.capture = Capture::WorkspaceDiff;
    let answer = bench.answer();
    assert_eq!(
        answer.output.expect("a patch"),
        r#"{"action":"patch","diff":"diff --git a/app.js b/app.js\n--- a/app.js\n+++ b/app.js\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}"#
    );
    assert_eq!(answer.cost, Some(0.25));
}

#[test]
fn an_agent_that_changes_nothing_has_answered() {
    let mut bench = agent(r#"echo 0 > "$EVAL_HOST_COST_FILE""#);
    bench.sut.capture = Capture::WorkspaceDiff;
    assert_eq!(bench.answer().output, Ok(r#"{"action":"patch","diff":""}"#.to_owned()));
    bench.sut.command = ["/bin/sh", "-c", "true"].map(OsString::from).into();
    bench.fails("harness_error: missing_cost: the answer does not say what it cost", None);
}

#[test]
fn an_agent_says_who_it_is_in_a_file_too() {
    let said = |text: &str| {
        let mut bench = agent(&format!(r#"echo 0 > "$EVAL_HOST_COST_FILE"; {text}"#));
        bench.sut.capture = Capture::WorkspaceDiff;
        bench.sut.named.version = Some("given".parse().expect("a text"));
        bench
    };
    let named = said(r#"echo '{"name":"an agent","version":"1"}' > "$EVAL_HOST_AGENT_FILE""#).answer();
    assert_eq!(named.output, Ok(r#"{"action":"patch","diff":""}"#.to_owned()));
    let name = Some("an agent".parse().expect("a text"));
    assert_eq!(named.agent, Some(AgentClaim { name, ..AgentClaim::default() }), "the version is the command line's");
    assert_eq!(said("true").answer().agent, None);
    let no_short_file = "harness_error: malformed_response: the agent file is no short regular file";
    said(r#"mkdir "$EVAL_HOST_AGENT_FILE""#).fails(no_short_file, Some(0.0));
    said(r#"ln -s /etc/passwd "$EVAL_HOST_AGENT_FILE""#).fails(no_short_file, Some(0.0));
    said(r#"head -c 20000 /dev/zero > "$EVAL_HOST_AGENT_FILE""#).fails(no_short_file, Some(0.0));
}

#[test]
fn a_running_agent_is_stopped_when_asked() {
    let bench = agent("sleep 1000");
    let stop = Stop::new();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let started = |identity: &Identity| tell.send(identity.group);
            bench.sut.answer(&staged(), bench.prepared(), 0.5, &stop, started).expect("somebody listens")
        });
        told.recv().expect("it was started");
        stop.request();
        assert_eq!(running.join().expect("no panic"), LiveEnd::Stopped);
    });
    assert_eq!(bench.survivors(), 0);
}

#[test]
fn an_agent_that_could_not_be_written_down_is_told_nothing_and_ended() {
    let bench = agent("read request; echo told > $HOME/told; sleep 1000");
    let result = bench.sut.answer(&staged(), bench.prepared(), 0.5, &Stop::new(), |_| Err("disk full"));
    assert_eq!(result, Err("disk full"));
    assert_eq!(bench.survivors(), 0);
    assert_eq!(fs::read_dir(bench.scratch.path()).expect("a folder").count(), 0);
}
