//! Unified diffs of text files, the same bytes for the same change on every machine.
//!
//! The format is git's, so that `git apply` and `patch -p1` take it: a header per file, three lines of context, `/dev/null`
//! for what was not there. Files that are not UTF-8 text are named as different and not shown. What was kept is not looked for
//! here but by a crate; small files get the fewest edits, and the search in large ones is cut short as git's is.

use std::fmt::{self, Write as _};

use gix_imara_diff::sources::lines;
use gix_imara_diff::{Algorithm, Diff, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter};

/// The search for the fewest edits takes the square of this in time. Two files with more lines get few edits, but perhaps not
/// the fewest.
const MOST_LINES_FOR_FEWEST_EDITS: usize = 4096;

/// One file before and after. `None` is a file that is not there.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileChange<'a> {
    pub(super) path: &'a [u8],
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: Option<&'a [u8]>,
}

/// The diff of all files, in the order given. Files that did not change are left out.
pub(super) fn unified_diff<'a>(changes: impl IntoIterator<Item = &'a FileChange<'a>>) -> String {
    let mut out = String::new();
    for change in changes.into_iter().filter(|change| change.before != change.after) {
        file_diff(&mut out, change);
    }
    out
}

fn file_diff(out: &mut String, change: &FileChange<'_>) {
    let (old, new) = (quoted("a/", change.path), quoted("b/", change.path));
    let _ = writeln!(out, "diff --git {old} {new}");
    match (change.before, change.after) {
        (None, _) => out.push_str("new file mode 100644\n"),
        (_, None) => out.push_str("deleted file mode 100644\n"),
        _ => {}
    }
    let old = if change.before.is_some() { &old } else { "/dev/null" };
    let new = if change.after.is_some() { &new } else { "/dev/null" };
    match (text_of(change.before), text_of(change.after)) {
        (Some(before), Some(after)) => {
            // An empty file that appears or goes has no lines to show, and then no names above them either.
            if !(before.is_empty() && after.is_empty()) {
                let _ = write!(out, "--- {old}\n+++ {new}\n{}", Hunks(&interned(before, after)));
            }
        }
        _ => *out += &format!("Binary files {old} and {new} differ\n"),
    }
}

/// The text of a file; `None` if it is none. A file that is not there has no lines.
fn text_of(bytes: Option<&[u8]>) -> Option<&str> {
    let text = std::str::from_utf8(bytes.unwrap_or_default()).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// A path as git writes it: in quotes, with escapes, if it has characters that would break the format.
fn quoted(prefix: &str, path: &[u8]) -> String {
    let is_plain = |byte: &u8| !byte.is_ascii_control() && *byte != b'"' && *byte != b'\\';
    if let Ok(text) = std::str::from_utf8(path)
        && path.iter().all(is_plain)
    {
        return format!("{prefix}{text}");
    }
    let mut out = format!("\"{prefix}");
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            byte => out += &format!("\\{byte:03o}"),
        }
    }
    out.push('"');
    out
}

/// The lines of two texts. Nothing is reserved for them: the crate guesses their number from the first lines, which an agent
/// can choose so that the guess is gigabytes.
fn interned<'a>(before: &'a str, after: &'a str) -> InternedInput<&'a str> {
    let mut input = InternedInput::default();
    input.update_before(lines(before));
    input.update_after(lines(after));
    input
}

/// The hunks between two texts.
struct Hunks<'a>(&'a InternedInput<&'a str>);

impl Hunks<'_> {
    /// There is no postprocessing: where a change can stand in several places, all of them are right, and choosing the one that
    /// people like best takes quadratic time on repetitive files.
    fn compare(&self) -> Diff {
        let algorithm = match self.0.before.len() + self.0.after.len() {
            ..=MOST_LINES_FOR_FEWEST_EDITS => Algorithm::MyersMinimal,
            _ => Algorithm::Myers,
        };
        Diff::compute(algorithm, self.0)
    }
}

impl fmt::Display for Hunks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = GitLines(&self.0.interner);
        self.compare().unified_diff(&printer, UnifiedDiffConfig::default(), self.0).fmt(f)
    }
}

/// The crate's own printer says nothing of a missing newline, and counts an empty span from the line after it.
struct GitLines<'a>(&'a Interner<&'a str>);

impl GitLines<'_> {
    fn line(&self, f: &mut impl fmt::Write, sign: char, token: Token) -> fmt::Result {
        let line = self.0[token];
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        write!(f, "{sign}{line}{end}")
    }
}

