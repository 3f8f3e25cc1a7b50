//! `package-lock.json`: the tree that is installed.
//!
//! A lock file is read next to the one before the patch, if there is one. Entries that are written the same in both are
//! shared, and nothing is asked of them a second time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{Package, Project, ProjectError};
use super::atlas::Atlas;
use super::entry::{Entry, Fields, Need, Workspace, needs_of_root};
use super::overrides::Overrides;
use super::walk::Walk;
use crate::registry::Registry;
use crate::syntax::json::{self, Strict};
use crate::syntax::members::{Checked, Members};
use crate::version::{Ecosystem, Version};

/// The `packages` of a lock file in the order of the file, and everything else it says.
#[derive(Debug)]
pub(crate) struct Lock {
    text: String,
    version: u64,
    root: Option<Map<String, Value>>,
    pub(super) root_needs: Vec<Need>,
    pub(super) entries: Vec<Rc<Entry>>,
    /// Where every entry is in the text, with its key.
    written: Vec<Range<usize>>,
    /// The entry of every folder that has one.
    at: Vec<Option<usize>>,
    rest: Map<String, Value>,
    pub(super) atlas: Rc<RefCell<Atlas>>,
}

#[derive(Deserialize)]
struct Legacy {
    version: String,
    integrity: Option<String>,
    resolved: Option<String>,
    #[serde(default)]
    dependencies: BTreeMap<String, Legacy>,
}

impl Legacy {
    /// Whether an entry says the same. The older tree writes aliases, links and repositories in a form of its own.
    fn agrees_with(&self, entry: &Entry) -> bool {
        let version = &self.version;
        let plain = version.strip_prefix("npm:").and_then(|alias| alias.rsplit('@').next()).unwrap_or(version);
        let own = entry.version().map_or("", Version::text);
        let integrity = entry.package.as_ref().and_then(|package| package.checksums.first());
        let is_release = !entry.is_link && Version::parse(Ecosystem::Npm, plain).is_ok();
        !is_release || plain == own && self.integrity.as_ref() == integrity && self.resolved == entry.resolved
    }
}

impl Lock {
    pub(super) fn read(
        path: &str,
        text: &str,
        registry: &Registry,
        before: Option<&Self>,
    ) -> Result<Self, ProjectError> {
        // What is no JSON at all is said with its place in the file.
        let unreadable = |what: String| ProjectError::unreadable(path, json::problem(text).unwrap_or(what));
        let mut lock = Self {
            text: text.to_owned(),
            version: 0,
            root: None,
            root_needs: Vec::new(),
            entries: Vec::new(),
            written: Vec::new(),
            at: Vec::new(),
            rest: Map::new(),
            atlas: before.map(|before| Rc::clone(&before.atlas)).unwrap_or_default(),
        };
        let has_packages = lock.read_members(text, registry, before).map_err(unreadable)?;
        lock.version = lock.rest.remove("lockfileVersion").and_then(|version| version.as_u64()).unwrap_or_default();
        if !matches!(lock.version, 2 | 3) {
            let what = format!("npm lock files of version {} are not supported, only 2 and 3", lock.version);
            return Err(ProjectError::unreadable(path, what));
        }
        if !has_packages {
            return Err(ProjectError::unreadable(path, "it has no `packages`"));
        }
        lock.root_needs = needs_of_root(lock.root.as_ref(), &mut lock.atlas.borrow_mut());
        match lock.legacy_difference().map_err(|error| ProjectError::unreadable(path, error))? {
            Some(place) => Err(ProjectError::unreadable(path, format!("`{place}` differs between its two trees"))),
            None => Ok(lock),
        }
    }

    /// Reads the whole file, and says whether `packages` was in it.
    fn read_members(&mut self, text: &str, registry: &Registry, before: Option<&Self>) -> Result<bool, String> {
        let mut members = Members::of(text, 0).ok_or("it is not an object")?;
        let mut has_packages = false;
        while members.begin()?.is_some() {
            let key = members.key()?;
            let is_new = if key == "packages" {
                let packages = Members::of(text, members.position()).ok_or("`packages` is not an object")?;
                members = members.back_to(self.read_packages(packages, registry, before)?);
                !std::mem::replace(&mut has_packages, true)
            } else {
                let Strict(value) = members.value()?;
                self.rest.insert(key.clone().into_owned(), value).is_none()
            };
            if !is_new {
                return Err(twice(&key));
            }
        }
        if members.is_at_end() { Ok(has_packages) } else { Err("something follows its end".to_owned()) }
    }

