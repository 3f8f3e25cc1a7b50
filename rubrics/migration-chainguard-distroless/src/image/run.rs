//! `RUN`: whether it can run at all, and what it leaves behind.

use super::copy::is_world_writable;
use super::gems;
use super::stage::Current;
use crate::dockerfile::{Form, Heredoc, Run};
use crate::failure::Mode;
use crate::filesystem::{Installed, Kind, Making, Node, Origin, absolute, join, parent};
use crate::packages::{self, Call};
use crate::shell::{self, Command};
use crate::tools::{self, Made, Place};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) fn follow(current: &mut Current<'_, '_>, run: &Run) {
    let (program, commands) = match &run.form {
        Form::Exec(words) => (words.first().cloned().unwrap_or_default(), vec![Command::of(words)]),
        Form::Shell(text) => {
            let shell = current.image.config.shell.first().cloned().unwrap_or_default();
            (shell, shell::commands(&script(text, &run.heredocs), &|name| current.variable(name)))
        }
    };
    let can_run = has_program(current, &program);
    let folder = current.image.config.workdir.clone();
    let mut script = Script { folder, variables: BTreeMap::new(), can_run, has_mount: run.has_mount };
    for command in &commands {
        if current.builder.spend(current.image.files.size()) {
            script.follow(current, command);
        }
    }
}

/// `RUN <<EOF` runs the heredoc itself; with a command before it, the heredoc is only its input.
fn script(text: &str, heredocs: &[Heredoc]) -> String {
    match heredocs {
        [heredoc, ..] if text.trim_start().starts_with("<<") => {
            let rest = text.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
            format!("{}\n{rest}", heredoc.content)
        }
        _ => text.to_owned(),
    }
}

fn has_program(current: &mut Current<'_, '_>, program: &str) -> bool {
    let there = current.image.variant.is_none() || current.image.resolve_program(program).is_some();
    if !there {
        let base = current.image.base.clone();
        current.note(Mode::RunWithoutShell, format!("`RUN` on `{base}` needs `{program}`, which it does not have"));
    }
    there
}

/// A script while its commands are followed.
struct Script {
    folder: String,
    variables: BTreeMap<String, String>,
    /// Whether it runs at all. What it would make is followed all the same, so that one mistake is not reported as many.
    can_run: bool,
    /// Whether it sees files that no copy brought.
    has_mount: bool,
}

impl Script {
    fn follow(&mut self, current: &mut Current<'_, '_>, command: &Command) {
        match command.name() {
            "" => self.variables.extend(command.assignments.iter().cloned()),
            "cd" => self.change_folder(command),
            "export" => self.export(command),
            "." | "source" => self.activate(command),
            "bundle" | "bundler" => self.keep_settings(current, command),
            "chown" => self.change_owner(current, command),
            "chmod" => self.change_mode(current, command),
            "rm" => self.remove(current, command),
            "adduser" | "useradd" => add_user(current, command),
            _ => {}
        }
        if let Some(call) = packages::call(command) {
            install(current, &call);
        }
        self.check_input(current, command);
        self.make(current, command);
    }

    /// A tool stops without the file that says what to install.
    fn check_input(&self, current: &mut Current<'_, '_>, command: &Command) {
        let Some(path) = tools::needed_file(command).filter(|_| !self.has_mount) else { return };
        let path = absolute(&self.folder, path);
        if current.image.files.find(&path).is_none() {
            let note = format!("`{}` reads `{path}`, which is not there", command.words.join(" "));
            current.note(Mode::CopySourceMissing, note);
        }
    }

    /// A variable as a command sees it: its own, else the script's, else the stage's.
    fn variable(&self, current: &Current<'_, '_>, command: &Command, name: &str) -> Option<String> {
        let own = command.assignments.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let set = own.or_else(|| self.variables.get(name).cloned()).or_else(|| current.variable(name));
        set.or_else(|| (name == "HOME").then(|| current.image.home()))
    }

    fn keep_settings(&self, current: &mut Current<'_, '_>, command: &Command) {
        let variable = |name: &str| self.variable(current, command, name);
        let place = Place { folder: &self.folder, variable: &variable };
        if let Some((path, text)) = gems::kept(current, command, &place) {
            let owner = current.image.uid(&current.image.config.user);
            current.image.files.insert(&path, Node::new(Kind::File, Origin::Inline(text), owner));
        }
    }

    fn change_folder(&mut self, command: &Command) {
        if let Some(folder) = command.operands().next() {
            self.folder = absolute(&self.folder, folder);
        }
    }

    /// `. /venv/bin/activate` makes its virtual environment the one that pip works in.
    fn activate(&mut self, command: &Command) {
        let script = command.operands().find(|path| path.ends_with("/bin/activate"));
        if let Some(script) = script.map(|path| absolute(&self.folder, path)) {
            self.variables.insert("VIRTUAL_ENV".to_owned(), parent(parent(&script)).to_owned());
        }
    }

