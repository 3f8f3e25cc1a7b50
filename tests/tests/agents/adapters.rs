//! The adapters of `host/examples/adapters/`: each with a program that has its agent's name, prints what that agent is documented to
//! print and edits a file, in live runs of eval-host and by itself.

use std::fs;
use std::path::Path;
use std::process::Output;

use eval_host_tests::project_root;
use serde_json::{Value, json};

use super::stage::{Stage, adapters, stderr};

/// A command-line agent, as its documentation has it.
struct Agent {
    adapter: &'static str,
    program: &'static str,
    /// What `--version` prints.
    version: &'static str,
    /// What the fake does, with the words that it was given and the variant that it plays.
    script: &'static str,
    /// What the adapter is told.
    options: &'static str,
    /// Words that must stand one behind the other in what the agent is told, with `--further word` from the user.
    told: &'static [&'static [&'static str]],
    /// What `finished` costs.
    cost: f64,
    /// What `limit` costs, where that is known, and the agent's exit code then.
    limit: (Option<f64>, i32),
    name: &'static str,
    version_told: &'static str,
    model: &'static str,
}

const SONNET: &str = "anthropic/claude-sonnet-4-5-20250929";

const AGENTS: [Agent; 5] = [
    Agent {
        adapter: "claude_code.py",
        program: "claude",
        version: "2.1.240 (Claude Code)",
        script: r#"cat > "$notes/prompt"; cat "$printed/claude-code/$variant.json""#,
        options: "",
        told: &[
            &["-p", "--output-format", "json", "--dangerously-skip-permissions", "--max-budget-usd", "0.5"],
            &["--further", "word"],
        ],
        cost: 0.087_341_5,
        limit: (Some(0.5123), 1),
        name: "claude-code",
        version_told: "2.1.240",
        model: "claude-sonnet-4-5-20250929",
    },
    Agent {
        adapter: "codex.py",
        program: "codex",
        version: "codex-cli 0.114.0",
        script: r#"cat > "$notes/prompt"; cat "$printed/codex/$variant.jsonl""#,
        options: "--model gpt-5.3-codex --price gpt-5.3-codex=1.75,0.175,14",
        told: &[
            &["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
            &["--model", "gpt-5.3-codex", "--further", "word", "-"],
        ],
        // 315 fresh, 24448 cached and 122 written tokens.
        cost: 0.006_537_65,
        limit: (None, 1),
        name: "codex",
        version_told: "0.114.0",
        model: "gpt-5.3-codex",
    },
    Agent {
        adapter: "aider.py",
        program: "aider",
        version: "aider 0.86.2",
        script: r#"while test $# -gt 0; do
  case $1 in
    --message-file) cp "$2" "$notes/prompt" ;;
    --analytics-log) cat "$printed/aider/$variant.jsonl" >> "$2" ;;
    --chat-history-file) echo '# aider chat started' > "$2" ;;
  esac
  shift
done
cat "$printed/aider/$variant.txt""#,
        options: "--model sonnet",
        told: &[
            &["--yes-always", "--no-git", "--no-stream", "--no-pretty", "--no-analytics", "--no-check-update"],
            &["--model", "sonnet", "--further", "word"],
        ],
        cost: 0.01743,
        limit: (Some(0.01743), 0),
        name: "aider",
        version_told: "0.86.2",
        model: SONNET,
    },
    Agent {
        adapter: "openhands.py",
        program: "openhands",
        version: "OpenHands CLI 1.16.0",
        script: r#"while test $# -gt 0; do
  case $1 in -f) cp "$2" "$notes/prompt" ;; esac
  shift
done
mkdir "$OPENHANDS_CONVERSATIONS_DIR/9d5ecf40817240adafb6407e915d3f45"
cp "$printed/openhands/$variant.state.json" "$OPENHANDS_CONVERSATIONS_DIR/9d5ecf40817240adafb6407e915d3f45/base_state.json"
cat "$printed/openhands/$variant.jsonl""#,
        options: "",
        told: &[&["--headless", "--json", "--override-with-envs", "--further", "word", "-f"]],
        cost: 0.04375,
        limit: (Some(0.4375), 0),
        name: "openhands",
        version_told: "1.16.0",
        model: SONNET,
    },
    Agent {
        adapter: "mini_swe_agent.py",
        program: "mini",
        version: "",
        script: r#"while test $# -gt 0; do
  case $1 in
    --task=*) printf %s "${1#--task=}" > "$notes/prompt" ;;
    --output) cp "$printed/mini-swe-agent/$variant.traj.json" "$2" ;;
  esac
  shift
