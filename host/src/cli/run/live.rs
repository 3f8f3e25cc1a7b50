//! `eval-host run --live`: flags to a [`LiveRequest`].

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use eval_model::advice::{Advice as _, Exit};
use eval_model::confinement::Confinement;
use eval_model::money::Usd;

use super::Reporters;
use super::args::RunArgs;
use super::error::RunCommandError;
use crate::bench::{Bench, InputRoot};
use crate::cli::bench::prepare_rubric;
use crate::cli::evidence::memory_of;
use crate::cli::failure::Failure;
use crate::cli::{LOCK_PATIENCE, environment, repository};
use crate::description::{LiveDescription, RunDescription};
use crate::live::agent::{
    AgentCommand, AgentFlags, CommandFiles, Confine, Family, LiveSut, Probed, Protected, Reach, ReachArgs, RunMark,
};
use crate::live::interrupt::Interrupt;
use crate::live::resume::Resume;
use crate::live::run_lock::RunLockQueue;
use crate::live::signals;
use crate::output::counted;
use crate::run::cases::Run;
use crate::run::continued::{ContinueError, cap_to_continue};
use crate::run::event::Event;
use crate::run::live::{LiveError, LiveOutcome, LiveRequest, Patience};
use crate::run::record::{Committed, exit_of};
use eval_evidence::anchor::NoteSigner;
use eval_evidence::verified::VerifiedStore;

pub(super) fn run(
    args: &RunArgs,
    bench: &Bench,
    description: RunDescription,
    input_root: &InputRoot,
    queue: RunLockQueue,
    signer: Option<&NoteSigner>,
) -> Result<Exit, Failure> {
    let flags = AgentFlags {
        command: args.live.sut.clone(),
        capture: args.live.capture.map(Into::into),
        env: args.live.sut_env.clone(),
        name: args.live.sut_name.clone(),
        version: args.live.sut_version.clone(),
    };
    let here = environment::working_directory()?;
    let agent = AgentCommand::new(&args.task_class, bench.registration.sut.clone(), &flags, &here)?;
    let variables = environment::variables(&agent.settings.env);
    let files = CommandFiles::of(&agent.words, variables.get(OsStr::new("PATH")).map(OsString::as_os_str))?;
    let cap = args.live.max_cost_usd;
    let (sut, confinement) = prepare_agent(args, bench, &agent, (&files, variables), &here)?;
    let live =
        LiveDescription { sut: agent.sut(&files), cap, per_case: agent.most_per_case(), confinement, continues: None };
    let concurrency = args.concurrency.agents();
    let rubric = prepare_rubric(bench, concurrency)?;
    let interrupt = Arc::new(Interrupt::new());
    signals::watch(&interrupt, |text| environment::tell(&format!("\n{text}"))).map_err(RunCommandError::Signals)?;
    let request = LiveRequest {
        agent: &agent,
        files: &files,
        sut,
        cap,
        resume: if args.live.resume { Resume::Earlier } else { Resume::Nothing },
        continues: args.live.continues.clone(),
        patience: if args.live.no_wait { Patience::Fail } else { Patience::Wait },
        record: args.live.record.clone(),
        interrupt: &interrupt,
        bench_root: here.join(args.places.bench_root.path()),
    };
    for warning in unfit(&description, bench, signer.is_some()) {
        environment::tell(&format!("warning: {warning}, so no verdict will rest on this run"));
    }
    let started_at = description.started_at;
    let clock = || environment::now().unwrap_or(started_at);
    let description = description.answered_by(live);
    let run = Run { description, bench, input_root, rubric: &rubric, concurrency, clock: &clock, signer };
    let memory = memory_of(&args.places, args.trust)?;
    let mut reporters = Reporters::new(&args.output, &args.places);
    let open_store = || VerifiedStore::open(&args.places.out, memory, LOCK_PATIENCE);
    let outcome = run.conduct(&request, queue, &args.places.out, open_store, &mut reporters.emit());
    match outcome.map_err(|error| resumable(error, args.live.continues.as_deref()))? {
        LiveOutcome::Committed(result) => {
            let (committed, store) = *result;
            if let Some(notice) = continuable(&committed, agent.most_per_case(), cap) {
                reporters.emit()(&Event::Notice(&notice));
            }
            reporters.committed(&args.task_class, &committed, &store)
        }
        LiveOutcome::AnswerSet(written) => reporters.answer_set(&args.task_class, &written),
        LiveOutcome::WasComplete { started_at, record } => {
            environment::tell(&format!(
                "the run of {started_at} is complete, and its record is committed: nothing is left to do"
            ));
            // A shard gives an answer set, and this one was merged.
            Ok(record.map_or(Exit::Ok, |record| exit_of(&record.report)))
        }
    }
}

