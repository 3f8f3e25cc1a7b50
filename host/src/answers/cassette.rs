//! Cassettes: stored answers, replayed without network and without cost.
//!
//! A cassette names the input it was made for, so one that has gone stale is noticed. The answer in it is kept verbatim: a
//! replay hands the rubric the very bytes that the system under test wrote.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, SutName};
use eval_evidence::files::{Audience, Dir, Draft, FileError, MOST_FILE_BYTES};
use eval_model::contract::Meter;
use eval_model::ids::{CaseId, Digest};
use eval_model::json;
use eval_model::money::{MOST_DOLLARS, is_possible_cost};
use eval_model::outcome::{NoOutput, OutcomeClass};
use eval_model::utc::UtcMillis;

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
    #[error(transparent)]
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
    #[serde(deserialize_with = "UtcMillis::deserialize_in_any_spelling")]
    recorded_at: UtcMillis,
    duration_seconds: f64,
    cost_usd: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<NoOutput>,
}

/// Reads the cassette `file_name` in `folder`. A missing one is a [`FileError`] of its own kind, for the caller to tell.
pub(crate) fn read_cassette(folder: &Dir, file_name: &str) -> Result<Cassette, CassetteError> {
    let bytes = folder.read(file_name, MOST_FILE_BYTES).map_err(CassetteError::File)?;
    parse(&bytes).map_err(|message| CassetteError::Malformed { file_name: file_name.to_owned(), message })
}

fn parse(bytes: &[u8]) -> Result<Cassette, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    let file: CassetteFile = json::parse(text).map_err(|error| error.to_string())?;
    if file.schema_version != SCHEMA_VERSION {
        return Err(format!("schema_version is {}, this eval-host reads {SCHEMA_VERSION}", file.schema_version));
    }
    for (field, number) in [("duration_seconds", file.duration_seconds), ("cost_usd", file.cost_usd)] {
        if number.is_sign_negative() {
            return Err(format!("{field} is {number}, which must not be negative"));
        }
    }
    if !is_possible_cost(file.cost_usd) {
        return Err(format!("cost_usd is {}, and no case costs more than {MOST_DOLLARS}", file.cost_usd));
    }
    let output = match (file.output, file.error) {
        (Some(output), None) if output.get().starts_with('{') => Ok(output.get().to_owned()),
        (Some(_), None) => return Err("output is not a JSON object".to_owned()),
        (None, Some(error)) if error.mode().class() == OutcomeClass::SutFault => Err(error),
        (None, Some(error)) => {
            return Err(format!("error is `{}`, which is no answer of a system under test", error.mode().name()));
        }
        _ => return Err("exactly one of output and error is needed".to_owned()),
    };
    Ok(Cassette {
        digest: Digest::of(bytes),
        sut: file.sut,
        kind: file.kind,
        input_digest: file.input_digest,
        answer: Answer::new(output, Meter { cost_usd: file.cost_usd, duration_seconds: file.duration_seconds }),
    })
}

/// An answer of a live system under test, on its way into a cassette.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recording<'a> {
    pub(crate) sut: &'a SutName,
    pub(crate) input_digest: Digest,
    pub(crate) recorded_at: UtcMillis,
    pub(crate) answer: &'a Answer,
}

#[derive(Debug, thiserror::Error)]
#[error("the cassette `{}` could not be written", path.display())]
pub(crate) struct RecordError {
    path: PathBuf,
    source: FileError,
}

/// Writes `<folder>/<case-id>.json`, whole or not at all, in place of one that is there. Faults are recorded too. An answer
/// that never was one (a case that was skipped) leaves no cassette.
pub(crate) fn record_cassette(folder: &Path, case_id: &CaseId, recording: &Recording<'_>) -> Result<(), RecordError> {
    let name = format!("{case_id}.json");
    match to_json(recording) {
        Some(bytes) => write(folder, &name, &bytes).map_err(|source| RecordError { path: folder.join(name), source }),
        None => Ok(()),
    }
}

fn to_json(recording: &Recording<'_>) -> Option<Vec<u8>> {
    let (output, error) = match &recording.answer.output {
        Ok(json) => (Some(RawValue::from_string(json.clone()).expect("an answer was checked to be JSON")), None),
        Err(reason) if reason.mode().class() == OutcomeClass::SutFault => (None, Some(reason.clone())),
        Err(_) => return None,
    };
    let file = CassetteFile {
        schema_version: SCHEMA_VERSION,
        sut: recording.sut.clone(),
        kind: CassetteKind::Recorded,
        input_digest: recording.input_digest,
        recorded_at: recording.recorded_at,
        duration_seconds: recording.answer.meter.duration_seconds,
        cost_usd: recording.answer.meter.cost_usd,
        output,
        error,
    };
    // Pretty around the answer, which stays as it is.
    let mut bytes = serde_json::to_vec_pretty(&file).expect("checked numbers and texts serialise");
    bytes.push(b'\n');
    Some(bytes)
}

