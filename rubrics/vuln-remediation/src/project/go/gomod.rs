//! `go.mod`: what the module requires, replaces and excludes.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ProjectError;

/// More than any module requires; more would only be a way to run the rubric out of fuel.
const MOST_MODULES: usize = 5_000;

#[derive(Debug, Default)]
pub(super) struct GoMod {
    pub(super) module: String,
    pub(super) requires: Vec<Require>,
    /// The modules among them, each of which may be there once.
    required: BTreeSet<String>,
    pub(super) replaces: Vec<Replace>,
    pub(super) excludes: Vec<(String, String)>,
    /// The `go` and `toolchain` lines, without the prefix `go` of the latter.
    pub(super) toolchain: BTreeMap<String, String>,
    /// The module's path, other directives, and comments that stand alone.
    pub(super) rest: String,
}

#[derive(Debug)]
pub(super) struct Require {
    pub(super) path: String,
    pub(super) version: String,
    pub(super) indirect: bool,
}

#[derive(Debug)]
pub(super) struct Replace {
    pub(super) old_path: String,
    old_version: Option<String>,
    new_path: String,
    /// Missing for a folder.
    new_version: Option<String>,
}

impl Replace {
    pub(super) fn label(&self) -> String {
        self.old_version.as_ref().map_or(self.old_path.clone(), |version| format!("{}@{version}", self.old_path))
    }

    pub(super) fn target(&self) -> String {
        format!("{} {}", self.new_path, self.new_version.as_deref().unwrap_or("(folder)"))
    }
}

impl GoMod {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ProjectError> {
        let mut go_mod = Self::default();
        let mut block: Option<String> = None;
        for (number, line) in text.lines().enumerate() {
            let unreadable = || ProjectError::unreadable(path, format!("line {} is not understood", number + 1));
            let (content, comment) = split_comment(line);
            if content.is_empty() {
                go_mod.keep(comment);
                continue;
            }
            let words: Vec<String> = content.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect();
            match (&block, words.as_slice()) {
                (Some(_), [end]) if end == ")" => block = None,
                (None, [directive, open]) if open == "(" => block = Some(directive.clone()),
                (Some(directive), words) => go_mod.directive(directive, words, comment).ok_or_else(unreadable)?,
                (None, [directive, words @ ..]) => {
                    go_mod.directive(directive, words, comment).ok_or_else(unreadable)?
                }
                (None, []) => {}
            }
        }
        if block.is_some() {
            return Err(ProjectError::unreadable(path, "a block is not closed"));
        }
        if go_mod.module.is_empty() {
            return Err(ProjectError::unreadable(path, "it has no `module` line"));
        }
        Ok(go_mod)
    }

    /// Notes a line that may be there once. `None` if it is there already.
    fn only(&mut self, directive: &str, version: &str) -> Option<()> {
        self.toolchain.insert(directive.to_owned(), version.to_owned()).is_none().then_some(())
    }

    fn keep(&mut self, text: &str) {
        if !text.is_empty() {
            self.rest.push_str(text);
            self.rest.push('\n');
        }
    }

    fn directive(&mut self, directive: &str, words: &[String], comment: &str) -> Option<()> {
        match (directive, words) {
            ("module", [path]) if self.module.is_empty() => {
                self.module.clone_from(path);
                self.keep(&format!("module {path}"));
            }
            ("go", [version]) => self.only("go", version)?,
            ("toolchain", [name]) => {
                let version = name.strip_prefix("go").unwrap_or(name);
                self.only("toolchain", version)?;
            }
            ("require", [path, version]) => {
                let is_new = self.required.insert(path.clone()) && self.required.len() <= MOST_MODULES;
                is_new.then_some(())?;
                let indirect = comment.trim_start_matches('/').trim().starts_with("indirect");
                self.requires.push(Require { path: path.clone(), version: version.clone(), indirect });
            }
            ("exclude", [path, version]) => self.excludes.push((path.clone(), version.clone())),
            ("replace", words) => self.replaces.push(replace(words)?),
            ("retract" | "godebug" | "tool" | "ignore", words) => {
                self.keep(&format!("{directive} {}", words.join(" ")))
            }
            _ => return None,
        }
        Some(())
    }

