//! What every kind of run has in common once its cases are chosen: the plan, its terms, and the way from answers to an exit
//! code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;

use super::super::evidence::{Recollection, TrustArgs};
use super::super::failure::Failure;
use super::super::printer::Printer;
use super::super::{LOCK_PATIENCE, Places, surroundings};
use super::args::{OutputArgs, SelectionArgs};
use crate::answers::shard::{Announcement, BundleHeader, BundleWriter};
use crate::bench::select::{Shard, Wanted};
use crate::bench::{Bench, InputRoot, load_bench};
use crate::live::journal::{LiveTerms, RunTerms};
use crate::live::live_run::LiveRunError;
use crate::output::{JsonLines, People, junit, markdown};
use crate::run::evaluation::{EvaluateError, LiveFacts, RunSetting, answer_shard, evaluate};
use crate::run::event::{Event, Reporter as _};
use crate::run::pipeline::{AnswerSource, CasesDone, Plan};
use eval_evidence::chain::Link;
use eval_evidence::files::FileError;
use eval_evidence::record::{MOST_RECORD_BYTES, RecordedRun};
use eval_evidence::store::{AppendError, Evidence as _, NotCommitted, Receipt, StoreWriter};
use eval_evidence::verify::{Verification, verify_store};
use eval_model::advice::Exit;
use eval_model::ids::{Digest, TaskClassName};
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, CaseResult, Report};
use eval_model::score::BenchScore;
use eval_model::utc::UtcMillis;
use eval_sandbox::PreparedRubric;

/// The cases that a run takes.
#[derive(Debug)]
pub(in crate::cli) struct Chosen {
    /// What the report says of the selection.
    pub(in crate::cli) patterns: Vec<String>,
    /// Every selected case, of all shards.
    pub(in crate::cli) selected: Vec<String>,
    pub(in crate::cli) shard: Option<Shard>,
}

impl Chosen {
    /// The cases of this run: the selected ones, or a shard of them.
    pub(in crate::cli) fn names(&self) -> Vec<String> {
        self.shard.map_or_else(|| self.selected.clone(), |shard| shard.select(&self.selected))
    }
}

/// A run whose cases are chosen.
#[derive(Debug)]
pub(in crate::cli) struct Session<'a> {
    pub(in crate::cli) bench: &'a Bench,
    pub(in crate::cli) input_root: &'a InputRoot,
    pub(in crate::cli) chosen: Chosen,
    pub(in crate::cli) concurrency: NonZeroUsize,
    pub(in crate::cli) now: UtcMillis,
    pub(in crate::cli) output: &'a OutputArgs,
    pub(in crate::cli) places: &'a Places,
}

pub(in crate::cli) fn open_bench(places: &Places, task_class: &TaskClassName) -> Result<Bench, Failure> {
    Ok(load_bench(&super::super::open_bench_root(&places.bench_root)?, task_class)?)
}

pub(super) fn choose(bench: &Bench, args: &SelectionArgs) -> Result<Chosen, Failure> {
    let task_class = &bench.registration.task_class;
    let wanted = Wanted {
        patterns: args.cases.clone(),
        among: args.failing_from.as_deref().map(|path| failing_in(path, task_class)).transpose()?,
        limit: args.limit.map(NonZeroUsize::get),
    };
    let selected = wanted.select(bench.case_names());
    let chosen = Chosen { patterns: wanted.as_patterns(&selected), selected, shard: args.shard };
    if chosen.names().is_empty() {
        return Err(Failure::new(Exit::NoCases, format!("no case of `{task_class}` is selected"))
            .hint(format!("the cases are below `{}`", bench.folder.path().join("cases").display())));
    }
    Ok(chosen)
}

/// The cases that did not pass in a record.
fn failing_in(path: &Path, task_class: &TaskClassName) -> Result<BTreeSet<String>, Failure> {
    let unreadable = |error: &dyn std::error::Error| {
        Failure::new(Exit::UsageOrCap, format!("the record `{}` cannot be read", path.display())).caused_by(error)
    };
    let bytes = super::super::read_file(path, MOST_RECORD_BYTES)?;
    let (record, _) = RecordedRun::read(&bytes).map_err(|error| unreadable(&error))?;
    if record.task_class != *task_class {
        let what = format!("the record `{}` is of `{}`, not of `{task_class}`", path.display(), record.task_class);
        return Err(Failure::new(Exit::UsageOrCap, what));
    }
    let failing = record.report.cases.into_iter().filter(|case| !case.score.fields().passed);
    Ok(failing.map(|case| case.case_id.as_str().to_owned()).collect())
}