/// Everything that an agent needs, tried out on this machine before anything is paid for.
fn prepare_agent(
    args: &RunArgs,
    bench: &Bench,
    agent: &AgentCommand,
    (files, variables): (&CommandFiles, BTreeMap<OsString, OsString>),
    here: &Path,
) -> Result<(LiveSut, Confinement), Failure> {
    let (home, scratch) = (environment::home(), environment::scratch());
    let program = environment::this_program()?;
    let reach_args = ReachArgs {
        confine: if args.live.unconfined { Confine::Never } else { Confine::Always },
        read: &args.live.sut_read,
        write: &args.live.sut_write,
        command: files.paths().map(Path::to_owned).collect(),
        program: &program,
        home: home.as_deref(),
        here,
        scratch: &scratch,
        protected: &protected(args, bench),
    };
    let reach = Reach::new(&agent.settings, &reach_args)?;
    let mut sut = LiveSut {
        command: agent.words.clone(),
        environment: variables,
        capture: agent.settings.capture,
        named: agent.named.clone(),
        timeout: Duration::from_secs(agent.settings.timeout_seconds),
        scratch,
        mark: RunMark::new().map_err(RunCommandError::Mark)?,
        reach,
        program: PathBuf::from(eval_cage::ITSELF),
        family: Arc::new(Family::adopting()),
    };
    let Probed { confinement, weaker_because } = sut.probe()?;
    match (&confinement, weaker_because) {
        (Confinement::None, _) => {
            environment::tell(
                "warning: the agent is not confined and can read the answers, so no verdict will rest on this run",
            );
        }
        (_, Some(why)) => environment::tell(&format!(
            "warning: this machine gives no namespaces ({why}), so the agent is confined by Landlock alone; the record says so"
        )),
        _ => {}
    }
    Ok((sut, confinement))
}

/// What no agent may see.
fn protected(args: &RunArgs, bench: &Bench) -> Vec<Protected> {
    let named = |what: &'static str, path: Option<PathBuf>| path.map(|path| Protected { what, path });
    let repository =
        repository::directories(&bench.folder).into_iter().map(|path| Protected { what: "the repository", path });
    [
        named("the bench root", Some(args.places.bench_root.path().to_owned())),
        named("the bench", Some(bench.folder.path().to_owned())),
        named("the folder of inputs", args.input_root.path()),
        named("the store", Some(args.places.out.clone())),
        named("the cassettes", args.live.record.clone()),
        named("the signing key", args.key.path()),
        named("the JUnit report", args.output.junit.clone()),
        named("the summary of the step", environment::step_summary()),
        named("the state folder", environment::state_dir()),
        named("the cache of compiled rubrics", environment::cache_dir()),
    ]
    .into_iter()
    .flatten()
    .chain(repository)
    .collect()
}

/// What the gate is certain to refuse, for whoever is about to pay.
fn unfit(description: &RunDescription, bench: &Bench, is_signed: bool) -> Vec<&'static str> {
    let commit = description.bench_commit.as_ref();
    let checks = [
        ("the bench is in no git repository, or has no commit", commit.is_none()),
        ("the bench's files differ from its commit", commit.is_some_and(|commit| commit.is_dirty)),
        (
            "registration.toml demands signed records, and there is no --key",
            bench.registration.standards.signed_records && !is_signed,
        ),
    ];
    checks.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what).collect()
}

/// How to go on with a run that reached its cap.
fn continuable(committed: &Committed, per_case: Option<Usd>, cap: Usd) -> Option<String> {
    let Committed { figures: report, receipt, largest_cost, .. } = committed;
    let enough = cap_to_continue(report, per_case.unwrap_or(*largest_cost), cap);
    let command = || environment::continue_command(&receipt.path, enough);
    let skipped = counted(report.skipped, "case");
    report.aborted.then(|| format!("{skipped} skipped at the cost cap: answer what is left with `{}`", command()))
}

/// Says how to go on with a run that has no result yet, or that cannot go on for its cap.
fn resumable(error: LiveError, continues: Option<&Path>) -> Failure {
    if let (LiveError::Continue(ContinueError::NothingLeft { enough, .. }), Some(record)) = (&error, continues) {
        let command = environment::continue_command(record, *enough);
        return Failure::from(error).hint(format!("continue it with `{command}`"));
    }
    let (cap, needs_command) = (error.cap_to_resume_under(), error.is_resumable() && error.hint().is_none());
    let failure = Failure::from(error);
    match cap {
        Some(cap) => {
            let command = environment::resume_command_under(cap);
            failure.hint(format!("its journal is kept: continue it with `{command}`"))
        }
        None if needs_command => failure.hint(format!("continue it with `{}`", environment::resume_command())),
        None => failure,
    }
}
