//! Reading a unified diff with `a/` and `b/` prefixes, as `git diff` writes it.

use super::{Diff, FileDiff, Hunk, Kind, Line};

/// Why a text is not a diff that this task class takes. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    #[error("line {line}: expected {expected}")]
    Unexpected { line: usize, expected: &'static str },
    #[error("line {line}: `{path}` is not a path inside the project")]
    Path { line: usize, path: String },
    #[error("line {line}: `{path}` is changed twice")]
    Twice { line: usize, path: String },
    #[error("line {line}: renames, copies, mode changes and binary files are not taken")]
    Unsupported { line: usize },
}

/// Reads a diff. A text without any file is a diff that changes nothing.
///
/// # Errors
///
/// [`DiffError`] with the line that is wrong.
pub fn parse(text: &str) -> Result<Diff, DiffError> {
    let mut reader = Reader { lines: text.split_inclusive('\n').collect(), next: 0 };
    let mut files: Vec<FileDiff> = Vec::new();
    while reader.skip_headers()? {
        let line = reader.next + 1;
        let file = reader.file()?;
        if files.iter().any(|earlier| earlier.path == file.path) {
            return Err(DiffError::Twice { line, path: file.path });
        }
        files.push(file);
    }
    Ok(Diff { files })
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

/// The numbers of a hunk's `@@` line.
struct Header {
    old_start: usize,
    old_count: usize,
    new_count: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).map(|line| line.trim_end_matches('\n'))
    }

    fn unexpected<T>(&self, expected: &'static str) -> Result<T, DiffError> {
        Err(DiffError::Unexpected { line: self.next + 1, expected })
    }

    /// Passes over git's own lines before a file. `false` at the end of the text.
    fn skip_headers(&mut self) -> Result<bool, DiffError> {
        const PASSED: [&str; 4] = ["diff --git ", "index ", "new file mode ", "deleted file mode "];
        const REFUSED: [&str; 9] = [
            "old mode ",
            "new mode ",
            "rename ",
            "copy ",
            "similarity ",
            "dissimilarity ",
            "Binary files ",
            "GIT binary patch",
            "Only in ",
        ];
        while let Some(line) = self.peek() {
            if line.starts_with("--- ") {
                return Ok(true);
            }
            if REFUSED.iter().any(|start| line.starts_with(start)) {
                return Err(DiffError::Unsupported { line: self.next + 1 });
            }
            if !line.trim_end().is_empty() && !PASSED.iter().any(|start| line.starts_with(start)) {
                return self.unexpected("`diff --git`, `--- a/…` or the end");
            }
            self.next += 1;
        }
        Ok(false)
    }

    fn file(&mut self) -> Result<FileDiff, DiffError> {
        let old = self.path("--- ", "a/")?;
        let new = self.path("+++ ", "b/")?;
        let (path, kind) = match (old, new) {
            (Some(old), Some(new)) if old == new => (new, Kind::Modify),
            (None, Some(new)) => (new, Kind::Create),
            (Some(old), None) => (old, Kind::Delete),
            (Some(_), Some(_)) => return Err(DiffError::Unsupported { line: self.next }),
            (None, None) => return self.unexpected("a path besides `/dev/null`"),
        };
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            hunks.push(self.hunk()?);
        }
        if hunks.is_empty() {
            return self.unexpected("a hunk, which begins with `@@`");
        }
        Ok(FileDiff { path, kind, hunks })
    }

    /// The path of a `---` or `+++` line; `None` for `/dev/null`.
    fn path(&mut self, sign: &'static str, prefix: &str) -> Result<Option<String>, DiffError> {
        let Some(rest) = self.peek().and_then(|line| line.strip_prefix(sign)) else {
            return self.unexpected(if sign == "--- " { "`--- a/…`" } else { "`+++ b/…`" });
        };
        let path = rest.split('\t').next().unwrap_or(rest);
        self.next += 1;
        if path == "/dev/null" {
            return Ok(None);
        }
        match path.strip_prefix(prefix).filter(|path| is_contained(path)) {
            Some(path) => Ok(Some(path.to_owned())),
            None => Err(DiffError::Path { line: self.next, path: path.to_owned() }),
        }
    }

    fn hunk(&mut self) -> Result<Hunk, DiffError> {
        let Some(header) = self.peek().and_then(Header::parse) else {
            return self.unexpected("`@@ -line,count +line,count @@`");
        };
        self.next += 1;
        let mut lines: Vec<Line> = Vec::new();
        let (mut old_left, mut new_left) = (header.old_count, header.new_count);
        while old_left > 0 || new_left > 0 {
            let line = self.line()?;
            let taken = (usize::from(line.in_old().is_some()), usize::from(line.in_new().is_some()));
            if taken.0 > old_left || taken.1 > new_left {
                self.next -= 1;
                return self.unexpected("as many lines as the hunk's header says");
            }
            (old_left, new_left) = (old_left - taken.0, new_left - taken.1);
            lines.push(line);
            self.no_newline(&mut lines);
        }
        Ok(Hunk { skip: header.skip(), lines })
    }

    fn line(&mut self) -> Result<Line, DiffError> {
        let Some(raw) = self.lines.get(self.next) else {
            return self.unexpected("another line of the hunk");
        };
        let text = |rest: &str| format!("{}\n", rest.trim_end_matches('\n'));
        let line = match raw.split_at_checked(1) {
            Some((" ", rest)) => Line::Context(text(rest)),
            Some(("-", rest)) => Line::Remove(text(rest)),
            Some(("+", rest)) => Line::Add(text(rest)),
            // Editors strip the blank of an empty context line.
            Some(("\n", _)) => Line::Context("\n".to_owned()),
            _ => return self.unexpected("a line that begins with a blank, `-` or `+`"),
        };
        self.next += 1;
        Ok(line)
    }

    /// `\ No newline at end of file` is about the line before it.
    fn no_newline(&mut self, lines: &mut [Line]) {
        if !self.peek().is_some_and(|line| line.starts_with("\\ ")) {
            return;
        }
        self.next += 1;
        if let Some(Line::Context(text) | Line::Remove(text) | Line::Add(text)) = lines.last_mut() {
            text.pop();
        }
    }
}

