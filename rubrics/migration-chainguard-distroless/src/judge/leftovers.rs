//! What a patch left behind: stages that nobody uses, and instructions without effect.
//!
//! A builder takes all of it, so only what a patch brought counts: what the Dockerfile had before, and what the case's own
//! answer has, is nobody's fault. Whoever calls this takes those away.

use crate::dockerfile::{Dockerfile, Instruction, Line, Stage, plain_variables};
use crate::failure::{Finding, Mode};
use crate::image::Built;
use std::collections::{BTreeMap, BTreeSet};

/// All that a Dockerfile has and does not need.
pub(super) fn find(file: &Dockerfile, built: &Built) -> BTreeSet<Finding> {
    let mut found = built.leftovers.clone();
    found.extend(unused_stages(built));
    found.extend(unused_arguments(file));
    found.extend(left_in_build_stages(file, built));
    found.extend(file.stages.iter().flat_map(|stage| in_stage(&stage.lines)));
    found
}

fn idle(note: impl Into<String>) -> Finding {
    Finding::new(Mode::InstructionWithoutEffect, note)
}

/// The stages that the last one needs, by index. A stage can only need earlier ones.
fn needed(built: &Built, as_base_only: bool) -> BTreeSet<usize> {
    let mut needed: BTreeSet<usize> = built.images.len().checked_sub(1).into_iter().collect();
    for link in built.links.iter().rev().filter(|link| link.as_base || !as_base_only) {
        if needed.contains(&link.stage) {
            needed.insert(link.source);
        }
    }
    needed
}

fn unused_stages(built: &Built) -> Vec<Finding> {
    let needed = needed(built, false);
    let unused = built.images.iter().enumerate().filter(|(index, _)| !needed.contains(index));
    let name = |image: &crate::image::Image| image.name.clone().unwrap_or_else(|| format!("FROM {}", image.base));
    unused
        .map(|(_, image)| Finding::new(Mode::StageUnused, format!("nothing uses the stage `{}`", name(image))))
        .collect()
}

/// Arguments that a builder takes, whether the file uses them or not.
fn is_predefined(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let prefixes = ["build", "target"];
    lower.ends_with("_proxy") || name == "SOURCE_DATE_EPOCH" || prefixes.iter().any(|prefix| lower.starts_with(prefix))
}

/// Arguments before the first `FROM` that no `FROM` reads and no stage declares.
fn unused_arguments(file: &Dockerfile) -> Vec<Finding> {
    let froms = file.stages.iter().flat_map(|stage| [Some(&stage.from.image), stage.from.platform.as_ref()]).flatten();
    let defaults = file.global_args.iter().filter_map(|(_, default)| default.as_ref());
    let read: Vec<&String> = froms.chain(defaults).collect();
    let declares = |line: &Line, name: &str| match &line.instruction {
        Instruction::Arg(arguments) => arguments.iter().any(|(other, _)| other == name),
        _ => false,
    };
    let is_used = |name: &str| {
        is_predefined(name)
            || read.iter().any(|text| text.contains(&format!("${name}")) || text.contains(&format!("${{{name}")))
            || file.stages.iter().flat_map(|stage| &stage.lines).any(|line| declares(line, name))
    };
    let unused = file.global_args.iter().map(|(name, _)| name).filter(|name| !is_used(name));
    unused.map(|name| idle(format!("nothing reads the argument `{name}`"))).collect()
}

/// What describes an image does so in the last stage and in those that it stands on. The same once more in another stage
/// describes nothing.
fn left_in_build_stages(file: &Dockerfile, built: &Built) -> Vec<Finding> {
    let bases = needed(built, true);
    let describes = |line: &&Line| {
        matches!(
            line.instruction,
            Instruction::Label(_)
                | Instruction::Cmd(_)
                | Instruction::Entrypoint(_)
                | Instruction::HealthCheck(_)
                | Instruction::Expose(_)
                | Instruction::Volume(_)
                | Instruction::StopSignal(_)
        )
    };
    let stages = || file.stages.iter().enumerate();
    let lines = |stage: &'_ Stage| {
        stage.lines.iter().filter(describes).map(|line| line.instruction.clone()).collect::<Vec<_>>()
    };
    let said: Vec<Instruction> =
        stages().filter(|(index, _)| bases.contains(index)).flat_map(|(_, stage)| lines(stage)).collect();
    let elsewhere = stages().filter(|(index, _)| !bases.contains(index)).flat_map(|(_, stage)| lines(stage));
    elsewhere
        .filter(|instruction| said.contains(instruction))
        .map(|instruction| idle(format!("{} stands in a stage that does not become the image", name(&instruction))))
        .collect()
}

