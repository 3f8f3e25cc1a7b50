//! Python: whether brackets and strings are closed, every block has a body, indentation is consistent, and no two names stand
//! side by side.

use std::ops::Range;

/// What is wrong with a piece of Python.
#[must_use]
pub fn problem(text: &str) -> Option<String> {
    let mut reader = Reader::default();
    let mut rest = text;
    let mut number = 0;
    while !rest.is_empty() {
        let first = number + 1;
        let line = match logical_line(rest) {
            Ok(line) => line,
            Err(what) => return Some(format!("line {first}: {what}")),
        };
        number += rest[..line.length].matches('\n').count();
        rest = &rest[line.length..];
        if let Err(what) = reader.line(&line) {
            return Some(format!("line {first}: {what}"));
        }
    }
    reader.opens_block.then(|| "the last block has no body".to_owned())
}

/// Where the comments are; up to what is wrong with the code, if something is.
#[must_use]
pub fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '#' => {
                let length = text[at..].find('\n').unwrap_or(text.len() - at);
                found.push(at..at + length);
                at += length;
            }
            '"' | '\'' => match string_length(&text[at..], c) {
                Some(length) => at += length,
                None => break,
            },
            _ => at += c.len_utf8(),
        }
    }
    found
}

/// A line with all the lines that brackets, strings and backslashes join to it.
struct LogicalLine<'a> {
    length: usize,
    indent: &'a str,
    /// Its code, with strings and comments left out; empty for a blank line.
    code: String,
}

fn logical_line(text: &str) -> Result<LogicalLine<'_>, String> {
    let indent = &text[..text.len() - text.trim_start_matches([' ', '\t', '\u{c}']).len()];
    let mut code = String::new();
    let mut open: Vec<char> = Vec::new();
    let mut at = indent.len();
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\n' if open.is_empty() => {
                at += 1;
                break;
            }
            '#' => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            '\\' if text[at + 1..].trim_start_matches('\r').starts_with('\n') => {
                at += text[at..].find('\n').unwrap_or(0) + 1;
                continue;
            }
            '"' | '\'' => {
                at += string_length(&text[at..], c).ok_or("a string is not closed")?;
                code.push('"');
                continue;
            }
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => close(&mut open, c)?,
            _ => {}
        }
        code.push(c);
        at += c.len_utf8();
    }
    match open.pop() {
        Some(open) => Err(format!("`{open}` is not closed")),
        None => Ok(LogicalLine { length: at, indent, code: code.trim().to_owned() }),
    }
}

fn close(open: &mut Vec<char>, c: char) -> Result<(), String> {
    let wanted = match c {
        ')' => '(',
        ']' => '[',
        _ => '{',
    };
    match open.pop() {
        Some(last) if last == wanted => Ok(()),
        _ => Err(format!("`{c}` closes nothing")),
    }
}

/// The length of a string with its quotes. A backslash keeps a quote from ending even a raw string.
fn string_length(text: &str, quote: char) -> Option<usize> {
    let triple = [quote; 3].iter().collect::<String>();
    let (end, several_lines) = if text.starts_with(&triple) { (triple, true) } else { (quote.to_string(), false) };
    let mut at = end.len();
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(&end) {
            return Some(at + end.len());
        }
        let c = rest.chars().next().filter(|c| several_lines || *c != '\n')?;
        at += c.len_utf8();
        if c == '\\' {
            at += rest.chars().nth(1)?.len_utf8();
        }
    }
}

/// What the lines before say about the next one.
#[derive(Default)]
struct Reader {
    /// The indents of the blocks that are open, without that of the file.
    indents: Vec<String>,
    opens_block: bool,
}

impl Reader {
    fn line(&mut self, line: &LogicalLine<'_>) -> Result<(), String> {
        if line.code.is_empty() {
            return Ok(());
        }
        if let Some((first, second)) = neighbours(&line.code) {
            return Err(format!("nothing stands between `{first}` and `{second}`"));
        }
        let current = self.indents.last().cloned().unwrap_or_default();
        if self.opens_block {
            if line.indent.len() <= current.len() || !line.indent.starts_with(&current) {
                return Err("the block before has no body".to_owned());
            }
            self.indents.push(line.indent.to_owned());
        } else if line.indent != current {
            self.dedent(line.indent)?;
        }
        // A header of a block ends with its colon, unless its body is on the same line.
        self.opens_block = line.code.ends_with(':');
        Ok(())
    }

    fn dedent(&mut self, indent: &str) -> Result<(), String> {
        while self.indents.last().is_some_and(|open| open.len() > indent.len()) {
            self.indents.pop();
        }
        if self.indents.last().map_or("", String::as_str) == indent {
            return Ok(());
        }
        Err("its indentation is that of no block".to_owned())
    }
}

/// Words that may stand beside a name, also those that are keywords in some places only.
const KEYWORDS: [&str; 38] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "type", "while", "with", "yield",
];

/// Two names or numbers with nothing but blanks between them, neither of them a keyword: no statement has that.
fn neighbours(code: &str) -> Option<(&str, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut before: Option<&str> = None;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length.max(first.len_utf8()));
        rest = after;
        if first.is_whitespace() {
            continue;
        }
        let name = (length > 0 && !KEYWORDS.contains(&word)).then_some(word);
        if let (Some(before), Some(name)) = (before, name) {
            return Some((before, name));
        }
        before = name;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{comments, problem};

    #[test]
    fn comments_are_found_and_what_is_in_a_text_is_none() {
        let text = "a = '#b'  # c\nd = \"\"\"\n# e\n\"\"\"\n# f";
        let found: Vec<&str> = comments(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["# c", "# f"]);
    }

    #[test]
    fn well_formed_code_has_no_problem() {
        let good = "\"\"\"Doc: (\n\"\"\"\nimport os  # )\n\n\n@deco\ndef f(a: int,\n      b={'x': [1]}) -> None:\n    # a comment\n  # another\n\
                    \n    if a: return\n    x = r'\\'' + \\\n        'y:'\n    for _ in b:\n        pass\n    else:\n        y = lambda: 1\n\n\nclass A:\n\
                    \tdef g(self):\n\t\treturn '''\n# text (\n'''\n";
        assert_eq!(problem(good), None);
        assert_eq!(problem(""), None);
    }

    #[test]
    fn a_block_without_a_body_is_found() {
        for text in [
            "def f():\n\n\ndef g():\n    pass\n",
            "def f():\n",
            "if x:\n    # only a comment\ny = 1\n",
            "class A:\n    def f(self):\n    def g(self):\n        pass\n",
        ] {
            assert!(problem(text).unwrap().contains("body"), "{text}");
        }
    }

    #[test]
    fn two_names_do_not_stand_side_by_side() {
        for text in ["stray stray\n", "x = 1 2\n", "def f():\n    return a b\n", "f(a\n  b)\n"] {
            assert!(problem(text).unwrap().contains("nothing stands between"), "{text}");
        }
        for text in [
            "match command:\n    case Point(x=0) if not y: pass\n",
            "type Point = tuple\n",
            "x = rb'a' 'b'\n",
            "async def f(): await g()\n",
            "from . import a as b\n",
            "x = 1.5e3 if a is not None else 0x1f\n",
            "@ a . b\n",
        ] {
            assert_eq!(problem(text), None, "{text}");
        }
    }

    #[test]
    fn indentation_brackets_and_strings_must_fit() {
        for text in ["x = 1\n  y = 2\n", "if x:\n    a\n  b\n", "f(\n", "x = )\n", "x = 'a\n'\n", "x = \"\"\"a\n"] {
            assert!(problem(text).is_some(), "{text}");
        }
    }
}
