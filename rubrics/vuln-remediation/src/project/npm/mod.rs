//! npm: `package.json` and `package-lock.json` (lock file version 2 or 3).
//!
//! What is installed is what the lock file says. It is checked against the manifest: the root entry repeats the
//! manifest's requests, every dependency of every entry is found where Node would look for it, with a version that the
//! range admits or an override sets, and no entry is left over. The same holds for the manifest of every workspace.

mod atlas;
mod entry;
mod lock;
mod overrides;
mod places;
mod walk;

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use self::entry::Workspace;
pub(super) use self::lock::Lock;
use self::overrides::Overrides;
use super::{Project, ProjectError, required};
use crate::registry::Registry;
use crate::tree::Tree;

const MANIFEST: &str = "package.json";
const LOCK: &str = "package-lock.json";
/// The parts of a manifest that ask for packages. The lock file's root entry repeats them.
const SECTIONS: [&str; 4] = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

pub(super) fn read(tree: &Tree, registry: &Registry, before: Option<&Project>) -> Result<Project, ProjectError> {
    let manifest = object(MANIFEST, required(tree, MANIFEST)?)?;
    let before = before.and_then(|before| before.lock.as_deref());
    let lock = Lock::read(LOCK, required(tree, LOCK)?, registry, before)?;
    let mut project = Project::default();
    project.files.extend([MANIFEST.to_owned(), LOCK.to_owned()]);
    let requests = requests(MANIFEST, &manifest)?;
    for (section, name, range) in &requests {
        project.request(format!("{section}/{name}"), name, range, "");
    }
    let overrides = Overrides::parse(manifest.get("overrides"), &requests)
        .map_err(|what| ProjectError::unreadable(MANIFEST, what))?;
    overrides.list_in(&mut project);
    overrides.check_direct(&requests, &mut project);
    check_root_entry(&manifest, &lock, &mut project);
    for (folder, workspace) in lock.workspaces() {
        read_workspace(&folder, workspace, tree, &mut project)?;
    }
    lock.check_tree(&overrides, registry, &mut project);
    lock.check_against_registry(&mut project);
    project.packages.extend(lock.packages().cloned());
    keep_remainder(manifest, &lock, &mut project);
    project.lock = Some(Rc::new(lock));
    Ok(project)
}

/// A workspace asks for packages like the root does. Overrides count in the root only.
fn read_workspace(folder: &str, workspace: &Workspace, tree: &Tree, project: &mut Project) -> Result<(), ProjectError> {
    let path = format!("{folder}/{MANIFEST}");
    let Some(text) = tree.text(&path) else {
        project.mismatch(format!("the lock file has a workspace `{folder}`, which has no manifest"));
        return Ok(());
    };
    let mut manifest = object(&path, text)?;
    let requests = requests(&path, &manifest)?;
    for section in SECTIONS {
        let own = requests.iter().filter(|(of, ..)| of == section);
        if !own.eq(workspace.requests.iter().filter(|(of, ..)| of == section)) {
            project.mismatch(format!("`{section}` of the lock file's entry `{folder}` is not that of its manifest"));
        }
        manifest.remove(section);
    }
    for (section, name, range) in &requests {
        project.request(format!("{folder}/{section}/{name}"), name, range, "");
    }
    project.remainder.insert(path.clone(), Value::Object(manifest).to_string());
    project.files.insert(path);
    Ok(())
}

fn object(path: &str, text: &str) -> Result<Map<String, Value>, ProjectError> {
    match crate::syntax::json::parse(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ProjectError::unreadable(path, "it is not an object")),
        Err(what) => Err(ProjectError::unreadable(path, what)),
    }
}

/// Every request of a manifest, as section, name and range.
fn requests(path: &str, manifest: &Map<String, Value>) -> Result<Vec<(String, String, String)>, ProjectError> {
    let mut requests = Vec::new();
    for section in SECTIONS {
        let Some(entries) = manifest.get(section) else { continue };
        let parsed: BTreeMap<String, String> = serde_json::from_value(entries.clone())
            .map_err(|error| ProjectError::unreadable(path, format!("`{section}`: {error}")))?;
        requests.extend(parsed.into_iter().map(|(name, range)| (section.to_owned(), name, range)));
    }
    Ok(requests)
}

fn check_root_entry(manifest: &Map<String, Value>, lock: &Lock, project: &mut Project) {
    let empty = Value::Object(Map::new());
    for section in SECTIONS {
        let asked = manifest.get(section).unwrap_or(&empty);
        let locked = lock.root_section(section).unwrap_or(&empty);
        if asked != locked {
            project.mismatch(format!("`{section}` of the lock file's root entry is not that of the manifest"));
        }
    }
}

fn keep_remainder(mut manifest: Map<String, Value>, lock: &Lock, project: &mut Project) {
    for section in SECTIONS {
        manifest.remove(section);
    }
    manifest.remove("overrides");
    project.remainder.insert(MANIFEST.to_owned(), Value::Object(manifest).to_string());
    project.remainder.insert(LOCK.to_owned(), lock.remainder());
}

#[cfg(test)]
mod tests {
    use super::super::Problem;
    use super::*;

