//! The record itself: its fields, its bytes and the strict way back. It never reads an object, a store or a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::PerCase;
use crate::cassette::{CassetteKind, SutName};
use crate::chain::{Link, Position, StoreId, hash_of};
use eval_model::confinement::Confinement;
use eval_model::ids::{CaseId, Digest, RecordHash, RunId, TaskClassName};
use eval_model::json;
use eval_model::limits::RawLimits;
use eval_model::outcome::{HostMode, is_mode_name};
use eval_model::report::{CaseResult, Report, block_severity_modes};
use eval_model::score::BenchScore;
use eval_model::text::Words;
use eval_model::utc::UtcMillis;

/// The version of the format that this program writes, and the newest that it reads: `schema_version` and `schema_minor`.
///
/// A field that is added raises the minor version: a program that does not know the field cannot read the record, says so,
/// and never takes it for one that was tampered with. Anything else that changes raises the version.
///
/// - 1.0: the first one.
pub const SCHEMA_VERSION: u32 = 1;
pub const SCHEMA_MINOR: u32 = 0;

/// Most bytes that a record can have: some twenty times the record of a bench with a thousand cases.
pub const MOST_RECORD_BYTES: u64 = 64 << 20;

/// Where the outputs of a run came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Live,
    Cassette,
}

/// What kind of outputs were scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// Made by the system under test during this run.
    Live,
    /// Made by the system under test earlier, and replayed.
    Recorded,
    /// Written by a curator: an answer key, not evidence.
    SolvedExample,
}

impl From<CassetteKind> for OutputKind {
    fn from(kind: CassetteKind) -> Self {
        match kind {
            CassetteKind::Recorded => Self::Recorded,
            CassetteKind::SolvedExample => Self::SolvedExample,
        }
    }
}

/// A system under test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sut {
    pub name: String,
    pub version: String,
    /// The model that it says it asked.
    #[serde(deserialize_with = "Option::deserialize")]
    pub model: Option<String>,
    /// The BLAKE3 of the command that was run, for a live run.
    #[serde(deserialize_with = "Option::deserialize")]
    pub command_digest: Option<Digest>,
    /// The BLAKE3 of the executable that was started and of the script files that its command names, by their file names. Empty
    /// for cassettes.
    pub files: BTreeMap<String, Digest>,
}

impl Sut {
    /// The systems under test of a run, by who answered each case and with which output. A fault is nobody's output, and an agent
    /// that was ended cannot say who it is; so only where there is no output at all does it count who was asked.
    pub fn of_answers(answers: impl IntoIterator<Item = (Self, Option<Digest>)>) -> BTreeSet<Self> {
        let (with_output, without): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, output)| output.is_some());
        let counted = if with_output.is_empty() { without } else { with_output };
        counted.into_iter().map(|(sut, _)| sut).collect()
    }

    /// The name as a cassette has it.
    pub fn to_name(&self) -> SutName {
        SutName { name: self.name.clone(), version: self.version.clone(), model: self.model.clone() }
    }
}

/// Whoever a cassette names was not started by the run that replays it.
impl From<SutName> for Sut {
    fn from(SutName { name, version, model }: SutName) -> Self {
        Self { name, version, model, command_digest: None, files: BTreeMap::new() }
    }
}

/// Its name, its version and its model, for people. They are somebody else's words.
impl fmt::Display for Sut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Words(&self.name), Words(&self.version))?;
        self.model.as_ref().map_or(Ok(()), |model| write!(f, " ({})", Words(model)))
    }
}

/// The git commit that a bench was at: 40 or 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GitCommit(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a git commit: it must be 40 or 64 lower-case hexadecimal digits", text.escape_default())]
pub struct ParseGitCommitError {
    text: String,
}

impl FromStr for GitCommit {
    type Err = ParseGitCommitError;

    fn from_str(text: &str) -> Result<Self, ParseGitCommitError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if matches!(text.len(), 40 | 64) && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseGitCommitError { text: text.to_owned() })
        }
    }
}

impl TryFrom<String> for GitCommit {
    type Error = ParseGitCommitError;

