//! `eval-host verify`: walks every chain from its first record and names what is wrong.

use std::io::{self, Stderr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::anchor::AgainstArgs;
use super::concurrency::ConcurrencyArgs;
use super::error::{ArgumentError, EvidenceError};
use super::evidence::{
    FUEL_TERMS, TrustArgs, advise_on_first_use, exit_of, memory_of, open_reader, require_class, verify_all,
};
use super::failure::Failure;
use super::printer::Printer;
use super::{LOCK_PATIENCE, Places, environment};
use crate::output::lines::{ClassLine, Line, VerificationLine};
use crate::output::{Steps, counted};
use crate::run::answer_set::is_answer_set;
use eval_evidence::bundle::Bundle;
use eval_evidence::chain::Link;
use eval_evidence::store::{Evidence, FinishError, StoreReader, StoreWriter};
use eval_evidence::verified::StoreMemory;
use eval_evidence::verify::{
    Compiled, Defect as Wrong, Finding, Replay, ReplaySettings, State, Verification, replay, verify_evidence,
};
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;
use eval_model::utc::{UtcMillis, UtcMillisError};

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// A bundle that `eval-host export` made, to be verified in place of a store.
    #[arg(value_name = "BUNDLE")]
    bundle: Option<PathBuf>,
    /// Report on one task class only; every chain is walked all the same.
    #[arg(long, value_name = "NAME")]
    task_class: Option<TaskClassName>,
    /// Report and replay only records that were finished at or after this time, such as `2026-11-16` or `2026-11-16T09:30:00Z`;
    /// every chain is walked all the same, and counts.
    #[arg(long, value_name = "ISO")]
    since: Option<Since>,
    /// Score every case of every record again, from the objects alone, and demand the same bytes.
    #[arg(long)]
    replay: bool,
    /// Print the result on stdout as one line of JSON, as always, and nothing for people on stderr.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
    #[command(flatten)]
    against: AgainstArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

/// How long a day is, as in `2026-11-16`: what is longer says more than a day.
const DAY_LENGTH: usize = 10;

/// A day or a moment in UTC.
#[derive(Debug, Clone, Copy)]
struct Since(UtcMillis);

impl std::str::FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let day = text.parse().ok().filter(|_| text.len() == DAY_LENGTH);
        let moment = day.map_or_else(|| UtcMillis::in_any_spelling(text), UtcMillis::midnight);
        moment.map(Self).map_err(|error| match error {
            UtcMillisError::Spelling { .. } => "say it like `2026-11-16` or `2026-11-16T09:30:00Z`".to_owned(),
            UtcMillisError::Range => "it must be in the years 0 to 9999".to_owned(),
        })
    }
}

pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Failure> {
    let mut steps = Steps::new(io::stderr(), environment::style(args.json), environment::stopwatch());
    match &args.bundle {
        Some(bundle) => verify_bundle(args, bundle, &mut steps),
        None => verify_the_store(args, &mut steps),
    }
}

/// How far the walk is.
fn walked(steps: &mut Steps<Stderr>) -> impl FnMut(usize, usize) {
    |done, total| steps.done("records verified", done, total)
}

/// A bundle has no owner, no neighbours and no past on this machine: its records and objects are all there is.
fn verify_bundle(args: &VerifyArgs, path: &Path, steps: &mut Steps<Stderr>) -> Result<Exit, Failure> {
    if is_answer_set(path) {
        return Err(ArgumentError::IsAnswerSet { path: path.to_owned() }.into());
    }
    let bundle = Bundle::open(path).map_err(|source| EvidenceError::Bundle { path: path.to_owned(), source })?;
    let mut verification = verify_evidence(&bundle, &mut walked(steps))
        .map_err(|source| EvidenceError::VerifyBundle { path: path.to_owned(), source })?;
    finish(args, &bundle, &mut verification, steps).map(|finished| finished.exit)
}

fn verify_the_store(args: &VerifyArgs, steps: &mut Steps<Stderr>) -> Result<Exit, Failure> {
    let memory = memory_of(&args.places, args.trust)?;
    let store = open_reader(&args.places, &memory)?;
    let mut verification = verify_and_finish(args, &memory, &store, steps)?;
    let Finished { exit, is_sound } = finish(args, &store, &mut verification, steps)?;
    if is_sound {
        memory.advance(&verification, verification.heads())?;
    }
    Ok(exit)
}

/// What a verification came to.
struct Finished {
    exit: Exit,
    /// Of all that was looked at, whatever part of it was reported.
    is_sound: bool,
}