impl Session<'_> {
    /// What the run is asked to do. Every selected case is read once for it, one at a time.
    pub(in crate::cli) fn terms(&self, live: Option<LiveTerms>) -> RunTerms {
        let digest_of = |name: &String| {
            let case = self.bench.read_case(name, self.input_root);
            (name.clone(), case.ok().map(|case| case.read.case_digest))
        };
        RunTerms {
            harness_version: env!("CARGO_PKG_VERSION").to_owned(),
            task_class: self.bench.registration.task_class.clone(),
            rubric_digest: self.bench.rubric_digest,
            registration_digest: Digest::of(&self.bench.registration_bytes),
            patterns: self.chosen.patterns.clone(),
            cases: self.chosen.selected.iter().map(digest_of).collect::<BTreeMap<_, _>>(),
            live,
            shard: self.chosen.shard,
        }
    }

    fn plan<'p>(&'p self, answers: AnswerSource<'p>) -> Plan<'p> {
        Plan {
            bench: self.bench,
            input_root: self.input_root,
            names: self.chosen.names(),
            answers,
            tell_answers: self.chosen.shard.is_some(),
            concurrency: self.concurrency,
            today: self.now.date(),
        }
    }

    fn people(&self) -> People<io::Stderr> {
        let style = surroundings::style(self.output.quiet);
        People::new(io::stderr(), style, surroundings::stopwatch(), self.places.as_flags())
    }

    pub(in crate::cli) fn prepare_rubric(&self) -> Result<PreparedRubric, Failure> {
        let sandbox = surroundings::sandbox(self.concurrency)?;
        let rubric = sandbox.load(&self.bench.rubric).map_err(|error| {
            let what = format!("failed to load the rubric of `{}`", self.bench.registration.task_class);
            Failure::new(Exit::HarnessError, what).caused_by(&error)
        })?;
        Ok(rubric.prepare(self.bench.registration.limits))
    }

    /// Scores the answers and commits the record.
    pub(in crate::cli) fn evaluate(
        &self,
        rubric: &PreparedRubric,
        answers: AnswerSource<'_>,
        live: Option<LiveFacts>,
        started_at: UtcMillis,
        store: &OpenStore,
    ) -> Result<Exit, RunFailure> {
        let setting = RunSetting {
            patterns: self.chosen.patterns.clone(),
            started_at,
            bench_git_commit: surroundings::git_commit(self.bench.folder.path()),
            live,
        };
        let mut json_lines = JsonLines::new(io::stdout());
        let mut people = self.people();
        let mut emit = |event: &Event<'_>| {
            people.make_room();
            json_lines.event(event);
            people.event(event);
        };
        // Should the clock fail after the run, its start is the best that can be said.
        let clock = || surroundings::now().unwrap_or(self.now);
        let known = &store.verified.snapshot;
        let (report, receipt) =
            evaluate(&self.plan(answers), &setting, rubric, &store.store, known, &clock, &mut emit)?;
        store.remember(&receipt).map_err(RunFailure::AfterCommit)?;
        self.write_reports(&report, store, &receipt).map_err(RunFailure::AfterCommit)?;
        match json_lines.finish() {
            Ok(()) => Ok(exit_of(&report)),
            Err(error) => {
                let what = "the record was committed, but the report of it could not be written to stdout";
                Err(RunFailure::AfterCommit(Failure::new(Exit::HarnessError, what).caused_by(&error)))
            }
        }
    }

    /// The report once more, for those who read it elsewhere. The record is committed by now, whatever happens here.
    fn write_reports(&self, report: &BenchRunReport, store: &OpenStore, receipt: &Receipt) -> Result<(), Failure> {
        let task_class = &self.bench.registration.task_class;
        let not_written = |path: &Path, error: io::Error| {
            let what = format!("the record was committed, but `{}` could not be written", path.display());
            Failure::new(Exit::HarnessError, what).caused_by(&error)
        };
        if let Some(path) = &self.output.junit {
            let xml = junit(task_class, report, &|case| log_of(case, store));
            fs::write(path, xml).map_err(|error| not_written(path, error))?;
        }
        if let Some(path) = surroundings::step_summary() {
            let text = markdown(task_class, report, &receipt.path.display().to_string());
            let file = OpenOptions::new().append(true).create(true).open(&path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| not_written(&path, error))?;
        }
        Ok(())
    }

    /// Answers the cases of a shard and writes their bundle. They are scored too, for whoever watches; nothing is chained.
    pub(in crate::cli) fn bundle(
        &self,
        rubric: &PreparedRubric,
        answers: AnswerSource<'_>,
        header: BundleHeader,
    ) -> Result<Exit, RunFailure> {
        let (folder, name) = (self.places.out.join("bundles"), self.bundle_name());
        let not_written = |error: FileError| {
            let what = format!("the bundle `{}` could not be written", folder.join(&name).display());
            RunFailure::Run(Failure::new(Exit::HarnessError, what).caused_by(&error))
        };
        let mut bundle = BundleWriter::create(&folder, &name, header).map_err(not_written)?;
        let mut json_lines = JsonLines::new(io::stdout());
        let mut people = self.people();
        let mut emit = |event: &Event<'_>| {
            people.make_room();
            json_lines.event(event);
            people.event(event);
            if let Event::Answered(answer) = event {
                bundle.add(answer);
            }
        };
        let done = answer_shard(&self.plan(answers), rubric, &mut emit)?;
        let path = bundle.finish().map_err(not_written)?.display().to_string();
        let written = Event::Bundled { path: &path };
        json_lines.event(&written);
        people.event(&written);
        json_lines.finish().map(|()| exit_of_shard(&done)).map_err(|error| {
            let what = "the bundle was written, but the report of it could not be written to stdout";
            RunFailure::AfterCommit(Failure::new(Exit::HarnessError, what).caused_by(&error))
        })
    }

    fn bundle_name(&self) -> String {
        let shard =
            self.chosen.shard.map_or_else(String::new, |shard| format!("-{}-of-{}", shard.index(), shard.count()));
        format!("{}{shard}.jsonl", self.bench.registration.task_class)
    }
}

