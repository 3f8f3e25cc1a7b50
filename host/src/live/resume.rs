//! Where a live run begins: anew, or where an earlier one was interrupted.
//!
//! Nothing of an earlier run is left running before another begins, and nothing that was paid for is lost: a run that is not
//! continued keeps its journal under another name. What was spent is counted once, whoever wrote it down.

use std::path::Path;

use eval_evidence::record::RecordedRun;
use eval_evidence::store::Announced;
use eval_evidence::verified::{AnnounceRunError, VerifiedStore};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::{Digest, TaskClassName};
use eval_model::money::Usd;
use eval_model::utc::UtcMillis;

use super::agent::{Leftover, RunMark};
use super::journal::{Basis, FoundJournal, Header, Journal, JournalContents, JournalError, JournalPlace, ON_TRUST};
use super::live_run::end_orphans;
use crate::description::RunDescription;
use eval_cage::boot_id;

/// Whether a run goes on with an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    Earlier,
    Nothing,
}

/// Why a live run does not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the marker `{marker}`, which announced the run of {started_at}, is gone")]
    MarkerGone { marker: Digest, started_at: UtcMillis },
    #[error("there is no run of `{task_class}` to resume")]
    NothingToResume { task_class: TaskClassName },
    #[error("the run of {started_at} cannot be resumed as this one: {}", differences.join("; "))]
    OtherRun { started_at: UtcMillis, differences: Vec<String> },
    #[error("the run of {started_at} goes on under a cap of {cap}, which can be raised and not lowered to {asked}")]
    LowerCap { started_at: UtcMillis, cap: Usd, asked: Usd },
    #[error("the operating system gave no random number")]
    Mark(#[source] getrandom::Error),
    #[error(transparent)]
    Announce(#[from] AnnounceRunError),
}

impl Advice for BeginError {
    fn exit(&self) -> Exit {
        match self {
            Self::Journal(error) => error.exit(),
            Self::MarkerGone { .. } => Exit::EvidenceBroken,
            Self::NothingToResume { .. } | Self::OtherRun { .. } | Self::LowerCap { .. } => Exit::UsageOrCap,
            Self::Mark(_) => Exit::HarnessError,
            Self::Announce(error) => error.exit(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::MarkerGone { .. } => Some("`eval-host verify` says what is wrong".to_owned()),
            Self::NothingToResume { .. } => Some("leave out --resume to start one".to_owned()),
            Self::OtherRun { .. } => {
                let hint = "resume with the flags and the bench of that run, or leave out --resume to start another";
                Some(hint.to_owned())
            }
            Self::LowerCap { .. } | Self::Mark(_) => None,
            Self::Announce(error) => error.hint(),
        }
    }
}

/// What an earlier run left behind.
pub(crate) enum Found {
    Nothing,
    Unfinished(Box<JournalContents>),
    /// Something was there, and it is gone or not to be believed.
    Broken(JournalError),
    /// Its record is there, or its shard was merged; its process died before it could put its journal away.
    Complete {
        started_at: UtcMillis,
        /// `None` for a shard, whose record is that of the whole.
        record: Option<Box<RecordedRun>>,
    },
}

/// Looks for an earlier run, and ends whatever of it is left. `warn` tells a person what could not be removed.
pub(crate) fn look(
    place: &JournalPlace,
    store: &VerifiedStore,
    scratch: &Path,
    resume: Resume,
    warn: &mut dyn FnMut(&str),
) -> Result<Found, BeginError> {
    let found = match place.find(|marker| !store.is_unfinished(marker))? {
        FoundJournal::Nothing => return Ok(Found::Nothing),
        FoundJournal::Broken(error) => return Ok(Found::Broken(error)),
        FoundJournal::Whole(contents) => contents,
    };
    let is_unfinished = store.is_unfinished(found.header.started_marker);
    if found.basis() == Basis::Trust && is_unfinished && resume == Resume::Earlier {
        place.require_trust()?;
    }
    for Leftover { path, error } in end_orphans(&found, scratch) {
        // It is in nobody's way: every case gets a folder of its own.
        let path = path.display();
        warn(&format!("`{path}`, which an earlier run left behind, cannot be removed ({error}): remove it by hand"));
    }
    let Header { run, started_marker, .. } = &found.header;
    // A process may die between its commit and the end of its journal: nothing may be chained twice.
    if is_unfinished {
        return Ok(Found::Unfinished(found));
    }
    let record = store.record_of_run(&run.task_class, *started_marker);
    // The record of a merged shard does not name its marker, so it must be there: one that was taken away was not merged.
    let was_merged =
        run.shard.is_some() && store.verification().markers.values().any(|marker| marker == started_marker);
    if record.is_none() && !was_merged {
        return Err(BeginError::MarkerGone { marker: *started_marker, started_at: run.started_at });
    }
    place.remove()?;
    Ok(Found::Complete { started_at: run.started_at, record: record.map(Box::new) })
}

/// How a run will begin, once it is known that it may.
pub(crate) enum RunStart {
    Anew { abandoned: Option<Abandoned> },
    Resumed(Box<JournalContents>),
}

/// A run that is not gone on with.
pub(crate) enum Abandoned {
    Whole(Box<JournalContents>),
    Broken(JournalError),
}

/// A journal that is ready to be written.
pub(crate) struct StartedRun {
    pub(crate) journal: Journal,
    pub(crate) header: Header,
    pub(crate) earlier: Option<JournalContents>,
}

impl RunStart {
    pub(crate) fn new(found: Found, resume: Resume, run: &RunDescription) -> Result<Self, BeginError> {
        match (found, resume) {
            (Found::Unfinished(earlier), Resume::Earlier) => {
                check_same_run(&earlier, run)?;
                Ok(Self::Resumed(earlier))
            }
            (Found::Broken(error), Resume::Earlier) => Err(error.into()),
            (Found::Unfinished(earlier), Resume::Nothing) => {
                Ok(Self::Anew { abandoned: Some(Abandoned::Whole(earlier)) })
            }
            (Found::Broken(error), Resume::Nothing) => Ok(Self::Anew { abandoned: Some(Abandoned::Broken(error)) }),
            (Found::Nothing | Found::Complete { .. }, Resume::Nothing) => Ok(Self::Anew { abandoned: None }),
            (Found::Nothing | Found::Complete { .. }, Resume::Earlier) => {
                Err(BeginError::NothingToResume { task_class: run.task_class.clone() })
            }
        }
    }

    /// The run that is gone on with.
    pub(crate) fn earlier(&self) -> Option<&JournalContents> {
        match self {
            Self::Anew { .. } => None,
            Self::Resumed(earlier) => Some(earlier),
        }
    }

    /// Begins. From here on there is something to resume, and the journal's place is held as long as the journal is.
    #[expect(clippy::needless_pass_by_value, reason = "whoever keeps the place keeps others from it")]
    pub(crate) fn begin(
        self,
        run: &RunDescription,
        place: JournalPlace,
        store: &VerifiedStore,
        warn: &mut dyn FnMut(&str),
    ) -> Result<StartedRun, BeginError> {
        match self {
            Self::Resumed(mut earlier) => {
                if earlier.is_on_trust() {
                    warn(ON_TRUST);
                }
                let cap = run.live.as_ref().map_or(earlier.cap(), |live| live.cap);
                let journal = place.go_on(&earlier, boot_id(), cap)?;
                earlier.goes_on_under(cap);
                Ok(StartedRun { journal, header: earlier.header.clone(), earlier: Some(*earlier) })
            }
            Self::Anew { abandoned } => {
                if let Some(abandoned) = abandoned {
                    warn(&abandoned.put_away(run, &place)?);
                }
                start(run, &place, store)
            }
        }
    }
}

fn start(run: &RunDescription, place: &JournalPlace, store: &VerifiedStore) -> Result<StartedRun, BeginError> {
    let mark = RunMark::new().map_err(BeginError::Mark)?;
    let cases = run.names().len() as u64;
    let what = run.shard.map_or(Announced::Whole, Announced::Shard);
    let started_marker = store.announce(&run.task_class, run.started_at, cases, what)?;
    let header = Header::new(run.clone(), mark, started_marker);
    let journal = place.create(header.clone(), boot_id())?;
    Ok(StartedRun { journal, header, earlier: None })
}

/// A run may go on under a higher cap: what was spent counts against it all the same.
fn check_same_run(earlier: &JournalContents, now: &RunDescription) -> Result<(), BeginError> {
    let (then, started_at) = (&earlier.header.run, earlier.header.run.started_at);
    let differences = then.differences(&now.under_the_cap_of(then));
    if !differences.is_empty() {
        return Err(BeginError::OtherRun { started_at, differences });
    }
    match now.live.as_ref().map(|live| live.cap) {
        Some(asked) if asked < earlier.cap() => Err(BeginError::LowerCap { started_at, cap: earlier.cap(), asked }),
        _ => Ok(()),
    }
}

impl Abandoned {
    /// Makes way for `run`, and gives what is to be told about it. What was paid for is kept.
    fn put_away(&self, run: &RunDescription, place: &JournalPlace) -> Result<String, JournalError> {
        match self {
            Self::Whole(found) => {
                let aside = place.set_aside(&found.header.run.started_at.basic())?;
                Ok(told_abandoned(found, &aside))
            }
            // Nothing in it is believed, not even when its run began.
            Self::Broken(error) if place.is_taken() => {
                let aside = place.set_aside(&run.started_at.basic())?;
                place.forget()?;
                Ok(format!("{}; it is kept as `{}`, and its run stays unfinished", told(error), aside.display()))
            }
            Self::Broken(error) => {
                place.forget()?;
                Ok(format!("{}; its run stays unfinished", told(error)))
            }
        }
    }
}

/// An error of a journal with its causes, as one text.
fn told(error: &JournalError) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn told_abandoned(found: &JournalContents, aside: &Path) -> String {
    let (done, selected) = (found.finished.len(), found.header.run.names().len());
    format!(
        "the run of {} was not resumed: {done} of its {selected} cases were paid for, and are kept in `{}`",
        found.header.run.started_at,
        aside.display()
    )
}
