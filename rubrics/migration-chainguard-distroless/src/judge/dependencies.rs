//! Whether the interpreter finds the packages that the build installed: they are where it looks for them.

use super::Subject;
use super::startup::argv;
use crate::failure::{Finding, Mode};
use crate::filesystem::{Making, Node, Origin, absolute, parent, relative_to};
use crate::image::Image;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let Ok(argv) = argv(&subject.after.config) else { return Vec::new() };
    let image = subject.after;
    let runtime = Runtime {
        image,
        program: argv.first().and_then(|program| image.resolve_program(program)),
        script_folder: script_folder(image, &argv),
    };
    let lost = image.files.iter().find(|(path, node)| !runtime.reaches(path, node));
    let finding = lost.map(|(path, _)| {
        Finding::new(Mode::DependenciesNotReachable, format!("what starts does not look into `{path}`"))
    });
    finding.into_iter().collect()
}

/// The folder of the first word that is a file of the input.
fn script_folder(image: &Image, argv: &[String]) -> Option<String> {
    argv.iter().map(|word| absolute(&image.config.workdir, word)).find_map(|path| {
        let node = image.files.get(&path)?;
        matches!(node.origin, Origin::Context(_)).then(|| parent(&path).to_owned())
    })
}

struct Runtime<'a> {
    image: &'a Image,
    program: Option<String>,
    script_folder: Option<String>,
}

impl Runtime<'_> {
    fn reaches(&self, path: &str, node: &Node) -> bool {
        if let Some(making) = node.made_by.iter().find(|making| is_environment(making)) {
            return self.reaches_environment(path, making);
        }
        if let Some(making) = node.made_by.iter().find(|making| is_node_install(making)) {
            return self.reaches_node_modules(path, making);
        }
        !node.made_by.iter().any(|making| is_pip_install(making)) || self.reaches_packages(path)
    }

    /// A virtual environment works at the path it was made at, and for its own interpreter.
    fn reaches_environment(&self, path: &str, making: &Making) -> bool {
        let home = relative_to(path, &making.path).is_some();
        let used = self.program.as_deref().is_some_and(|program| relative_to(program, path).is_some());
        home && (used || self.is_in_variable("PYTHONPATH", path))
    }

    /// Packages outside an environment are found by a variable, beside the script, in the home folder, or in the folders
    /// of the interpreter itself.
    fn reaches_packages(&self, path: &str) -> bool {
        let beside = self.script_folder.as_deref() == Some(path);
        let prefix = self.program.as_deref().map(|program| parent(parent(program)));
        let of_interpreter = prefix.is_some_and(|prefix| relative_to(path, &format!("{prefix}/lib")).is_some());
        beside || of_interpreter || path.contains("/.local") || self.is_in_variable("PYTHONPATH", path)
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
        let value = self.image.config.env.get(name).map(String::as_str).unwrap_or_default();
        value.split(':').any(|folder| relative_to(folder, path).is_some())
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