    /// Reads `packages`, and says where it ends.
    fn read_packages(
        &mut self,
        mut members: Members<'_>,
        registry: &Registry,
        before: Option<&Self>,
    ) -> Result<usize, String> {
        let mut known = Known { before, next: 0 };
        while let Some(start) = members.begin()? {
            let entry = match known.take(&mut members) {
                Some(entry) => Some(entry),
                None => self.read_package(&mut members, &mut known, registry)?,
            };
            if let Some(entry) = entry {
                self.add(entry, start..members.position())?;
            }
        }
        Ok(members.position())
    }

    /// Reads one of `packages`. `None` is the root.
    fn read_package(
        &mut self,
        members: &mut Members<'_>,
        known: &mut Known<'_>,
        registry: &Registry,
    ) -> Result<Option<Rc<Entry>>, String> {
        let start = members.position();
        let place = members.key()?;
        if place.is_empty() {
            let Strict(root) = members.value()?;
            let root = root.as_object().cloned().unwrap_or_default();
            return if self.root.replace(root).is_some() { Err(twice("")) } else { Ok(None) };
        }
        if known.seek(&place) {
            let value = std::mem::replace(members, members.back_to(start));
            if let Some(entry) = known.take(members) {
                return Ok(Some(entry));
            }
            known.next += 1;
            *members = value;
        }
        let named = |what: String| format!("`{place}`: {what}");
        let fields: Fields<'_, Checked> = members.value().map_err(named)?;
        let entry = Entry::keep(&place, &fields, &mut self.atlas.borrow_mut(), registry).map_err(named)?;
        // Version 3 is all that says its addresses once.
        let is_version_3 = self.rest.get("lockfileVersion").and_then(Value::as_u64) == Some(3);
        Ok(Some(Rc::new(if is_version_3 { entry } else { entry.with_address(&fields) })))
    }

    fn add(&mut self, entry: Rc<Entry>, written: Range<usize>) -> Result<(), String> {
        if self.at.len() <= entry.folder {
            self.at.resize(entry.folder + 1, None);
        }
        if self.at[entry.folder].replace(self.entries.len()).is_some() {
            return Err(twice(&self.place(&entry)));
        }
        self.entries.push(entry);
        self.written.push(written);
        Ok(())
    }

    /// The path of an entry.
    pub(super) fn place(&self, entry: &Entry) -> String {
        self.atlas.borrow().folders.text(entry.folder).to_owned()
    }

    /// Which entry is in a folder.
    pub(super) fn index(&self, folder: usize) -> Option<usize> {
        self.at.get(folder).copied().flatten()
    }

    /// The entries that another lock file does not have where they are and as they are.
    fn beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (usize, &'a Rc<Entry>)> {
        let is_there =
            |entry: &Rc<Entry>| other.index(entry.folder).is_some_and(|index| Rc::ptr_eq(entry, &other.entries[index]));
        self.entries.iter().enumerate().filter(move |(_, entry)| !is_there(entry))
    }

    /// What is otherwise than in the lock file before the patch.
    pub(crate) fn compare(&self, before: &Self, project: &mut Project) {
        let package = |(_, entry): (usize, &Rc<Entry>)| entry.package.clone();
        project.came = self.beyond(before).filter_map(package).collect();
        project.gone = before.beyond(self).filter_map(package).collect();
        for (index, entry) in self.beyond(before) {
            let Some(package) = &entry.package else { continue };
            let label = format!("{}#{}@{}", super::LOCK, self.place(entry), package.version);
            let was = before.index(entry.folder).filter(|old| {
                let was = before.entries[*old].package.as_ref();
                was.is_some_and(|was| was.version.text() == package.version.text())
            });
            match was.map(|old| before.told_of(old, |fields| fields.remainder())) {
                Some(was) => {
                    let is = self.told_of(index, |fields| fields.remainder());
                    project.altered.extend((was != is).then_some((label, is)));
                }
                None => _ = project.natures.insert(label, self.told_of(index, |fields| fields.nature())),
            }
        }
    }

