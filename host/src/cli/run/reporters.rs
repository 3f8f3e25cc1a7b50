//! Who is told what happens in a run: programs on stdout, people on stderr, and those who read reports elsewhere.

#![expect(clippy::disallowed_methods, reason = "reports lie where the user or the forge says")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use eval_evidence::store::Evidence as _;
use eval_evidence::verified::VerifiedStore;
use eval_model::advice::Exit;
use eval_model::ids::TaskClassName;
use eval_model::report::CaseResult;
use eval_model::score::BenchScore;

use super::args::OutputArgs;
use super::error::RunCommandError;
use crate::cli::failure::Failure;
use crate::cli::{Places, environment};
use crate::output::{JsonLines, JunitRecord, JunitRun, People, junit, markdown};
use crate::run::answer_set::WrittenAnswerSet;
use crate::run::event::{Event, Reporter as _};
use crate::run::record::{Committed, exit_of};

/// What there is already when a report cannot be written.
const COMMITTED: &str = "the record was committed";
const ANSWERED: &str = "the answer set was written";

/// The reporters of one run.
pub(in crate::cli) struct Reporters {
    json_lines: JsonLines<io::Stdout>,
    people: People<io::Stderr>,
    junit: Option<PathBuf>,
    /// The cases, where a file is made of them. A run of a hundred thousand keeps them for nobody else.
    cases: Option<Vec<CaseResult<BenchScore>>>,
    estimated_cost_usd: f64,
}

impl Reporters {
    pub(in crate::cli) fn new(output: &OutputArgs, places: &Places) -> Self {
        let style = environment::style(output.quiet);
        Self {
            json_lines: JsonLines::new(io::stdout(), environment::held_of_stdout()),
            people: People::new(io::stderr(), style, environment::stopwatch(), places.as_flags()),
            junit: output.junit.clone(),
            cases: (output.junit.is_some() || environment::step_summary().is_some()).then(Vec::new),
            estimated_cost_usd: 0.0,
        }
    }

    /// What a run tells its events to.
    pub(in crate::cli) fn emit(&mut self) -> impl FnMut(&Event<'_>) {
        |event| {
            self.people.make_room();
            self.json_lines.event(event);
            self.people.event(event);
            match event {
                Event::CaseFinished(case) => self.cases.iter_mut().for_each(|cases| cases.push((*case).clone())),
                Event::Aggregated { report, .. } => {
                    self.estimated_cost_usd = report.estimated_cost_usd(BenchScore::cost_usd);
                }
                _ => {}
            }
        }
    }

    /// The report once more, for those who read it elsewhere. The record is committed by now, whatever happens here.
    pub(in crate::cli) fn committed(
        self,
        task_class: &TaskClassName,
        committed: &Committed,
        store: &VerifiedStore,
    ) -> Result<Exit, Failure> {
        let Committed { figures, run_id, receipt, started_at, .. } = committed;
        let cases = self.cases.as_deref().unwrap_or_default();
        let path = receipt.path.display().to_string();
        self.write_junit(&JunitRun {
            task_class,
            started_at: *started_at,
            cases: cases.iter().collect(),
            load_errors: &figures.load_errors,
            record: Some(JunitRecord {
                run_id: *run_id,
                path: &path,
                seq: receipt.link.position.seq,
                total_cost_usd: figures.total_cost_usd,
                estimated_cost_usd: self.estimated_cost_usd,
            }),
            log_of: &|case| log_of(case, store),
        })?;
        if let Some(summary) = environment::step_summary() {
            let text = markdown(task_class, figures, cases, self.estimated_cost_usd, &path);
            let file = OpenOptions::new().append(true).create(true).open(&summary);
            let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(|source| RunCommandError::ReportNotWritten { what: COMMITTED, path: summary, source })?;
        }
        let exit = exit_of(figures);
        self.finish(exit, COMMITTED)
    }

    /// The same for a shard, whose answer set was written and nothing chained.
    pub(in crate::cli) fn answer_set(
        self,
        task_class: &TaskClassName,
        written: &WrittenAnswerSet,
    ) -> Result<Exit, Failure> {
        self.write_junit(&JunitRun {
            task_class,
            started_at: written.started_at,
            cases: self.cases.iter().flatten().collect(),
            load_errors: &written.load_errors,
            record: None,
            log_of: &|_| None,
        })?;
        self.finish(written.exit(), ANSWERED)
    }

    fn write_junit(&self, run: &JunitRun<'_>) -> Result<(), Failure> {
        let Some(path) = &self.junit else { return Ok(()) };
        let what = if run.record.is_some() { COMMITTED } else { ANSWERED };
        let not_written = |source| RunCommandError::ReportNotWritten { what, path: path.clone(), source };
        fs::write(path, junit(run)).map_err(|error| not_written(error).into())
    }

    /// The exit code, unless the lines did not reach whoever reads stdout.
    fn finish(self, exit: Exit, what: &'static str) -> Result<Exit, Failure> {
        let printed = self.json_lines.finish();
        printed.map(|()| exit).map_err(|source| RunCommandError::NotPrinted { what, source }.into())
    }
}

/// What a case's rubric and agent wrote.
fn log_of(case: &CaseResult<BenchScore>, store: &VerifiedStore) -> Option<String> {
    let logs = [case.logs_digest, case.agent_log_digest].into_iter().flatten();
    let read = |digest| store.writer().reader().object(digest).ok();
    let text: String = logs.filter_map(read).map(|log| String::from_utf8_lossy(&log).into_owned()).collect();
    Some(text).filter(|text| !text.is_empty())
}
