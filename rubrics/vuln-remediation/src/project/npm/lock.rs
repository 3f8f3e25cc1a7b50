//! `package-lock.json`: the tree that is installed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{Project, ProjectError};
use super::overrides::Overrides;
use super::walk::Walk;
use crate::registry::{Registry, Release};
use crate::syntax::json;
use crate::version::{Ecosystem, Version};

/// The `packages` of a lock file by install path, and everything else it says.
pub(super) struct Lock {
    version: u64,
    root: Map<String, Value>,
    entries: BTreeMap<String, Entry>,
    rest: Map<String, Value>,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Set only where the package is installed under an alias.
    name: Option<String>,
    pub(super) version: String,
    pub(super) integrity: Option<String>,
    resolved: Option<String>,
    link: bool,
    dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    /// Only workspaces have them in a lock file.
    dev_dependencies: BTreeMap<String, String>,
    peer_dependencies: BTreeMap<String, String>,
    optional_peers: BTreeSet<String>,
    /// What else the entry says.
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Legacy {
    version: String,
    integrity: Option<String>,
    resolved: Option<String>,
    #[serde(default)]
    dependencies: BTreeMap<String, Legacy>,
}

/// Takes a text out of an object; `None` if it is not there.
fn text(fields: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match fields.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a text")),
    }
}