impl Header {
    fn parse(line: &str) -> Option<Self> {
        let (numbers, _section) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = numbers.split_once(" +")?;
        let (old_start, old_count) = span(old)?;
        let (_, new_count) = span(new)?;
        let header = Self { old_start, old_count, new_count };
        (header.old_start > 0 || header.old_count == 0).then_some(header)
    }

    /// An insertion names the line that it follows; everything else names its first line.
    fn skip(&self) -> usize {
        if self.old_count == 0 { self.old_start } else { self.old_start - 1 }
    }
}

fn span(text: &str) -> Option<(usize, usize)> {
    let number = |text: &str| if text.starts_with('+') { None } else { text.parse().ok() };
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

fn is_contained(path: &str) -> bool {
    let plain = |name: &str| !matches!(name, "" | "." | ".." | ".git") && !name.contains(['\\', '\0', '"']);
    path.split('/').all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIMPLE: &str = "\
diff --git a/x/y.txt b/x/y.txt
index 111..222 100644
--- a/x/y.txt
+++ b/x/y.txt
@@ -2,3 +2,3 @@ section
 b
-c
+C
 d
";

    #[test]
    fn a_git_diff_is_read() {
        let diff = parse(SIMPLE).unwrap();
        assert_eq!(diff.files.len(), 1);
        let file = &diff.files[0];
        assert_eq!((file.path.as_str(), file.kind), ("x/y.txt", Kind::Modify));
        assert_eq!(file.hunks[0].skip, 1);
        assert_eq!(file.removed().collect::<Vec<_>>(), ["c\n"]);
        assert_eq!(file.added().collect::<Vec<_>>(), ["C\n"]);
    }

    #[test]
    fn files_are_created_deleted_and_left_without_a_last_newline() {
        let diff = parse(
            "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n\
             --- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
        )
        .unwrap();
        assert_eq!(diff.files[0].kind, Kind::Create);
        assert_eq!(diff.files[0].added().collect::<Vec<_>>(), ["one"]);
        assert_eq!(diff.files[1].kind, Kind::Delete);
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_a_line() {
        let diff = parse("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- a comment\n b\n").unwrap();
        assert_eq!(diff.files[0].removed().collect::<Vec<_>>(), ["-- a comment\n"]);
    }

    #[test]
    fn an_empty_text_changes_nothing() {
        assert!(parse("").unwrap().is_empty());
        assert!(parse("\n").unwrap().is_empty());
        assert!(parse("--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n").unwrap().is_empty());
        assert!(!parse(SIMPLE).unwrap().is_empty());
    }

    #[test]
    fn a_path_that_leaves_the_project_is_refused() {
        for path in ["../x", "/etc/passwd", "a/../../x", "./x", "x//y", "x\\y", ".git/hooks/x"] {
            let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
            assert!(matches!(parse(&diff), Err(DiffError::Path { .. })), "{path}");
        }
        assert!(matches!(parse("--- x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), Err(DiffError::Path { .. })));
    }

    #[test]
    fn prose_wrong_counts_and_broken_headers_are_refused() {
        let bad = [
            "Here is the fix:\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "--- a/x\n+++ b/x\n",
            "--- a/x\n",
            "--- a/x\n+++ b/x\n@@ -1 @@\n",
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n+b\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n",
            "--- a/x\n+++ b/x\n@@ -0,1 +1 @@\n-a\n+b\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n*a\n",
            "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        ];
        for text in bad {
            assert!(matches!(parse(text), Err(DiffError::Unexpected { .. })), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn renames_mode_changes_binaries_and_repeated_files_are_refused() {
        for text in ["diff --git a/x b/y\nrename from x\n", "old mode 100644\n", "Binary files a/x and b/x differ\n"] {
            assert!(matches!(parse(text), Err(DiffError::Unsupported { .. })), "{text}");
        }
        let twice = format!("{SIMPLE}{SIMPLE}");
        assert!(matches!(parse(&twice), Err(DiffError::Twice { .. })));
        let renamed = "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(matches!(parse(renamed), Err(DiffError::Unsupported { .. })));
    }
}
