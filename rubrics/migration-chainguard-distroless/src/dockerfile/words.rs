//! Splitting an instruction's text at blanks outside quotes, as the Dockerfile format does it. Quotes stay in the words:
//! whoever expands a word removes them.

/// A heredoc that a line opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeredocMark {
    pub(super) name: String,
    pub(super) strips_tabs: bool,
    pub(super) expands: bool,
}

/// The words of `text`, with their quotes.
pub(super) fn unquoted_words(text: &str, escape: char) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => take(&mut word, &mut words),
            (None, '"' | '\'') => push_quote(&mut word, &mut quote, c),
            (Some(open), c) if c == open => {
                word.push(c);
                quote = None;
            }
            (Some('\''), c) => word.push(c),
            (_, c) => {
                word.push(c);
                if c == escape {
                    word.extend(characters.next());
                }
            }
        }
    }
    take(&mut word, &mut words);
    words
}

fn push_quote(word: &mut String, quote: &mut Option<char>, c: char) {
    word.push(c);
    *quote = Some(c);
}

fn take(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// The heredocs that a line opens, in order.
pub(super) fn heredoc_marks(text: &str, escape: char) -> Vec<HeredocMark> {
    unquoted_words(text, escape).iter().filter_map(|word| heredoc_mark(word)).collect()
}

/// Whether a word is the mark of a heredoc, which is no argument of the instruction.
pub(super) fn is_heredoc_mark(word: &str) -> bool {
    heredoc_mark(word).is_some()
}

fn heredoc_mark(word: &str) -> Option<HeredocMark> {
    let mark = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
    let (strips_tabs, name) = mark.strip_prefix('-').map_or((false, mark), |name| (true, name));
    let plain = name.trim_matches(['"', '\'']);
    let valid = !plain.is_empty() && !plain.contains('<');
    valid.then(|| HeredocMark { name: plain.to_owned(), strips_tabs, expands: plain.len() == name.len() })
}