    fn try_from(text: String) -> Result<Self, ParseGitCommitError> {
        text.parse()
    }
}

impl From<GitCommit> for String {
    fn from(commit: GitCommit) -> Self {
        commit.0
    }
}

impl fmt::Display for GitCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One run, with everything that its scores depend on. `S` says how far the scores are trusted, as in [`Report`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalRunRecord<S> {
    pub schema_version: u32,
    pub schema_minor: u32,
    pub store_id: StoreId,
    pub task_class: TaskClassName,
    /// 1 for the first record of the task class in this store.
    pub seq: u64,
    /// The SHA-256 of the previous record's exact bytes; zeros for the first one.
    pub prev_hash: RecordHash,
    pub run_id: RunId,
    pub mode: Mode,
    /// The systems under test whose outputs were scored, sorted: one, unless cassettes of several were mixed or the agents of a live
    /// run say that they are several.
    pub suts: BTreeSet<Sut>,
    pub output_kinds: BTreeSet<OutputKind>,
    pub started_at: UtcMillis,
    pub finished_at: UtcMillis,
    /// The BLAKE3 of the marker that announced a live run before its first case.
    #[serde(deserialize_with = "Option::deserialize")]
    pub started_marker: Option<Digest>,
    /// How many shards of the run were announced in other stores, so that nobody can tell here how often they were tried.
    pub shards_elsewhere: u64,
    /// The capped live record of the same chain whose skipped cases this run answered.
    #[serde(deserialize_with = "Option::deserialize")]
    pub continues: Option<RecordHash>,
    /// How the agents of a live run were confined; `null` for cassettes.
    #[serde(deserialize_with = "Option::deserialize")]
    pub confinement: Option<Confinement>,
    /// The cap that held at the end of a live run; `null` for cassettes.
    #[serde(deserialize_with = "Option::deserialize")]
    pub max_cost_usd: Option<f64>,
    pub harness_version: String,
    pub wasmtime_version: String,
    /// The version of the list by which operators and host calls were charged to fuel.
    pub price_list_version: u32,
    #[serde(deserialize_with = "Option::deserialize")]
    pub bench_git_commit: Option<GitCommit>,
    /// Whether the bench's files differed from that commit; `null` where there is none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub bench_dirty: Option<bool>,
    pub rubric_digest: Digest,
    pub registration_digest: Digest,
    /// The world that the rubric implements, such as `eval-host:rubric/rubric@0.1.0`.
    pub rubric_world: String,
    /// Every limit that held for the rubric, in the form of registration.toml.
    pub limits: RawLimits,
    /// The failure modes that had block severity.
    pub block_modes: BTreeSet<String>,
    pub case_digest_set: PerCase<Digest>,
    /// `null` for a case without a cassette.
    pub cassette_digest_set: PerCase<Option<Digest>>,
    /// `null` for a case that got no output.
    pub output_digest_set: PerCase<Option<Digest>>,
    /// What each live agent was told that it may spend; `null` for a case that no agent was started for.
    pub budget_usd_set: PerCase<Option<f64>>,
    pub report: Report<Vec<CaseResult<S>>>,
}

/// A record as it was read back.
pub type RecordedRun = EvalRunRecord<RecordedScore>;

/// A score as a record states it: the exact text, and what it says. It has the shape of a `BenchScore` and none of its
/// authority.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedScore {
    text: Box<str>,
    numbers: ScoreNumbers,
}

/// What a score says without a name in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreNumbers {
    pub passed: bool,
    pub score: f64,
    pub cost_usd: f64,
    pub duration_seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreFields {
    pub passed: bool,
    pub score: f64,
    pub breakdown: BTreeMap<String, f64>,
    pub failure_modes: Vec<String>,
    pub cost_usd: f64,
    pub duration_seconds: f64,
}

impl RecordedScore {
    /// The text as it stands in the record, to compare with.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn numbers(&self) -> ScoreNumbers {
        self.numbers
    }

    /// All that the text says. It is read again whenever somebody asks: a record of a hundred thousand cases has as many, and
    /// whoever looks at one of them is done with it before the next.
    pub fn fields(&self) -> ScoreFields {
        json::parse(&self.text).expect("it was read when the record was")
    }
}

