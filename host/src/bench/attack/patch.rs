//! A unified diff that can be changed and still applies: what it says of each file, hunk by hunk, and the text again.
//!
//! Counts and positions are not kept but computed when the text is written, so an edit cannot leave them wrong. It neither
//! applies a diff nor judges one; what does not parse is no diff here, and is left alone.

use std::fmt::Write as _;
use std::iter::Peekable;

/// A diff of some files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) files: Vec<FilePatch>,
    /// Lines behind the last file, such as the signature of a mail.
    tail: Vec<String>,
    /// Whether the last line of the text ends with a newline.
    ends_with_newline: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// All lines before the first hunk, such as `diff --git …`, `--- …` and `+++ …`.
    header: Vec<String>,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    /// How many lines of the old file lie before the hunk.
    before: usize,
    /// What stands behind the second `@@`.
    section: String,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Context,
    Removed,
    Added,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The file ends here, without a newline.
    pub(super) is_cut: bool,
}

const GIT: &str = "diff --git ";

const CUT: &str = "\\ No newline at end of file";

impl Line {
    pub(super) fn added(text: impl Into<String>) -> Self {
        Self { kind: Kind::Added, text: text.into(), is_cut: false }
    }

    /// The lines of a text, each to be removed.
    pub(super) fn removed(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let whole = line.strip_suffix('\n');
            Self { kind: Kind::Removed, text: whole.unwrap_or(line).to_owned(), is_cut: whole.is_none() }
        };
        text.split_inclusive('\n').map(line).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let kind = match line.as_bytes().first() {
            // Editors take the space away from an empty line of context.
            None => return Some(Self { kind: Kind::Context, text: String::new(), is_cut: false }),
            Some(b' ') => Kind::Context,
            Some(b'-') => Kind::Removed,
            Some(b'+') => Kind::Added,
            Some(_) => return None,
        };
        Some(Self { kind, text: line[1..].to_owned(), is_cut: false })
    }
}

impl Patch {
    /// The diff that a text is; `None` if it is none, or if its hunks do not have the lines that they say.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = Parts::default();
        let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n').peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("@@ -") {
                parts.hunk(Hunk::parse(line, &mut lines)?)?;
            } else {
                parts.header(line);
            }
        }
        let (files, tail) = parts.finish();
        let is_patch = files.iter().any(|file| !file.hunks.is_empty());
        is_patch.then_some(Self { files, tail, ends_with_newline: text.ends_with('\n') })
    }

    /// The text, with right counts. A file whose hunks have all become empty is left out.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for file in &self.files {
            file.write(&mut out);
        }
        for line in &self.tail {
            let _ = writeln!(out, "{line}");
        }
        if !self.ends_with_newline {
            out.pop();
        }
        out
    }

    /// Puts a file at the end.
    pub(super) fn add(&mut self, file: FilePatch) {
        self.files.push(file);
        self.ends_with_newline = true;
    }

    /// Every line of a hunk: which file, which hunk, which line.
    pub(super) fn places(&self) -> impl Iterator<Item = (Place, &Line)> {
        self.files.iter().enumerate().flat_map(|(file, patch)| {
            patch.hunks.iter().enumerate().flat_map(move |(hunk, lines)| {
                lines.lines.iter().enumerate().map(move |(line, text)| (Place { file, hunk, line }, text))
            })
        })
    }

    pub(super) fn lines_mut(&mut self, place: Place) -> &mut Vec<Line> {
        &mut self.files[place.file].hunks[place.hunk].lines
    }
}

/// What was read of a diff so far.
#[derive(Default)]
struct Parts {
    files: Vec<FilePatch>,
    /// Lines that are no hunk's, since the last one.
    header: Vec<String>,
}

impl Parts {
    /// A file may have no hunks: one that is empty, or that only moves.
    fn header(&mut self, line: &str) {
        if line.starts_with(GIT) && self.begins_file() {
            self.file(Vec::new());
        }
        self.header.push(line.to_owned());
    }

    fn begins_file(&self) -> bool {
        self.header.iter().any(|line| line.starts_with(GIT))
    }

