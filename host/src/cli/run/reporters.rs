//! Who is told what happens in a run: programs on stdout, people on stderr, and those who read reports elsewhere.

#![expect(clippy::disallowed_methods, reason = "reports lie where the user or the forge says")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
use crate::output::{JsonLines, People, junit, markdown};
use crate::run::answer_set::WrittenAnswerSet;
use crate::run::event::{Event, Reporter as _};
use crate::run::record::{Committed, exit_of};

/// The reporters of one run.
pub(in crate::cli) struct Reporters {
    json_lines: JsonLines<io::Stdout>,
    people: People<io::Stderr>,
    junit: Option<PathBuf>,
}

impl Reporters {
    pub(in crate::cli) fn new(output: &OutputArgs, places: &Places) -> Self {
        let style = environment::style(output.quiet);
        Self {
            json_lines: JsonLines::new(io::stdout()),
            people: People::new(io::stderr(), style, environment::stopwatch(), places.as_flags()),
            junit: output.junit.clone(),
        }
    }

    /// What a run tells its events to.
    pub(in crate::cli) fn emit(&mut self) -> impl FnMut(&Event<'_>) {
        |event| {
            self.people.make_room();
            self.json_lines.event(event);
            self.people.event(event);
        }
    }

    /// The report once more, for those who read it elsewhere. The record is committed by now, whatever happens here.
    pub(in crate::cli) fn committed(
        self,
        task_class: &TaskClassName,
        committed: &Committed,
        store: &VerifiedStore,
    ) -> Result<Exit, Failure> {
        let Committed { report, receipt } = committed;
        let not_written = |path: &Path, source| RunCommandError::ReportNotWritten { path: path.to_owned(), source };
        if let Some(path) = &self.junit {
            let xml = junit(task_class, report, &|case| log_of(case, store));
            fs::write(path, xml).map_err(|error| not_written(path, error))?;
        }
        if let Some(path) = environment::step_summary() {
            let text = markdown(task_class, report, &receipt.path.display().to_string());
            let file = OpenOptions::new().append(true).create(true).open(&path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| not_written(&path, error))?;
        }
        self.finish(exit_of(report), "the record was committed")
    }

    /// The exit code of a shard whose answer set was written.
    pub(in crate::cli) fn answer_set(self, written: &WrittenAnswerSet) -> Result<Exit, Failure> {
        self.finish(written.exit(), "the answer set was written")
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
