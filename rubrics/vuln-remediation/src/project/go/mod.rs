//! Go: `go.mod` with `replace` and `exclude`, and `go.sum`.
//!
//! What is built is what minimal version selection gives: of every module the highest version that anything in the module
//! graph requires, where the graph is as large as the registry excerpt makes it. The standard library is the module
//! `stdlib`, at the version of the `toolchain` line or else of the `go` line.

mod gomod;
mod gosum;
mod imports;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use self::gomod::GoMod;
use self::gosum::GoSum;
use super::{Package, Project, ProjectError, required};
use crate::registry::Registry;
use crate::tree::Tree;
use crate::version::{Ecosystem, Version};

const MOD: &str = "go.mod";
const SUM: &str = "go.sum";
/// The name that the Go vulnerability database gives the standard library.
const STDLIB: &str = "stdlib";

pub(super) fn read(tree: &Tree, registry: &Registry) -> Result<Project, ProjectError> {
    let go_mod = GoMod::parse(MOD, required(tree, MOD)?)?;
    // A project may do without sums; one that has them must have them all.
    let go_sum = tree.text(SUM).map(|text| GoSum::parse(SUM, text)).transpose()?;
    let mut project = Project::default();
    project.files.extend([MOD.to_owned(), SUM.to_owned()]);
    list_requests(&go_mod, &mut project);
    let selected = selection::select(&go_mod, registry)?;
    check_listed(&go_mod, &selected, &mut project);
    imports::check(&go_mod, &selected, tree, &mut project);
    list_packages(&go_mod, go_sum.as_ref(), selected, &mut project)?;
    project.remainder.insert(MOD.to_owned(), go_mod.rest);
    if let Some(go_sum) = go_sum {
        go_sum.keep_remainder(SUM, &mut project);
    }
    Ok(project)
}

fn list_requests(go_mod: &GoMod, project: &mut Project) {
    for require in &go_mod.requires {
        let options = if require.indirect { "indirect" } else { "" };
        project.request(format!("require/{}", require.path), &require.path, &require.version, options);
    }
    for replace in &go_mod.replaces {
        project.request(format!("replace/{}", replace.label()), &replace.old_path, &replace.target(), "");
    }
    for (path, version) in &go_mod.excludes {
        project.request(format!("exclude/{path}@{version}"), path, version, "");
    }
    for (directive, version) in &go_mod.toolchain {
        project.request(directive.clone(), STDLIB, version, "");
    }
}

/// `go build` refuses a go.mod that lists a lower version than the one selected.
fn check_listed(go_mod: &GoMod, selected: &BTreeMap<String, Version>, project: &mut Project) {
    for require in &go_mod.requires {
        let listed = Version::parse(Ecosystem::Go, &require.version);
        if listed.is_ok_and(|listed| selected.get(&require.path).is_some_and(|selected| *selected != listed)) {
            project.mismatch(format!("`{}` of go.mod is not at the version that is selected", require.path));
        }
    }
}

