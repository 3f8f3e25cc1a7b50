//! Variables in the words of a Dockerfile: `$X`, `${X}` and its modifiers; quotes and escapes are removed on the way.

use crate::glob;
use std::iter::Peekable;
use std::str::Chars;
use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum ExpandError {
    #[error("a quote or a brace is not closed")]
    Open,
    #[error("`${{{0}` has an unknown modifier")]
    Modifier(String),
    #[error("`{0}` is required and not set")]
    Required(String),
    #[error("a value is longer than {MAX_VALUE} bytes, or longer than {MAX_EDITED} and edited by a pattern with `*`")]
    TooLong,
    #[error("defaults are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// Every level reads what is inside it again, so their number is bounded.
const MAX_DEPTH: usize = 16;

/// Values can be doubled by every line, so their length is bounded.
const MAX_VALUE: usize = 4096;
/// Edits by pattern take time by the cube of the value's length.
const MAX_EDITED: usize = 32;

/// Expands a word with the variables that `lookup` knows.
pub(crate) fn expand(word: &str, escape: char, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, ExpandError> {
    expand_at(word, escape, lookup, 0)
}

/// The variables in a text that are given no other value where they are not set: `$X` and `${X}`, not between single quotes.
pub(crate) fn plain_variables(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_quoted = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '\'' if before != '\\' => is_quoted = !is_quoted,
            '$' if !is_quoted && before != '\\' => found.extend(plain_variable(&text[at + 1..])),
            _ => {}
        }
        before = c;
    }
    found
}

fn plain_variable(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix('{').unwrap_or(rest);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    let is_plain = !rest.starts_with('{') || name[end..].starts_with('}');
    (is_plain && end > 0).then(|| &name[..end])
}

fn expand_at(
    word: &str,
    escape: char,
    lookup: &dyn Fn(&str) -> Option<String>,
    depth: usize,
) -> Result<String, ExpandError> {
    if depth > MAX_DEPTH {
        return Err(ExpandError::TooDeep);
    }
    Expander { characters: word.chars().peekable(), escape, lookup, depth }.until_end()
}

