//! The rubric of the task class `migration-chainguard-distroless`: an agent is given a service with a Dockerfile, facts
//! about images, and a task; it answers with a patch or declines.
//!
//! A patch is applied to the input, the Dockerfile is followed stage by stage without running anything ([`image`]), and the
//! image that comes out is judged part by part ([`judge`]). What is known about images comes from the case's
//! `input/images.toml` and what is accepted from its `expected/verdict.toml`; nothing here knows any case or any image.
//! `bench/migration-chainguard-distroless/README.md` is the reference of both formats and of the failure modes.

mod answer;
mod bundler;
mod context;
mod dockerfile;
mod expectation;
mod facts;
mod failure;
mod filesystem;
mod glob;
mod image;
mod judge;
mod packages;
mod reference;
mod score;
mod shell;
mod tools;

use crate::answer::Output;
use crate::expectation::{Accepted, Expectation, Last, Reason};
use crate::facts::Facts;
use crate::failure::{Finding, Mode};
use crate::judge::Judgement;
use eval_diff::{Applied, Tree};
use eval_rubric::{Answer, BenchCase, CaseFiles, Disposition, Rubric, RubricError, Verdict};
use std::collections::BTreeSet;

/// Scores migrations of Dockerfiles to distroless images.
#[derive(Debug)]
pub struct MigrationChainguardDistroless;

impl Rubric for MigrationChainguardDistroless {
    fn judge(case: &BenchCase, answer: &Answer, files: &CaseFiles) -> Result<Verdict, RubricError> {
        let expectation = read_expectation(case, files)?;
        let output = answer.parse()?;
        let known = check_reference(&expectation, files)?;
        match output {
            Output::Decline { reason, explanation } => {
                Ok(score::of_answer(decline(&expectation, reason, &explanation).as_ref()))
            }
            Output::Patch { diff } => patch(&expectation, &diff, files, &known),
        }
    }
}

eval_rubric::export!(MigrationChainguardDistroless);

fn read_expectation(case: &BenchCase, files: &CaseFiles) -> Result<Expectation, RubricError> {
    let malformed = |why: String| RubricError::MalformedCase(format!("`expected/verdict.toml`: {why}"));
    let expectation = Expectation::parse(&files.read_text("expected/verdict.toml")?).map_err(malformed)?;
    let patch_only = !expectation.accepts(Accepted::Decline);
    let decline_only = !expectation.accepts(Accepted::Patch);
    let agrees = match case.disposition {
        Disposition::Positive => patch_only,
        Disposition::Negative => decline_only,
        Disposition::Ambiguous => true,
    };
    if agrees { Ok(expectation) } else { Err(malformed("`accept` contradicts the case's disposition".to_owned())) }
}

fn decline(expectation: &Expectation, reason: Reason, explanation: &str) -> Option<Finding> {
    if !expectation.accepts(Accepted::Decline) {
        return Some(Finding::new(Mode::FalseDecline, "the service can be migrated as asked"));
    }
    if !expectation.decline_reasons.contains(&reason) {
        return Some(Finding::new(Mode::WrongDeclineReason, format!("{reason:?} is not why")));
    }
    explanation.trim().is_empty().then(|| Finding::new(Mode::DeclineUnexplained, "the explanation is empty"))
}

/// An answer must not be able to use up the rubric's fuel, so its size is bounded: by far more than a migration needs.
const MAX_DIFF: usize = 256 * 1024;
const MAX_CHANGES: usize = 100;

/// The verdict on a patch. What the case's own answer leaves behind as well is `known`.
fn patch(
    expectation: &Expectation,
    diff: &str,
    files: &CaseFiles,
    known: &BTreeSet<Finding>,
) -> Result<Verdict, RubricError> {
    Ok(match findings(expectation, diff, files)? {
        Judged::Whole(finding) => score::of_answer(Some(&finding)),
        Judged::Parts(Judgement { mut findings, leftovers }) => {
            findings.extend(leftovers.difference(known).cloned());
            score::of_patch(&findings)
        }
    })
}

/// What is wrong with a patch: all of it, or parts.
enum Judged {
    Whole(Finding),
    Parts(Judgement),
}

fn findings(expectation: &Expectation, diff: &str, files: &CaseFiles) -> Result<Judged, RubricError> {
    if diff.len() > MAX_DIFF {
        return Ok(whole(Mode::DiffDoesNotApply, "the diff is longer than any migration needs"));
    }
    let input: Tree = files.read_tree("input")?.into_iter().collect();
    let applied = match eval_diff::apply(&input, diff) {
        Ok(applied) => applied,
        Err(error) => return Ok(whole(Mode::DiffDoesNotApply, &error.to_string())),
    };
    if applied.tree == input {
        return Ok(whole(Mode::EmptyDiff, "the patch changes nothing"));
    }
    if applied.changes.len() > MAX_CHANGES {
        return Ok(whole(Mode::UnrelatedChange, "the patch touches more files than any migration needs"));
    }
    match &expectation.last {
        Some(last) => judge_patch(expectation, last, &input, &applied).map(Judged::Parts),
        None => Ok(whole(Mode::PatchWhereDeclineWasRight, "the service must not be migrated as asked")),
    }
}

/// The case's own answer must pass. Where it does not, the case or this rubric misreads something, and every verdict on an
/// agent's answer would be as wrong. What it leaves behind is the answer's.
fn check_reference(expectation: &Expectation, files: &CaseFiles) -> Result<BTreeSet<Finding>, RubricError> {
    let mut known = BTreeSet::new();
    let (path, found) = if expectation.accepts(Accepted::Patch) {
        let path = "expected/solution.diff";
        let found = match findings(expectation, &files.read_text(path)?, files)? {
            Judged::Whole(finding) => Some(finding),
            Judged::Parts(judgement) => {
                known = judgement.leftovers;
                judgement.findings.into_iter().next()
            }
        };
        (path, found)
    } else {
        let path = "expected/solution.json";
        let answer: Output =
            serde_json::from_str(&files.read_text(path)?).map_err(|error| malformed(&format!("`{path}`: {error}")))?;
        let found = match answer {
            Output::Decline { reason, explanation } => decline(expectation, reason, &explanation),
            Output::Patch { .. } => Some(Finding::new(Mode::PatchWhereDeclineWasRight, "the answer is a patch")),
        };
        (path, found)
    };
    found.map_or(Ok(known), |finding| {
        let (mode, note) = (finding.mode.name(), &finding.note);
        Err(malformed(&format!("`{path}` is not a right answer by `expected/verdict.toml`: {mode}: {note}")))
    })
}

/// An answer that is wrong as a whole.
fn whole(mode: Mode, note: &str) -> Judged {
    Judged::Whole(Finding::new(mode, note))
}

fn judge_patch(
    expectation: &Expectation,
    last: &Last,
    input: &Tree,
    applied: &Applied,
) -> Result<Judgement, RubricError> {
    let text = input.text("images.toml").ok_or_else(|| malformed("`input/images.toml` is missing or not UTF-8"))?;
    let facts = Facts::parse(text).map_err(|error| malformed(&format!("`input/images.toml`: {error}")))?;
    let case = judge::Case { expectation, last, facts: &facts, input };
    judge::judge(&case, applied).map_err(|error| malformed(&error.to_string()))
}

fn malformed(why: &str) -> RubricError {
    RubricError::MalformedCase(why.to_owned())
}

#[cfg(test)]
mod tests;
