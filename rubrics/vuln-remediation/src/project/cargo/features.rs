//! Which features of which package are enabled, in a plain build of the root package.
//!
//! Features of all kinds of dependencies are united, as Cargo's first resolver did: an over-approximation, never less than
//! what is built.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Project;
use super::lock::Lock;
use super::manifest::Manifest;
use crate::registry::{Registry, Release};

/// Enabled features by the index of the package in the lock file.
pub(super) fn enabled(manifest: &Manifest, lock: &Lock, registry: &Registry) -> BTreeMap<usize, BTreeSet<String>> {
    let (enabled, visited, waiting) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let mut solver = Solver { lock, registry, enabled, visited, waiting };
    let Some(root) = lock.packages.iter().find(|p| p.source.is_none() && p.name == manifest.name) else {
        return solver.enabled;
    };
    let on = root_features(manifest);
    for dependency in &manifest.dependencies {
        if dependency.optional && !on.contains(&dependency.alias) {
            continue;
        }
        let below = format!("{}/", dependency.alias);
        let passed_on = on.iter().filter_map(|feature| feature.strip_prefix(&below).map(str::to_owned));
        let mut asked: Vec<String> = dependency.features.iter().cloned().chain(passed_on).collect();
        asked.extend(dependency.default_features.then(|| "default".to_owned()));
        for index in lock.chosen(root).filter(|index| lock.packages[*index].name == dependency.name) {
            solver.waiting.push((index, asked.clone()));
        }
    }
    while let Some((index, asked)) = solver.waiting.pop() {
        solver.visit(index, &asked);
    }
    solver.enabled
}

/// Says which packages lack a dependency in the lock file that an enabled feature asks for.
pub(super) fn check_complete(
    enabled: &BTreeMap<usize, BTreeSet<String>>,
    lock: &Lock,
    registry: &Registry,
    project: &mut Project,
) {
    for (index, on) in enabled {
        let package = &lock.packages[*index];
        let release = package.parsed().and_then(|version| registry.release(&package.name, &version));
        let declared = release.and_then(|release| release.dependencies.as_ref()).into_iter().flatten();
        let chosen: BTreeSet<&str> = lock.chosen(package).map(|index| lock.packages[index].name.as_str()).collect();
        let lacking = declared.filter(|d| d.optional && is_on(&d.name, on) && !chosen.contains(d.name.as_str()));
        for dependency in lacking {
            project.mismatch(format!("`{}` of the lock file lacks `{}`", package.name, dependency.name));
        }
    }
}

/// Whether the features turn an optional dependency on.
fn is_on(name: &str, on: &BTreeSet<String>) -> bool {
    let below = format!("{name}/");
    on.contains(name) || on.iter().any(|feature| feature.starts_with(&below) || *feature == format!("dep:{name}"))
}

/// The root's own features: the default ones, and all that they enable, with `dep:` and `?` dropped.
fn root_features(manifest: &Manifest) -> BTreeSet<String> {
    let mut on = BTreeSet::new();
    let mut waiting = vec!["default".to_owned()];
    while let Some(feature) = waiting.pop() {
        let listed = manifest.features.get(&feature).cloned().unwrap_or_default();
        if let Some((dependency, _)) = feature.split_once('/') {
            waiting.push(dependency.to_owned());
        }
        if on.insert(feature) {
            waiting.extend(listed.into_iter().map(|item| item.trim_start_matches("dep:").replace("?/", "/")));
        }
    }
    on
}

struct Solver<'a> {
    lock: &'a Lock,
    registry: &'a Registry,
    enabled: BTreeMap<usize, BTreeSet<String>>,
    visited: BTreeSet<usize>,
    /// Packages with features that are yet to be enabled: a list, because a lock file may be deeper than the stack.
    waiting: Vec<(usize, Vec<String>)>,
}