done
echo "Saved trajectory""#,
        options: "",
        told: &[&["--yolo", "--exit-immediately", "--cost-limit", "0.5", "--output"], &["--further", "word"]],
        cost: 0.0519,
        limit: (Some(0.5031), 0),
        name: "mini-swe-agent",
        version_told: "2.4.6",
        model: SONNET,
    },
];

impl Agent {
    /// A stage on which the agent plays a variant.
    fn on_stage(&self, variant: &str) -> Stage {
        let stage = Stage::new();
        let Self { version, script, limit, .. } = self;
        let code = if variant == "limit" { limit.1 } else { 0 };
        let text = format!(
            r#"test "$1" = --version && {{ echo '{version}'; exit 0; }}
printf '%s\n' "$@" > "$notes/words"
echo 'Hello, Ada!' >> note.txt
printed=$tools/printed
variant={variant}
{script}
exit {code}"#
        );
        stage.install(self.program, &text);
        stage
    }

    /// The words with which the adapter is told about the prompt, and what else it is told.
    fn words(&self, stage: &Stage) -> Vec<String> {
        let prompt = stage.tools().join("prompt.txt").display().to_string();
        let options = self.options.split_whitespace().map(str::to_owned);
        ["--prompt".to_owned(), prompt].into_iter().chain(options).collect()
    }

    fn live_command(&self, stage: &Stage) -> String {
        let adapter = adapters().join(self.adapter);
        format!("python3 {} {}", adapter.display(), self.words(stage).join(" "))
    }

    fn alone(&self, stage: &Stage, more: &[&str]) -> Output {
        let words = self.words(stage);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        stage.adapter(self.adapter, &words)
    }
}

/// Scores are compared as printed: the cost that an agent printed is the cost that is recorded.
#[track_caller]
fn assert_cost(line: &Value, cost: f64, whose: &str) {
    assert_eq!(line["score"]["cost_usd"], json!(cost), "{whose}");
}

fn estimated(stage: &Stage, ended: &eval_host_tests::Ended) -> bool {
    let record = fs::read_to_string(ended.record_path(stage.path())).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    record["report"]["cases"][0]["cost_is_estimate"].as_bool().expect("known or not")
}

#[test]
fn an_adapter_hands_over_what_its_agent_changed_and_what_it_cost() {
    for agent in &AGENTS {
        let stage = agent.on_stage("finished");
        let ended = stage.live(&agent.live_command(&stage)).expect_code(0);
        let case = ended.line("case");
        assert_eq!(case["score"]["passed"], true, "{}: {case}", agent.name);
        assert_cost(&case, agent.cost, agent.name);
        assert!(!estimated(&stage, &ended), "{}", agent.name);
        let diff = "diff --git a/note.txt b/note.txt\n--- a/note.txt\n+++ b/note.txt\n@@ -1,2 +1,3 @@\n To: Ada\n From: Grace\n+Hello, Ada!\n";
        assert_eq!(stage.recorded()["output"], json!({ "action": "patch", "diff": diff }), "{}", agent.name);
    }
}

#[test]
fn an_agent_that_met_its_limit_has_not_answered_and_is_paid_for() {
    for agent in &AGENTS {
        let stage = agent.on_stage("limit");
        let ended = stage.live(&agent.live_command(&stage)).expect_code(5);
        let case = ended.line("case");
        assert_eq!(case["outcome"], "sut_fault", "{}: {case}", agent.name);
        let mode = case["score"]["failure_modes"][0].as_str().expect("a mode").to_owned();
        assert!(mode.starts_with("harness_error: exit_status: "), "{}: {mode}", agent.name);
        // What nobody printed is charged as what was set aside, and marked.
        assert_cost(&case, agent.limit.0.unwrap_or(0.5), agent.name);
        assert_eq!(estimated(&stage, &ended), agent.limit.0.is_none(), "{}", agent.name);
    }
}

#[test]
fn an_adapter_says_who_answered() {
    for agent in &AGENTS {
        for variant in ["finished", "limit"] {
            let stage = agent.on_stage(variant);
            let ended = agent.alone(&stage, &[]);
            assert_eq!(ended.status.success(), variant == "finished", "{}: {}", agent.name, stderr(&ended));
            let expected = json!({ "name": agent.name, "version": agent.version_told, "model": agent.model });
            assert_eq!(stage.agent(), expected, "{} {variant}", agent.name);
            assert!(ended.stdout.is_empty(), "{}", agent.name);
        }
    }
}

