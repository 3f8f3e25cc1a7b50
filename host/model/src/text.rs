//! Text for people: words that somebody else chose, made safe for a record and a terminal.
//!
//! Nothing that an agent, a rubric or a file says reaches a terminal unescaped, and nothing here knows what the words mean.

use std::fmt;

/// Most characters of a guest's or an agent's own words that go behind a failure mode.
const MOST_WORDS: usize = 240;

/// Most characters of a message that quotes somebody.
const MOST_OF_A_MESSAGE: usize = 16_384;

/// Somebody else's words, cut and with every control character escaped, so that they can go to a record and a terminal.
#[derive(Debug)]
pub struct Words<'a>(pub &'a str);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_harmless(f, self.0, MOST_WORDS)
    }
}

/// A message that may quote somebody else's words, such as an error about a file that anybody may have written: escaped like
/// [`Words`], and cut only where nobody would read on.
#[derive(Debug)]
pub struct Message<'a>(pub &'a str);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_harmless(f, self.0, MOST_OF_A_MESSAGE)
    }
}

/// Somebody else's words in a form that [`Words`] leaves as it is: escaped, and cut so that they fit together with the note about
/// what was cut off. Whoever reads them in a record has all that there is of them.
pub fn settled(text: &str) -> String {
    // Room for the longest note.
    const MOST_BEFORE_THE_NOTE: usize = MOST_WORDS - 40;
    let escape = |character: char| {
        let (as_it_is, escaped) =
            if is_harmless(character) { (Some(character), None) } else { (None, Some(character.escape_default())) };
        as_it_is.into_iter().chain(escaped.into_iter().flatten())
    };
    let words: Vec<char> = text.chars().flat_map(escape).collect();
    if words.len() <= MOST_WORDS {
        return words.into_iter().collect();
    }
    let (kept, rest) = words.split_at(MOST_BEFORE_THE_NOTE);
    format!("{}… ({} more characters)", kept.iter().collect::<String>(), rest.len())
}

fn write_harmless(f: &mut fmt::Formatter<'_>, text: &str, most: usize) -> fmt::Result {
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        if is_harmless(character) {
            write!(f, "{character}")?;
        } else {
            write!(f, "{}", character.escape_default())?;
        }
    }
    match characters.count() {
        0 => Ok(()),
        left => write!(f, "… ({left} more characters)"),
    }
}

/// Most lines of somebody's log that are quoted, and most characters of each.
const MOST_LAST_LINES: usize = 5;
const MOST_OF_A_LINE: usize = 160;

/// The last lines of somebody's log that say anything, each as a terminal would have left it, cut and escaped like [`Words`].
pub fn last_lines(log: &[u8]) -> Vec<String> {
    let log = String::from_utf8_lossy(log);
    let says_something = |part: &&str| !part.trim().is_empty();
    // A progress bar returns to the beginning of its line, and only its last state stays.
    let lines = log.lines().rev().filter_map(|line| line.rsplit('\r').find(says_something));
    let mut last: Vec<_> = lines.take(MOST_LAST_LINES).map(|line| HarmlessLine(line.trim_end()).to_string()).collect();
    last.reverse();
    last
}

/// One line of somebody's log.
struct HarmlessLine<'a>(&'a str);

impl fmt::Display for HarmlessLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_harmless(f, &self.0.replace('\t', "    "), MOST_OF_A_LINE)
    }
}

/// Whether a character of foreign text may reach a terminal as it is: not a control character, and none of the invisible
/// ones that reorder or hide what follows.
pub fn is_harmless(character: char) -> bool {
    let hides = matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
    !character.is_control() && !hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_log_are_few_short_and_harmless() {
        assert_eq!(last_lines(b""), [""; 0]);
        assert_eq!(last_lines(b"\n \n"), [""; 0]);
        assert_eq!(last_lines(b"1\n2\n\n3\n4\n5\r\n6\n"), ["2", "3", "4", "5", "6"]);
        assert_eq!(last_lines(b"10 %\r20 %\r100 %\r\nno key"), ["100 %", "no key"]);
        assert_eq!(last_lines(b"\tat main\x1b[2K \xff \xe2\x80\xae"), ["    at main\\u{1b}[2K \u{fffd} \\u{202e}"]);
        let long = last_lines("ä".repeat(1000).as_bytes());
        assert_eq!(long, [format!("{}… (840 more characters)", "ä".repeat(160))]);
    }

    #[test]
    fn settled_words_come_out_of_every_record_as_they_went_in() {
        for text in ["", "exit status 3", "\u{1b}[31m\n", &"x".repeat(240), &"x".repeat(241), &"\u{1b}".repeat(200)] {
            let settled = settled(text);
            assert_eq!(Words(&settled).to_string(), settled);
        }
        assert_eq!(settled("\u{1b}[31m"), "\\u{1b}[31m");
        assert_eq!(settled(&"x".repeat(1000)), format!("{}… (800 more characters)", "x".repeat(200)));
    }
}
