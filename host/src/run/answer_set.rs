//! An answer set: what one shard of a run was answered, for another process to score and chain.
//!
//! It holds answers and never scores, so nobody can slip in a score that this program did not give. It ends with a line that
//! says how many answers there are and what the digest of everything before is: one that was cut off, or whose bytes were
//! changed by accident, is refused. It is no evidence and no bundle of evidence: see `eval-host export` for those.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use eval_evidence::anchor::TrustedKeys;
use eval_evidence::chain::StoreId;
use eval_evidence::files::{Audience, Dir, Draft, FileError, Missing, open_ambient_file, read_ambient_file};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{CaseId, Digest};
use eval_model::json;
use eval_model::money::is_possible_cost;
use eval_model::outcome::OutcomeClass;
use eval_model::report::LoadErrorEntry;
use eval_model::shard::Shard;
use eval_model::utc::UtcMillis;

use super::answer_set_note::{self, AnswerSetNoteError};
use super::cases::{AnswerSource, Run};
use super::error::RunError;
use super::event::Event;
use crate::answers::StoredAnswer;
use crate::description::RunDescription;

const SCHEMA_VERSION: u32 = 1;

/// Where a store's folder has the answer sets of shards. They are no evidence.
const FOLDER: &str = "answer-sets";

/// How an answer set begins.
const BEGINNING: &[u8; 20] = br#"{"kind":"answer_set""#;

/// Most bytes of an answer set.
const MOST_BYTES: u64 = 4 << 30;

/// What an answer set is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerSetHeader {
    schema_version: u32,
    run: RunDescription,
    /// How a live shard was announced before its first case.
    announced: Option<Announcement>,
    lost_usd: f64,
    /// What the record of the whole run must say of how these answers were come by.
    warnings: Vec<String>,
}

/// A marker, and the store that it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Announcement {
    pub(crate) store_id: StoreId,
    pub(crate) marker: Digest,
}

impl AnswerSetHeader {
    /// `live` says how a live shard was announced, and what was charged for agents that were lost.
    pub(crate) fn new(run: RunDescription, live: Option<(Announcement, f64)>) -> Self {
        let (announced, lost_usd) = live.map_or((None, 0.0), |(announced, lost_usd)| (Some(announced), lost_usd));
        Self { schema_version: SCHEMA_VERSION, run, announced, lost_usd, warnings: Vec::new() }
    }

