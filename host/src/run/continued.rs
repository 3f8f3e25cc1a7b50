//! `run --live --continue`: from the capped record that a user names to the run that answers what it skipped.
//!
//! Whoever continues a run has seen its scores. So it goes on as it was, with the same bench, cases, agent and confinement, or not
//! at all; and a record is continued once, because a second time would be another try at the same cases.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use eval_evidence::anchor::{NoteSigner, TrustedKeys, judge_record_note};
use eval_evidence::chain::Link;
use eval_evidence::record::{Mode, RecordedRun, Sut};
use eval_evidence::store::Evidence as _;
use eval_evidence::verified::VerifiedStore;
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::money::{MOST_DOLLARS, Usd};
use eval_model::report::Figures;

use super::cases::Run;
use super::live::LiveRequest;
use crate::answers::AgentClaim;
use crate::bench::select::Wanted;
use crate::description::{LiveDescription, RunDescription};
use crate::live::continued::{Continued, TakeError};
use crate::live::cost::Lacking;

/// Why a record is not continued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContinueError {
    #[error("the store has no record `{}` of `{task_class}`", wanted.display())]
    NoSuchRecord { wanted: PathBuf, task_class: TaskClassName },
    #[error("the record `{file}` is of `{found}`, not of `{wanted}`")]
    OtherClass { file: String, found: TaskClassName, wanted: TaskClassName },
    #[error("the record `{file}` is not the one that eval-host verified a moment ago")]
    Changed { file: String },
    #[error("the record `{file}` is not of a live run, so nothing was skipped for its cost")]
    NotLive { file: String },
    #[error("nothing was skipped in the run of the record `{file}`: every case of it was answered")]
    NothingSkipped { file: String },
    #[error("the record `{file}` is continued already, by record {seq} (`{by}`)")]
    ContinuedAlready { file: String, seq: u64, by: String, is_capped: bool },
    #[error(
        "no signature of the key of this run is beside the record `{file}`, and the record of this run would be signed"
    )]
    NotSigned { file: String },
    #[error("the record `{file}` cannot be continued by this run: {}", differences.join("; "))]
    Differs { file: String, differences: Vec<String> },
    #[error("the record `{file}` names several systems under test, and does not say which of them gave which answer")]
    SeveralSystems { file: String },
    #[error(transparent)]
    Take(TakeError),
    /// `enough` is a cap that leaves something for every case.
    #[error("{spent} of the cap of {cap} is spent already, and {lacking}")]
    NothingLeft { spent: Usd, cap: Usd, lacking: Lacking, enough: Usd },
}

