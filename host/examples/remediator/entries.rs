//! Where a project writes down the version of a package that it gets. Every ecosystem has its own file and its own idea of an
//! entry, but an entry is always some lines of text, and moving it is always the same: replace the version, and the checksums of
//! the old release by those of the new one.

use std::ops::Range;

use crate::facts::{Ecosystem, Facts, Release};
use crate::shared::Files;

pub(crate) struct Entry {
    pub(crate) package: String,
    pub(crate) version: String,
    file: String,
    lines: Range<usize>,
}

/// Every entry of a package.
pub(crate) fn locked(facts: &Facts, files: &Files, package: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (file, text) in files {
        let lines: Vec<&str> = text.lines().collect();
        let found = match (facts.task.ecosystem, file.as_str()) {
            (Ecosystem::Npm, "package-lock.json") => npm_lock(&lines, package),
            (Ecosystem::CratesIo, "Cargo.lock") | (Ecosystem::PyPI, "uv.lock") => toml_lock(&lines, facts, package),
            (Ecosystem::PyPI, file) if is_requirements(file) => requirements(&lines, facts, package),
            (Ecosystem::Go, "go.mod") => go_modules(&lines, package),
            (Ecosystem::Go, "go.sum") => go_checksums(&lines, &entries, package),
            (Ecosystem::Maven, "pom.xml") => pom(&lines, package),
            _ => Vec::new(),
        };
        entries.extend(found.into_iter().map(|(version, lines)| Entry {
            package: package.to_owned(),
            version,
            file: file.clone(),
            lines,
        }));
    }
    entries
}

/// Rewrites an entry. Its number of lines does not change, so that other entries of the file stay where they are.
pub(crate) fn move_to(files: &mut Files, entry: &Entry, version: &str, old: Option<&Release>, new: &Release) {
    let Some(text) = files.get_mut(&entry.file) else { return };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let entry_lines = &mut lines[entry.lines.clone()];
    if let Some(line) = entry_lines.iter_mut().find(|line| line.contains(&entry.version)) {
        *line = line.replacen(&entry.version, version, 1);
    }
    let checksums = old.into_iter().flat_map(|old| old.checksums.iter().zip(&new.checksums));
    for (from, to) in checksums {
        entry_lines.iter_mut().for_each(|line| *line = line.replace(from, to));
    }
    *text = lines.concat();
}

type Found = Vec<(String, Range<usize>)>;

/// `"node_modules/…/name": {` up to the brace that closes it.
fn npm_lock(lines: &[&str], package: &str) -> Found {
    let nested = format!("node_modules/{package}");
    let is_entry = |line: &str| {
        let key = line.trim().strip_suffix(": {").map(|key| key.trim_matches('"'));
        key.is_some_and(|key| key == nested || key.ends_with(&format!("/{nested}")))
    };
    let entry = |start: usize| {
        let indent = lines[start].len() - lines[start].trim_start().len();
        let closes = |line: &&str| line.get(indent..).is_some_and(|rest| rest.starts_with('}'));
        let end = start + lines[start..].iter().position(closes)?;
        Some((value(&lines[start..end], r#""version": ""#, '"')?, start..end))
    };
    starts(lines, is_entry).filter_map(entry).collect()
}

/// `[[package]]` up to the next blank line.
fn toml_lock(lines: &[&str], facts: &Facts, package: &str) -> Found {
    let entry = |start: usize| {
        let end = start + lines[start..].iter().position(|line| line.is_empty()).unwrap_or(lines.len() - start);
        let name = value(&lines[start..end], r#"name = ""#, '"')?;
        let version = value(&lines[start..end], r#"version = ""#, '"')?;
        facts.same_name(&name, package).then_some((version, start..end))
    };
    starts(lines, |line| line == "[[package]]").filter_map(entry).collect()
}

fn is_requirements(file: &str) -> bool {
    !file.contains('/') && file.starts_with("requirements") && file.ends_with(".txt")
}

/// `name==version`, with the lines of hashes and comments that are indented below it.
fn requirements(lines: &[&str], facts: &Facts, package: &str) -> Found {
    let entry = |start: usize| {
        let (name, rest) = lines[start].split_once("==")?;
        let name = name.split('[').next().unwrap_or(name).trim();
        let version = rest.split([' ', ';', '\\']).next().unwrap_or(rest).to_owned();
        let more = lines[start + 1..].iter().take_while(|line| line.starts_with(' ')).count();
        facts.same_name(name, package).then_some((version, start..start + 1 + more))
    };
    starts(lines, |line| !line.starts_with([' ', '#'])).filter_map(entry).collect()
}

/// `module version`, alone or in a block, which is a `require` in all but rare cases.
fn go_modules(lines: &[&str], package: &str) -> Found {
    let entry = |start: usize| {
        let line = lines[start].trim();
        let mut words = line.strip_prefix("require ").unwrap_or(line).split(' ');
        let is_package = words.next() == Some(package);
        let version = words.next().filter(|version| is_package && version.starts_with('v'))?;
        Some((version.to_owned(), start..start + 1))
    };
    (0..lines.len()).filter_map(entry).collect()
}

/// The lines of `go.sum` for the versions that `go.mod` asks for.
fn go_checksums(lines: &[&str], required: &[Entry], package: &str) -> Found {
    let entry = |start: usize| {
        let mut words = lines[start].split(' ');
        let is_package = words.next() == Some(package);
        let version = words.next().filter(|_| is_package)?;
        let version = version.strip_suffix("/go.mod").unwrap_or(version);
        required.iter().any(|entry| entry.version == version).then(|| (version.to_owned(), start..start + 1))
    };
    (0..lines.len()).filter_map(entry).collect()
}

/// `<dependency>` with a version of its own, or the property that its version is.
fn pom(lines: &[&str], package: &str) -> Found {
    let Some((group, artifact)) = package.split_once(':') else { return Vec::new() };
    let entry = |start: usize| {
        let end = start + lines[start..].iter().position(|line| line.trim() == "</dependency>")?;
        let block = &lines[start..end];
        let tag = |name: &str| value(block, &format!("<{name}>"), '<');
        let is_package = tag("groupId")? == group && tag("artifactId")? == artifact;
        let version = tag("version").filter(|_| is_package)?;
        match version.strip_prefix("${").and_then(|name| name.strip_suffix('}')) {
            None => Some((version, start..end)),
            Some(property) => pom_property(lines, property),
        }
    };
    starts(lines, |line| line.trim() == "<dependency>").filter_map(entry).collect()
}

fn pom_property(lines: &[&str], property: &str) -> Option<(String, Range<usize>)> {
    let tag = format!("<{property}>");
    let line = lines.iter().position(|line| line.contains(&tag))?;
    Some((value(&lines[line..=line], &tag, '<')?, line..line + 1))
}

/// The numbers of the lines on which something begins.
fn starts<'a>(lines: &'a [&str], begins: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = usize> + 'a {
    (0..lines.len()).filter(move |index| begins(lines[*index]))
}

/// What stands between `before` and the next `end`, on the first line that has it.
fn value(lines: &[&str], before: &str, end: char) -> Option<String> {
    let (_, after) = lines.iter().find_map(|line| line.split_once(before))?;
    after.split(end).next().map(str::to_owned)
}