fn list_packages(
    go_mod: &GoMod,
    go_sum: Option<&GoSum>,
    selected: BTreeMap<String, Version>,
    project: &mut Project,
) -> Result<(), ProjectError> {
    for (path, version) in selected {
        let listed = go_mod.requires.iter().any(|require| require.path == path);
        // A replacement by a folder has no version, and so no advisory.
        let Some((name, text)) = go_mod.effective(&path, version.text()) else { continue };
        let version = Version::parse(Ecosystem::Go, &text).map_err(ProjectError::version(MOD))?;
        let checksums = go_sum.map(|sums| sums.of(&name, &text)).unwrap_or_default();
        if go_sum.is_some() && listed && checksums.len() < 2 {
            project.mismatch(format!("go.sum lacks `{name} {text}` or its go.mod"));
        }
        project.packages.push(Rc::new(Package {
            name,
            version,
            features: BTreeSet::new(),
            checksums,
            origins: BTreeSet::new(),
        }));
    }
    if let Some(version) = go_mod.language_version() {
        let version = Version::parse(Ecosystem::Go, version).map_err(ProjectError::version(MOD))?;
        let (features, checksums, origins) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        project.packages.push(Rc::new(Package { name: STDLIB.to_owned(), version, features, checksums, origins }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Problem;
    use super::*;

    pub(super) fn registry() -> Registry {
        serde_json::from_str(
            r#"{"ecosystem":"Go","taken_at":"2024-04-10","packages":{
                "golang.org/x/net":{"v0.16.0":{},"v0.17.0":{"dependencies":[]},"v0.23.0":{"dependencies":
                    [{"name":"golang.org/x/text","requirement":"v0.14.0"}]}},
                "golang.org/x/text":{"v0.13.0":{"dependencies":[]},"v0.14.0":{"dependencies":[]}},
                "example.com/web":{"v1.2.0":{"dependencies":[{"name":"golang.org/x/net","requirement":"v0.16.0"},
                    {"name":"golang.org/x/text","requirement":"v0.13.0"}]}}}}"#,
        )
        .unwrap()
    }

    fn sums(modules: &[(&str, &str)]) -> String {
        modules.iter().map(|(m, v)| format!("{m} {v} h1:{m}{v}=\n{m} {v}/go.mod h1:mod{m}{v}=\n")).collect()
    }

    const GO_MOD: &str = "module example.com/app\n\ngo 1.21\n\nrequire example.com/web v1.2.0\n\n\
        require (\n\tgolang.org/x/net v0.16.0 // indirect\n\tgolang.org/x/text v0.13.0 // indirect\n)\n";
    const ALL: [(&str, &str); 3] =
        [("example.com/web", "v1.2.0"), ("golang.org/x/net", "v0.16.0"), ("golang.org/x/text", "v0.13.0")];

    fn read_all(go_mod: &str, go_sum: &str) -> Project {
        let files = [
            (MOD, go_mod.to_owned()),
            (SUM, go_sum.to_owned()),
            ("main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/web/router\"\n)\n".to_owned()),
        ];
        read(&files.map(|(path, text)| (path.to_owned(), text)).into(), &registry()).unwrap()
    }

    fn version<'a>(project: &'a Project, name: &str) -> Option<&'a str> {
        project.packages.iter().find(|package| package.name == name).map(|package| package.version.text())
    }

    #[test]
    fn a_tidy_module_has_no_problems() {
        let project = read_all(GO_MOD, &sums(&ALL));
        assert_eq!(project.problems, []);
        assert_eq!(version(&project, "golang.org/x/net"), Some("v0.16.0"));
        assert_eq!(version(&project, STDLIB), Some("1.21"));
        assert_eq!(project.requests["require/golang.org/x/net"].options, "indirect");
    }

    #[test]
    fn the_highest_required_version_is_selected_and_go_mod_must_list_it() {
        let go_mod = GO_MOD.replace("golang.org/x/net v0.16.0", "golang.org/x/net v0.23.0");
        let go_sum = sums(&[ALL[0], ("golang.org/x/net", "v0.23.0"), ALL[2], ("golang.org/x/text", "v0.14.0")]);
        let project = read_all(&go_mod, &go_sum);
        assert_eq!(version(&project, "golang.org/x/text"), Some("v0.14.0"));
        assert!(matches!(&project.problems[..], [Problem::LockMismatch(what)] if what.contains("golang.org/x/text")));
        let tidy = go_mod.replace("golang.org/x/text v0.13.0", "golang.org/x/text v0.14.0");
        assert_eq!(read_all(&tidy, &go_sum).problems, []);
    }

    #[test]
    fn a_lower_requirement_cannot_lower_the_selection() {
        let go_mod = GO_MOD.replace("golang.org/x/text v0.13.0", "golang.org/x/text v0.12.0");
        let project = read_all(&go_mod, &sums(&ALL));
        assert_eq!(version(&project, "golang.org/x/text"), Some("v0.13.0"));
        assert_eq!(project.problems.len(), 1);
    }

    #[test]
    fn a_missing_sum_is_a_mismatch() {
        assert_eq!(read_all(GO_MOD, &sums(&ALL[..2])).problems.len(), 1);
    }

    #[test]
    fn a_replacement_is_what_is_built() {
        let go_mod = format!("{GO_MOD}\nreplace golang.org/x/net => example.com/fork/net v0.17.1\n");
        let go_sum = sums(&[ALL[0], ALL[2], ("example.com/fork/net", "v0.17.1")]);
        let project = read_all(&go_mod, &go_sum);
        assert_eq!(version(&project, "example.com/fork/net"), Some("v0.17.1"));
        assert_eq!(version(&project, "golang.org/x/net"), None);
        let local = read_all(&format!("{GO_MOD}\nreplace golang.org/x/net => ./net\n"), &sums(&ALL));
        assert_eq!(version(&local, "golang.org/x/net"), None);
    }

    #[test]
    fn an_excluded_version_is_not_selected() {
        let go_mod = GO_MOD.replace("\tgolang.org/x/net v0.16.0 // indirect\n", "");
        let excluded = format!("{go_mod}\nexclude golang.org/x/net v0.16.0\n");
        let project = read_all(&excluded, &sums(&ALL));
        assert_eq!(version(&project, "golang.org/x/net"), None);
    }

    #[test]
    fn an_import_that_no_module_provides_is_invalid() {
        let go_mod = GO_MOD.replace("require example.com/web v1.2.0\n\n", "");
        let project = read_all(&go_mod, &sums(&ALL));
        assert!(matches!(&project.problems[..], [Problem::InvalidManifest(what)] if what.contains("example.com/web")));
    }
}