#[test]
fn without_a_file_for_who_answered_an_adapter_says_the_cost_alone() {
    for agent in &AGENTS {
        let stage = agent.on_stage("finished");
        let mut command = stage.command(Path::new("python3"));
        command.arg(adapters().join(agent.adapter)).args(agent.words(&stage)).env_remove("EVAL_HOST_AGENT_FILE");
        let ended = stage.ask(command, 0.5);
        assert!(ended.status.success(), "{}: {}", agent.name, stderr(&ended));
        assert_eq!(stage.cost().map(|cost| cost.parse()), Some(Ok(agent.cost)), "{}", agent.name);
        assert!(!stage.path().join("agent.json").exists());
    }
}

#[test]
fn the_prompt_is_filled_in_and_no_word_of_it_is_taken_for_a_flag() {
    for agent in &AGENTS {
        let stage = agent.on_stage("finished");
        assert!(agent.alone(&stage, &[]).status.success(), "{}", agent.name);
        let workspace = stage.workspace();
        let expected =
            format!("--greet whom the note in {} is for,\nfor 0.5 dollars. {{braces}} stay.", workspace.display());
        assert_eq!(stage.note("prompt"), expected, "{}", agent.name);
    }
}

#[test]
fn an_agent_is_started_without_questions_without_its_own_cage_and_under_the_budget() {
    for agent in &AGENTS {
        let stage = agent.on_stage("finished");
        assert!(agent.alone(&stage, &["--", "--further", "word"]).status.success(), "{}", agent.name);
        let words = stage.note("words");
        let words: Vec<&str> = words.lines().collect();
        for told in agent.told {
            assert!(words.windows(told.len()).any(|window| window == *told), "{}: {told:?} in {words:?}", agent.name);
        }
    }
}

#[test]
fn an_agent_whose_limit_of_nothing_means_no_limit_is_never_told_nothing() {
    for (agent, flag) in [(&AGENTS[0], "--max-budget-usd"), (&AGENTS[4], "--cost-limit")] {
        let stage = agent.on_stage("finished");
        let mut command = stage.command(Path::new("python3"));
        command.arg(adapters().join(agent.adapter)).args(agent.words(&stage));
        assert!(stage.ask(command, 0.0).status.success(), "{}", agent.name);
        let words = stage.note("words");
        let words: Vec<&str> = words.lines().collect();
        assert!(words.windows(2).any(|window| window == [flag, "0.000001"]), "{words:?}");
    }
}

#[test]
fn aider_gets_the_files_of_the_workspace_and_leaves_none_of_its_own_there() {
    let agent = &AGENTS[2];
    let stage = agent.on_stage("finished");
    let workspace = stage.workspace();
    fs::create_dir_all(workspace.join("src")).expect("a folder");
    fs::create_dir_all(workspace.join("node_modules/left")).expect("a folder");
    fs::write(workspace.join("src/-main.js"), "1\n").expect("a file");
    fs::write(workspace.join("node_modules/left/pad.js"), "2\n").expect("a file");
    fs::write(workspace.join("large.bin"), vec![0; 300 * 1024]).expect("a file");
    assert!(agent.alone(&stage, &[]).status.success());
    let words = stage.note("words");
    let files: Vec<&str> = words.lines().filter(|word| Path::new(word).starts_with(&workspace)).collect();
    let expected = ["note.txt", "src/-main.js"].map(|name| workspace.join(name).display().to_string());
    assert_eq!(files, expected);
    let mut left: Vec<_> = fs::read_dir(&workspace)
        .expect("the workspace")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    left.sort_unstable();
    assert_eq!(left, ["large.bin", "node_modules", "note.txt", "src"]);
}

