//! Paths as a diff writes them, turned into paths of a tree. Nothing that could mean a place outside the tree gets
//! through, nor anything inside git's own folder, which no diff is about.

use thiserror::Error;

/// Why a path in a diff is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PathError {
    #[error("it must start with `{0}`, relative to the root of the input")]
    Prefix(&'static str),
    #[error("it has an empty part, `.`, `..` or `.git`")]
    Part,
    #[error("it has a backslash or a control character")]
    Character,
    #[error("its quoting is not closed or has an unknown escape")]
    Quoting,
    #[error("it is not UTF-8")]
    Encoding,
}

/// The name behind `--- ` or `+++ `: may be quoted, may be followed by a tab and a date. `None` is `/dev/null`.
fn from_file_line(text: &str) -> Result<Option<String>, PathError> {
    let name = if text.starts_with('"') { unquote(text)? } else { before_tab(text).to_owned() };
    Ok((name != "/dev/null").then_some(name))
}

/// The paths behind `--- ` and `+++ `. They have prefixes, unless the git line says otherwise or not both sides have one:
/// that is how `git diff --no-prefix` writes them, with the same path on both sides.
pub(crate) fn from_file_lines(old: &str, new: &str, plain: bool) -> Result<Sides, PathError> {
    let (old, new) = (from_file_line(old)?, from_file_line(new)?);
    let has = |name: &Option<String>, prefix: &str| name.as_ref().is_none_or(|name| name.starts_with(prefix));
    let prefixed = !plain && has(&old, "a/") && has(&new, "b/");
    let relative = |name: Option<String>| match name {
        Some(name) => {
            let path = if prefixed { name[2..].to_owned() } else { name };
            check(&path).map(|()| Some(path))
        }
        None => Ok(None),
    };
    Ok((relative(old)?, relative(new)?))
}

/// The two paths of a section; `None` inside is `/dev/null`.
pub(crate) type Sides = (Option<String>, Option<String>);

/// The path behind `rename from ` or `rename to `: without prefix.
pub(crate) fn from_rename_line(text: &str) -> Result<String, PathError> {
    let name = if text.starts_with('"') { unquote(text)? } else { text.to_owned() };
    check(&name)?;
    Ok(name)
}

/// The one path behind `diff --git`, for sections that have no other line with a path (an empty file, a mode). Both sides
/// must be the same path: that makes the line unambiguous although it separates them by a blank.
pub(crate) fn from_git_line(text: &str) -> Result<String, PathError> {
    let (old, new) = split_git_line(text)?;
    if old == new {
        check(&new)?;
        return Ok(new);
    }
    let old = old.strip_prefix("a/").ok_or(PathError::Prefix("a/"))?;
    let new = new.strip_prefix("b/").ok_or(PathError::Prefix("b/"))?;
    if old != new {
        return Err(PathError::Prefix("b/"));
    }
    check(new)?;
    Ok(new.to_owned())
}

/// Whether the line behind `diff --git` has no prefixes: then both of its sides are the same.
pub(crate) fn is_plain(text: &str) -> bool {
    split_git_line(text).is_ok_and(|(old, new)| old == new)
}

fn split_git_line(text: &str) -> Result<(String, String), PathError> {
    if text.starts_with('"') {
        let middle = text.find("\" \"").ok_or(PathError::Quoting)?;
        return Ok((unquote(&text[..=middle])?, unquote(&text[middle + 2..])?));
    }
    let middle = text.len() / 2;
    let halves = text.split_at_checked(middle).and_then(|(old, new)| Some((old, new.strip_prefix(' ')?)));
    let (old, new) = halves.ok_or(PathError::Prefix("a/"))?;
    Ok((old.to_owned(), new.to_owned()))
}

fn before_tab(text: &str) -> &str {
    text.split_once('\t').map_or(text, |(name, _date)| name)
}

fn check(path: &str) -> Result<(), PathError> {
    if path.chars().any(|c| c == '\\' || c.is_control()) {
        return Err(PathError::Character);
    }
    if path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")) {
        return Err(PathError::Part);
    }
    Ok(())
}

/// Undoes git's quoting (`core.quotePath`): C escapes and octal bytes between double quotes.
fn unquote(text: &str) -> Result<String, PathError> {
    let mut bytes = text.strip_prefix('"').ok_or(PathError::Quoting)?.bytes();
    let mut name = Vec::new();
    loop {
        match bytes.next().ok_or(PathError::Quoting)? {
            b'"' => break,
            b'\\' => name.push(unescape(&mut bytes)?),
            byte => name.push(byte),
        }
    }
    let rest = bytes.next();
    if rest.is_some_and(|byte| byte != b'\t') {
        return Err(PathError::Quoting);
    }
    String::from_utf8(name).map_err(|_| PathError::Encoding)
}

