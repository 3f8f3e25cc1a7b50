//! A cassette: a stored answer, as a bench keeps it and as a record names it.
//!
//! Its bytes are evidence: who answered, whether a system under test or a curator did, for which input, at what cost. A record
//! that says otherwise than its cassettes is refused, so nobody can relabel an answer key in a record. The answer in it is kept
//! verbatim. Where cassettes lie in a bench is none of this module's business.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::chain::StoreId;
use eval_model::contract::Meter;
use eval_model::ids::Digest;
use eval_model::json;
use eval_model::money::{MOST_DOLLARS, is_possible_cost};
use eval_model::outcome::{NoOutput, OutcomeClass};
use eval_model::utc::UtcMillis;

const SCHEMA_VERSION: u64 = 1;

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SutName {
    pub name: String,
    pub version: String,
    /// The model that it says it asked; left out where nobody said it.
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Whether the answer came from a system under test, or from a curator who knows the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CassetteKind {
    Recorded,
    SolvedExample,
}

/// The live run that an answer was recorded in: a claim, which its record must bear out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    pub store_id: StoreId,
    /// The marker that announced the run.
    pub started_marker: Digest,
    /// `null` for an answer without an output.
    #[serde(deserialize_with = "Option::deserialize")]
    pub output_digest: Option<Digest>,
}

/// A cassette that was read and checked, with its exact text.
#[derive(Debug, Clone, PartialEq)]
pub struct Cassette {
    text: String,
    pub digest: Digest,
    pub sut: SutName,
    pub kind: CassetteKind,
    /// The input of the case that it was made for.
    pub input_digest: Digest,
    pub provenance: Option<Provenance>,
    /// One JSON object, verbatim, or why the system under test gave none.
    pub output: Result<String, NoOutput>,
    output_digest: Option<Digest>,
    pub meter: Meter,
}

/// Why bytes are no cassette.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    #[error("schema_version is {found}, this eval-host reads {SCHEMA_VERSION}")]
    Newer { found: u64 },
    #[error("{0}")]
    Malformed(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteFile {
    schema_version: u64,
    sut: SutName,
    kind: CassetteKind,
    input_digest: Digest,
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    #[serde(deserialize_with = "UtcMillis::deserialize_in_any_spelling")]
    recorded_at: UtcMillis,
    duration_seconds: f64,
    cost_usd: f64,
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "json::not_null", skip_serializing_if = "Option::is_none")]
    error: Option<NoOutput>,
}

impl CassetteFile {
    fn check_numbers(&self) -> Result<(), String> {
        for (field, number) in [("duration_seconds", self.duration_seconds), ("cost_usd", self.cost_usd)] {
            if number.is_sign_negative() {
                return Err(format!("{field} is {number}, which must not be negative"));
            }
        }
        if is_possible_cost(self.cost_usd) {
            return Ok(());
        }
        Err(format!("cost_usd is {}, and no case costs more than {MOST_DOLLARS}", self.cost_usd))
    }

    fn into_answer(self) -> Result<(SutName, Result<String, NoOutput>), String> {
        match (self.output, self.error) {
            (Some(output), None) if output.get().starts_with('{') => {
                Ok((self.sut, Ok(String::from(Box::<str>::from(output)))))
            }
            (Some(_), None) => Err("output is not a JSON object".to_owned()),
            (None, Some(error)) if error.mode().class() == OutcomeClass::SutFault => Ok((self.sut, Err(error))),
            (None, Some(error)) => {
                Err(format!("error is `{}`, which is no answer of a system under test", error.mode().name()))
            }
            _ => Err("exactly one of output and error is needed".to_owned()),
        }
    }
}

impl Cassette {
    /// Reads a cassette without forgiving anything.
    pub fn parse(bytes: &[u8]) -> Result<Self, CassetteError> {
        let text = str::from_utf8(bytes).map_err(|_| CassetteError::Malformed("not UTF-8 text".to_owned()))?;
        match json::parse::<CassetteFile>(text) {
            Ok(CassetteFile { schema_version: found, .. }) if found > SCHEMA_VERSION => {
                Err(CassetteError::Newer { found })
            }
            Ok(file) => Self::from_file(file, text).map_err(CassetteError::Malformed),
            Err(error) => Err(Self::not_parsed(text, &error)),
        }
    }

    /// A newer format need not be one that this parser could read.
    fn not_parsed(text: &str, error: &serde_json::Error) -> CassetteError {
        match json::version(text) {
            Some(json::Version { schema_version: found, .. }) if found > SCHEMA_VERSION => {
                CassetteError::Newer { found }
            }
            _ => CassetteError::Malformed(error.to_string()),
        }
    }

