//! Where Ruby finds gems: where Bundler's settings say, if the service is started with it, else where RubyGems looks.

use super::Subject;
use super::dependencies::Runtime;
use crate::bundler::{Sources, default_folders};
use crate::failure::{Finding, Mode};
use crate::filesystem::{Making, absolute, join};
use crate::image::Image;
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
    let (makings, tools): (Vec<&Making>, Vec<&Making>) =
        makings.into_iter().partition(|making| !by_bundler || is_bundler(making));
    let lost = |note: String| Some(Finding::new(Mode::DependenciesNotReachable, note));
    let first = makings.first()?;
    let home = runtime.home();
    let variable = |name: &str| {
        let value = image.config.env.get(name).cloned();
        value.or_else(|| (name == "HOME").then(|| home.clone()))
    };
    let text = |path: &str| subject.text_at(path);
    let exists = |path: &str| image.files.get(path).is_some();
    let sources = Sources { folder: &image.config.workdir, variable: &variable, text: &text, exists: &exists };
    let with_bundler = is_with_bundler(subject, argv);
    let usual = gem_folders(runtime, &sources, with_bundler);
    let abi = subject.last.ruby_abi.as_deref();
    let reaches = |folders: &[String], makings: &[&Making]| {
        makings.iter().any(|making| folders.iter().any(|folder| is_gems(runtime, folder, making, abi)))
    };
    let tools: Vec<&Making> = tools.into_iter().filter(|making| making.is("gem install bundler")).collect();
    if with_bundler && !tools.is_empty() && !image.has_program("/usr/bin/bundle") && !reaches(&usual, &tools) {
        return lost(format!("Ruby does not find Bundler itself, which is in `{}`", tools[0].path));
    }
    let folders = sources.own_folder().filter(|_| with_bundler).map_or(usual, |folder| vec![join(&folder, ABI)]);
    if with_bundler && sources.gemfile().is_none() {
        return lost("Bundler is started where it finds no Gemfile".to_owned());
    }
    if !reaches(&folders, &makings) {
        return lost(format!("Ruby does not look for gems in `{}`, or not all of it is there", first.path));
    }
    let without = sources.without();
    let groups = makings.iter().filter_map(|making| making.gems.as_ref()).flat_map(|gems| &gems.without);
    let has = sources.groups();
    let is_wanted = |group: &&String| has.contains(group) && !without.contains(group);
    let wanted = groups.into_iter().find(is_wanted).filter(|_| with_bundler)?;
    lost(format!("Bundler looks for the gems of the group `{wanted}`, which were left out"))
}

fn is_bundler(making: &Making) -> bool {
    making.words.first().is_some_and(|name| name.starts_with("bundle"))
}

/// Stands for the version in the folder of an engine, which Ruby itself fills in.
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
fn is_gems(runtime: &Runtime<'_>, folder: &str, making: &Making, abi: Option<&str>) -> bool {
    let Some((made_by, part)) = runtime.image.files.made_at(folder) else { return false };
    let is_home =
        if making.gems.as_ref().is_some_and(|gems| gems.scoped) { is_version(&part, abi) } else { part.is_empty() };
    is_home && made_by.iter().any(|other| other.path == making.path)
}

/// Whether a folder is that of a version of Ruby: the one that the case names or, if it names none, any. Its last number is 0 for
/// every release of a series.
fn is_version(part: &str, abi: Option<&str>) -> bool {
    let numbers: Vec<&str> = part.split('.').collect();
    let is_series =
        matches!(numbers.as_slice(), [major, minor, "0"] if [major, minor].iter().all(|number| is_number(number)));
    part == ABI || abi.map_or(is_series, |abi| part == abi)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Groups of gems that were left out before and are installed now.
pub(super) fn added_groups(subject: &Subject<'_>) -> Option<Finding> {
    let groups = |image: &Image| -> Vec<Vec<String>> {
        let makings = image.files.iter().flat_map(|(_, node)| &node.made_by).filter(|making| is_bundler(making));
        makings.filter_map(|making| making.gems.as_ref()).map(|gems| gems.without.clone()).collect()
    };
    let mut before = groups(subject.before).into_iter().flatten();
    let after = groups(subject.after);
    let added = before.find(|group| after.iter().any(|without| !without.contains(group)))?;
    let note = format!("the gems of the group `{added}` were left out before and are not now");
    Some(Finding::new(Mode::DevelopmentDependenciesAdded, note))
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
        || scripts.chain(boot).any(|path| subject.text_at(&path).is_some_and(|text| requires_bundler(&text)))
}

fn requires_bundler(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| line.starts_with("require") && line.contains("bundler/"))
}