/// What is asked for besides the walk, and the report of it all.
fn finish(
    args: &VerifyArgs,
    evidence: &dyn Evidence,
    verification: &mut Verification,
    steps: &mut Steps<Stderr>,
) -> Result<Finished, Failure> {
    let keys = args.against.keys().if_any()?;
    verification.check_signatures(&keys.clone().unwrap_or_default());
    verification.compare_with_checkpoints(&args.against.checkpoints()?, verification.scope());
    let replayed = match args.replay {
        true => Some(replay_all(args, evidence, verification, steps)?),
        false => None,
    };
    let is_sound = verification.is_sound();
    let state = limit(args, verification)?;
    steps.make_room();
    let line = VerificationLine::new(verification, state, replayed.as_ref());
    let mut printer = if args.json { Printer::stdout_only() } else { Printer::stdio() };
    tell(&mut printer, verification, &line);
    // Where nobody signs and nobody is trusted to, there is nothing to say about it.
    if keys.is_some() || line.classes.iter().any(ClassLine::has_signatures) {
        tell_signatures(&mut printer, &line);
    }
    if let Some(replayed) = &replayed {
        printer.tell(&told(replayed));
    }
    printer.tell(state.as_str());
    advise_on_first_use(&mut printer, verification);
    printer.data(&Line::Verification(line));
    let exit = printer.finish(exit_of(state))?;
    Ok(Finished { exit, is_sound })
}

/// Takes away what is not to be reported, and gives the state of what was asked about. What is left out by its time counts: a
/// record rests on those before it.
fn limit(args: &VerifyArgs, verification: &mut Verification) -> Result<State, Failure> {
    if let Some(task_class) = &args.task_class {
        require_class(verification, task_class)?;
        verification.limit_to(task_class);
    }
    let state = verification.state();
    if let Some(since) = args.since {
        verification.limit_to_since(since.0);
    }
    Ok(state)
}

/// Walks the store. What a crash left is finished where that is possible, and the store is walked again then.
fn verify_and_finish(
    args: &VerifyArgs,
    memory: &StoreMemory,
    store: &StoreReader,
    steps: &mut Steps<Stderr>,
) -> Result<Verification, Failure> {
    let mut walk = || verify_all(&args.places, store, memory, &mut walked(steps));
    let verification = walk()?;
    let is_draft = |finding: &Finding| matches!(finding.defect, Wrong::Draft | Wrong::PackDraft);
    if verification.state() != State::Incomplete || !verification.findings.iter().any(is_draft) {
        return Ok(verification);
    }
    // A store of somebody else, or one that cannot be written, is judged as it is.
    let Ok(writer) = StoreWriter::open_existing(&args.places.out, environment::user(), LOCK_PATIENCE) else {
        return Ok(verification);
    };
    let ends = match writer.remembering(memory.intents()).finish() {
        Ok(ends) => ends,
        // It lies where nobody may write, as with the opening.
        Err(FinishError::File(_)) => return Ok(verification),
        Err(source) => {
            let path = args.places.out.clone();
            return Err(EvidenceError::FinishStore { path, source: Box::new(source) }.into());
        }
    };
    let mut verification = walk()?;
    verification.add(ends.into_iter().map(Finding::from));
    Ok(verification)
}

fn replay_all(
    args: &VerifyArgs,
    evidence: &dyn Evidence,
    verification: &mut Verification,
    steps: &mut Steps<Stderr>,
) -> Result<Replay, Failure> {
    let workers = args.concurrency.scorers();
    let sandbox = environment::sandbox_without_cache(workers)?;
    let settings = ReplaySettings { loader: &sandbox, compiled: Compiled::Anew, fuel_terms: FUEL_TERMS, workers };
    let select = |link: &Link| {
        args.task_class.as_ref().is_none_or(|class| *class == link.position.task_class)
            && args.since.is_none_or(|since| link.finished_at >= since.0)
    };
    let mut tell = |done, total| steps.done("records replayed", done, total);
    let mut replayed = replay(evidence, verification, settings, &select, &mut tell);
    verification.add(std::mem::take(&mut replayed.findings));
    Ok(replayed)
}

/// What was found, for people.
fn tell(printer: &mut Printer, verification: &Verification, line: &VerificationLine<'_>) {
    printer.notes(&verification.notes);
    for finding in &verification.findings {
        printer.tell(&format!("{}: {finding}", finding.state()));
    }
    for class in &line.classes {
        let unfinished = class.unfinished.map(|count| counted(count, "unfinished run"));
        let unfinished = unfinished.unwrap_or_else(|| "unfinished runs unknown".to_owned());
        printer.tell(&format!("{}: {}, {unfinished}", class.task_class, counted(class.records, "record")));
    }
}

/// Who signed the records, as far as the trusted keys tell.
fn tell_signatures(printer: &mut Printer, line: &VerificationLine<'_>) {
    for class in &line.classes {
        printer.tell(&format!(
            "{}: {} signed by trusted keys, {} by unknown keys, {} not signed",
            class.task_class,
            counted(class.signed, "record"),
            class.signed_by_unknown_keys,
            class.unsigned
        ));
    }
}

fn told(replayed: &Replay) -> String {
    let mut text = format!(
        "replayed {} of {}; {} more had nothing to replay",
        counted(replayed.replayed, "case"),
        counted(replayed.records, "record"),
        replayed.nothing_to_replay
    );
    if replayed.left_out > 0 {
        text += &format!("; left out with their objects: {}", counted(replayed.left_out, "record"));
    }
    if replayed.other_fuel > 0 {
        text += &format!("; {} used other fuel under this wasmtime and price list", replayed.other_fuel);
    }
    text
}
