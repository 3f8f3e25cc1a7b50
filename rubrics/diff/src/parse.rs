//! Text of a unified diff → changes whose hunks have as many lines as they say. Knows nothing of the files they are for.

use crate::change::{Change, Hunk, HunkLine, Kind, Operation};
use crate::path::{self, PathError, Sides};
use thiserror::Error;

/// What is wrong with a diff, and on which of its lines (counted from 1).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line} of the diff: {problem}")]
pub struct DiffError {
    /// The line of the diff that shows the problem.
    pub line: usize,
    /// What the problem is.
    pub problem: Problem,
}

/// Why a diff cannot be applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    #[error("expected a file section (`diff --git` or `--- `), found other text")]
    NotASection,
    #[error("`{0}` is refused: send text changes only, one section per file")]
    Unsupported(String),
    #[error("a section without hunks must create or delete an empty file, rename one, or change a mode")]
    NoHunks,
    #[error("expected `+++ ` after `--- `")]
    NoNewSide,
    #[error("both sides of the section are `/dev/null`")]
    NoSide,
    #[error("the two sides of the section name different files without `rename from` and `rename to`")]
    SidesDiffer,
    #[error("the headers of the section contradict each other")]
    Contradiction,
    #[error("a path is refused: {0}")]
    Path(PathError),
    #[error("the hunk header is not `@@ -start,count +start,count @@`")]
    HunkHeader,
    #[error("the hunk has not as many lines as its header says")]
    HunkCount,
    #[error("a line of a hunk must start with a blank, `-`, `+` or `\\`")]
    HunkLine,
    #[error("hunks must be in order and must not overlap")]
    HunkOrder,
    #[error("file `{0}` is not in the input")]
    NoSuchFile(String),
    #[error("file `{0}` exists already")]
    Exists(String),
    #[error("file `{0}` occurs twice in the diff")]
    Twice(String),
    #[error("file `{0}` would also be a directory")]
    FileAsDirectory(String),
    #[error("file `{path}` has not at line {at} what the hunk says")]
    Mismatch { path: String, at: usize },
    #[error("file `{0}` would have a line without a newline before its end")]
    NewlineMissing(String),
    #[error("deleting file `{0}` leaves lines over")]
    DeleteLeavesLines(String),
}

pub(crate) fn parse(diff: &str) -> Result<Vec<Change>, DiffError> {
    let mut lines = Lines::new(diff);
    let mut changes = Vec::new();
    while let Some(line) = lines.peek() {
        if line.is_empty() {
            lines.next();
        } else if begins_mail(line) {
            lines.skip_mail();
        } else if lines.is_signature() {
            lines.skip_signature();
        } else {
            changes.push(section(&mut lines)?);
        }
    }
    Ok(changes)
}

/// Whether a line is the first of a mail as `git format-patch` writes it: a commit and a date that is always the same.
fn begins_mail(line: &str) -> bool {
    let commit = line.strip_prefix("From ").and_then(|rest| rest.strip_suffix(" Mon Sep 17 00:00:00 2001"));
    commit.is_some_and(|commit| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The lines of the diff with the number of the one that comes next.
struct Lines<'a> {
    rest: Vec<&'a str>,
    next: usize,
    /// Whether a mail is around the sections, which ends with a signature.
    mailed: bool,
}

impl<'a> Lines<'a> {
    fn new(diff: &'a str) -> Self {
        let mut rest: Vec<&str> = diff.split('\n').collect();
        if rest.last() == Some(&"") {
            rest.pop();
        }
        Self { rest, next: 0, mailed: false }
    }

    /// Passes over the head of a mail, up to its first section.
    fn skip_mail(&mut self) {
        self.mailed = true;
        while self.peek().is_some_and(|line| !line.starts_with("diff --git ")) {
            self.next += 1;
        }
    }

    /// Whether the signature of a mail comes next: `-- ` and the version of git. Editors strip the blank.
    fn is_signature(&self) -> bool {
        self.mailed && self.peek().is_some_and(|line| line.trim_end() == "--")
    }

    fn skip_signature(&mut self) {
        self.next += 1;
        let is_version = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
        self.next += usize::from(self.peek().is_some_and(is_version));
    }

    fn peek(&self) -> Option<&'a str> {
        self.rest.get(self.next).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.next += 1;
        Some(line)
    }

    /// Takes the next line if it starts with `prefix`, and gives what follows it.
    fn take(&mut self, prefix: &str) -> Option<&'a str> {
        let rest = self.peek()?.strip_prefix(prefix)?;
        self.next += 1;
        Some(rest)
    }

    /// The number of the line that comes next, counted from 1.
    fn number(&self) -> usize {
        self.next + 1
    }

    /// An error on the line that was taken last.
    fn error(&self, problem: Problem) -> DiffError {
        DiffError { line: self.next.max(1), problem }
    }
}

