//! A line for the shell, as far as it can be understood without one: the words that mean exactly what they say.
//!
//! What is not certain to be a plain word is left alone, and says nothing. Nothing here runs anything or expands a variable.

use std::ops::Range;
use std::path::Path;

/// Words before a program that are not the program.
const BEFORE_A_PROGRAM: [&str; 6] = ["exec", "command", "env", "nice", "nohup", "time"];

/// Programs that run another one, which is who answers.
const INTERPRETERS: [&str; 14] =
    ["ash", "bash", "bun", "bunx", "dash", "deno", "node", "npx", "perl", "php", "python", "ruby", "sh", "uvx"];

/// A word of a line.
pub(super) struct Word<'a> {
    /// What the shell makes of it, if that is certain.
    pub(super) text: Option<&'a str>,
    /// Where it stands in the line.
    pub(super) place: Range<usize>,
    /// The shell opens it as a file to be written.
    pub(super) is_written: bool,
}

/// The words of a line, in order.
pub(super) fn words(line: &str) -> Vec<Word<'_>> {
    let mut is_written = false;
    let mut words = Vec::new();
    for place in places(line) {
        let piece = &line[place.clone()];
        words.push(Word { text: meant(piece), place, is_written });
        is_written = piece.ends_with('>');
    }
    words
}

/// Where the words of a line stand: between blanks and the marks that part commands, as long as they are not quoted.
fn places(line: &str) -> Vec<Range<usize>> {
    let (mut places, mut start, mut quote) = (Vec::new(), None, None);
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (None, character) if character.is_whitespace() || ";&|()".contains(character) => {
                places.extend(start.take().map(|start| start..at));
                continue;
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => drop(characters.next()),
            _ => {}
        }
        start.get_or_insert(at);
    }
    places.extend(start.map(|start| start..line.len()));
    places
}

/// What a shell makes of a word, if that is certain: a plain one, or a quoted one with nothing in it to expand.
fn meant(piece: &str) -> Option<&str> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_=./:,@%+".contains(character);
    let is_quoted = |mark| piece.len() > 1 && piece.starts_with(mark) && piece.ends_with(mark);
    let inner = if is_quoted('\'') || is_quoted('"') {
        &piece[1..piece.len() - 1]
    } else {
        return Some(piece).filter(|piece| piece.chars().all(is_plain));
    };
    (!inner.contains(['\'', '"', '$', '`', '\\'])).then_some(inner)
}

/// Whether a word stands before a program and is not it: `exec`, or a variable that is set for it.
pub(super) fn is_before_a_program(word: &str) -> bool {
    let is_variable = |(name, _): (&str, &str)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    BEFORE_A_PROGRAM.contains(&word) || word.split_once('=').is_some_and(is_variable)
}

/// What a command is called that nobody gave a name: its program's file, or the script's if the program only runs that.
pub(super) fn called<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut words = words.into_iter().skip_while(|word| is_before_a_program(word));
    let program = file_name(words.next()?);
    let is_digit = |character: char| character.is_ascii_digit() || character == '.';
    if !INTERPRETERS.contains(&program.trim_end_matches(is_digit)) {
        return Some(program);
    }
    // What an option such as `-c` is followed by is a program and not the name of one.
    let script = words.take_while(|word| !matches!(*word, "-c" | "-e" | "eval")).find(|word| !word.starts_with('-'));
    Some(script.map_or(program, file_name))
}

fn file_name(word: &str) -> String {
    Path::new(word).file_name().map_or_else(|| word.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant_words(line: &str) -> Vec<Option<&str>> {
        words(line).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn only_words_that_mean_what_they_say_are_understood() {
        assert_eq!(meant_words("  agent.sh --fast '/a b' "), [Some("agent.sh"), Some("--fast"), Some("/a b")]);
        assert_eq!(meant_words("a;b&&(c|d)"), ["a", "b", "c", "d"].map(Some));
        assert_eq!(meant_words(r#"$AGENT ~/agent "$HOME/x" a'b' \a "a\" ./b""#), [None; 6]);
        assert_eq!(meant_words("'see ./agent.sh here' 'unended ./b"), [Some("see ./agent.sh here"), None]);
        let written: Vec<_> = words("a < /in 2> /out >/own").into_iter().map(|word| word.is_written).collect();
        assert_eq!(written, [false, false, false, false, true, false]);
    }

    #[test]
    fn a_command_is_called_after_the_program_that_answers() {
        for (line, name) in [
            ("/opt/agent --json", "agent"),
            ("python3", "python3"),
            ("python3.12 -u /opt/agent.py --fast", "agent.py"),
            ("python3 -m my_agent", "my_agent"),
            ("exec node ./agent.js", "agent.js"),
            ("KEY=/tmp/x MODE=1 env agent", "agent"),
            ("npx -y @vendor/agent", "agent"),
            ("sh -c something", "sh"),
            ("bash", "bash"),
        ] {
            assert_eq!(called(line.split(' ')).as_deref(), Some(name), "{line}");
        }
        assert_eq!(called(["exec"]), None);
    }
}
