//! Where Ruby finds gems: where Bundler's settings say, if the service is started with it, else where RubyGems looks.

use super::Subject;
use super::dependencies::Runtime;
use crate::bundler::{Sources, default_folders};
use crate::failure::{Finding, Mode};
use crate::filesystem::{Making, Origin, absolute, join};
use crate::shell::file_name;

pub(super) fn judge(subject: &Subject<'_>, runtime: &Runtime<'_>, argv: &[String]) -> Option<Finding> {
    let image = subject.after;
    let makings: Vec<&Making> = image
        .files
        .iter()
        .flat_map(|(_, node)| &node.made_by)
        .map(AsRef::as_ref)
        .filter(|making| making.gems.is_some())
        .collect();
    // Where Bundler installs, what `gem` installs is Bundler itself and other tools, and not what the service needs.
    let by_bundler = makings.iter().any(|making| is_bundler(making));
    let makings: Vec<&Making> = makings.into_iter().filter(|making| !by_bundler || is_bundler(making)).collect();
    let lost = |note: String| Some(Finding::new(Mode::DependenciesNotReachable, note));
    let first = makings.first()?;
    let home = runtime.home();
    let variable = |name: &str| {
        let value = image.config.env.get(name).cloned();
        value.or_else(|| (name == "HOME").then(|| home.clone()))
    };
    let text = |path: &str| text_at(subject, path);
    let exists = |path: &str| image.files.get(path).is_some();
    let sources = Sources { folder: &image.config.workdir, variable: &variable, text: &text, exists: &exists };
    let with_bundler = is_with_bundler(subject, argv);
    let folders = match sources.own_folder().filter(|_| with_bundler) {
        Some(folder) => vec![join(&folder, ABI)],
        None => gem_folders(runtime, &sources, with_bundler),
    };
    if with_bundler && sources.gemfile().is_none() {
        return lost("Bundler is started where it finds no Gemfile".to_owned());
    }
    if !makings.iter().any(|making| folders.iter().any(|folder| is_gems(runtime, folder, making))) {
        return lost(format!("Ruby does not look for gems in `{}`, or not all of it is there", first.path));
    }
    let without = sources.without();
    let groups = makings.iter().filter_map(|making| making.gems.as_ref()).flat_map(|gems| &gems.without);
    let wanted = groups.into_iter().find(|group| !without.contains(group)).filter(|_| with_bundler)?;
    lost(format!("Bundler looks for the gems of the group `{wanted}`, which were left out"))
}

fn is_bundler(making: &Making) -> bool {
    making.words.first().is_some_and(|name| name.starts_with("bundle"))
}

/// Stands for the version in the folder of an engine, which no case needs to know.
const ABI: &str = "0";

/// Where RubyGems looks. `GEM_PATH` takes the place of the usual folders. Bundler installs to, and reads, the first one.
fn gem_folders(runtime: &Runtime<'_>, sources: &Sources<'_>, with_bundler: bool) -> Vec<String> {
    let listed: Vec<String> = runtime.folders_in("GEM_PATH").collect();
    let usual = || default_folders(&runtime.home()).map(|folder| join(&folder, ABI)).to_vec();
    let mut folders: Vec<String> = sources.gem_home().into_iter().collect();
    folders.extend(if listed.is_empty() || with_bundler { usual() } else { Vec::new() });
    folders.extend(listed);
    folders
}

/// Whether all gems that a command installed are at `folder`, which is one of gems.
fn is_gems(runtime: &Runtime<'_>, folder: &str, making: &Making) -> bool {
    let Some((made_by, part)) = runtime.image.files.made_at(folder) else { return false };
    let is_home =
        if making.gems.as_ref().is_some_and(|gems| gems.scoped) { is_version(&part) } else { part.is_empty() };
    is_home && made_by.iter().any(|other| other.path == making.path)
}

fn is_version(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_digit()) && !part.contains('/')
}

/// Whether the service is started through Bundler: by its program, by an option, or by the script itself.
fn is_with_bundler(subject: &Subject<'_>, argv: &[String]) -> bool {
    let image = subject.after;
    let options = image.config.env.get("RUBYOPT").map(String::as_str).unwrap_or_default();
    let asks = |text: &str| text.contains("bundler/setup");
    let scripts = argv.iter().map(|word| absolute(&image.config.workdir, word));
    let boot = ["config/boot.rb", "config.ru"].map(|path| absolute(&image.config.workdir, path));
    asks(options)
        || argv.iter().any(|word| asks(word) || matches!(file_name(word), "bundle" | "bundler"))
        || scripts.chain(boot).any(|path| text_at(subject, &path).is_some_and(|text| requires_bundler(&text)))
}

fn requires_bundler(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| line.starts_with("require") && line.contains("bundler/"))
}

fn text_at(subject: &Subject<'_>, path: &str) -> Option<String> {
    match &subject.after.files.get(path)?.origin {
        Origin::Context(input) => subject.tree().text(input).map(str::to_owned),
        Origin::Inline(text) => Some(text.clone()),
        _ => None,
    }
}