    pub(super) fn registry() -> Registry {
        serde_json::from_str(
            r#"{"ecosystem":"npm","taken_at":"2024-07-01","packages":{
                "ws":{"7.5.9":{"dependencies":[]},"7.5.10":{"dependencies":[]},"8.17.1":{"dependencies":[]}},
                "hub":{"1.0.0":{"dependencies":[{"name":"ws","requirement":"^7.0.0"}]}}}}"#,
        )
        .unwrap()
    }

    const PACKAGE: &str = r#"{"name":"app","version":"1.0.0","dependencies":{"hub":"^1.0.0"}}"#;

    fn lock_with(packages: &str) -> String {
        format!(
            r#"{{"name":"app","version":"1.0.0","lockfileVersion":3,"packages":{{
                "":{{"name":"app","version":"1.0.0","dependencies":{{"hub":"^1.0.0"}}}},{packages}}}}}"#
        )
    }

    fn read_with(manifest: &str, lock: &str) -> Project {
        let tree = [(MANIFEST.to_owned(), manifest.to_owned()), (LOCK.to_owned(), lock.to_owned())].into();
        read(&tree, &registry(), None).unwrap()
    }

    const HUB: &str = r#""node_modules/hub":{"version":"1.0.0","integrity":"sha512-h","dependencies":{"ws":"^7.0.0"}}"#;

    #[test]
    fn a_lock_file_that_belongs_to_its_manifest_has_no_problems() {
        let project = read_with(PACKAGE, &lock_with(&format!(r#"{HUB},"node_modules/ws":{{"version":"7.5.9"}}"#)));
        assert_eq!(project.problems, []);
        let found: Vec<_> = project.packages.iter().map(|p| (p.name.as_str(), p.version.text())).collect();
        assert_eq!(found, [("hub", "1.0.0"), ("ws", "7.5.9")]);
        assert_eq!(project.requests["dependencies/hub"].requirement, "^1.0.0");
    }

    #[test]
    fn a_nested_copy_is_found_before_the_hoisted_one() {
        let packages = format!(
            r#"{HUB},"node_modules/hub/node_modules/ws":{{"version":"7.5.10"}},"node_modules/ws":{{"version":"8.17.1"}}"#
        );
        let project = read_with(PACKAGE, &lock_with(&packages));
        // The hoisted one serves nobody.
        assert_eq!(project.problems.len(), 1);
        assert!(matches!(&project.problems[0], Problem::LockMismatch(what) if what.contains("`node_modules/ws`")));
    }

    #[test]
    fn what_the_range_does_not_admit_what_is_missing_and_what_the_root_entry_says_else_is_a_mismatch() {
        let outside = read_with(PACKAGE, &lock_with(&format!(r#"{HUB},"node_modules/ws":{{"version":"8.17.1"}}"#)));
        assert_eq!(outside.problems.len(), 1, "{:?}", outside.problems);
        let missing = read_with(PACKAGE, &lock_with(HUB));
        assert_eq!(missing.problems.len(), 1);
        let other = PACKAGE.replace("^1.0.0", "^1.0.1");
        let root = read_with(&other, &lock_with(&format!(r#"{HUB},"node_modules/ws":{{"version":"7.5.9"}}"#)));
        assert_eq!(root.problems.len(), 1);
    }

    #[test]
    fn an_override_admits_what_the_range_does_not() {
        let manifest = PACKAGE.replace(r#""dependencies""#, r#""overrides":{"hub":{"ws":"8.17.1"}},"dependencies""#);
        let lock = lock_with(&format!(r#"{HUB},"node_modules/ws":{{"version":"8.17.1"}}"#));
        let project = read_with(&manifest, &lock);
        assert_eq!(project.problems, []);
        assert_eq!(project.requests["overrides/hub/ws"].requirement, "8.17.1");
        let stale = read_with(&manifest, &lock_with(&format!(r#"{HUB},"node_modules/ws":{{"version":"7.5.9"}}"#)));
        assert_eq!(stale.problems.len(), 1, "an override that the lock file ignores is a mismatch");
    }

    #[test]
    fn an_entry_whose_dependencies_are_not_those_of_the_release_is_a_mismatch() {
        let hub = HUB.replace("^7.0.0", "^7.5.0");
        let project = read_with(PACKAGE, &lock_with(&format!(r#"{hub},"node_modules/ws":{{"version":"7.5.9"}}"#)));
        assert_eq!(project.problems.len(), 1);
    }

    #[test]
    fn a_lock_file_of_version_2_must_agree_with_its_older_tree() {
        let packages = format!(r#"{HUB},"node_modules/ws":{{"version":"7.5.9"}}"#);
        let version_2 = |ws: &str, hub: &str| {
            let legacy =
                format!(r#""dependencies":{{"hub":{{"version":"1.0.0"{hub}}},"ws":{{"version":"{ws}"}}}},"packages""#);
            lock_with(&packages).replace(r#""lockfileVersion":3"#, r#""lockfileVersion":2"#).replacen(
                r#""packages""#,
                &legacy,
                1,
            )
        };
        let tree = |lock: String| [(MANIFEST.to_owned(), PACKAGE.to_owned()), (LOCK.to_owned(), lock)].into();
        let integrity = r#","integrity":"sha512-h""#;
        assert_eq!(read(&tree(version_2("7.5.9", integrity)), &registry(), None).unwrap().problems, []);
        for other in [version_2("7.5.10", integrity), version_2("7.5.9", "")] {
            assert!(matches!(read(&tree(other), &registry(), None), Err(ProjectError::Unreadable { .. })));
        }
        let version_1 = lock_with(&packages).replace(r#""lockfileVersion":3"#, r#""lockfileVersion":1"#);
        assert!(matches!(read(&tree(version_1), &registry(), None), Err(ProjectError::Unreadable { .. })));
    }

    #[test]
    fn a_missing_or_broken_file_cannot_be_read() {
        let tree: Tree = [(MANIFEST.to_owned(), PACKAGE.to_owned())].into();
        assert_eq!(read(&tree, &registry(), None).unwrap_err().to_string(), "`package-lock.json` is missing");
        let tree: Tree = [(MANIFEST.to_owned(), "{".to_owned()), (LOCK.to_owned(), String::new())].into();
        assert!(matches!(read(&tree, &registry(), None), Err(ProjectError::Unreadable { .. })));
    }
}