/// What the lines between `diff --git` and `--- ` say.
#[derive(Default)]
struct Headers {
    git_path: Option<Result<String, PathError>>,
    /// Whether paths are written without `a/` and `b/`.
    plain: bool,
    rename_from: Option<String>,
    rename_to: Option<String>,
    created: bool,
    deleted: bool,
    old_mode: bool,
    new_mode: bool,
}

fn section(lines: &mut Lines<'_>) -> Result<Change, DiffError> {
    let line = lines.number();
    let headers = headers(lines)?;
    let sides = sides(lines, headers.plain)?;
    let hunks = if sides.is_some() { hunks(lines)? } else { Vec::new() };
    let operation = operation(&headers, sides).map_err(|problem| DiffError { line, problem })?;
    Ok(Change { line, operation, sets_mode: headers.new_mode, hunks })
}

fn headers(lines: &mut Lines<'_>) -> Result<Headers, DiffError> {
    let mut headers = Headers::default();
    if let Some(paths) = lines.take("diff --git ") {
        headers.git_path = Some(path::from_git_line(paths));
        headers.plain = path::is_plain(paths);
        while header(lines, &mut headers)? {}
    } else if !lines.peek().is_some_and(|line| line.starts_with("--- ")) {
        lines.next();
        return Err(lines.error(Problem::NotASection));
    }
    Ok(headers)
}

/// Reads one extended header. `false`: the next line is none.
fn header(lines: &mut Lines<'_>, headers: &mut Headers) -> Result<bool, DiffError> {
    const IGNORED: [&str; 3] = ["index ", "similarity index ", "dissimilarity index "];
    const UNSUPPORTED: [&str; 4] = ["GIT binary patch", "Binary files ", "copy from ", "copy to "];
    if let Some(path) = lines.take("rename from ") {
        headers.rename_from = Some(path::from_rename_line(path).map_err(|why| lines.error(Problem::Path(why)))?);
    } else if let Some(path) = lines.take("rename to ") {
        headers.rename_to = Some(path::from_rename_line(path).map_err(|why| lines.error(Problem::Path(why)))?);
    } else if let Some(flag) = flag(lines, headers) {
        *flag = true;
    } else if let Some(prefix) = UNSUPPORTED.iter().find(|prefix| lines.take(prefix).is_some()) {
        return Err(lines.error(Problem::Unsupported(prefix.trim_end().to_owned())));
    } else {
        return Ok(IGNORED.iter().any(|prefix| lines.take(prefix).is_some()));
    }
    Ok(true)
}

/// What the next line says, if it is one of those whose being there is all that matters.
fn flag<'h>(lines: &mut Lines<'_>, headers: &'h mut Headers) -> Option<&'h mut bool> {
    let flags = [
        ("new file mode ", &mut headers.created),
        ("deleted file mode ", &mut headers.deleted),
        ("old mode ", &mut headers.old_mode),
        ("new mode ", &mut headers.new_mode),
    ];
    flags.into_iter().find_map(|(prefix, flag)| lines.take(prefix).map(|_| flag))
}

fn sides(lines: &mut Lines<'_>, plain: bool) -> Result<Option<Sides>, DiffError> {
    let Some(old) = lines.take("--- ") else { return Ok(None) };
    let new = lines.take("+++ ").ok_or_else(|| lines.error(Problem::NoNewSide))?;
    let sides = path::from_file_lines(old, new, plain).map_err(|why| lines.error(Problem::Path(why)))?;
    Ok(Some(sides))
}

fn operation(headers: &Headers, sides: Option<Sides>) -> Result<Operation, Problem> {
    let by_headers = operation_of_headers(headers)?;
    let Some(sides) = sides else { return by_headers.ok_or(Problem::NoHunks) };
    let by_sides = operation_of_sides(sides, by_headers.as_ref())?;
    match by_headers {
        Some(by_headers) if by_headers != by_sides => Err(Problem::Contradiction),
        _ => Ok(by_sides),
    }
}

fn operation_of_headers(headers: &Headers) -> Result<Option<Operation>, Problem> {
    let git_path = || match &headers.git_path {
        Some(path) => path.clone().map_err(Problem::Path),
        None => Err(Problem::NotASection),
    };
    if headers.old_mode != headers.new_mode {
        return Err(Problem::Contradiction);
    }
    match (headers.created, headers.deleted, &headers.rename_from, &headers.rename_to) {
        (true, false, None, None) => Ok(Some(Operation::Create(git_path()?))),
        (false, true, None, None) => Ok(Some(Operation::Delete(git_path()?))),
        (false, false, Some(from), Some(to)) => Ok(Some(Operation::Rename { from: from.clone(), to: to.clone() })),
        (false, false, None, None) if headers.new_mode => Ok(Some(Operation::Modify(git_path()?))),
        (false, false, None, None) => Ok(None),
        _ => Err(Problem::Contradiction),
    }
}

