//! One stage: its start, and its instructions in order.

use super::{Builder, COPY_EFFORT, Image, copy, ports, run};
use crate::dockerfile::{Form, Instruction, Stage, expand, plain_variables};
use crate::failure::Mode;
use crate::filesystem::{Node, absolute};
use std::collections::{BTreeMap, BTreeSet};

/// A stage while its instructions are followed.
pub(super) struct Current<'b, 'a> {
    pub(super) builder: &'b mut Builder<'a>,
    pub(super) image: Image,
    arguments: BTreeMap<String, String>,
    /// Whether this stage has its own `CMD`, which a later `ENTRYPOINT` then keeps.
    has_cmd: bool,
    /// Copies that nothing has read yet, and what they put where.
    unread: Vec<(String, Vec<(String, Node)>)>,
    /// Installs and builds since something else happened.
    pub(super) installs: BTreeSet<Vec<String>>,
}

/// Follows a stage and adds its image.
pub(super) fn follow(builder: &mut Builder<'_>, stage: &Stage) {
    let text = builder.expanded_globally(&stage.from.image);
    let mut image = match builder.stage_named(&text) {
        Some(index) => {
            builder.spend(COPY_EFFORT * builder.built.images[index].files.size());
            builder.link(index, true);
            builder.built.images[index].clone()
        }
        None => builder.pull(&text, true),
    };
    image.name = stage.from.name.clone();
    if let Some(platform) = &stage.from.platform {
        image.platform = Some(builder.expanded_globally(platform));
    }
    check_platform(builder, &image);
    let triggers = std::mem::take(&mut image.triggers);
    let mut current = Current {
        builder,
        image,
        arguments: BTreeMap::new(),
        has_cmd: false,
        unread: Vec::new(),
        installs: BTreeSet::new(),
    };
    for instruction in triggers.iter().chain(stage.lines.iter().map(|line| &line.instruction)) {
        current.follow(instruction);
    }
    current.read_copies();
    let image = current.image;
    builder.built.images.push(image);
}

fn check_platform(builder: &mut Builder<'_>, image: &Image) {
    let (Some(platform), Some(variant)) = (&image.platform, &image.variant) else { return };
    if !variant.platforms.is_empty() && !variant.platforms.contains(platform) {
        builder.note(Mode::UnknownImage, format!("`{}` has no build for `{platform}`", image.base));
    }
}

impl Current<'_, '_> {
    pub(super) fn note(&mut self, mode: Mode, note: impl Into<String>) {
        self.builder.note(mode, note);
    }

    /// Notes that a copy put something where it may yet be written over.
    pub(super) fn add_copy(&mut self, said: String) {
        let copied = self.image.files.copied();
        if !copied.is_empty() {
            self.unread.push((said, copied));
        }
        self.installs.clear();
    }

    /// Something reads the files. A copy of which nothing is left by then had no effect.
    pub(super) fn read_copies(&mut self) {
        for (said, copied) in std::mem::take(&mut self.unread) {
            let is_gone =
                |(path, node): &(String, Node)| self.image.files.get(path).is_some_and(|new| new.replaces(node));
            if copied.iter().all(is_gone) {
                let note = format!("`{said}` is written over before anything reads it");
                self.builder.note_leftover(Mode::InstructionWithoutEffect, note);
            }
        }
    }

    /// An argument from before the first `FROM`, or one that the builder sets, is empty in a stage that does not declare it.
    pub(super) fn check_declared(&mut self, text: &str) {
        for name in plain_variables(text).into_iter().collect::<BTreeSet<_>>() {
            let is_argument = self.builder.globals.contains_key(name);
            let is_assigned = text.contains(&format!("{name}="));
            if is_argument && !is_assigned && self.variable(name).is_none() {
                let note = format!("`${name}` is empty in a stage without `ARG {name}`");
                self.builder.note_leftover(Mode::UndeclaredArgument, note);
            }
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.image.config.env.get(name).or_else(|| self.arguments.get(name)).cloned()
    }

    /// A word with its variables expanded.
    pub(super) fn expanded(&mut self, word: &str) -> String {
        self.check_declared(word);
        match expand(word, self.builder.escape, &|name| self.variable(name)) {
            Ok(text) => text,
            Err(error) => {
                self.note(Mode::DockerfileInvalid, format!("`{word}`: {error}"));
                String::new()
            }
        }
    }

    fn expanded_all(&mut self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.expanded(word)).collect()
    }