struct Expander<'a> {
    characters: Peekable<Chars<'a>>,
    escape: char,
    lookup: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Expander<'_> {
    fn until_end(&mut self) -> Result<String, ExpandError> {
        let mut text = String::new();
        while let Some(c) = self.characters.next() {
            match c {
                '\'' => self.single_quoted(&mut text)?,
                '"' => self.double_quoted(&mut text)?,
                '$' => self.push_variable(&mut text)?,
                c if c == self.escape => text.extend(self.characters.next()),
                c => text.push(c),
            }
        }
        Ok(text)
    }

    fn single_quoted(&mut self, text: &mut String) -> Result<(), ExpandError> {
        loop {
            match self.characters.next().ok_or(ExpandError::Open)? {
                '\'' => return Ok(()),
                c => text.push(c),
            }
        }
    }

    fn double_quoted(&mut self, text: &mut String) -> Result<(), ExpandError> {
        loop {
            match self.characters.next().ok_or(ExpandError::Open)? {
                '"' => return Ok(()),
                '$' => self.push_variable(text)?,
                c if c == self.escape => text.push_str(&self.escaped_in_quotes()?),
                c => text.push(c),
            }
        }
    }

    /// Between double quotes only a quote, a dollar and the escape character itself can be escaped.
    fn escaped_in_quotes(&mut self) -> Result<String, ExpandError> {
        let c = self.characters.next().ok_or(ExpandError::Open)?;
        let special = matches!(c, '"' | '$') || c == self.escape;
        Ok(if special { c.to_string() } else { format!("{}{c}", self.escape) })
    }

    fn push_variable(&mut self, text: &mut String) -> Result<(), ExpandError> {
        text.push_str(&self.variable()?);
        if text.len() > MAX_VALUE { Err(ExpandError::TooLong) } else { Ok(()) }
    }

    fn variable(&mut self) -> Result<String, ExpandError> {
        if self.characters.next_if_eq(&'{').is_some() {
            return self.braced();
        }
        let name = self.name();
        if name.is_empty() {
            return Ok("$".to_owned());
        }
        Ok((self.lookup)(&name).unwrap_or_default())
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.characters.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        name
    }

    fn braced(&mut self) -> Result<String, ExpandError> {
        let name = self.name();
        let modifier = self.until_brace()?;
        let value = (self.lookup)(&name);
        if modifier.is_empty() {
            return Ok(value.unwrap_or_default());
        }
        self.modified(&name, value, &modifier)
    }

    /// The text up to the brace that closes this one.
    fn until_brace(&mut self) -> Result<String, ExpandError> {
        let mut depth = 0;
        let mut text = String::new();
        loop {
            let c = self.characters.next().ok_or(ExpandError::Open)?;
            match c {
                '}' if depth == 0 => return Ok(text),
                '}' => depth -= 1,
                '{' => depth += 1,
                _ => {}
            }
            text.push(c);
        }
    }

    fn modified(&self, name: &str, value: Option<String>, modifier: &str) -> Result<String, ExpandError> {
        // With a colon, a variable that is empty counts as one that is not set.
        let (rest, present) = match modifier.strip_prefix(':') {
            Some(rest) => (rest, value.clone().filter(|value| !value.is_empty())),
            None => (modifier, value.clone()),
        };
        let word = || expand_at(&rest[1..], self.escape, self.lookup, self.depth + 1);
        match rest.chars().next() {
            Some('-') => present.map_or_else(word, Ok),
            Some('+') => {
                if present.is_some() {
                    word()
                } else {
                    Ok(String::new())
                }
            }
            Some('?') => present.ok_or_else(|| ExpandError::Required(name.to_owned())),
            _ if modifier.starts_with(':') => Err(ExpandError::Modifier(format!("{name}{modifier}"))),
            Some(cut @ ('#' | '%' | '/')) => self.edited(&value.unwrap_or_default(), cut, &rest[1..]),
            _ => Err(ExpandError::Modifier(format!("{name}{modifier}"))),
        }
    }

    fn edited(&self, value: &str, cut: char, rest: &str) -> Result<String, ExpandError> {
        if value.len() > MAX_EDITED && rest.contains('*') {
            return Err(ExpandError::TooLong);
        }
        let (twice, rest) = rest.strip_prefix(cut).map_or((false, rest), |rest| (true, rest));
        let word = |text: &str| expand_at(text, self.escape, self.lookup, self.depth + 1);
        Ok(match cut {
            '#' => glob::without_prefix(value, &word(rest)?, twice).to_owned(),
            '%' => glob::without_suffix(value, &word(rest)?, twice).to_owned(),
            _ => {
                let (pattern, with) = rest.split_once('/').unwrap_or((rest, ""));
                glob::replaced(value, &word(pattern)?, &word(with)?, twice)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "X" => Some("value".to_owned()),
            "EMPTY" => Some(String::new()),
            "V" => Some("1.22.5-alpine".to_owned()),
            _ => None,
        }
    }

    #[track_caller]
    fn check(word: &str, expected: &str) {
        assert_eq!(expand(word, '\\', &lookup).as_deref(), Ok(expected), "{word}");
    }

    #[test]
    fn names_and_braces_give_the_value_or_nothing() {
        check("a$X-b", "avalue-b");
        check("${X}y", "valuey");
        check("[$NONE][${NONE}]", "[][]");
        check("100$", "100$");
    }

    #[test]
    fn defaults_and_alternatives_tell_empty_from_not_set_by_the_colon() {
        check("${NONE:-d}${EMPTY:-e}${X:-f}", "devalue");
        check("[${NONE-d}][${EMPTY-e}]", "[d][]");
        check("[${NONE:+d}][${EMPTY:+e}][${X:+f}]", "[][][f]");
        check("[${NONE+d}][${EMPTY+e}]", "[][e]");
        check("${NONE:-${X}/${OTHER:-z}}", "value/z");
    }

    #[test]
    fn prefixes_suffixes_and_replacements_are_cut_by_pattern() {
        check("${V%-*}", "1.22.5");
        check("${V%%.*}", "1");
        check("${V#*.}", "22.5-alpine");
        check("${V##*.}", "5-alpine");
        check("${V/./_}", "1_22.5-alpine");
        check("${V//./_}", "1_22_5-alpine");
    }

    #[test]
    fn quotes_and_escapes_go_and_single_quotes_keep_the_dollar() {
        check(r#""a $X""#, "a value");
        check("'a $X'", "a $X");
        check(r"\$X", "$X");
        check(r#""\"\n""#, r#""\n"#);
        assert_eq!(expand("`$X\\y", '`', &lookup).as_deref(), Ok("$X\\y"));
    }

    #[test]
    fn what_is_open_unknown_or_required_is_an_error() {
        assert_eq!(expand("${X", '\\', &lookup), Err(ExpandError::Open));
        assert_eq!(expand("\"x", '\\', &lookup), Err(ExpandError::Open));
        assert_eq!(expand("${X!}", '\\', &lookup), Err(ExpandError::Modifier("X!".to_owned())));
        assert_eq!(expand("${X:}", '\\', &lookup), Err(ExpandError::Modifier("X:".to_owned())));
        assert_eq!(expand("${NONE:?}", '\\', &lookup), Err(ExpandError::Required("NONE".to_owned())));
    }

    #[test]
    fn what_would_grow_without_end_is_an_error() {
        let long = |name: &str| (name == "L").then(|| "x".repeat(3000));
        assert_eq!(expand("$L$L", '\\', &long), Err(ExpandError::TooLong));
        assert_eq!(expand("${L#*x}", '\\', &long), Err(ExpandError::TooLong));
        let deep = format!("{}x{}", "${N:-".repeat(20), "}".repeat(20));
        assert_eq!(expand(&deep, '\\', &lookup), Err(ExpandError::TooDeep));
    }
}