    /// The same with what must be said of how its answers were come by.
    pub(crate) fn warning(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    fn check(&self) -> Result<(), String> {
        if self.schema_version != SCHEMA_VERSION {
            return Err(format!(
                "it has format version {}, this eval-host reads {SCHEMA_VERSION}",
                self.schema_version
            ));
        }
        if self.run.live.is_some() != self.announced.is_some() {
            return Err("it does not say how its live run was announced".to_owned());
        }
        if !is_possible_cost(self.lost_usd) {
            return Err(format!("lost_usd is {}, and no run loses that", self.lost_usd));
        }
        Ok(())
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
enum Line {
    AnswerSet(Box<AnswerSetHeader>),
    Answer(Box<StoredAnswer>),
    End { answers: u64, blake3: Digest },
}

/// Why an answer set was not written.
#[derive(Debug, thiserror::Error)]
#[error("the answer set `{}` could not be written", path.display())]
pub(crate) struct WriteAnswerSetError {
    path: PathBuf,
    source: FileError,
}

/// An answer set that was written, and what came of its cases.
#[derive(Debug)]
pub(crate) struct WrittenAnswerSet {
    /// How its cases ended.
    outcomes: BTreeSet<OutcomeClass>,
    pub(crate) load_errors: Vec<LoadErrorEntry>,
    pub(crate) started_at: UtcMillis,
}

impl Run<'_> {
    /// Answers the cases of a shard and writes their answer set into the store's folder, signed if the run has a key. They are
    /// scored too, for whoever watches; nothing is chained.
    pub(crate) fn write_answer_set(
        &self,
        answers: &AnswerSource<'_>,
        store: &Path,
        header: AnswerSetHeader,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> Result<WrittenAnswerSet, RunError> {
        let (folder, name) = (store.join(FOLDER), file_name(&self.description));
        let not_written = |source| RunError::AnswerSet(WriteAnswerSetError { path: folder.join(&name), source });
        let mut writer = AnswerSetWriter::create(&folder, &name, header).map_err(not_written)?;
        let done = self.cases(answers, None, &mut |event| {
            emit(event);
            if let Event::Answered(answer) = event {
                writer.add(answer);
            }
        })?;
        if let Some(kept) = self.keep_earlier(&folder, &name).map_err(not_written)? {
            emit(&Event::Notice(&format!("the answers of an earlier run of this shard are kept as `{kept}`")));
        }
        let path = self.publish(writer, &folder, &name).map_err(not_written)?.display().to_string();
        emit(&Event::AnswerSetWritten { path: &path });
        let outcomes = done.finished.iter().map(|case| case.result.outcome).collect();
        Ok(WrittenAnswerSet { outcomes, load_errors: done.load_errors, started_at: self.description.started_at })
    }

    /// Makes way for an answer set without losing one that was paid for. Those of cassettes cost nothing.
    fn keep_earlier(&self, folder: &Path, name: &str) -> Result<Option<String>, FileError> {
        let folder = Dir::open_own(folder, Missing::Create)?;
        if self.description.live.is_none() || !folder.contains(name) {
            return Ok(None);
        }
        let stem = name.strip_suffix(".jsonl").unwrap_or(name);
        let aside = format!("{stem}.before-{}.jsonl", self.description.started_at.basic());
        match folder.rename_new(name, &folder, &aside) {
            // A run that was killed here has moved it already, and what is there now is its own.
            Err(error) if error.is_taken() => Ok(None),
            moved => {
                moved?;
                answer_set_note::keep(&folder, name, &aside)?;
                Ok(Some(aside))
            }
        }
    }

    /// Gives an answer set its name, and its signature. That of an earlier one is gone before: it would not fit.
    fn publish(&self, writer: AnswerSetWriter, folder: &Path, name: &str) -> Result<PathBuf, FileError> {
        let folder = Dir::open_own(folder, Missing::Create)?;
        answer_set_note::remove(&folder, name)?;
        let (path, digest) = writer.finish()?;
        if let Some(signer) = self.signer {
            answer_set_note::write(folder, name, digest, signer)?;
        }
        Ok(path)
    }
}

impl WrittenAnswerSet {
    /// The exit code of a shard. Whether its answers are good enough is for the whole run to say.
    pub(crate) fn exit(&self) -> Exit {
        if !self.load_errors.is_empty() || self.outcomes.contains(&OutcomeClass::HarnessFault) {
            Exit::HarnessError
        } else if self.outcomes.contains(&OutcomeClass::Skipped) {
            Exit::UsageOrCap
        } else {
            Exit::Ok
        }
    }
}

fn file_name(run: &RunDescription) -> String {
    let part = run.shard.map_or_else(String::new, |shard| format!("-{}-of-{}", shard.index(), shard.count()));
    format!("{}{part}.jsonl", run.task_class)
}

/// An answer set that is being written. It has its name only when it is whole.
#[derive(Debug)]
struct AnswerSetWriter {
    draft: Draft,
    hasher: blake3::Hasher,
    answers: u64,
    error: Option<FileError>,
}

impl AnswerSetWriter {
    /// Begins the answer set `name` in `folder`, which is made if there is none: it lies in a store, and so is private.
    fn create(folder: &Path, name: &str, header: AnswerSetHeader) -> Result<Self, FileError> {
        let draft = Draft::begin(Dir::open_own(folder, Missing::Create)?, name, Audience::Owner)?;
        let mut writer = Self { draft, hasher: blake3::Hasher::new(), answers: 0, error: None };
        writer.line(&Line::AnswerSet(Box::new(header)));
        Ok(writer)
    }

    /// Adds an answer. An error is kept for the end.
    fn add(&mut self, answer: &StoredAnswer) {
        self.answers += 1;
        self.line(&Line::Answer(Box::new(answer.clone())));
    }

    /// Gives its path, and the digest of all its bytes.
    fn finish(mut self) -> Result<(PathBuf, Digest), FileError> {
        let end = Line::End { answers: self.answers, blake3: self.digest() };
        self.line(&end);
        let digest = self.digest();
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.draft.publish()?, digest)),
        }
    }

