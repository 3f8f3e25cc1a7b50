//! Cassettes: stored answers, replayed without network and without cost.
//!
//! A cassette names the input it was made for, so one that has gone stale is noticed. The answer in it is kept verbatim: a
//! replay hands the rubric the very bytes that the system under test wrote.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, HarnessErrorKind, SutName};
use crate::contract::Meter;
use crate::files::{FileError, Folder, MOST_FILE_BYTES};
use crate::ids::Digest;
use crate::json;
use crate::score::CaseFault;

const SCHEMA_VERSION: u64 = 1;

/// Whether the answer came from a system under test, or from a curator who knows the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CassetteKind {
    Recorded,
    SolvedExample,
}

/// A cassette that was read and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cassette {
    pub(crate) digest: Digest,
    pub(crate) sut: SutName,
    pub(crate) kind: CassetteKind,
    /// The input of the case that it was made for.
    pub(crate) input_digest: Digest,
    pub(crate) answer: Answer,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CassetteError {
    #[error("{0}")]
    File(FileError),
    #[error("`{file_name}` is not a cassette: {message}")]
    Malformed { file_name: String, message: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteFile {
    schema_version: u64,
    sut: SutName,
    kind: CassetteKind,
    input_digest: Digest,
    recorded_at: jiff::Timestamp,
    duration_seconds: f64,
    cost_usd: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RecordedError>,
}

/// An answer that never came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mode", deny_unknown_fields)]
enum RecordedError {
    Timeout,
    HarnessError { kind: HarnessErrorKind, message: String },
}

impl RecordedError {
    fn into_fault(self) -> CaseFault {
        match self {
            Self::Timeout => CaseFault::SutTimeout,
            Self::HarnessError { kind, message } => CaseFault::Harness { kind: kind.as_str(), message },
        }
    }
}

/// Reads the cassette `file_name` in `folder`. A missing one is a [`FileError`] of its own kind, for the caller to tell.
pub(crate) fn read_cassette(folder: &Folder, file_name: &str) -> Result<Cassette, CassetteError> {
    let bytes = folder.read(file_name, MOST_FILE_BYTES).map_err(CassetteError::File)?;
    parse(&bytes).map_err(|message| CassetteError::Malformed { file_name: file_name.to_owned(), message })
}

fn parse(bytes: &[u8]) -> Result<Cassette, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    json::check_object(text).map_err(|error| error.to_string())?;
    let file: CassetteFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.schema_version != SCHEMA_VERSION {
        return Err(format!("schema_version is {}, this eval-host reads {SCHEMA_VERSION}", file.schema_version));
    }
    for (field, number) in [("duration_seconds", file.duration_seconds), ("cost_usd", file.cost_usd)] {
        if number.is_sign_negative() {
            return Err(format!("{field} is {number}, which must not be negative"));
        }
    }
    let output = match (file.output, file.error) {
        (Some(output), None) if output.get().starts_with('{') => Ok(output.get().to_owned()),
        (Some(_), None) => return Err("output is not a JSON object".to_owned()),
        (None, Some(error)) => Err(error.into_fault()),
        _ => return Err("exactly one of output and error is needed".to_owned()),
    };
    Ok(Cassette {
        digest: Digest::of(bytes),
        sut: file.sut,
        kind: file.kind,
        input_digest: file.input_digest,
        answer: Answer { output, meter: Meter { cost_usd: file.cost_usd, duration_seconds: file.duration_seconds } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cassette(rest: &str) -> String {
        let digest = Digest::of(b"input");
        format!(
            r#"{{"schema_version":1,"sut":{{"name":"curator","version":"1"}},"kind":"solved-example","input_digest":"{digest}","recorded_at":"2026-11-16T00:00:00Z","duration_seconds":1.5,"cost_usd":0.0{rest}}}"#
        )
    }

    fn refused(text: &str) -> String {
        parse(text.as_bytes()).expect_err("it must be refused")
    }

    #[test]
    fn an_output_is_kept_verbatim() {
        let parsed = parse(cassette(r#","output":{ "b" : 1.50,  "a":[] }"#).as_bytes()).expect("a cassette");
        assert_eq!(parsed.answer.output, Ok(r#"{ "b" : 1.50,  "a":[] }"#.to_owned()));
        assert_eq!(parsed.kind, CassetteKind::SolvedExample);
        assert_eq!(parsed.answer.meter, Meter { cost_usd: 0.0, duration_seconds: 1.5 });
    }

    #[test]
    fn a_recorded_failure_is_replayed_as_the_fault_it_was() {
        let timeout = parse(cassette(r#","error":{"mode":"timeout"}"#).as_bytes()).expect("a cassette");
        assert_eq!(timeout.answer.output, Err(CaseFault::SutTimeout));
        let text = cassette(r#","error":{"mode":"harness_error","kind":"exit_status","message":"exit status 3"}"#);
        let fault = parse(text.as_bytes()).expect("a cassette").answer.output.expect_err("a fault");
        assert_eq!(fault.to_string(), "harness_error: exit_status: exit status 3");
    }

    #[test]
    fn what_is_ambiguous_or_incomplete_is_refused() {
        assert_eq!(refused(&cassette("")), "exactly one of output and error is needed");
        assert_eq!(
            refused(&cassette(r#","output":{},"error":{"mode":"timeout"}"#)),
            "exactly one of output and error is needed"
        );
        assert_eq!(refused(&cassette(r#","output":[]"#)), "output is not a JSON object");
        assert!(refused(&cassette(r#","output":{"a":1,"a":2}"#)).starts_with("the key `a` occurs twice"));
        assert!(refused(&cassette(r#","output":{},"extra":1"#)).starts_with("unknown field `extra`"));
        assert!(
            refused(&cassette("").replace("\"schema_version\":1", "\"schema_version\":2"))
                .contains("schema_version is 2")
        );
        assert!(refused(&cassette(r#","output":{}"#).replace("0.0", "-1.0")).starts_with("cost_usd is -1"));
    }
}
