//! Patterns: `*` and `?` within a part of a path, `**` across parts, and the cuts that shell expansions make with them.

/// Whether the whole of `path` fits `pattern`. `*` and `?` stop at `/`; `**` does not, and `**/` may be nothing.
///
/// Follows all ways to read the pattern at once, so that its time is bounded by the product of the lengths: patterns come
/// from answers too, and must not be able to use up the rubric's fuel.
pub(crate) fn matches_path(pattern: &str, path: &str) -> bool {
    let path: Vec<char> = path.chars().collect();
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let Some((token, after)) = token(rest) {
        reached = advance(&token, &path, &reached);
        rest = after;
    }
    reached[path.len()]
}

enum Token {
    /// `**/`: nothing, or anything up to and with a `/`.
    Parts,
    /// `**`: anything.
    Anything,
    /// `*`: anything but `/`.
    InPart,
    /// `?`: one character but `/`.
    One,
    Exactly(char),
}

fn token(pattern: &str) -> Option<(Token, &str)> {
    const MARKS: [(&str, Token); 4] =
        [("**/", Token::Parts), ("**", Token::Anything), ("*", Token::InPart), ("?", Token::One)];
    for (mark, token) in MARKS {
        if let Some(rest) = pattern.strip_prefix(mark) {
            return Some((token, rest));
        }
    }
    let mut characters = pattern.chars();
    Some((Token::Exactly(characters.next()?), characters.as_str()))
}

/// The positions in `path` that can be reached by `token` from the ones that are `reached`.
fn advance(token: &Token, path: &[char], reached: &[bool]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    // Whether the token was entered before this position and can still go on.
    let mut open = false;
    for position in 0..reached.len() {
        let before = position.checked_sub(1).map(|i| path[i]);
        let entered = position.checked_sub(1).is_some_and(|i| reached[i]);
        open = match token {
            Token::InPart => (open && before != Some('/')) || reached[position],
            _ => open || reached[position],
        };
        next[position] = match token {
            Token::Anything | Token::InPart => open,
            Token::Parts => reached[position] || (open && before == Some('/')),
            Token::One => entered && before != Some('/'),
            Token::Exactly(c) => entered && before == Some(*c),
        };
    }
    next
}

/// Whether the whole of `text` fits `pattern`, where `*` stands for anything.
pub(crate) fn matches_text(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether a text has a character that makes it a pattern.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn boundaries(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let mut all: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
    all.push(text.len());
    all.into_iter()
}

pub(crate) fn without_prefix<'a>(text: &'a str, pattern: &str, longest: bool) -> &'a str {
    let fits = |end: &usize| matches_text(pattern, &text[..*end]);
    let end = if longest { boundaries(text).rev().find(fits) } else { boundaries(text).find(fits) };
    &text[end.unwrap_or(0)..]
}

pub(crate) fn without_suffix<'a>(text: &'a str, pattern: &str, longest: bool) -> &'a str {
    let fits = |start: &usize| matches_text(pattern, &text[*start..]);
    let start = if longest { boundaries(text).find(fits) } else { boundaries(text).rev().find(fits) };
    &text[..start.unwrap_or(text.len())]
}

/// `text` with what fits `pattern` replaced: the first place, or every one.
pub(crate) fn replaced(text: &str, pattern: &str, with: &str, every: bool) -> String {
    if !pattern.contains('*') && !pattern.is_empty() {
        return if every { text.replace(pattern, with) } else { text.replacen(pattern, with, 1) };
    }
    let mut result = String::new();
    let mut rest = text;
    while let Some((start, end)) = find(rest, pattern) {
        result.push_str(&rest[..start]);
        result.push_str(with);
        rest = &rest[end..];
        if !every {
            break;
        }
    }
    result + rest
}

/// The first place in `text` that fits `pattern`, as long as it can be. Never an empty one.
fn find(text: &str, pattern: &str) -> Option<(usize, usize)> {
    boundaries(text).find_map(|start| {
        let end = boundaries(text).rev().find(|end| *end > start && matches_text(pattern, &text[start..*end]))?;
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_stays_in_its_part_and_two_cross_parts() {
        let table = [
            ("src/*.py", "src/app.py", true),
            ("src/*.py", "src/a/app.py", false),
            ("**/*.py", "app.py", true),
            ("**/*.py", "a/b/app.py", true),
            ("tests/**", "tests/a/b", true),
            ("tests/**", "test/a", false),
            ("**/tests/**", "tests/a", true),
            ("a**b", "a/x/b", true),
            ("?.c", "a.c", true),
            ("?.c", "/.c", false),
            ("Dockerfile", "Dockerfile", true),
            ("Dockerfile", "Dockerfile.dev", false),
        ];
        for (pattern, path, fits) in table {
            assert_eq!(matches_path(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_no_more_time_than_its_length() {
        let path = "a".repeat(2000);
        assert!(!matches_path(&format!("{}b", "**a".repeat(50)), &path));
    }

    #[test]
    fn a_text_pattern_takes_anything_for_a_star() {
        let table = [
            ("registry/*", "registry/python:latest", true),
            ("registry/*", "other/python", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b", "ab c", false),
            ("", "", true),
            ("ab*b", "ab", false),
        ];
        for (pattern, text, fits) in table {
            assert_eq!(matches_text(pattern, text), fits, "{pattern} {text}");
        }
    }
}
