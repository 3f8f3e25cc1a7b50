//! Files that the service needs: there, writable where it writes, and with the right lines.

use super::Subject;
use crate::expectation::{Artifact, FileRule, InImage};
use crate::failure::{Finding, Mode};
use crate::filesystem::Origin;
use crate::glob;
use crate::image::Image;
use eval_diff::Tree;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let missing = subject.last.files.iter().filter(|file| !is_in_image(subject.after, file)).map(|file| {
        let place = file.at.as_ref().map_or_else(String::new, |at| format!(" at `{at}`"));
        Finding::new(Mode::FileMissing, format!("`{}` is not in the image{place}", file.input))
    });
    let artifacts = subject.expectation.artifacts.iter().filter(|artifact| !is_made(subject.after, artifact));
    let artifacts = artifacts.map(|artifact| {
        Finding::new(
            Mode::ArtifactMissing,
            format!("`{}` is not in the image: {}", artifact.name, artifact.commands.join(", ")),
        )
    });
    let closed = subject.last.writable.iter().filter(|path| !subject.after.can_write(path));
    let closed = closed.map(|path| Finding::new(Mode::NotWritable, format!("the process cannot write to `{path}`")));
    let rules = subject.expectation.files.iter().filter_map(|rule| broken(subject, rule));
    let changed = subject.applied.changed_paths().into_iter();
    let invalid = changed.filter_map(|path| invalid(subject, path));
    missing.chain(artifacts).chain(closed).chain(rules).chain(invalid).collect()
}

/// A file that the patch made invalid in its language. What was not understood before is not understood now.
fn invalid(subject: &Subject<'_>, path: &str) -> Option<Finding> {
    let problem = |tree: &Tree| {
        let text = tree.text(path)?;
        eval_syntax::problem(path, text).or_else(|| unmerged(text))
    };
    let found = problem(subject.tree()).filter(|_| problem(subject.input).is_none())?;
    Some(Finding::new(Mode::FileInvalid, format!("`{path}`: {found}")))
}

/// The mark that a merge leaves where somebody has to decide.
fn unmerged(text: &str) -> Option<String> {
    let is_mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    let number = text.lines().position(is_mark)? + 1;
    Some(format!("line {number}: a merge was not finished"))
}

fn fits(at: Option<&String>, path: &str) -> bool {
    at.is_none_or(|pattern| glob::matches_path(pattern, path))
}

fn is_in_image(image: &Image, file: &InImage) -> bool {
    image.files.iter().any(|(path, node)| {
        matches!(&node.origin, Origin::Context(input) if *input == file.input) && fits(file.at.as_ref(), path)
    })
}

fn is_made(image: &Image, artifact: &Artifact) -> bool {
    image.files.iter().any(|(path, node)| {
        let made = node.made_by.iter().any(|making| artifact.is_made_by(making));
        made && fits(artifact.at.as_ref(), path)
    })
}

fn broken(subject: &Subject<'_>, rule: &FileRule) -> Option<Finding> {
    let text = subject.tree().text(&rule.path).unwrap_or_default();
    let lines: Vec<String> = text.lines().map(plain).collect();
    let has = |line: &String| lines.contains(&plain(line));
    let lacks = rule.has_one_of.iter().find(|group| !group.iter().any(has));
    if let Some(group) = lacks {
        let note = format!("`{}` lacks `{}`", rule.path, group.join("` or `"));
        return Some(Finding::new(Mode::ConfigNotAdapted, note));
    }
    let kept = rule.has_none_of.iter().find(|line| has(line))?;
    Some(Finding::new(Mode::ConfigNotAdapted, format!("`{}` still has `{kept}`", rule.path)))
}

/// A line with its blanks made one.
fn plain(line: impl AsRef<str>) -> String {
    line.as_ref().split_whitespace().collect::<Vec<_>>().join(" ")
}
