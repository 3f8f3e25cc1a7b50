//! A live run as its cases see it: asks the budget, writes the journal, runs the agent, charges what it cost.
//!
//! This is the only place where money, the journal and agents meet, and the order of its steps is what makes a run safe to
//! kill: reserve → make a workspace → write down → start → write down who runs → tell the agent → charge → write the answer down. Nothing here
//! scores.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::answers::{Answer, ObtainedAnswer, RecordError, StoredAnswer, record_cassette};
use crate::live::agent::{
    CommandFiles, Leftover, LiveAnswer, LiveEnd, LiveSut, PrepareError, Prepared, remove_leftovers,
};
use crate::live::continued::Continued;
use crate::live::cost::{Budget, Permission, Reservation, Settled};
use crate::live::interrupt::Interrupt;
use crate::live::journal::{Journal, JournalContents, JournalError, ON_TRUST};
use crate::live::run_lock::{RunLock, RunLockError, Spending};
use eval_cage::{boot_id, wait_for_end};
use eval_evidence::cassette::Recording;
use eval_evidence::chain::StoreId;
use eval_evidence::record::Sut;
use eval_model::advice::{Advice, Exit};
use eval_model::case::ReadCase;
use eval_model::contract::Meter;
use eval_model::ids::{CaseId, Digest};
use eval_model::money::Usd;
use eval_model::outcome::{NoOutput, OutcomeClass};
use eval_model::text::Words;
use eval_model::utc::UtcMillis;

