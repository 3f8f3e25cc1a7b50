//! Where a live run begins: anew, or where an earlier one of the same terms was interrupted.
//!
//! Nothing of an earlier run is left running before another begins, and nothing that was paid for is lost: a run that is not
//! continued keeps its journal under another name. What was spent is counted once, whoever wrote it down.

use std::path::Path;

use super::super::failure::Failure;
use super::super::surroundings;
use super::live::{random_mark, say};
use super::session::{OpenStore, Session};
use crate::live::agent::{Leftover, boot_id};
use crate::live::cost::Usd;
use crate::live::journal::{Header, Journal, JournalContents, JournalError, JournalPlace, RunTerms};
use crate::live::live_run::end_orphans;
use crate::live::run_lock::RunLock;
use eval_model::advice::Exit;
use eval_model::utc::UtcMillis;

/// What an earlier run left behind.
pub(super) enum Found {
    Nothing,
    Unfinished(Box<JournalContents>),
    /// Its record is there; its process died before it could put its journal away.
    Committed {
        started_at: UtcMillis,
        /// How it ended.
        exit: Exit,
    },
}

/// Looks for an earlier run, and ends whatever of it is left.
pub(super) fn look(place: &JournalPlace, store: &OpenStore) -> Result<Found, Failure> {
    let Some(found) = place.read().map_err(failed)? else { return Ok(Found::Nothing) };
    for Leftover { path, error } in end_orphans(&found, &surroundings::scratch()) {
        // It is in nobody's way: every case gets a folder of its own.
        let path = path.display();
        say(&format!(
            "warning: `{path}`, which an earlier run left behind, cannot be removed ({error}): remove it by hand"
        ));
    }
    // A process may die between its commit and the end of its journal: nothing may be chained twice.
    if store.is_unfinished(found.header.started_marker) {
        return Ok(Found::Unfinished(Box::new(found)));
    }
    let (Header { started_at, started_marker, .. }, terms) = (&found.header, &found.header.terms);
    let exit = match (store.exit_of_run(&terms.task_class, *started_marker), terms.shard) {
        (Some(exit), _) => exit,
        // A shard gives a bundle, and this one was merged.
        (None, Some(_)) => Exit::Ok,
        (None, None) => {
            let what = format!("the marker `{started_marker}`, which announced the run of {started_at}, is gone");
            return Err(Failure::new(Exit::EvidenceBroken, what).hint("`eval-host verify` says what is wrong"));
        }
    };
    place.remove().map_err(failed)?;
    Ok(Found::Committed { started_at: *started_at, exit })
}

/// How a run will begin, once it is known that it may.
pub(super) enum Beginning {
    Anew { abandoned: Option<Box<JournalContents>> },
    Resumed(Box<JournalContents>),
}

/// A journal that is ready to be written.
pub(super) struct Begun {
    pub(super) journal: Journal,
    pub(super) header: Header,
    pub(super) earlier: Option<JournalContents>,
}

impl Beginning {
    pub(super) fn of(found: Found, resume: bool, terms: &RunTerms) -> Result<Self, Failure> {
        match (found, resume) {
            (Found::Unfinished(earlier), true) => {
                check_terms(&earlier, terms)?;
                Ok(Self::Resumed(earlier))
            }
            (Found::Unfinished(abandoned), false) => Ok(Self::Anew { abandoned: Some(abandoned) }),
            (Found::Nothing | Found::Committed { .. }, false) => Ok(Self::Anew { abandoned: None }),
            (Found::Nothing | Found::Committed { .. }, true) => {
                Err(Failure::new(Exit::UsageOrCap, format!("there is no run of `{}` to resume", terms.task_class))
                    .hint("leave out --resume to start one"))
            }
        }
    }

    /// What the run has been charged already.
    pub(super) fn charges(&self) -> Vec<Usd> {
        match self {
            Self::Anew { .. } => Vec::new(),
            Self::Resumed(earlier) => earlier.charged(),
        }
    }

    /// Begins. From here on there is something to resume, and the journal's place is held as long as the journal is.
    #[expect(clippy::needless_pass_by_value, reason = "whoever keeps the place keeps others from it")]
    pub(super) fn begin(
        self,
        session: &Session<'_>,
        place: JournalPlace,
        terms: RunTerms,
        store: &OpenStore,
    ) -> Result<Begun, Failure> {
        match self {
            Self::Resumed(earlier) => {
                let journal = place.go_on(&earlier, boot_id()).map_err(failed)?;
                Ok(Begun { journal, header: earlier.header.clone(), earlier: Some(*earlier) })
            }
            Self::Anew { abandoned } => {
                if let Some(found) = abandoned {
                    let aside = place.set_aside(&found.header.started_at.basic()).map_err(failed)?;
                    tell_abandoned(&found, &aside);
                }
                start(session, &place, terms, store)
            }
        }
    }
}

fn start(session: &Session<'_>, place: &JournalPlace, terms: RunTerms, store: &OpenStore) -> Result<Begun, Failure> {
    let mark = random_mark()?;
    let started_marker = store.announce(session, &[])?;
    let header = Header::new(terms, mark, session.now, started_marker);
    let journal = place.create(header.clone(), boot_id()).map_err(failed)?;
    Ok(Begun { journal, header, earlier: None })
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn failed(error: JournalError) -> Failure {
    Failure::from_error(Exit::HarnessError, &error)
}

/// What other runs spent while this one waited counts against its cap. If the one that was waited for is the one that is
/// resumed, its journal says what it spent, and the ledger says so once more.
pub(super) fn cap_left(cap: Usd, lock: &RunLock, earlier_charges: &[Usd]) -> Result<Usd, Failure> {
    let others = earlier_charges.iter().fold(lock.spent_meanwhile, |spent, charged| spent.saturating_sub(*charged));
    let left = cap.saturating_sub(others);
    if others > Usd::ZERO && left == Usd::ZERO {
        let what = format!("other runs spent {others} while this one waited, and its cap is {cap}");
        return Err(Failure::new(Exit::UsageOrCap, what).hint("start it again, or raise the cap with --max-cost-usd"));
    }
    Ok(left)
}

fn check_terms(earlier: &JournalContents, terms: &RunTerms) -> Result<(), Failure> {
    let differences = earlier.header.terms.differences(terms);
    if differences.is_empty() {
        return Ok(());
    }
    let what =
        format!("the run of {} cannot be resumed as this one: {}", earlier.header.started_at, differences.join("; "));
    Err(Failure::new(Exit::UsageOrCap, what)
        .hint("resume with the flags and the bench of that run, or leave out --resume to start another"))
}

fn tell_abandoned(found: &JournalContents, aside: &Path) {
    let (done, selected) = (found.finished.len(), found.header.terms.cases.len());
    say(&format!(
        "warning: the run of {} was not resumed: {done} of its {selected} cases were paid for, and are kept in `{}`",
        found.header.started_at,
        aside.display()
    ));
}