    /// What a module at a version is replaced by: a path and a version. `None` for a folder.
    pub(super) fn effective(&self, path: &str, version: &str) -> Option<(String, String)> {
        let is_meant = |replace: &&Replace| {
            replace.old_path == path && replace.old_version.as_deref().is_none_or(|old| old == version)
        };
        match self.replaces.iter().find(is_meant) {
            Some(replace) => Some((replace.new_path.clone(), replace.new_version.clone()?)),
            None => Some((path.to_owned(), version.to_owned())),
        }
    }

    /// The version of Go that builds the module.
    pub(super) fn language_version(&self) -> Option<&str> {
        self.toolchain.get("toolchain").or_else(|| self.toolchain.get("go")).map(String::as_str)
    }
}

fn replace(words: &[String]) -> Option<Replace> {
    let arrow = words.iter().position(|word| word == "=>")?;
    let (old, new) = (&words[..arrow], &words[arrow + 1..]);
    let (old_path, old_version) = path_and_version(old)?;
    let (new_path, new_version) = path_and_version(new)?;
    Some(Replace { old_path, old_version, new_path, new_version })
}

fn path_and_version(words: &[String]) -> Option<(String, Option<String>)> {
    match words {
        [path] => Some((path.clone(), None)),
        [path, version] => Some((path.clone(), Some(version.clone()))),
        _ => None,
    }
}

fn split_comment(line: &str) -> (&str, &str) {
    // A path never has two slashes in a row, so a comment begins at the first ones.
    let at = line.find("//").unwrap_or(line.len());
    (line[..at].trim(), line[at..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> GoMod {
        GoMod::parse(
            "go.mod",
            "// The app.\nmodule \"example.com/app\"\n\ngo 1.23\n\ntoolchain go1.23.6\n\nrequire a.com/x v1.0.0 // indirect\n\
             require (\n\ta.com/y v2.0.0+incompatible\n)\n\nreplace (\n\ta.com/x v1.0.0 => a.com/z v1.1.0\n\ta.com/y => ../y\n)\n\
             exclude a.com/w v0.1.0\nretract v0.9.0\n",
        )
        .unwrap()
    }

    #[test]
    fn every_directive_is_read() {
        let go_mod = whole();
        assert_eq!(go_mod.module, "example.com/app");
        assert_eq!(go_mod.language_version(), Some("1.23.6"));
        assert_eq!(go_mod.requires.iter().map(|r| r.indirect).collect::<Vec<_>>(), [true, false]);
        assert_eq!(go_mod.excludes, [("a.com/w".to_owned(), "v0.1.0".to_owned())]);
        assert_eq!(go_mod.rest, "// The app.\nmodule example.com/app\nretract v0.9.0\n");
    }

    #[test]
    fn a_replacement_holds_for_its_version_or_for_all() {
        let go_mod = whole();
        let pair = |path: &str, version: &str| Some((path.to_owned(), version.to_owned()));
        assert_eq!(go_mod.effective("a.com/x", "v1.0.0"), pair("a.com/z", "v1.1.0"));
        assert_eq!(go_mod.effective("a.com/x", "v1.0.1"), pair("a.com/x", "v1.0.1"));
        assert_eq!(go_mod.effective("a.com/y", "v2.0.0+incompatible"), None);
    }

    #[test]
    fn what_is_no_directive_cannot_be_read() {
        for text in ["", "module a\nrequire x\n", "module a\nreplace x\n", "module a\nbogus x y\n"] {
            assert!(GoMod::parse("go.mod", text).is_err(), "{text}");
        }
    }
}
