//! Numbers for what a lock file says over and over: names of packages, folders and ranges.
//!
//! The lock files of one case share an atlas, so that what one of them was read to says the same to the others, and a
//! tree of thousands of packages is walked without comparing a text. A number means nothing outside its atlas.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::rc::Rc;

use crate::version::{Ecosystem, Requirement};

/// The folder of the project itself, which is above all others.
pub(super) const ROOT: usize = 0;

#[derive(Debug)]
pub(super) struct Atlas {
    pub(super) names: Texts,
    pub(super) folders: Texts,
    /// The folder in which a package is looked for next, for every folder.
    above: Vec<usize>,
    pub(super) ranges: Texts,
    /// What every range admits. What is no range (a tag, a repository, a folder) cannot be checked here.
    requirements: Vec<Option<Requirement>>,
}

/// Texts with a number each, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Rc<str>, usize, BuildHasherDefault<DefaultHasher>>,
    texts: Vec<Rc<str>>,
}

impl Texts {
    pub(super) fn number(&self, text: &str) -> Option<usize> {
        self.numbers.get(text).copied()
    }

    pub(super) fn text(&self, number: usize) -> &str {
        &self.texts[number]
    }

    pub(super) fn count(&self) -> usize {
        self.texts.len()
    }

    /// The number of a text that may be new.
    pub(super) fn add(&mut self, text: &str) -> usize {
        self.number(text).unwrap_or_else(|| self.add_new(text))
    }

    fn add_new(&mut self, text: &str) -> usize {
        let (number, text) = (self.texts.len(), Rc::<str>::from(text));
        self.texts.push(Rc::clone(&text));
        self.numbers.insert(text, number);
        number
    }
}

impl Default for Atlas {
    fn default() -> Self {
        let mut folders = Texts::default();
        let root = folders.add("");
        Self { names: Texts::default(), folders, above: vec![root], ranges: Texts::default(), requirements: Vec::new() }
    }
}

impl Atlas {
    /// The number of a folder. Those above it get one too.
    pub(super) fn folder(&mut self, path: &str) -> usize {
        let mut new = Vec::new();
        let mut next = path;
        let mut folder = loop {
            match self.folders.number(next) {
                Some(known) => break known,
                None => new.push(next),
            }
            next = above(next);
        };
        for path in new.into_iter().rev() {
            self.above.push(folder);
            folder = self.folders.add_new(path);
        }
        folder
    }

    /// Where Node looks for a package after it has looked in a folder.
    pub(super) fn above(&self, folder: usize) -> usize {
        self.above[folder]
    }

    pub(super) fn range(&mut self, text: &str) -> usize {
        if let Some(known) = self.ranges.number(text) {
            return known;
        }
        self.requirements.push(requirement(text));
        self.ranges.add_new(text)
    }

    pub(super) fn requirement(&self, range: usize) -> Option<&Requirement> {
        self.requirements[range].as_ref()
    }
}

/// What a range admits, also one that is asked for by another package's name.
pub(super) fn requirement(range: &str) -> Option<Requirement> {
    let range = range.strip_prefix("npm:").map_or(range, |alias| alias.rsplit('@').next().unwrap_or(alias));
    Requirement::parse(Ecosystem::Npm, range)
}

/// The folder above, in which there may be a `node_modules`: never a `node_modules` itself.
fn above(folder: &str) -> &str {
    let above = folder.rfind('/').map_or("", |end| folder[..end].trim_end_matches("/node_modules"));
    if above == "node_modules" { "" } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_looked_for_upwards_to_the_root() {
        let mut atlas = Atlas::default();
        let mut folder = atlas.folder("packages/web/node_modules/a/node_modules/@s/b");
        let mut way = Vec::new();
        while folder != ROOT {
            way.push(atlas.folders.text(folder).to_owned());
            folder = atlas.above(folder);
        }
        let scope = "packages/web/node_modules/a/node_modules/@s";
        assert_eq!(way[1..], [scope, "packages/web/node_modules/a", "packages/web", "packages"]);
        assert_eq!(atlas.folder("node_modules/a"), atlas.folder("node_modules/a"));
        assert_eq!(atlas.above(atlas.folders.number("node_modules/a").unwrap()), ROOT);
    }
}
