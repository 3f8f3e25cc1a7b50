//! A migrated Dockerfile against what is expected of it. Each module judges one part and knows nothing of the others.

mod argv;
mod base;
mod dependencies;
mod files;
mod health;
mod ignored;
mod leftovers;
mod metadata;
mod network;
mod packages;
mod probe;
mod python;
mod ruby;
mod scope;
mod startup;
mod user;

use crate::context::Context;
use crate::dockerfile::Dockerfile;
use crate::expectation::{Expectation, Last};
use crate::facts::Facts;
use crate::failure::{Finding, Mode};
use crate::filesystem::Origin;
use crate::image::{Built, Image, Surroundings, build};
use eval_diff::{Applied, Tree};
use std::collections::BTreeSet;

/// Everything that a part of the judgement can look at.
struct Subject<'a> {
    expectation: &'a Expectation,
    last: &'a Last,
    facts: &'a Facts,
    input: &'a Tree,
    /// The image that the Dockerfile made before the patch.
    before: &'a Image,
    /// The image that it makes after it.
    after: &'a Image,
    built: &'a Built,
    applied: &'a Applied,
}

impl Subject<'_> {
    fn tree(&self) -> &Tree {
        &self.applied.tree
    }

    /// The text of a file in the image, if it is known.
    fn text_at(&self, path: &str) -> Option<String> {
        match &self.after.files.get(path)?.origin {
            Origin::Context(input) => self.tree().text(input).map(str::to_owned),
            Origin::Inline(text) => Some(text.clone()),
            _ => None,
        }
    }
}

/// A case's input with what is expected of a patch to it.
pub(crate) struct Case<'a> {
    pub(crate) expectation: &'a Expectation,
    pub(crate) last: &'a Last,
    pub(crate) facts: &'a Facts,
    pub(crate) input: &'a Tree,
}

/// The case's own Dockerfile is missing or cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("`input/{path}`: {why}")]
pub(crate) struct UnreadableCase {
    path: String,
    why: String,
}

/// What is wrong with a patch that applied. Nothing: the answer is right.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) findings: Vec<Finding>,
    /// What the patch brought and does not need. The case's own answer may have it too, and then it counts for nothing.
    pub(crate) leftovers: BTreeSet<Finding>,
}

pub(crate) fn judge(case: &Case<'_>, applied: &Applied) -> Result<Judgement, UnreadableCase> {
    let path = &case.expectation.dockerfile;
    let before_file = read(case.input, path).map_err(|why| UnreadableCase { path: path.clone(), why })?;
    let mut findings = scope::judge(case.expectation, applied);
    let after_file = match read(&applied.tree, path) {
        Ok(after) => after,
        Err(why) => {
            let findings = with(findings, Finding::new(Mode::DockerfileInvalid, why));
            return Ok(Judgement { findings, leftovers: BTreeSet::new() });
        }
    };
    let mut leftovers = scope::leftovers(case.input, applied, path);
    let none = BTreeSet::new();
    let before = follow(&before_file, case, case.input, &none);
    let existing = before.references();
    let after = follow(&after_file, case, &applied.tree, &existing);
    let old = leftovers::find(&before_file, &before);
    leftovers.extend(leftovers::find(&after_file, &after).into_iter().filter(|leftover| !old.contains(leftover)));
    let Some(before) = before.last() else { return Ok(Judgement { findings, leftovers }) };
    let found = judge_image(case, before, &after, applied);
    // The build with the lines that went: where it is as good, they need not have gone. Of a build that is not good anyway,
    // nobody can say what it needs.
    let gone = ignored::restored(case.input, &applied.tree, path).filter(|_| found.is_empty());
    if let Some((gone, tree)) = gone {
        let restored = Applied { tree, changes: applied.changes.clone() };
        let built = follow(&after_file, case, &restored.tree, &existing);
        if judge_image(case, before, &built, &restored).is_empty() {
            leftovers.extend(gone.into_iter().map(|note| Finding::new(Mode::UnrelatedChange, note)));
        }
    }
    findings.extend(found);
    Ok(Judgement { findings, leftovers })
}

fn judge_image(case: &Case<'_>, before: &Image, built: &Built, applied: &Applied) -> Vec<Finding> {
    let Some(after) = built.last() else { return Vec::new() };
    let (expectation, last, facts, input) = (case.expectation, case.last, case.facts, case.input);
    judge_parts(&Subject { expectation, last, facts, input, before, after, built, applied })
}

fn judge_parts(subject: &Subject<'_>) -> Vec<Finding> {
    const PARTS: [fn(&Subject<'_>) -> Vec<Finding>; 9] = [
        base::judge,
        user::judge,
        startup::judge,
        dependencies::judge,
        packages::judge,
        files::judge,
        network::judge,
        health::judge,
        metadata::judge,
    ];
    let mut findings = subject.built.findings.clone();
    findings.extend(PARTS.iter().flat_map(|part| part(subject)));
    findings
}

fn with(mut findings: Vec<Finding>, finding: Finding) -> Vec<Finding> {
    findings.push(finding);
    findings
}

/// Longer than what people write: bounds the work, which an answer must not be able to drive up.
const MAX_DOCKERFILE: usize = 16 * 1024;
const MAX_IGNORE_FILE: usize = 4 * 1024;

fn read(tree: &Tree, path: &str) -> Result<Dockerfile, String> {
    let own = format!("{path}.dockerignore");
    for (path, limit) in [(path, MAX_DOCKERFILE), (own.as_str(), MAX_IGNORE_FILE), (".dockerignore", MAX_IGNORE_FILE)] {
        if tree.get(path).is_some_and(|content| content.len() > limit) {
            return Err(format!("`{path}` is longer than {limit} bytes"));
        }
    }
    let text = tree.text(path).ok_or_else(|| format!("`{path}` is missing or not UTF-8"))?;
    Dockerfile::parse(text).map_err(|error| error.to_string())
}

fn follow(file: &Dockerfile, case: &Case<'_>, tree: &Tree, existing: &BTreeSet<crate::reference::Reference>) -> Built {
    let context = Context::new(tree, &case.expectation.dockerfile);
    build(file, Surroundings { facts: case.facts, context: &context, existing })
}

#[cfg(test)]
mod tests;