/// What a case's rubric and agent wrote.
fn log_of(case: &CaseResult<BenchScore>, store: &OpenStore) -> Option<String> {
    let logs = [case.logs_digest, case.agent_log_digest].into_iter().flatten();
    let read = |digest| store.store.reader().object(digest).ok();
    let text: String = logs.filter_map(read).map(|log| String::from_utf8_lossy(&log).into_owned()).collect();
    Some(text).filter(|text| !text.is_empty())
}

/// A store that was checked and can be appended to.
#[derive(Debug)]
pub(in crate::cli) struct OpenStore {
    pub(in crate::cli) store: StoreWriter,
    pub(in crate::cli) verified: Verification,
    recollection: Recollection,
}

impl OpenStore {
    /// Opens the store, finishes what a crash left in it, and checks it before anything is run: a broken chain is not
    /// continued.
    pub(in crate::cli) fn open(places: &Places, trust: TrustArgs) -> Result<Self, Failure> {
        let recollection = Recollection::of(places, trust)?;
        let store = StoreWriter::open(&places.out, surroundings::user(), LOCK_PATIENCE).map_err(|error| {
            Failure::new(Exit::HarnessError, format!("the store `{}` cannot be used", places.out.display()))
                .caused_by(&error)
        })?;
        store.finish().map_err(|error| {
            Failure::new(Exit::HarnessError, "what a crash left cannot be finished").caused_by(&error)
        })?;
        let verified = verify_store(store.reader(), recollection.checks(), &mut |_, _| {})
            .map_err(|error| Failure::new(Exit::HarnessError, "the store cannot be read").caused_by(&error))?;
        if verified.is_sound() {
            // A store without records has nothing to tell.
            if !verified.links.is_empty() {
                Printer::stdio().notes(&verified.notes);
            }
            return Ok(Self { store, verified, recollection });
        }
        let findings: Vec<_> = verified.findings.iter().map(ToString::to_string).collect();
        let what =
            format!("the evidence in `{}` is {}: {}", places.out.display(), verified.state(), findings.join("; "));
        Err(Failure::new(Exit::EvidenceBroken, what)
            .hint("keep the store as it is for whoever investigates; start another with --out"))
    }

    /// Says before the first case that a live run begins, so that nobody can report only the best of ten. It is remembered
    /// outside of the store at once, so that nobody can take it back either. `shards` are the announcements of the shards
    /// that the run is put together from.
    pub(in crate::cli) fn announce(&self, session: &Session<'_>, shards: &[Digest]) -> Result<Digest, Failure> {
        let failed = |error: &dyn std::error::Error| {
            Failure::new(Exit::HarnessError, "the run could not be announced").caused_by(error)
        };
        let (task_class, cases) = (&session.bench.registration.task_class, session.chosen.names().len() as u64);
        let marker = self.store.announce(task_class, session.now, cases, shards).map_err(|error| failed(&error))?;
        // Counted again: another run may have been announced since the store was verified.
        let (markers, _) = self.store.reader().started().map_err(|error| failed(&error))?;
        let mut started = BTreeMap::new();
        for other in markers {
            *started.entry(other.marker.task_class).or_default() += 1;
        }
        self.recollection.announced(&self.verified, &started)?;
        Ok(marker)
    }

    /// Where and how a run was announced in this store.
    pub(in crate::cli) fn announcement(&self, marker: Digest) -> Announcement {
        Announcement { store_id: self.verified.store_id, marker }
    }