/// How often a case that waits for money looks whether the run was interrupted.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Why a live run cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveRunError {
    #[error("interrupted")]
    Interrupted,
    #[error("the files of case `{case_id}` changed since an agent was started for it")]
    BenchChanged { case_id: CaseId },
    /// The clock of the sandbox may stop a rubric once and not again. No verification would accept the record.
    #[error(
        "the answer to case `{case_id}` was {} in the record that is continued, and is {} here",
        then.as_str(),
        now.as_str()
    )]
    OtherOutcome { case_id: CaseId, then: OutcomeClass, now: OutcomeClass },
    #[error("eval-host cannot start an agent")]
    Prepare(#[source] PrepareError),
    #[error("eval-host cannot start an agent: {why}")]
    NoCage { why: String },
    #[error("the journal cannot be written, and nothing is spent that is not in it")]
    Journal(#[source] JournalError),
    #[error("the ledger of this task class cannot be written")]
    Ledger(#[source] RunLockError),
    #[error("an answer was paid for and is in the journal, but could not be recorded")]
    Record(#[source] RecordError),
}

impl Advice for LiveRunError {
    fn exit(&self) -> Exit {
        match self {
            Self::Interrupted => Exit::Interrupted,
            Self::BenchChanged { .. } => Exit::UsageOrCap,
            Self::OtherOutcome { .. } => Exit::HarnessError,
            Self::Prepare(_) | Self::NoCage { .. } | Self::Journal(_) | Self::Ledger(_) | Self::Record(_) => {
                Exit::HarnessError
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::BenchChanged { .. } => {
                Some("resume with the bench of that run, or leave out --resume to start another".to_owned())
            }
            _ => None,
        }
    }
}

/// Where the answers of a live run are recorded as cassettes.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) folder: PathBuf,
    /// Who answers, as it is known before the first answer.
    pub(crate) sut: Sut,
    /// The run that the answers come from.
    pub(crate) store_id: StoreId,
    pub(crate) started_marker: Digest,
}

/// What a live run is made of.
pub(crate) struct LiveParts<'a> {
    pub(crate) sut: LiveSut,
    pub(crate) lock: RunLock,
    pub(crate) journal: Journal,
    /// What an interrupted run of the same terms left behind.
    pub(crate) earlier: Option<JournalContents>,
    /// The capped run that this one continues.
    pub(crate) continued: Option<Continued>,
    pub(crate) recorder: Option<Recorder>,
    /// What the agents' command names.
    pub(crate) files: &'a CommandFiles,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) clock: &'a (dyn Fn() -> UtcMillis + Sync),
}

/// A live run, shared by all its workers.
pub(crate) struct LiveRun<'a> {
    parts: LiveParts<'a>,
    budget: Mutex<Budget>,
    changed: Condvar,
    /// A case met an error that ends the run.
    broken: AtomicBool,
    /// The files of the command whose change was told of.
    told_changed: Mutex<BTreeSet<String>>,
    /// What the budget had counted before this process spent anything.
    spent_earlier: Usd,
}

impl std::fmt::Debug for LiveRun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveRun").field("sut", &self.parts.sut).field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl<'a> LiveRun<'a> {
    /// A run that may spend what is left of a budget, in which everything is counted that it has spent already.
    pub(crate) fn new(parts: LiveParts<'a>, budget: Budget) -> Self {
        Self {
            parts,
            spent_earlier: budget.spent(),
            budget: Mutex::new(budget),
            changed: Condvar::new(),
            broken: AtomicBool::new(false),
            told_changed: Mutex::default(),
        }
    }

    /// Says that the case with this place in the order of the run is being worked on. Until it has been decided or this is
    /// dropped, no later case starts.
    pub(crate) fn turn(&self, place: usize) -> Turn<'_, 'a> {
        Turn { run: self, place }
    }

    /// Answers the case with this place in the order of the run.
    pub(crate) fn answer(&self, place: usize, case: &ReadCase) -> Result<ObtainedAnswer, LiveRunError> {
        let answered = match self.answered_earlier(case) {
            Ok(Some(obtained)) => Ok(obtained),
            Ok(None) => self.ask_agent(place, case),
            Err(error) => Err(error),
        };
        let recorded = answered.and_then(|obtained| self.record(case, &obtained.answer).map(|()| obtained));
        // What a failed case had reserved is never given back, so nobody may wait for it.
        recorded.inspect_err(|_| self.broken.store(true, Ordering::SeqCst))
    }

    /// What was paid for already: by an earlier process of this run, or by the run that it continues.
    fn answered_earlier(&self, case: &ReadCase) -> Result<Option<ObtainedAnswer>, LiveRunError> {
        let case_id = &case.case.case_id;
        let (journal, continued) = (self.parts.earlier.as_ref(), self.parts.continued.as_ref());
        let digests = [
            journal.and_then(|journal| journal.case_digests.get(case_id)),
            continued.and_then(|continued| continued.case_digest(case_id)),
        ];
        if digests.into_iter().flatten().any(|digest| *digest != case.case_digest) {
            return Err(LiveRunError::BenchChanged { case_id: case_id.clone() });
        }
        let finished = journal.and_then(|journal| journal.finished.get(case_id));
        let journalled = finished.map(|stored| stored.clone().into_obtained());
        Ok(journalled.or_else(|| continued.and_then(|continued| continued.answer(case_id)).cloned()))
    }

    /// Fails unless a case ended as it did in the record that this run continues.
    pub(crate) fn check_outcome(&self, case_id: &CaseId, now: OutcomeClass) -> Result<(), LiveRunError> {
        match self.parts.continued.as_ref().and_then(|continued| continued.outcome(case_id)) {
            Some(then) if then != now => {
                self.broken.store(true, Ordering::SeqCst);
                Err(LiveRunError::OtherOutcome { case_id: case_id.clone(), then, now })
            }
            _ => Ok(()),
        }
    }

    fn ask_agent(&self, place: usize, case: &ReadCase) -> Result<ObtainedAnswer, LiveRunError> {
        let case_id = &case.case.case_id;
        let Some(reservation) = self.reserve(place)? else {
            return Ok(live(Answer::none(NoOutput::SkippedCostCap)));
        };
        let prepared = match self.prepare(case, &reservation) {
            Ok(prepared) => prepared,
            Err(error) => {
                // Nothing was started, so nothing was spent: neither the ledger nor the journal may say otherwise.
                self.settle(reservation, Some(Usd::ZERO))?;
                return Err(error);
            }
        };
        let (journal, agents) = (&self.parts.journal, self.parts.interrupt.agents());
        let started = |group: &_| journal.running(case_id, group);
        let end = self.parts.sut.answer(case, prepared, reservation.amount.dollars(), agents, started);
        let end = end.map_err(LiveRunError::Journal)?;
        let budget_usd = Some(reservation.amount.dollars());
        let answer = Answer { budget_usd, ..self.charge(reservation, end)? };
        let obtained = self.warned(case_id, answer);
        journal.finished(StoredAnswer::new(case_id, case.case_digest, &obtained)).map_err(LiveRunError::Journal)?;
        Ok(obtained)
    }

    /// Makes the agent's place and, as the last thing before it is started, writes down what it may cost.
    fn prepare(&self, case: &ReadCase, reservation: &Reservation) -> Result<Prepared, LiveRunError> {
        let prepared = self.parts.sut.prepare(case).map_err(LiveRunError::Prepare)?;
        self.parts
            .journal
            .reserved(&case.case.case_id, case.case_digest, reservation.amount)
            .map_err(LiveRunError::Journal)?;
        Ok(prepared)
    }

    /// Waits until the case may start. `None` says that there is no money left for it.
    fn reserve(&self, place: usize) -> Result<Option<Reservation>, LiveRunError> {
        let mut budget = self.budget();
        loop {
            if self.parts.interrupt.is_requested() || self.broken.load(Ordering::SeqCst) {
                return Err(LiveRunError::Interrupted);
            }
            match budget.ask(place) {
                Permission::Go(reservation) => {
                    // The next in order may fit too.
                    self.changed.notify_all();
                    self.note(&budget)?;
                    return Ok(Some(reservation));
                }
                Permission::Skip => {
                    self.changed.notify_all();
                    return Ok(None);
                }
                Permission::Wait => {
                    let waited = self.changed.wait_timeout(budget, BETWEEN_LOOKS);
                    budget = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    fn charge(&self, reservation: Reservation, end: LiveEnd) -> Result<Answer, LiveRunError> {
        match end {
            // What the agent spent is not known, so its reservation stays: in the ledger, and in the journal as lost.
            LiveEnd::Stopped if self.parts.interrupt.is_stopping() => Err(LiveRunError::Interrupted),
            LiveEnd::NoCage(why) => {
                self.settle(reservation, Some(Usd::ZERO))?;
                Err(LiveRunError::NoCage { why })
            }
            LiveEnd::Stopped => {
                let settled = self.settle(reservation, None)?;
                let meter = Meter { cost_usd: settled.charged.dollars(), duration_seconds: 0.0 };
                let answer = Answer::new(Err(NoOutput::SkippedCostCap), meter);
                Ok(Answer { cost_is_estimate: true, ..answer })
            }
            LiveEnd::Answered(answer) => {
                let settled = self.settle(reservation, answer.cost.and_then(Usd::from_dollars))?;
                Ok(charged(answer, settled))
            }
        }
    }

    fn warned(&self, case_id: &CaseId, answer: Answer) -> ObtainedAnswer {
        let mut obtained = live(answer);
        if obtained.answer.cost_is_estimate {
            let charged = Usd::from_dollars(obtained.answer.meter.cost_usd).unwrap_or(Usd::ZERO);
            let hint = if self.budget().has_price_limit() { "" } else { "; max_cost_usd_per_case would bound it" };
            obtained.warnings.push(format!("{case_id}: its cost is not known, and {charged} was charged{hint}"));
        }
        obtained.warnings.extend(self.newly_changed().into_iter().map(|name| {
            let name = Words(&name);
            format!(
                "{case_id}: when its agent had ended, `{name}` of the agent's command was another file than before the first \
                 case, so this answer and later ones may come from another agent than the record says"
            )
        }));
        obtained
    }

    /// The files of the command that changed since anybody looked. They are told of once, and not for every case.
    fn newly_changed(&self) -> Vec<String> {
        let mut told = self.told_changed.lock().unwrap_or_else(PoisonError::into_inner);
        self.parts.files.changed().filter(|name| told.insert((*name).to_owned())).map(str::to_owned).collect()
    }

    fn settle(&self, reservation: Reservation, cost: Option<Usd>) -> Result<Settled, LiveRunError> {
        let mut budget = self.budget();
        let settled = budget.settle(reservation, cost);
        if settled.overshot {
            self.parts.interrupt.agents().request();
        }
        let noted = self.note(&budget);
        drop(budget);
        self.changed.notify_all();
        noted.map(|()| settled)
    }

    fn note(&self, budget: &Budget) -> Result<(), LiveRunError> {
        self.parts.lock.note(self.spending(budget)).map_err(LiveRunError::Ledger)
    }

    /// Of this process alone.
    fn spending(&self, budget: &Budget) -> Spending {
        let spent = budget.spent().saturating_sub(self.spent_earlier);
        Spending { spent, reserved: budget.reserved(), largest: budget.largest() }
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        // A budget is whole whenever its lock is free, whatever the thread that held it did afterwards.
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, case: &ReadCase, answer: &Answer) -> Result<(), LiveRunError> {
        let Some(recorder) = &self.parts.recorder else { return Ok(()) };
        let sut = answer.agent.as_ref().map_or_else(|| recorder.sut.clone(), |agent| agent.of(&recorder.sut));
        let recording = Recording {
            sut: &sut.to_name(),
            input_digest: case.input_digest,
            store_id: recorder.store_id,
            started_marker: recorder.started_marker,
            recorded_at: (self.parts.clock)(),
            output: &answer.output,
            meter: answer.meter,
        };
        record_cassette(&recorder.folder, &case.case.case_id, &recording).map_err(LiveRunError::Record)
    }

    /// What was charged for starts that came to nothing.
    pub(crate) fn lost(&self) -> Usd {
        let before = self.parts.continued.as_ref().map_or(Usd::ZERO, Continued::lost);
        before.saturating_add(self.parts.earlier.as_ref().map_or(Usd::ZERO, JournalContents::lost_usd))
    }

    /// What the record must say of the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let (earlier, continued) = (self.parts.earlier.as_ref(), self.parts.continued.as_ref());
        let before = continued.map(Continued::warnings).unwrap_or_default();
        let on_trust = earlier.is_some_and(JournalContents::is_on_trust).then(|| ON_TRUST.to_owned());
        let told = earlier.into_iter().flat_map(|earlier| told_raised(earlier).into_iter().chain(told_lost(earlier)));
        before.iter().cloned().chain(on_trust).chain(told).collect()
    }

    /// How many shards that its answers are from were announced in other stores.
    pub(crate) fn shards_elsewhere(&self) -> u64 {
        self.parts.continued.as_ref().map_or(0, Continued::shards_elsewhere)
    }

    /// Who answered in the run that it continues.
    pub(crate) fn continued_suts(&self) -> BTreeSet<Sut> {
        self.parts.continued.as_ref().map(|continued| continued.suts().clone()).unwrap_or_default()
    }

    /// Ends the run whose record is committed, or whose answer set is written: nothing is left to resume.
    pub(crate) fn committed(self) -> Result<(), LiveRunError> {
        let spending = self.spending(&self.budget());
        self.parts.journal.remove().map_err(LiveRunError::Journal)?;
        self.parts.lock.release(spending).map_err(LiveRunError::Ledger)
    }

    /// Ends the run and leaves its journal, to be resumed.
    pub(crate) fn left_unfinished(self) -> Result<(), LiveRunError> {
        let spending = self.spending(&self.budget());
        // The journal is free before the run lock is: whoever waits for the one must not meet the other.
        drop(self.parts.journal);
        self.parts.lock.release(spending).map_err(LiveRunError::Ledger)
    }
}

/// A case's place in the order of the run.
pub(crate) struct Turn<'r, 'a> {
    run: &'r LiveRun<'a>,
    place: usize,
}

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        self.run.budget().pass(self.place);
        self.run.changed.notify_all();
    }
}

/// Says how the cap was raised while the run went on.
fn told_raised(earlier: &JournalContents) -> Vec<String> {
    let caps: Vec<_> = earlier.caps().collect();
    let told =
        |caps: &[Usd]| format!("the cost cap was raised from {} to {} when the run was resumed", caps[0], caps[1]);
    caps.windows(2).map(told).collect()
}

/// Says of every case how often it was begun for nothing. Whoever kills eval-host when an agent does badly gives the case another
/// try, and nobody can tell that from a crash.
fn told_lost(earlier: &JournalContents) -> impl Iterator<Item = String> {
    let mut starts: BTreeMap<&CaseId, u64> = BTreeMap::new();
    for lost in &earlier.lost {
        *starts.entry(&lost.case_id).or_default() += 1;
    }
    starts.into_iter().map(|(case_id, lost)| {
        let answered = lost + 1;
        format!(
            "{case_id}: an earlier agent was started for it and lost with eval-host, so it was answered {answered} times at least"
        )
    })
}

/// Ends the agents that a dead process left running, and removes their workspaces; gives those that could not be removed.
/// Only whoever holds the journal knows that its process is dead.
pub(crate) fn end_orphans(contents: &JournalContents, scratch: &Path) -> Vec<Leftover> {
    let this_boot = boot_id();
    for (boot, launcher) in contents.lost.iter().filter_map(|lost| lost.agent.as_ref()) {
        // A number of another boot is the number of somebody else.
        if *boot == this_boot {
            wait_for_end(launcher);
        }
    }
    remove_leftovers(scratch, &contents.header.mark)
}

fn live(answer: Answer) -> ObtainedAnswer {
    ObtainedAnswer { answer, cassette: None, warnings: Vec::new() }
}

fn charged(answer: LiveAnswer, settled: Settled) -> Answer {
    let cost_usd = answer.cost.unwrap_or_else(|| settled.charged.dollars());
    Answer {
        output: answer.output,
        meter: Meter { cost_usd, duration_seconds: answer.duration_seconds },
        cost_is_estimate: settled.is_estimate,
        budget_usd: None,
        agent: answer.agent,
        stderr: answer.stderr,
    }
}