impl<'de> Deserialize<'de> for RecordedScore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let ScoreFields { passed, score, cost_usd, duration_seconds, .. } =
            json::parse(raw.get()).map_err(D::Error::custom)?;
        let numbers = ScoreNumbers { passed, score, cost_usd, duration_seconds };
        Ok(Self { text: raw.get().into(), numbers })
    }
}

/// Why bytes are no record.
#[derive(Debug, thiserror::Error)]
pub enum ReadRecordError {
    #[error(
        "it has format version {version}.{minor}, and this program reads up to {SCHEMA_VERSION}.{SCHEMA_MINOR}: \
         use eval-host {written_by} or a newer one"
    )]
    Newer { version: u64, minor: u64, written_by: String },
    #[error("it is not UTF-8 text")]
    Text,
    #[error("it is not a record of version {SCHEMA_VERSION}")]
    Malformed(#[source] serde_json::Error),
    #[error("its {field} contradicts itself: {why}")]
    Contradiction { field: &'static str, why: &'static str },
}

impl<S> EvalRunRecord<S> {
    pub fn position(&self) -> Position {
        Position {
            store_id: self.store_id,
            task_class: self.task_class.clone(),
            seq: self.seq,
            prev_hash: self.prev_hash,
        }
    }

    /// Every object that this record names itself, as often as it does. A case's object names its files in turn.
    pub fn named_objects(&self) -> impl Iterator<Item = Digest> {
        let cases = self.case_digest_set.values().copied();
        let cassettes = self.cassette_digest_set.values().copied().flatten();
        let outputs = self.output_digest_set.values().copied().flatten();
        let logs = self.report.cases.iter().flat_map(|case| [case.logs_digest, case.agent_log_digest]).flatten();
        cases.chain(cassettes).chain(outputs).chain(logs).chain([self.rubric_digest, self.registration_digest])
    }
}

impl EvalRunRecord<BenchScore> {
    /// The bytes that are hashed and stored, made once.
    pub fn to_bytes(&self) -> Vec<u8> {
        json::line(self)
    }
}

impl RecordedRun {
    /// Reads a record without forgiving anything, and gives its place in the chain.
    pub fn read(bytes: &[u8]) -> Result<(Self, Link), ReadRecordError> {
        let text = str::from_utf8(bytes).map_err(|_| ReadRecordError::Text)?;
        // A map keeps the last of two equal keys without a word, so they are looked for before.
        let parsed = json::parse::<Self>(text);
        let record = match (newer(text), parsed) {
            (Some(newer), _) => return Err(newer),
            (None, Ok(record)) => record,
            (None, Err(error)) => return Err(ReadRecordError::Malformed(error)),
        };
        record.check()?;
        let link = Link { position: record.position(), finished_at: record.finished_at, hash: hash_of(bytes) };
        Ok((record, link))
    }

    /// The names of the block-severity modes that occurred, where `block` are the rubric's modes of that severity.
    pub fn block_severity_modes(&self, block: &BTreeSet<String>) -> BTreeSet<String> {
        let modes = |case: &CaseResult<RecordedScore>| {
            block_severity_modes(case.outcome, &case.score.fields().failure_modes, block)
        };
        self.report.cases.iter().flat_map(modes).collect()
    }