impl Advice for ContinueError {
    fn exit(&self) -> Exit {
        match self {
            Self::Changed { .. } => Exit::EvidenceBroken,
            Self::Take(error) => error.exit(),
            _ => Exit::UsageOrCap,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSuchRecord { .. } | Self::OtherClass { .. } => {
                "`eval-host log` lists the records; name the store with --out"
            }
            Self::Changed { .. } => "run the command again; `eval-host verify` says what is wrong",
            Self::NotLive { .. } | Self::NothingSkipped { .. } => "leave out --continue to start another run",
            Self::ContinuedAlready { by, is_capped: true, .. } => {
                return Some(format!("that one was capped too: `--continue {by}` goes on from there"));
            }
            Self::ContinuedAlready { by, .. } => return Some(format!("`eval-host show {by}` prints the whole run")),
            Self::NotSigned { .. } => {
                "whoever signs a record signs for every answer in it: continue without --key, and the record is not signed"
            }
            Self::Differs { .. } => {
                "continue with the flags and the bench of that run, or leave out --continue to start another"
            }
            Self::SeveralSystems { .. } => "a cassette names whoever answered: leave out --record",
            Self::Take(error) => return error.hint(),
            // Which command it is, the command line knows.
            Self::NothingLeft { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl Run<'_> {
    /// The run that continues the record which a user means, and what it takes from there; the run as it is if none is meant.
    pub(super) fn continuing(
        self,
        request: &LiveRequest<'_>,
        store: &VerifiedStore,
    ) -> Result<(Self, Option<Continued>), ContinueError> {
        let Some(wanted) = &request.continues else { return Ok((self, None)) };
        let link = find(store, &self.description.task_class, wanted)?;
        let record = read_capped(store, link)?;
        require_first(store, link)?;
        self.signer.map_or(Ok(()), |signer| require_signed(store, link, signer))?;
        let run = Self { description: self.continuation(link, &record), ..self };
        let differences = run.differences(&record, &request.agent.named);
        if !differences.is_empty() {
            return Err(ContinueError::Differs { file: file(link), differences });
        }
        if request.record.is_some() && record.suts.len() > 1 {
            return Err(ContinueError::SeveralSystems { file: file(link) });
        }
        let continued = Continued::take(&record, store.writer().reader()).map_err(ContinueError::Take)?;
        Ok((run, Some(continued)))
    }

    /// The run that was asked for, of the cases that the record selected.
    fn continuation(&self, link: &Link, record: &RecordedRun) -> RunDescription {
        let RunDescription { bench_commit, started_at, live, .. } = self.description.clone();
        let wanted = Wanted { patterns: record.report.selection.patterns.clone(), ..Wanted::default() };
        let run = RunDescription::new(self.bench, &wanted, None, bench_commit, started_at);
        match live {
            Some(live) => run.answered_by(LiveDescription { continues: Some(link.hash), ..live }),
            None => run,
        }
    }

    /// What differs between this run and the one of the record, in words for whoever has to decide what to do about it.
    fn differences(&self, record: &RecordedRun, named: &AgentClaim) -> Vec<String> {
        let now = &self.description;
        let live = now.live.as_ref();
        let is_started_so = |sut: &Sut| live.is_some_and(|live| live.sut.command_digest == sut.command_digest);
        let is_called_so = |sut: &Sut| named.of(sut) == *sut;
        let has_files = |sut: &Sut| live.is_some_and(|live| live.sut.files == sut.files);
        let checks = [
            (record.harness_version == now.harness_version, "another version of eval-host"),
            (record.rubric_digest == now.rubric_digest, "another rubric"),
            (record.registration_digest == now.registration_digest, "another registration.toml"),
            (record.suts.iter().all(is_started_so), "another command"),
            (record.suts.iter().all(has_files), "other files of the command"),
            (record.suts.iter().all(is_called_so), "another --sut-name or --sut-version"),
            (record.confinement.as_ref() == live.map(|live| &live.confinement), "another confinement"),
        ];
        let differences = checks.into_iter().filter(|(is_same, _)| !is_same).map(|(_, what)| what.to_owned());
        differences.chain(self.other_cases(record)).collect()
    }

    /// The cases that one of the two runs has and the other has not, or that have other files, or of which one did not load.
    fn other_cases(&self, record: &RecordedRun) -> Option<String> {
        let read = |name: &String| self.bench.read_case(name, self.input_root).ok().map(|case| case.read.case_digest);
        let now: BTreeMap<_, _> = self.description.names().iter().map(|name| (name.clone(), read(name))).collect();
        let then = cases_of(record);
        let is_other = |name: &&String| now.get(*name) != then.get(*name);
        let mut others: Vec<_> = then.keys().chain(now.keys()).filter(is_other).collect();
        others.sort_unstable();
        others.dedup();
        let others: Vec<_> = others.into_iter().map(|name| format!("`{}`", name.escape_default())).collect();
        (!others.is_empty()).then(|| format!("cases that are not as they were: {}", others.join(", ")))
    }
}

/// The cases that a run had selected; `None` is one that did not load.
fn cases_of(record: &RecordedRun) -> BTreeMap<String, Option<Digest>> {
    let name = |folder: &str| folder.rsplit_once('/').map_or(folder, |(_, name)| name).to_owned();
    let loaded = record.case_digest_set.iter().map(|(case_id, digest)| (case_id.as_str().to_owned(), Some(*digest)));
    loaded.chain(record.report.load_errors.iter().map(|error| (name(&error.folder), None))).collect()
}

fn file(link: &Link) -> String {
    link.file_name().as_str().to_owned()
}

/// The record that a user means by a path, a file's name or, of the task class, its number.
fn find<'a>(store: &'a VerifiedStore, task_class: &TaskClassName, wanted: &Path) -> Result<&'a Link, ContinueError> {
    let links = &store.verification().links;
    let seq = wanted.to_str().and_then(|text| text.parse().ok());
    let numbered = seq.and_then(|seq| links.get(&(task_class.clone(), seq)));
    let is_named = |link: &&Link| wanted.file_name() == Some(OsStr::new(link.file_name().as_str()));
    let found = numbered.or_else(|| links.values().find(is_named));
    let nothing = || ContinueError::NoSuchRecord { wanted: wanted.to_owned(), task_class: task_class.clone() };
    let link = found.ok_or_else(nothing)?;
    if link.position.task_class == *task_class {
        return Ok(link);
    }
    let (found, wanted) = (link.position.task_class.clone(), task_class.clone());
    Err(ContinueError::OtherClass { file: file(link), found, wanted })
}

fn read_capped(store: &VerifiedStore, link: &Link) -> Result<RecordedRun, ContinueError> {
    match store.writer().reader().verified_record(link) {
        None => Err(ContinueError::Changed { file: file(link) }),
        Some(record) if record.mode != Mode::Live => Err(ContinueError::NotLive { file: file(link) }),
        Some(record) if !record.report.aborted => Err(ContinueError::NothingSkipped { file: file(link) }),
        Some(record) => Ok(record),
    }
}

/// Fails if a record continues this one already.
fn require_first(store: &VerifiedStore, link: &Link) -> Result<(), ContinueError> {
    let is_later =
        |later: &&Link| later.position.task_class == link.position.task_class && later.position.seq > link.position.seq;
    for later in store.verification().links.values().filter(is_later) {
        let record = store.writer().reader().verified_record(later);
        let record = record.ok_or_else(|| ContinueError::Changed { file: file(later) })?;
        if record.continues == Some(link.hash) {
            let (file, by) = (file(link), file(later));
            let (seq, is_capped) = (later.position.seq, record.report.aborted);
            return Err(ContinueError::ContinuedAlready { file, seq, by, is_capped });
        }
    }
    Ok(())
}

/// Whoever signs a record signs for every answer in it, so answers that are taken over must be signed for already.
fn require_signed(store: &VerifiedStore, link: &Link, signer: &NoteSigner) -> Result<(), ContinueError> {
    let note = store.writer().reader().note(link.file_name().as_str()).ok().flatten();
    let trusted = TrustedKeys::default().trusting(signer.verifier()).ok();
    let signature = note.zip(trusted).and_then(|(note, trusted)| judge_record_note(&note, link, &trusted).ok());
    match signature {
        Some(signature) if signature.is_trusted() => Ok(()),
        _ => Err(ContinueError::NotSigned { file: file(link) }),
    }
}

/// A run that cannot pay for a single case has nothing to chain.
pub(super) fn nothing_left(cap: Usd, lacking: Lacking, continued: &Continued) -> ContinueError {
    let spent = continued.spent();
    let enough = sufficient_cap(spent, continued.skipped(), lacking.least(), cap);
    ContinueError::NothingLeft { spent, cap, lacking, enough }
}

/// A cap under which a capped run can be continued to its end, if no case costs more than one did or may.
pub(crate) fn cap_to_continue(report: &Figures, per_case: Usd, cap: Usd) -> Usd {
    let spent = Usd::from_dollars(report.total_cost_usd).unwrap_or(Usd::ZERO);
    sufficient_cap(spent, report.skipped, per_case, cap)
}

/// In whole cents. Where nobody knows what a case costs, the same cap once more.
fn sufficient_cap(spent: Usd, skipped: u64, per_case: Usd, cap: Usd) -> Usd {
    const CENT: u64 = 10_000_000;
    let rest = if per_case == Usd::ZERO { cap.nanos() } else { per_case.nanos().saturating_mul(skipped) };
    let nanos = spent.nanos().saturating_add(rest).div_ceil(CENT).saturating_mul(CENT);
    Usd::from_nanos(nanos).min(Usd::from_dollars(MOST_DOLLARS).unwrap_or(Usd::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sufficient_cap_pays_for_every_skipped_case_and_is_in_whole_cents() {
        let usd = |dollars| Usd::from_dollars(dollars).expect("an amount");
        let enough = |spent, skipped, per_case| sufficient_cap(usd(spent), skipped, usd(per_case), usd(5.0));
        assert_eq!(enough(0.9, 3, 0.3), usd(1.8));
        assert_eq!(enough(0.9, 3, 0.001), usd(0.91));
        assert_eq!(enough(0.0, 3, 0.0), usd(5.0), "nobody knows what a case costs");
        assert_eq!(enough(1.0, u64::MAX, 0.3), usd(MOST_DOLLARS));
    }
}
