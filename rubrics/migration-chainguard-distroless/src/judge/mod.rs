//! A migrated Dockerfile against what is expected of it. Each module judges one part and knows nothing of the others.

mod argv;
mod base;
mod dependencies;
mod files;
mod health;
mod metadata;
mod network;
mod packages;
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
use crate::image::{Built, Image, Surroundings, build};
use eval_diff::{Applied, Tree};
use std::collections::BTreeSet;

/// Everything that a part of the judgement can look at.
struct Subject<'a> {
    expectation: &'a Expectation,
    last: &'a Last,
    facts: &'a Facts,
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
pub(crate) fn judge(case: &Case<'_>, applied: &Applied) -> Result<Vec<Finding>, UnreadableCase> {
    let path = &case.expectation.dockerfile;
    let before = read(case.input, path).map_err(|why| UnreadableCase { path: path.clone(), why })?;
    let scope = scope::judge(case.expectation, applied);
    let after = match read(&applied.tree, path) {
        Ok(after) => after,
        Err(why) => return Ok(with(scope, Finding::new(Mode::DockerfileInvalid, why))),
    };
    let none = BTreeSet::new();
    let before = follow(&before, case, case.input, &none);
    let existing = before.references();
    let after = follow(&after, case, &applied.tree, &existing);
    let (Some(before), Some(last_image)) = (before.last(), after.last()) else { return Ok(scope) };
    let subject = Subject {
        expectation: case.expectation,
        last: case.last,
        facts: case.facts,
        before,
        after: last_image,
        built: &after,
        applied,
    };
    Ok(judge_parts(&subject, scope))
}

fn judge_parts(subject: &Subject<'_>, scope: Vec<Finding>) -> Vec<Finding> {
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
    let mut findings = scope;
    findings.extend(subject.built.findings.iter().cloned());
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
