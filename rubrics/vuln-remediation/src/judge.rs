//! From a case and an answer to a verdict.
//!
//! A patch is measured against every reference that the curator gives, and the best result counts: there can be more
//! than one right patch, but an answer has to be one of them.

use eval_diff::Applied;
use eval_rubric::Verdict;

use crate::advisory::Advisory;
use crate::case::{Case, Reference};
use crate::checks::{Patched, code, cves, manifest, origin, scope, tests_intact, versions};
use crate::failure::{Failure, Failures};
use crate::output::{DeclineReason, Output};
use crate::patch;
use crate::project::{self, Project};
use eval_syntax::bytes::begins_with;

/// Judges one answer.
pub fn judge(case: &Case, output: &Output) -> Verdict {
    match output {
        Output::Decline { reason, explanation } => judge_decline(case, *reason, explanation),
        Output::Patch { diff } => judge_patch(case, diff),
    }
}

fn judge_decline(case: &Case, reason: DeclineReason, explanation: &str) -> Verdict {
    if case.accepts.decline_reasons.is_empty() {
        let what = "a patch is right here, and declining is not";
        return useless(Failure::FalseDecline, what).with_part("decision", 0.0);
    }
    // Ids are written in capitals by some and in small letters by others.
    let explanation = explanation.to_lowercase();
    let is_named = |advisory: &&Advisory| advisory.names().any(|name| names(&explanation, &name.to_lowercase()));
    let unnamed: Vec<&str> = case.asked().filter(|a| !is_named(a)).map(|advisory| advisory.id.as_str()).collect();
    let (reason_part, named_part) = (case.accepts.decline_reasons.contains(&reason), unnamed.is_empty());
    let mut failures = Failures::new();
    if !reason_part {
        failures.add(Failure::WrongDeclineReason, format!("the input does not show `{reason:?}`"));
    }
    if !named_part {
        failures.add(Failure::DeclineUnexplained, format!("the explanation does not name {}", unnamed.join(", ")));
    }
    let thousandths = 400 + 400 * usize::from(reason_part) + 200 * usize::from(named_part);
    let parts = [("decision", 1.0), ("reason", part(reason_part)), ("explanation", part(named_part))];
    failures.sentences().for_each(|sentence| say(&sentence));
    verdict(thousandths, &failures, &parts)
}

/// Whether a text has an id that is not part of a longer one.
fn names(text: &str, id: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric());
    let comes_from = |rest: &str| rest.ends_with(|c: char| c.is_alphanumeric() || c == '-');
    text.match_indices(id).any(|(at, _)| !comes_from(&text[..at]) && !goes_on(&text[at + id.len()..]))
}

fn judge_patch(case: &Case, text: &str) -> Verdict {
    let applied = match patch::apply(&case.input, text) {
        Ok(applied) => applied,
        Err(error) => return useless(Failure::DiffDoesNotApply, error).with_part("applies", 0.0),
    };
    if !changes_anything(case, &applied) {
        return useless(Failure::EmptyDiff, "the diff changes nothing").with_part("applies", 0.0);
    }
    if case.accepts.references.is_empty() {
        return useless(Failure::PatchWhereDeclineWasRight, "nothing should change").with_part("decision", 0.0);
    }
    let project = match project::read(case.task.ecosystem, &applied.tree, &case.registry, Some(&case.before)) {
        Ok(project) => project,
        Err(error) => return useless(Failure::ProjectUnreadable, error).with_part("applies", 1.0),
    };
    let measured = case.accepts.references.iter().map(|reference| measure(case, reference, &applied, &project));
    // The best result; of equals the one with the fewest failures, and of those the curator's first. `max_by` keeps the
    // last of equals.
    let better = |(a, _): &Measured, (b, _): &Measured| {
        let fewer = || b.failure_modes().count().cmp(&a.failure_modes().count());
        a.is_passed().cmp(&b.is_passed()).then(a.score().total_cmp(&b.score())).then_with(fewer)
    };
    let best = measured.rev().max_by(better);
    match best {
        Some((verdict, failures)) => {
            failures.sentences().for_each(|sentence| say(&sentence));
            verdict
        }
        None => useless(Failure::PatchWhereDeclineWasRight, "nothing should change"),
    }
}

/// Whether any file is otherwise than it was.
fn changes_anything(case: &Case, applied: &Applied) -> bool {
    let is_same = |was: &[u8], is: &[u8]| was.len() == is.len() && begins_with(was, is);
    applied.changed_paths().into_iter().any(|path| match (case.input.get(path), applied.tree.get(path)) {
        (Some(was), Some(is)) => !is_same(was, is),
        (was, is) => was.is_some() != is.is_some(),
    })
}

/// A verdict, with what the log says about it if it is the one that counts.
type Measured = (Verdict, Failures);