    /// The digest of what was written until now.
    fn digest(&self) -> Digest {
        Digest::from_bytes(*self.hasher.finalize().as_bytes())
    }

    fn line(&mut self, line: &Line) {
        let mut bytes = serde_json::to_vec(line).expect("names, texts and finite numbers serialise");
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        if self.error.is_none() {
            self.error = self.draft.write(&bytes).err();
        }
    }
}

/// An answer set that was read whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerSet {
    header: AnswerSetHeader,
    answers: BTreeMap<CaseId, StoredAnswer>,
    /// Of the exact bytes that were read.
    digest: Digest,
}

/// Why answer sets cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerSetError {
    #[error("the answer set `{}` cannot be read", path.display())]
    File { path: PathBuf, source: FileError },
    #[error("`{}` is a bundle of evidence, not an answer set of a shard", path.display())]
    IsBundle { path: PathBuf },
    #[error("`{}` is not a whole answer set: {message}", path.display())]
    Malformed { path: PathBuf, message: String },
    #[error("the answer sets do not fit together: {0}")]
    Misfit(String),
    #[error("the answer sets were made from another state of the bench: {}", differences.join("; "))]
    OtherBench { differences: Vec<String> },
}

impl Advice for AnswerSetError {
    fn exit(&self) -> Exit {
        Exit::UsageOrCap
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::IsBundle { path } => Some(format!("check it with `eval-host verify {}`", path.display())),
            Self::OtherBench { .. } => Some("check out the commit that the shards were run from".to_owned()),
            Self::File { .. } | Self::Malformed { .. } | Self::Misfit(_) => None,
        }
    }
}

impl AnswerSet {
    pub(crate) fn read(path: &Path) -> Result<Self, AnswerSetError> {
        let failed = |source| AnswerSetError::File { path: path.to_owned(), source };
        let bytes = read_ambient_file(path, MOST_BYTES).map_err(failed)?;
        if is_tar(&bytes) {
            return Err(AnswerSetError::IsBundle { path: path.to_owned() });
        }
        Self::parse(&bytes).map_err(|message| AnswerSetError::Malformed { path: path.to_owned(), message })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        if !text.ends_with('\n') {
            return Err("it is cut off".to_owned());
        }
        let mut lines = text.split_inclusive('\n');
        let Some(Line::AnswerSet(header)) = lines.next().map(parse_line).transpose()? else {
            return Err("it does not begin as one".to_owned());
        };
        header.check()?;
        let cases: BTreeSet<_> = header.run.names().iter().cloned().collect();
        let mut set = Self { header: *header, answers: BTreeMap::new(), digest: Digest::of(bytes) };
        let mut end = None;
        for line in lines.by_ref() {
            match parse_line(line)? {
                Line::Answer(answer) => set.add(*answer, &cases)?,
                Line::End { answers, blake3 } => {
                    end = Some((answers, blake3, line.len()));
                    break;
                }
                Line::AnswerSet(_) => return Err("a second one begins in it".to_owned()),
            }
        }
        let (answers, blake3, length) = end.ok_or("it has no end")?;
        let body = &bytes[..bytes.len() - length];
        if lines.next().is_some() || answers != set.answers.len() as u64 || Digest::of(body) != blake3 {
            return Err("its end does not match what is before it".to_owned());
        }
        Ok(set)
    }

