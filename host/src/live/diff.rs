//! Unified diffs of text files, the same bytes for the same change on every machine.
//!
//! The format is git's, so that `git apply` and `patch -p1` take it: a header per file, three lines of context, `/dev/null`
//! for what was not there. Files that are not UTF-8 text are named as different and not shown. The shortest edit script is
//! looked for up to [`MOST_EDITS`] edits; two files that differ more are shown as one whole replacement, so that no pair of
//! files can make this slow.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

const CONTEXT: usize = 3;

/// The time and memory of the search grow with the square of this.
const MOST_EDITS: usize = 1024;

/// One file before and after. `None` is a file that is not there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileChange<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) before: Option<&'a [u8]>,
    pub(crate) after: Option<&'a [u8]>,
}

/// The diff of all files, in the order given. Files that did not change are left out.
pub(crate) fn unified_diff<'a>(changes: impl IntoIterator<Item = &'a FileChange<'a>>) -> String {
    let mut out = String::new();
    for change in changes.into_iter().filter(|change| change.before != change.after) {
        file_diff(&mut out, change);
    }
    out
}

fn file_diff(out: &mut String, change: &FileChange<'_>) {
    let (old, new) = (quoted("a/", change.path), quoted("b/", change.path));
    push(out, format_args!("diff --git {old} {new}\n"));
    match (change.before, change.after) {
        (None, _) => out.push_str("new file mode 100644\n"),
        (_, None) => out.push_str("deleted file mode 100644\n"),
        _ => {}
    }
    let old = if change.before.is_some() { &old } else { "/dev/null" };
    let new = if change.after.is_some() { &new } else { "/dev/null" };
    match (text_of(change.before), text_of(change.after)) {
        (Some(before), Some(after)) => {
            let (before, after): (Vec<_>, Vec<_>) = (lines(before), lines(after));
            // An empty file that appears or goes has no lines to show, and then no names above them either.
            if !(before.is_empty() && after.is_empty()) {
                push(out, format_args!("--- {old}\n+++ {new}\n"));
                hunks(out, &before, &after);
            }
        }
        _ => push(out, format_args!("Binary files {old} and {new} differ\n")),
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
}

/// The text of a file; `None` if it is none. A file that is not there has no lines.
fn text_of(bytes: Option<&[u8]>) -> Option<&str> {
    let text = std::str::from_utf8(bytes.unwrap_or_default()).ok()?;
    (!text.contains('\0')).then_some(text)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
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
            byte => push(&mut out, format_args!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

/// Lines that were replaced by other lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Replacement {
    before: Range<usize>,
    after: Range<usize>,
}

fn hunks(out: &mut String, before: &[&str], after: &[&str]) {
    let replacements = replacements(before, after);
    // Two changes share a hunk when their contexts would touch.
    let touch = |a: &Replacement, b: &Replacement| b.before.start - a.before.end <= 2 * CONTEXT;
    for group in replacements.chunk_by(touch) {
        hunk(out, group, before, after);
    }
}

fn hunk(out: &mut String, group: &[Replacement], before: &[&str], after: &[&str]) {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let lead = first.before.start.min(CONTEXT);
    let trail = (before.len() - last.before.end).min(CONTEXT);
    let old = first.before.start - lead..last.before.end + trail;
    let new = first.after.start - lead..last.after.end + trail;
    push(out, format_args!("@@ -{} +{} @@\n", span(&old), span(&new)));
    let mut at = old.start;
    for replacement in group {
        push_lines(out, ' ', &before[at..replacement.before.start]);
        push_lines(out, '-', &before[replacement.before.clone()]);
        push_lines(out, '+', &after[replacement.after.clone()]);
        at = replacement.before.end;
    }
    push_lines(out, ' ', &before[at..old.end]);
}

/// Lines count from 1; an empty span names the line before it; a length of 1 is not written.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

fn push_lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// What changed, in order and never adjacent.
fn replacements(before: &[&str], after: &[&str]) -> Vec<Replacement> {
    let prefix = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[prefix..], &after[prefix..]);
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - suffix], &new[..new.len() - suffix]);
    let mut interned = HashMap::new();
    let mut intern = |line| {
        let next = interned.len();
        *interned.entry(line).or_insert(next)
    };
    let old: Vec<_> = old.iter().map(|line| intern(*line)).collect();
    let new: Vec<_> = new.iter().map(|line| intern(*line)).collect();
    let kept = kept_pairs(&old, &new).unwrap_or_default();
    gaps(&kept, old.len(), new.len())
        .map(|gap| Replacement {
            before: gap.before.start + prefix..gap.before.end + prefix,
            after: gap.after.start + prefix..gap.after.end + prefix,
        })
        .collect()
}

/// The runs of lines between those that were kept.
fn gaps(kept: &[(usize, usize)], old: usize, new: usize) -> impl Iterator<Item = Replacement> {
    let starts = [(0, 0)].into_iter().chain(kept.iter().map(|(a, b)| (a + 1, b + 1)));
    let ends = kept.iter().copied().chain([(old, new)]);
    let gap =
        |(start, end): ((usize, usize), (usize, usize))| Replacement { before: start.0..end.0, after: start.1..end.1 };
    starts.zip(ends).map(gap).filter(|gap| !gap.before.is_empty() || !gap.after.is_empty())
}

