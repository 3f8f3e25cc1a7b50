//! One entry of a `package-lock.json`: what it says, and what of that is kept.
//!
//! An entry knows nothing of the lock file around it, so that every lock file that has it can share it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::super::Package;
use super::SECTIONS;
use super::atlas::Atlas;
use crate::registry::{Registry, Release};
use crate::syntax::json::Strict;
use crate::syntax::members::{Object, Text};
use crate::version::{Ecosystem, Version};

/// How many folders deep a package may lie: more than any tool installs, and few enough to be looked through.
const DEEPEST: usize = 100;

/// Names with their ranges.
type Ranges<'t> = Object<'t, Text<'t>>;

/// What an entry says, as it is written. `R` is what is read of the rest: the values, or only whether they may be there.
#[derive(Debug)]
pub(super) struct Fields<'t, R> {
    /// Set only where the package is installed under an alias.
    name: Option<Text<'t>>,
    version: Option<Text<'t>>,
    integrity: Option<Text<'t>>,
    resolved: Option<Text<'t>>,
    link: Option<bool>,
    dependencies: Option<Ranges<'t>>,
    optional_dependencies: Option<Ranges<'t>>,
    /// Only workspaces have them in a lock file.
    dev_dependencies: Option<Ranges<'t>>,
    peer_dependencies: Option<Ranges<'t>>,
    peers: Option<Object<'t, Strict>>,
    /// What else the entry says.
    rest: Object<'t, R>,
}

/// What lock files share of an entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where it is, which is the folder from which it looks for what it needs.
    pub(super) folder: usize,
    /// The folder in whose `node_modules` it is, and the name by which it is found there.
    pub(super) spot: Option<(usize, usize)>,
    /// The folder that a link leads to.
    pub(super) leads_to: Option<usize>,
    pub(super) is_link: bool,
    pub(super) needs: Vec<Need>,
    /// What comes from the registry.
    pub(super) package: Option<Rc<Package>>,
    /// What the project itself has there.
    pub(super) workspace: Option<Workspace>,
    /// Whether it lists other dependencies than its release has.
    pub(super) departs_from_release: bool,
    /// The address as it is written, for a lock file that says it twice.
    pub(super) resolved: Option<String>,
}

/// A dependency, by numbers of the atlas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    pub(super) name: usize,
    pub(super) range: usize,
    pub(super) may_be_missing: bool,
}

/// A folder of the project that is a package itself.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) version: Option<Version>,
    /// What it asks for, in the order of [`SECTIONS`]: section, name and range.
    pub(super) requests: Vec<(String, String, String)>,
}

impl Entry {
    /// Keeps what matters of an entry.
    pub(super) fn keep<R>(
        place: &str,
        fields: &Fields<'_, R>,
        atlas: &mut Atlas,
        registry: &Registry,
    ) -> Result<Self, String> {
        let is_link = fields.link.unwrap_or_default();
        let target = fields.resolved.as_ref().filter(|_| is_link).map(|Text(to)| to.as_ref());
        if [Some(place), target].into_iter().flatten().any(is_too_deep) {
            return Err("it lies too deep".to_owned());
        }
        let spot = split_at_modules(place);
        let package = match spot.filter(|_| !is_link) {
            Some((_, name)) => Some(Rc::new(fields.package(name)?)),
            None => None,
        };
        let release = package.as_ref().and_then(|package| registry.release(&package.name, &package.version));
        let folder = atlas.folder(place);
        let leads_to = target.map(|to| atlas.folder(to));
        Ok(Self {
            folder,
            spot: spot.and_then(|(head, name)| Some((atlas.folder(folder_of(head)?), atlas.names.add(name)))),
            leads_to: leads_to.filter(|to| *to != folder),
            is_link,
            needs: fields.needs(atlas),
            package,
            workspace: spot.is_none().then(|| fields.workspace()),
            departs_from_release: release.is_some_and(|release| !fields.repeats(release)),
            resolved: None,
        })
    }

    /// The entry with its address as it is written.
    pub(super) fn with_address<R>(self, fields: &Fields<'_, R>) -> Self {
        Self { resolved: fields.resolved.as_ref().map(|Text(resolved)| resolved.clone().into_owned()), ..self }
    }

