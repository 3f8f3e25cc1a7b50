//! Whether the interpreter finds the packages that the build installed: they are where it looks for them.

use super::Subject;
use super::startup::{argv, interpreter, started};
use super::{python, ruby};
use crate::failure::{Finding, Mode};
use crate::filesystem::{Making, Node, Origin, absolute, parent, relative_to};
use crate::image::Image;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let Ok(argv) = argv(&subject.after.config) else { return Vec::new() };
    let image = subject.after;
    let program = started(&argv).first().and_then(|program| image.resolve_program(program));
    // A script is run by the program that its first line names.
    let script = program.as_deref().and_then(|path| interpreter(image, subject.tree(), path));
    let runtime = Runtime {
        image,
        program: script.map_or(program, |interpreter| image.resolve_program(&interpreter)),
        script_folder: script_folder(image, &argv),
    };
    let environments = environments(image).into_values();
    let broken = environments.filter_map(|making| python::environment_problem(&runtime, &making)).next();
    let lost = image.files.iter().find(|(path, node)| !runtime.reaches(path, node));
    let lost = lost.map(|(path, _)| {
        Finding::new(Mode::DependenciesNotReachable, format!("what starts does not look into `{path}`"))
    });
    let found = broken.or(lost).or_else(|| ruby::judge(subject, &runtime, &argv));
    found.into_iter().chain(ruby::added_groups(subject)).collect()
}

/// The virtual environments of which something is in the image, by the paths that they were made at. Each must be in reach
/// once, in whatever number of pieces and copies it came.
fn environments(image: &Image) -> BTreeMap<&str, Rc<Making>> {
    let makings = image.files.iter().flat_map(|(_, node)| &node.made_by).filter(|making| is_environment(making));
    makings.map(|making| (making.path.as_str(), Rc::clone(making))).collect()
}

/// The folder of the first word that is a file of the input.
fn script_folder(image: &Image, argv: &[String]) -> Option<String> {
    argv.iter().map(|word| absolute(&image.config.workdir, word)).find_map(|path| {
        let node = image.files.get(&path)?;
        matches!(node.origin, Origin::Context(_)).then(|| parent(&path).to_owned())
    })
}

pub(super) struct Runtime<'a> {
    pub(super) image: &'a Image,
    pub(super) program: Option<String>,
    pub(super) script_folder: Option<String>,
}

impl Runtime<'_> {
    fn reaches(&self, path: &str, node: &Node) -> bool {
        if node.made_by.iter().any(|making| is_environment(making)) {
            return true;
        }
        if let Some(making) = node.made_by.iter().find(|making| is_node_install(making)) {
            return self.reaches_node_modules(path, making);
        }
        let making = node.made_by.iter().find(|making| is_pip_install(making));
        making.is_none_or(|making| python::reaches_packages(self, path, node, making))
    }

    /// Node looks into `node_modules` beside the script and in all folders above it.
    fn reaches_node_modules(&self, path: &str, making: &Making) -> bool {
        if !making.path.ends_with("/node_modules") {
            return true;
        }
        let above = |folder: &String| relative_to(folder, parent(path)).is_some();
        let beside = path.ends_with("/node_modules") && self.script_folder.as_ref().is_none_or(above);
        beside || self.is_in_variable("NODE_PATH", path)
    }

    fn is_in_variable(&self, name: &str, path: &str) -> bool {
        self.folders_in(name).any(|folder| folder == path)
    }

    /// The folders that a variable lists.
    pub(super) fn folders_in(&self, name: &str) -> impl Iterator<Item = String> {
        let value = self.image.config.env.get(name).map(String::as_str).unwrap_or_default();
        let folders = value.split(':').filter(|folder| !folder.is_empty());
        folders.map(|folder| absolute(&self.image.config.workdir, folder))
    }

    /// The home folder of whoever runs the service.
    pub(super) fn home(&self) -> String {
        self.image.config.env.get("HOME").cloned().unwrap_or_else(|| self.image.home())
    }
}

fn is_environment(making: &Making) -> bool {
    ["venv", "virtualenv", "uv venv", "uv sync"].iter().any(|command| making.is(command))
}

fn is_pip_install(making: &Making) -> bool {
    ["pip install", "pip3 install", "uv pip install"].iter().any(|command| making.is(command))
}

fn is_node_install(making: &Making) -> bool {
    making.words.first().is_some_and(|name| matches!(name.as_str(), "npm" | "pnpm" | "yarn"))
}
