//! A bundle of answers: what one shard of a run was answered, for another process to score and chain.
//!
//! A bundle holds answers and never scores, so nobody can slip in a score that this program did not give. It ends with a
//! line that says how many answers there are and what the digest of everything before is: a bundle that was cut off, or
//! whose bytes were changed by accident, is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::answers::StoredAnswer;
use crate::live::cost::is_possible_cost;
use crate::live::journal::RunTerms;
use eval_evidence::chain::StoreId;
use eval_evidence::files::{Audience, Dir, Draft, FileError, Missing, read_ambient_file};
use eval_evidence::record::Sut;
use eval_model::ids::{CaseId, Digest};
use eval_model::json;
use eval_model::utc::UtcMillis;

const SCHEMA_VERSION: u32 = 1;

/// Most bytes of a bundle.
const MOST_BYTES: u64 = 4 << 30;

/// What a bundle is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BundleHeader {
    schema_version: u32,
    pub(crate) terms: RunTerms,
    pub(crate) sut: Option<Sut>,
    pub(crate) started_at: UtcMillis,
    /// How a live shard was announced before its first case.
    pub(crate) announced: Option<Announcement>,
    pub(crate) lost_usd: f64,
}

/// A marker, and the store that it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Announcement {
    pub(crate) store_id: StoreId,
    pub(crate) marker: Digest,
}

impl BundleHeader {
    /// Of answers that were replayed from cassettes.
    pub(crate) fn new(terms: RunTerms, started_at: UtcMillis) -> Self {
        Self { schema_version: SCHEMA_VERSION, terms, sut: None, started_at, announced: None, lost_usd: 0.0 }
    }