#[test]
fn codex_is_not_started_without_a_price() {
    let agent = &AGENTS[1];
    for (options, wanted) in [
        (
            vec![],
            "error: no price of `<model>` is known: name the model with --model, and give --price <model>=<in>,<cached>,<out>, \
             in dollars per million tokens\n",
        ),
        (
            vec!["--model", "gpt-6", "--price", "gpt-5.3-codex=1,1,1"],
            "error: no price of `gpt-6` is known: give --price gpt-6=<in>,<cached>,<out>, in dollars per million tokens\n",
        ),
    ] {
        let stage = agent.on_stage("finished");
        let ended = stage.adapter(agent.adapter, &[&["--prompt", "prompt.txt"], options.as_slice()].concat());
        assert_eq!((ended.status.code(), stderr(&ended)), (Some(1), wanted.to_owned()));
        assert!(!stage.has_note("words"), "nothing was started");
        assert_eq!(stage.cost(), None);
    }
}

#[test]
fn a_price_is_three_numbers_that_are_not_negative() {
    for price in ["gpt=1,2", "gpt=1,2,-3", "gpt=1,2,nan", "gpt=a,b,c", "=1,2,3", "1,2,3"] {
        let stage = AGENTS[1].on_stage("finished");
        let ended = stage.adapter("codex.py", &["--prompt", "prompt.txt", "--model", "gpt", "--price", price]);
        assert_eq!(ended.status.code(), Some(2), "{price}: {}", stderr(&ended));
        assert!(stderr(&ended).contains(price), "{price}: {}", stderr(&ended));
    }
}

/// What an adapter is told of a model whose price its agent does not know.
const UNPRICED: [&str; 4] = ["--prompt", "prompt.txt", "--model", "openai/our-own"];

#[test]
fn a_cost_of_nothing_for_tokens_that_were_used_is_not_believed() {
    for agent in &AGENTS[2..] {
        let stage = agent.on_stage("unpriced");
        let ended = stage.adapter(agent.adapter, &UNPRICED);
        assert_eq!((ended.status.code(), stage.cost()), (Some(1), None), "{}", agent.name);
        let says = stderr(&ended);
        assert!(says.contains(&format!("error: {} did not say what it cost: ", agent.name)), "{says}");
        assert!(says.contains("--price "), "{says}");
    }
}

#[test]
fn tokens_without_a_price_cost_what_the_user_says() {
    // 2000 tokens in and 500 out. mini does not count them, so it can be told only that there is no price.
    for (agent, price, cost) in
        [(&AGENTS[2], "1,0.5,10", "0.007"), (&AGENTS[3], "1,0.5,10", "0.007"), (&AGENTS[4], "0,0,0", "0.0")]
    {
        let stage = agent.on_stage("unpriced");
        let price = format!("openai/our-own={price}");
        let ended = stage.adapter(agent.adapter, &[&UNPRICED[..], &["--price", &price]].concat());
        assert!(ended.status.success(), "{}", stderr(&ended));
        assert_eq!(stage.cost().as_deref(), Some(cost), "{}", agent.name);
    }
}

