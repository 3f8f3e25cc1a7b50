//! nginx's configuration: whether directives end, blocks and strings are closed, and every directive has the name of one.
//!
//! Which directives there are, and what they take, is not known here: one that lacks its `;` takes the next line for its own
//! words.

/// Blocks whose lines are data and not directives.
const DATA: [&str; 6] = ["map", "geo", "types", "split_clients", "charset_map", "match"];

/// Whether a file is one of nginx's, by its name and what is in it.
#[must_use]
pub fn is_one(name: &str, text: &str) -> bool {
    let opens_block = |line: &str| {
        let mut words = line.split_whitespace();
        let is_block =
            words.next().is_some_and(|word| ["http", "server", "events", "location", "upstream"].contains(&word));
        is_block && line.trim_end().ends_with('{')
    };
    name == "nginx.conf" || (name.ends_with(".conf") && text.lines().any(opens_block))
}

/// What is wrong with a configuration.
#[must_use]
pub fn problem(text: &str) -> Option<String> {
    let mut reader = Reader { text, at: 0, blocks: Vec::new(), words: Vec::new() };
    reader.run().err().map(|what| format!("line {}: {what}", text[..reader.at].matches('\n').count() + 1))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The names of the blocks that are open.
    blocks: Vec<&'a str>,
    /// The words of the directive that is not ended.
    words: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.text[self.at..].chars().next() {
            match c {
                c if c.is_whitespace() => self.at += c.len_utf8(),
                '#' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                ';' => self.end()?,
                '{' => self.open()?,
                '}' => self.close()?,
                _ => self.word()?,
            }
        }
        match (self.words.first(), self.blocks.last()) {
            (Some(word), _) => Err(format!("the directive `{word}` is not ended")),
            (None, Some(block)) => Err(format!("the block `{block}` is not closed")),
            (None, None) => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.at += 1;
        let words = std::mem::take(&mut self.words);
        let word = words.first().ok_or("a `;` ends nothing")?;
        self.check(word)
    }

    fn open(&mut self) -> Result<(), String> {
        let words = std::mem::take(&mut self.words);
        let word = *words.first().ok_or("a `{` without a name before it")?;
        self.check(word)?;
        if word.ends_with("_by_lua_block") {
            self.at += code_length(&self.text[self.at..]).ok_or("a block of Lua is not closed")?;
        } else {
            self.at += 1;
            self.blocks.push(word);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        if let Some(word) = self.words.first() {
            return Err(format!("the directive `{word}` is not ended"));
        }
        self.at += 1;
        self.blocks.pop().map(drop).ok_or_else(|| "a `}` closes nothing".to_owned())
    }

    fn check(&self, word: &str) -> Result<(), String> {
        let is_data = self.blocks.last().is_some_and(|block| DATA.contains(block));
        let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !word.is_empty();
        if is_data || is_name { Ok(()) } else { Err(format!("`{word}` is no directive")) }
    }

    fn word(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let length = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted_length(rest, quote).ok_or("a string is not closed")?,
            _ => plain_length(rest),
        };
        self.words.push(&rest[..length]);
        self.at += length;
        Ok(())
    }
}

fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => _ = characters.next(),
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A word ends at a blank, a `;` or a `{`, unless that one begins the name of a variable.
fn plain_length(text: &str) -> usize {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let ends = c.is_whitespace() || c == ';' || (c == '{' && before != '$');
        if ends && before != '\\' {
            return at;
        }
        before = c;
    }
    text.len()
}

/// The length of a block in braces, whatever is in it.
fn code_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{is_one, problem};

    const GOOD: &str = "worker_processes auto; # } {\nevents { }\nhttp {\n  types { text/html html; }\n  \
                        map $uri $x {\n    \"~^/a{1,2}$\" \"b;}\";\n    default 0;\n  }\n  log_format main '$a ; \\' \"b\"';\n  server {\n    \
                        listen [::]:8080;\n    location ~ \\.php$ { return 301 https://${host}/a; }\n    \
                        content_by_lua_block { if a then b = {} end }\n  }\n}\n";

    #[test]
    fn a_valid_configuration_has_no_problem() {
        assert_eq!(problem(GOOD), None);
        assert_eq!(problem(""), None);
        assert!(is_one("nginx.conf", "") && is_one("site.conf", "server {\n") && !is_one("redis.conf", "port 1\n"));
    }

    #[test]
    fn a_stray_line_is_found_wherever_it_is() {
        let lines: Vec<&str> = "events {\n}\nhttp {\n  server {\n    listen 80;\n  }\n}".lines().collect();
        for at in 0..=lines.len() {
            for stray in ["== stray ==", "<<<<<<< stray", "}", "{", "'"] {
                let mut lines = lines.clone();
                lines.insert(at, stray);
                let text = lines.join("\n");
                assert!(problem(&text).is_some(), "{text}");
            }
        }
    }
}
