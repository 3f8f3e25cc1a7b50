//! TOML errors that say where: line and key, on one line, for a person with an editor open.
//!
//! Both come from the parser's own tree, whose keys and values are [`toml::Spanned`], and never from a search in the text: one key
//! can stand in two tables, in a comment and in a string. The tree is used, and not spans in the types that are parsed, because
//! some of these types (those of `[limits]`) belong to a crate that does not know TOML.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

/// What is wrong in a TOML file, and on which line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(*line, key))]
pub(crate) struct TomlError {
    /// Counted from 1; `None` when the problem is something that is missing from the file.
    pub(crate) line: Option<usize>,
    /// The key that the line sets, as far as it can be told.
    pub(crate) key: Option<String>,
    pub(crate) message: String,
}

fn place(line: Option<usize>, key: &Option<String>) -> String {
    match (line, key) {
        (Some(line), Some(key)) => format!("line {line}: `{key}`: "),
        (Some(line), None) => format!("line {line}: "),
        (None, _) => String::new(),
    }
}

impl TomlError {
    /// A problem with a value that parsed as TOML, found by a later check. `path` leads from the top of the file to its key.
    pub(crate) fn of_value(text: &str, path: &[&str], message: impl Into<String>) -> Self {
        Self::of_place(text, path, message, |key, _| key.start)
    }

    /// The same for one item of a list, which can stand on a line of its own.
    pub(crate) fn of_item(text: &str, path: &[&str], index: usize, message: impl Into<String>) -> Self {
        Self::of_place(text, path, message, |key, value| match value {
            DeValue::Array(items) => items.get(index).map_or(key.start, |item| item.span().start),
            _ => key.start,
        })
    }

    fn of_place(
        text: &str,
        path: &[&str],
        message: impl Into<String>,
        place: impl FnOnce(Range<usize>, &DeValue<'_>) -> usize,
    ) -> Self {
        let (table, _) = DeTable::parse_recoverable(text);
        let line = find(table.get_ref(), path).map(|(key, value)| line_of(text, place(key, value)));
        Self { line, key: path.last().map(|key| (*key).to_owned()), message: message.into() }
    }

    /// The key, for reports that name the failing field.
    pub(crate) fn field(&self) -> String {
        self.key.clone().unwrap_or_default()
    }
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        // The parser points at the very beginning for what is missing from the file as a whole.
        let span = error.span().filter(|span| *span != (0..0));
        TomlError {
            line: span.as_ref().map(|span| line_of(text, span.start)),
            key: span.and_then(|span| key_at(text, &span)),
            message: error.message().trim_end().replace('\n', "; "),
        }
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

/// Where the key that `path` leads to stands, and its value.
fn find<'t>(table: &'t DeTable<'_>, path: &[&str]) -> Option<(Range<usize>, &'t DeValue<'t>)> {
    let (name, deeper) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    match value.get_ref() {
        value if deeper.is_empty() => Some((key.span(), value)),
        DeValue::Table(table) => find(table, deeper),
        _ => None,
    }
}

/// The innermost key that a part of the text belongs to. The parser tells keys from what only looks like one, as in a comment or
/// in a string of several lines.
fn key_at(text: &str, part: &Range<usize>) -> Option<String> {
    let (table, _) = DeTable::parse_recoverable(text);
    let mut keys = Vec::new();
    gather_keys(table.get_ref(), &mut keys);
    let around = keys.into_iter().filter(|(span, _)| span.start <= part.start && part.end <= span.end);
    let innermost = around.min_by_key(|(span, _)| span.len()).map(|(_, key)| key.to_owned());
    innermost.or_else(|| repeated_key(text, part))
}

/// Every key of a table, however deep, with the parts of the text that are the key and its value.
fn gather_keys<'t>(table: &'t DeTable<'_>, found: &mut Vec<(Range<usize>, &'t str)>) {
    for (key, value) in table {
        found.extend([key.span(), value.span()].map(|span| (span, key.get_ref().as_ref())));
        gather_below(value.get_ref(), found);
    }
}

