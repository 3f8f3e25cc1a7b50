//! That no program changes a tier: it only says which line of which file a human edits.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use eval_model::advice::{Advice, Exit};
use eval_model::ids::Tier;

/// Why a tier was not changed: it never is, by a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "PromotionMustBeHumanAuthorized: a tier is changed by a human, in a reviewed pull request: edit line {line} of `{}`, \
     `{text}`, to say `current_tier = \"{target}\"`",
    file.display()
)]
pub struct PromotionMustBeHumanAuthorized {
    pub file: PathBuf,
    /// 1 for the first line.
    pub line: usize,
    text: String,
    target: Tier,
}

impl Advice for PromotionMustBeHumanAuthorized {
    fn exit(&self) -> Exit {
        Exit::AnswerIsNo
    }

    fn hint(&self) -> Option<String> {
        Some("`eval-host promote-verdict` prints what to attach to the pull request".to_owned())
    }
}

/// Does not change the tier, whatever the evidence: it only says where a human does. `registration` is the content of `file`.
pub fn apply(target: Tier, file: &Path, registration: &str) -> Result<Infallible, PromotionMustBeHumanAuthorized> {
    let is_tier = |(_, line): &(usize, &str)| {
        line.trim_start().strip_prefix("current_tier").is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let (index, text) = registration.lines().enumerate().find(is_tier).unwrap_or((0, ""));
    Err(PromotionMustBeHumanAuthorized { file: file.to_owned(), line: index + 1, text: text.trim().to_owned(), target })
}