/// How far along the old file the search has come, for every diagonal, after each number of edits.
struct Frontier {
    /// The furthest old line on the diagonals -reach..=reach.
    furthest: Vec<usize>,
    reach: usize,
}

impl Frontier {
    fn get(&self, diagonal: isize) -> Option<usize> {
        let index = usize::try_from(diagonal + self.reach.cast_signed()).ok()?;
        self.furthest.get(index).copied()
    }
}

/// The pairs of equal lines that a shortest edit script keeps (Myers 1986, greedy), or `None` when it has too many edits.
fn kept_pairs(old: &[usize], new: &[usize]) -> Option<Vec<(usize, usize)>> {
    let mut frontiers: Vec<Frontier> = Vec::new();
    for edits in 0..=MOST_EDITS.min(old.len() + new.len()) {
        let frontier = advance(frontiers.last(), edits, old, new);
        let goal = old.len().cast_signed() - new.len().cast_signed();
        let arrived = goal.unsigned_abs() <= edits && frontier.get(goal) == Some(old.len());
        frontiers.push(frontier);
        if arrived {
            return Some(walk_back(&frontiers, old.len(), new.len()));
        }
    }
    None
}

/// One more edit on every diagonal of the same parity, and then along all equal lines. Other diagonals repeat what was.
fn advance(last: Option<&Frontier>, edits: usize, old: &[usize], new: &[usize]) -> Frontier {
    let reach = edits.cast_signed();
    let furthest = (-reach..=reach)
        .map(|diagonal| {
            if (diagonal + reach) % 2 != 0 {
                return 0;
            }
            let mut x = last.map_or(0, |last| step(last, diagonal, edits - 1).0);
            let mut y = line_in_new(x, diagonal);
            while x < old.len() && y < new.len() && old[x] == new[y] {
                x += 1;
                y += 1;
            }
            x
        })
        .collect();
    Frontier { furthest, reach: edits }
}

/// Where an edit onto `diagonal` arrives, and from which diagonal: an insertion from above, or a deletion from the left.
fn step(last: &Frontier, diagonal: isize, last_edits: usize) -> (usize, isize) {
    let on = |diagonal: isize| if diagonal.unsigned_abs() <= last_edits { last.get(diagonal) } else { None };
    match (on(diagonal + 1), on(diagonal - 1)) {
        (Some(inserted), Some(deleted)) if deleted >= inserted => (deleted + 1, diagonal - 1),
        (Some(inserted), _) => (inserted, diagonal + 1),
        (None, Some(deleted)) => (deleted + 1, diagonal - 1),
        (None, None) => (0, diagonal),
    }
}

fn line_in_new(x: usize, diagonal: isize) -> usize {
    (x.cast_signed() - diagonal).unsigned_abs()
}

fn walk_back(frontiers: &[Frontier], old: usize, new: usize) -> Vec<(usize, usize)> {
    let (mut x, mut y) = (old, new);
    let mut kept = Vec::new();
    for edits in (0..frontiers.len()).rev() {
        let diagonal = x.cast_signed() - y.cast_signed();
        let (start, from) = match edits {
            0 => (0, 0),
            edits => step(&frontiers[edits - 1], diagonal, edits - 1),
        };
        while x > start {
            x -= 1;
            y -= 1;
            kept.push((x, y));
        }
        if edits > 0 {
            x = frontiers[edits - 1].get(from).unwrap_or(0);
            y = line_in_new(x, from);
        }
    }
    kept.reverse();
    kept
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

    /// Applies a diff of one file, strictly and without looking at the code above.
    fn apply(before: &str, diff: &str) -> String {
        let old: Vec<_> = before.split_inclusive('\n').collect();
        let (mut at, mut out) = (0, String::new());
        let mut body = diff.split_inclusive('\n').skip_while(|line| !line.starts_with("@@")).peekable();
        while let Some(line) = body.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let numbers = header.split([' ', ',']).next().expect("a number");
                let empty = header.split(' ').next().expect("a span").ends_with(",0");
                let start: usize = numbers.parse().expect("a number");
                let start = if empty { start } else { start - 1 };
                out.extend(old[at..start].iter().copied());
                at = start;
                continue;
            }
            let cut = body.next_if(|next| next.starts_with('\\')).is_some();
            let text = if cut { &line[1..line.len() - 1] } else { &line[1..] };
            match line.as_bytes()[0] {
                b' ' => {
                    assert_eq!(old[at], text);
                    out.push_str(text);
                    at += 1;
                }
                b'-' => {
                    assert_eq!(old[at], text);
                    at += 1;
                }
                b'+' => out.push_str(text),
                other => panic!("a line that begins with {other}"),
            }
        }
        out.extend(old[at..].iter().copied());
        out
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
            let (old, new) = (lines(&before), lines(&after));
            let edits: usize = replacements(&old, &new).iter().map(|r| r.before.len() + r.after.len()).sum();
            prop_assert_eq!(edits, old.len() + new.len() - 2 * longest_common(&old, &new));
        }
    }
}
