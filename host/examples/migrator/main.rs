//! A rule-based Dockerfile migrator: a reference agent for the task class `migration-chainguard-distroless`.
//!
//! It is a baseline, and deliberately a plain one. It takes the image of the same family from `images.toml` for every stage,
//! installs in a build stage what the last one used to install, and writes the way to start in exec form. What it does not
//! do, it fails at: it reads neither the task's prose nor the service's configuration, so ports stay where they are and a
//! health check that needs a shell is dropped; it knows nothing of linking; a folder that is written to gets no new owner; and a
//! library that the last stage installed is lost.

mod command;
mod dockerfile;
mod images;
mod packages;
#[path = "../shared/mod.rs"]
mod shared;
mod stage;

use std::process::ExitCode;

use anyhow::Context as _;
use dockerfile::{Dockerfile, Stage};
use images::{Images, Variant};
use shared::{Answer, Files, required, serve, unified};

fn main() -> ExitCode {
    serve(answer)
}

fn answer(files: &Files) -> anyhow::Result<Answer> {
    let dockerfile = Dockerfile::parse(required(files, "Dockerfile")?);
    let images: Images = toml::from_str(required(files, "images.toml")?).context("images.toml")?;
    let Some(chosen) = choose(&dockerfile, &images) else {
        return Ok(decline("no_equivalent_image", "an image of the Dockerfile has no counterpart in images.toml"));
    };
    let last = chosen.last().context("the Dockerfile has no stage")?;
    if chosen.iter().zip(&dockerfile.stages).all(|(choice, stage)| is_migrated(choice, stage)) {
        return Ok(decline("already_migrated", "every stage stands on the image that it should stand on"));
    }
    if last.variant.is_some_and(|variant| variant.shells.is_empty()) && wants_shell(files) {
        return Ok(decline("needs_shell_at_runtime", "the code starts a shell, and the image has none"));
    }
    let mut migrated = files.clone();
    migrated.insert("Dockerfile".to_owned(), migrate(dockerfile, &chosen, &images, files));
    Ok(Answer::Patch { diff: unified(files, &migrated) })
}

fn decline(reason: &str, explanation: &str) -> Answer {
    Answer::Decline { reason: reason.to_owned(), explanation: explanation.to_owned() }
}

/// What a stage will stand on: an image with its variant, or, with none, the earlier stage that it stood on before.
struct Choice<'a> {
    reference: String,
    variant: Option<&'a Variant>,
}

/// An image for every stage, or nothing if one has none.
fn choose<'a>(dockerfile: &Dockerfile, images: &'a Images) -> Option<Vec<Choice<'a>>> {
    let last = dockerfile.stages.len().saturating_sub(1);
    let builds_go = dockerfile.stages.iter().any(|stage| images::family(&stage.image(), false) == "go");
    let choice = |(index, stage): (usize, &Stage)| {
        if dockerfile.stages[..index].iter().any(|earlier| earlier.name() == Some(stage.image())) {
            return Some(Choice { reference: stage.image(), variant: None });
        }
        let image = images.named(&images::family(&stage.image(), builds_go))?;
        let variant = if index == last { image.runtime()? } else { image.build(packages::installs(stage))? };
        Some(Choice { reference: format!("{}:{}", image.name, variant.tags.first()?), variant: Some(variant) })
    };
    dockerfile.stages.iter().enumerate().map(choice).collect()
}

fn is_migrated(choice: &Choice<'_>, stage: &Stage) -> bool {
    choice.reference == stage.image()
}

/// Whether code that is not a test starts a shell.
fn wants_shell(files: &Files) -> bool {
    let is_code =
        |path: &str| !["test", "Dockerfile", ".md", ".toml", ".yaml", ".json"].iter().any(|part| path.contains(part));
    let starts_shell = |text: &str| text.contains("/bin/sh") || text.contains("shell=True");
    files.iter().any(|(path, text)| is_code(path) && starts_shell(text))
}

fn migrate(mut dockerfile: Dockerfile, chosen: &[Choice<'_>], images: &Images, files: &Files) -> String {
    let static_program = chosen.last().and_then(|choice| choice.variant).is_some_and(|variant| variant.libc == "none");
    let is_single = chosen.len() == 1;
    let mut split = None;
    for (index, (stage, choice)) in dockerfile.stages.iter_mut().zip(chosen).enumerate() {
        let Some(variant) = choice.variant else { continue };
        if is_single {
            split = stage::split_off_build(stage, images);
        }
        stage.stand_on(&choice.reference);
        if index + 1 < chosen.len() {
            stage::rewrite_build(stage, variant, images, static_program);
        } else {
            let python = split.as_ref().and_then(|split| split.python.as_deref());
            stage::rewrite_runtime(stage, variant, python, files);
        }
    }
    dockerfile.stages.splice(0..0, split.map(|split| split.build));
    dockerfile.to_string()
}
