//! The lines of a requirements file, and single requirements as PEP 508 writes them.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::ProjectError;
use crate::version::{Ecosystem, Requirement};

/// A requirement of a package by version.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) requirement: Rc<Requirement>,
    extras: String,
    marker: String,
    hashes: Vec<String>,
}

/// A requirement that is one exact version.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) requirement: Rc<Requirement>,
    pub(super) hashes: Vec<String>,
    /// Where it comes from, as far as the lock file says.
    pub(super) origins: BTreeSet<String>,
    pub(super) marker: String,
}

pub(super) struct ReadLines {
    pub(super) lines: Vec<Line>,
    /// Options and comments, which no fix of a dependency changes.
    pub(super) rest: String,
}

/// Reads a requirements file.
pub(super) fn read(path: &str, text: &str) -> Result<ReadLines, ProjectError> {
    let mut read = ReadLines { lines: Vec::new(), rest: String::new() };
    let mut seen = BTreeSet::new();
    for logical in logical_lines(text) {
        let (content, comment) = split_comment(&logical);
        if content.is_empty() || content.starts_with('-') {
            keep_rest(&mut read.rest, content, comment);
            continue;
        }
        let line = Line::parse(content).ok_or_else(|| {
            ProjectError::unreadable(path, format!("`{content}` is no requirement of a package by version"))
        })?;
        if !seen.insert((line.name.clone(), line.requirement.text().to_owned(), line.options())) {
            return Err(ProjectError::unreadable(path, format!("`{content}` is there twice")));
        }
        read.lines.push(line);
    }
    Ok(read)
}

/// Lines that a backslash continues are one. A comment is not continued, as pip has it.
fn logical_lines(text: &str) -> Vec<String> {
    let mut logical: Vec<String> = Vec::new();
    let mut continues = false;
    for line in text.lines() {
        let is_comment = line.trim_start().starts_with('#');
        let whole = line.strip_suffix('\\').filter(|_| !is_comment);
        let part = whole.unwrap_or(line);
        match logical.last_mut().filter(|_| continues && !is_comment) {
            Some(last) => last.extend([" ", part]),
            None => logical.push(part.to_owned()),
        }
        continues = whole.is_some();
    }
    logical
}

/// Compilers of requirements write `# via …` to say who asks for a package. That follows from the tree.
fn keep_rest(rest: &mut String, content: &str, comment: &str) {
    let follows = comment.starts_with("# via") || comment.starts_with("#   ");
    if !content.is_empty() || (!comment.is_empty() && !follows) {
        rest.push_str(content);
        rest.push_str(comment);
        rest.push('\n');
    }
}

fn split_comment(line: &str) -> (&str, &str) {
    let line = line.trim();
    let at = if line.starts_with('#') { Some(0) } else { line.find(" #").map(|at| at + 1) };
    at.map_or((line, ""), |at| (line[..at].trim(), &line[at..]))
}

impl Line {
    /// Reads `name[extra]>=1,<2 ; marker --hash=…`. `None` for anything that is not a package by version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain: Vec<&str> = text.split_whitespace().take_while(|word| !word.starts_with("--")).collect();
        let options = text.split_whitespace().skip(plain.len());
        let hashes = options.map(|word| word.strip_prefix("--hash=").map(str::to_owned)).collect::<Option<_>>()?;
        let plain = plain.join(" ");
        let (plain, marker) = plain.split_once(';').map_or((plain.as_str(), ""), |(plain, marker)| (plain, marker));
        if !marker.is_empty() && !is_marker(marker) {
            return None;
        }
        let name_end = plain.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(plain.len());
        let (name, rest) = plain.split_at(name_end);
        let (extras, specifier) = match rest.trim_start().strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        if !extras.is_empty() && !extras.split(',').all(is_name) {
            return None;
        }
        let specifier = specifier.trim();
        let specifier = specifier.strip_prefix('(').map_or(Some(specifier), |inner| inner.strip_suffix(')'))?;
        let requirement = Requirement::parse(Ecosystem::PyPi, specifier)?;
        (!name.is_empty()).then(|| Self {
            name: Ecosystem::PyPi.canonical_name(name),
            requirement: Rc::new(requirement),
            extras: extras.trim().to_owned(),
            marker: marker.trim().to_owned(),
            hashes,
        })
    }

    pub(super) fn is_pin(&self) -> bool {
        self.pinned().is_some()
    }

    pub(super) fn pinned(&self) -> Option<Pinned> {
        let version = self.requirement.text().trim().trim_start_matches('=').trim();
        self.requirement.is_exact().then_some(())?;
        (!version.contains(',')).then(|| Pinned {
            name: self.name.clone(),
            version: version.to_owned(),
            requirement: Rc::clone(&self.requirement),
            hashes: self.hashes.clone(),
            origins: BTreeSet::new(),
            marker: self.marker.clone(),
        })
    }

    /// Extras and marker: what else the request says.
    pub(super) fn options(&self) -> String {
        let extras = if self.extras.is_empty() { String::new() } else { format!("[{}]", self.extras) };
        let marker = if self.marker.is_empty() { String::new() } else { format!("; {}", self.marker) };
        format!("{extras}{marker}")
    }
}