    fn file(&mut self, hunks: Vec<Hunk>) {
        self.files.push(FilePatch { header: std::mem::take(&mut self.header), hunks });
    }

    fn hunk(&mut self, hunk: Hunk) -> Option<()> {
        if self.header.is_empty() {
            self.files.last_mut()?.hunks.push(hunk);
        } else {
            self.header.iter().find(|line| line.starts_with("+++ "))?;
            self.file(vec![hunk]);
        }
        Some(())
    }

    /// The files, and the lines behind the last one.
    fn finish(mut self) -> (Vec<FilePatch>, Vec<String>) {
        if self.begins_file() {
            self.file(Vec::new());
        }
        (self.files, self.header)
    }
}

/// Where a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) hunk: usize,
    pub(super) line: usize,
}

impl FilePatch {
    /// A file that is new, with one line.
    pub(super) fn new_file(path: &str, line: &str) -> Self {
        let header = vec!["--- /dev/null".to_owned(), format!("+++ b/{path}")];
        Self { header, hunks: vec![Hunk { before: 0, section: String::new(), lines: vec![Line::added(line)] }] }
    }

    /// A change of a file behind so many of its lines.
    pub(super) fn of_file(path: &str, before: usize, line: Line) -> Self {
        let header = vec![format!("--- a/{path}"), format!("+++ b/{path}")];
        Self { header, hunks: vec![Hunk { before, section: String::new(), lines: vec![line] }] }
    }

    /// The file's path, without the prefix that git gives it.
    pub(super) fn path(&self) -> &str {
        let named = |start: &str| self.header.iter().find_map(|line| line.strip_prefix(start));
        let name = named("+++ ").filter(|name| *name != "/dev/null").or_else(|| named("--- ")).unwrap_or_default();
        let name = name.split('\t').next().unwrap_or_default().trim_matches('"');
        name.strip_prefix("b/").or_else(|| name.strip_prefix("a/")).unwrap_or(name)
    }

    /// Makes of a deletion a change that leaves something.
    pub(super) fn stay(&mut self) {
        if !self.header.iter().any(|line| line == "+++ /dev/null") {
            return;
        }
        let path = self.path().to_owned();
        self.header.retain(|line| !line.starts_with("deleted file mode"));
        for line in self.header.iter_mut().filter(|line| *line == "+++ /dev/null") {
            *line = format!("+++ b/{path}");
        }
    }

    fn write(&self, out: &mut String) {
        let hunks: Vec<_> = self.hunks.iter().filter(|hunk| hunk.changes_something()).collect();
        let is_new = self.header.iter().any(|line| line.starts_with("new file mode"));
        if hunks.is_empty() && !self.hunks.is_empty() && !is_new {
            return;
        }
        // git names no sides where there is nothing to compare.
        let is_side = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
        for line in self.header.iter().filter(|line| !(hunks.is_empty() && is_side(line))) {
            let _ = writeln!(out, "{line}");
        }
        let mut after = 0;
        let mut before = 0;
        for hunk in hunks {
            // Hunks that overlap, as doubled ones do, have no right position.
            hunk.write(out, (hunk.before + after).saturating_sub(before));
            before += hunk.count(Kind::Removed);
            after += hunk.count(Kind::Added);
        }
    }
}

impl Hunk {
    fn parse<'t>(header: &str, lines: &mut Peekable<impl Iterator<Item = &'t str>>) -> Option<Self> {
        let (spans, section) = header.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = spans.split_once(" +")?;
        let ((start, old), (_, new)) = (span(old)?, span(new)?);
        let before = if old == 0 { start } else { start.checked_sub(1)? };
        Some(Self { before, section: section.to_owned(), lines: hunk_lines(old, new, lines)? })
    }

    fn count(&self, kind: Kind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
    }

    fn changes_something(&self) -> bool {
        self.lines.iter().any(|line| line.kind != Kind::Context)
    }

    fn write(&self, out: &mut String, before_new: usize) {
        let context = self.count(Kind::Context);
        let old = written_span(self.before, context + self.count(Kind::Removed));
        let new = written_span(before_new, context + self.count(Kind::Added));
        let _ = writeln!(out, "@@ -{old} +{new} @@{}", self.section);
        for line in &self.lines {
            let mark = match line.kind {
                Kind::Context => ' ',
                Kind::Removed => '-',
                Kind::Added => '+',
            };
            let _ = writeln!(out, "{mark}{}", line.text);
            if line.is_cut {
                let _ = writeln!(out, "{CUT}");
            }
        }
    }
}