impl UnifiedDiffPrinter for GitLines<'_> {
    fn display_header(
        &self,
        mut f: impl fmt::Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        writeln!(f, "@@ -{} +{} @@", span(start_before, len_before), span(start_after, len_after))
    }

    fn display_context_token(&self, mut f: impl fmt::Write, token: Token) -> fmt::Result {
        self.line(&mut f, ' ', token)
    }

    fn display_hunk(&self, mut f: impl fmt::Write, before: &[Token], after: &[Token]) -> fmt::Result {
        before.iter().try_for_each(|token| self.line(&mut f, '-', *token))?;
        after.iter().try_for_each(|token| self.line(&mut f, '+', *token))
    }
}

/// Lines count from 1; an empty span names the line before it; a length of 1 is not written.
fn span(start: u32, length: u32) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn diff(before: Option<&str>, after: Option<&str>) -> String {
        unified_diff([&FileChange {
            path: b"dir/file.txt",
            before: before.map(str::as_bytes),
            after: after.map(str::as_bytes),
        }])
    }

    #[test]
    fn one_changed_line_has_three_lines_of_context() {
        let before: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let after = before.replace("5\n", "five\n");
        let expected = "\
diff --git a/dir/file.txt b/dir/file.txt
--- a/dir/file.txt
+++ b/dir/file.txt
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
";
        assert_eq!(diff(Some(&before), Some(&after)), expected);
    }

    #[test]
    fn files_that_come_and_go_are_told_from_empty_ones() {
        let head = "diff --git a/dir/file.txt b/dir/file.txt\n";
        assert_eq!(diff(Some("same"), Some("same")), "");
        assert_eq!(diff(None, Some("")), format!("{head}new file mode 100644\n"));
        assert_eq!(diff(Some(""), None), format!("{head}deleted file mode 100644\n"));
        assert_eq!(
            diff(None, Some("x")),
            format!(
                "{head}new file mode 100644\n--- /dev/null\n+++ b/dir/file.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
            )
        );
        assert_eq!(
            diff(Some("x\n"), None),
            format!("{head}deleted file mode 100644\n--- a/dir/file.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n")
        );
    }

    #[test]
    fn what_is_not_text_is_named_and_not_shown() {
        let change = FileChange { path: b"logo.png", before: Some(b"\x89PNG"), after: Some(b"a\0b") };
        assert_eq!(
            unified_diff([&change]),
            "diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n"
        );
    }

    #[test]
    fn a_name_cannot_forge_a_header() {
        let change = FileChange { path: b"x\n+++ b/y\"\xff", before: Some(b""), after: None };
        assert_eq!(
            unified_diff([&change]),
            "diff --git \"a/x\\012+++ b/y\\\"\\377\" \"b/x\\012+++ b/y\\\"\\377\"\ndeleted file mode 100644\n"
        );
    }

    #[test]
    fn two_files_with_nothing_in_common_are_one_replacement_however_long() {
        let before: String = (0..20_000).map(|n| format!("a{n}\n")).collect();
        let after: String = (0..20_000).map(|n| format!("b{n}\n")).collect();
        let diff = diff(Some(&before), Some(&after));
        assert!(diff.contains("@@ -1,20000 +1,20000 @@\n"));
        assert_eq!(apply(&before, &diff), after);
    }

    /// Each of these takes a search without bounds the product of the lengths, and one of them took the crate's upstream that.
    #[test]
    fn no_pair_of_large_files_keeps_the_host_from_going_on() {
        const LINES: usize = 50_000;
        let file = |line: &dyn Fn(usize) -> String| (0..LINES).map(line).collect::<String>();
        let pairs = [
            (file(&|n| format!("a{n}\n")), file(&|n| format!("b{n}\n"))),
            (file(&|n| format!("{n}\n")), file(&|n| format!("{}\n", LINES - n))),
            (file(&|n| format!("{}\n", n % 2)), file(&|n| format!("{}\n", usize::from(n % 3 == 0)))),
            (file(&|n| format!("}}\na{n}\n")), file(&|n| format!("}}\nb{n}\n"))),
            (file(&|n| format!("{}\n", n * n % 97)), file(&|n| format!("{}\n", n * n % 89))),
        ];
        for (before, after) in &pairs {
            let diff = diff(Some(before), Some(after));
            assert!(apply(before, &diff) == *after, "the diff does not give the file: {}", &diff[..200]);
        }
    }

    #[test]
    fn memory_is_not_reserved_by_what_the_first_lines_look_like() {
        let after = "\n".repeat(20) + &"x".repeat(1 << 20);
        assert!(interned("", &after).after.capacity() < 100);
    }

    /// Applies a diff of one file, strictly and without looking at the code above.
    fn apply(before: &str, diff: &str) -> String {
        let mut file = Patched { old: before.split_inclusive('\n').collect(), at: 0, new: Vec::new() };
        let body: Vec<_> = diff.split_inclusive('\n').skip_while(|line| !line.starts_with("@@")).collect();
        for hunk in body.chunk_by(|_, next| !next.starts_with("@@")) {
            file.hunk(hunk[0], &hunk[1..]);
        }
        file.keep(file.old.len());
        file.new.concat()
    }

    /// A file in which some of the old lines have become new ones.
    struct Patched<'a> {
        old: Vec<&'a str>,
        at: usize,
        new: Vec<&'a str>,
    }

    impl<'a> Patched<'a> {
        fn hunk(&mut self, header: &str, lines: &[&'a str]) {
            let mut spans = header.strip_prefix("@@ -").expect("a header").split([' ', '+']).filter(|s| !s.is_empty());
            let (old_start, old_length) = numbers(spans.next().expect("the old span"));
            let (new_start, new_length) = numbers(spans.next().expect("the new span"));
            self.keep(old_start);
            assert_eq!(self.new.len(), new_start, "{header}");
            for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with('\\')) {
                let is_cut = lines.get(index + 1).is_some_and(|next| next.starts_with('\\'));
                self.line(line.as_bytes()[0], &line[1..line.len() - usize::from(is_cut)]);
            }
            let lengths = (self.at - old_start, self.new.len() - new_start);
            assert_eq!(lengths, (old_length, new_length), "{header}");
        }

        fn keep(&mut self, end: usize) {
            self.new.extend(&self.old[self.at..end]);
            self.at = end;
        }

        fn line(&mut self, sign: u8, text: &'a str) {
            assert!(b" -+".contains(&sign), "a line that begins with {sign}");
            if sign != b'+' {
                assert_eq!(self.old[self.at], text);
                self.at += 1;
            }
            if sign != b'-' {
                self.new.push(text);
            }
        }
    }

    /// How many lines lie before a span, and how many it has.
    fn numbers(span: &str) -> (usize, usize) {
        let (start, length) = span.split_once(',').unwrap_or((span, "1"));
        let (start, length): (usize, usize) = (start.parse().expect("a line"), length.parse().expect("a length"));
        (if length == 0 { start } else { start - 1 }, length)
    }

    fn edits(diff: &str) -> usize {
        let body = diff.lines().skip_while(|line| !line.starts_with("@@"));
        body.filter(|line| line.starts_with(['-', '+'])).count()
    }

    fn longest_common(old: &[&str], new: &[&str]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for a in old {
            let mut diagonal = 0;
            for (index, b) in new.iter().enumerate() {
                let above = row[index + 1];
                row[index + 1] = if a == b { diagonal + 1 } else { above.max(row[index]) };
                diagonal = above;
            }
        }
        row[new.len()]
    }

    fn text() -> impl Strategy<Value = String> {
        (prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\n", "\n", "d\r\n"]), 0..40), any::<bool>())
            .prop_map(|(lines, ends)| lines.concat() + if ends { "" } else { "e" })
    }

    proptest! {
        #[test]
        fn a_diff_turns_the_one_file_into_the_other_with_the_fewest_edits(before in text(), after in text()) {
            let diff = diff(Some(&before), Some(&after));
            prop_assert_eq!(apply(&before, &diff), after.clone());
            let (old, new): (Vec<_>, Vec<_>) = (lines(&before).collect(), lines(&after).collect());
            prop_assert_eq!(edits(&diff), old.len() + new.len() - 2 * longest_common(&old, &new));
        }

        #[test]
        fn changes_share_a_hunk_only_where_their_contexts_touch(changed in prop::collection::btree_set(0_usize..60, 1..8)) {
            let before: String = (0..60).map(|n| format!("{n}\r\n")).collect();
            let after: String =
                (0..60).map(|n| if changed.contains(&n) { format!("new {n}\r\n") } else { format!("{n}\r\n") }).collect();
            let diff = diff(Some(&before), Some(&after));
            prop_assert_eq!(apply(&before, &diff), after);
            prop_assert_eq!(edits(&diff), 2 * changed.len());
            let changed: Vec<_> = changed.into_iter().collect();
            let hunks = changed.chunk_by(|a, b| b - a <= 7);
            let spans: Vec<_> = hunks
                .map(|hunk| {
                    let (start, end) = (hunk[0].saturating_sub(3), (hunk[hunk.len() - 1] + 4).min(60));
                    format!("@@ -{0},{1} +{0},{1} @@", start + 1, end - start)
                })
                .collect();
            prop_assert_eq!(diff.lines().filter(|line| line.starts_with("@@")).collect::<Vec<_>>(), spans);
        }
    }
}
