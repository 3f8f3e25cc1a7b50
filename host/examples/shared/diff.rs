//! A unified diff between two states of a workspace: the longest common subsequence of lines, with three lines of context. Files
//! are changed, never created or deleted, because no agent here needs more.

use std::fmt::Write as _;
use std::ops::Range;

use super::Files;

const CONTEXT: usize = 3;

/// A line of the diff, with its end of line.
#[derive(Clone, Copy)]
enum Line<'a> {
    Kept(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// Everything that differs between the two, file by file. Empty if nothing does.
pub(crate) fn unified(before: &Files, after: &Files) -> String {
    let mut diff = String::new();
    for (path, old) in before {
        if let Some(new) = after.get(path).filter(|new| *new != old) {
            diff.push_str(&format!("--- a/{path}\n+++ b/{path}\n"));
            write_hunks(&compare(old, new), &mut diff);
        }
    }
    diff
}

fn compare<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let new: Vec<_> = new.split_inclusive('\n').collect();
    let common = common_lengths(&old, &new);
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && old.get(i) == new.get(j) {
            lines.push(Line::Kept(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(Line::Removed(old[i]));
            i += 1;
        } else {
            lines.push(Line::Added(new[j]));
            j += 1;
        }
    }
    lines
}

/// `lengths[i][j]` is the length of the longest common subsequence of `old[i..]` and `new[j..]`.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let mut lengths = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = match old[i] == new[j] {
                true => lengths[i + 1][j + 1] + 1,
                false => lengths[i + 1][j].max(lengths[i][j + 1]),
            };
        }
    }
    lengths
}

fn write_hunks(lines: &[Line<'_>], diff: &mut String) {
    for hunk in hunks(lines) {
        let (old_before, new_before) = count(&lines[..hunk.start]);
        let (old, new) = count(&lines[hunk.clone()]);
        // A side without lines is said to be after the line before it.
        let (old_start, new_start) = (old_before + old.min(1), new_before + new.min(1));
        diff.push_str(&format!("@@ -{old_start},{old} +{new_start},{new} @@\n"));
        lines[hunk].iter().for_each(|line| write_line(*line, diff));
    }
}

/// The changed lines with their context; changes whose contexts meet are one hunk.
fn hunks(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    let changed = lines.iter().enumerate().filter(|(_, line)| !matches!(line, Line::Kept(_)));
    for (index, _) in changed {
        let around = index.saturating_sub(CONTEXT)..(index + 1 + CONTEXT).min(lines.len());
        match hunks.last_mut() {
            Some(last) if around.start <= last.end => last.end = around.end,
            _ => hunks.push(around),
        }
    }
    hunks
}

/// How many lines of the old and of the new file these are.
fn count(lines: &[Line<'_>]) -> (usize, usize) {
    let old = lines.iter().filter(|line| !matches!(line, Line::Added(_))).count();
    let new = lines.iter().filter(|line| !matches!(line, Line::Removed(_))).count();
    (old, new)
}

fn write_line(line: Line<'_>, diff: &mut String) {
    let (mark, text) = match line {
        Line::Kept(text) => (' ', text),
        Line::Removed(text) => ('-', text),
        Line::Added(text) => ('+', text),
    };
    let end = if text.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
    write!(diff, "{mark}{text}{end}").expect("a string takes everything");
}
