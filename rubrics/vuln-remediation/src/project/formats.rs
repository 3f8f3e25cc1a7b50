//! Formats that are known by name and not read. A project that uses one is refused with the name of the format, so that
//! it is never misread as another.

use super::ProjectError;
use crate::tree::{Tree, file_name};
use crate::version::Ecosystem;

/// File names with the format that they stand for.
const NPM: [(&str, &str); 3] = [
    ("yarn.lock", "lock file of yarn"),
    ("pnpm-lock.yaml", "lock file of pnpm"),
    ("npm-shrinkwrap.json", "shrinkwrap file of npm"),
];
const PYPI: [(&str, &str); 4] = [
    ("poetry.lock", "lock file of Poetry"),
    ("Pipfile.lock", "lock file of Pipenv"),
    ("Pipfile", "manifest of Pipenv"),
    ("pdm.lock", "lock file of PDM"),
];
const MAVEN: [(&str, &str); 4] = [
    ("build.gradle", "Gradle build"),
    ("build.gradle.kts", "Gradle build"),
    ("libs.versions.toml", "Gradle version catalog"),
    ("gradle.lockfile", "lock file of Gradle"),
];

/// Refuses a project that one of these formats decides about.
pub(super) fn refuse_unsupported(ecosystem: Ecosystem, tree: &Tree) -> Result<(), ProjectError> {
    let (formats, instead): (&[(&str, &str)], _) = match ecosystem {
        Ecosystem::Npm => (&NPM, "`package-lock.json` of version 2 or 3"),
        Ecosystem::PyPi => (&PYPI, "`uv.lock` or a requirements file of exact pins"),
        Ecosystem::Maven => (&MAVEN, "one `pom.xml`"),
        Ecosystem::CratesIo | Ecosystem::Go => (&[], ""),
    };
    for path in tree.paths() {
        if let Some((_, format)) = formats.iter().find(|(name, _)| *name == file_name(path)) {
            return Err(ProjectError::Unsupported { path: path.to_owned(), format, instead });
        }
    }
    Ok(())
}