    fn add(&mut self, answer: StoredAnswer, cases: &BTreeSet<String>) -> Result<(), String> {
        answer.check()?;
        if !cases.contains(answer.case_id.as_str()) {
            return Err(format!("case `{}` is not in its shard", answer.case_id));
        }
        match self.answers.insert(answer.case_id.clone(), answer) {
            None => Ok(()),
            Some(twice) => Err(format!("`{}` is answered twice", twice.case_id)),
        }
    }

    /// Fails unless a trusted key signed the bytes that were read from `path`, by the note beside it.
    pub(crate) fn require_signed(&self, path: &Path, trusted: &TrustedKeys) -> Result<(), AnswerSetNoteError> {
        answer_set_note::require(path, self.digest, trusted)
    }

    fn shard(&self) -> Result<Shard, AnswerSetError> {
        self.header.run.shard.ok_or_else(|| AnswerSetError::Misfit("one is not of a shard".to_owned()))
    }
}

/// Whether a file begins as a tar archive does, which every bundle is.
fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Whether a file begins as an answer set does. What cannot be read does not.
pub(crate) fn is_answer_set(path: &Path) -> bool {
    let mut beginning = [0; BEGINNING.len()];
    let read = open_ambient_file(path, MOST_BYTES).ok().and_then(|(mut file, _)| file.read_exact(&mut beginning).ok());
    read.is_some() && beginning == *BEGINNING
}

/// The answer sets of all shards of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MergedRun {
    /// The run as a whole, which began with its first shard.
    pub(crate) run: RunDescription,
    /// How its live shards were announced.
    announced: Vec<(Shard, Announcement)>,
    pub(crate) lost_usd: f64,
    /// What its shards say of how the answers were come by.
    warnings: BTreeSet<String>,
    pub(crate) answers: BTreeMap<CaseId, StoredAnswer>,
}

impl MergedRun {
    /// Puts the answer sets together, if they are the parts of one run, none of them missing and none of them there twice.
    pub(crate) fn join(sets: Vec<AnswerSet>) -> Result<Self, AnswerSetError> {
        let mut sets = sets.into_iter();
        let Some(first) = sets.next() else { return misfit("there is none") };
        let shard = first.shard()?;
        let (count, mut shards) = (shard.count(), BTreeSet::from([shard.index()]));
        let mut merged = Self {
            run: first.header.run.whole(),
            announced: first.header.announced.map(|announced| (shard, announced)).into_iter().collect(),
            lost_usd: first.header.lost_usd,
            warnings: first.header.warnings.into_iter().collect(),
            answers: first.answers,
        };
        for set in sets {
            let shard = set.shard()?;
            if shard.count() != count {
                return misfit(format!("one is of {count} shards and another of {}", shard.count()));
            }
            if !shards.insert(shard.index()) {
                return misfit(format!("shard {shard} is there twice"));
            }
            merged.add(shard, set)?;
        }
        match (1..=count).find(|index| !shards.contains(index)) {
            Some(missing) => misfit(format!("shard {missing}/{count} is missing")),
            None => Ok(merged),
        }
    }

    fn add(&mut self, shard: Shard, set: AnswerSet) -> Result<(), AnswerSetError> {
        let run = set.header.run.whole();
        if let [first, ..] = &self.run.differences(&run)[..] {
            return misfit(first.clone());
        }
        self.run.started_at = self.run.started_at.min(run.started_at);
        self.announced.extend(set.header.announced.map(|announced| (shard, announced)));
        self.lost_usd += set.header.lost_usd;
        self.warnings.extend(set.header.warnings);
        // Shards have no case in common, and every answer is to a case of its own shard.
        self.answers.extend(set.answers);
        Ok(())
    }

    /// Refuses a run from the bench as it is now unless that is the bench that the shards were run from.
    pub(crate) fn check_bench(&self, now: RunDescription) -> Result<RunDescription, AnswerSetError> {
        let differences = now.differences(&self.run);
        if differences.is_empty() { Ok(now) } else { Err(AnswerSetError::OtherBench { differences }) }
    }