/// Takes names with their ranges out of an object.
fn ranges(fields: &mut Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, String> {
    let entries = match fields.remove(key) {
        None => Map::new(),
        Some(Value::Object(entries)) => entries,
        Some(_) => return Err(format!("`{key}` is not an object")),
    };
    let range = |(name, value)| match value {
        Value::String(range) => Ok((name, range)),
        _ => Err(format!("`{key}/{name}` is not a range")),
    };
    entries.into_iter().map(range).collect()
}

impl Entry {
    /// Field by field rather than by a derived reader, which would copy a large lock file several times.
    fn read(value: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = value else { return Err("it is not an object".to_owned()) };
        let peers = match fields.remove("peerDependenciesMeta") {
            Some(Value::Object(peers)) => peers,
            _ => Map::new(),
        };
        let is_optional = |meta: &Value| meta.get("optional").and_then(Value::as_bool) == Some(true);
        Ok(Self {
            name: text(&mut fields, "name")?,
            version: text(&mut fields, "version")?.unwrap_or_default(),
            integrity: text(&mut fields, "integrity")?,
            resolved: text(&mut fields, "resolved")?,
            link: fields.remove("link").and_then(|link| link.as_bool()).unwrap_or_default(),
            dependencies: ranges(&mut fields, "dependencies")?,
            optional_dependencies: ranges(&mut fields, "optionalDependencies")?,
            dev_dependencies: ranges(&mut fields, "devDependencies")?,
            peer_dependencies: ranges(&mut fields, "peerDependencies")?,
            optional_peers: peers.into_iter().filter(|(_, meta)| is_optional(meta)).map(|(name, _)| name).collect(),
            rest: fields,
        })
    }

    pub(super) fn name<'a>(&'a self, path: &'a str) -> &'a str {
        let from_path = || path.rsplit("node_modules/").next().unwrap_or(path);
        self.name.as_deref().unwrap_or_else(from_path)
    }

    /// What a workspace asks for in a section of its manifest.
    pub(super) fn section(&self, section: &str) -> &BTreeMap<String, String> {
        match section {
            "dependencies" => &self.dependencies,
            "devDependencies" => &self.dev_dependencies,
            "optionalDependencies" => &self.optional_dependencies,
            _ => &self.peer_dependencies,
        }
    }

    /// What nobody changes who leaves the version as it is. Flags such as `dev` follow from the tree.
    pub(super) fn remainder(&self) -> String {
        const FLAGS: [&str; 4] = ["dev", "optional", "devOptional", "peer"];
        let mut text = String::new();
        let plain = [&self.integrity, &self.resolved].into_iter().map(|part| part.as_deref().unwrap_or("-"));
        plain.for_each(|part| text.extend([part, " "]));
        for (name, range) in self.dependencies.iter().chain(&self.dev_dependencies) {
            text.extend([name.as_str(), " ", range.as_str(), " "]);
        }
        for (key, value) in self.rest.iter().filter(|(key, _)| !FLAGS.contains(&key.as_str())) {
            text.push_str(&format!("{key} {value} "));
        }
        text
    }

    /// Whether the older tree says the same. It writes aliases, links and repositories in a form of its own.
    fn agrees_with(&self, old: &Legacy) -> bool {
        let plain = old.version.strip_prefix("npm:").and_then(|alias| alias.rsplit('@').next()).unwrap_or(&old.version);
        let is_release = !self.link && Version::parse(Ecosystem::Npm, plain).is_ok();
        !is_release || plain == self.version && self.integrity == old.integrity && self.resolved == old.resolved
    }

    /// Where the package comes from, with what follows from its name and version left out: the address of a tarball that
    /// is somebody else's stays whole.
    pub(super) fn origin(&self, path: &str) -> Option<String> {
        let resolved = self.resolved.as_deref()?;
        let name = self.name(path);
        let base = name.rsplit('/').next().unwrap_or(name);
        let own = format!("{name}/-/{base}-{}.tgz", self.version);
        let encoded = own.replacen('/', "%2f", usize::from(name.starts_with('@')));
        let host = [own, encoded].iter().find_map(|own| resolved.strip_suffix(own.as_str()));
        Some(host.map_or_else(|| resolved.to_owned(), |host| format!("{host}{{name}}/-/{{file}}")))
    }

    /// Name, range, and whether it may be missing.
    pub(super) fn needs(&self) -> impl Iterator<Item = (&String, &String, bool)> {
        let optional_peer = |name: &String| self.optional_peers.contains(name);
        let plain = self.dependencies.iter().filter(|(name, _)| !self.optional_dependencies.contains_key(*name));
        let plain = plain.map(|(name, range)| (name, range, false));
        let optional = self.optional_dependencies.iter().map(|(name, range)| (name, range, true));
        let peers = self.peer_dependencies.iter().map(move |(name, range)| (name, range, optional_peer(name)));
        let dev = self.dev_dependencies.iter().map(|(name, range)| (name, range, false));
        plain.chain(optional).chain(peers).chain(dev)
    }
}

impl Lock {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ProjectError> {
        let unreadable = |what: String| ProjectError::unreadable(path, what);
        let Value::Object(mut fields) = json::parse(text).map_err(unreadable)? else {
            return Err(unreadable("it is not an object".to_owned()));
        };
        let version = fields.remove("lockfileVersion").and_then(|version| version.as_u64()).unwrap_or_default();
        if !matches!(version, 2 | 3) {
            let what = format!("npm lock files of version {version} are not supported, only 2 and 3");
            return Err(unreadable(what));
        }
        let Some(Value::Object(packages)) = fields.remove("packages") else {
            return Err(unreadable("it has no `packages`".to_owned()));
        };
        let (mut root, mut entries) = (Map::new(), BTreeMap::new());
        for (place, value) in packages {
            if place.is_empty() {
                root = value.as_object().cloned().unwrap_or_default();
            } else {
                let entry = Entry::read(value).map_err(|what| unreadable(format!("`{place}`: {what}")))?;
                entries.insert(place, entry);
            }
        }
        // Version 2 repeats the tree in the form of version 1.
        let older = fields.remove("dependencies").filter(|_| version == 2);
        let lock = Self { version, root, entries, rest: fields };
        let older: BTreeMap<String, Legacy> = older
            .map(serde_json::from_value)
            .transpose()
            .map_err(|error| unreadable(error.to_string()))?
            .unwrap_or_default();
        let difference = if version == 2 { lock.legacy_difference(&older) } else { None };
        match difference {
            Some(place) => Err(unreadable(format!("`{place}` differs between its two trees"))),
            None => Ok(lock),
        }
    }

    pub(super) fn root_section(&self, section: &str) -> Option<&Value> {
        self.root.get(section)
    }

    /// The packages that come from the registry, by install path.
    pub(super) fn installed(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.entries.iter().filter(|(path, entry)| path.contains("node_modules/") && !entry.link)
    }

    pub(super) fn remainder(&self) -> String {
        let mut root = self.root.clone();
        for section in super::SECTIONS {
            root.remove(section);
        }
        format!("{} {:?} {root:?}", self.version, self.rest)
    }

    /// Where the older tree of a lock file says something else than `packages`, or lacks a package.
    fn legacy_difference(&self, legacy: &BTreeMap<String, Legacy>) -> Option<String> {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<(&str, &BTreeMap<String, Legacy>)> = vec![("", legacy)];
        while let Some((parent, tree)) = waiting.pop() {
            for (name, old) in tree {
                let place = place_below(parent, name);
                let Some((place, entry)) = self.entries.get_key_value(&place) else { return Some(place) };
                if !entry.agrees_with(old) {
                    return Some(place.clone());
                }
                seen.insert(place);
                waiting.push((self.target(place), &old.dependencies));
            }
        }
        self.installed().map(|(place, _)| place).find(|place| !seen.contains(place)).cloned()
    }

    /// Walks the tree from the root as Node would, with the overrides that hold on the way.
    pub(super) fn check_tree(&self, overrides: &Overrides, registry: &Registry, project: &mut Project) {
        let walk = Walk::over(self, overrides, registry);
        for place in self.entries.keys().filter(|place| !walk.reached(place)) {
            project.mismatch(format!("`{place}` of the lock file serves nobody"));
        }
        for problem in walk.problems {
            project.mismatch(problem);
        }
    }

    /// Where Node finds a package from a given place: the nearest `node_modules` upwards. A workspace looks in the folders
    /// above it too, up to the root.
    pub(super) fn find(&self, from: &str, name: &str) -> Option<&str> {
        let mut folder = from;
        loop {
            if let Some((place, _)) = self.entries.get_key_value(place_below(folder, name).as_str()) {
                return Some(place);
            }
            if folder.is_empty() {
                return None;
            }
            folder = match folder.rfind('/') {
                Some(end) => folder[..end].trim_end_matches("/node_modules"),
                None => "",
            };
            if folder == "node_modules" {
                folder = "";
            }
        }
    }

    pub(super) fn entry(&self, place: &str) -> Option<&Entry> {
        self.entries.get(place)
    }

    /// The folder that a link leads to, or the place itself.
    pub(super) fn target<'a>(&'a self, place: &'a str) -> &'a str {
        let entry = self.entries.get(place).filter(|entry| entry.link);
        entry.and_then(|entry| entry.resolved.as_deref()).unwrap_or(place)
    }

    /// The places that lead to a folder of the project.
    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|(_, entry)| entry.link).map(|(place, _)| place.as_str())
    }

    /// The workspaces: entries outside any `node_modules`, with the folder they lie in.
    pub(super) fn workspaces(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.entries.iter().filter(|(place, _)| !place.contains("node_modules/"))
    }

    /// A lock entry repeats what the release itself depends on.
    pub(super) fn check_against_registry(&self, registry: &Registry, project: &mut Project) {
        for (place, entry) in self.installed() {
            let Ok(version) = Version::parse(Ecosystem::Npm, &entry.version) else { continue };
            let Some(release) = registry.release(entry.name(place), &version) else { continue };
            if release.dependencies.is_some() && entry.dependencies != required_by(release) {
                project.mismatch(format!("`{place}` of the lock file lists other dependencies than its release"));
            }
        }
    }
}

fn place_below(folder: &str, name: &str) -> String {
    if folder.is_empty() { format!("node_modules/{name}") } else { format!("{folder}/node_modules/{name}") }
}

fn required_by(release: &Release) -> BTreeMap<String, String> {
    let all = release.dependencies.iter().flatten().filter(|dependency| !dependency.optional);
    all.map(|dependency| (dependency.name.clone(), dependency.requirement.clone())).collect()
}