    pub(super) fn version(&self) -> Option<&Version> {
        let own = || self.workspace.as_ref().and_then(|workspace| workspace.version.as_ref());
        self.package.as_ref().map(|package| &package.version).or_else(own)
    }
}

/// What is before the last `node_modules/` of a path, and what is behind it.
fn split_at_modules(place: &str) -> Option<(&str, &str)> {
    let mut slashes = place.rmatch_indices('/');
    slashes.find_map(|(at, _)| Some((place[..at].strip_suffix("node_modules")?, &place[at + 1..])))
}

fn is_too_deep(path: &str) -> bool {
    path.bytes().filter(|byte| *byte == b'/').count() > DEEPEST
}

/// The folder that has a `node_modules`, of the path before that. Nobody looks in a `node_modules` of a `node_modules`.
fn folder_of(head: &str) -> Option<&str> {
    let folder = if head.is_empty() { Some("") } else { head.strip_suffix('/') };
    folder.filter(|folder| *folder != "node_modules" && !folder.ends_with("/node_modules"))
}

impl<'t, R> Fields<'t, R> {
    fn package(&self, name: &str) -> Result<Package, String> {
        let name = self.name.as_ref().map_or(name, |Text(alias)| alias);
        let version = self.version.as_ref().map_or("", |Text(version)| version);
        Ok(Package {
            name: name.to_owned(),
            version: Version::parse(Ecosystem::Npm, version).map_err(|error| error.to_string())?,
            features: BTreeSet::new(),
            checksums: self.integrity.iter().map(|Text(sum)| sum.clone().into_owned()).collect(),
            origins: self.resolved.iter().map(|Text(resolved)| origin(resolved, name, version)).collect(),
        })
    }

    fn workspace(&self) -> Workspace {
        let sections =
            [&self.dependencies, &self.dev_dependencies, &self.optional_dependencies, &self.peer_dependencies];
        let requests = SECTIONS.into_iter().zip(sections).flat_map(|(section, ranges)| {
            let owned = move |(name, Text(range)): &(Cow<'t, str>, Text<'t>)| {
                (section.to_owned(), name.clone().into_owned(), range.clone().into_owned())
            };
            members(ranges).iter().map(owned)
        });
        let version = self.version.as_ref().and_then(|Text(version)| Version::parse(Ecosystem::Npm, version).ok());
        Workspace { version, requests: requests.collect() }
    }

    fn needs(&self, atlas: &mut Atlas) -> Vec<Need> {
        let optional = members(&self.optional_dependencies);
        let is_optional = |name: &Cow<'t, str>| optional.binary_search_by(|(other, _)| other.cmp(name)).is_ok();
        let plain = members(&self.dependencies).iter().filter(|(name, _)| !is_optional(name));
        let all = plain.map(|need| (need, false)).chain(optional.iter().map(|need| (need, true)));
        let peers = members(&self.peer_dependencies).iter().map(|need| (need, self.is_optional_peer(&need.0)));
        let dev = members(&self.dev_dependencies).iter().map(|need| (need, false));
        let all = all.chain(peers).chain(dev);
        let number = |((name, Text(range)), may_be_missing): (&(Cow<'t, str>, Text<'t>), bool)| Need {
            name: atlas.names.add(name),
            range: atlas.range(range),
            may_be_missing,
        };
        all.map(number).collect()
    }

    fn is_optional_peer(&self, name: &str) -> bool {
        let peers = members(&self.peers);
        let about = peers.binary_search_by(|(peer, _)| peer.as_ref().cmp(name)).ok();
        about.is_some_and(|at| peers[at].1.0.get("optional") == Some(&Value::Bool(true)))
    }

    /// Whether the entry lists what its release depends on, as far as that is known.
    fn repeats(&self, release: &Release) -> bool {
        let Some(known) = &release.dependencies else { return true };
        let mut known: Vec<(&str, &str)> = known
            .iter()
            .filter(|dependency| !dependency.optional)
            .map(|dependency| (dependency.name.as_str(), dependency.requirement.as_str()))
            .collect();
        known.sort_unstable();
        members(&self.dependencies).iter().map(|(name, Text(range))| (name.as_ref(), range.as_ref())).eq(known)
    }
}

