//! `mutators.toml`: mutators that a bench adds as data, each a text that becomes another in the added lines of some files.

use serde::Deserialize;

use super::mutants::MUTATORS;
use crate::bench::select::matches;
use crate::bench::strict_toml::{self, TomlError};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnMutator {
    pub(super) name: String,
    /// A pattern of paths in the diff.
    path: String,
    find: String,
    replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnMutators {
    #[serde(default)]
    mutator: Vec<OwnMutator>,
}

impl OwnMutator {
    pub(super) fn fits(&self, path: &str) -> bool {
        matches(&self.path, path)
    }

    /// The line with each occurrence replaced, one at a time.
    pub(super) fn applied(&self, line: &str) -> impl Iterator<Item = String> {
        let occurrences: Vec<_> = line.match_indices(&self.find).map(|(at, _)| at).collect();
        occurrences
            .into_iter()
            .map(move |at| format!("{}{}{}", &line[..at], self.replace, &line[at + self.find.len()..]))
    }

    fn problem(&self, before: &[Self]) -> Option<String> {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(is_word) {
            return Some(format!("`{}` is not a name: use small letters, digits and `-`", self.name));
        }
        if MUTATORS.contains(&self.name.as_str()) || before.iter().any(|other| other.name == self.name) {
            return Some(format!("there is another mutator named `{}`: choose another name", self.name));
        }
        if self.find.is_empty() || self.find.contains('\n') || self.replace.contains('\n') {
            return Some(format!("`{}`: `find` is part of a line, and `replace` stays on it", self.name));
        }
        (self.find == self.replace).then(|| format!("`{}`: `find` and `replace` are the same", self.name))
    }
}

/// The mutators that the text of a `mutators.toml` adds.
pub(super) fn parse(text: &str) -> Result<Vec<OwnMutator>, TomlError> {
    let mutators = strict_toml::parse::<OwnMutators>(text)?.mutator;
    for (index, mutator) in mutators.iter().enumerate() {
        if let Some(message) = mutator.problem(&mutators[..index]) {
            return Err(TomlError::of_item(text, &["mutator"], index, message));
        }
    }
    Ok(mutators)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, find: &str, replace: &str) -> String {
        format!("[[mutator]]\nname = \"{name}\"\npath = \"*.txt\"\nfind = \"{find}\"\nreplace = \"{replace}\"\n")
    }

    #[test]
    fn each_occurrence_is_replaced_alone() {
        let mutators = parse(&file("shout", "a", "A")).expect("a mutator");
        assert!(mutators[0].fits("sub/x.txt") && !mutators[0].fits("x.md"));
        assert_eq!(mutators[0].applied("a b a").collect::<Vec<_>>(), ["A b a", "a b A"]);
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let twice = file("shout", "a", "A") + &file("shout", "a", "A");
        for (text, expected) in [
            (file("shout", "", "A"), "`shout`: `find` is part of a line, and `replace` stays on it"),
            (file("shout", "a", "a"), "`shout`: `find` and `replace` are the same"),
            (file("Shout!", "a", "A"), "`Shout!` is not a name: use small letters, digits and `-`"),
            (file("drop-hunk", "a", "A"), "there is another mutator named `drop-hunk`: choose another name"),
            (twice, "there is another mutator named `shout`: choose another name"),
            (file("shout", "a", "A") + "weight = 1\n", "unknown field `weight`"),
            ("[[mutator]]\nname = \"x\"\n".to_owned(), "missing field `path`"),
        ] {
            let error = parse(&text).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