    fn follow(&mut self, instruction: &Instruction) {
        if !self.builder.spend(self.image.files.size()) {
            return;
        }
        match instruction {
            Instruction::Run(command) => run::follow(self, command),
            Instruction::Copy(transfer) | Instruction::Add(transfer) => copy::follow(self, transfer),
            Instruction::Arg(arguments) => arguments.iter().for_each(|(name, default)| {
                self.declare(name, default.as_deref());
            }),
            Instruction::Env(pairs) => self.set_env(pairs),
            Instruction::Label(pairs) => self.set_labels(pairs),
            Instruction::OnBuild(trigger) => self.image.triggers.push((**trigger).clone()),
            Instruction::Expose(words) => self.expose(words),
            other => self.configure(other),
        }
    }

    /// The instructions that set one field of the configuration.
    fn configure(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Cmd(form) => {
                self.image.config.cmd = given(form);
                self.has_cmd = true;
            }
            Instruction::Entrypoint(form) => self.set_entrypoint(form),
            Instruction::HealthCheck(check) => self.image.config.health = Some(check.clone()),
            Instruction::User(user) => self.set_user(user),
            Instruction::Workdir(path) => self.set_workdir(path),
            Instruction::Volume(paths) => {
                let paths = self.expanded_all(paths);
                self.image.config.volumes.extend(paths);
            }
            Instruction::StopSignal(signal) => self.image.config.stop_signal = Some(self.expanded(signal)),
            Instruction::Shell(words) => self.image.config.shell.clone_from(words),
            _ => {}
        }
    }

    fn declare(&mut self, name: &str, default: Option<&str>) {
        let value = match default {
            Some(default) => Some(self.expanded(default)),
            None => self.builder.globals.get(name).cloned(),
        };
        self.arguments.extend(value.map(|value| (name.to_owned(), value)));
    }

    /// All values of one `ENV` are expanded with the variables from before it.
    fn set_env(&mut self, pairs: &[(String, String)]) {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| (name.clone(), self.expanded(value))).collect();
        self.image.config.own_env.extend(pairs.iter().map(|(name, _)| name.clone()));
        self.image.config.env.extend(pairs);
    }

    fn set_labels(&mut self, pairs: &[(String, String)]) {
        for (name, value) in pairs {
            let (name, value) = (self.expanded(name), self.expanded(value));
            self.image.config.labels.insert(name, value);
        }
    }

    fn expose(&mut self, words: &[String]) {
        for word in self.expanded_all(words) {
            match ports(&word) {
                Some(ports) => self.image.config.ports.extend(ports),
                None => self.note(Mode::DockerfileInvalid, format!("`EXPOSE {word}` names no port")),
            }
        }
    }

    /// A new entrypoint forgets the `CMD` of the base image, which was made for another one.
    fn set_entrypoint(&mut self, form: &Form) {
        self.image.config.entrypoint = given(form);
        if !self.has_cmd {
            self.image.config.cmd = None;
        }
    }

    fn set_user(&mut self, user: &str) {
        let user = self.expanded(user);
        self.check_user(&user);
        self.image.config.user = user;
    }

    /// A name that the image does not declare fails; a number needs no declaration.
    pub(super) fn check_user(&mut self, user: &str) {
        if self.image.variant.is_some() && self.image.uid(user).is_none() {
            let base = self.image.base.clone();
            self.note(Mode::UnknownUser, format!("`{base}` declares no user `{user}`"));
        }
    }

    /// A builder makes the folder if it is missing, and gives it to the user of that moment.
    fn set_workdir(&mut self, path: &str) {
        let path = self.expanded(path);
        let path = absolute(&self.image.config.workdir, &path);
        let owner = self.image.uid(&self.image.config.user);
        self.image.files.make_folder(&path, owner, false);
        self.image.config.workdir = path;
    }
}

/// An empty array is how a Dockerfile takes back what the base image has.
fn given(form: &Form) -> Option<Form> {
    match form {
        Form::Exec(words) if words.is_empty() => None,
        form => Some(form.clone()),
    }
}
