//! `RUN`: whether it can run at all, and what it leaves behind.

use super::copy::is_world_writable;
use super::gems;
use super::stage::Current;
use super::{COPY_EFFORT, Image};
use crate::dockerfile::{Form, Heredoc, Run};
use crate::failure::Mode;
use crate::filesystem::{
    Destination, Installed, Kind, Making, Node, Origin, Ownership, absolute, join, parent, relative_to,
};
use crate::packages::{self, Call};
use crate::shell::{self, Command};
use crate::tools::{self, Made, Place};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) fn follow(current: &mut Current<'_, '_>, run: &Run) {
    current.read_copies();
    for source in &run.mounted {
        current.builder.source_stage(source);
    }
    let (program, commands) = match &run.form {
        Form::Exec(words) => (words.first().cloned().unwrap_or_default(), vec![Command::of(words)]),
        Form::Shell(text) => {
            let shell = current.image.config.shell.first().cloned().unwrap_or_default();
            current.check_declared(&script(text, &run.heredocs));
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
            "cp" | "mv" => self.transfer(current, command),
            "adduser" | "useradd" => add_user(current, command),
            _ => {}
        }
        if let Some(call) = packages::call(command) {
            install(current, &call);
        }
        self.check_input(current, command);
        self.check_sources(current, command);
        check_repeated(current, command);
        self.make(current, command);
    }

    /// A compiler stops where there is nothing to compile. What another command may have left there is not known.
    fn check_sources(&self, current: &mut Current<'_, '_>, command: &Command) {
        let variable = |name: &str| self.variable(current, command, name);
        let place = Place { folder: &self.folder, variable: &variable };
        let Some(sources) = tools::needed_sources(command, &place).filter(|_| !self.has_mount) else { return };
        let may_be = |path: &str, node: &Node| match relative_to(path, &sources.folder) {
            Some(below) if node.kind == Kind::File => sources.endings.iter().any(|ending| below.ends_with(ending)),
            is_below => {
                let is_near = is_below.is_some() || relative_to(&sources.folder, path).is_some();
                let is_open = matches!(node.kind, Kind::Open | Kind::OpenFolder);
                is_near && is_open && !node.made_by.iter().any(|making| tools::is_build(&making.words))
            }
        };
        if !current.image.files.iter().any(|(path, node)| may_be(path, node)) {
            let note = format!("`{}` finds no sources in `{}`", command.words.join(" "), sources.folder);
            current.note(Mode::CopySourceMissing, note);
        }
    }

    /// A tool stops without the file that says what to install.
    fn check_input(&self, current: &mut Current<'_, '_>, command: &Command) {
        let is_told =
            command.name().starts_with("bundle") && self.variable(current, command, "BUNDLE_GEMFILE").is_some();
        let Some(path) = tools::needed_file(command).filter(|_| !self.has_mount && !is_told) else { return };
        let path = absolute(&self.folder, path);
        let is_there = |path: &str| current.image.files.find(path).is_some();
        let above = || std::iter::successors(Some(parent(&path)), |folder| (*folder != "/").then(|| parent(folder)));
        let is_found_above =
            tools::looks_above(command) && above().any(|folder| is_there(&join(folder, shell::file_name(&path))));
        if !is_there(&path) && !is_found_above {
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
        let is_deep =
            command.words.iter().any(|word| word == "--recursive" || (word.starts_with('-') && word.contains('R')));
        for path in operands {
            let path = absolute(&self.folder, path);
            if self.can_run && !may_change_owner(&current.image, &path, owner, is_deep) {
                let note = format!("`{}` gives `{path}` away and may not", current.image.config.user);
                current.note(Mode::BuildNotPermitted, note);
            }
            current.image.files.change_owner(&path, owner);
        }
    }

    fn change_mode(&self, current: &mut Current<'_, '_>, command: &Command) {
        let mut operands = command.operands();
        if operands.next().is_some_and(is_world_writable) {
            operands.for_each(|path| current.image.files.make_writable(&absolute(&self.folder, path)));
        }
    }

    /// What is known to be copied or moved is known at its new place, too.
    fn transfer(&self, current: &mut Current<'_, '_>, command: &Command) {
        let operands: Vec<&str> = command.operands().collect();
        let Some((to, sources)) = operands.split_last() else { return };
        let old = current.image.files.clone();
        let target = absolute(&self.folder, to);
        let is_into = to.ends_with('/') || old.is_folder(&target) || sources.len() > 1;
        let ownership = Ownership { owner: current.image.uid(&current.image.config.user), world_writable: false };
        for source in sources {
            let path = absolute(&self.folder, source);
            let is_content = source.ends_with("/.");
            let goes_to = if is_into && !is_content { join(&target, shell::file_name(&path)) } else { target.clone() };
            if !current.builder.spend(COPY_EFFORT * old.size()) || old.get(&path).is_none() || path == "/" {
                continue;
            }
            let destination = Destination { path: goes_to, is_folder: false };
            current.image.files.copy_from(&old, &path, &destination, ownership);
            if command.name() == "mv" {
                current.image.files.remove(&path);
            }
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

/// Only root gives files away. Whoever owns them all may keep them.
fn may_change_owner(image: &Image, path: &str, owner: Option<u32>, is_deep: bool) -> bool {
    let user = image.uid(&image.config.user);
    let is_meant = |other: &str| other == path || (is_deep && relative_to(other, path).is_some());
    let is_own = image.files.iter().filter(|(other, _)| is_meant(other)).all(|(_, node)| node.owner == user);
    image.variant.is_none() || image.config.is_root() || (owner == user && is_own)
}

/// The same install or build again, with nothing in between that could make it another one, has no effect.
fn check_repeated(current: &mut Current<'_, '_>, command: &Command) {
    match tools::install_key(command) {
        Some(key) if current.installs.contains(&key) => {
            let note = format!("`{}` is run again, and nothing changed in between", key.join(" "));
            current.builder.note_leftover(Mode::InstructionWithoutEffect, note);
        }
        Some(key) => _ = current.installs.insert(key),
        None if tools::is_neutral(command) => {}
        None => current.installs.clear(),
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
    let is_inside = |path: &str, root: &str| relative_to(path, root).is_some_and(|below| !below.is_empty());
    if let Some(root) = call.root.as_ref().map(|root| absolute("/", root)).filter(|_| !call.makes_database)
        && !current.image.files.iter().any(|(path, _)| is_inside(path, &root))
    {
        let note =
            format!("`{} --root {root}` finds no packages there to add to, and is not told to begin", call.manager);
        current.note(Mode::CopySourceMissing, note);
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
