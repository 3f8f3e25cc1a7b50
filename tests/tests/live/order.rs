//! Whatever the number of agents at once, and whichever is done first, the report is the same; and every case is read once.

use std::collections::BTreeMap;
use std::fs;

use eval_host_tests::Eval;

use crate::desk::{ANSWER, Desk, TASK_CLASS};

const CASES: usize = 12;

/// stdout without what time and place decide: how long the agents took, the identity that follows from it, and the record.
fn timeless(stdout: &str) -> Vec<String> {
    let without = |line: &str, key: &str| match line.split_once(key) {
        Some((before, after)) => format!("{before}{key}{}", after.trim_start_matches(|c: char| !",}".contains(c))),
        None => line.to_owned(),
    };
    let lines = stdout.lines().filter(|line| !line.starts_with(r#"{"kind":"record""#));
    lines.map(|line| without(&without(line, r#""duration_seconds":"#), r#""run_id":"#)).collect()
}

#[test]
fn the_report_is_the_same_for_every_number_of_agents() {
    // Where the test says so, the first agent ends only when the eighth has begun: the later ones are done before it.
    let desk = Desk::new(
        "max_cost_usd_per_case = 0.30",
        &format!(
            "echo \"$id\" >> \"$desk/begun\"\n\
             if test -e \"$desk/together\" && test \"$id\" = \"$(cat \"$desk/first\")\"; then\n\
             until test \"$(wc -l < \"$desk/begun\")\" -ge 8; do sleep 0.01; done\nfi\n\
             echo \"$id\" >> \"$desk/ended\"\nprintf '%s' '{ANSWER}'"
        ),
    );
    fs::write(desk.shared().join("first"), &desk.cases(1)[0]).expect("a name");
    let alone = report(&desk, "-j1");
    assert!(alone[0].contains(r#""duration_seconds":}"#), "{}", alone[0]);
    assert_eq!(desk.lines("ended"), desk.cases(CASES));
    fs::write(desk.shared().join("together"), "").expect("a file");
    for agents in ["-j8", "-j100"] {
        assert_eq!(report(&desk, agents), alone, "{agents}");
        assert_ne!(desk.lines("ended")[0], desk.cases(1)[0], "the first was not done first");
    }
}

fn report(desk: &Desk, agents: &str) -> Vec<String> {
    for name in ["begun", "ended"] {
        let _ = fs::remove_file(desk.shared().join(name));
    }
    let ended = desk.live(CASES, [agents]).run();
    assert_eq!(ended.lines("case").len(), CASES, "{}", ended.stderr);
    timeless(&ended.stdout)
}

/// How often eval-host opens each file of the bench's first cases in order to read it, as strace sees it.
fn reads(desk: &Desk, eval: Eval) -> BTreeMap<String, usize> {
    let log = desk.path().join("strace.log");
    let strace = format!("strace -f -y -qq -e trace=openat,openat2 -o {} \"$0\" \"$@\"; exit $?", log.display());
    let _ = eval.after(&strace).run();
    let cases = format!("<{}/bench/{TASK_CLASS}/cases/", desk.path().display());
    let mut opened = BTreeMap::new();
    for line in fs::read_to_string(&log).expect("a log").lines() {
        // `openat2(5</…/cases/001-greets/input>, "note.txt", {flags=O_RDONLY|…}, 24) = 6</…/note.txt>`, or its second half
        // where another thread came in between.
        let Some((_, result)) = line.rsplit_once(" = ") else { continue };
        let path = result.split_once(cases.as_str()).map(|(_, path)| path.trim_end_matches('>'));
        if let Some(path) = path.filter(|path| path.rsplit('/').next().is_some_and(|name| name.contains('.'))) {
            *opened.entry(path.to_owned()).or_default() += 1;
        }
    }
    opened
}

#[test]
fn a_live_run_and_a_merge_read_every_file_of_a_case_once() {
    let desk = Desk::new("", &format!("echo '{ANSWER}'"));
    let expected: BTreeMap<_, _> = desk
        .cases(2)
        .iter()
        .flat_map(|case| ["case.toml", "input/note.txt", "expected/right.txt"].map(|file| format!("{case}/{file}")))
        .map(|path| (path, 1))
        .collect();
    assert_eq!(reads(&desk, desk.live(2, [])), expected);
    let answer_sets = ["1/2", "2/2"].map(|shard| {
        let ended = desk.live(2, ["--shard", shard]).run().expect_code(0);
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    assert_eq!(reads(&desk, desk.eval(["merge", &answer_sets[0], &answer_sets[1]])), expected);
}
