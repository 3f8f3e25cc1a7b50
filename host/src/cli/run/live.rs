//! A live run from its flags to its end: the command, the lock, the money, the journal, and what becomes of them.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use serde::Serialize;

use super::super::failure::Failure;
use super::super::guard::Guard;
use super::super::{signals, surroundings};
use super::args::{LiveArgs, RunArgs};
use super::beginning::{Beginning, Found, cap_left, look};
use super::session::{OpenStore, RunFailure, Session};
use crate::answers::SutName;
use crate::answers::shard::BundleHeader;
use crate::bench::{Capture, SutSettings};
use crate::live::agent::{Family, LiveSut, RunMark};
use crate::live::cost::{Budget, Usd};
use crate::live::interrupt::Interrupt;
use crate::live::journal::{Header, JournalError, JournalPlace, LiveTerms, RunTerms};
use crate::live::live_run::{LiveParts, LiveRun, Recorder};
use crate::live::run_lock::{Holder, RunLock, RunLockError, RunLockQueue, Waiting};
use crate::run::evaluation::LiveFacts;
use crate::run::pipeline::AnswerSource;
use eval_evidence::record::Sut;
use eval_model::advice::Exit;
use eval_model::ids::Digest;
use eval_sandbox::PreparedRubric;

/// The variables that an agent gets when no registration says which.
const DEFAULT_ENVIRONMENT: [&str; 2] = ["PATH", "HOME"];
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;

pub(super) fn run(session: &Session<'_>, all_args: &RunArgs, queue: RunLockQueue) -> Result<Exit, Failure> {
    let args = &all_args.live;
    let agent = Agent::of(session, args)?;
    let per_case = agent.settings.max_cost_usd_per_case.and_then(Usd::from_dollars);
    let terms = session.terms(Some(LiveTerms {
        command_digest: agent.digest,
        cap_nano_usd: args.max_cost_usd,
        per_case_nano_usd: per_case,
    }));
    // Whatever can fail before anything is announced or paid for does so here.
    let host = random_mark()?;
    let guard = Guard::start(&host).map_err(|error| {
        Failure::new(Exit::HarnessError, "what ends agents should this process be killed does not start")
            .caused_by(&error)
    })?;
    let rubric = session.prepare_rubric()?;
    let recorder = args.record.as_deref().map(|folder| recorder(folder, agent.name())).transpose()?;
    let interrupt = Arc::new(Interrupt::new());
    signals::watch(&interrupt)?;
    let lock = acquire(session, args, queue, &interrupt)?;
    let store = OpenStore::open(session.places, all_args.trust)?;
    let place = hold_journal(session, &terms)?;
    let beginning = match look(&place, &store)? {
        Found::Committed { started_at, exit } if args.resume => {
            let release = lock.release(Usd::ZERO);
            say(&format!("the run of {started_at} is complete, and its record is committed: nothing is left to do"));
            return release.map(|()| exit).map_err(|error| Failure::from_error(Exit::HarnessError, &error));
        }
        found => Beginning::of(found, args.resume, &terms)?,
    };
    let earlier_charges = beginning.charges();
    let cap = cap_left(args.max_cost_usd, &lock, &earlier_charges)?;
    let mut budget = Budget::new(cap, per_case, session.chosen.names().len());
    earlier_charges.into_iter().for_each(|charged| budget.already_spent(charged));
    let begun = beginning.begin(session, place, terms.clone(), &store)?;
    let clock = || surroundings::now().unwrap_or(session.now);
    let live_run = LiveRun::new(LiveParts {
        sut: agent.live_sut(begun.header.mark.clone(), host, guard.pid()),
        budget,
        has_price_limit: per_case.is_some(),
        lock,
        journal: begun.journal,
        earlier: begun.earlier,
        cases: terms.cases,
        recorder,
        interrupt: &interrupt,
        clock: &clock,
    });
    let result = execute(session, &rubric, &live_run, &agent, &begun.header, &store);
    end(result, live_run)
}

fn execute(
    session: &Session<'_>,
    rubric: &PreparedRubric,
    live_run: &LiveRun<'_>,
    agent: &Agent,
    header: &Header,
    store: &OpenStore,
) -> Result<Exit, RunFailure> {
    let answers = AnswerSource::Live(live_run);
    let lost_usd = live_run.lost().dollars();
    if session.chosen.shard.is_some() {
        let announced = store.announcement(header.started_marker);
        let header = BundleHeader::new(header.terms.clone(), header.started_at).live(agent.sut(), announced, lost_usd);
        return session.bundle(rubric, answers, header);
    }
    let live = LiveFacts { sut: agent.sut(), started_marker: header.started_marker, lost_usd };
    session.evaluate(rubric, answers, Some(live), header.started_at, store)
}

/// Keeps the journal of a run that has no result yet, and says how to go on.
fn end(result: Result<Exit, RunFailure>, live_run: LiveRun<'_>) -> Result<Exit, Failure> {
    let not_ended = |error: crate::live::live_run::LiveRunError| {
        Failure::new(Exit::HarnessError, "the run is over, but could not be put away").caused_by(&error)
    };
    match result {
        Ok(exit) => live_run.committed().map(|()| exit).map_err(not_ended),
        Err(failure @ (RunFailure::AfterCommit(_) | RunFailure::NothingAffordable(_))) => {
            live_run.committed().map_err(not_ended)?;
            Err(failure.into())
        }
        Err(failure) => {
            live_run.left_unfinished().map_err(not_ended)?;
            Err(Failure::from(failure).hint(format!("continue it with `{}`", surroundings::resume_command())))
        }
    }
}

/// How agents are started, and what that is called in a record.
struct Agent {
    settings: SutSettings,
    command: Vec<OsString>,
    digest: Digest,
    name: String,
}