impl Fields<'_, Strict> {
    /// What a release is, wherever it comes from: on what it depends, where it can be used and what it installs. Versions of
    /// npm differ in what else they write down.
    pub(super) fn nature(&self) -> String {
        const KEYS: [&str; 6] = ["bin", "bundleDependencies", "cpu", "hasInstallScript", "libc", "os"];
        let mut text = String::new();
        for ranges in [&self.dependencies, &self.optional_dependencies, &self.peer_dependencies] {
            members(ranges).iter().for_each(|(name, Text(range))| text.extend([name, " ", range, " "]));
            text.push_str("| ");
        }
        for (key, Strict(value)) in self.rest.0.iter().filter(|(key, _)| KEYS.contains(&key.as_ref())) {
            text.push_str(&format!("{key} {value} "));
        }
        text
    }

    /// What nobody changes who leaves the version as it is. Flags such as `dev` follow from the tree.
    pub(super) fn remainder(&self) -> String {
        const FLAGS: [&str; 4] = ["dev", "optional", "devOptional", "peer"];
        let mut text = String::new();
        for part in [&self.integrity, &self.resolved] {
            text.extend([part.as_ref().map_or("-", |Text(part)| part), " "]);
        }
        for (name, Text(range)) in members(&self.dependencies).iter().chain(members(&self.dev_dependencies)) {
            text.extend([name, " ", range, " "]);
        }
        for (key, Strict(value)) in self.rest.0.iter().filter(|(key, _)| !FLAGS.contains(&key.as_ref())) {
            text.push_str(&format!("{key} {value} "));
        }
        text
    }
}

fn members<'a, 't, T>(object: &'a Option<Object<'t, T>>) -> &'a [(Cow<'t, str>, T)] {
    object.as_ref().map_or(&[], |object| &object.0)
}

/// Where a package comes from, with what follows from its name and version left out: the address of a tarball that is
/// somebody else's stays whole.
fn origin(resolved: &str, name: &str, version: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    let folder = || {
        let file = resolved.strip_suffix(".tgz")?.strip_suffix(version)?.strip_suffix('-')?.strip_suffix(base)?;
        let folder = file.strip_suffix("/-/")?;
        folder.strip_suffix(name).or_else(|| {
            let scope = name.strip_suffix(base)?.strip_suffix('/').filter(|scope| scope.starts_with('@'))?;
            folder.strip_suffix(base)?.strip_suffix("%2f")?.strip_suffix(scope)
        })
    };
    folder().map_or_else(|| resolved.to_owned(), |host| [host, "{name}/-/{file}"].concat())
}

impl<'t, R: Deserialize<'t>> Deserialize<'t> for Fields<'t, R> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor(PhantomData))
    }
}

struct FieldsVisitor<R>(PhantomData<R>);

impl<'t, R: Deserialize<'t>> Visitor<'t> for FieldsVisitor<R> {
    type Value = Fields<'t, R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        let mut rest = Vec::new();
        while let Some(Text(key)) = entries.next_key()? {
            match key.as_ref() {
                "name" => once(&mut fields.name, &key, &mut entries),
                "version" => once(&mut fields.version, &key, &mut entries),
                "integrity" => once(&mut fields.integrity, &key, &mut entries),
                "resolved" => once(&mut fields.resolved, &key, &mut entries),
                "link" => once(&mut fields.link, &key, &mut entries),
                "dependencies" => once(&mut fields.dependencies, &key, &mut entries),
                "optionalDependencies" => once(&mut fields.optional_dependencies, &key, &mut entries),
                "devDependencies" => once(&mut fields.dev_dependencies, &key, &mut entries),
                "peerDependencies" => once(&mut fields.peer_dependencies, &key, &mut entries),
                "peerDependenciesMeta" => once(&mut fields.peers, &key, &mut entries),
                _ => entries.next_value().map(|value| rest.push((key, value))),
            }?;
        }
        fields.rest = Object::sorted(rest).map_err(|key| twice(&key))?;
        Ok(fields)
    }
}