    /// What a record in this store must say of how the answers were come by. A store knows of its own announcements alone.
    pub(crate) fn warnings_in(&self, store: StoreId) -> Vec<String> {
        let mut elsewhere: Vec<_> =
            self.announced.iter().filter(|(_, announced)| announced.store_id != store).collect();
        elsewhere.sort_unstable_by_key(|(shard, _)| shard.index());
        let untold = |(shard, announced): &(Shard, Announcement)| {
            let store = announced.store_id;
            format!(
                "shard {shard} was announced in the store `{store}`, so nobody can tell here how often it was tried"
            )
        };
        self.warnings.iter().cloned().chain(elsewhere.into_iter().map(untold)).collect()
    }

    /// How many of its shards were announced in other stores than this one.
    pub(crate) fn shards_elsewhere(&self, store: StoreId) -> u64 {
        self.announced.iter().filter(|(_, announced)| announced.store_id != store).count() as u64
    }

    /// The announcements of its shards that were made in this store.
    pub(crate) fn announced_in(&self, store: StoreId) -> Vec<(Shard, Digest)> {
        let ours = self.announced.iter().filter(|(_, announcement)| announcement.store_id == store);
        ours.map(|(shard, announcement)| (*shard, announcement.marker)).collect()
    }
}

fn misfit<T>(why: impl Into<String>) -> Result<T, AnswerSetError> {
    Err(AnswerSetError::Misfit(why.into()))
}

