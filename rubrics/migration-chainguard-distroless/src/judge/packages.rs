//! Packages that the service or its build needs.

use super::Subject;
use crate::expectation::AnyPackage;
use crate::failure::{Finding, Mode};
use crate::image::Image;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let at_runtime = subject.last.packages.iter().filter(|needed| !is_in_image(subject, needed));
    let in_build = subject.expectation.build.packages.iter().filter(|needed| !is_in_build(subject, needed));
    at_runtime
        .map(|needed| finding("the image", needed))
        .chain(in_build.map(|needed| finding("the build", needed)))
        .collect()
}

fn finding(place: &str, needed: &AnyPackage) -> Finding {
    Finding::new(Mode::RequiredPackageMissing, format!("{place} needs `{}`", needed.any_of.join("` or `")))
}

fn is_installed(image: &Image, package: &str) -> bool {
    image.files.installed.iter().any(|found| found.package == package && found.root == "/")
}

fn is_in_build(subject: &Subject<'_>, needed: &AnyPackage) -> bool {
    needed.any_of.iter().any(|package| subject.built.images.iter().any(|image| is_installed(image, package)))
}

/// A package is there if it is installed, or if all that it brings was copied.
fn is_in_image(subject: &Subject<'_>, needed: &AnyPackage) -> bool {
    needed.any_of.iter().any(|package| {
        let paths = subject.facts.packages.apk.get(package).map(Vec::as_slice).unwrap_or_default();
        let copied = !paths.is_empty() && paths.iter().all(|path| subject.after.files.find(path).is_some());
        copied || is_installed(subject.after, package)
    })
}
