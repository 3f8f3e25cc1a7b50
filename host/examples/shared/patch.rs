//! The answer of an agent that edits files: a unified diff between two states of a workspace. Files are changed, never created or
//! deleted, because no agent here needs more.

use std::fmt;

use gix_imara_diff::{Algorithm, Diff, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter};

use super::Files;

/// Everything that differs between the two, file by file. Empty if nothing does.
pub(crate) fn unified(before: &Files, after: &Files) -> String {
    let mut patch = String::new();
    for (path, old) in before {
        if let Some(new) = after.get(path).filter(|new| *new != old) {
            let input = InternedInput::new(old.as_str(), new.as_str());
            let mut diff = Diff::compute(Algorithm::MyersMinimal, &input);
            diff.postprocess_lines(&input);
            let lines = Lines(&input.interner);
            let hunks = diff.unified_diff(&lines, UnifiedDiffConfig::default(), &input);
            patch.push_str(&format!("--- a/{path}\n+++ b/{path}\n{hunks}"));
        }
    }
    patch
}

/// Says where a file ends without a newline, which the crate's own printer does not.
struct Lines<'a>(&'a Interner<&'a str>);

impl Lines<'_> {
    fn line(&self, f: &mut impl fmt::Write, mark: char, token: Token) -> fmt::Result {
        let text = self.0[token];
        let end = if text.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        write!(f, "{mark}{text}{end}")
    }
}

impl UnifiedDiffPrinter for Lines<'_> {
    fn display_header(
        &self,
        mut f: impl fmt::Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        // A side without lines is said to be after the line before it.
        let (old, new) = (start_before + len_before.min(1), start_after + len_after.min(1));
        writeln!(f, "@@ -{old},{len_before} +{new},{len_after} @@")
    }

    fn display_context_token(&self, mut f: impl fmt::Write, token: Token) -> fmt::Result {
        self.line(&mut f, ' ', token)
    }

    fn display_hunk(&self, mut f: impl fmt::Write, before: &[Token], after: &[Token]) -> fmt::Result {
        before.iter().try_for_each(|token| self.line(&mut f, '-', *token))?;
        after.iter().try_for_each(|token| self.line(&mut f, '+', *token))
    }
}