fn is_name(text: &str) -> bool {
    let name = text.trim();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Whether a text is an environment marker: comparisons of variables and texts, joined by `and` and `or`.
fn is_marker(text: &str) -> bool {
    let spaced: String = text.chars().map(|c| if "()".contains(c) { ' ' } else { c }).collect();
    let joined = format!(" {} ", spaced.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.split(" and ").flat_map(|part| part.split(" or ")).all(is_comparison)
}

fn is_comparison(text: &str) -> bool {
    const SIGNS: [&str; 10] = ["===", "==", "!=", "~=", "<=", ">=", "<", ">", " not in ", " in "];
    const VARIABLES: [&str; 12] = [
        "python_version",
        "python_full_version",
        "os_name",
        "sys_platform",
        "platform_release",
        "platform_system",
        "platform_version",
        "platform_machine",
        "platform_python_implementation",
        "implementation_name",
        "implementation_version",
        "extra",
    ];
    let is_text = |side: &str| {
        let quoted = |quote| side.len() > 1 && side.starts_with(quote) && side.ends_with(quote);
        quoted('"') || quoted('\'')
    };
    let is_side = |side: &str| VARIABLES.contains(&side.trim()) || is_text(side.trim());
    let sides = SIGNS.iter().find_map(|sign| text.split_once(sign));
    sides.is_some_and(|(left, right)| is_side(left) && is_side(right))
}

impl Pinned {
    pub(super) fn remainder(&self) -> String {
        let mut hashes = self.hashes.clone();
        hashes.sort();
        format!("{hashes:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_requirement_is_read() {
        let line = Line::parse("Requests[socks] >=2.31, <3 ; python_version < \"3.12\"").unwrap();
        assert_eq!(line.name, "requests");
        assert_eq!(line.requirement.text().trim(), ">=2.31, <3");
        assert_eq!(line.options(), "[socks]; python_version < \"3.12\"");
        assert!(!line.is_pin());
        let pin = Line::parse("certifi==2023.5.7 --hash=sha256:aa --hash=sha256:bb").unwrap().pinned().unwrap();
        assert_eq!((pin.version.as_str(), pin.hashes.len()), ("2023.5.7", 2));
    }

    #[test]
    fn what_is_no_package_by_version_is_refused() {
        for text in [
            "name @ https://example.invalid/x.whl",
            "./local",
            "name[extra",
            "name[a b,,]==1",
            "name((==1",
            "name==1; this is no marker",
            "name==1 --no-deps",
            "name==1 --hash",
            "name=1",
            "",
        ] {
            assert!(Line::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn markers_are_comparisons() {
        for text in [
            "python_version < '3.8'",
            "(sys_platform == \"win32\" or 'linux' in sys_platform) and extra == 'x'",
            "os_name not in 'nt posix'",
        ] {
            assert!(is_marker(text), "{text}");
        }
        for text in ["python < '3'", "python_version", "a b c", "python_version < 3"] {
            assert!(!is_marker(text), "{text}");
        }
    }

    #[test]
    fn a_comment_is_not_continued() {
        let lines = read("requirements.txt", "a==1 \\\n  --hash=sha256:aa\n# via x \\\nevil==1\n").unwrap().lines;
        assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["a", "evil"]);
    }

    #[test]
    fn options_and_comments_are_kept_apart_and_origins_dropped() {
        let text = "# pinned by hand\n--no-binary :all:\nflask==3.0.0 # web\n    # via app\nclick==8.1.7 \\\n    --hash=sha256:aa\n";
        let read = read("requirements.txt", text).unwrap();
        assert_eq!(read.rest, "# pinned by hand\n--no-binary :all:\n");
        assert_eq!(read.lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["flask", "click"]);
    }
}
