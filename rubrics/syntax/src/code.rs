//! Code in the languages with braces: whether brackets, strings and comments are closed, and whether every line could be
//! a line of the language at all.
//!
//! A scanner, not a parser. It knows strings and comments, so that a bracket in them does not count. It does not know
//! statements: code that is well bracketed and means nothing passes.

use std::ops::Range;

/// A language that the scanner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Go,
    Java,
    JavaScript,
    Rust,
}

impl Language {
    /// The language of a file, by the ending of its name.
    #[must_use]
    pub fn of(ending: &str) -> Option<Self> {
        match ending {
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "js" | "cjs" | "mjs" | "ts" | "cts" | "mts" | "jsx" | "tsx" => Some(Self::JavaScript),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }

    /// Whether `#` may begin a piece of code: an attribute or a repetition of a macro in Rust, a private name in JavaScript.
    fn allows_hash(self, after: &str) -> bool {
        match self {
            Self::Rust => {
                after.starts_with(['[', '!', '"', '#', '(']) || after.starts_with(|c: char| c.is_alphanumeric())
            }
            Self::JavaScript => after.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$'),
            Self::Go | Self::Java => false,
        }
    }
}

/// What is wrong with a piece of code.
#[must_use]
pub fn problem(text: &str, language: Language) -> Option<String> {
    let body = body(text);
    let mut scanner = Scanner::new(body, language);
    scanner.run().err().map(|what| {
        let line = text.len() - body.len();
        let number = text[..(line + scanner.at).min(text.len())].matches('\n').count() + 1;
        format!("line {number}: {what}")
    })
}

/// Where the comments of a piece of code are; up to what is wrong with it, if something is.
#[must_use]
pub fn comments(text: &str, language: Language) -> Vec<Range<usize>> {
    let body = body(text);
    let mut scanner = Scanner::new(body, language);
    let skipped = text.len() - body.len();
    // What is wrong is for `problem` to say.
    let _ = scanner.run();
    scanner.comments.into_iter().map(|comment| comment.start + skipped..comment.end + skipped).collect()
}

/// A script may say what runs it.
fn body(text: &str) -> &str {
    if text.starts_with("#!") && !text.starts_with("#![") {
        text.split_once('\n').map_or("", |(_, body)| body)
    } else {
        text
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    language: Language,
    open: Vec<char>,
    /// The last character of code, which tells a regular expression from a division.
    significant: Option<char>,
    comments: Vec<Range<usize>>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, language: Language) -> Self {
        Self { text, at: 0, language, open: Vec::new(), significant: None, comments: Vec::new() }
    }
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest().chars().next() {
            self.token(c)?;
        }
        match self.open.pop() {
            Some(open) => Err(format!("`{open}` is not closed")),
            None => Ok(()),
        }
    }

    fn token(&mut self, c: char) -> Result<(), String> {
        match c {
            '/' if self.rest().starts_with("//") => self.skip_line(),
            '/' if self.rest().starts_with("/*") => self.block_comment()?,
            '/' if self.begins_regex() => self.regex()?,
            '"' | '\'' | '`' => self.quote(c)?,
            '(' | '[' | '{' => self.open.push(c),
            ')' | ']' | '}' => self.close(c)?,
            '#' => self.hash()?,
            _ => {}
        }
        // Those that skipped something stand behind it already.
        if matches!(c, '"' | '\'' | '`' | '/') {
            return Ok(());
        }
        self.step(c);
        Ok(())
    }

    fn step(&mut self, c: char) {
        self.at += c.len_utf8();
        if !c.is_whitespace() {
            self.significant = Some(c);
        }
    }

    fn hash(&self) -> Result<(), String> {
        let before = self.text[..self.at].rsplit('\n').next().unwrap_or_default();
        let raw_string = self.language == Language::Rust && before.ends_with(['r', '#']);
        if raw_string || self.language.allows_hash(&self.rest()[1..]) {
            return Ok(());
        }
        Err("`#` begins nothing in this language".to_owned())
    }

    fn close(&mut self, c: char) -> Result<(), String> {
        let wanted = match c {
            ')' => '(',
            ']' => '[',
            _ => '{',
        };
        match self.open.pop() {
            Some(open) if open == wanted => {
                if self.open.last() == Some(&'`') && c == '}' {
                    // The end of `${…}`: back in the template.
                    self.open.pop();
                    self.at += 1;
                    self.template()?;
                    self.at -= 1;
                }
                Ok(())
            }
            Some(open) => Err(format!("`{c}` does not close `{open}`")),
            None => Err(format!("`{c}` closes nothing")),
        }
    }

    fn skip_line(&mut self) {
        let start = self.at;
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        self.comments.push(start..self.at);
    }

