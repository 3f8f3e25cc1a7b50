//! The image that the last stage stands on, and those that the others use.

use super::Subject;
use crate::failure::{Finding, Mode};
use crate::glob;
use crate::image::{Image, Use};

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = last(subject).into_iter().collect();
    findings.extend(subject.built.uses.iter().filter_map(|used| other(subject, used)));
    findings
}

fn last(subject: &Subject<'_>) -> Option<Finding> {
    let image = subject.after;
    let base = &image.base;
    if is_accepted(&subject.last.images, image) {
        return None;
    }
    match &image.variant {
        Some(variant) if variant.package_manager.is_some() => {
            Some(Finding::new(Mode::DevelopmentVariantKept, format!("the last stage stands on `{base}`")))
        }
        None if subject.built.findings.iter().any(|finding| finding.mode == Mode::UnknownImage) => None,
        _ => Some(Finding::new(Mode::BaseImageNotAccepted, format!("the last stage stands on `{base}`"))),
    }
}

/// Whether one of the tags of the image that is used is accepted.
fn is_accepted(accepted: &[String], image: &Image) -> bool {
    let Some(variant) = &image.variant else { return false };
    let names = variant.tags.iter().map(|tag| format!("{}:{tag}", image.base.name));
    names.into_iter().any(|name| accepted.iter().any(|pattern| glob::matches_text(pattern, &name)))
}

fn other(subject: &Subject<'_>, used: &Use) -> Option<Finding> {
    let is_last = used.as_base && used.stage + 1 == subject.built.images.len();
    let accepted = &subject.expectation.build.images;
    let name = used.reference.tagged();
    let fits = accepted.is_empty() || accepted.iter().any(|pattern| glob::matches_text(pattern, &name));
    let wrong = !is_last && !fits;
    wrong.then(|| Finding::new(Mode::BuildStageNotMigrated, format!("a build stage uses `{name}`")))
}
