//! The `overrides` of a root manifest: which of them hold for which dependency of which package.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Project;
use super::atlas::requirement;
use crate::registry::Registry;
use crate::version::{Ecosystem, Requirement};

/// All overrides, flattened: `{"a": {"b": "1"}}` is one with the path `a`, `b`.
#[derive(Debug, Default)]
pub(super) struct Overrides(Vec<Override>);

#[derive(Debug)]
struct Override {
    path: Vec<Selector>,
    spec: String,
    requirement: Option<Requirement>,
}

/// `name` or `name@range`.
#[derive(Debug)]
struct Selector {
    name: String,
    range: Option<Requirement>,
}

/// How far each override's path has been walked, on the way from the root to a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trail(BTreeSet<(usize, usize)>);

/// What holds for one dependency, and what holds below it.
pub(super) struct Step<'a> {
    pub(super) spec: Option<(&'a str, Option<&'a Requirement>)>,
    pub(super) trail: Trail,
}

impl Overrides {
    pub(super) fn parse(value: Option<&Value>, requests: &[(String, String, String)]) -> Result<Self, String> {
        let mut all = Self::default();
        if let Some(value) = value {
            all.collect(&mut Vec::new(), value, requests)?;
        }
        Ok(all)
    }

    fn collect(
        &mut self,
        path: &mut Vec<String>,
        value: &Value,
        requests: &[(String, String, String)],
    ) -> Result<(), String> {
        match value {
            Value::String(spec) => self.add(path, spec, requests),
            Value::Object(entries) => entries.iter().try_for_each(|(key, value)| {
                let depth = path.len();
                path.extend((key != ".").then(|| key.clone()));
                self.collect(path, value, requests)?;
                path.truncate(depth);
                Ok(())
            }),
            _ => Err(format!("`overrides/{}` is neither a range nor an object", path.join("/"))),
        }
    }

    fn add(&mut self, path: &[String], spec: &str, requests: &[(String, String, String)]) -> Result<(), String> {
        let spec = match spec.strip_prefix('$') {
            Some(name) => {
                let direct = requests.iter().find(|(_, direct, _)| direct == name);
                direct.map(|(_, _, range)| range.clone()).ok_or_else(|| format!("`${name}` is no direct dependency"))?
            }
            None => spec.to_owned(),
        };
        if path.is_empty() {
            return Err("`overrides` is not an object".to_owned());
        }
        let path = path.iter().map(|key| Selector::parse(key)).collect();
        self.0.push(Override { path, requirement: requirement(&spec), spec });
        Ok(())
    }

    /// The packages that any override is about, on its path or at its end. Every other dependency leaves a trail as it is.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|rule| &rule.path).map(|selector| selector.name.as_str())
    }

    /// Lists the overrides among the project's own requests.
    pub(super) fn list_in(&self, project: &mut Project) {
        for rule in &self.0 {
            let names: Vec<&str> = rule.path.iter().map(|selector| selector.name.as_str()).collect();
            let package = names.last().copied().unwrap_or_default();
            project.request(format!("overrides/{}", names.join("/")), package, &rule.spec, "");
        }
    }

    /// npm refuses to install (`EOVERRIDE`) if an override of a direct dependency asks for something else than it.
    pub(super) fn check_direct(&self, requests: &[(String, String, String)], project: &mut Project) {
        for rule in self.0.iter().filter(|rule| rule.path.len() == 1) {
            let selector = &rule.path[0];
            let conflicts = |(section, name, range): &&(String, String, String)| {
                *name == selector.name && *range != rule.spec && section != "peerDependencies"
            };
            if requests.iter().any(|request| conflicts(&request)) {
                project.invalid(format!("the override of `{}` conflicts with the direct dependency", selector.name));
            }
        }
    }

    /// Follows one dependency. The override with the longest path wins, the first of them if there are several.
    pub(super) fn step(&self, trail: &Trail, name: &str, range: &str, registry: &Registry) -> Step<'_> {
        let mut next = trail.clone();
        let mut best: Option<&Override> = None;
        for (index, rule) in self.0.iter().enumerate() {
            let positions = trail.0.range((index, 0)..=(index, usize::MAX)).map(|(_, position)| *position);
            for position in positions.chain([0]).collect::<BTreeSet<_>>() {
                if !rule.path[position].matches(name, range, registry) {
                    continue;
                }
                if position + 1 < rule.path.len() {
                    next.0.insert((index, position + 1));
                } else if best.is_none_or(|best| rule.path.len() > best.path.len()) {
                    best = Some(rule);
                }
            }
        }
        Step { spec: best.map(|rule| (rule.spec.as_str(), rule.requirement.as_ref())), trail: next }
    }
}

