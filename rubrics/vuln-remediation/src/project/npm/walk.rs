//! The walk over an installed tree, from the root along every dependency, as Node would look it up.
//!
//! Linear in the number of dependencies: nothing is compared by its text, and a place is visited once for every
//! combination of overrides that leads to it. A made-up tree can have a combination for every subset of its overrides, so
//! the number of combinations is bounded, while the number of places is not.

use std::collections::{BTreeMap, BTreeSet};

use super::atlas::{Atlas, ROOT};
use super::entry::Need;
use super::lock::Lock;
use super::overrides::{Overrides, Trail};
use super::places::Places;
use crate::registry::Registry;
use crate::version::Requirement;

/// How many visits of places that were visited before, under other overrides, are followed.
const REPEATED: usize = 1_000;

pub(super) struct Walk<'a> {
    lock: &'a Lock,
    atlas: &'a Atlas,
    places: Places,
    overrides: &'a Overrides,
    registry: &'a Registry,
    /// Whether an override is about the package, for every name.
    is_overridden: Vec<bool>,
    /// Every way in which overrides hold, and its number.
    trails: Vec<Trail>,
    trail_numbers: BTreeMap<Trail, usize>,
    /// The trail under which a place was visited first.
    seen: Vec<Option<usize>>,
    /// Further trails under which places were visited.
    repeated: BTreeSet<(usize, usize)>,
    /// What is still to be looked at: a lock file may be deeper than the stack.
    waiting: Vec<Edge>,
    pub(super) problems: BTreeSet<String>,
}

/// A dependency of the package in a folder.
#[derive(Clone, Copy)]
struct Edge {
    from: usize,
    need: Need,
    trail: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn over(lock: &'a Lock, atlas: &'a Atlas, overrides: &'a Overrides, registry: &'a Registry) -> Self {
        let mut is_overridden = vec![false; atlas.names.count()];
        overrides.names().filter_map(|name| atlas.names.number(name)).for_each(|name| is_overridden[name] = true);
        let mut walk = Self {
            lock,
            atlas,
            places: Places::of(lock, atlas),
            overrides,
            registry,
            is_overridden,
            trails: vec![Trail::default()],
            trail_numbers: BTreeMap::from([(Trail::default(), 0)]),
            seen: vec![None; lock.entries.len()],
            repeated: BTreeSet::new(),
            waiting: Vec::new(),
            problems: BTreeSet::new(),
        };
        walk.start();
        while let Some(edge) = walk.waiting.pop() {
            if walk.repeated.len() > REPEATED {
                walk.problems.insert("the overrides combine in too many ways to follow".to_owned());
                break;
            }
            walk.edge(edge);
        }
        walk
    }

    pub(super) fn reached(&self, place: usize) -> bool {
        self.seen[place].is_some()
    }

    /// The root and its workspaces, which are links, ask for packages; nobody has to ask for them.
    fn start(&mut self) {
        self.waiting.extend(self.lock.root_needs.iter().map(|need| Edge { from: ROOT, need: *need, trail: 0 }));
        for (place, _) in self.lock.entries.iter().enumerate().filter(|(_, entry)| entry.is_link) {
            self.visit(place, 0);
        }
    }

    fn edge(&mut self, edge: Edge) {
        let Need { name, range, may_be_missing } = edge.need;
        let Some(place) = self.places.find(self.atlas, edge.from, name) else {
            if !may_be_missing {
                let (name, from) = (self.atlas.names.text(name), self.atlas.folders.text(edge.from));
                self.problems.insert(format!("`{name}`, needed by `{from}`, is not in the lock file"));
            }
            return;
        };
        if self.is_overridden[name] {
            self.overridden_edge(edge, place);
        } else {
            self.check(edge, place, (self.atlas.ranges.text(range), self.atlas.requirement(range)));
            self.visit(place, edge.trail);
        }
    }

    fn overridden_edge(&mut self, edge: Edge, place: usize) {
        let (name, range) = (self.atlas.names.text(edge.need.name), self.atlas.ranges.text(edge.need.range));
        let step = self.overrides.step(&self.trails[edge.trail], name, range, self.registry);
        self.check(edge, place, step.spec.unwrap_or((range, self.atlas.requirement(edge.need.range))));
        let trail = *self.trail_numbers.entry(step.trail).or_insert_with_key(|trail| {
            self.trails.push(trail.clone());
            self.trails.len() - 1
        });
        self.visit(place, trail);
    }

    /// Checks that what is at a place is what is asked for.
    fn check(&mut self, edge: Edge, place: usize, (asked, requirement): (&str, Option<&Requirement>)) {
        let entry = &self.lock.entries[place];
        let meant = entry.leads_to.map_or(Some(entry), |to| Some(&self.lock.entries[self.lock.index(to)?]));
        let version = meant.and_then(|meant| meant.version());
        if requirement.zip(version).is_some_and(|(requirement, version)| !requirement.admits(version)) {
            let [place, from] = [entry.folder, edge.from].map(|folder| self.atlas.folders.text(folder));
            self.problems.insert(format!("`{place}` of the lock file is not `{asked}`, as `{from}` needs it"));
        }
    }

    fn visit(&mut self, mut place: usize, trail: usize) {
        while self.is_first_visit(place, trail) {
            let entry = &self.lock.entries[place];
            let Some(to) = entry.leads_to else {
                let from = entry.folder;
                self.waiting.extend(entry.needs.iter().map(|need| Edge { from, need: *need, trail }));
                return;
            };
            let Some(target) = self.lock.index(to) else { return };
            place = target;
        }
    }

    fn is_first_visit(&mut self, place: usize, trail: usize) -> bool {
        match self.seen[place] {
            None => {
                self.seen[place] = Some(trail);
                true
            }
            Some(first) => first != trail && self.repeated.insert((place, trail)),
        }
    }
}