    fn from_file(file: CassetteFile, text: &str) -> Result<Self, String> {
        if file.schema_version != SCHEMA_VERSION {
            return Err(format!("schema_version is {}, and there is no such version", file.schema_version));
        }
        file.check_numbers()?;
        let (kind, input_digest, provenance) = (file.kind, file.input_digest, file.provenance);
        let meter = Meter { cost_usd: file.cost_usd, duration_seconds: file.duration_seconds };
        let (sut, output) = file.into_answer()?;
        let output_digest = output.as_ref().ok().map(|json| Digest::of(json.as_bytes()));
        if provenance.is_some() && kind == CassetteKind::SolvedExample {
            return Err("a solved example has no provenance: no live run gave it".to_owned());
        }
        if provenance.is_some_and(|provenance| provenance.output_digest != output_digest) {
            return Err("provenance.output_digest is that of another output".to_owned());
        }
        let (text, digest) = (text.to_owned(), Digest::of(text.as_bytes()));
        Ok(Self { text, digest, sut, kind, input_digest, provenance, output, output_digest, meter })
    }

    /// The exact text, whose BLAKE3 is the cassette's digest.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of the output, as it was hashed when the cassette was read.
    pub fn output_digest(&self) -> Option<Digest> {
        self.output_digest
    }
}

/// A file that carries a cassette carries its exact text.
impl Serialize for Cassette {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Cassette {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text.as_bytes()).map_err(D::Error::custom)
    }
}

/// An answer of a live system under test, on its way into a cassette.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    pub sut: &'a SutName,
    pub input_digest: Digest,
    pub store_id: StoreId,
    pub started_marker: Digest,
    pub recorded_at: UtcMillis,
    pub output: &'a Result<String, NoOutput>,
    pub meter: Meter,
}

