//! Text → logical lines: directives read, comments gone, continuation lines joined, heredocs attached.

use super::{ParseError, Problem, words};

/// One instruction's text with the heredocs that it opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogicalLine {
    pub(crate) number: usize,
    pub(crate) text: String,
    pub(crate) heredocs: Vec<Heredoc>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heredoc {
    pub(crate) name: String,
    /// Whether variables in the content are expanded: its name was not quoted.
    pub(crate) expands: bool,
    pub(crate) content: String,
}

/// The escape character and the logical lines.
pub(super) fn logical_lines(text: &str) -> Result<(char, Vec<LogicalLine>), ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let physical: Vec<&str> = text.lines().collect();
    let (escape, directives) = directives(&physical)?;
    let mut reader = Reader { physical: &physical, next: directives, escape };
    let mut lines = Vec::new();
    while let Some(line) = reader.logical_line()? {
        lines.push(line);
    }
    Ok((escape, lines))
}

/// Reads the parser directives at the very top: the first line that is none ends them.
fn directives(physical: &[&str]) -> Result<(char, usize), ParseError> {
    let mut escape = '\\';
    let mut count = 0;
    while let Some((name, value)) = physical.get(count).and_then(|line| directive(line)) {
        count += 1;
        match name.as_str() {
            "escape" => escape = escape_character(value).ok_or(ParseError { line: count, problem: Problem::Escape })?,
            "syntax" | "check" => {}
            _ => break,
        }
    }
    Ok((escape, count))
}

fn directive(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.trim_start().strip_prefix('#')?.split_once('=')?;
    let name = name.trim().to_ascii_lowercase();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then_some((name, value.trim()))
}

fn escape_character(value: &str) -> Option<char> {
    match value {
        "\\" => Some('\\'),
        "`" => Some('`'),
        _ => None,
    }
}

struct Reader<'a> {
    physical: &'a [&'a str],
    next: usize,
    escape: char,
}

impl Reader<'_> {
    fn logical_line(&mut self) -> Result<Option<LogicalLine>, ParseError> {
        let Some(number) = self.skip_to_instruction() else { return Ok(None) };
        let text = self.joined();
        let heredocs = self.heredocs(&text)?;
        Ok(Some(LogicalLine { number, text, heredocs }))
    }

    /// Skips blank lines and comments; gives the number of the line that the instruction starts on.
    fn skip_to_instruction(&mut self) -> Option<usize> {
        while is_skipped(self.physical.get(self.next)?) {
            self.next += 1;
        }
        Some(self.next + 1)
    }

    /// Joins continuation lines. Comments and empty lines between them are no part of the instruction.
    fn joined(&mut self) -> String {
        let mut text = String::new();
        let mut first = true;
        while let Some(line) = self.physical.get(self.next) {
            self.next += 1;
            if !first && is_skipped(line) {
                continue;
            }
            let line = if first { line.trim_start() } else { line };
            first = false;
            match self.continued(line) {
                Some(part) => text.push_str(part),
                None => {
                    text.push_str(line);
                    break;
                }
            }
        }
        text.trim_end().to_owned()
    }

    /// The line without its continuation mark, if it has one. Two escape characters are none.
    fn continued<'l>(&self, line: &'l str) -> Option<&'l str> {
        let part = line.trim_end_matches([' ', '\t']).strip_suffix(self.escape)?;
        (!part.ends_with(self.escape)).then_some(part)
    }

    fn heredocs(&mut self, text: &str) -> Result<Vec<Heredoc>, ParseError> {
        if !opens_heredocs(text) {
            return Ok(Vec::new());
        }
        words::heredoc_marks(text, self.escape).into_iter().map(|mark| self.heredoc(mark)).collect()
    }

    fn heredoc(&mut self, mark: words::HeredocMark) -> Result<Heredoc, ParseError> {
        let start = self.next;
        let mut content = String::new();
        while let Some(line) = self.physical.get(self.next) {
            self.next += 1;
            let line = if mark.strips_tabs { line.trim_start_matches('\t') } else { line };
            if line == mark.name {
                return Ok(Heredoc { name: mark.name, expands: mark.expands, content });
            }
            content.push_str(line);
            content.push('\n');
        }
        Err(ParseError { line: start, problem: Problem::OpenHeredoc(mark.name) })
    }
}

fn is_skipped(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn opens_heredocs(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let mut name = words.next().unwrap_or_default();
    if name.eq_ignore_ascii_case("ONBUILD") {
        name = words.next().unwrap_or_default();
    }
    ["RUN", "COPY", "ADD"].iter().any(|instruction| name.eq_ignore_ascii_case(instruction))
}
