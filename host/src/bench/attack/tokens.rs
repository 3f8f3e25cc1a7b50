//! What stands in one line of a file: version numbers, addresses and checksums, and the line with one of them changed.
//!
//! It looks at characters alone and knows no file format.

use std::ops::Range;

/// The line with a part replaced.
pub(super) fn replaced(line: &str, part: &Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &line[..part.start], &line[part.end..])
}

/// Numbers with dots between them, such as `1.20.3`, wherever no letter or digit touches them; a `v` before one may.
pub(super) fn versions(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let text = line.get(at..at + length).unwrap_or_default().trim_end_matches('.');
        let is_version = text.contains('.') && text.split('.').all(|part| !part.is_empty());
        if is_version && may_begin(line, at) {
            found.push(at..at + text.len());
        }
        at += length.max(1);
    }
    found
}

fn may_begin(line: &str, at: usize) -> bool {
    let mut before = line[..at].chars().rev();
    match before.next() {
        Some('v' | 'V') => before.next().is_none_or(|c| !c.is_alphanumeric()),
        Some(c) => !c.is_alphanumeric() && c != '_',
        None => true,
    }
}

/// The next version up: its last number one more.
pub(super) fn one_up(version: &str) -> Option<String> {
    let (head, last) = version.rsplit_once('.')?;
    Some(format!("{head}.{}", last.parse::<u64>().ok()?.checked_add(1)?))
}

/// A version below: its last number that is not zero one less.
pub(super) fn one_down(version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    *numbers.iter_mut().rev().find(|number| **number > 0)? -= 1;
    Some(numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("."))
}

/// Characters that end a word of a manifest, a lock file or a command.
fn ends_a_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '=')
}

fn words(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    line.split(ends_a_word).map(move |word| {
        let range = at..at + word.len();
        at = range.end + line[range.end..].chars().next().map_or(0, char::len_utf8);
        range
    })
}

/// Addresses with a scheme, such as `registry+https://…`.
pub(super) fn addresses(line: &str) -> Vec<Range<usize>> {
    words(line).filter(|word| line[word.clone()].contains("://")).collect()
}

/// The host of an address.
pub(super) fn host(address: &str) -> Option<Range<usize>> {
    let start = address.find("://")? + 3;
    let end = address[start..].find('/').map_or(address.len(), |length| start + length);
    (start < end).then_some(start..end)
}

/// Hosts before a path without a scheme, as in `registry.example/image` or the name of a Go module.
pub(super) fn bare_hosts(line: &str) -> Vec<Range<usize>> {
    let host = |word: Range<usize>| {
        let (host, _) = line[word.clone()].split_once('/')?;
        let (name, end) = host.rsplit_once('.')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let is_host = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(is_plain)
            && end.len() >= 2
            && end.chars().all(|c| c.is_ascii_lowercase());
        is_host.then(|| word.start..word.start + host.len())
    };
    words(line).filter_map(host).collect()
}

/// Words that name a checksum's field.
const FIELDS: [&str; 8] = ["integrity", "checksum", "sha1", "sha256", "sha384", "sha512", "hash", "digest"];

/// Whether a line says nothing but a checksum, as a field of JSON, TOML or YAML or as an option.
pub(super) fn is_checksum_line(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['"', '\'']);
    FIELDS.iter().any(|field| line.strip_prefix(field).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
        || line.starts_with("--hash")
}

/// A checksum among other things of a line: `--hash=…`, `@sha256:…`, and a field of an inline table with the comma before or
/// after it.
pub(super) fn inline_checksums(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (start, end) in [("--hash=", ' '), ("@sha256:", ' '), ("hash = \"", ',')] {
        for (at, _) in line.match_indices(start) {
            let rest = &line[at + start.len()..];
            let length = rest.find([end, '"', '\'', '}']).unwrap_or(rest.len());
            let mut to = at + start.len() + length;
            to += line[to..]
                .strip_prefix("\", ")
                .or_else(|| line[to..].strip_prefix('"'))
                .map_or(0, |rest| line[to..].len() - rest.len());
            found.push(at..if start.ends_with('"') { to } else { at + start.len() + length });
        }
    }
    found
}

