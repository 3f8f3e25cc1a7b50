//! What a mutant changes, for people: both answers as lines, and the lines that differ.
//!
//! Texts of several lines are shown as lines. Positions in the hunks of a diff are left out: they follow from the rest.

use std::fmt::Write as _;

use gix_imara_diff::sources::lines;
use gix_imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use serde_json::Value;

/// More lines would not be read.
const MOST_LINES: usize = 60;

/// From one answer to another.
pub(super) fn difference(from: &Value, to: &Value) -> String {
    let (from, to) = (readable(from), readable(to));
    let mut input = InternedInput::default();
    input.update_before(lines(from.as_str()));
    input.update_after(lines(to.as_str()));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let printer = BasicLineDiffPrinter(&input.interner);
    let text = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string();
    let count = text.lines().count();
    let mut shown: String = text.lines().take(MOST_LINES).fold(String::new(), |text, line| text + line + "\n");
    if count > MOST_LINES {
        let _ = writeln!(shown, "… {} lines more", count - MOST_LINES);
    }
    shown
}

fn readable(answer: &Value) -> String {
    let mut out = String::new();
    write(answer, "", &mut out);
    out
}

fn write(value: &Value, path: &str, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| write(value, &format!("{path}.{key}"), out));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, value)| write(value, &format!("{path}[{index}]"), out));
        }
        Value::String(text) if text.contains('\n') => {
            let _ = writeln!(out, "{path}:");
            for line in text.lines() {
                let _ = writeln!(out, "  {}", if line.starts_with("@@ -") { "@@" } else { line });
            }
            if !text.ends_with('\n') {
                let _ = writeln!(out, "  (without a newline at its end)");
            }
        }
        value => {
            let _ = writeln!(out, "{path}: {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_shown_with_the_lines_around_it() {
        let from = json!({"action": "patch", "diff": "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"});
        let to = json!({"action": "patch", "diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"});
        let expected = "@@ -5,4 +5,3 @@\n   @@\n   -a\n   +b\n-  +c\n";
        assert_eq!(difference(&from, &to), expected);
        assert_eq!(
            difference(&json!({"a": 1}), &json!({"a": "1", "b": {}})),
            "@@ -1,1 +1,2 @@\n-.a: 1\n+.a: \"1\"\n+.b: {}\n"
        );
    }

    #[test]
    fn a_difference_of_many_lines_is_cut_short() {
        let to = json!({"a": "x\n".repeat(100)});
        assert!(difference(&json!({}), &to).ends_with("… 43 lines more\n"), "{}", difference(&json!({}), &to));
    }
}
