//! `bundle` and `gem` in a build: the settings that they keep, and where they install to.

use super::stage::Current;
use crate::bundler::{Sources, default_folders, kept_settings};
use crate::filesystem::{Gems, Kind, Origin, join};
use crate::shell::Command;
use crate::tools::{Made, Place};

/// The options of `bundle install` that Bundler keeps as settings.
const KEPT_OPTIONS: [(&str, &str); 2] = [("--path", "PATH"), ("--without", "WITHOUT")];

/// The configuration file that a command writes, with its new text.
pub(super) fn kept(current: &Current<'_, '_>, command: &Command, place: &Place<'_>) -> Option<(String, String)> {
    let words = command.plain_words();
    let (lines, is_global) = kept_settings(&words).or_else(|| install_settings(command))?;
    with_sources(current, place, |sources| {
        let path = if is_global { sources.global_config() } else { sources.local_config() };
        let old = (sources.text)(&path).unwrap_or_default();
        (path, format!("{old}{lines}"))
    })
}

fn install_settings(command: &Command) -> Option<(String, bool)> {
    if !is_install(command) {
        return None;
    }
    let values = KEPT_OPTIONS.iter().filter_map(|(option, key)| Some((key, command.option(option)?)));
    let mut lines: String = values.map(|(key, value)| format!("BUNDLE_{key}: \"{value}\"\n")).collect();
    if command.has("--deployment") {
        lines.push_str("BUNDLE_DEPLOYMENT: \"true\"\n");
    }
    (!lines.is_empty()).then_some((lines, false))
}

fn is_install(command: &Command) -> bool {
    let verb = command.words.iter().skip(1).find(|word| !word.starts_with('-')).map(String::as_str);
    matches!(command.name(), "bundle" | "bundler") && matches!(verb, None | Some("install"))
}

/// Where a command installs gems to, and how.
pub(super) fn installed(current: &Current<'_, '_>, command: &Command, place: &Place<'_>) -> Option<(Vec<Made>, Gems)> {
    let by_gem = matches!(command.plain_words().as_slice(), ["gem", "install", ..]);
    if !by_gem && !is_install(command) {
        return None;
    }
    let told = ["--install-dir", "-i"].iter().find_map(|option| command.option(option)).filter(|_| by_gem);
    with_sources(current, place, |sources| {
        let without = if by_gem { Vec::new() } else { sources.without() };
        let own = sources.own_folder().filter(|_| !by_gem);
        let home = told.map(|path| crate::filesystem::absolute(place.folder, path)).or_else(|| sources.gem_home());
        match own {
            Some(folder) => (vec![Made::sure(folder, Kind::OpenFolder)], Gems { scoped: true, without }),
            None => match home {
                Some(folder) => (vec![Made::sure(folder, Kind::OpenFolder)], Gems { scoped: false, without }),
                None => (usual(place), Gems { scoped: true, without }),
            },
        }
    })
}

fn usual(place: &Place<'_>) -> Vec<Made> {
    let home = (place.variable)("HOME").unwrap_or_else(|| join("/", "root"));
    default_folders(&home).into_iter().map(|path| Made::perhaps(path, Kind::OpenFolder)).collect()
}

fn with_sources<T>(
    current: &Current<'_, '_>,
    place: &Place<'_>,
    use_them: impl FnOnce(&Sources<'_>) -> T,
) -> Option<T> {
    let files = &current.image.files;
    let text = |path: &str| match &files.get(path)?.origin {
        Origin::Context(input) => current.builder.surroundings.context.text(input).map(str::to_owned),
        Origin::Inline(text) => Some(text.clone()),
        _ => None,
    };
    let exists = |path: &str| files.get(path).is_some();
    Some(use_them(&Sources { folder: place.folder, variable: place.variable, text: &text, exists: &exists }))
}