    /// The announcements among these that were made in this store. They must be there: none is ever removed.
    pub(in crate::cli) fn own(&self, announcements: &[Announcement]) -> Result<Vec<Digest>, Failure> {
        let failed = |error| Failure::new(Exit::HarnessError, "the store cannot be read").caused_by(&error);
        let (markers, _) = self.store.reader().started().map_err(failed)?;
        let ours = announcements.iter().filter(|announcement| announcement.store_id == self.verified.store_id);
        let ours: Vec<_> = ours.map(|announcement| announcement.marker).collect();
        match ours.iter().find(|ours| markers.iter().all(|started| started.digest != **ours)) {
            None => Ok(ours),
            Some(gone) => {
                let what = format!("the marker `{gone}`, which announced one of the shards in this store, is gone");
                Err(Failure::new(Exit::EvidenceBroken, what))
            }
        }
    }

    /// Whether no record names this announcement of a run.
    pub(in crate::cli) fn is_unfinished(&self, marker: Digest) -> bool {
        self.verified.unfinished.iter().any(|started| started.digest == marker)
    }

    /// How the run ended whose record names this announcement.
    pub(in crate::cli) fn exit_of_run(&self, task_class: &TaskClassName, marker: Digest) -> Option<Exit> {
        let of_class = self.verified.links.iter().rev().filter(|((class, _), _)| class == task_class);
        let read = |link: &Link| self.store.reader().record(link.file_name().as_str()).ok();
        let mut records = of_class.filter_map(|(_, link)| RecordedRun::read(&read(link)?).ok());
        let (record, _) = records.find(|(record, _)| record.started_marker == Some(marker))?;
        Some(exit_of(&record.report))
    }

    /// Remembers the record that was just committed as the newest one.
    fn remember(&self, receipt: &Receipt) -> Result<(), Failure> {
        let mut heads = self.verified.heads().clone();
        heads.set(receipt.link.position.task_class.clone(), receipt.link.head());
        self.recollection.advance(&self.verified, &heads)
    }
}

/// How a run failed, for whoever has to decide what becomes of its journal.
#[derive(Debug)]
pub(in crate::cli) enum RunFailure {
    Interrupted,
    /// No case could be afforded.
    NothingAffordable(Failure),
    /// The result is safe; telling of it failed.
    AfterCommit(Failure),
    Run(Failure),
}

impl From<Failure> for RunFailure {
    fn from(problem: Failure) -> Self {
        Self::Run(problem)
    }
}

impl From<EvaluateError> for RunFailure {
    fn from(error: EvaluateError) -> Self {
        let exit = match &error {
            EvaluateError::Live(LiveRunError::Interrupted) => return Self::Interrupted,
            EvaluateError::NothingAffordable { .. } => {
                let problem = Failure::from_error(Exit::UsageOrCap, &error).hint("raise it with --max-cost-usd");
                return Self::NothingAffordable(problem);
            }
            EvaluateError::Append(
                AppendError::Unknown { .. }
                | AppendError::NotCommitted { source: NotCommitted::Broken(_) | NotCommitted::HeadChanged, .. },
            ) => Exit::EvidenceBroken,
            _ => Exit::HarnessError,
        };
        Self::Run(Failure::from_error(exit, &error))
    }
}

impl From<RunFailure> for Failure {
    fn from(failure: RunFailure) -> Self {
        match failure {
            RunFailure::Interrupted => Self::new(Exit::Interrupted, "interrupted"),
            RunFailure::NothingAffordable(problem) | RunFailure::AfterCommit(problem) | RunFailure::Run(problem) => {
                problem
            }
        }
    }
}

/// The exit code of a shard whose bundle is written. Whether its answers are good enough is for the whole run to say.
fn exit_of_shard(done: &CasesDone) -> Exit {
    let is_there = |class| done.finished.iter().any(|case| case.result.outcome == class);
    if !done.load_errors.is_empty() || is_there(OutcomeClass::HarnessFault) {
        Exit::HarnessError
    } else if is_there(OutcomeClass::Skipped) {
        Exit::UsageOrCap
    } else {
        Exit::Ok
    }
}

/// The exit code of a run whose record is committed.
fn exit_of<S>(report: &Report<S>) -> Exit {
    let count = |class| report.outcomes.get(&class).copied().unwrap_or(0);
    if report.had_load_errors || count(OutcomeClass::HarnessFault) > 0 {
        Exit::HarnessError
    } else if report.aborted {
        Exit::UsageOrCap
    } else if report.passed_count < report.attempted || !report.block_severity_failure_modes.is_empty() {
        Exit::AnswerIsNo
    } else {
        Exit::Ok
    }
}
