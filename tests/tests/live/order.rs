//! Whatever the number of agents at once, and whichever is done first, the report is the same.

use std::fs;

use crate::desk::{ANSWER, Desk};

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
    fs::write(desk.path().join("first"), &desk.cases(1)[0]).expect("a name");
    let alone = report(&desk, "-j1");
    assert!(alone[0].contains(r#""duration_seconds":}"#), "{}", alone[0]);
    assert_eq!(desk.lines("ended"), desk.cases(CASES));
    fs::write(desk.path().join("together"), "").expect("a file");
    for agents in ["-j8", "-j100"] {
        assert_eq!(report(&desk, agents), alone, "{agents}");
        assert_ne!(desk.lines("ended")[0], desk.cases(1)[0], "the first was not done first");
    }
}

fn report(desk: &Desk, agents: &str) -> Vec<String> {
    for name in ["begun", "ended"] {
        let _ = fs::remove_file(desk.path().join(name));
    }
    let ended = desk.live(CASES, [agents]).run();
    assert_eq!(ended.lines("case").len(), CASES, "{}", ended.stderr);
    timeless(&ended.stdout)
}
