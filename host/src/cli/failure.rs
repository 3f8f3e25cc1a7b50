//! How an error reaches a person: what, caused by what, and what to do. Errors quote files that anybody may have written, so
//! nothing of one reaches a terminal unescaped.

use std::error::Error;
use std::fmt::Write as _;
use std::iter::successors;

use eval_model::advice::{Advice, Exit};
use eval_model::text::Message;

/// An error on its way to stderr, with the exit code it gives.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    what: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// The same with other advice, of which an error below the command line cannot know.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn rendered(&self) -> String {
        let mut text = format!("error: {}", Message(&self.what));
        for cause in &self.causes {
            let _ = write!(text, "\n  caused by: {}", Message(cause));
        }
        if let Some(hint) = &self.hint {
            let _ = write!(text, "\nhint: {}", Message(hint));
        }
        text
    }
}

/// The whole chain of causes: an error's own text never contains its source's.
fn chain(error: Option<&dyn Error>) -> Vec<String> {
    successors(error, |error| (*error).source()).map(ToString::to_string).collect()
}

impl<E: Advice> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { exit: error.exit(), what: error.to_string(), causes: chain(error.source()), hint: error.hint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "x\r\u{1b}[2KOK\u{202e}\n";

    #[derive(Debug, thiserror::Error)]
    #[error("{HOSTILE}")]
    struct HostileError(#[source] std::io::Error);

    impl Advice for HostileError {
        fn hint(&self) -> Option<String> {
            Some(HOSTILE.to_owned())
        }
    }

    #[test]
    fn nothing_of_a_failure_reaches_a_terminal_unescaped() {
        let failure = Failure::from(HostileError(std::io::Error::other(HOSTILE)));
        let escaped = r"x\r\u{1b}[2KOK\u{202e}\n";
        let expected = format!("error: {escaped}\n  caused by: {escaped}\nhint: {escaped}");
        assert_eq!(failure.rendered(), expected);
    }
}