/// All that makes one way of running an agent different from another.
#[derive(Serialize)]
struct CommandFacts<'a> {
    command: &'a [String],
    env: &'a [String],
    capture: Capture,
    timeout_seconds: u64,
}

impl Agent {
    fn of(session: &Session<'_>, args: &LiveArgs) -> Result<Self, Failure> {
        let registered = session.bench.registration.sut.clone();
        let mut settings = match (registered, &args.sut) {
            (Some(settings), None) => settings,
            (Some(settings), Some(line)) => SutSettings { command: shell(line)?, ..settings },
            (None, Some(line)) => SutSettings {
                command: shell(line)?,
                env: DEFAULT_ENVIRONMENT.map(str::to_owned).into(),
                capture: Capture::default(),
                timeout_seconds: DEFAULT_TIMEOUT_SECONDS,
                max_cost_usd_per_case: None,
            },
            (None, None) => {
                let what = format!("no agent is named for `{}`", session.bench.registration.task_class);
                return Err(Failure::new(Exit::UsageOrCap, what)
                    .hint("name one with --sut '<command>', or with `[sut]` in registration.toml"));
            }
        };
        if let Some(capture) = args.capture {
            settings.capture = capture.into();
        }
        let facts = CommandFacts {
            command: &settings.command,
            env: &settings.env,
            capture: settings.capture,
            timeout_seconds: settings.timeout_seconds,
        };
        let digest = Digest::of(&serde_json::to_vec(&facts).expect("texts and a number serialise"));
        let name = program_name(args.sut.as_deref().unwrap_or(&settings.command[0]));
        Ok(Self { command: absolute_command(&settings.command)?, digest, name, settings })
    }

    /// The same name, version and command digest for the same way of running the same command.
    fn name(&self) -> SutName {
        let mut version = self.digest.to_string();
        version.truncate(12);
        SutName { name: self.name.clone(), version }
    }

    fn sut(&self) -> Sut {
        let SutName { name, version } = self.name();
        Sut { name, version, command_digest: Some(self.digest) }
    }

    fn live_sut(&self, mark: RunMark, host: RunMark, guard: Pid) -> LiveSut {
        LiveSut {
            command: self.command.clone(),
            environment: surroundings::variables(&self.settings.env),
            capture: self.settings.capture,
            timeout: Duration::from_secs(self.settings.timeout_seconds),
            scratch: surroundings::scratch(),
            mark,
            host,
            family: Arc::new(Family::adopting(Some(guard))),
        }
    }
}

/// A command line for the shell. A program that is named by a relative path is looked for from here, because agents run in
/// folders of their own.
fn shell(line: &str) -> Result<Vec<String>, Failure> {
    let (program, rest) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./+".contains(character);
    let line = if program.contains('/') && program.chars().all(is_plain) {
        let path = from_here(program)?;
        format!("{}{rest}", surroundings::shell_word(&path.to_string_lossy()))
    } else {
        line.to_owned()
    };
    Ok(vec!["/bin/sh".to_owned(), "-c".to_owned(), line])
}

fn from_here(path: impl AsRef<Path>) -> Result<PathBuf, Failure> {
    absolute(path)
        .map_err(|error| Failure::new(Exit::HarnessError, "the working directory is not there").caused_by(&error))
}

/// The file name of the program that a command line begins with.
fn program_name(line: &str) -> String {
    let program = line.split_whitespace().next().unwrap_or(line);
    Path::new(program).file_name().map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The same for a program that a registration names.
fn absolute_command(command: &[String]) -> Result<Vec<OsString>, Failure> {
    let mut command: Vec<_> = command.iter().map(OsString::from).collect();
    if command[0].to_string_lossy().contains('/') {
        command[0] = from_here(&command[0])?.into_os_string();
    }
    Ok(command)
}

fn acquire(
    session: &Session<'_>,
    args: &LiveArgs,
    queue: RunLockQueue,
    interrupt: &Interrupt,
) -> Result<RunLock, Failure> {
    let mut tell = say;
    let waiting = Waiting {
        say: if args.no_wait { None } else { Some(&mut tell) },
        is_interrupted: &|| interrupt.is_requested(),
    };
    let holder = Holder { process: std::process::id(), since: session.now };
    queue.acquire(holder, waiting).map_err(|error| {
        let exit = match &error {
            RunLockError::Interrupted { .. } => Exit::Interrupted,
            _ => Exit::HarnessError,
        };
        Failure::from_error(exit, &error)
    })
}

/// Takes the journal's place in the store, so that it is certain that no living run writes what is found there.
fn hold_journal(session: &Session<'_>, terms: &RunTerms) -> Result<JournalPlace, Failure> {
    let bench_root = from_here(&session.places.bench_root)?;
    let holder =
        format!("process {}, since {}, of the bench root `{}`", std::process::id(), session.now, bench_root.display());
    JournalPlace::hold(&session.places.out, &terms.task_class, terms.shard, &holder).map_err(|error| {
        let is_held = matches!(error, JournalError::Held { .. });
        let problem = Failure::from_error(Exit::HarnessError, &error);
        if is_held { problem.hint("wait for its end, or name another store with --out") } else { problem }
    })
}

pub(super) fn random_mark() -> Result<RunMark, Failure> {
    RunMark::new().map_err(|error| Failure::new(Exit::HarnessError, "no random number for the run").caused_by(&error))
}

/// Tells a person something before the run has begun.
pub(super) fn say(text: &str) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

fn recorder(folder: &Path, sut: SutName) -> Result<Recorder, Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        let what = format!("the cassettes' folder `{}` cannot be made", folder.display());
        Failure::new(Exit::UsageOrCap, what).caused_by(&error)
    })?;
    Ok(Recorder { folder: folder.to_owned(), sut })
}
