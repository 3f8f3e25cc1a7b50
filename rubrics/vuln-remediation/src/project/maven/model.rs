//! The parts of a POM that concern dependencies, as they are written.

use std::collections::{BTreeMap, BTreeSet};

use super::xml::Element;

#[derive(Debug)]
pub(super) struct Model {
    pub(super) parent: Option<Coordinates>,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) managed: Vec<Dependency>,
    pub(super) dependencies: Vec<Dependency>,
    root: Element,
}

/// `group:artifact`, and a version.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub(super) name: String,
    pub(super) version: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) scope: Option<String>,
    kind: Option<String>,
    classifier: Option<String>,
    pub(super) optional: bool,
    pub(super) exclusions: Vec<String>,
}

impl Model {
    pub(super) fn read(root: &Element) -> Result<Self, String> {
        if root.name != "project" {
            return Err(format!("its root element is `{}`", root.name));
        }
        if let Some(what) = root.repeated() {
            return Err(what);
        }
        if root.child("modules").is_some_and(|modules| !modules.children.is_empty()) {
            return Err(
                "it is a Maven project of several modules, which is not supported: use one `pom.xml`".to_owned()
            );
        }
        let list = |parent: Option<&Element>| {
            let all = parent.and_then(|parent| parent.child("dependencies"));
            all.map_or_else(|| Ok(Vec::new()), dependencies)
        };
        let properties = root.child("properties").map(|properties| &properties.children);
        let property = |element: &Element| (element.name.clone(), element.text.trim().to_owned());
        Ok(Self {
            parent: root.child("parent").map(Coordinates::read).transpose()?,
            properties: properties.into_iter().flatten().map(property).collect(),
            managed: list(root.child("dependencyManagement"))?,
            dependencies: list(Some(root))?,
            root: root.clone(),
        })
    }

    /// Properties that every POM has.
    pub(super) fn built_in(&self) -> BTreeMap<String, String> {
        let own = |name: &str| self.root.text_of(name).map(str::to_owned);
        let parent = self.parent.as_ref();
        let version = own("version").or_else(|| parent.map(|parent| parent.version.clone()));
        let mut built_in = BTreeMap::new();
        built_in.extend(version.map(|version| ("project.version".to_owned(), version)));
        built_in.extend(own("groupId").map(|group| ("project.groupId".to_owned(), group)));
        built_in.extend(parent.map(|parent| ("project.parent.version".to_owned(), parent.version.clone())));
        built_in
    }

    /// Everything but dependencies: what the POM says besides them. Properties that give versions belong to dependencies.
    pub(super) fn remainder(&self, inherited: &BTreeSet<String>) -> String {
        let mut root = self.root.clone();
        root.children.retain(|child| !matches!(child.name.as_str(), "dependencies" | "dependencyManagement"));
        let giving = self.giving_versions();
        let gives = |property: &str| giving.contains(property) || inherited.contains(property);
        for child in &mut root.children {
            match child.name.as_str() {
                "parent" => child.children.retain(|part| part.name != "version"),
                "properties" => child.children.retain(|property| !gives(&property.name)),
                _ => {}
            }
        }
        root.children.retain(|child| child.name != "properties" || !child.children.is_empty());
        let mut text = String::new();
        write(&root, &mut text);
        text
    }

    /// The properties that a version of a dependency names.
    fn giving_versions(&self) -> BTreeSet<&str> {
        let all = self.dependencies.iter().chain(&self.managed);
        let versions = all.filter_map(|dependency| dependency.version.as_deref());
        let named = versions.flat_map(|version| version.split("${").skip(1));
        named.filter_map(|rest| rest.split_once('}')).map(|(property, _)| property).collect()
    }
}

/// A list of dependencies, each of them once.
fn dependencies(list: &Element) -> Result<Vec<Dependency>, String> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for element in &list.children {
        if element.name != "dependency" {
            return Err(format!("`dependencies` has a `{}`", element.name));
        }
        let dependency = Dependency::read(element)?;
        if !seen.insert(dependency.key()) {
            return Err(format!("`{}` is declared twice", dependency.name));
        }
        all.push(dependency);
    }
    Ok(all)
}

impl Coordinates {
    fn read(element: &Element) -> Result<Self, String> {
        let part = |name: &str| {
            element.text_of(name).ok_or_else(|| format!("a `{}` has no `{name}`", element.name)).map(str::to_owned)
        };
        Ok(Self { name: format!("{}:{}", part("groupId")?, part("artifactId")?), version: part("version")? })
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, version) = text.rsplit_once(':')?;
        Some(Self { name: name.to_owned(), version: version.to_owned() })
    }
}

impl Dependency {
    fn read(element: &Element) -> Result<Self, String> {
        const KNOWN: [&str; 9] =
            ["groupId", "artifactId", "version", "type", "classifier", "scope", "systemPath", "exclusions", "optional"];
        if let Some(stranger) = element.children.iter().find(|child| !KNOWN.contains(&child.name.as_str())) {
            return Err(format!("a dependency has a `{}`", stranger.name));
        }
        let part = |name: &str| element.text_of(name).map(str::to_owned);
        if part("systemPath").is_some() && part("scope").as_deref() != Some("system") {
            return Err("a dependency has a `systemPath` and another scope than `system`".to_owned());
        }
        let exclusion = |element: &Element| {
            let part = |name: &str| element.text_of(name).unwrap_or("*");
            format!("{}:{}", part("groupId"), part("artifactId"))
        };
        let exclusions = element.child("exclusions").into_iter().flat_map(|all| all.children("exclusion"));
        let (Some(group), Some(artifact)) = (part("groupId"), part("artifactId")) else {
            return Err("a dependency has no `groupId` or no `artifactId`".to_owned());
        };
        Ok(Self {
            name: format!("{group}:{artifact}"),
            version: part("version"),
            scope: part("scope"),
            kind: part("type"),
            classifier: part("classifier"),
            optional: part("optional").as_deref() == Some("true"),
            exclusions: exclusions.map(exclusion).collect(),
        })
    }

    pub(super) fn is_import(&self) -> bool {
        self.scope.as_deref() == Some("import")
    }

    /// What makes two declarations the same dependency.
    pub(super) fn key(&self) -> String {
        let mut key = self.name.clone();
        for part in [&self.kind, &self.classifier].into_iter().flatten().filter(|part| *part != "jar") {
            key.push(':');
            key.push_str(part);
        }
        key
    }

    /// What else the declaration says.
    pub(super) fn options(&self) -> String {
        let mut exclusions = self.exclusions.clone();
        exclusions.sort();
        let optional = if self.optional { " optional" } else { "" };
        let without: String = exclusions.iter().map(|exclusion| format!(" -{exclusion}")).collect();
        format!("{}{optional}{without}", self.scope.as_deref().unwrap_or("compile"))
    }
}

fn write(element: &Element, text: &mut String) {
    text.push_str(&format!("<{}>{}", element.name, element.text.trim()));
    element.children.iter().for_each(|child| write(child, text));
    text.push_str("</>");
}
