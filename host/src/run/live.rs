//! A live run from what it was asked for to its end: the lock, the money, the journal, and what becomes of them.

#![expect(clippy::disallowed_methods, reason = "cassettes are recorded where the user says")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use eval_evidence::record::RecordedRun;
use eval_evidence::verified::{OpenVerifiedError, VerifiedStore};
use eval_model::advice::{Advice, Exit};
use eval_model::money::Usd;
use eval_model::utc::UtcMillis;

use super::answer_set::{Announcement, AnswerSetHeader, WrittenAnswerSet};
use super::cases::{AnswerSource, Run};
use super::error::RunError;
use super::event::{Event, emit_notes};
use super::record::{Committed, LiveFacts};
use crate::description::RunDescription;
use crate::live::agent::{AgentCommand, CommandFiles, Family, LiveSut, RunMark};
use crate::live::cost::Budget;
use crate::live::guard::Guard;
use crate::live::interrupt::Interrupt;
use crate::live::journal::{Header, JournalPlace};
use crate::live::live_run::{LiveParts, LiveRun, LiveRunError, Recorder};
use crate::live::resume::{BeginError, Found, Resume, RunStart, look};
use crate::live::run_lock::{Holder, RunLock, RunLockError, RunLockQueue, Waiting};

/// What a live run is given besides what every run has.
pub(crate) struct LiveRequest<'a> {
    pub(crate) agent: &'a AgentCommand,
    /// What its command names.
    pub(crate) files: &'a CommandFiles,
    /// The variables that agents get, with their values.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// The most that the run may cost.
    pub(crate) cap: Usd,
    pub(crate) resume: Resume,
    pub(crate) patience: Patience,
    /// Where answers are recorded as cassettes.
    pub(crate) record: Option<PathBuf>,
    pub(crate) interrupt: &'a Interrupt,
    /// Where agents' workspaces are made.
    pub(crate) scratch: PathBuf,
    /// This program, which guards the agents from a second process.
    pub(crate) program: PathBuf,
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