fn unescape(bytes: &mut impl Iterator<Item = u8>) -> Result<u8, PathError> {
    match bytes.next().ok_or(PathError::Quoting)? {
        b't' => Ok(b'\t'),
        b'n' => Ok(b'\n'),
        b'r' => Ok(b'\r'),
        byte @ (b'"' | b'\\') => Ok(byte),
        first @ b'0'..=b'3' => {
            let second = octal_digit(bytes.next())?;
            let third = octal_digit(bytes.next())?;
            Ok((first - b'0') * 64 + second * 8 + third)
        }
        _ => Err(PathError::Quoting),
    }
}

fn octal_digit(byte: Option<u8>) -> Result<u8, PathError> {
    match byte {
        Some(digit @ b'0'..=b'7') => Ok(digit - b'0'),
        _ => Err(PathError::Quoting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_side(text: &str) -> Result<Option<String>, PathError> {
        from_file_lines("/dev/null", text, false).map(|(_, new)| new)
    }

    #[test]
    fn a_path_loses_its_prefix_and_its_date() {
        assert_eq!(new_side("b/src/main.rs"), Ok(Some("src/main.rs".to_owned())));
        assert_eq!(new_side("b/with blank.txt\t2026-11-16 00:00:00"), Ok(Some("with blank.txt".to_owned())));
        assert_eq!(new_side("/dev/null"), Ok(None));
        assert_eq!(new_side("/dev/null\t1970-01-01 00:00:00"), Ok(None));
    }

    #[test]
    fn a_path_that_could_leave_the_tree_is_refused() {
        for part in ["b/../x", "b/x/../../y", "b/./x", "b//x", "b/x/", "b/", "b/.git/hooks/x"] {
            assert_eq!(new_side(part), Err(PathError::Part), "{part}");
        }
        for outside in ["/etc/passwd", "../x", ".git/config", ""] {
            assert_eq!(new_side(outside), Err(PathError::Part), "{outside}");
        }
        for character in ["b/x\\..\\y", "b/x\r", "b/\u{7f}"] {
            assert_eq!(new_side(character), Err(PathError::Character), "{character}");
        }
    }

    #[test]
    fn paths_without_prefixes_are_the_same_on_both_sides() {
        let both = |old, new, plain| from_file_lines(old, new, plain).unwrap();
        let path = |text: &str| Some(text.to_owned());
        assert_eq!(both("x.txt", "x.txt", false), (path("x.txt"), path("x.txt")));
        assert_eq!(both("a/x", "b/x", false), (path("x"), path("x")));
        assert_eq!(both("a/x", "a/x", false), (path("a/x"), path("a/x")), "a folder that is called like a prefix");
        assert_eq!(both("/dev/null", "b/x", true), (None, path("b/x")));
        assert!(is_plain("b/x b/x"));
        assert!(!is_plain("a/x b/x"));
    }

    #[test]
    fn a_quoted_path_is_unquoted_and_then_checked_like_any_other() {
        assert_eq!(new_side("\"b/gr\\303\\274n.txt\""), Ok(Some("grün.txt".to_owned())));
        assert_eq!(new_side("\"b/a\\\"b\""), Ok(Some("a\"b".to_owned())));
        assert_eq!(new_side("\"b/a\\nb\""), Err(PathError::Character));
        assert_eq!(new_side("\"b/\\056\\056/x\""), Err(PathError::Part));
        assert_eq!(new_side("\"b/\\377\""), Err(PathError::Encoding));
        for open in ["\"b/x", "\"b/x\\", "\"b/\\9\"", "\"b/x\"y"] {
            assert_eq!(new_side(open), Err(PathError::Quoting), "{open}");
        }
    }

    #[test]
    fn the_git_line_gives_a_path_only_when_both_sides_agree() {
        assert_eq!(from_git_line("a/x y b/x y"), Ok("x y".to_owned()));
        assert_eq!(from_git_line("\"a/\\303\\274\" \"b/\\303\\274\""), Ok("ü".to_owned()));
        assert!(from_git_line("a/x b/y").is_err());
        assert!(from_git_line("a/x").is_err());
        assert!(from_git_line("").is_err());
    }
}