    /// Of answers that an agent gave.
    pub(crate) fn live(self, sut: Sut, announced: Announcement, lost_usd: f64) -> Self {
        Self { sut: Some(sut), announced: Some(announced), lost_usd, ..self }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
enum Line {
    Shard(BundleHeader),
    Answer(StoredAnswer),
    End { answers: u64, blake3: Digest },
}

/// A bundle that is being written. It has its name only when it is whole.
#[derive(Debug)]
pub(crate) struct BundleWriter {
    draft: Draft,
    hasher: blake3::Hasher,
    answers: u64,
    error: Option<FileError>,
}

impl BundleWriter {
    /// Begins the bundle `name` in `folder`, which is made if there is none: it lies in a store, and so is private.
    pub(crate) fn create(folder: &Path, name: &str, header: BundleHeader) -> Result<Self, FileError> {
        let draft = Draft::begin(Dir::open_own(folder, Missing::Create)?, name, Audience::Owner)?;
        let mut writer = Self { draft, hasher: blake3::Hasher::new(), answers: 0, error: None };
        writer.line(&Line::Shard(header));
        Ok(writer)
    }

    /// Adds an answer. An error is kept for the end.
    pub(crate) fn add(&mut self, answer: &StoredAnswer) {
        self.answers += 1;
        self.line(&Line::Answer(answer.clone()));
    }

    pub(crate) fn finish(mut self) -> Result<PathBuf, FileError> {
        let end = Line::End { answers: self.answers, blake3: Digest::from_bytes(*self.hasher.finalize().as_bytes()) };
        self.line(&end);
        match self.error {
            Some(error) => Err(error),
            None => self.draft.publish(),
        }
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

/// A bundle that was read whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bundle {
    pub(crate) header: BundleHeader,
    answers: BTreeMap<CaseId, StoredAnswer>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    #[error("the bundle `{}` cannot be read", path.display())]
    File { path: PathBuf, source: FileError },
    #[error("`{}` is not a whole bundle: {message}", path.display())]
    Malformed { path: PathBuf, message: String },
    #[error("the bundles do not fit together: {0}")]
    Misfit(String),
}

impl Bundle {
    pub(crate) fn read(path: &Path) -> Result<Self, BundleError> {
        let failed = |source| BundleError::File { path: path.to_owned(), source };
        let text = read_ambient_file(path, MOST_BYTES).map_err(failed)?;
        Self::parse(&text).map_err(|message| BundleError::Malformed { path: path.to_owned(), message })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let mut lines = text.split_inclusive('\n');
        let Some(Line::Shard(header)) = lines.next().map(parse_line).transpose()? else {
            return Err("it does not begin as one".to_owned());
        };
        if header.schema_version != SCHEMA_VERSION {
            return Err(format!(
                "it has format version {}, this eval-host reads {SCHEMA_VERSION}",
                header.schema_version
            ));
        }
        if header.sut.is_some() != header.announced.is_some() {
            return Err("it does not say how its live run was announced".to_owned());
        }
        if !is_possible_cost(header.lost_usd) {
            return Err(format!("lost_usd is {}, and no run loses that", header.lost_usd));
        }
        let mut bundle = Self { header, answers: BTreeMap::new() };
        let mut end = None;
        for line in lines.by_ref() {
            match parse_line(line)? {
                Line::Answer(answer) => bundle.add(answer)?,
                Line::End { answers, blake3 } => {
                    end = Some((answers, blake3, line.len()));
                    break;
                }
                Line::Shard(_) => return Err("a second one begins in it".to_owned()),
            }
        }
        let (answers, blake3, length) = end.ok_or("it has no end")?;
        let body = &bytes[..bytes.len() - length];
        if lines.next().is_some() || answers != bundle.answers.len() as u64 || Digest::of(body) != blake3 {
            return Err("its end does not match what is before it".to_owned());
        }
        Ok(bundle)
    }

    fn add(&mut self, answer: StoredAnswer) -> Result<(), String> {
        answer.check()?;
        let known = self.header.terms.cases.get(answer.case_id.as_str());
        if known != Some(&Some(answer.case_digest)) {
            return Err(format!("the answer to `{}` is to another case", answer.case_id));
        }
        match self.answers.insert(answer.case_id.clone(), answer) {
            None => Ok(()),
            Some(twice) => Err(format!("`{}` is answered twice", twice.case_id)),
        }
    }
}

/// The bundles of all shards of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WholeRun {
    /// The terms of the run as a whole.
    pub(crate) terms: RunTerms,
    pub(crate) sut: Option<Sut>,
    /// When the first shard was started.
    pub(crate) started_at: UtcMillis,
    /// How its live shards were announced.
    pub(crate) announced: Vec<Announcement>,
    pub(crate) lost_usd: f64,
    pub(crate) answers: BTreeMap<CaseId, StoredAnswer>,
}

impl WholeRun {
    /// Puts the bundles together, if they are the parts of one run, none of them missing and none of them there twice.
    pub(crate) fn join(bundles: Vec<Bundle>) -> Result<Self, BundleError> {
        let mut bundles = bundles.into_iter();
        let Some(first) = bundles.next() else { return misfit("there is none") };
        let mut shards = BTreeSet::from([shard_of(&first)?.index()]);
        let count = shard_of(&first)?.count();
        let mut whole = Self {
            terms: RunTerms { shard: None, ..first.header.terms },
            sut: first.header.sut,
            started_at: first.header.started_at,
            announced: first.header.announced.into_iter().collect(),
            lost_usd: first.header.lost_usd,
            answers: first.answers,
        };
        for bundle in bundles {
            let shard = shard_of(&bundle)?;
            if shard.count() != count {
                return misfit(format!("one is of {count} shards and another of {}", shard.count()));
            }
            if !shards.insert(shard.index()) {
                return misfit(format!("shard {shard} is there twice"));
            }
            whole.add(bundle)?;
        }
        match (1..=count).find(|index| !shards.contains(index)) {
            Some(missing) => misfit(format!("shard {missing}/{count} is missing")),
            None => Ok(whole),
        }
    }

    fn add(&mut self, bundle: Bundle) -> Result<(), BundleError> {
        let terms = RunTerms { shard: None, ..bundle.header.terms };
        if let [first, ..] = &self.terms.differences(&terms)[..] {
            return misfit(first.clone());
        }
        if self.sut != bundle.header.sut {
            return misfit("they are of different systems under test");
        }
        self.started_at = self.started_at.min(bundle.header.started_at);
        self.announced.extend(bundle.header.announced);
        self.lost_usd += bundle.header.lost_usd;
        for (case_id, answer) in bundle.answers {
            if self.answers.insert(case_id.clone(), answer).is_some() {
                return misfit(format!("`{case_id}` is in two of them"));
            }
        }
        Ok(())
    }
}

fn shard_of(bundle: &Bundle) -> Result<crate::bench::select::Shard, BundleError> {
    bundle.header.terms.shard.ok_or_else(|| BundleError::Misfit("one is not of a shard".to_owned()))
}

fn misfit<T>(why: impl Into<String>) -> Result<T, BundleError> {
    Err(BundleError::Misfit(why.into()))
}

fn parse_line(line: &str) -> Result<Line, String> {
    json::check_object(line).and_then(|()| serde_json::from_str(line)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::{Answer, Sourced};
    use crate::live::journal::terms_fixture as terms;
    use eval_model::contract::Meter;
    use std::slice;

    fn bundle(folder: &Path, shard: &str, cases: &[(&str, &[u8])], change: impl FnOnce(&mut BundleHeader)) -> PathBuf {
        let terms = RunTerms { shard: Some(shard.parse().expect("a shard")), ..terms() };
        let started_at = "2026-11-16T09:30:00.000Z".parse().expect("a time");
        let mut header = BundleHeader { lost_usd: 0.25, ..BundleHeader::new(terms, started_at) };
        change(&mut header);
        let mut writer = BundleWriter::create(folder, &shard.replace('/', "-"), header).expect("a bundle");
        for (case_id, bytes) in cases {
            let answer =
                Answer::new(Ok("{ \"verbatim\":1 }".to_owned()), Meter { cost_usd: 0.5, duration_seconds: 1.0 });
            let sourced = Sourced { answer, cassette: None, warnings: Vec::new() };
            writer.add(&StoredAnswer::new(&case_id.parse().expect("a case id"), Digest::of(bytes), &sourced));
        }
        writer.finish().expect("written")
    }

    fn join(paths: &[PathBuf]) -> Result<WholeRun, BundleError> {
        WholeRun::join(paths.iter().map(|path| Bundle::read(path)).collect::<Result<_, _>>()?)
    }

    #[test]
    fn the_bundles_of_all_shards_are_the_whole_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = bundle(folder.path(), "1/2", &[("001-a", b"a")], |_| {});
        let second = bundle(folder.path(), "2/2", &[("002-b", b"b")], |_| {});
        let whole = join(&[second, first]).expect("a whole run");
        assert_eq!(whole.answers.keys().map(CaseId::as_str).collect::<Vec<_>>(), ["001-a", "002-b"]);
        assert_eq!((whole.terms, whole.lost_usd), (terms(), 0.5));
    }

    #[test]
    fn a_live_run_knows_how_each_of_its_shards_was_announced() {
        let folder = tempfile::tempdir().expect("a folder");
        let announcement =
            |number| Announcement { store_id: StoreId::from_bytes([number; 16]), marker: Digest::of(&[number]) };
        let sut = Sut { name: "agent".to_owned(), version: "1".to_owned(), command_digest: None };
        let live = |header: &mut BundleHeader, number| {
            (header.sut, header.announced) = (Some(sut.clone()), Some(announcement(number)));
        };
        let first = bundle(folder.path(), "1/2", &[("001-a", b"a")], |header| live(header, 1));
        let second = bundle(folder.path(), "2/2", &[("002-b", b"b")], |header| live(header, 2));
        assert_eq!(join(&[first, second]).expect("a whole run").announced, [1, 2].map(announcement));
        let silent = bundle(folder.path(), "1/1", &[], |header| header.sut = Some(sut.clone()));
        let refused = join(&[silent]).expect_err("it was announced, or is not live").to_string();
        assert!(refused.ends_with("it does not say how its live run was announced"), "{refused}");
    }

    #[test]
    fn bundles_that_do_not_fit_together_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let first = bundle(path, "1/2", &[("001-a", b"a")], |_| {});
        let refused = |paths: &[PathBuf]| join(paths).expect_err("they do not fit").to_string();
        let prefix = "the bundles do not fit together: ";
        assert_eq!(refused(slice::from_ref(&first)), format!("{prefix}shard 2/2 is missing"));
        assert_eq!(refused(&[first.clone(), first.clone()]), format!("{prefix}shard 1/2 is there twice"));
        let of_three = bundle(path, "2/3", &[("002-b", b"b")], |_| {});
        assert_eq!(refused(&[first.clone(), of_three]), format!("{prefix}one is of 2 shards and another of 3"));
        let overlap = bundle(path, "2/2", &[("001-a", b"a")], |_| {});
        assert_eq!(refused(&[first.clone(), overlap]), format!("{prefix}`001-a` is in two of them"));
        let other = bundle(path, "2/2", &[], |header| header.terms.rubric_digest = Digest::of(b"other"));
        assert_eq!(refused(&[first, other]), format!("{prefix}another rubric"));
        let foreign = bundle(path, "1/1", &[("001-a", b"changed")], |_| {});
        assert!(refused(&[foreign]).ends_with("the answer to `001-a` is to another case"));
    }

    #[test]
    fn what_no_run_can_have_lost_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for lost_usd in [-1.0, 1.7e308] {
            let impossible = bundle(folder.path(), "1/1", &[], |header| header.lost_usd = lost_usd);
            let refused = join(&[impossible]).expect_err("it is impossible").to_string();
            assert!(refused.ends_with("and no run loses that"));
        }
    }

    #[test]
    fn a_bundle_that_was_cut_or_changed_anywhere_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = bundle(folder.path(), "1/1", &[("001-a", b"a"), ("002-b", b"b")], |_| {});
        let bytes = std::fs::read(path).expect("a bundle");
        Bundle::parse(&bytes).expect("it is whole");
        for length in 0..bytes.len() - 1 {
            assert!(Bundle::parse(&bytes[..length]).is_err(), "{length}");
        }
        for index in (0..bytes.len() - 1).step_by(7) {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            assert!(Bundle::parse(&changed).is_err(), "{index}");
        }
    }
}
