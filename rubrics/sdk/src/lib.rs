//! What a rubric of eval-host needs besides its judgement.
//!
//! A rubric is one type that implements [`Rubric`], and one line that makes a component of it:
//!
//! ```
//! use eval_rubric::{Answer, BenchCase, CaseFiles, Rubric, RubricError, Verdict};
//!
//! struct SaysWhatIsExpected;
//!
//! impl Rubric for SaysWhatIsExpected {
//!     fn judge(_case: &BenchCase, answer: &Answer, files: &CaseFiles) -> Result<Verdict, RubricError> {
//!         let said: std::collections::BTreeMap<String, String> = answer.parse()?;
//!         let expected = files.read_text("expected/answer.txt")?;
//!         let right = said.get("answer").is_some_and(|answer| *answer == expected);
//!         Ok(if right { Verdict::passed(1.0) } else { Verdict::failed(0.0).with_failure_mode("wrong_answer") })
//!     }
//! }
//!
//! eval_rubric::export!(SaysWhatIsExpected);
//! ```
//!
//! The same code runs natively, so that a rubric is tested with plain `cargo test`: [`CaseFiles::below`] and
//! [`CaseFiles::in_memory`] stand in for the sandbox's root, and the feature `golden` runs a bench's golden tests.
//!
//! In `Cargo.toml` a rubric is a library of two kinds, the component and what its native tests link:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib", "rlib"]
//!
//! [dependencies]
//! eval-rubric.workspace = true
//!
//! [dev-dependencies]
//! eval-rubric = { workspace = true, features = ["golden"] }
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` or `cargo component build --release` makes a component to try with `eval-host
//! rubric score`; `eval-host rubric build` makes the one that is committed.
//!
//! This crate never decides anything about an answer, and never lets a rubric state what the answer cost or how long it
//! took: a [`Verdict`] has no place for them, and [`Verdict::into_score`] copies them from what the host passed in.

mod answer;
#[doc(hidden)]
pub mod bindings;
mod component;
mod files;
#[cfg(feature = "golden")]
pub mod golden;
mod verdict;

pub use answer::Answer;
pub use bindings::eval_host::rubric::types::{BenchCase, BenchScore, Difficulty, Disposition, RubricError, Source};
pub use component::Rubric;
pub use files::{CaseFiles, FileError};
pub use verdict::Verdict;

/// What [`export!`] expands to needs this name; nothing else should.
#[doc(hidden)]
pub use component::Component;