fn operation_of_sides(sides: Sides, by_headers: Option<&Operation>) -> Result<Operation, Problem> {
    match sides {
        (None, None) => Err(Problem::NoSide),
        (None, Some(path)) => Ok(Operation::Create(path)),
        (Some(path), None) => Ok(Operation::Delete(path)),
        (Some(old), Some(new)) if old == new => Ok(Operation::Modify(new)),
        (Some(from), Some(to)) if matches!(by_headers, Some(Operation::Rename { .. })) => {
            Ok(Operation::Rename { from, to })
        }
        (Some(_), Some(_)) => Err(Problem::SidesDiffer),
    }
}

fn hunks(lines: &mut Lines<'_>) -> Result<Vec<Hunk>, DiffError> {
    let mut hunks = Vec::new();
    while let Some(header) = lines.take("@@ ") {
        hunks.push(hunk(lines, header)?);
    }
    if hunks.is_empty() {
        return Err(DiffError { line: lines.number(), problem: Problem::HunkHeader });
    }
    Ok(hunks)
}

fn hunk(lines: &mut Lines<'_>, header: &str) -> Result<Hunk, DiffError> {
    let line = lines.next;
    let (old, new) = ranges(header).ok_or_else(|| lines.error(Problem::HunkHeader))?;
    let body = hunk_lines(lines, old.1, new.1)?;
    // A range of no lines names the line before it; any other names its first line.
    let skip = if old.1 == 0 { Some(old.0) } else { old.0.checked_sub(1) };
    let skip = skip.ok_or(DiffError { line, problem: Problem::HunkHeader })?;
    Ok(Hunk { line, skip, lines: body })
}

/// `-start[,count] +start[,count] @@…` → the two ranges.
fn ranges(header: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _section) = header.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    Some((range(old.strip_prefix('-')?)?, range(new.strip_prefix('+')?)?))
}

fn range(text: &str) -> Option<(usize, usize)> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<usize>().ok()).flatten()
    };
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

fn hunk_lines(lines: &mut Lines<'_>, old_count: usize, new_count: usize) -> Result<Vec<HunkLine>, DiffError> {
    let (mut old_left, mut new_left) = (old_count, new_count);
    let mut body: Vec<HunkLine> = Vec::new();
    while old_left > 0 || new_left > 0 {
        let line = hunk_line(lines)?;
        let Some(line) = line else {
            strip_newline(lines, &mut body)?;
            continue;
        };
        let (old, new) = match line.kind {
            Kind::Keep => (1, 1),
            Kind::Remove => (1, 0),
            Kind::Add => (0, 1),
        };
        old_left = old_left.checked_sub(old).ok_or_else(|| lines.error(Problem::HunkCount))?;
        new_left = new_left.checked_sub(new).ok_or_else(|| lines.error(Problem::HunkCount))?;
        body.push(line);
    }
    if lines.peek().is_some_and(|line| line.starts_with('\\')) {
        lines.next();
        strip_newline(lines, &mut body)?;
    }
    // Further lines of a hunk that is complete are what a wrong count looks like.
    let surplus = lines.peek().is_some_and(|line| line.starts_with([' ', '+', '-', '\\']) && !line.starts_with("--- "));
    if surplus && !lines.is_signature() {
        return Err(DiffError { line: lines.number(), problem: Problem::HunkCount });
    }
    Ok(body)
}

/// The next line of a hunk; `None` for the marker that the line before it has no newline.
fn hunk_line(lines: &mut Lines<'_>) -> Result<Option<HunkLine>, DiffError> {
    let text = lines.next().ok_or_else(|| lines.error(Problem::HunkCount))?;
    let mut characters = text.chars();
    let kind = match characters.next() {
        None | Some(' ') => Kind::Keep,
        Some('-') => Kind::Remove,
        Some('+') => Kind::Add,
        Some('\\') => return Ok(None),
        Some('@' | 'd') => return Err(lines.error(Problem::HunkCount)),
        Some(_) => return Err(lines.error(Problem::HunkLine)),
    };
    Ok(Some(HunkLine { line: lines.next, kind, content: format!("{}\n", characters.as_str()) }))
}

fn strip_newline(lines: &Lines<'_>, body: &mut [HunkLine]) -> Result<(), DiffError> {
    let last = body.last_mut().ok_or_else(|| lines.error(Problem::HunkLine))?;
    last.content.pop().filter(|end| *end == '\n').map(drop).ok_or_else(|| lines.error(Problem::HunkLine))
}