/// Reads a value into its slot, which must be empty.
fn once<'t, T: Deserialize<'t>, A: MapAccess<'t>>(
    slot: &mut Option<T>,
    key: &str,
    entries: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(twice(key));
    }
    *slot = Some(entries.next_value()?);
    Ok(())
}

fn twice<E: Error>(key: &str) -> E {
    E::custom(format!("the key `{key}` is there twice"))
}

impl<R> Default for Fields<'_, R> {
    fn default() -> Self {
        Self {
            name: None,
            version: None,
            integrity: None,
            resolved: None,
            link: None,
            dependencies: None,
            optional_dependencies: None,
            dev_dependencies: None,
            peer_dependencies: None,
            peers: None,
            rest: Object::default(),
        }
    }
}

/// What the root entry asks for. It is known by its own value, because the manifest repeats it.
pub(super) fn needs_of_root(root: Option<&Map<String, Value>>, atlas: &mut Atlas) -> Vec<Need> {
    let mut needs = Vec::new();
    for section in SECTIONS {
        for (name, range) in root.and_then(|root| root.get(section)?.as_object()).into_iter().flatten() {
            let may_be_missing = matches!(section, "optionalDependencies" | "peerDependencies");
            let range = atlas.range(range.as_str().unwrap_or_default());
            needs.push(Need { name: atlas.names.add(name), range, may_be_missing });
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::super::atlas::ROOT;
    use super::super::tests::registry;
    use super::*;
    use crate::syntax::members::Checked;

    fn entry(place: &str, json: &str) -> Result<Entry, String> {
        let fields: Fields<'_, Checked> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        Entry::keep(place, &fields, &mut Atlas::default(), &registry())
    }

    #[test]
    fn an_address_that_follows_from_the_name_is_left_out_of_the_origin() {
        let host = "https://r.example/{name}/-/{file}";
        assert_eq!(origin("https://r.example/ws/-/ws-1.0.0.tgz", "ws", "1.0.0"), host);
        assert_eq!(origin("https://r.example/@s/ws/-/ws-1.0.0.tgz", "@s/ws", "1.0.0"), host);
        assert_eq!(origin("https://r.example/@s%2fws/-/ws-1.0.0.tgz", "@s/ws", "1.0.0"), host);
        for other in ["https://r.example/ws/-/ws-1.0.1.tgz", "https://r.example/sw/-/ws-1.0.0.tgz", "git+ssh://x"] {
            assert_eq!(origin(other, "ws", "1.0.0"), other);
        }
    }

    #[test]
    fn what_is_there_twice_or_no_text_is_refused() {
        assert!(entry("node_modules/ws", r#"{"version":"7.5.9","dependencies":{"a":"1"},"x":{"y":1}}"#).is_ok());
        for json in [
            r#"{"version":"7.5.9","version":"7.5.9"}"#,
            r#"{"version":"7.5.9","dependencies":{"a":"1","a":"1"}}"#,
            r#"{"version":"7.5.9","x":{"y":1,"y":2}}"#,
            r#"{"version":"7.5.9","x":1,"b":2,"x":3}"#,
            r#"{"version":7}"#,
            r#"{"version":null}"#,
            r#"{"version":"7.5.9","dependencies":["a"]}"#,
            r#"{"resolved":"x"}"#,
            "[]",
        ] {
            assert!(entry("node_modules/ws", json).is_err(), "{json}");
        }
    }

    #[test]
    fn nobody_installs_as_deep_as_that() {
        let deep = "node_modules/a/".repeat(60);
        assert!(entry(&format!("{deep}node_modules/ws"), r#"{"version":"7.5.9"}"#).is_err());
    }

    #[test]
    fn a_place_is_found_from_the_folder_that_has_its_node_modules() {
        let spot = |place| entry(place, r#"{"version":"7.5.9"}"#).unwrap().spot;
        assert_eq!(spot("node_modules/ws").map(|(within, _)| within), Some(ROOT));
        assert!(spot("node_modules/hub/node_modules/ws").is_some_and(|(within, _)| within != ROOT));
        assert_eq!(spot("node_modules/node_modules/ws"), None);
        assert_eq!(spot("packages/web"), None);
    }
}