fn gather_below<'t>(value: &'t DeValue<'_>, found: &mut Vec<(Range<usize>, &'t str)>) {
    match value {
        DeValue::Table(table) => gather_keys(table, found),
        DeValue::Array(items) => items.iter().for_each(|item| gather_below(item.get_ref(), found)),
        _ => {}
    }
}

/// The parser leaves a key that was there before out of its tree, but points at it.
fn repeated_key(text: &str, part: &Range<usize>) -> Option<String> {
    let key = text.get(part.clone())?.trim_matches(['"', '\'']);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (!key.is_empty() && key.chars().all(is_plain)).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only its parsing is of interest")]
        count: u32,
    }

    fn error(text: &str) -> String {
        parse::<Sample>(text).expect_err("it must not parse").to_string()
    }

    #[test]
    fn an_error_names_line_and_key() {
        assert_eq!(error("\ncount = \"x\"\n"), "line 2: `count`: invalid type: string \"x\", expected u32");
        assert_eq!(error("count = 1\nsize = 2\n"), "line 2: `size`: unknown field `size`, expected `count`");
        assert_eq!(error("count = 1\ncount = 2\n"), "line 2: `count`: duplicate key");
    }

    #[test]
    fn a_missing_key_is_named_without_a_line() {
        assert_eq!(error(""), "missing field `count`");
        assert_eq!(error("# count = 1\n\n"), "missing field `count`");
    }

    #[test]
    fn what_only_looks_like_a_key_is_none() {
        let text = "count = \"\"\"\nsize = 2\nx\"\"\"\n";
        assert_eq!(error(text), "line 1: `count`: invalid type: string \"size = 2\\nx\", expected u32");
        assert_eq!(error("# count = 1\ncount = []\n"), "line 2: `count`: invalid type: sequence, expected u32");
        assert_eq!(error("count = 1 # size = 2\nsize = 2\n"), "line 2: `size`: unknown field `size`, expected `count`");
    }

    #[test]
    fn a_key_is_named_however_it_is_written() {
        assert_eq!(error("\"count\" = []\n"), "line 1: `count`: invalid type: sequence, expected u32");
        assert_eq!(error("count = 1\n'count' = 2\n"), "line 2: `count`: duplicate key");
        assert_eq!(error("count . x = 1\n"), "line 1: `count`: invalid type: map, expected u32");
        assert_eq!(error("count = 1\nsize = [\n"), "line 2: `size`: unclosed array, expected `]`");
    }

    #[track_caller]
    fn place(text: &str, path: &[&str], expected: &str) {
        assert_eq!(TomlError::of_value(text, path, "wrong").to_string(), expected);
    }

    #[test]
    fn a_value_is_found_by_its_path_and_not_by_its_name() {
        let two = "[a]\nkey = 1\n[b]\n# key = 2\ntext = \"\"\"\nkey = 3\n\"\"\"\nkey = 4\n";
        place(two, &["a", "key"], "line 2: `key`: wrong");
        place(two, &["b", "key"], "line 8: `key`: wrong");
        place(two, &["key"], "wrong");
        place("a.key = 1\nb.\"key\" = 2\n", &["b", "key"], "line 2: `key`: wrong");
        place("\n\"a b\" = 1\n", &["a b"], "line 2: `a b`: wrong");
        place("a = { other = 1, key = 2 }\n", &["a", "key"], "line 1: `key`: wrong");
    }

    #[test]
    fn an_item_of_a_list_has_its_own_line() {
        let error = |text, index| TomlError::of_item(text, &["list"], index, "wrong").to_string();
        assert_eq!(error("list = [\n  1, # 2\n  2,\n]\n", 1), "line 3: `list`: wrong");
        assert_eq!(error("\nlist = [1, 2]\n", 1), "line 2: `list`: wrong");
        assert_eq!(error("\nlist = 1\n", 1), "line 2: `list`: wrong");
    }
}