impl Solver<'_> {
    /// Enables features of a package, and what follows from them.
    fn visit(&mut self, index: usize, asked: &[String]) {
        let package = &self.lock.packages[index];
        let release = package.parsed().and_then(|version| self.registry.release(&package.name, &version));
        let expanded = expand(release, asked);
        let known = self.enabled.entry(index).or_default();
        let before = known.len();
        known.extend(expanded);
        let first = self.visited.insert(index);
        if known.len() == before && !first {
            return;
        }
        let on = known.clone();
        let chosen: Vec<usize> = self.lock.chosen(package).collect();
        for next in chosen {
            let asked = self.asked_of(release, &self.lock.packages[next].name, &on);
            if let Some(asked) = asked {
                self.waiting.push((next, asked));
            }
        }
    }

    /// What a package with these features asks of a dependency. `None` if the dependency is optional and off.
    fn asked_of(&self, release: Option<&Release>, name: &str, on: &BTreeSet<String>) -> Option<Vec<String>> {
        let declared = release.and_then(|release| release.dependencies.as_ref());
        let Some(dependency) = declared.and_then(|all| all.iter().find(|dependency| dependency.name == name)) else {
            return Some(vec!["default".to_owned()]);
        };
        let (below, weakly_below) = (format!("{name}/"), format!("{name}?/"));
        if dependency.optional && !is_on(name, on) {
            return None;
        }
        let passed = |f: &String| f.strip_prefix(&below).or_else(|| f.strip_prefix(&weakly_below)).map(str::to_owned);
        let mut asked: Vec<String> = dependency.features.iter().cloned().chain(on.iter().filter_map(passed)).collect();
        asked.extend((!dependency.no_default_features).then(|| "default".to_owned()));
        Some(asked)
    }
}

/// The features asked for and all that they enable. `default` counts only where the release has it.
fn expand(release: Option<&Release>, asked: &[String]) -> BTreeSet<String> {
    let listed = |feature: &String| release.and_then(|release| release.features.get(feature));
    let exists = |feature: &String| feature != "default" || listed(feature).is_some();
    let mut on = BTreeSet::new();
    let mut waiting: Vec<String> = asked.iter().filter(|feature| exists(feature)).cloned().collect();
    while let Some(feature) = waiting.pop() {
        if on.contains(&feature) {
            continue;
        }
        waiting.extend(listed(&feature).into_iter().flatten().cloned());
        on.insert(feature);
    }
    on
}

#[cfg(test)]
mod tests {
    use super::super::super::{Problem, Project};
    use super::super::tests::read_with;

    const LOCK: &str = r#"
[[package]]
name = "boring"
version = "4.0.0"
source = "registry"

[[package]]
name = "idna"
version = "1.0.3"
source = "registry"

[[package]]
name = "lettre"
version = "0.11.21"
source = "registry"
dependencies = ["boring", "idna"]

[[package]]
name = "mailer"
version = "0.1.0"
dependencies = ["lettre"]
"#;

    fn lettre(manifest: &str) -> Project {
        read_with(&format!("[package]\nname = \"mailer\"\n{manifest}"), LOCK)
    }

    #[test]
    fn a_feature_of_the_root_can_pass_one_on() {
        let off = lettre(
            "[dependencies]\nlettre = { version = \"0.11\", default-features = false }\n[features]\ntls = [\"lettre/boring-tls\"]",
        );
        assert!(off.packages[2].features.is_empty());
        let on = lettre(
            "[dependencies]\nlettre = { version = \"0.11\", default-features = false }\n[features]\ndefault = [\"tls\"]\ntls = [\"lettre/boring-tls\"]",
        );
        assert!(on.packages[2].features.contains("boring-tls"));
    }

    #[test]
    fn an_optional_dependency_of_the_root_counts_when_it_is_on() {
        let manifest = "[dependencies]\nlettre = { version = \"0.11\", optional = true }\n";
        assert!(lettre(manifest).packages[2].features.is_empty());
        let on = lettre(&format!("{manifest}[features]\ndefault = [\"dep:lettre\"]"));
        assert!(on.packages[2].features.contains("smtp"));
    }

    #[test]
    fn a_dependency_that_a_feature_asks_for_must_be_in_the_lock_file() {
        let manifest = "[package]\nname = \"mailer\"\n[dependencies]\nlettre = { version = \"0.11\", features = [\"boring-tls\"] }";
        let without = LOCK.replace("\"boring\", ", "").replace("name = \"boring\"\nversion = \"4.0.0\"", "");
        let without = without.replacen("[[package]]\n\nsource = \"registry\"\n", "", 1);
        let project = read_with(manifest, &without);
        assert!(matches!(&project.problems[..], [Problem::LockMismatch(what)] if what.contains("lacks `boring`")));
        assert_eq!(read_with(manifest, LOCK).problems, []);
    }
}
