//! What the Dockerfile said before and must still say: labels, variables, working folder, volumes, stop signal.

use super::Subject;
use crate::failure::{Finding, Mode};

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = labels(subject);
    findings.extend(variables(subject));
    findings.extend(workdir(subject));
    findings.extend(volumes(subject));
    findings.extend(stop_signal(subject));
    findings
}

fn labels(subject: &Subject<'_>) -> Vec<Finding> {
    let (before, after) = (&subject.before.config.labels, &subject.after.config.labels);
    let lost = before
        .iter()
        .filter(|(name, value)| !subject.last.may_drop_labels.contains(name) && after.get(*name) != Some(value));
    lost.map(|(name, _)| Finding::new(Mode::LabelLost, format!("label `{name}` is lost or changed"))).collect()
}

fn variables(subject: &Subject<'_>) -> Vec<Finding> {
    let (before, after) = (&subject.before.config, &subject.after.config.env);
    // `PATH` is judged by whether programs are found.
    let free = |name: &String| {
        name == "PATH" || subject.last.may_drop_env.contains(name) || subject.last.env.contains_key(name)
    };
    let kept = before.own_env.iter().filter(|name| !free(name)).filter_map(|name| Some((name, before.env.get(name)?)));
    let lost = kept.chain(&subject.last.env).filter(|(name, value)| after.get(*name) != Some(value));
    lost.map(|(name, value)| Finding::new(Mode::EnvLost, format!("variable `{name}` is not `{value}`"))).collect()
}

fn workdir(subject: &Subject<'_>) -> Option<Finding> {
    let before = &subject.before.config.workdir;
    let after = &subject.after.config.workdir;
    let accepted = match &subject.last.workdirs {
        Some(accepted) => accepted.contains(after),
        // A Dockerfile that set none had the one of its base image, which need not be the same now.
        None => before == "/" || before == after,
    };
    (!accepted).then(|| Finding::new(Mode::WorkdirChanged, format!("the working folder is `{after}`, was `{before}`")))
}

fn volumes(subject: &Subject<'_>) -> Option<Finding> {
    let expected = subject.last.volumes.as_ref().unwrap_or(&subject.before.config.volumes);
    let differ = subject.after.config.volumes != *expected;
    differ.then(|| Finding::new(Mode::VolumesDiffer, "the volumes are others"))
}

fn stop_signal(subject: &Subject<'_>) -> Option<Finding> {
    let before = subject.before.config.stop_signal.as_ref()?;
    let lost = subject.after.config.stop_signal.as_ref() != Some(before);
    lost.then(|| Finding::new(Mode::StopSignalLost, format!("the stop signal is not `{before}` any more")))
}
