//! Where Python finds packages: in the virtual environment that it is started from, on `PYTHONPATH`, beside the script, in the
//! user's own folder and in the folders of the interpreter.
//!
//! An environment may be moved: its interpreter finds `pyvenv.cfg` beside its folder, wherever that is. Its other programs may
//! not: their first line names the interpreter by the path that it had.

use super::dependencies::Runtime;
use crate::failure::{Finding, Mode};
use crate::filesystem::{Making, Node, join, parent, relative_to};
use crate::shell::file_name;

/// What is wrong with a virtual environment of which some part is in the image.
pub(super) fn environment_problem(runtime: &Runtime<'_>, making: &Making) -> Option<Finding> {
    if is_on_path(runtime, making) {
        return None;
    }
    let started = runtime.program.as_deref().and_then(|program| Some((program, part_at(runtime, program, making)?)));
    let Some((program, part)) = started.filter(|(_, part)| part.starts_with("bin/")) else {
        return Some(lost(&making.path));
    };
    let is_interpreter = file_name(&part).starts_with("python");
    let home = if is_interpreter { parent(parent(program)) } else { making.path.as_str() };
    let has = |part: &str| part_at(runtime, &join(home, part), making).as_deref() == Some(part);
    if !is_interpreter && !has("bin/python") {
        let note = format!("`{program}` is started by `{home}/bin/python`, which is not in the image");
        return Some(Finding::new(Mode::StartupProgramMissing, note));
    }
    if !["pyvenv.cfg", "lib/python3/site-packages"].into_iter().all(has) {
        return Some(lost(home));
    }
    let link = making.interpreter.as_ref().filter(|link| !runtime.image.has_program(link))?;
    let note = format!("`{home}/bin/python` is a link to `{link}`, which is not in the image");
    Some(Finding::new(Mode::StartupProgramMissing, note))
}

fn lost(path: &str) -> Finding {
    Finding::new(
        Mode::DependenciesNotReachable,
        format!("what starts does not look into `{path}`, or not all of it is there"),
    )
}

/// Which part of what a command made is at `path`.
fn part_at(runtime: &Runtime<'_>, path: &str, making: &Making) -> Option<String> {
    let (made_by, part) = runtime.image.files.made_at(path)?;
    made_by.iter().any(|other| other.path == making.path).then_some(part)
}

fn is_on_path(runtime: &Runtime<'_>, making: &Making) -> bool {
    let is_packages = |part: &str| is_packages(making, part);
    runtime.folders_in("PYTHONPATH").any(|folder| part_at(runtime, &folder, making).as_deref().is_some_and(is_packages))
}

/// Whether a part of what a command made is a folder of packages: all of it for `--target`, else one that is called so.
fn is_packages(making: &Making, part: &str) -> bool {
    let is_target = making.words.iter().any(|word| word == "-t" || word.starts_with("--target"));
    if is_target { part.is_empty() } else { matches!(file_name(part), "site-packages" | "dist-packages") }
}

/// Packages outside an environment are found by a variable, beside the script, in the home folder, or in the folders
/// of the interpreter itself.
pub(super) fn reaches_packages(runtime: &Runtime<'_>, path: &str, node: &Node, making: &Making) -> bool {
    let beside = runtime.script_folder.as_deref() == Some(path) && is_packages(making, &node.part);
    let prefix = runtime.program.as_deref().map(|program| parent(parent(program)));
    let of_interpreter = prefix.is_some_and(|prefix| relative_to(path, &join(prefix, "lib")).is_some());
    let of_user = relative_to(path, &join(&runtime.home(), ".local")).is_some();
    beside || of_interpreter || of_user || is_on_path(runtime, making)
}