/// What the cases of a live run came to.
enum Ended {
    Committed(Box<Committed>),
    AnswerSet(WrittenAnswerSet),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    #[error("the operating system gave no random number")]
    Mark(#[source] getrandom::Error),
    #[error("the process that ends the agents if eval-host is killed does not start")]
    Guard(#[source] io::Error),
    #[error("the cassettes' folder `{}` cannot be made", path.display())]
    CassetteFolder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(RunLockError),
    #[error(transparent)]
    Store(OpenVerifiedError),
    #[error(transparent)]
    Begin(#[from] BeginError),
    #[error("other runs spent {others} while this one waited, and its cap is {cap}")]
    NothingLeft { others: Usd, cap: Usd },
    #[error(transparent)]
    Run(RunError),
    #[error("the run is complete, but eval-host could not remove its journal or release its lock")]
    NotPutAway(#[source] LiveRunError),
}

impl LiveError {
    /// Whether a journal is left with which the run can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        matches!(self, Self::Run(error) if !error.is_over())
    }
}

impl Advice for LiveError {
    fn exit(&self) -> Exit {
        match self {
            Self::Lock(error) => error.exit(),
            Self::CassetteFolder { .. } | Self::NothingLeft { .. } => Exit::UsageOrCap,
            Self::Store(error) => error.exit(),
            Self::Begin(error) => error.exit(),
            Self::Run(error) => error.exit(),
            Self::Mark(_) | Self::Guard(_) | Self::NotPutAway(_) => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NothingLeft { .. } => Some("start it again, or raise the cap with --max-cost-usd".to_owned()),
            Self::Store(error) => error.hint(),
            Self::Begin(error) => error.hint(),
            Self::Run(error) => error.hint(),
            _ => None,
        }
    }
}

impl Run<'_> {
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
        let host = RunMark::new().map_err(LiveError::Mark)?;
        let guard = Guard::start(&request.program, &host).map_err(LiveError::Guard)?;
        request.record.as_deref().map(make_folder).transpose()?;
        let lock = acquire(&self.description, request, queue, emit)?;
        let store = open_store().map_err(LiveError::Store)?;
        emit_notes(&store, emit);
        let place = self.hold_journal(store_path, &store, request)?;
        let mut warn = |text: &str| emit(&Event::Warning(text));
        let start = match look(&place, &store, &request.scratch, request.resume, &mut warn)? {
            Found::Complete { started_at, record } if request.resume == Resume::Earlier => {
                lock.release(Usd::ZERO).map_err(LiveError::Lock)?;
                return Ok(LiveOutcome::WasComplete { started_at, record });
            }
            found => RunStart::new(found, request.resume, &self.description)?,
        };
        let earlier_charges = start.charges();
        let mut budget = Budget::new(
            cap_left(request.cap, &lock, &earlier_charges)?,
            request.agent.most_per_case(),
            self.description.names().len(),
        );
        earlier_charges.into_iter().for_each(|charged| budget.already_spent(charged));
        let started = start.begin(&self.description, place, &store, &mut warn)?;
        let run = Run { description: started.header.run.clone(), ..self };
        let recorder = request.record.clone().map(|folder| Recorder {
            folder,
            sut: request.agent.sut(request.files),
            store_id: store.id(),
            started_marker: started.header.started_marker,
        });
        let parts = LiveParts {
            sut: live_sut(request, started.header.mark.clone(), host, &guard),
            lock,
            journal: started.journal,
            earlier: started.earlier,
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
        let live = LiveFacts { started_marker, lost_usd, shards_elsewhere: 0, warnings };
        let committed = self.commit(&answers, store, Some(&live), emit)?;
        Ok(Ended::Committed(Box::new(committed)))
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

/// Keeps the journal of a run that has no result yet.
fn put_away(result: Result<Ended, RunError>, live_run: LiveRun<'_>) -> Result<Ended, LiveError> {
    let is_over = match &result {
        Ok(_) => true,
        // What was spent on agents that were lost is in the journal, and nowhere else.
        Err(RunError::NothingAffordable { .. }) => live_run.lost() == Usd::ZERO,
        Err(error) => error.is_over(),
    };
    let put_away = if is_over { live_run.committed() } else { live_run.left_unfinished() };
    // Why a run failed matters more than that its lock could not be put away, which the next run sees for itself.
    let ended = result.map_err(LiveError::Run)?;
    put_away.map(|()| ended).map_err(LiveError::NotPutAway)
}

fn live_sut(request: &LiveRequest<'_>, mark: RunMark, host: RunMark, guard: &Guard) -> LiveSut {
    let settings = &request.agent.settings;
    LiveSut {
        command: request.agent.words.clone(),
        environment: request.environment.clone(),
        capture: settings.capture,
        named: request.agent.named.clone(),
        timeout: Duration::from_secs(settings.timeout_seconds),
        scratch: request.scratch.clone(),
        mark,
        host,
        family: Arc::new(Family::adopting(Some(guard.pid()))),
    }
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

/// What other runs spent while this one waited counts against its cap. If the one that was waited for is the one that is
/// resumed, its journal says what it spent, and the ledger says so once more.
fn cap_left(cap: Usd, lock: &RunLock, earlier_charges: &[Usd]) -> Result<Usd, LiveError> {
    let others = earlier_charges.iter().fold(lock.spent_meanwhile, |spent, charged| spent.saturating_sub(*charged));
    let left = cap.saturating_sub(others);
    if others > Usd::ZERO && left == Usd::ZERO {
        return Err(LiveError::NothingLeft { others, cap });
    }
    Ok(left)
}

fn make_folder(cassettes: &Path) -> Result<(), LiveError> {
    fs::create_dir_all(cassettes).map_err(|source| LiveError::CassetteFolder { path: cassettes.to_owned(), source })
}
