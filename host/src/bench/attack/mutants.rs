//! Every way to spoil an answer by one step: its JSON values, and the unified diffs among its texts.
//!
//! What comes out depends on the answer and on the other answers of the bench alone: no clock, no chance. Where there are more
//! edits than wanted, the same ones are taken every time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::own::OwnMutator;
use super::patch::Patch;
use super::patch_edits::{Input, PatchEdit, patch_edits, sample};

/// The version of what this module makes of an answer. It changes whenever a mutant is added, so that a recorded attack that did
/// not try it is stale.
pub(crate) const MUTATORS_VERSION: u32 = 1;

/// The mutators that every bench has.
pub(super) const MUTATORS: [&str; 29] = [
    "add-file",
    "another-cases-answer",
    "another-value",
    "drop-added-line",
    "drop-checksum",
    "drop-element",
    "drop-file",
    "drop-hunk",
    "drop-key",
    "drop-line-of-other-file",
    "duplicate-added-line",
    "duplicate-file",
    "duplicate-hunk",
    "empty-answer",
    "empty-text",
    "extra-key",
    "git-fork",
    "keep-removed-line",
    "null-value",
    "other-checksum",
    "other-host",
    "stray-line",
    "touch-other-file",
    "truncated-text",
    "version-down",
    "version-down-everywhere",
    "version-up",
    "version-up-everywhere",
    "wrong-type",
];

/// Texts that are longer are prose, not one of a list of values.
const LONGEST_VALUE: usize = 64;

/// Where a value is: keys, and indices of lists as numbers.
type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Index(usize),
}

/// One step away from an answer.
#[derive(Debug, Clone)]
enum Edit<'a> {
    Whole(&'a Value),
    Set(Path, Value),
    Remove(Path),
    Patch(Path, usize, PatchEdit),
}

/// What the answers of a bench have in common: the short texts that stand at each place, whatever the index in a list.
#[derive(Debug, Default)]
pub(super) struct Vocabulary(BTreeMap<Vec<String>, BTreeSet<String>>);

impl Vocabulary {
    pub(super) fn add(&mut self, answer: &Value) {
        walk(answer, &mut Vec::new(), &mut |path, value| {
            if let Some(text) = value.as_str().filter(|text| is_name(text)) {
                self.0.entry(anywhere(path)).or_default().insert(text.to_owned());
            }
        });
    }

    fn others<'v>(&'v self, path: &Path, text: &'v str) -> impl Iterator<Item = &'v String> {
        self.0.get(&anywhere(path)).into_iter().flatten().filter(move |other| *other != text)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_VALUE && !text.contains(char::is_whitespace)
}

fn is_prose(text: &str) -> bool {
    text.contains(' ') && Patch::parse(text).is_none()
}

fn anywhere(path: &Path) -> Vec<String> {
    let word = |step: &Step| match step {
        Step::Key(key) => key.clone(),
        Step::Index(_) => "[]".to_owned(),
    };
    path.iter().map(word).collect()
}

fn walk(value: &Value, path: &mut Path, visit: &mut impl FnMut(&Path, &Value)) {
    visit(path, value);
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push(Step::Key(key.clone()));
                walk(value, path, visit);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                path.push(Step::Index(index));
                walk(value, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}

/// What an answer is spoilt with.
#[derive(Debug)]
pub(super) struct Mutators<'a> {
    pub(super) own: &'a [OwnMutator],
    pub(super) vocabulary: &'a Vocabulary,
    /// At most so many mutants of one answer by one mutator.
    pub(super) most: usize,
}

impl<'a> Mutators<'a> {
    /// The mutants of an answer, each with the name of its mutator. `others` are answers to other cases.
    pub(super) fn mutants(&self, answer: &Value, others: &[&'a Value], input: &Input<'_>) -> Vec<(&'a str, Value)> {
        let mut edits: BTreeMap<&'a str, Vec<Edit<'a>>> = BTreeMap::new();
        let mut patches = Vec::new();
        let mut add = |name: &'a str, edit: Edit<'a>| edits.entry(name).or_default().push(edit);
        for other in others {
            add("another-cases-answer", Edit::Whole(other));
        }
        walk(answer, &mut Vec::new(), &mut |path, value| {
            self.value_edits(path, value, &mut add);
            if let Some(patch) = value.as_str().and_then(Patch::parse) {
                for (name, edit) in patch_edits(&patch, self.own, input) {
                    add(name, Edit::Patch(path.clone(), patches.len(), edit));
                }
                patches.push(patch);
            }
        });
        let made = |(name, edits): (&'a str, Vec<Edit<'a>>)| {
            let mutants: Vec<_> =
                sample(&edits, self.most).map(|edit| (name, edit.applied(answer, &patches))).collect();
            mutants
        };
        edits.into_iter().flat_map(made).collect()
    }

    fn value_edits(&self, path: &Path, value: &Value, add: &mut impl FnMut(&'a str, Edit<'a>)) {
        let set = |value: Value| Edit::Set(path.clone(), value);
        if let Value::Object(fields) = value {
            let mut more = fields.clone();
            more.insert("stray".to_owned(), Value::Bool(true));
            add("extra-key", set(Value::Object(more)));
        }
        match path.last() {
            None => return add("empty-answer", set(json!({}))),
            Some(Step::Key(_)) => add("drop-key", Edit::Remove(path.clone())),
            Some(Step::Index(_)) => add("drop-element", Edit::Remove(path.clone())),
        }
        add("null-value", set(Value::Null));
        add("wrong-type", set(if value.is_number() { json!("stray") } else { json!(1) }));
        if let Value::String(text) = value {
            add("empty-text", set(json!("")));
            // Prose may end anywhere: nobody but a reader can tell what is lost.
            if !is_prose(text) {
                truncated(text).into_iter().for_each(|text| add("truncated-text", set(json!(text))));
            }
            for other in self.vocabulary.others(path, text).filter(|_| is_name(text)) {
                add("another-value", set(json!(other)));
            }
        }
    }
}

/// The first half, all but the last line, and all but the last character.
fn truncated(text: &str) -> BTreeSet<&str> {
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let last_line = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
    let last = text.trim_end_matches('\n').char_indices().last().map_or(0, |(at, _)| at);
    [half, last_line, last].into_iter().filter(|end| *end > 0).map(|end| &text[..end]).collect()
}

impl Edit<'_> {
    fn applied(&self, answer: &Value, patches: &[Patch]) -> Value {
        let mut answer = answer.clone();
        match self {
            Self::Whole(other) => return (*other).clone(),
            Self::Set(path, value) => *at(&mut answer, path) = value.clone(),
            Self::Remove(path) => remove(&mut answer, path),
            Self::Patch(path, patch, edit) => {
                *at(&mut answer, path) = Value::String(edit.applied(&patches[*patch]).text());
            }
        }
        answer
    }
}

/// The value at a path that was found in this very answer.
fn at<'v>(value: &'v mut Value, path: &[Step]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(index) => &mut value[*index],
    })
}