    fn export(&mut self, command: &Command) {
        let pairs = command.words.iter().skip(1).filter_map(|word| word.split_once('='));
        self.variables.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    fn change_owner(&self, current: &mut Current<'_, '_>, command: &Command) {
        let mut operands = command.operands();
        let owner = operands.next().and_then(|user| current.image.uid(user));
        for path in operands {
            current.image.files.change_owner(&absolute(&self.folder, path), owner);
        }
    }

    fn change_mode(&self, current: &mut Current<'_, '_>, command: &Command) {
        let mut operands = command.operands();
        if operands.next().is_some_and(is_world_writable) {
            operands.for_each(|path| current.image.files.make_writable(&absolute(&self.folder, path)));
        }
    }

    fn remove(&self, current: &mut Current<'_, '_>, command: &Command) {
        for path in command.operands() {
            let path = absolute(&self.folder, path);
            if path != "/" {
                current.image.files.remove(&path);
            }
        }
    }

    fn make(&self, current: &mut Current<'_, '_>, command: &Command) {
        let variable = |name: &str| self.variable(current, command, name);
        let place = Place { folder: &self.folder, variable: &variable };
        let (paths, gems) = gems::installed(current, command, &place).unzip();
        let made: Vec<Made> = tools::made(command, &place).into_iter().chain(paths.unwrap_or_default()).collect();
        let linkage = tools::linkage(command, &place);
        let native = tools::is_native(command);
        let words: Vec<String> = command.plain_words().into_iter().map(str::to_owned).collect();
        let (owner, libc) = (current.image.uid(&current.image.config.user), current.image.libc());
        let interpreter = linked_interpreter(current, command);
        for Made { path, kind, is_sure } in made {
            if is_sure && self.can_run {
                check_permission(current, &path);
            }
            let making = Making {
                words: words.clone(),
                linkage,
                native,
                libc,
                path: path.clone(),
                interpreter: interpreter.clone(),
                gems: gems.clone(),
            };
            current.image.files.make(&path, kind, owner, Some(Rc::new(making)));
        }
    }
}

/// The program that the interpreter of a new virtual environment is a link to. Of an image that nothing is known about, and of
/// an interpreter that is copied or that a tool chooses by itself, it cannot be told.
fn linked_interpreter(current: &Current<'_, '_>, command: &Command) -> Option<String> {
    let is_plain = command.plain_words().first() == Some(&"venv") && !command.has("--copies");
    let program = command.words.first().filter(|_| is_plain && current.image.variant.is_some())?;
    current.image.resolve_program(program)
}

/// A build stage may run as somebody who cannot write everywhere.
fn check_permission(current: &mut Current<'_, '_>, path: &str) {
    if current.image.variant.is_some() && !current.image.can_write(path) {
        let note = format!("`{}` writes to `{path}` in a build stage and may not", current.image.config.user);
        current.note(Mode::BuildNotPermitted, note);
    }
}

/// Declares the user that a command adds. Without a number it gets the first free one, as usual.
fn add_user(current: &mut Current<'_, '_>, command: &Command) {
    let uid = command.option("-u").or_else(|| command.option("--uid")).and_then(|uid| uid.parse().ok()).unwrap_or(1000);
    let values: Vec<&str> = ["-u", "-g", "-G", "-h", "-d", "-s", "-c", "--uid", "--gid", "--home", "--shell"]
        .iter()
        .filter_map(|option| command.option(option))
        .collect();
    let name = command.operands().find(|word| !values.contains(word));
    if let Some(name) = name {
        current.image.users.insert(name.to_owned(), uid);
    }
}

fn install(current: &mut Current<'_, '_>, call: &Call) {
    let Some(variant) = &current.image.variant else { return };
    let base = current.image.base.clone();
    if variant.package_manager.as_deref() != Some(call.manager) {
        return current.note(Mode::PackageManagerMissing, format!("`{base}` has no `{}`", call.manager));
    }
    if call.packages.is_empty() {
        return;
    }
    if !current.image.config.is_root() {
        current.note(Mode::PackageInstallNotRoot, format!("packages are installed as `{}`", current.image.config.user));
    }
    for package in &call.packages {
        install_one(current, package, call.root.as_deref().unwrap_or("/"));
    }
}

fn install_one(current: &mut Current<'_, '_>, package: &str, root: &str) {
    let facts = current.builder.surroundings.facts;
    let root = absolute("/", root);
    let Some(paths) = facts.packages.apk.get(package) else {
        return current.note(Mode::UnknownPackage, format!("there is no apk package `{package}`"));
    };
    let origin = current.image.libc().map_or(Origin::Made, Origin::Image);
    let files = &mut current.image.files;
    files.installed.push(Installed { package: package.to_owned(), root: root.clone() });
    files.make_folder(&root, Some(0), false);
    for path in paths {
        files.insert(&join(&root, path), Node::new(Kind::Open, origin.clone(), Some(0)));
    }
    if paths.is_empty() {
        files.make(&join(&root, "/usr/lib"), Kind::OpenFolder, Some(0), None);
    }
}
