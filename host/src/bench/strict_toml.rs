//! TOML errors that say where: line and key, on one line, for a person with an editor open.

use serde::de::DeserializeOwned;

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
    /// A problem with the value of a key that parsed as TOML, found by a later check.
    pub(crate) fn of_key(text: &str, key: &str, message: impl Into<String>) -> Self {
        let line = text.lines().position(|line| key_of(line).as_deref() == Some(key)).map(|index| index + 1);
        Self { line, key: Some(key.to_owned()), message: message.into() }
    }

    /// The key, for reports that name the failing field.
    pub(crate) fn field(&self) -> String {
        self.key.clone().unwrap_or_default()
    }
}

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let line_index = error.span().filter(|span| !span.is_empty()).map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            before.matches('\n').count()
        });
        let line = line_index.and_then(|index| text.lines().nth(index));
        TomlError {
            line: line_index.map(|index| index + 1),
            key: line.and_then(key_of),
            message: error.message().trim_end().replace('\n', "; "),
        }
    })
}

/// The key that a line sets or the table that it opens.
fn key_of(line: &str) -> Option<String> {
    let line = line.trim();
    let key = match line.strip_prefix('[') {
        Some(table) => table.split(']').next(),
        None => line.split_once('=').map(|(key, _)| key),
    }?;
    let key = key.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!key.is_empty() && key.chars().all(plain)).then(|| key.to_owned())
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
        assert!(error("").contains("missing field `count`"));
    }
}