fn remove(value: &mut Value, path: &Path) {
    let Some((last, parents)) = path.split_last() else { return };
    match (at(value, parents), last) {
        (Value::Object(fields), Step::Key(key)) => drop(Map::remove(fields, key)),
        (Value::Array(items), Step::Index(index)) => drop(items.remove(*index)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutants(answer: &Value, others: &[&Value], most: usize) -> Vec<(String, Value)> {
        let mut vocabulary = Vocabulary::default();
        [answer].iter().chain(others).for_each(|answer| vocabulary.add(answer));
        let mutators = Mutators { own: &[], vocabulary: &vocabulary, most };
        let others: Vec<_> = others.to_vec();
        mutators.mutants(answer, &others, &[]).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[track_caller]
    fn by(found: &[(String, Value)], mutator: &str, expected: &[Value]) {
        let made: Vec<_> = found.iter().filter(|(name, _)| name == mutator).map(|(_, value)| value.clone()).collect();
        assert_eq!(made, expected, "{mutator}");
    }

    #[test]
    fn every_value_is_dropped_emptied_and_swapped() {
        let answer = json!({"action": "decline", "why": ["a b"]});
        let other = json!({"action": "patch", "why": []});
        let found = mutants(&answer, &[&other], 100);
        by(&found, "another-cases-answer", std::slice::from_ref(&other));
        by(&found, "another-value", &[json!({"action": "patch", "why": ["a b"]})]);
        by(&found, "drop-key", &[json!({"why": ["a b"]}), json!({"action": "decline"})]);
        by(&found, "drop-element", &[json!({"action": "decline", "why": []})]);
        by(&found, "empty-answer", &[json!({})]);
        by(&found, "extra-key", &[json!({"action": "decline", "why": ["a b"], "stray": true})]);
        let emptied = [json!({"action": "", "why": ["a b"]}), json!({"action": "decline", "why": [""]})];
        by(&found, "empty-text", &emptied);
        let cut = ["dec", "declin"].map(|action| json!({"action": action, "why": ["a b"]}));
        by(&found, "truncated-text", &cut);
        assert!(found.iter().all(|(name, value)| MUTATORS.contains(&name.as_str()) && *value != answer), "{found:?}");
    }

    #[test]
    fn a_diff_is_found_however_deep_it_is() {
        let answer = json!({"files": [{"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1.0\n+1.1\n"}]});
        let found = mutants(&answer, &[], 100);
        by(&found, "version-up", &[json!({"files": [{"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1.0\n+1.2\n"}]})]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncated("éé\nöö\n").into_iter().collect::<Vec<_>>(), ["éé\n", "éé\nö"]);
        assert_eq!(truncated("").len() + truncated("é").len() + truncated("\n").len(), 0);
    }

    #[test]
    fn a_sample_is_spread_and_always_the_same() {
        let items: Vec<_> = (0..10).collect();
        assert_eq!(sample(&items, 3).copied().collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(sample(&items, 100).count(), 10);
        assert_eq!(sample(&items, 0).count(), 0);
        let answer = json!({"a": 1, "b": 2, "c": 3});
        assert_eq!(mutants(&answer, &[], 1), mutants(&answer, &[], 1));
    }
}
