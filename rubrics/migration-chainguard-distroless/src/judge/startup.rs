//! Whether the container starts the service: ENTRYPOINT and CMD together, on this image, without a shell.

use super::Subject;
use super::argv::Scope;
use crate::dockerfile::Form;
use crate::facts::Libc;
use crate::failure::{Finding, Mode};
use crate::filesystem::{Linkage, Node, Origin, absolute, parent};
use crate::image::{Config, Image};
use crate::shell::{file_name, is_shell};
use eval_diff::Tree;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = match argv(&subject.after.config) {
        // What an image starts that nothing is known about cannot be told. That it is not accepted is said elsewhere.
        Ok(_) if subject.after.variant.is_none() => Vec::new(),
        Ok(argv) => judge_command(subject, &argv),
        Err(finding) => vec![finding],
    };
    findings.extend(foreign_code(subject.after));
    findings.extend(added_shell(subject.after));
    findings
}

/// The words that the container starts: those of ENTRYPOINT, then those of CMD.
pub(super) fn argv(config: &Config) -> Result<Vec<String>, Finding> {
    let mut argv = Vec::new();
    for (name, form) in [("ENTRYPOINT", &config.entrypoint), ("CMD", &config.cmd)] {
        match form {
            Some(Form::Exec(words)) => argv.extend(words.iter().cloned()),
            Some(Form::Shell(text)) => {
                return Err(Finding::new(Mode::ShellFormStartup, format!("`{name} {text}` is handed to a shell")));
            }
            None => {}
        }
    }
    Ok(argv)
}

/// What a container runs in the end: the words behind a program that only starts another one.
pub(super) fn started(argv: &[String]) -> &[String] {
    const WRAPPERS: [&str; 5] = ["tini", "tini-static", "dumb-init", "catatonit", "env"];
    let Some((program, rest)) = argv.split_first() else { return argv };
    if !WRAPPERS.contains(&file_name(program)) {
        return argv;
    }
    let is_word = |word: &String| !word.starts_with('-') && !word.contains('=');
    let start = rest.iter().position(|word| word == "--").map(|at| at + 1).or_else(|| rest.iter().position(is_word));
    start.map_or(argv, |start| &rest[start..])
}

fn judge_command(subject: &Subject<'_>, argv: &[String]) -> Vec<Finding> {
    let Some(program) = argv.first() else {
        return vec![Finding::new(Mode::WrongStartupCommand, "neither ENTRYPOINT nor CMD says what to start")];
    };
    let programs = [Some(program), started(argv).first().filter(|inner| *inner != program)];
    let missing = programs.into_iter().flatten().find_map(|name| missing_program(subject.after, subject.tree(), name));
    let mut findings: Vec<Finding> = missing.into_iter().collect();
    findings.extend(
        unexpanded(argv)
            .map(|word| Finding::new(Mode::VariableNotExpanded, format!("nobody expands `{word}` in exec form"))),
    );
    findings.extend(wrong_command(subject, argv));
    findings.extend(wrong_linkage(subject.after, program));
    findings
}

/// Why a program cannot be started: it is not there, or what would interpret it is not.
pub(super) fn missing_program(image: &Image, tree: &Tree, program: &str) -> Option<Finding> {
    // Of an image that nothing is known about, nothing can be said to be missing.
    image.variant.as_ref()?;
    let Some(path) = image.resolve_program(program) else { return Some(missing(program)) };
    let interpreter = interpreter(image, tree, &path)?;
    image.resolve_program(&interpreter).is_none().then(|| missing(&interpreter))
}

fn missing(program: &str) -> Finding {
    let mode = if is_shell(file_name(program)) { Mode::StartupNeedsShell } else { Mode::StartupProgramMissing };
    Finding::new(mode, format!("`{program}` is not in the image"))
}

/// The program that a script's first line names.
pub(super) fn interpreter(image: &Image, tree: &Tree, path: &str) -> Option<String> {
    let text = match &image.files.get(path)?.origin {
        Origin::Context(input) => tree.text(input)?,
        Origin::Inline(text) => text,
        _ => return None,
    };
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace();
    match words.next() {
        Some(env) if file_name(env) == "env" => words.find(|word| !word.starts_with('-')).map(str::to_owned),
        program => program.map(str::to_owned),
    }
}