    fn check(&self) -> Result<(), ReadRecordError> {
        let contradiction = |field, why| Err(ReadRecordError::Contradiction { field, why });
        let ids: Vec<_> = self.report.cases.iter().map(|case| &case.case_id).collect();
        let same_cases = |keys: Vec<&CaseId>| keys == ids;
        if (self.schema_version, self.schema_minor) != (SCHEMA_VERSION, SCHEMA_MINOR) {
            return contradiction("schema_version", "there is no such version");
        }
        if !self.limits.is_whole() {
            return contradiction("limits", "it must state every limit that held");
        }
        if !self.block_modes.iter().all(|mode| is_mode_name(mode) && HostMode::of(mode).is_none()) {
            return contradiction("block_modes", "these are names that a rubric may give a failure");
        }
        if self.bench_git_commit.is_some() != self.bench_dirty.is_some() {
            return contradiction("bench_dirty", "it is null for a bench without a commit and for no other");
        }
        if self.seq == 0 {
            return contradiction("seq", "the first record has number 1");
        }
        if (self.seq == 1) != (self.prev_hash == RecordHash::GENESIS) {
            return contradiction("prev_hash", "it is zeros for the first record and for no other");
        }
        let sets = [
            self.case_digest_set.keys().collect(),
            self.cassette_digest_set.keys().collect(),
            self.output_digest_set.keys().collect(),
            self.budget_usd_set.keys().collect(),
        ];
        if !sets.into_iter().all(same_cases) {
            return contradiction("report.cases", "the digest sets are about other cases, or in another order");
        }
        Ok(())
    }
}

