//! Lines that stand twice in a row after a patch, and did not before. No tool writes them, and nobody means them.
//!
//! It looks at lines alone and knows no format. Lines without a letter or digit, such as brackets, do not count.
//! [`Applied::doubled_blocks`] finds several lines in a row that stand twice, too.

use std::collections::BTreeMap;

use crate::{Applied, Tree};

impl Applied {
    /// Every line that repeats the one before it because of the diff: the path and the number of the line.
    #[must_use]
    pub fn doubled_lines(&self, before: &Tree) -> Vec<(&str, usize)> {
        let changed = self.changed_paths().into_iter();
        let texts = changed.filter_map(|path| Some((path, self.tree.text(path)?)));
        let doubled = texts.flat_map(|(path, text)| {
            let was = before.text(path).unwrap_or_default();
            new_doubles(was, text).into_iter().map(move |number| (path, number))
        });
        doubled.collect()
    }

    /// Every block of lines that repeats the one before it because of the diff: the path and the block's first line.
    #[must_use]
    pub fn doubled_blocks(&self, before: &Tree) -> Vec<(&str, &str)> {
        let changed = self.changed_paths().into_iter();
        let texts = changed.filter_map(|path| Some((path, self.tree.text(path)?)));
        let doubled = texts.flat_map(|(path, text)| {
            let known = blocks(before.text(path).unwrap_or_default());
            let new = blocks(text).into_iter().filter(move |block| !known.contains(block));
            new.filter_map(move |block| Some((path, *block.first()?)))
        });
        doubled.collect()
    }
}

/// Longer blocks than this are not looked for: the work grows with the square of it.
const LONGEST_BLOCK: usize = 32;

/// Blocks of lines that are the same as the block before. Blank lines between or in them do not count.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let most = LONGEST_BLOCK.min((lines.len() - at) / 2);
        let length = (1..=most).find(|length| lines[at..at + length] == lines[at + length..at + 2 * length]);
        let block = length.map(|length| &lines[at..at + length]);
        match block.filter(|block| block.iter().any(|line| line.contains(char::is_alphanumeric))) {
            Some(block) => {
                found.push(block.to_vec());
                at += block.len();
            }
            None => at += 1,
        }
    }
    found
}

fn new_doubles(before: &str, after: &str) -> Vec<usize> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, line) in doubles(before) {
        *known.entry(line).or_default() += 1;
    }
    let mut is_new = |line: &str| match known.get_mut(line).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => true,
    };
    doubles(after).filter(|(_, line)| is_new(line)).map(|(number, _)| number).collect()
}

/// Lines that are the same as the one before, with their numbers.
fn doubles(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let pairs = text.lines().zip(text.lines().skip(1)).zip(2..);
    let same = pairs.filter(|((line, next), _)| line == next && line.contains(char::is_alphanumeric));
    same.map(|((_, line), number)| (number, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(before: &str, after: &str) -> Vec<usize> {
        new_doubles(before, after)
    }

    #[test]
    fn a_line_that_comes_to_stand_twice_in_a_row_is_found() {
        assert_eq!(doubled("a\nb\n", "a\na\nb\nb\n"), [2, 4]);
        assert_eq!(doubled("", "x\nx\nx"), [2, 3]);
        assert_eq!(doubled("a\nb\na\n", "a\na\n"), [2], "also if what was between them goes");
    }

    #[test]
    fn a_block_that_comes_to_stand_twice_in_a_row_is_found_by_its_first_line() {
        assert_eq!(blocks("a\nb\n\na\nb\n"), [["a", "b"]]);
        assert_eq!(blocks("x\na\na\n"), [["a"]]);
        assert!(blocks("a\nb\nc\na\nb\n}\n}\n").is_empty());
    }

    #[test]
    fn brackets_blank_lines_and_what_was_there_do_not_count() {
        assert!(doubled("", "}\n}\n\n\n  },\n  },\n").is_empty());
        assert!(doubled("a\na\nb\n", "a\na\nc\n").is_empty());
        assert_eq!(doubled("a\na\nb\n", "a\na\na\n"), [3]);
        assert!(doubled("a\n", " a\na\n").is_empty(), "another indentation is another line");
    }
}
