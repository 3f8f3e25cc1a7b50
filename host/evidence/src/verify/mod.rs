//! Judges evidence: walks every chain from its first record, checks what the records name, and says what is wrong and where.
//!
//! Verification reads stored bytes and never makes them anew. It reports everything it finds, not only the first thing, and
//! it never repairs what it judges. There is no way for it to skip something and still say OK.

mod answers;
mod case;
mod figures;
mod finding;
mod last_seen;
mod note;
mod replay;
mod run_summary;
mod signature;
mod walk;

pub use answers::AnswerDefect;
pub(crate) use answers::ObjectFacts;
pub use case::{RestoreCaseError, read_manifest};
pub use figures::{Contradiction, contradiction};
pub use finding::{Defect, Finding, State};
pub use last_seen::{FirstUse, LastSeenError, LastSeenFile};
pub use note::Note;
pub use replay::{Replay, ReplaySettings, replay};
pub use run_summary::RunSummary;
pub use signature::RecordSignature;
pub use walk::{Checks, ClassSummary, ObjectScope, Verification, VerifyError, verify_evidence, verify_store};
