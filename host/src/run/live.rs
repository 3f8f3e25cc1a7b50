//! A live run from what it was asked for to its end: the lock, the money, the journal, and what becomes of them.

#![expect(clippy::disallowed_methods, reason = "cassettes are recorded where the user says")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use eval_evidence::record::RecordedRun;
use eval_evidence::verified::{OpenVerifiedError, VerifiedStore};
use eval_model::advice::{Advice, Exit};
use eval_model::money::Usd;
use eval_model::utc::UtcMillis;

use super::answer_set::{Announcement, AnswerSetHeader, WrittenAnswerSet};
use super::cases::{AnswerSource, Run};
use super::continued::{ContinueError, nothing_left};
use super::error::RunError;
use super::event::{Event, emit_notes};
use super::record::{Committed, LiveFacts};
use crate::description::RunDescription;
use crate::live::agent::{AgentCommand, CommandFiles, LiveSut};
use crate::live::continued::Continued;
use crate::live::cost::{Budget, Lacking};
use crate::live::interrupt::Interrupt;
use crate::live::journal::{Header, JournalContents, JournalPlace};
use crate::live::live_run::{LiveParts, LiveRun, LiveRunError, Recorder};
use crate::live::resume::{BeginError, Found, Resume, RunStart, StartedRun, look};
use crate::live::run_lock::{Holder, RunLock, RunLockError, RunLockQueue, Waiting};

/// What a live run is given besides what every run has.
pub(crate) struct LiveRequest<'a> {
    pub(crate) agent: &'a AgentCommand,
    /// What its command names.
    pub(crate) files: &'a CommandFiles,
    /// How it is started. The mark of its workspaces is the run's.
    pub(crate) sut: LiveSut,
    /// The most that the run may cost.
    pub(crate) cap: Usd,
    pub(crate) resume: Resume,
    /// The capped record whose skipped cases are to be answered: its path, its file's name or its number.
    pub(crate) continues: Option<PathBuf>,
    pub(crate) patience: Patience,
    /// Where answers are recorded as cassettes.
    pub(crate) record: Option<PathBuf>,
    pub(crate) interrupt: &'a Interrupt,
    /// Where the benches are, for whoever waits for this run.
    pub(crate) bench_root: PathBuf,
}

/// What a run does while another live run of its task class goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Wait,
    Fail,
}

/// How a live run ended.
pub(crate) enum LiveOutcome {
    Committed(Box<(Committed, VerifiedStore)>),
    AnswerSet(WrittenAnswerSet),
    /// There was nothing to resume: the record of the earlier run is committed, or its shard was merged.
    WasComplete {
        started_at: UtcMillis,
        record: Option<Box<RecordedRun>>,
    },
}

/// What a run that has its turn comes to before its first case.
enum Beginning<'a> {
    Begun(Box<Begun<'a>>),
    WasComplete { started_at: UtcMillis, record: Option<Box<RecordedRun>> },
}

/// A run that may ask its agents.
struct Begun<'a> {
    run: Run<'a>,
    continued: Option<Continued>,
    store: VerifiedStore,
    started: StartedRun,
    budget: Budget,
}