/// Whether a text says that it is of a newer version.
fn newer(text: &str) -> Option<ReadRecordError> {
    let json::Version { schema_version: version, schema_minor: minor, harness_version: written_by } =
        json::version(text)?;
    let known = (u64::from(SCHEMA_VERSION), u64::from(SCHEMA_MINOR));
    ((version, minor) > known).then_some(ReadRecordError::Newer { version, minor, written_by })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Heads;

    fn bytes() -> Vec<u8> {
        let task_class = "vuln-remediation".parse().expect("a task class");
        let position = Heads::default().next(StoreId::from_bytes([7; 16]), &task_class);
        crate::record::fixture::Run::of("vuln-remediation", 2).at(&position).to_bytes()
    }

    /// The record with one text in it replaced.
    fn edited(from: &str, to: &str) -> Vec<u8> {
        let text = String::from_utf8(bytes()).expect("text");
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    }

    #[track_caller]
    fn refused(bytes: &[u8], expected: &str) {
        let error = RecordedRun::read(bytes).expect_err("it must be refused");
        let text =
            format!("{error}: {}", std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default());
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn who_answered_is_whoever_gave_an_output_and_else_whoever_was_asked() {
        let sut = |version: &str, model: Option<&str>| {
            let (name, model) = ("agent".to_owned(), model.map(str::to_owned));
            Sut::from(SutName { name, version: version.to_owned(), model })
        };
        let (one, other, output) = (sut("1", Some("m")), sut("1", Some("n")), Some(Digest::of(b"output")));
        let of = |answers: &[(&Sut, Option<Digest>)]| {
            let answers = answers.iter().map(|(sut, output)| ((*sut).clone(), *output));
            Sut::of_answers(answers).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of(&[(&one, output), (&sut("0", None), None), (&one, output)]), ["agent 1 (m)"]);
        assert_eq!(of(&[(&other, output), (&one, output)]), ["agent 1 (m)", "agent 1 (n)"]);
        assert_eq!(of(&[(&sut("0", None), None), (&one, None)]), ["agent 0", "agent 1 (m)"]);
        assert_eq!(of(&[]), [""; 0]);
        assert_eq!(sut("\u{1b}[31m", None).to_string(), "agent \\u{1b}[31m");
    }

    #[test]
    fn a_record_reads_back_with_every_number_bit_for_bit() {
        let bytes = bytes();
        let (record, link) = RecordedRun::read(&bytes).expect("a record");
        assert_eq!(link.hash, hash_of(&bytes));
        let score = &record.report.cases[0].score;
        assert_eq!(score.fields().score.to_bits(), (1.0_f64 / 3.0).to_bits());
        assert_eq!(score.fields().breakdown["fixed"].to_bits(), (0.1_f64 + 0.2).to_bits());
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.contains(&format!("\"score\":{},\"fuel_used\"", score.text())), "{text}");
    }

    #[test]
    fn a_newer_format_is_told_apart_from_a_broken_one() {
        for version in ["2", "4294967296"] {
            let newer = edited("\"schema_version\":1", &format!("\"schema_version\":{version}"));
            assert!(matches!(RecordedRun::read(&newer), Err(ReadRecordError::Newer { .. })), "{version}");
        }
        refused(
            &edited("\"schema_version\":1", "\"schema_version\":2,\"schema_version\":2"),
            "not a record of version 1",
        );
        refused(&edited("\"schema_version\":1", "\"schema_version\":0"), "there is no such version");
    }

    #[test]
    fn a_newer_minor_version_with_fields_that_are_not_known_names_the_program_that_reads_it() {
        let newer = edited("\"schema_minor\":0", "\"schema_minor\":3,\"weather\":\"fine\"");
        let error = RecordedRun::read(&newer).expect_err("it cannot be read");
        assert!(matches!(error, ReadRecordError::Newer { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            "it has format version 1.3, and this program reads up to 1.0: use eval-host 0.1.0 or a newer one"
        );
        refused(&edited("\"schema_minor\":0", "\"schema_minor\":0,\"weather\":1"), "unknown field `weather`");
    }

    #[test]
    fn nothing_unexpected_is_skipped() {
        refused(&edited("\"seq\":1", "\"seq\":1,\"note\":\"x\""), "unknown field `note`");
        refused(&edited("\"passed\":true", "\"passed\":true,\"grade\":1"), "unknown field `grade`");
        refused(&edited("\"seq\":1", "\"seq\":1,\"seq\":1"), "the key `seq` occurs twice");
        refused(&edited("\"001-first\":", "\"002-second\":"), "the key `002-second` occurs twice");
        refused(&edited("\"fixed\":", "\"fixed\":1.0,\"fixed\":"), "the key `fixed` occurs twice");
        refused(&[bytes(), b"{}".to_vec()].concat(), "trailing characters");
        refused(&[b"\xef\xbb\xbf".to_vec(), bytes()].concat(), "expected value");
        refused(&edited("agent", "\\ud800"), "unexpected end of hex escape");
        refused(b"", "EOF");
        refused(&bytes()[..100], "EOF");
        refused(&[0; 64], "expected value");
        refused(&[0xff; 64], "not UTF-8");
    }

    #[test]
    fn numbers_are_finite_and_of_their_type() {
        for number in ["NaN", "1e400", "null", "\"1\"", "Infinity"] {
            assert!(
                RecordedRun::read(&edited("\"mean_score\":0.", &format!("\"mean_score\":{number}")).to_vec()).is_err()
            );
        }
        for number in ["-1", "1.0", "18446744073709551616", "0"] {
            assert!(RecordedRun::read(&edited("\"seq\":1", &format!("\"seq\":{number}"))).is_err(), "{number}");
        }
    }

    #[test]
    fn names_that_reach_paths_and_terminals_are_parsed() {
        refused(&edited("vuln-remediation", "../vuln"), "is not a task class");
        refused(&edited("001-first", "001_FIRST"), "is not a case id");
        refused(&edited("2026-11-16T09:02:00.000Z", "2026-11-16T10:02:00.000+01:00"), "is not a time in UTC");
    }

    #[test]
    fn every_limit_is_stated_and_nothing_that_is_null_is_left_out() {
        refused(&edited("\"fuel\":1000000000,", ""), "limits contradicts itself: it must state every limit that held");
        refused(&edited("\"memory_mib\":256", "\"memory_mib\":null"), "limits contradicts itself");
        for field in ["started_marker", "continues", "confinement", "max_cost_usd", "command_digest", "model"] {
            refused(&edited(&format!("\"{field}\":null,"), ""), &format!("missing field `{field}`"));
        }
        refused(&edited(",\"files\":{}", ""), "missing field `files`");
        refused(&edited("[\"cve_still_present\"]", "[\"rubric_trap\"]"), "block_modes contradicts itself");
        refused(&edited("[\"cve_still_present\"]", "[\"\"]"), "block_modes contradicts itself");
    }

    #[test]
    fn digest_sets_are_about_the_cases_of_the_report() {
        refused(&edited("\"001-first\":", "\"003-third\":"), "report.cases contradicts itself");
        refused(&edited(&"0".repeat(64), &"1".repeat(64)), "prev_hash contradicts itself");
    }
}