/// Cassettes are committed and shared, so they are not private.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    let mut draft = Draft::begin(Dir::open_ambient(folder)?, name, Audience::Umask)?;
    draft.write(bytes)?;
    draft.publish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_model::outcome::{CaseFault, HarnessErrorKind};
    use std::fs;

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
        assert_eq!(timeout.answer.output, Err(NoOutput::SutTimeout));
        let text = cassette(r#","error":{"mode":"harness_error","kind":"exit_status","message":"exit status 3"}"#);
        let fault = parse(text.as_bytes()).expect("a cassette").answer.output.expect_err("a fault");
        assert_eq!(CaseFault::NoOutput(fault).to_string(), "harness_error: exit_status: exit status 3");
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
    }

    #[test]
    fn a_cost_that_no_case_can_have_is_refused() {
        assert!(refused(&cassette(r#","output":{}"#).replace("0.0", "-1.0")).starts_with("cost_usd is -1"));
        assert!(refused(&cassette(r#","output":{}"#).replace("0.0", "1.7e308")).ends_with("costs more than 1000000"));
    }

    #[test]
    fn what_is_recorded_is_replayed_to_the_byte() {
        let folder = tempfile::tempdir().expect("a folder");
        let sut = SutName { name: "agent".to_owned(), version: "1".to_owned() };
        let case_id: CaseId = "001-a".parse().expect("a case id");
        let message = "exit status 3".to_owned();
        for output in [
            Ok("{ \"b\" :\t1.50,\n \"a\":[] }".to_owned()),
            Err(NoOutput::SutTimeout),
            Err(NoOutput::Harness { kind: HarnessErrorKind::ExitStatus, message }),
        ] {
            let answer = Answer::new(output, Meter { cost_usd: 0.1, duration_seconds: 1.5 });
            let recorded_at = "2026-11-16T00:00:00.000Z".parse().expect("a time");
            let recording = Recording { sut: &sut, input_digest: Digest::of(b"input"), recorded_at, answer: &answer };
            record_cassette(folder.path(), &case_id, &recording).expect("written");
            let folder = Dir::open_ambient(folder.path()).expect("a folder");
            let cassette = read_cassette(&folder, "001-a.json").expect("a cassette");
            assert_eq!((&cassette.answer, &cassette.sut, cassette.kind), (&answer, &sut, CassetteKind::Recorded));
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing but the cassette is left");
    }

    #[test]
    fn whatever_the_clock_shows_what_is_recorded_can_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = Answer::new(Ok("{}".to_owned()), Meter { cost_usd: 0.1, duration_seconds: 1.5 });
        let sut = SutName { name: "agent".to_owned(), version: "1".to_owned() };
        for text in ["0000-01-01T00:00:00.000Z", "2026-11-16T00:00:00.000Z", "9999-12-31T23:59:59.999Z"] {
            let recorded_at = text.parse().expect("a time");
            let recording = Recording { sut: &sut, input_digest: Digest::of(b"input"), recorded_at, answer: &answer };
            record_cassette(folder.path(), &"001-a".parse().expect("a case id"), &recording).expect("written");
            read_cassette(&Dir::open_ambient(folder.path()).expect("a folder"), "001-a.json").expect(text);
        }
        refused(&cassette(r#","output":{}"#).replace("2026-11-16T00:00:00Z", "10000-01-01T00:00:00Z"));
        refused(&cassette(r#","output":{}"#).replace("2026-11-16T00:00:00Z", "today"));
    }

    #[test]
    fn what_the_host_decided_is_not_recorded_as_an_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = Answer::none(NoOutput::SkippedCostCap);
        let sut = SutName { name: "agent".to_owned(), version: "1".to_owned() };
        let recorded_at = "2026-11-16T00:00:00.000Z".parse().expect("a time");
        let recording = Recording { sut: &sut, input_digest: Digest::of(b"input"), recorded_at, answer: &answer };
        record_cassette(folder.path(), &"001-a".parse().expect("a case id"), &recording).expect("nothing to write");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