/// What the cases of a live run came to.
enum Ended {
    Committed(Box<Committed>),
    AnswerSet(WrittenAnswerSet),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    #[error("the cassettes' folder `{}` cannot be made", path.display())]
    CassetteFolder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(RunLockError),
    #[error(transparent)]
    Store(OpenVerifiedError),
    #[error(transparent)]
    Begin(#[from] BeginError),
    #[error(transparent)]
    Continue(#[from] ContinueError),
    #[error("other runs spent {others} of the cap of {cap} while this one waited, and {lacking}")]
    NothingLeft { others: Usd, cap: Usd, lacking: Lacking },
    #[error("the cap of {cap} is too low for a single case: {lacking}")]
    CapTooLow { cap: Usd, lacking: Lacking },
    /// Everything was charged for agents that came to nothing.
    #[error(
        "{lost} was charged for agents of the run of {started_at} that were lost with eval-host, so no case fits under the cap of \
         {cap}: {lacking}"
    )]
    AllLost {
        started_at: UtcMillis,
        lost: Usd,
        cap: Usd,
        lacking: Lacking,
        /// A cap under which the run can spend what it could before.
        enough: Usd,
    },
    #[error(transparent)]
    Run(RunError),
    #[error("the run is complete, but eval-host could not remove its journal or release its lock")]
    NotPutAway(#[source] LiveRunError),
}

impl LiveError {
    /// Whether a journal is left with which the run can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        match self {
            Self::Run(error) => !error.is_committed(),
            Self::AllLost { .. } | Self::Begin(BeginError::LowerCap { .. }) => true,
            _ => false,
        }
    }

    /// The cap under which the run can be resumed, where it cannot under the one that was asked for.
    pub(crate) fn cap_to_resume_under(&self) -> Option<Usd> {
        match self {
            Self::AllLost { enough, .. } => Some(*enough),
            Self::Begin(BeginError::LowerCap { cap, .. }) => Some(*cap),
            _ => None,
        }
    }
}

impl Advice for LiveError {
    fn exit(&self) -> Exit {
        match self {
            Self::Lock(error) => error.exit(),
            Self::CassetteFolder { .. } | Self::NothingLeft { .. } | Self::CapTooLow { .. } | Self::AllLost { .. } => {
                Exit::UsageOrCap
            }
            Self::Store(error) => error.exit(),
            Self::Begin(error) => error.exit(),
            Self::Continue(error) => error.exit(),
            Self::Run(error) => error.exit(),
            Self::NotPutAway(_) => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NothingLeft { .. } => Some("start it again, or raise the cap with --max-cost-usd".to_owned()),
            Self::CapTooLow { .. } => Some("raise it with --max-cost-usd".to_owned()),
            Self::Run(RunError::NothingAffordable { .. }) => {
                Some("its journal is kept: resume it with --resume and a higher --max-cost-usd".to_owned())
            }
            Self::Store(error) => error.hint(),
            Self::Begin(error) => error.hint(),
            Self::Continue(error) => error.hint(),
            Self::Run(error) => error.hint(),
            _ => None,
        }
    }
}

