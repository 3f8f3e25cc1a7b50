//! EvalRunRecord: one run as the exact bytes that are hashed, chained and kept, and the strict way back.
//!
//! A record is written once, from scores that this process admitted. Reading one gives [`RecordedScore`]s, which nothing can
//! aggregate or chain. Reading forgives nothing: unknown or repeated keys, wrong types, non-finite numbers and bytes behind
//! the end are errors, because what one reader skips is what another one is shown. `docs/record-format.md` is the format's
//! document; the two change together.

#[cfg(test)]
pub mod fixture;
mod per_case;
mod run_record;

pub use per_case::PerCase;
pub use run_record::{
    EvalRunRecord, GitCommit, MOST_RECORD_BYTES, Mode, OutputKind, ReadRecordError, RecordedRun, RecordedScore,
    SCHEMA_MINOR, SCHEMA_VERSION, ScoreFields, ScoreNumbers, Sut,
};
