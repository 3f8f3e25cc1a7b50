//! The health check: there if it must be, and able to run in the image.

use super::Subject;
use super::argv::Scope;
use super::probe::{Program, other_host, python, python_problem};
use super::startup::{missing_program, unexpanded};
use crate::dockerfile::{Form, HealthCheck};
use crate::expectation::HealthRule;
use crate::failure::{Finding, Mode};
use crate::filesystem::absolute;
use crate::shell::{Command, commands, is_builtin};

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let command = match &subject.after.config.health {
        Some(HealthCheck::Command(form)) => Some(form),
        Some(HealthCheck::Disabled) | None => None,
    };
    let finding = match (subject.last.health_check, command) {
        (HealthRule::Required, None) => Some(Finding::new(Mode::HealthCheckMissing, "there is no health check")),
        (HealthRule::Absent, Some(_)) => Some(broken("there must be no health check")),
        (_, Some(form)) => problem(subject, form).map(broken),
        (_, None) => None,
    };
    finding.into_iter().collect()
}

fn broken(note: impl Into<String>) -> Finding {
    Finding::new(Mode::HealthCheckBroken, note)
}

fn problem(subject: &Subject<'_>, form: &Form) -> Option<String> {
    let image = subject.after;
    let found = match form {
        Form::Exec(words) => vec![Command::of(words)],
        Form::Shell(text) => {
            let shell = image.config.shell.first().map(String::as_str).unwrap_or_default();
            if !image.has_program(shell) {
                return Some(format!("the health check needs `{shell}`, which is not in the image"));
            }
            commands(text, &|_| None)
        }
    };
    let exec = matches!(form, Form::Exec(_));
    let cannot_run = found.iter().find_map(|command| cannot_run(subject, command, exec));
    let asks_other = || found.iter().find_map(|command| asks_other(subject, command));
    cannot_run.or_else(|| checks_nothing(subject, &found)).or_else(asks_other)
}

/// A check that asks somebody else, or whose Python says nothing about the service. Whom it asked before it may ask now.
fn asks_other(subject: &Subject<'_>, command: &Command) -> Option<String> {
    let before = format!("{:?}", subject.before.config.health);
    let program = python(&command.words);
    let script = match program {
        Some(Program::Script(path)) => subject.text_at(&absolute(&subject.after.config.workdir, path)),
        _ => None,
    };
    let texts = || command.words.iter().chain(script.as_ref());
    let host = texts().find_map(|text| other_host(text).filter(|host| !before.contains(host)));
    if let Some(host) = host {
        return Some(format!("the health check asks `{host}` and not the service"));
    }
    let python = match program {
        Some(Program::Text(text)) => Some(text),
        _ => script.as_deref(),
    };
    python.and_then(python_problem).map(|problem| format!("the health check's Python: {problem}"))
}

fn cannot_run(subject: &Subject<'_>, command: &Command, exec: bool) -> Option<String> {
    if exec && let Some(word) = unexpanded(&command.words).next() {
        return Some(format!("nobody expands `{word}` in the health check"));
    }
    let program = command.words.first()?;
    if !exec && is_builtin(program) {
        return None;
    }
    missing_program(subject.after, subject.tree(), program).map(|finding| format!("the health check: {}", finding.note))
}

fn checks_nothing(subject: &Subject<'_>, found: &[Command]) -> Option<String> {
    let patterns = &subject.last.health_commands;
    let scope = Scope { image: subject.after, artifacts: &subject.expectation.artifacts };
    let fits = patterns.is_empty() || found.iter().any(|command| scope.fits_any(patterns, &command.words));
    (!fits).then(|| "the health check does not check the service".to_owned())
}