/// So many lines of the old file and of the new.
fn hunk_lines<'t>(
    mut old: usize,
    mut new: usize,
    lines: &mut Peekable<impl Iterator<Item = &'t str>>,
) -> Option<Vec<Line>> {
    let mut found = Vec::new();
    while old > 0 || new > 0 {
        let mut line = Line::parse(lines.next()?)?;
        old = old.checked_sub(usize::from(line.kind != Kind::Added))?;
        new = new.checked_sub(usize::from(line.kind != Kind::Removed))?;
        line.is_cut = lines.next_if(|line| line.starts_with('\\')).is_some();
        found.push(line);
    }
    Some(found)
}

/// `start,count`, or `start` alone for one line.
fn span(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// Lines count from 1; an empty span names the line before it; a count of 1 is not written.
fn written_span(before: usize, count: usize) -> String {
    match count {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        count => format!("{},{count}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,3 @@ section
 one
-two
+TWO
+three
@@ -9 +10 @@
-nine
+NINE
\\ No newline at end of file
diff --git a/old.bin b/old.bin
deleted file mode 100644
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+a
+b
";

    #[test]
    fn a_diff_is_written_as_it_was_read() {
        let patch = Patch::parse(DIFF).expect("a diff");
        assert_eq!(patch.text(), DIFF);
        assert_eq!(patch.files.iter().map(FilePatch::path).collect::<Vec<_>>(), ["a.txt", "", "new.txt"]);
        let mailed = format!("{DIFF}-- \n2.47.3\n\n");
        let patch = Patch::parse(&mailed).expect("a diff");
        assert_eq!((patch.text(), patch.files.len()), (mailed, 3), "a signature is no file");
        let cut = DIFF.strip_suffix('\n').expect("it ends with a newline");
        assert_eq!(Patch::parse(cut).expect("a diff").text(), cut);
    }

    #[test]
    fn what_is_no_diff_or_counts_wrongly_is_none() {
        let deep = "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n";
        let huge = "--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n-a\n+b\n";
        let zero = "--- a/x\n+++ b/x\n@@ -0,1 +0,1 @@\n-a\n+b\n";
        for text in ["", "prose", "@@ -1 +1 @@\n-a\n+b\n", "--- a/x\n+++ b/x\n", deep, huge, zero] {
            assert_eq!(Patch::parse(text), None, "{text}");
        }
    }

    #[test]
    fn counts_and_positions_follow_an_edit() {
        let mut patch = Patch::parse(DIFF).expect("a diff");
        patch.files.truncate(1);
        patch.files[0].hunks[0].lines.remove(3);
        let text = patch.text();
        assert!(text.contains("@@ -1,2 +1,2 @@ section\n one\n-two\n+TWO\n@@ -9 +9 @@\n"), "{text}");
        assert_eq!(Patch::parse(&text).expect("a diff").text(), text);
    }

    #[test]
    fn what_changes_nothing_any_more_is_left_out() {
        let mut patch = Patch::parse(DIFF).expect("a diff");
        patch.files[2].hunks[0].lines.clear();
        patch.files[0].hunks[1].lines.clear();
        let text = patch.text();
        assert!(text.ends_with("diff --git a/new.txt b/new.txt\nnew file mode 100644\n"), "{text}");
        assert!(!text.contains("@@ -9"), "{text}");
        patch.files[0].hunks[0].lines.retain(|line| line.kind == Kind::Context);
        assert!(patch.text().starts_with("diff --git a/old.bin"), "{}", patch.text());
    }

    #[test]
    fn a_deletion_can_be_made_to_leave_something() {
        let text = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
        let mut patch = Patch::parse(text).expect("a diff");
        patch.files[0].stay();
        patch.files[0].hunks[0].lines[0].kind = Kind::Context;
        assert_eq!(patch.text(), "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\n");
    }
}