impl Recording<'_> {
    /// The bytes of the cassette. Faults of the system under test are recorded too; what never was an answer of one (a case that
    /// was skipped) gives no cassette.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let (output, error) = match self.output {
            Ok(json) => (Some(RawValue::from_string(json.clone()).expect("an answer was checked to be JSON")), None),
            Err(reason) if reason.mode().class() == OutcomeClass::SutFault => (None, Some(reason.clone())),
            Err(_) => return None,
        };
        let output_digest = output.as_ref().map(|json| Digest::of(json.get().as_bytes()));
        let (store_id, started_marker) = (self.store_id, self.started_marker);
        let file = CassetteFile {
            schema_version: SCHEMA_VERSION,
            sut: self.sut.clone(),
            kind: CassetteKind::Recorded,
            input_digest: self.input_digest,
            provenance: Some(Provenance { store_id, started_marker, output_digest }),
            recorded_at: self.recorded_at,
            duration_seconds: self.meter.duration_seconds,
            cost_usd: self.meter.cost_usd,
            output,
            error,
        };
        // Pretty around the answer, which stays as it is.
        let mut bytes = serde_json::to_vec_pretty(&file).expect("checked numbers and texts serialise");
        bytes.push(b'\n');
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_model::outcome::{CaseFault, HarnessErrorKind};

    fn cassette(rest: &str) -> String {
        let digest = Digest::of(b"input");
        format!(
            r#"{{"schema_version":1,"sut":{{"name":"curator","version":"1"}},"kind":"solved-example","input_digest":"{digest}","recorded_at":"2026-11-16T00:00:00Z","duration_seconds":1.5,"cost_usd":0.0{rest}}}"#
        )
    }

    fn parse(text: &str) -> Cassette {
        Cassette::parse(text.as_bytes()).expect("a cassette")
    }

    fn refused(text: &str) -> String {
        Cassette::parse(text.as_bytes()).expect_err("it must be refused").to_string()
    }

    #[test]
    fn an_output_is_kept_verbatim() {
        let parsed = parse(&cassette(r#","output":{ "b" : 1.50,  "a":[] }"#));
        assert_eq!(parsed.output, Ok(r#"{ "b" : 1.50,  "a":[] }"#.to_owned()));
        assert_eq!(parsed.kind, CassetteKind::SolvedExample);
        assert_eq!(parsed.meter, Meter { cost_usd: 0.0, duration_seconds: 1.5 });
    }

    #[test]
    fn a_recorded_failure_is_replayed_as_the_fault_it_was() {
        let timeout = parse(&cassette(r#","error":{"mode":"timeout"}"#));
        assert_eq!(timeout.output, Err(NoOutput::SutTimeout));
        let text = cassette(r#","error":{"mode":"harness_error","kind":"exit_status","message":"exit status 3"}"#);
        let fault = parse(&text).output.expect_err("a fault");
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
        assert_eq!(
            refused(&cassette(r#","output":{}"#).replace("\"schema_version\":1", "\"schema_version\":0")),
            "schema_version is 0, and there is no such version"
        );
    }

    #[test]
    fn a_cassette_has_one_spelling() {
        for (rest, why) in [
            (r#","error":{"mode":"timeout","x":1}"#, "unknown field `x`"),
            (r#","error":{"mode":"timeout","kind":"signal"}"#, "`timeout` has neither"),
            (r#","error":["timeout"]"#, "invalid type: sequence"),
            (r#","error":{"mode":"timeout"},"output":null"#, "exactly one of output and error is needed"),
            (r#","output":{},"error":null"#, "invalid type: null"),
            (r#","output":{},"provenance":null"#, "invalid type: null"),
        ] {
            let error = refused(&cassette(rest));
            assert!(error.starts_with(why), "{rest}: {error}");
        }
        let text = cassette(r#","output":{}"#);
        for (from, to) in [
            (r#"{"name":"curator","version":"1"}"#, r#"["curator","1"]"#),
            (r#""solved-example""#, r#"{"solved-example":null}"#),
        ] {
            assert!(refused(&text.replace(from, to)).starts_with("invalid type: "), "{to}");
        }
    }

    #[test]
    fn a_cost_that_no_case_can_have_is_refused() {
        assert!(refused(&cassette(r#","output":{}"#).replace("0.0", "-1.0")).starts_with("cost_usd is -1"));
        assert!(refused(&cassette(r#","output":{}"#).replace("0.0", "1.7e308")).ends_with("costs more than 1000000"));
    }

    #[test]
    fn a_provenance_is_about_the_very_output_and_never_of_a_solved_example() {
        let provenance = |kind: &str, output: &str| {
            let (store, digest) = ("0".repeat(32), Digest::of(output.as_bytes()));
            let rest = format!(
                r#","output":{{}},"provenance":{{"store_id":"{store}","started_marker":"{digest}","output_digest":"{digest}"}}"#
            );
            cassette(&rest).replace("solved-example", kind)
        };
        assert!(parse(&provenance("recorded", "{}")).provenance.is_some());
        assert_eq!(refused(&provenance("recorded", "{ }")), "provenance.output_digest is that of another output");
        assert!(refused(&provenance("solved-example", "{}")).starts_with("a solved example has no provenance"));
    }

    #[test]
    fn what_is_recorded_reads_back_to_the_byte_and_names_its_run() {
        let sut = SutName { name: "agent".to_owned(), version: "1".to_owned(), model: Some("a-model".to_owned()) };
        let message = "exit status 3".to_owned();
        for output in [
            Ok("{ \"b\" :\t1.50,\n \"a\":[] }".to_owned()),
            Err(NoOutput::SutTimeout),
            Err(NoOutput::Harness { kind: HarnessErrorKind::ExitStatus, message }),
        ] {
            let meter = Meter { cost_usd: 0.1, duration_seconds: 1.5 };
            let (store_id, started_marker) = (StoreId::from_bytes([3; 16]), Digest::of(b"marker"));
            let recorded_at = "2026-11-16T00:00:00.000Z".parse().expect("a time");
            let input_digest = Digest::of(b"input");
            let recording =
                Recording { sut: &sut, input_digest, store_id, started_marker, recorded_at, output: &output, meter };
            let cassette = Cassette::parse(&recording.to_bytes().expect("an answer")).expect("a cassette");
            assert_eq!((&cassette.output, &cassette.sut, cassette.meter), (&output, &sut, meter));
            let provenance = cassette.provenance.expect("it names its run");
            assert_eq!((provenance.store_id, provenance.started_marker), (store_id, started_marker));
            let carried: Cassette = serde_json::from_str(&serde_json::to_string(&cassette).expect("JSON")).expect("it");
            assert_eq!(carried, cassette);
        }
    }

    #[test]
    fn what_the_host_decided_is_not_recorded_as_an_answer() {
        let sut = SutName { name: "agent".to_owned(), version: "1".to_owned(), model: None };
        let recording = Recording {
            sut: &sut,
            input_digest: Digest::of(b"input"),
            store_id: StoreId::from_bytes([3; 16]),
            started_marker: Digest::of(b"marker"),
            recorded_at: "2026-11-16T00:00:00.000Z".parse().expect("a time"),
            output: &Err(NoOutput::SkippedCostCap),
            meter: Meter::default(),
        };
        assert_eq!(recording.to_bytes(), None);
    }

    #[test]
    fn whatever_the_clock_shows_what_is_recorded_can_be_read() {
        for text in ["0000-01-01T00:00:00.000Z", "2026-11-16T00:00:00.000Z", "9999-12-31T23:59:59.999Z"] {
            parse(&cassette(r#","output":{}"#).replace("2026-11-16T00:00:00Z", text));
        }
        refused(&cassette(r#","output":{}"#).replace("2026-11-16T00:00:00Z", "10000-01-01T00:00:00Z"));
        refused(&cassette(r#","output":{}"#).replace("2026-11-16T00:00:00Z", "today"));
    }
}