    /// In Rust block comments nest.
    fn block_comment(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") && (depth == 0 || self.language == Language::Rust) {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    self.comments.push(start..self.at);
                    return Ok(());
                }
            } else {
                let next = rest.chars().next().ok_or("a comment is not closed")?;
                self.at += next.len_utf8();
            }
        }
    }

    fn begins_regex(&mut self) -> bool {
        let is_javascript = self.language == Language::JavaScript;
        let before = self.text[..self.at].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let after_word = matches!(word, "return" | "typeof" | "case" | "in" | "of" | "void" | "throw" | "await");
        let after_sign = self.significant.is_none_or(|c| "([{,;=:?!&|+-*%~^<>".contains(c));
        let begins = is_javascript && (after_word || after_sign);
        if !begins {
            // A division.
            self.step('/');
        }
        begins
    }

    fn regex(&mut self) -> Result<(), String> {
        let mut in_class = false;
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                '\n' => break,
                '\\' => _ = characters.next(),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => {
                    self.at += at + 1;
                    self.significant = Some('/');
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("a regular expression is not closed".to_owned())
    }

    fn quote(&mut self, quote: char) -> Result<(), String> {
        self.significant = Some(quote);
        if quote == '\'' && self.language == Language::Rust && !self.is_character() {
            // A lifetime.
            self.at += 1;
            return Ok(());
        }
        if quote == '`' && self.language == Language::JavaScript {
            self.at += 1;
            return self.template();
        }
        let end = match (self.language, quote) {
            (Language::Go, '`') => self.rest()[1..].find('`').map(|end| end + 2),
            (Language::Java, '"') if self.rest().starts_with("\"\"\"") => {
                self.rest()[3..].find("\"\"\"").map(|end| end + 6)
            }
            (Language::Rust, '"') => self.rust_string(),
            _ => string_end(self.rest(), quote, false),
        };
        self.at += end.ok_or("a string is not closed")?;
        Ok(())
    }

    /// Whether the `'` begins a character and not a lifetime.
    fn is_character(&self) -> bool {
        let mut rest = self.rest().chars().skip(1);
        let first = rest.next();
        first == Some('\\') || rest.next() == Some('\'')
    }

    /// The end of a string that may be raw, as the `r` and the `#` before it say.
    fn rust_string(&self) -> Option<usize> {
        let before = &self.text[..self.at];
        let hashes = before.len() - before.trim_end_matches('#').len();
        let word = before.trim_end_matches('#').rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        if matches!(word, Some("r" | "br" | "cr")) {
            let end = format!("\"{}", "#".repeat(hashes));
            return self.rest()[1..].find(&end).map(|at| 1 + at + end.len());
        }
        string_end(self.rest(), '"', true)
    }

    /// From inside a template to its end, or to `${`, where code begins.
    fn template(&mut self) -> Result<(), String> {
        let mut characters = self.rest().char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => _ = characters.next(),
                '`' => {
                    self.at += at + 1;
                    return Ok(());
                }
                '$' if characters.peek().is_some_and(|(_, next)| *next == '{') => {
                    self.at += at + 2;
                    self.open.extend(['`', '{']);
                    self.significant = Some('{');
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("a template is not closed".to_owned())
    }
}

/// The length of a string with its quotes, with `\` as its escape.
fn string_end(text: &str, quote: char, several_lines: bool) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => _ = characters.next(),
            '\n' if !several_lines => return None,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_code_of_each_language_has_no_problem() {
        let good = [
            (
                Language::Go,
                "package a\n\nimport (\n\t\"fmt\" // #1\n)\n\nfunc f(r rune) string {\n\t/* ( */\n\treturn `{` + \"\\\"(\" + string('\\'')\n}\n",
            ),
            (
                Language::JavaScript,
                "#!/usr/bin/env node\nclass A { #x = 1; get() { return this.#x / 2 / 3; } }\nconst r = /[/\"(]+/g.test(`a${b({c: `}`})}d`) ? 'x' : \"\\\"\";\n",
            ),
            (
                Language::Rust,
                "#![allow(x)]\n#[test]\nfn f<'a>(x: &'a str) -> char { let _ = r#\"(\"#; /* /* ( */ */ let _ = \"two\n lines )\"; '\\'' }\n",
            ),
            (Language::Java, "class A {\n  // it's (\n  String s = \"\"\"\n    \" ( \"\"\";\n  char c = '\"';\n}\n"),
        ];
        for (language, text) in good {
            assert_eq!(problem(text, language), None, "{text}");
        }
    }

    #[test]
    fn comments_are_found_and_what_only_looks_like_one_is_not() {
        let found = |text: &'static str, language| -> Vec<&str> {
            comments(text, language).into_iter().map(|range| &text[range]).collect()
        };
        let text = "#!/bin/node\na('//x'); // b\nlet c = `/* ${d /* e */} */`; /* f\n */\n";
        assert_eq!(found(text, Language::JavaScript), ["// b", "/* e */", "/* f\n */"]);
        assert_eq!(found("let a = \"// no\"; /* /* b */ c */", Language::Rust), ["/* /* b */ c */"]);
    }

    #[test]
    fn brackets_strings_and_comments_must_be_closed() {
        for text in ["func f() {", "f(]", "}", "s := \"a\n\"", "/* x", "`x"] {
            assert!(problem(text, Language::Go).is_some(), "{text}");
        }
        for text in ["f(`a${b`)", "x = 'a\n'", "x = /a\n/", "((a) => { b() })()}"] {
            assert!(problem(text, Language::JavaScript).is_some(), "{text}");
        }
    }

    #[test]
    fn a_comment_of_another_language_is_found_with_its_line() {
        let stray = problem("package a\n\nimport (\n\t\"fmt\"\n# stray\n)\n", Language::Go);
        assert_eq!(stray.as_deref(), Some("line 5: `#` begins nothing in this language"));
        for language in [Language::JavaScript, Language::Java, Language::Rust] {
            assert!(problem("f();\n# stray\n", language).is_some(), "{language:?}");
        }
    }
}
