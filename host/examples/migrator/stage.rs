//! What becomes of the stages: one rule for each instruction that an image without shell and root takes differently.

use crate::command;
use crate::dockerfile::{Instruction, Stage};
use crate::images::{Images, Variant, family, is_root};
use crate::packages;
use crate::shared::Files;

/// A build stage runs as root, since nothing of it is shipped but what is copied.
pub(crate) fn rewrite_build(stage: &mut Stage, variant: &Variant, images: &Images, static_program: bool) {
    let rewrite = |instruction: Instruction| match instruction.keyword.as_str() {
        "USER" => None,
        "RUN" => {
            let mut commands = packages::with_apk(&instruction.arguments, images);
            if static_program && !commands.contains("CGO_ENABLED=") {
                commands = commands.replace("go build", "CGO_ENABLED=0 go build");
            }
            changed_run(instruction, &commands)
        }
        _ => Some(instruction),
    };
    let body = std::mem::take(&mut stage.body);
    let root = (!variant.runs_as_root()).then(|| Instruction::new("USER", "root"));
    stage.body = root.into_iter().chain(body.into_iter().filter_map(rewrite)).collect();
}

/// What a single stage used to do itself.
pub(crate) struct SplitOff {
    pub(crate) build: Stage,
    /// The interpreter of the virtual environment, if there is one.
    pub(crate) python: Option<String>,
}

/// Moves what a single stage installs to a build stage of its own, and copies the result back.
pub(crate) fn split_off_build(stage: &mut Stage, images: &Images) -> Option<SplitOff> {
    let builds = |instruction: &Instruction| {
        instruction.keyword == "RUN" && !packages::without_preparation(&instruction.arguments).is_empty()
    };
    let image = images.named(&family(&stage.image(), false))?;
    let tag = image.development()?.tags.first()?;
    let after = stage.body.iter().rposition(builds)? + 1;
    let rest = stage.body.split_off(after);
    let install = packages::without_preparation(&stage.body.pop()?.arguments);
    let folder = working_folder(&stage.body);

    let mut body = vec![Instruction::new("USER", "root")];
    body.extend(stage.body.iter().filter_map(needed_to_build));
    let venv = install.starts_with("pip ").then(|| format!("{folder}/venv"));
    let (install, product) = match &venv {
        Some(venv) => (format!("python -m venv {venv} && {venv}/bin/{install}"), venv.clone()),
        None => (install.clone(), product(&install, &folder)),
    };
    body.extend([Instruction::new("RUN", &install), Instruction::blank()]);

    stage.body.retain(|instruction| instruction.keyword != "RUN" && !comes_from(instruction));
    stage.body.push(Instruction::new("COPY", &format!("--from=build {product} {product}")));
    stage.body.extend(rest);
    let from = Instruction::new("FROM", &format!("{}:{tag} AS build", image.name));
    Some(SplitOff { build: Stage { from, body }, python: venv.map(|venv| format!("{venv}/bin/python")) })
}

/// The part of an instruction that has a bearing on what is installed. What comes from another image is not needed: the
/// development variants have their tools.
fn needed_to_build(instruction: &Instruction) -> Option<Instruction> {
    let instruction = instruction.clone();
    match instruction.keyword.as_str() {
        "WORKDIR" | "ARG" => Some(instruction),
        "COPY" => (!comes_from(&instruction)).then_some(instruction),
        "RUN" => {
            let commands = packages::without_preparation(&instruction.arguments);
            changed_run(instruction, &commands)
        }
        _ => None,
    }
}

/// What a command leaves behind that the service needs: a folder that is known, or all of the working folder.
fn product(command: &str, folder: &str) -> String {
    match command.split_whitespace().next() {
        Some("npm" | "yarn" | "pnpm") => format!("{folder}/node_modules"),
        Some("composer") => format!("{folder}/vendor"),
        _ => folder.to_owned(),
    }
}

fn working_folder(body: &[Instruction]) -> String {
    let last = body.iter().rev().find(|instruction| instruction.keyword == "WORKDIR");
    last.map_or_else(String::new, |instruction| instruction.arguments.trim_end_matches('/').to_owned())
}

/// The last stage: no shell, no package manager, and nobody who is root.
pub(crate) fn rewrite_runtime(stage: &mut Stage, variant: &Variant, python: Option<&str>, files: &Files) {
    let has_entrypoint = stage.body.iter().any(|instruction| instruction.keyword == "ENTRYPOINT");
    let rewrite = |instruction: Instruction| match instruction.keyword.as_str() {
        "RUN" => {
            let commands = packages::without_preparation(&instruction.arguments);
            changed_run(instruction, &commands)
        }
        "USER" => (variant.knows(&instruction.arguments) && !is_root(&instruction.arguments)).then_some(instruction),
        "COPY" => Some(owned(instruction, variant)),
        "HEALTHCHECK" => command::health_check(instruction),
        "ENTRYPOINT" => Some(Instruction::exec("ENTRYPOINT", &start(&instruction, python, files))),
        "CMD" if !has_entrypoint => {
            let words = start(&instruction, python, files);
            Some(match python {
                Some(_) => Instruction::exec("ENTRYPOINT", &words),
                None => command::on_entrypoint(&words, &variant.entrypoint),
            })
        }
        _ => Some(instruction),
    };
    stage.body = std::mem::take(&mut stage.body).into_iter().filter_map(rewrite).collect();
    if variant.runs_as_root() && !stage.body.iter().any(|instruction| instruction.keyword == "USER") {
        stage.body.push(Instruction::new("USER", "65532"));
    }
}

/// The words of a command, with the interpreter of the virtual environment where there is one.
fn start(instruction: &Instruction, python: Option<&str>, files: &Files) -> Vec<String> {
    let mut words = command::behind_npm(command::words(&instruction.arguments), files);
    if let (Some(program), Some(python)) = (words.first_mut(), python)
        && command::same_program(program, python)
    {
        *program = python.to_owned();
    }
    words
}

/// A `RUN` with other commands, or none if no command is left.
fn changed_run(instruction: Instruction, commands: &str) -> Option<Instruction> {
    let unchanged = commands.replace(' ', "") == instruction.arguments.replace(' ', "");
    let commands = if unchanged { instruction.arguments.clone() } else { commands.to_owned() };
    (!commands.is_empty()).then(|| instruction.with_arguments(&commands))
}

/// A `COPY` whose owner is somebody whom the image knows.
fn owned(instruction: Instruction, variant: &Variant) -> Instruction {
    let owner = instruction.arguments.split_whitespace().find_map(|word| word.strip_prefix("--chown="));
    let stranger = owner.filter(|owner| !variant.knows(owner.split(':').next().unwrap_or(owner)));
    let Some(stranger) = stranger else { return instruction };
    let arguments = instruction.arguments.replacen(stranger, &variant.owner(), 1);
    instruction.with_arguments(&arguments)
}

/// Whether something is copied from an image and not from the build context or a stage.
fn comes_from(instruction: &Instruction) -> bool {
    instruction.keyword == "COPY" && instruction.arguments.starts_with("--from=")
}