fn measure(case: &Case, reference: &Reference, applied: &Applied, project: &Project) -> Measured {
    let patched = Patched { case, reference, applied, project };
    let mut report = Report::default();
    let (_, cves) = report.run(|failures| cves::check(&patched, failures));
    let (agrees, ()) = report.run(|failures| manifest::check_agreement(&patched, failures));
    let (genuine, ()) = report.run(|failures| origin::check(&patched, failures));
    let (near, ()) = report.run(|failures| versions::check(&patched, failures));
    let (modest, ()) = report.run(|failures| manifest::check_requests(&patched, failures));
    let (in_scope, ()) = report.run(|failures| scope::check(&patched, failures));
    let (intact, ()) = report.run(|failures| tests_intact::check(&patched, failures));
    let (_, code) = report.run(|failures| code::check(&patched, failures));
    let minimal = near && modest && genuine;
    let mut thousandths = 400 * cves.0 / cves.1 + 100 * code.0 / code.1;
    thousandths += 200 * usize::from(agrees) + 100 * [minimal, in_scope, intact].into_iter().filter(|ok| *ok).count();
    if cves.0 == 0 {
        thousandths = 0;
    }
    let parts = [
        ("decision", 1.0),
        ("applies", 1.0),
        ("advisories_resolved", fraction(cves)),
        ("manifest_and_lock_agree", part(agrees)),
        ("no_larger_than_needed", part(minimal)),
        ("nothing_unrelated", part(in_scope)),
        ("tests_intact", part(intact)),
        ("code_adapted", fraction(code)),
    ];
    (verdict(thousandths, &report.failures, &parts), report.failures)
}

/// Failures so far. Each check reports whether it added any.
#[derive(Default)]
struct Report {
    failures: Failures,
}

impl Report {
    fn run<T>(&mut self, check: impl FnOnce(&mut Failures) -> T) -> (bool, T) {
        let mut own = Failures::new();
        let value = check(&mut own);
        let clean = own.is_empty();
        self.failures.extend(own);
        (clean, value)
    }
}

/// An answer that is worth nothing, for one reason.
fn useless(failure: Failure, what: impl std::fmt::Display) -> Verdict {
    say(&format!("{}: {what}", failure.name()));
    Verdict::failed(0.0).with_failure_mode(failure.name())
}

/// The host keeps what a rubric prints with the case, for whoever wants to know why.
#[expect(clippy::print_stdout, reason = "a rubric's output is its log, and has no other place")]
fn say(sentence: &str) {
    println!("{sentence}");
}

/// Scores are counted in thousandths, so that they are the same everywhere and read well. An answer that fails keeps at
/// most 60 % of its points, a harmful one 30 %: a mean of scores must not be carried by answers that nobody can use.
fn verdict(thousandths: usize, failures: &Failures, parts: &[(&str, f64)]) -> Verdict {
    let kept_percent = match failures.modes().any(Failure::is_block) {
        true => 30,
        false if failures.is_empty() => 100,
        false => 60,
    };
    let thousandths = u32::try_from(thousandths * kept_percent / 100).unwrap_or(0);
    let mut verdict = Verdict::new(failures.is_empty(), f64::from(thousandths) / 1000.0);
    for (name, value) in parts {
        verdict = verdict.with_part(*name, *value);
    }
    for failure in failures.modes() {
        verdict = verdict.with_failure_mode(failure.name());
    }
    verdict
}

fn part(ok: bool) -> f64 {
    if ok { 1.0 } else { 0.0 }
}

