//! The walk over an installed tree, from the root along every dependency, as Node would look it up.
//!
//! Linear in the number of dependencies: every range and every version is parsed once, and a place is visited once for
//! every combination of overrides that leads to it. A made-up tree can have a combination for every subset of its
//! overrides, so the number of combinations is bounded, while the number of places is not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::lock::{Entry, Lock};
use super::overrides::{Overrides, Trail};
use crate::registry::Registry;
use crate::version::{Ecosystem, Requirement, Version};

/// How many visits of places that were visited before, under other overrides, are followed.
const REPEATED: usize = 1_000;

pub(super) struct Walk<'a> {
    lock: &'a Lock,
    overrides: &'a Overrides,
    registry: &'a Registry,
    seen: BTreeMap<&'a str, BTreeSet<Trail>>,
    repeated: usize,
    /// What is still to be looked at: a lock file may be deeper than the stack.
    waiting: Vec<Edge<'a>>,
    ranges: BTreeMap<String, Option<Requirement>>,
    versions: BTreeMap<&'a str, Option<Version>>,
    pub(super) problems: BTreeSet<String>,
}

/// A dependency of the package at a place.
struct Edge<'a> {
    from: &'a str,
    name: &'a str,
    range: &'a str,
    may_be_missing: bool,
    trail: Trail,
}

impl<'a> Walk<'a> {
    pub(super) fn over(lock: &'a Lock, overrides: &'a Overrides, registry: &'a Registry) -> Self {
        let (ranges, versions, problems) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let (seen, waiting) = (BTreeMap::new(), Vec::new());
        let mut walk = Self { lock, overrides, registry, seen, repeated: 0, waiting, ranges, versions, problems };
        walk.start();
        while let Some(edge) = walk.waiting.pop() {
            if walk.repeated > REPEATED {
                walk.problems.insert("the overrides combine in too many ways to follow".to_owned());
                break;
            }
            walk.edge(&edge);
        }
        walk
    }

    pub(super) fn reached(&self, place: &str) -> bool {
        self.seen.contains_key(place)
    }

    /// The root and its workspaces, which are links, ask for packages; nobody has to ask for them.
    fn start(&mut self) {
        for section in super::SECTIONS {
            let requests = self.lock.root_section(section).and_then(Value::as_object);
            for (name, range) in requests.into_iter().flatten() {
                let range = range.as_str().unwrap_or_default();
                let may_be_missing = matches!(section, "optionalDependencies" | "peerDependencies");
                self.waiting.push(Edge { from: "", name, range, may_be_missing, trail: Trail::default() });
            }
        }
        for place in self.lock.links() {
            self.visit(place, &Trail::default());
        }
    }

    fn edge(&mut self, edge: &Edge<'a>) {
        let Edge { from, name, range, .. } = *edge;
        let Some(place) = self.lock.find(from, name) else {
            if !edge.may_be_missing {
                self.problems.insert(format!("`{name}`, needed by `{from}`, is not in the lock file"));
            }
            return;
        };
        let step = self.overrides.step(&edge.trail, name, range, self.registry);
        let asked = step.spec.as_deref().unwrap_or(range);
        if !self.admits(asked, place) {
            self.problems.insert(format!("`{place}` of the lock file is not `{asked}`, as `{from}` needs it"));
        }
        self.visit(place, &step.trail);
    }

    fn visit(&mut self, place: &'a str, trail: &Trail) {
        let trails = self.seen.entry(place).or_default();
        if trails.contains(trail) {
            return;
        }
        self.repeated += usize::from(!trails.is_empty());
        trails.insert(trail.clone());
        let target = self.lock.target(place);
        if target != place {
            self.visit(target, trail);
            return;
        }
        for (name, range, may_be_missing) in self.lock.entry(place).into_iter().flat_map(Entry::needs) {
            self.waiting.push(Edge { from: place, name, range, may_be_missing, trail: trail.clone() });
        }
    }

    /// Whether what is at a place is what a range asks for. What is no range (a tag, a repository, a folder) cannot be
    /// checked here.
    fn admits(&mut self, range: &str, place: &'a str) -> bool {
        let range = range.strip_prefix("npm:").map_or(range, |alias| alias.rsplit('@').next().unwrap_or(alias));
        let Some(entry) = self.lock.entry(self.lock.target(place)) else { return true };
        if !self.ranges.contains_key(range) {
            self.ranges.insert(range.to_owned(), Requirement::parse(Ecosystem::Npm, range));
        }
        let text = entry.version.as_str();
        let version = self.versions.entry(text).or_insert_with(|| Version::parse(Ecosystem::Npm, text).ok());
        match (self.ranges.get(range), version) {
            (Some(Some(requirement)), Some(version)) => requirement.admits(version),
            _ => true,
        }
    }
}
