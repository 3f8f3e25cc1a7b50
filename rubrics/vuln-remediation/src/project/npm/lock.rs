//! `package-lock.json`: the tree that is installed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{Project, ProjectError};
use super::overrides::{Overrides, Trail};
use crate::registry::{Registry, Release};
use crate::version::{Ecosystem, Requirement, Version};

/// The `packages` of a lock file by install path, and everything else it says.
pub(super) struct Lock {
    root: Map<String, Value>,
    entries: BTreeMap<String, Entry>,
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    /// Set only where the package is installed under an alias.
    name: Option<String>,
    #[serde(default)]
    pub(super) version: String,
    pub(super) integrity: Option<String>,
    resolved: Option<String>,
    #[serde(default)]
    link: bool,
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, String>,
    #[serde(default)]
    peer_dependencies: BTreeMap<String, String>,
    #[serde(default)]
    peer_dependencies_meta: BTreeMap<String, PeerMeta>,
    /// What else the entry says.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
struct PeerMeta {
    #[serde(default)]
    optional: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLock {
    lockfile_version: u64,
    packages: BTreeMap<String, Value>,
    /// Version 2 repeats the tree in the form of version 1.
    #[serde(default)]
    dependencies: BTreeMap<String, Legacy>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Legacy {
    version: String,
    #[serde(default)]
    dependencies: BTreeMap<String, Legacy>,
}

impl Entry {
    pub(super) fn name<'a>(&'a self, path: &'a str) -> &'a str {
        let from_path = || path.rsplit("node_modules/").next().unwrap_or(path);
        self.name.as_deref().unwrap_or_else(from_path)
    }

    /// What nobody changes who leaves the version as it is. Flags such as `dev` follow from the tree.
    pub(super) fn remainder(&self) -> String {
        let mut rest = self.rest.clone();
        for flag in ["dev", "optional", "devOptional", "peer"] {
            rest.remove(flag);
        }
        format!("{:?} {:?} {:?} {rest:?}", self.integrity, self.resolved, self.dependencies)
    }

    /// Name, range, and whether it may be missing.
    fn needs(&self) -> impl Iterator<Item = (&String, &String, bool)> {
        let optional_peer = |name: &String| self.peer_dependencies_meta.get(name).is_some_and(|meta| meta.optional);
        let plain = self.dependencies.iter().filter(|(name, _)| !self.optional_dependencies.contains_key(*name));
        let plain = plain.map(|(name, range)| (name, range, false));
        let optional = self.optional_dependencies.iter().map(|(name, range)| (name, range, true));
        let peers = self.peer_dependencies.iter().map(move |(name, range)| (name, range, optional_peer(name)));
        plain.chain(optional).chain(peers)
    }
}

impl Lock {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ProjectError> {
        let raw: RawLock = serde_json::from_str(text).map_err(|error| ProjectError::unreadable(path, error))?;
        if !matches!(raw.lockfile_version, 2 | 3) {
            let what = format!("lock file version {} is not 2 or 3", raw.lockfile_version);
            return Err(ProjectError::unreadable(path, what));
        }
        let mut root = Map::new();
        let mut entries = BTreeMap::new();
        for (place, value) in raw.packages {
            if place.is_empty() {
                root = value.as_object().cloned().unwrap_or_default();
                continue;
            }
            let entry: Entry = serde_json::from_value(value)
                .map_err(|error| ProjectError::unreadable(path, format!("`{place}`: {error}")))?;
            entries.insert(place, entry);
        }
        let lock = Self { root, entries, rest: raw.rest };
        match lock.legacy_difference("", &raw.dependencies) {
            Some(place) => Err(ProjectError::unreadable(path, format!("`{place}` differs between its two trees"))),
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
        format!("{:?} {root:?}", self.rest)
    }

    fn legacy_difference(&self, parent: &str, legacy: &BTreeMap<String, Legacy>) -> Option<String> {
        legacy.iter().find_map(|(name, old)| {
            let place = place_below(parent, name);
            match self.entries.get(&place) {
                Some(entry) if entry.version == old.version => self.legacy_difference(&place, &old.dependencies),
                _ => Some(place),
            }
        })
    }

    /// Walks the tree from the root as Node would, with the overrides that hold on the way.
    pub(super) fn check_tree(&self, overrides: &Overrides, registry: &Registry, project: &mut Project) {
        let (seen, waiting, problems) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        let mut walk = Walk { lock: self, overrides, registry, seen, waiting, problems };
        walk.root();
        let reached: BTreeSet<&String> = walk.seen.iter().map(|(place, _)| place).collect();
        for place in self.entries.keys().filter(|place| place.contains("node_modules/") && !reached.contains(place)) {
            project.mismatch(format!("`{place}` of the lock file serves nobody"));
        }
        for problem in walk.problems {
            project.mismatch(problem);
        }
    }

    /// Where Node finds a package from a given place: the nearest `node_modules` upwards.
    fn find(&self, from: &str, name: &str) -> Option<String> {
        let mut folder = from;
        loop {
            let place = place_below(folder, name);
            if self.entries.contains_key(&place) {
                return Some(place);
            }
            folder = match folder.rfind("node_modules/") {
                Some(end) => folder[..end].trim_end_matches('/'),
                None => return None,
            };
        }
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

/// How many combinations of a place and the overrides on the way to it are followed. Real trees have few for each place;
/// a made-up one can have one for every subset of its overrides.
const STATES: usize = 1_000;

/// A walk over the tree, with a list of what is still to be looked at: a lock file may be deeper than the stack.
struct Walk<'a> {
    lock: &'a Lock,
    overrides: &'a Overrides,
    registry: &'a Registry,
    seen: BTreeSet<(String, Trail)>,
    waiting: Vec<Edge>,
    problems: BTreeSet<String>,
}

/// A dependency of the package at a place.
struct Edge {
    from: String,
    name: String,
    range: String,
    may_be_missing: bool,
    trail: Trail,
}

impl Walk<'_> {
    fn root(&mut self) {
        for section in super::SECTIONS {
            let requests = self.lock.root_section(section).and_then(Value::as_object).cloned().unwrap_or_default();
            for (name, range) in requests {
                let range = range.as_str().unwrap_or_default().to_owned();
                let may_be_missing = matches!(section, "optionalDependencies" | "peerDependencies");
                self.waiting.push(Edge { from: String::new(), name, range, may_be_missing, trail: Trail::default() });
            }
        }
        while let Some(edge) = self.waiting.pop() {
            if self.seen.len() > STATES {
                self.problems.insert("the overrides combine in too many ways to follow".to_owned());
                return;
            }
            self.edge(&edge);
        }
    }

    fn edge(&mut self, edge: &Edge) {
        let Edge { from, name, range, .. } = edge;
        let Some(place) = self.lock.find(from, name) else {
            if !edge.may_be_missing {
                self.problems.insert(format!("`{name}`, needed by `{from}`, is not in the lock file"));
            }
            return;
        };
        let step = self.overrides.step(&edge.trail, name, range, self.registry);
        let asked = step.spec.as_deref().unwrap_or(range);
        let entry = &self.lock.entries[&place];
        if !admits(asked, &entry.version) {
            self.problems.insert(format!("`{place}` of the lock file is not `{asked}`, as `{from}` needs it"));
        }
        if !self.seen.insert((place.clone(), step.trail.clone())) {
            return;
        }
        for (name, range, may_be_missing) in entry.needs() {
            let (from, trail) = (place.clone(), step.trail.clone());
            self.waiting.push(Edge { from, name: name.clone(), range: range.clone(), may_be_missing, trail });
        }
    }
}

fn place_below(folder: &str, name: &str) -> String {
    if folder.is_empty() { format!("node_modules/{name}") } else { format!("{folder}/node_modules/{name}") }
}

/// Whether a version is what a range asks for. What is no range (a tag, a repository) cannot be checked here.
fn admits(range: &str, version: &str) -> bool {
    let range = range.strip_prefix("npm:").map_or(range, |alias| alias.rsplit('@').next().unwrap_or(alias));
    match (Requirement::parse(Ecosystem::Npm, range), Version::parse(Ecosystem::Npm, version)) {
        (Some(requirement), Ok(version)) => requirement.admits(&version),
        _ => true,
    }
}

fn required_by(release: &Release) -> BTreeMap<String, String> {
    let all = release.dependencies.iter().flatten().filter(|dependency| !dependency.optional);
    all.map(|dependency| (dependency.name.clone(), dependency.requirement.clone())).collect()
}