/// The longest run of characters of a checksum in a line, if there is one that is long enough to be one.
pub(super) fn checksum_value(line: &str) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let mut runs = Vec::new();
    let mut start = 0;
    for part in line.split(|c| !is_part(c)) {
        runs.push(start..start + part.len());
        start += part.len();
        start += line[start..].chars().next().map_or(0, char::len_utf8);
    }
    let run = runs.into_iter().max_by_key(ExactSizeIterator::len)?;
    let text = &line[run.clone()];
    (text.len() >= 27 && text.contains(|c: char| c.is_ascii_digit()) && !text.contains("//")).then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'t>(line: &'t str, ranges: &[Range<usize>]) -> Vec<&'t str> {
        ranges.iter().map(|range| &line[range.clone()]).collect()
    }

    #[test]
    fn versions_are_found_where_they_stand_alone() {
        for (line, expected) in [
            ("\"version\": \"7.5.10\",", &["7.5.10"][..]),
            ("golang.org/x/net v0.17.0 // indirect", &["0.17.0"]),
            ("ws-7.5.10.tgz and ^1.2", &["7.5.10", "1.2"]),
            ("sha512-a1.2 x1.2 dev1.2 _1.2 é1.2", &[]),
            ("1. 2 .3 4..5 ...", &[]),
        ] {
            assert_eq!(all(line, &versions(line)), expected, "{line}");
        }
    }

    #[test]
    fn a_version_goes_one_up_and_one_down() {
        assert_eq!(one_up("1.2.9").as_deref(), Some("1.2.10"));
        assert_eq!(one_down("1.2.9").as_deref(), Some("1.2.8"));
        assert_eq!(one_down("1.2.0").as_deref(), Some("1.1.0"));
        assert_eq!(one_down("0.0"), None);
        assert_eq!(one_up("1.18446744073709551615"), None);
    }

    #[test]
    fn addresses_and_their_hosts_are_found() {
        let line = "source = \"registry+https://github.com/index\", é https://x.example";
        let found = all(line, &addresses(line));
        assert_eq!(found, ["registry+https://github.com/index", "https://x.example"]);
        assert_eq!(
            found.iter().map(|text| &text[host(text).expect("a host")]).collect::<Vec<_>>(),
            ["github.com", "x.example"]
        );
        let line = "FROM cgr.dev/chainguard/go AS b # src/main.go ./a.b/c golang.org/x/net";
        assert_eq!(all(line, &bare_hosts(line)), ["cgr.dev", "golang.org"]);
    }

    #[test]
    fn a_line_that_is_a_checksum_is_told_from_others() {
        for line in ["  \"integrity\": \"sha512-x\",", "checksum = \"0\"", "    --hash=sha256:00 \\"] {
            assert!(is_checksum_line(line), "{line}");
        }
        for line in ["hashing = true", "version = 1"] {
            assert!(!is_checksum_line(line), "{line}");
        }
    }

    #[test]
    fn checksums_are_found_within_a_line() {
        for (line, expected) in [
            ("{ url = \"u\", hash = \"sha256:00\", size = 1 }", &["hash = \"sha256:00\", "][..]),
            ("x==1 --hash=sha256:00 --hash=sha256:11", &["--hash=sha256:00", "--hash=sha256:11"]),
            ("FROM a@sha256:00 AS b", &["@sha256:00"]),
        ] {
            assert_eq!(all(line, &inline_checksums(line)), expected, "{line}");
        }
        let line = "h1:abcdefghijklmnopqrstuvwxyz0123456789+/=";
        assert_eq!(all(line, &[checksum_value(line).expect("one")]), ["abcdefghijklmnopqrstuvwxyz0123456789+/"]);
        assert_eq!(checksum_value("a word and another"), None);
    }
}