fn fraction((done, of): (usize, usize)) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    count(done) / count(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, replace_line};

    fn patch(diff: impl Into<String>) -> Output {
        Output::Patch { diff: diff.into() }
    }

    fn to_version(version: &str) -> Output {
        patch(replace_line("requirements.txt", 1, "lib==1.1", &format!("lib=={version}")))
    }

    #[track_caller]
    fn check(case: &Case, output: &Output, score: f64, modes: &[&str]) {
        let verdict = judge(case, output);
        assert_eq!(verdict.failure_modes().collect::<Vec<_>>(), modes);
        assert_eq!((verdict.is_passed(), verdict.score()), (modes.is_empty(), score));
    }

    #[test]
    fn the_lowest_fix_passes_and_others_do_not() {
        let case = Fixture::positive().read().unwrap();
        check(&case, &to_version("1.2"), 1.0, &[]);
        check(&case, &to_version("1.3"), 0.54, &["bump_too_large"]);
        check(&case, &to_version("2.0"), 0.54, &["bump_too_large"]);
        check(&case, &to_version("1.0"), 0.0, &["cve_still_present", "version_downgraded"]);
        check(&case, &to_version("1.9"), 0.27, &["version_does_not_exist"]);
    }

    #[test]
    fn a_reference_may_leave_the_line_open() {
        let verdict = "accepts = [\"patch\"]\n[[reference]]\nbump = \"line\"\nmay_touch = [\"app.py\"]\n";
        let case = Fixture::positive().with("expected/verdict.toml", verdict).read().unwrap();
        check(&case, &to_version("1.3"), 1.0, &[]);
        check(&case, &to_version("2.0"), 0.54, &["bump_too_large"]);
        let both = format!(
            "{}{}",
            replace_line("requirements.txt", 1, "lib==1.1", "lib==1.2"),
            replace_line("app.py", 1, "import lib", "import lib  # patched")
        );
        check(&case, &patch(both), 1.0, &[]);
    }

    #[test]
    fn the_task_itself_may_leave_the_line_open() {
        let task = r#"{"ecosystem":"PyPI","advisories":["A-1"],"policy":{"versions":"line"}}"#;
        let case = Fixture::positive().with("input/task.json", task).read().unwrap();
        check(&case, &to_version("1.3"), 1.0, &[]);
        check(&case, &to_version("2.0"), 0.54, &["bump_too_large"]);
    }

    #[test]
    fn a_release_in_an_open_line_brings_its_own_dependencies() {
        let registry = r#"{"ecosystem":"PyPI","taken_at":"2024-01-01","packages":{
            "lib":{"1.1":{},"1.2":{"dependencies":[{"name":"other","requirement":">=5"}]},
                   "1.3":{"dependencies":[{"name":"other","requirement":">=6"},{"name":"extra","requirement":""}]},"2.0":{}},
            "other":{"5":{},"6":{}},"extra":{"1":{}},"stranger":{"1":{},"2":{}}}}"#;
        let verdict = "accepts = [\"patch\"]\n[[reference]]\nbump = \"line\"\n";
        let fixture = Fixture::positive().with("input/registry.json", registry);
        let case = fixture.with("expected/verdict.toml", verdict).read().unwrap();
        let to = |lines: &str, count: usize| {
            let head = format!(
                "--- a/requirements.txt\n+++ b/requirements.txt\n@@ -1,2 +1,{count} @@\n-lib==1.1\n-other==5\n"
            );
            patch(format!("{head}{lines}"))
        };
        check(&case, &to("+lib==1.3\n+other==6\n+extra==1\n", 3), 1.0, &[]);
        check(&case, &to("+lib==1.2\n+other==6\n", 2), 0.54, &["unrelated_dependency_change"]);
    }

    #[test]
    fn the_best_of_several_references_counts() {
        let verdict = "accepts = [\"patch\"]\n[[reference]]\n[[reference]]\ndiff = \"other.diff\"\n";
        let other = replace_line("requirements.txt", 1, "lib==1.1", "lib==2.0");
        let fixture = Fixture::positive().with("expected/verdict.toml", verdict).with("expected/other.diff", &other);
        let case = fixture.read().unwrap();
        check(&case, &to_version("1.2"), 1.0, &[]);
        check(&case, &to_version("2.0"), 1.0, &[]);
        check(&case, &to_version("1.0"), 0.0, &["cve_still_present", "version_downgraded"]);
    }

    #[test]
    fn what_cannot_be_judged_is_worth_nothing() {
        let case = Fixture::positive().read().unwrap();
        check(&case, &patch(""), 0.0, &["empty_diff"]);
        check(&case, &to_version("1.1"), 0.0, &["empty_diff"]);
        check(&case, &patch("nonsense"), 0.0, &["diff_does_not_apply"]);
        check(
            &case,
            &patch(replace_line("requirements.txt", 1, "lib==1.0", "lib==1.2")),
            0.0,
            &["diff_does_not_apply"],
        );
        check(&case, &patch(replace_line("requirements.txt", 1, "lib==1.1", "lib=1.2")), 0.0, &["project_unreadable"]);
    }

    #[test]
    fn an_empty_file_that_nobody_asked_for_is_a_change() {
        let case = Fixture::positive().read().unwrap();
        let fix = replace_line("requirements.txt", 1, "lib==1.1", "lib==1.2");
        let diff = format!("{fix}diff --git a/empty b/empty\nnew file mode 100644\n");
        check(&case, &patch(diff), 0.54, &["unrelated_change"]);
    }

    #[test]
    fn a_decline_is_right_where_it_is_accepted_for_its_reason_and_with_its_name() {
        let verdict = "accepts = [\"decline\"]\ndecline_reasons = [\"not_reachable\"]\n";
        let negative = Fixture::positive().with("expected/verdict.toml", verdict);
        let case = negative.disposed(eval_rubric::Disposition::Negative).read().unwrap();
        let decline = |reason, explanation: &str| Output::Decline { reason, explanation: explanation.to_owned() };
        check(&case, &decline(DeclineReason::NotReachable, "CVE-1 is not reached"), 1.0, &[]);
        check(&case, &decline(DeclineReason::NotReachable, "cve-1 is not reached"), 1.0, &[]);
        check(&case, &decline(DeclineReason::NotReachable, "no"), 0.48, &["decline_unexplained"]);
        check(&case, &decline(DeclineReason::NotReachable, "CVE-12 and XCVE-1"), 0.48, &["decline_unexplained"]);
        check(&case, &decline(DeclineReason::Withdrawn, "A-1 is gone"), 0.36, &["wrong_decline_reason"]);
        check(&case, &to_version("1.2"), 0.0, &["patch_where_decline_was_right"]);
        let positive = Fixture::positive().read().unwrap();
        check(&positive, &decline(DeclineReason::NotReachable, "CVE-1"), 0.0, &["false_decline"]);
    }
}
