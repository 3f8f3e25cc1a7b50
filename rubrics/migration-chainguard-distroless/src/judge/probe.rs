//! What a health check does, as far as its text shows it: whom it asks, and whether its Python could run.

use crate::shell::file_name;
use std::net::Ipv4Addr;

/// A host in the text of a health check that is another than the container itself. What is put together only when it runs
/// cannot be told.
pub(super) fn other_host(text: &str) -> Option<&str> {
    let named = text.match_indices("://").map(|(at, mark)| host(&text[at + mark.len()..]));
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|word| word.parse::<Ipv4Addr>().is_ok());
    named.chain(numbers).find(|host| !host.is_empty() && !is_own(host))
}

/// The host at the start of a text, without a user, a port, and what quotes and braces surround.
fn host(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if let Some(inside) = text.strip_prefix('[') {
        return inside.split(']').next().unwrap_or_default();
    }
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    match text[end..].strip_prefix('@') {
        Some(rest) => host(rest),
        None => &text[..end],
    }
}

fn is_own(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0" | "::1" | "::") || host.ends_with(".localhost")
}

/// The Python that a command runs: the text after `-c`, or the path of a script.
pub(super) enum Program<'a> {
    Text(&'a str),
    Script(&'a str),
}

pub(super) fn python(words: &[String]) -> Option<Program<'_>> {
    let (program, rest) = words.split_first()?;
    if !file_name(program).starts_with("python") {
        return None;
    }
    let mut rest = rest.iter().map(String::as_str);
    match rest.find(|word| !word.starts_with('-') || matches!(*word, "-c" | "-m"))? {
        "-c" => rest.next().map(Program::Text),
        "-m" => None,
        path => Some(Program::Script(path)),
    }
}

/// Why a piece of Python checks nothing.
pub(super) fn python_problem(text: &str) -> Option<String> {
    if let Some(problem) = eval_syntax::python::problem(text) {
        return Some(problem);
    }
    let statements: Vec<&str> = text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_import = |line: &str| line.starts_with("import ") || line.starts_with("from ");
    if statements.iter().all(|line| is_import(line) || line.starts_with('#')) {
        return Some("it does nothing but import".to_owned());
    }
    let missing = MODULES.into_iter().find(|module| uses(text, module) && !binds(&statements, module))?;
    Some(format!("it uses `{missing}` and does not import it"))
}

/// Modules that a health check is likely to use.
const MODULES: [&str; 10] = ["http", "json", "os", "re", "socket", "ssl", "subprocess", "sys", "time", "urllib"];

/// Whether a text uses a module by its name: not as a part of another name, and not in the middle of a string, but in a field
/// of one.
fn uses(text: &str, module: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let is_field = quote.is_none() || before == '{';
        let is_start = !before.is_alphanumeric() && !matches!(before, '.' | '_' | '"' | '\'');
        if is_field && is_start && is_attribute(&text[at..], module) {
            return true;
        }
        match quote {
            None if matches!(c, '"' | '\'') => quote = Some(c),
            Some(open) if c == open && before != '\\' => quote = None,
            _ => {}
        }
        before = c;
    }
    false
}

fn is_attribute(text: &str, module: &str) -> bool {
    let rest = text.strip_prefix(module).and_then(|rest| rest.strip_prefix('.'));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Whether a statement gives the name to something: an import, an assignment, a parameter, a loop.
fn binds(statements: &[&str], name: &str) -> bool {
    let has_word = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let is_names = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_, ()*:".contains(c));
    statements.iter().any(|line| {
        let is_assigned = line.split_once('=').is_some_and(|(left, _)| is_names(left) && has_word(left));
        let is_header = line.contains("import ") || ["def ", "for ", "with "].iter().any(|word| line.starts_with(word));
        let head = if line.contains("import ") { line } else { line.split(':').next().unwrap_or(line) };
        is_assigned || (is_header && has_word(head))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_asks_the_container_itself() {
        for text in [
            "http://localhost:8000/healthz",
            "curl -f http://127.0.0.1/",
            "http://[::1]:80/",
            "'http://' + host",
            "http://${HOST}/x",
            "http://{os.environ['H']}/",
            "redis-cli -h 0.0.0.0 ping",
            "HTTP/1.1 ok 1.2.3",
        ] {
            assert_eq!(other_host(text), None, "{text}");
        }
        let others = [
            ("r.urlopen('http://mirror.invalid' + x)", "mirror.invalid"),
            ("git+https://git.invalid/fork.git#0", "git.invalid"),
            ("https://user@db.example:5432/x", "db.example"),
            ("redis-cli -h 127.0.0.2 ping", "127.0.0.2"),
            ("('10.0.0.1', 80)", "10.0.0.1"),
        ];
        for (text, host) in others {
            assert_eq!(other_host(text), Some(host), "{text}");
        }
    }

    #[test]
    fn python_imports_what_it_uses_and_does_something() {
        for text in [
            "import os, urllib.request as r; r.urlopen('http://localhost:' + os.environ['PORT'])",
            "import os\nimport urllib.request\n\nurllib.request.urlopen(f\"http://localhost:{os.environ['PORT']}/\")\n",
            "from urllib import request\nrequest.urlopen('http://localhost/os.path')\n",
            "import http.client as http\nhttp.HTTPConnection('localhost')\n",
            "import socket\nsocket.create_connection(('localhost', 80))",
            "self.os.path\n",
        ] {
            assert_eq!(python_problem(text), None, "{text}");
        }
        for text in [
            "import os\n\nurllib.request.urlopen('http://localhost')\n",
            "import urllib.request\nurllib.request.urlopen(f\"http://localhost:{os.environ['PORT']}/\")\n",
            "import os\nimport urllib.request\n# nothing\n",
            "",
            "import os; os.kill((1, 0)",
        ] {
            assert!(python_problem(text).is_some(), "{text}");
        }
    }
}