fn name(instruction: &Instruction) -> String {
    match instruction {
        Instruction::Label(pairs) => format!("the label `{}`", pairs.first().map_or("", |(name, _)| name)),
        Instruction::Cmd(_) => "`CMD`".to_owned(),
        Instruction::Entrypoint(_) => "`ENTRYPOINT`".to_owned(),
        Instruction::HealthCheck(_) => "`HEALTHCHECK`".to_owned(),
        Instruction::Expose(words) => format!("`EXPOSE {}`", words.join(" ")),
        Instruction::Volume(words) => format!("`VOLUME {}`", words.join(" ")),
        _ => "`STOPSIGNAL`".to_owned(),
    }
}

fn in_stage(lines: &[Line]) -> Vec<Finding> {
    let mut found = overridden(lines);
    found.extend(repeated(lines));
    found.extend(overridden_users(lines));
    found
}

/// Of these only the last one counts.
fn overridden(lines: &[Line]) -> Vec<Finding> {
    let kind = |line: &Line| match line.instruction {
        Instruction::Cmd(_) => Some("CMD"),
        Instruction::Entrypoint(_) => Some("ENTRYPOINT"),
        Instruction::HealthCheck(_) => Some("HEALTHCHECK"),
        Instruction::StopSignal(_) => Some("STOPSIGNAL"),
        _ => None,
    };
    let mut seen = BTreeSet::new();
    let again = lines.iter().filter_map(kind).filter(|kind| !seen.insert(*kind));
    again.map(|name| idle(format!("a stage has more than one `{name}`, of which only the last one counts"))).collect()
}

/// Names and words that are said again, without any change.
fn repeated(lines: &[Line]) -> Vec<Finding> {
    let mut seen: BTreeSet<(&str, String)> = BTreeSet::new();
    let mut values: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for line in lines {
        match &line.instruction {
            Instruction::Label(pairs) => {
                found.extend(again(&mut seen, "LABEL", pairs.iter().map(|(name, _)| name.clone())));
            }
            Instruction::Expose(words) => found.extend(again(&mut seen, "EXPOSE", words.iter().map(|word| port(word)))),
            Instruction::Volume(paths) => found.extend(again(&mut seen, "VOLUME", paths.iter().cloned())),
            Instruction::Env(pairs) => {
                for (name, value) in pairs {
                    let is_same = values.insert(name, value) == Some(value) && plain_variables(value).is_empty();
                    found.extend(is_same.then(|| idle(format!("`ENV {name}` is said again"))));
                }
            }
            _ => {}
        }
    }
    found
}

fn port(word: &str) -> String {
    word.to_ascii_lowercase().trim_end_matches("/tcp").to_owned()
}

fn again<'a>(
    seen: &mut BTreeSet<(&'a str, String)>,
    name: &'a str,
    words: impl Iterator<Item = String>,
) -> Vec<Finding> {
    let is_new = |word: &String| !seen.insert((name, word.clone()));
    words.filter(is_new).map(|word| idle(format!("`{name} {word}` is said again"))).collect()
}

/// A user that is another one before any step that depends on it. `USER root` before a copy is a custom, if a needless one.
fn overridden_users(lines: &[Line]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut pending: Option<&String> = None;
    for line in lines {
        match &line.instruction {
            Instruction::User(user) => {
                found.extend(pending.map(|user| idle(format!("`USER {user}` is another one before it matters"))));
                pending = Some(user);
            }
            Instruction::Run(_) | Instruction::Workdir(_) | Instruction::OnBuild(_) => pending = None,
            Instruction::Copy(_) | Instruction::Add(_) => {
                pending = pending.filter(|user| !matches!(user.split(':').next(), Some("root" | "0")));
            }
            _ => {}
        }
    }
    found
}
