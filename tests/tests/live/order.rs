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

/// What a run with so many agents at once says. Only one by one the first agent is the first to end.
#[track_caller]
fn report(desk: &Desk, agents: &str) -> Vec<String> {
    for name in ["begun", "ended"] {
        let _ = fs::remove_file(desk.path().join(name));
    }
    let ended = desk.live(CASES, [agents]).run();
    assert_eq!(ended.lines("case").len(), CASES, "{}", ended.stderr);
    let order = desk.lines("ended");
    assert_eq!(order[0] == desk.cases(1)[0], agents == "-j1", "{agents}: {order:?}");
    timeless(&ended.stdout)
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
    let one_by_one = report(&desk, "-j1");
    fs::write(desk.path().join("together"), "").expect("a file");
    let reports = [one_by_one, report(&desk, "-j8"), report(&desk, "-j100")];
    assert!(reports[0][0].contains(r#""duration_seconds":}"#), "{}", reports[0][0]);
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}
