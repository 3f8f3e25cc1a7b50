//! Findings → verdict. An answer passes if nothing is wrong with it; the score says how far off it is.

use crate::failure::{Finding, Mode, Part, Severity};
use eval_rubric::Verdict;

/// The verdict on an answer that is right or wrong as a whole.
pub(crate) fn of_answer(finding: Option<&Finding>) -> Verdict {
    let value = if finding.is_none() { 1.0 } else { 0.0 };
    let verdict = Verdict::new(finding.is_none(), value).with_part(Part::Answer.name(), value);
    explained(verdict, finding)
}

/// The verdict on a patch that applied.
///
/// Every part without a finding gives its points. A finding of block severity halves the sum: such an answer is worth less
/// than one that a build refuses. A Dockerfile that cannot be read gives nothing.
pub(crate) fn of_patch(findings: &[Finding]) -> Verdict {
    let is_clean = |part: Part| findings.iter().all(|finding| finding.mode.part() != part);
    let points: u32 = Part::POINTS.iter().filter(|(part, _)| is_clean(*part)).map(|(_, points)| points).sum();
    let blocked = findings.iter().any(|finding| finding.mode.severity() == Severity::Block);
    let unreadable = findings.iter().any(|finding| finding.mode == Mode::DockerfileInvalid);
    let score = match (unreadable, blocked) {
        (true, _) => 0.0,
        (false, true) => f64::from(points) / 200.0,
        (false, false) => f64::from(points) / 100.0,
    };
    let mut verdict = Verdict::new(findings.is_empty(), score).with_part(Part::Answer.name(), 1.0);
    for (part, _) in Part::POINTS {
        verdict = verdict.with_part(part.name(), if is_clean(part) { 1.0 } else { 0.0 });
    }
    explained(verdict, findings)
}

fn explained<'a>(verdict: Verdict, findings: impl IntoIterator<Item = &'a Finding>) -> Verdict {
    findings.into_iter().fold(verdict, |verdict, finding| {
        say(finding);
        verdict.with_failure_mode(finding.mode.name())
    })
}

/// The host keeps what a rubric prints with the case, for whoever wants to know why.
#[expect(clippy::print_stdout, reason = "a rubric's output is its log, and has no other place")]
fn say(finding: &Finding) {
    println!("{}: {}", finding.mode.name(), finding.note);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(modes: &[Mode]) -> Vec<Finding> {
        modes.iter().map(|mode| Finding::new(*mode, "")).collect()
    }

    #[test]
    fn all_parts_together_are_a_hundred_points() {
        assert_eq!(Part::POINTS.iter().map(|(_, points)| points).sum::<u32>(), 100);
    }

    #[test]
    fn nothing_wrong_is_a_pass_with_the_full_score() {
        let verdict = of_patch(&[]);
        assert!(verdict.is_passed());
        assert_eq!(verdict.score(), 1.0);
        assert!(of_answer(None).is_passed());
    }

    #[test]
    fn one_thing_wrong_is_no_pass_and_a_blocking_one_halves_the_score() {
        let fail = of_patch(&findings(&[Mode::LabelLost, Mode::EnvLost]));
        assert_eq!((fail.is_passed(), fail.score()), (false, 0.95));
        let block = of_patch(&findings(&[Mode::RunsAsRoot]));
        assert_eq!((block.is_passed(), block.score()), (false, 0.45));
        assert_eq!(of_patch(&findings(&[Mode::DockerfileInvalid])).score(), 0.0);
        assert_eq!(of_answer(findings(&[Mode::EmptyDiff]).first()).score(), 0.0);
    }
}