/// Words with a variable that only a shell would expand. With a shell in front, it does.
pub(super) fn unexpanded(argv: &[String]) -> impl Iterator<Item = &String> {
    let by_shell = argv.first().is_some_and(|program| is_shell(file_name(program)));
    argv.iter().filter(move |word| !by_shell && has_variable(word))
}

fn has_variable(word: &str) -> bool {
    word.match_indices('$').any(|(at, _)| {
        let name = word[at + 1..].trim_start_matches('{');
        name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
    })
}

fn wrong_command(subject: &Subject<'_>, argv: &[String]) -> Option<Finding> {
    let said = argv.join(" ");
    if is_doubled(subject.after, argv) {
        return Some(Finding::new(Mode::EntrypointDoubled, format!("the container starts `{said}`")));
    }
    let scope = Scope { image: subject.after, artifacts: &subject.expectation.artifacts };
    let commands = &subject.last.commands;
    let right = commands.is_empty() || scope.fits_any(commands, argv);
    (!right).then(|| Finding::new(Mode::WrongStartupCommand, format!("the container starts `{said}`")))
}

/// The interpreter is given its own name as the script: CMD repeats what ENTRYPOINT of the base image already says.
fn is_doubled(image: &Image, argv: &[String]) -> bool {
    let plain = |word: &str| file_name(word).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
    match argv {
        [program, next, ..] => {
            let is_file = image.files.get(&absolute(&image.config.workdir, next)).is_some() && !next.starts_with('/');
            plain(program) == plain(next) && !is_file
        }
        _ => false,
    }
}

/// The program needs a C library that the image does not have.
fn wrong_linkage(image: &Image, program: &str) -> Option<Finding> {
    let path = image.resolve_program(program)?;
    let (_, node) = image.files.find(&path)?;
    let needs_library = match &node.origin {
        Origin::Image(libc) => *libc != Libc::None,
        _ => linkage(node) == Linkage::Dynamic,
    };
    let wrong = image.libc() == Some(Libc::None) && needs_library;
    wrong.then(|| Finding::new(Mode::DynamicBinaryOnStaticImage, format!("`{path}` needs a C library; there is none")))
}

/// How the last compiler that wrote to a node linked.
fn linkage(node: &Node) -> Linkage {
    let known = node.made_by.iter().rev().map(|making| making.linkage).find(|linkage| *linkage != Linkage::Unknown);
    known.unwrap_or(Linkage::Unknown)
}

/// Code that was built for, or taken from, an image with another C library.
fn foreign_code(image: &Image) -> Option<Finding> {
    let here = image.libc().filter(|libc| *libc != Libc::None)?;
    let (path, _) = image.files.iter().find(|(_, node)| {
        let taken = matches!(node.origin, Origin::Image(libc) if libc != here);
        let built = node.made_by.iter().any(|making| {
            making.native && making.linkage != Linkage::Static && making.libc.is_some_and(|libc| libc != here)
        });
        taken || built
    })?;
    Some(Finding::new(Mode::LibcMismatch, format!("`{path}` was made for another C library")))
}

/// Where a shell or a package manager is, wherever it came from.
const TOOLS: [&str; 8] = [
    "/bin/sh",
    "/bin/bash",
    "/bin/busybox",
    "/sbin/apk",
    "/usr/bin/sh",
    "/usr/bin/bash",
    "/usr/bin/apk",
    "/usr/bin/apt-get",
];

/// A shell or package manager that the base image does not have.
fn added_shell(image: &Image) -> Option<Finding> {
    let variant = image.variant.as_ref()?;
    let is_own = |path: &str| variant.shells.iter().chain(&variant.programs).any(|own| own == path);
    let named = image.files.iter().map(|(path, _)| path).find(|path| {
        let name = file_name(path);
        (is_shell(name) || matches!(name, "busybox" | "apk")) && parent(path).ends_with("bin") && !is_own(path)
    });
    // Whole folders of another image may well bring one. What a base image with a shell has is its own affair.
    let hidden = || TOOLS.into_iter().find(|path| variant.shells.is_empty() && image.files.find(path).is_some());
    let path = named.or_else(hidden)?;
    Some(Finding::new(Mode::ShellAdded, format!("`{path}` was added to an image that is to be without")))
}