    /// What an entry says. Few are asked for it, so it is read anew.
    fn told_of(&self, index: usize, tell: impl Fn(&Fields<'_, Strict>) -> String) -> String {
        let mut members = Members::at(&self.text, self.written[index].start);
        let fields = members.key().and_then(|_| members.value::<Fields<'_, Strict>>());
        fields.map(|fields| tell(&fields)).unwrap_or_default()
    }

    pub(super) fn root_section(&self, section: &str) -> Option<&Value> {
        self.root.as_ref()?.get(section)
    }

    /// The packages that come from the registry.
    pub(super) fn packages(&self) -> impl Iterator<Item = &Rc<Package>> {
        self.entries.iter().filter_map(|entry| entry.package.as_ref())
    }

    pub(super) fn remainder(&self) -> String {
        let mut root = self.root.clone().unwrap_or_default();
        for section in super::SECTIONS {
            root.remove(section);
        }
        format!("{} {:?} {root:?}", self.version, self.rest)
    }

    /// Where the older tree, in which version 2 repeats itself, says something else than `packages`, or lacks a package.
    fn legacy_difference(&mut self) -> Result<Option<String>, serde_json::Error> {
        let older = self.rest.remove("dependencies");
        if self.version != 2 {
            return Ok(None);
        }
        let older: BTreeMap<String, Legacy> = older.map(serde_json::from_value).transpose()?.unwrap_or_default();
        let atlas = self.atlas.borrow();
        let mut seen = vec![false; self.entries.len()];
        let mut waiting: Vec<(&str, &BTreeMap<String, Legacy>)> = vec![("", &older)];
        while let Some((parent, tree)) = waiting.pop() {
            for (name, old) in tree {
                let place = place_below(parent, name);
                let index = atlas.folders.number(&place).and_then(|folder| self.index(folder));
                let Some(index) = index.filter(|index| old.agrees_with(&self.entries[*index])) else {
                    return Ok(Some(place));
                };
                seen[index] = true;
                let entry = &self.entries[index];
                waiting.push((atlas.folders.text(entry.leads_to.unwrap_or(entry.folder)), &old.dependencies));
            }
        }
        let mut entries = self.entries.iter().zip(seen);
        let missing = entries.find(|(entry, seen)| entry.package.is_some() && !seen);
        Ok(missing.map(|(entry, _)| atlas.folders.text(entry.folder).to_owned()))
    }

    /// Walks the tree from the root as Node would, with the overrides that hold on the way.
    pub(super) fn check_tree(&self, overrides: &Overrides, registry: &Registry, project: &mut Project) {
        let atlas = self.atlas.borrow();
        let walk = Walk::over(self, &atlas, overrides, registry);
        for (_, entry) in self.entries.iter().enumerate().filter(|(index, _)| !walk.reached(*index)) {
            project.mismatch(format!("`{}` of the lock file serves nobody", atlas.folders.text(entry.folder)));
        }
        for problem in walk.problems {
            project.mismatch(problem);
        }
    }

    /// The workspaces: entries outside any `node_modules`, with the folder they lie in.
    pub(super) fn workspaces(&self) -> impl Iterator<Item = (String, &Workspace)> {
        self.entries.iter().filter_map(|entry| Some((self.place(entry), entry.workspace.as_ref()?)))
    }

    /// A lock entry repeats what the release itself depends on.
    pub(super) fn check_against_registry(&self, project: &mut Project) {
        for entry in self.entries.iter().filter(|entry| entry.departs_from_release) {
            let place = self.place(entry);
            project.mismatch(format!("`{place}` of the lock file lists other dependencies than its release"));
        }
    }
}

/// What the lock file before the patch has next. Most entries of the new one are written the same, in the same order.
struct Known<'a> {
    before: Option<&'a Lock>,
    next: usize,
}

impl Known<'_> {
    /// The next entry, if it is written the same where the members are read next.
    fn take(&mut self, members: &mut Members<'_>) -> Option<Rc<Entry>> {
        let before = self.before?;
        let written = &before.text.as_bytes()[before.written.get(self.next)?.clone()];
        members.pass(written).then(|| {
            self.next += 1;
            Rc::clone(&before.entries[self.next - 1])
        })
    }

    /// Goes to the entry of a place, if there is one.
    fn seek(&mut self, place: &str) -> bool {
        let index = self.before.and_then(|before| {
            let folder = before.atlas.borrow().folders.number(place)?;
            before.index(folder)
        });
        self.next = index.unwrap_or(self.next);
        index.is_some()
    }
}

fn place_below(folder: &str, name: &str) -> String {
    if folder.is_empty() { format!("node_modules/{name}") } else { format!("{folder}/node_modules/{name}") }
}

fn twice(key: &str) -> String {
    format!("the key `{key}` is there twice")
}
