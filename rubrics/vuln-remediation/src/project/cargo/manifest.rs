//! `Cargo.toml`: what the package asks for.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use super::super::ProjectError;

/// The part of a manifest that concerns dependencies, and the rest of it as text.
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) features: BTreeMap<String, Vec<String>>,
    pub(super) rest: String,
}

pub(super) struct Dependency {
    /// `dependencies`, `dev-dependencies`, `target/cfg(unix)/dependencies` and so on.
    pub(super) section: String,
    /// What the package calls it; differs from `name` where it is renamed.
    pub(super) alias: String,
    pub(super) name: String,
    pub(super) requirement: String,
    pub(super) features: Vec<String>,
    pub(super) default_features: bool,
    pub(super) optional: bool,
    /// Not from a path or a repository.
    pub(super) from_registry: bool,
    /// Where else it comes from.
    place: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Detail {
    version: Option<String>,
    package: Option<String>,
    features: Vec<String>,
    default_features: Option<bool>,
    optional: bool,
    workspace: bool,
    path: Option<String>,
    git: Option<String>,
    /// Another registry, a branch and the like.
    #[serde(flatten)]
    rest: Table,
}

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

impl Manifest {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ProjectError> {
        let mut table: Table = toml::from_str(text).map_err(|error| ProjectError::unreadable(path, error.message()))?;
        if table.contains_key("workspace") && !table.contains_key("package") {
            let (path, format) = (path.to_owned(), "virtual Cargo workspace");
            return Err(ProjectError::Unsupported { path, format, instead: "the manifest of one package" });
        }
        let name = table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let name = name.ok_or_else(|| ProjectError::unreadable(path, "it has no `package.name`"))?.to_owned();
        let shared = take_shared(&mut table);
        let mut dependencies = Vec::new();
        for (section, entries) in take_sections(&mut table) {
            for (alias, value) in entries {
                let dependency = Dependency::parse(&section, &alias, value, &shared);
                dependencies.push(dependency.map_err(|what| ProjectError::unreadable(path, what))?);
            }
        }
        let features = table.get("features").cloned().unwrap_or_else(|| Value::Table(Table::new()));
        let features = features.try_into().map_err(|_| ProjectError::unreadable(path, "`features` is not a table"))?;
        Ok(Self { name, dependencies, features, rest: format!("{table:?}") })
    }
}

impl Dependency {
    fn parse(section: &str, alias: &str, value: Value, shared: &Table) -> Result<Self, String> {
        let mut detail = detail(alias, value)?;
        if detail.workspace {
            let inherited = shared.get(alias).cloned().ok_or_else(|| format!("`{alias}` is not in the workspace"))?;
            let inherited = self::detail(alias, inherited)?;
            detail.features.extend(inherited.features);
            detail.default_features = detail.default_features.or(inherited.default_features);
            detail.version = inherited.version;
            detail.package = inherited.package;
            (detail.path, detail.git, detail.rest) = (inherited.path, inherited.git, inherited.rest);
        }
        let from_registry = detail.path.is_none() && detail.git.is_none();
        detail.features.sort();
        let mut place = String::new();
        for (kind, value) in [("path", &detail.path), ("git", &detail.git)] {
            place.extend(value.iter().map(|value| format!(" {kind} {value}")));
        }
        place.extend(detail.rest.iter().map(|(key, value)| format!(" {key} {value:?}")));
        Ok(Self {
            section: section.to_owned(),
            alias: alias.to_owned(),
            name: detail.package.unwrap_or_else(|| alias.to_owned()),
            requirement: detail.version.unwrap_or_else(|| "*".to_owned()),
            features: detail.features,
            default_features: detail.default_features.unwrap_or(true),
            optional: detail.optional,
            from_registry,
            place,
        })
    }

    /// Features and the like: what else the request says.
    pub(super) fn options(&self) -> String {
        let mut text = String::new();
        if !self.default_features {
            text.push_str(" no-default-features");
        }
        for feature in &self.features {
            text.push_str(" +");
            text.push_str(feature);
        }
        if self.optional {
            text.push_str(" optional");
        }
        text.push_str(&self.place);
        text
    }
}

fn detail(alias: &str, value: Value) -> Result<Detail, String> {
    match value {
        Value::String(version) => Ok(Detail { version: Some(version), ..Detail::default() }),
        table => table.try_into().map_err(|_| format!("the dependency `{alias}` is neither a version nor a table")),
    }
}

fn take_shared(table: &mut Table) -> Table {
    let workspace = table.get_mut("workspace").and_then(Value::as_table_mut);
    match workspace.and_then(|workspace| workspace.remove("dependencies")) {
        Some(Value::Table(shared)) => shared,
        _ => Table::new(),
    }
}

/// Takes the tables of dependencies out of the manifest, so that the rest is what remains.
fn take_sections(table: &mut Table) -> Vec<(String, Table)> {
    let mut sections = take_plain("", table);
    if let Some(targets) = table.get_mut("target").and_then(Value::as_table_mut) {
        for (target, value) in targets.iter_mut() {
            if let Some(tables) = value.as_table_mut() {
                sections.extend(take_plain(&format!("target/{target}/"), tables));
            }
        }
    }
    sections
}

fn take_plain(prefix: &str, table: &mut Table) -> Vec<(String, Table)> {
    let mut taken = Vec::new();
    for section in SECTIONS {
        if let Some(Value::Table(entries)) = table.remove(section) {
            taken.push((format!("{prefix}{section}"), entries));
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_dependency_is_read() {
        let manifest = Manifest::parse(
            "Cargo.toml",
            r#"
            [package]
            name = "app"
            [dependencies]
            plain = "1"
            renamed = { package = "real", version = "0.3" }
            shared = { workspace = true, features = ["x"] }
            local = { path = "../local" }
            [dev-dependencies]
            tester = "2"
            [target.'cfg(unix)'.dependencies]
            nix = { version = "0.27", default-features = false }
            [workspace.dependencies]
            shared = { version = "4", features = ["y"] }
            "#,
        )
        .unwrap();
        let found: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|d| {
                (d.section.as_str(), d.name.as_str(), format!("{}{}", d.requirement, d.options()), d.from_registry)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("dependencies", "local", "* path ../local".to_owned(), false),
                ("dependencies", "plain", "1".to_owned(), true),
                ("dependencies", "real", "0.3".to_owned(), true),
                ("dependencies", "shared", "4 +x +y".to_owned(), true),
                ("dev-dependencies", "tester", "2".to_owned(), true),
                ("target/cfg(unix)/dependencies", "nix", "0.27 no-default-features".to_owned(), true),
            ]
        );
        assert!(!manifest.rest.contains("plain"));
    }

    #[test]
    fn a_manifest_without_a_package_or_with_a_wrong_dependency_cannot_be_read() {
        for text in ["[dependencies]\na = \"1\"", "[package]\nname = \"a\"\n[dependencies]\nb = 1"] {
            assert!(Manifest::parse("Cargo.toml", text).is_err(), "{text}");
        }
    }
}
