//! Judges evidence: walks every chain from its first record, checks what the records name, and says what is wrong and where.
//!
//! Verification reads stored bytes and never makes them anew. It reports everything it finds, not only the first thing, and
//! it never repairs what it judges. There is no way for it to skip something and still say OK.

mod against;
mod answers;
mod case;
mod contents;
mod continued;
mod figures;
mod finding;
mod last_seen;
mod markers;
mod note;
mod replay;
mod run_summary;
mod signatures;
mod verification;
mod walk;

pub use against::ObjectScope;
pub use answers::AnswerDefect;
pub(crate) use answers::ObjectFacts;
pub use case::{RestoreCaseError, read_manifest};
pub(crate) use continued::continued_contradiction;
pub use figures::{Contradiction, contradiction};
pub use finding::{Defect, ExcerptDefect, Finding, State};
pub use last_seen::{FirstUse, LastSeenError, LastSeenFile};
pub use note::Note;
pub use replay::{Compiled, FuelTerms, Replay, ReplaySettings, replay, replay_record};
pub use run_summary::RunSummary;
pub use signatures::SignatureCounts;
pub use verification::{ClassSummary, Verification};
pub use walk::{Checks, VerifyError, verify_evidence, verify_store};