#[test]
fn with_respond_the_last_message_is_the_answer_verbatim() {
    let claude = &AGENTS[0];
    let stage = claude.on_stage("answer");
    let ended = claude.alone(&stage, &["--respond"]);
    assert!(ended.status.success(), "{}", stderr(&ended));
    let expected = concat!(
        r#"{"output":{"action": "decline", "reason": "wants to be left alone"},"cost_usd":0.0125,"#,
        r#""agent":{"name": "claude-code", "version": "2.1.240", "model": "claude-sonnet-4-5-20250929"}}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(ended.stdout).expect("UTF-8"), expected);
    assert_eq!(stage.cost(), None, "the answer says it");

    let codex = &AGENTS[1];
    let stage = codex.on_stage("answer");
    let ended = codex.alone(&stage, &["--respond"]);
    assert!(ended.status.success(), "{}", stderr(&ended));
    let response: Value = serde_json::from_slice(&ended.stdout).expect("a response");
    assert_eq!(response["output"], json!({ "action": "decline" }));
    assert_eq!(response["cost_usd"], json!(0.00315));
}

#[test]
fn a_last_message_that_is_no_object_is_no_answer_and_is_paid_for() {
    for agent in [&AGENTS[0], &AGENTS[1], &AGENTS[3], &AGENTS[4]] {
        let stage = agent.on_stage("finished");
        let ended = agent.alone(&stage, &["--respond"]);
        assert_eq!(ended.status.code(), Some(1), "{}", agent.name);
        assert!(stderr(&ended).contains("the agent's last message is not one JSON object"), "{}", stderr(&ended));
        let response: Value = serde_json::from_slice(&ended.stdout).expect("a response");
        assert_eq!(response["cost_usd"], json!(agent.cost), "{}", agent.name);
        assert_eq!(response.get("output"), None);
    }
    let aider = &AGENTS[2];
    let stage = aider.on_stage("finished");
    let ended = aider.alone(&stage, &["--respond"]);
    let wanted = "error: aider prints no last message that can be read: leave --respond away\n";
    assert_eq!((ended.status.code(), stderr(&ended)), (Some(1), wanted.to_owned()));
    assert!(!stage.has_note("words"), "nothing was started");
}

#[test]
fn an_agents_exit_code_its_stderr_and_its_last_words_are_passed_on() {
    for agent in &AGENTS {
        let stage = Stage::new();
        stage.install(agent.program, "echo 'no such key' >&2; echo 'last words'; exit 42");
        let ended = agent.alone(&stage, &[]);
        assert_eq!(ended.status.code(), Some(42), "{}", agent.name);
        let says = stderr(&ended);
        assert!(says.starts_with("no such key\nlast words\nerror: "), "{}: {says}", agent.name);
        assert_eq!(stage.cost(), None, "{}", agent.name);
        stage.install(agent.program, "kill -KILL $$");
        assert_eq!(agent.alone(&stage, &[]).status.code(), Some(137), "{}", agent.name);
    }
}

#[test]
fn output_that_is_none_of_the_agents_own_is_a_fault_that_names_no_cost() {
    for agent in &AGENTS {
        let stage = Stage::new();
        stage.install(
            agent.program,
            r#"echo '{"type":"result","total_cost_usd":'; echo '[]'; echo '{"type":"other","total_cost_usd":3}'"#,
        );
        let ended = agent.alone(&stage, &[]);
        assert_eq!(ended.status.code(), Some(1), "{}: {}", agent.name, stderr(&ended));
        assert!(!stderr(&ended).contains("Traceback"), "{}: {}", agent.name, stderr(&ended));
        assert_eq!(stage.cost(), None, "{}", agent.name);
    }
}

#[test]
fn an_agent_that_is_not_installed_is_named() {
    for agent in &AGENTS {
        let stage = Stage::new();
        let ended = agent.alone(&stage, &[]);
        let wanted = format!(
            "error: `{}` does not start (No such file or directory): install it, and name the folder with `[sut] read`, unless that \
             is one of the system's\n",
            agent.program
        );
        assert_eq!((ended.status.code(), stderr(&ended)), (Some(1), wanted));
    }
}

#[test]
fn an_adapter_that_eval_host_did_not_start_says_so_before_it_spends_anything() {
    let claude = &AGENTS[0];
    let stage = claude.on_stage("finished");
    let mut command = stage.command(Path::new("python3"));
    command.arg(adapters().join(claude.adapter)).args(claude.words(&stage)).env_remove("EVAL_HOST_COST_FILE");
    let ended = stage.ask(command, 0.5);
    assert!(stderr(&ended).starts_with("error: EVAL_HOST_COST_FILE is not set: "), "{}", stderr(&ended));
    let mut command = stage.command(Path::new("python3"));
    command.arg(adapters().join(claude.adapter)).args(claude.words(&stage)).stdin(std::process::Stdio::null());
    let ended = command.output().expect("it runs");
    assert!(stderr(&ended).starts_with("error: stdin has no request: "), "{}", stderr(&ended));
    let ended = stage.adapter(claude.adapter, &["--prompt", "no-such-prompt.txt"]);
    assert!(stderr(&ended).contains("no-such-prompt.txt` cannot be read"), "{}", stderr(&ended));
    assert!(!stage.has_note("words"), "nothing was started");
}

#[test]
fn every_block_of_the_page_on_agents_starts_an_adapter_that_is_there() {
    let page = fs::read_to_string(project_root().join("docs/agents.md")).expect("the page");
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().expect("a block")).collect();
    for adapter in AGENTS.map(|agent| agent.adapter).iter().chain(&["container.sh"]) {
        let block = blocks.iter().find(|block| block.contains(adapter));
        let block = block.unwrap_or_else(|| panic!("no block for {adapter}"));
        let sut: toml::Table = block.parse().unwrap_or_else(|error| panic!("{adapter}: {error}"));
        let sut = sut["sut"].as_table().expect("a table `sut`");
        assert_eq!(sut["capture"].as_str(), Some("workspace-diff"), "{adapter}");
        assert!(adapters().join(adapter).is_file(), "{adapter}");
    }
}