impl Selector {
    fn parse(key: &str) -> Self {
        // A scope begins with `@`, so the first character is not where a range begins.
        match key.char_indices().skip(1).find(|(_, c)| *c == '@') {
            Some((at, _)) => {
                Self { name: key[..at].to_owned(), range: Requirement::parse(Ecosystem::Npm, &key[at + 1..]) }
            }
            None => Self { name: key.to_owned(), range: None },
        }
    }

    /// A selector with a range is about requests that overlap with it, as far as the registry has versions.
    fn matches(&self, name: &str, range: &str, registry: &Registry) -> bool {
        if self.name != name {
            return false;
        }
        let Some(own) = &self.range else { return true };
        let asked = Requirement::parse(Ecosystem::Npm, range);
        let in_both = |asked: &Requirement| {
            registry.versions(name).iter().any(|(version, _)| own.admits(version) && asked.admits(version))
        };
        own.text() == range || asked.as_ref().is_some_and(in_both)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::registry;
    use super::*;

    fn overrides(json: &str) -> Result<Overrides, String> {
        let direct = ("dependencies".to_owned(), "ws".to_owned(), "^8.17.1".to_owned());
        Overrides::parse(Some(&serde_json::from_str(json).unwrap()), &[direct])
    }

    /// The spec that holds for `ws` asked for as `range`, below the packages given.
    fn spec(overrides: &Overrides, below: &[&str], range: &str) -> Option<String> {
        let mut trail = Trail::default();
        for name in below {
            trail = overrides.step(&trail, name, "*", &registry()).trail;
        }
        overrides.step(&trail, "ws", range, &registry()).spec.map(|(spec, _)| spec.to_owned())
    }

    #[test]
    fn an_override_holds_everywhere_or_below_what_it_names() {
        let everywhere = overrides(r#"{"ws":"7.5.10"}"#).unwrap();
        assert_eq!(spec(&everywhere, &["a", "b"], "^7.0.0").as_deref(), Some("7.5.10"));
        let scoped = overrides(r#"{"hub":{"ws":"7.5.10"}}"#).unwrap();
        assert_eq!(spec(&scoped, &["hub", "between"], "^7.0.0").as_deref(), Some("7.5.10"));
        assert_eq!(spec(&scoped, &["other"], "^7.0.0"), None);
    }

    #[test]
    fn the_longer_path_wins() {
        let both = overrides(r#"{"ws":"8.17.1","hub":{"ws":"7.5.10"}}"#).unwrap();
        assert_eq!(spec(&both, &["hub"], "*").as_deref(), Some("7.5.10"));
        assert_eq!(spec(&both, &[], "*").as_deref(), Some("8.17.1"));
    }

    #[test]
    fn a_range_in_the_selector_limits_it_and_a_dot_means_the_package_itself() {
        let ranged = overrides(r#"{"ws@^7.0.0":"7.5.10"}"#).unwrap();
        assert_eq!(spec(&ranged, &[], "^7.5.0").as_deref(), Some("7.5.10"));
        assert_eq!(spec(&ranged, &[], "^8.0.0"), None);
        let dotted = overrides(r#"{"ws":{".":"7.5.10","x":"1.0.0"}}"#).unwrap();
        assert_eq!(spec(&dotted, &[], "*").as_deref(), Some("7.5.10"));
    }

    #[test]
    fn a_dollar_stands_for_the_direct_dependency() {
        assert_eq!(spec(&overrides(r#"{"ws":"$ws"}"#).unwrap(), &[], "*").as_deref(), Some("^8.17.1"));
        assert!(overrides(r#"{"ws":"$nope"}"#).is_err());
        assert!(overrides(r#"{"ws":7}"#).is_err());
    }

    #[test]
    fn an_override_that_conflicts_with_a_direct_dependency_is_invalid() {
        let direct = [("dependencies".to_owned(), "ws".to_owned(), "^8.17.1".to_owned())];
        let mut project = Project::default();
        overrides(r#"{"ws":"8.17.1"}"#).unwrap().check_direct(&direct, &mut project);
        assert_eq!(project.problems.len(), 1);
        let mut project = Project::default();
        overrides(r#"{"ws":"$ws"}"#).unwrap().check_direct(&direct, &mut project);
        assert_eq!(project.problems, []);
    }

    #[test]
    fn scoped_names_are_not_cut_at_their_scope() {
        let selector = Selector::parse("@scope/name@^1.0.0");
        assert_eq!((selector.name.as_str(), selector.range.unwrap().text()), ("@scope/name", "^1.0.0"));
    }
}