fn parse_line(line: &str) -> Result<Line, String> {
    json::parse(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{Answer, ObtainedAnswer};
    use crate::description::tests::description;
    use eval_model::contract::Meter;
    use std::slice;

    fn cassette_run() -> RunDescription {
        let mut run = description();
        run.live = None;
        run
    }

    fn answer_set(
        folder: &Path,
        shard: &str,
        cases: &[(&str, &[u8])],
        change: impl FnOnce(&mut AnswerSetHeader),
    ) -> PathBuf {
        let mut run = cassette_run();
        run.shard = Some(shard.parse().expect("a shard"));
        let mut header = AnswerSetHeader { lost_usd: 0.25, ..AnswerSetHeader::new(run, None) };
        change(&mut header);
        let name = shard.replace('/', "-");
        let mut writer = AnswerSetWriter::create(folder, &name, header).expect("an answer set");
        for (case_id, bytes) in cases {
            let answer =
                Answer::new(Ok("{ \"verbatim\":1 }".to_owned()), Meter { cost_usd: 0.5, duration_seconds: 1.0 });
            let obtained = ObtainedAnswer { answer, cassette: None, warnings: Vec::new() };
            writer.add(&StoredAnswer::new(&case_id.parse().expect("a case id"), Digest::of(bytes), &obtained));
        }
        writer.finish().expect("written").0
    }

    fn join(paths: &[PathBuf]) -> Result<MergedRun, AnswerSetError> {
        MergedRun::join(paths.iter().map(|path| AnswerSet::read(path)).collect::<Result<_, _>>()?)
    }

    #[test]
    fn the_answer_sets_of_all_shards_are_the_whole_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = answer_set(folder.path(), "1/2", &[("001-a", b"a")], |_| {});
        let second = answer_set(folder.path(), "2/2", &[("002-b", b"b")], |_| {});
        let whole = join(&[second, first]).expect("a whole run");
        assert_eq!(whole.answers.keys().map(CaseId::as_str).collect::<Vec<_>>(), ["001-a", "002-b"]);
        assert_eq!((whole.run, whole.lost_usd), (cassette_run(), 0.5));
    }

    #[test]
    fn a_live_run_knows_how_each_of_its_shards_was_announced() {
        let folder = tempfile::tempdir().expect("a folder");
        let announcement =
            |number| Announcement { store_id: StoreId::from_bytes([number; 16]), marker: Digest::of(&[number]) };
        let shard_announced = |(shard, number): (&str, u8)| (shard.parse().expect("a shard"), announcement(number));
        let live = |header: &mut AnswerSetHeader, number| {
            (header.run.live, header.announced) = (description().live, Some(announcement(number)));
        };
        let first = answer_set(folder.path(), "1/2", &[("001-a", b"a")], |header| live(header, 1));
        let second = answer_set(folder.path(), "2/2", &[("002-b", b"b")], |header| live(header, 2));
        assert_eq!(
            join(&[first.clone(), second.clone()]).expect("a whole run").announced,
            [("1/2", 1), ("2/2", 2)].map(shard_announced)
        );
        let merged = join(&[second, first]).expect("a whole run");
        let untold = |shard: &str, number: u8| {
            let store = StoreId::from_bytes([number; 16]);
            format!(
                "shard {shard} was announced in the store `{store}`, so nobody can tell here how often it was tried"
            )
        };
        let warnings = |number| merged.warnings_in(StoreId::from_bytes([number; 16]));
        assert_eq!(warnings(1), [untold("2/2", 2)]);
        assert_eq!(warnings(3), [untold("1/2", 1), untold("2/2", 2)]);
        let silent = answer_set(folder.path(), "1/1", &[], |header| header.run.live = description().live);
        let refused = join(&[silent]).expect_err("it was announced, or is not live").to_string();
        assert!(refused.ends_with("it does not say how its live run was announced"), "{refused}");
    }

    #[test]
    fn answer_sets_that_do_not_fit_together_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let first = answer_set(path, "1/2", &[("001-a", b"a")], |_| {});
        let refused = |paths: &[PathBuf]| join(paths).expect_err("they do not fit").to_string();
        let prefix = "the answer sets do not fit together: ";
        assert_eq!(refused(slice::from_ref(&first)), format!("{prefix}shard 2/2 is missing"));
        assert_eq!(refused(&[first.clone(), first.clone()]), format!("{prefix}shard 1/2 is there twice"));
        let of_three = answer_set(path, "2/3", &[("002-b", b"b")], |_| {});
        assert_eq!(refused(&[first.clone(), of_three]), format!("{prefix}one is of 2 shards and another of 3"));
        let overlap = answer_set(path, "2/2", &[("001-a", b"a")], |_| {});
        assert!(refused(&[first.clone(), overlap]).ends_with("case `001-a` is not in its shard"));
        let other = answer_set(path, "2/2", &[], |header| header.run.rubric_digest = Digest::of(b"other"));
        assert_eq!(refused(&[first, other]), format!("{prefix}another rubric"));
    }

    #[test]
    fn a_bundle_of_evidence_is_told_apart_from_an_answer_set() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record.tar");
        let mut archive = vec![0; 512];
        archive[257..262].copy_from_slice(b"ustar");
        std::fs::write(&path, archive).expect("written");
        let error = AnswerSet::read(&path).expect_err("it is no answer set");
        assert!(matches!(error, AnswerSetError::IsBundle { .. }), "{error}");
        let set = answer_set(folder.path(), "1/1", &[], |_| {});
        assert!(is_answer_set(&set) && !is_answer_set(&path));
    }

    #[test]
    fn what_no_run_can_have_lost_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for lost_usd in [-1.0, 1.7e308] {
            let impossible = answer_set(folder.path(), "1/1", &[], |header| header.lost_usd = lost_usd);
            let refused = join(&[impossible]).expect_err("it is impossible").to_string();
            assert!(refused.ends_with("and no run loses that"));
        }
    }

    #[test]
    fn an_answer_set_that_was_cut_or_changed_anywhere_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = answer_set(folder.path(), "1/1", &[("001-a", b"a"), ("002-b", b"b")], |_| {});
        let bytes = std::fs::read(path).expect("an answer set");
        AnswerSet::parse(&bytes).expect("it is whole");
        for length in 0..bytes.len() {
            assert!(AnswerSet::parse(&bytes[..length]).is_err(), "{length}");
        }
        for index in (0..bytes.len() - 1).step_by(7) {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            assert!(AnswerSet::parse(&changed).is_err(), "{index}");
        }
    }
}