impl<'a> Run<'a> {
    /// Takes the run's turn, begins it or goes on with it, and ends it. `open_store` opens the store once it is the run's
    /// turn.
    pub(crate) fn conduct(
        self,
        request: &LiveRequest<'_>,
        queue: RunLockQueue,
        store_path: &Path,
        open_store: impl FnOnce() -> Result<VerifiedStore, OpenVerifiedError>,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> Result<LiveOutcome, LiveError> {
        // Whatever can fail before anything is announced or paid for does so here.
        request.record.as_deref().map(make_folder).transpose()?;
        let lock = acquire(&self.description, request, queue, emit)?;
        let Begun { run, continued, store, started, budget } =
            match self.begin(request, &lock, store_path, open_store, emit) {
                Ok(Beginning::Begun(begun)) => *begun,
                Ok(Beginning::WasComplete { started_at, record }) => {
                    lock.release_unused().map_err(LiveError::Lock)?;
                    return Ok(LiveOutcome::WasComplete { started_at, record });
                }
                Err(error) => {
                    // Why a run does not begin matters more than that its lock could not be put away.
                    let _ = lock.release_unused();
                    return Err(error);
                }
            };
        let recorder = request.record.clone().map(|folder| Recorder {
            folder,
            sut: request.agent.sut(request.files),
            store_id: store.id(),
            started_marker: started.header.started_marker,
        });
        let parts = LiveParts {
            sut: LiveSut { mark: started.header.mark.clone(), ..request.sut.clone() },
            lock,
            journal: started.journal,
            earlier: started.earlier,
            continued,
            files: request.files,
            recorder,
            interrupt: request.interrupt,
            clock: run.clock,
        };
        let live_run = LiveRun::new(parts, budget);
        let result = run.execute(&live_run, &started.header, &store, store_path, emit);
        match put_away(result, live_run)? {
            Ended::Committed(committed) => Ok(LiveOutcome::Committed(Box::new((*committed, store)))),
            Ended::AnswerSet(written) => Ok(LiveOutcome::AnswerSet(written)),
        }
    }

    /// Begins the run, or goes on with an earlier one, once it is its turn. It spends nothing.
    fn begin(
        self,
        request: &LiveRequest<'_>,
        lock: &RunLock,
        store_path: &Path,
        open_store: impl FnOnce() -> Result<VerifiedStore, OpenVerifiedError>,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Beginning<'a>, LiveError> {
        let store = open_store().map_err(LiveError::Store)?;
        emit_notes(&store, emit);
        let place = self.hold_journal(store_path, &store, request)?;
        let mut warn = |text: &str| emit(&Event::Warning(text));
        let found = match look(&place, &store, &request.sut.scratch, request.resume, &mut warn)? {
            Found::Complete { started_at, record } if request.resume == Resume::Earlier => {
                return Ok(Beginning::WasComplete { started_at, record });
            }
            found => found,
        };
        // Only now: what was found may be a continuation of the same record that is complete.
        let (run, continued) = self.continuing(request, &store)?;
        let start = RunStart::new(found, request.resume, &run.description)?;
        let budget = run.budget(request, lock, start.earlier(), continued.as_ref())?;
        let started = start.begin(&run.description, place, &store, &mut warn)?;
        let description = cap_at_the_end(&started.header.run, &run.description);
        let run = Run { description, ..run };
        Ok(Beginning::Begun(Box::new(Begun { run, continued, store, started, budget })))
    }

    fn execute(
        &self,
        live_run: &LiveRun<'_>,
        header: &Header,
        store: &VerifiedStore,
        store_path: &Path,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Ended, RunError> {
        let answers = AnswerSource::Live(live_run);
        let lost_usd = live_run.lost().dollars();
        if self.description.shard.is_some() {
            let announced = Announcement { store_id: store.id(), marker: header.started_marker };
            let header = AnswerSetHeader::new(self.description.clone(), Some((announced, lost_usd)));
            let header = header.warning(live_run.warnings());
            return self.write_answer_set(&answers, store_path, header, emit).map(Ended::AnswerSet);
        }
        let (started_marker, warnings) = (&|| Ok(header.started_marker), live_run.warnings());
        let (shards_elsewhere, continued_suts) = (live_run.shards_elsewhere(), live_run.continued_suts());
        let live = LiveFacts { started_marker, lost_usd, shards_elsewhere, continued_suts, warnings };
        let committed = self.commit(&answers, store, Some(&live), emit)?;
        Ok(Ended::Committed(Box::new(committed)))
    }

    /// What the run may spend, with all that was spent already. It fails, before anything is announced and with the journal as it
    /// is, where there would be nothing to record.
    fn budget(
        &self,
        request: &LiveRequest<'_>,
        lock: &RunLock,
        earlier: Option<&JournalContents>,
        continued: Option<&Continued>,
    ) -> Result<Budget, LiveError> {
        let others = spent_by_others(lock, earlier);
        let left = request.cap.saturating_sub(others);
        let mut budget = Budget::new(left, request.agent.most_per_case(), self.description.names().len());
        budget.seen(lock.largest_meanwhile);
        if let Some(earlier) = earlier {
            earlier.paid().for_each(|paid| budget.already_spent(paid));
            budget.lost(earlier.lost_usd());
        }
        if let Some(continued) = continued {
            continued.count_into(&mut budget);
        }
        match (budget.lacking(), continued) {
            // What an interrupted continuation has paid for may be all that there is to pay for.
            (Some(_), _) if earlier.is_some_and(JournalContents::has_result) => Ok(budget),
            (Some(lacking), Some(continued)) if earlier.is_none() && others == Usd::ZERO => {
                Err(nothing_left(request.cap, lacking, continued).into())
            }
            (Some(lacking), _) => Err(unaffordable(request.cap, others, lacking, earlier)),
            (None, _) => Ok(budget),
        }
    }

    /// Takes the journal's place in the store, so that it is certain that no living run writes what is found there.
    fn hold_journal(
        &self,
        store_path: &Path,
        store: &VerifiedStore,
        request: &LiveRequest<'_>,
    ) -> Result<JournalPlace, LiveError> {
        let (process, since) = (std::process::id(), (self.clock)());
        let bench_root = request.bench_root.display();
        let holder = format!("process {process}, since {since}, of the bench root `{bench_root}`");
        let held = JournalPlace::hold(store_path, &self.description, &holder, store.memory());
        Ok(held.map_err(BeginError::Journal)?)
    }
}

/// A journal is removed with a commit, and by nothing else: the record is chained, or a shard's answer set is written.
fn put_away(result: Result<Ended, RunError>, live_run: LiveRun<'_>) -> Result<Ended, LiveError> {
    let is_committed = match &result {
        Ok(_) => true,
        Err(error) => error.is_committed(),
    };
    let put_away = if is_committed { live_run.committed() } else { live_run.left_unfinished() };
    // Why a run failed matters more than that its lock could not be put away, which the next run sees for itself.
    let ended = result.map_err(LiveError::Run)?;
    put_away.map(|()| ended).map_err(LiveError::NotPutAway)
}

fn acquire(
    run: &RunDescription,
    request: &LiveRequest<'_>,
    queue: RunLockQueue,
    emit: &mut dyn FnMut(&Event<'_>),
) -> Result<RunLock, LiveError> {
    let mut tell = |text: &str| emit(&Event::Notice(text));
    let waiting = Waiting {
        say: match request.patience {
            Patience::Wait => Some(&mut tell),
            Patience::Fail => None,
        },
        is_interrupted: &|| request.interrupt.is_requested(),
    };
    let holder = Holder { process: std::process::id(), since: run.started_at };
    queue.acquire(holder, waiting).map_err(LiveError::Lock)
}

/// What other runs spent while this one waited, which counts against its cap. If the one that was waited for is the one that is
/// resumed, its journal says what it spent, and the ledger says so once more.
fn spent_by_others(lock: &RunLock, earlier: Option<&JournalContents>) -> Usd {
    let charged = earlier.map(JournalContents::charged).unwrap_or_default();
    charged.into_iter().fold(lock.spent_meanwhile, Usd::saturating_sub)
}

/// The run as it began, under the cap that holds now. Shards are put together by what they began with, and their warnings say which
/// caps were raised.
fn cap_at_the_end(begun: &RunDescription, now: &RunDescription) -> RunDescription {
    if begun.shard.is_some() { begun.clone() } else { begun.under_the_cap_of(now) }
}

/// Says why there is not enough for a single case.
fn unaffordable(cap: Usd, others: Usd, lacking: Lacking, earlier: Option<&JournalContents>) -> LiveError {
    match earlier.map(|earlier| (earlier.header.run.started_at, earlier.lost_usd())) {
        Some((started_at, lost)) if lost > Usd::ZERO => {
            let enough = others.saturating_add(lost).saturating_add(cap.max(lacking.least()));
            LiveError::AllLost { started_at, lost, cap, lacking, enough }
        }
        _ if others > Usd::ZERO => LiveError::NothingLeft { others, cap, lacking },
        _ => LiveError::CapTooLow { cap, lacking },
    }
}

fn make_folder(cassettes: &Path) -> Result<(), LiveError> {
    fs::create_dir_all(cassettes).map_err(|source| LiveError::CassetteFolder { path: cassettes.to_owned(), source })
}
