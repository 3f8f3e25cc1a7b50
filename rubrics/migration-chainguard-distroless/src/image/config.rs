//! The configuration of an image: what a container is started with, and what describes the image.

use crate::dockerfile::{Form, HealthCheck};
use crate::facts::Variant;
use std::collections::{BTreeMap, BTreeSet};

/// Where programs are looked for if nobody says otherwise.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A port with its protocol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port {
    pub(crate) number: u16,
    pub(crate) protocol: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// `user[:group]`, by name or number.
    pub(crate) user: String,
    pub(crate) workdir: String,
    pub(crate) env: BTreeMap<String, String>,
    /// The variables that the Dockerfile sets, in contrast to those of the base image.
    pub(crate) own_env: BTreeSet<String>,
    pub(crate) entrypoint: Option<Form>,
    pub(crate) cmd: Option<Form>,
    pub(crate) shell: Vec<String>,
    pub(crate) ports: BTreeSet<Port>,
    pub(crate) volumes: BTreeSet<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) health: Option<HealthCheck>,
    pub(crate) stop_signal: Option<String>,
}

impl Config {
    /// What is known of an image that nothing is known of.
    pub(crate) fn unknown() -> Self {
        Self {
            user: String::new(),
            workdir: "/".to_owned(),
            env: BTreeMap::from([("PATH".to_owned(), DEFAULT_PATH.to_owned())]),
            own_env: BTreeSet::new(),
            entrypoint: None,
            cmd: None,
            shell: vec!["/bin/sh".to_owned(), "-c".to_owned()],
            ports: BTreeSet::new(),
            volumes: BTreeSet::new(),
            labels: BTreeMap::new(),
            health: None,
            stop_signal: None,
        }
    }

    pub(crate) fn of(variant: &Variant) -> Self {
        let form = |words: &[String]| (!words.is_empty()).then(|| Form::Exec(words.to_vec()));
        let mut config = Self::unknown();
        config.env.extend(variant.env.clone());
        Self {
            user: variant.user.clone(),
            workdir: variant.workdir.clone(),
            entrypoint: form(&variant.entrypoint),
            cmd: form(&variant.cmd),
            stop_signal: variant.stop_signal.clone(),
            ..config
        }
    }

    /// The user without the group.
    pub(crate) fn user_name(&self) -> &str {
        self.user.split(':').next().unwrap_or_default()
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(self.user_name(), "" | "0" | "root")
    }
}

/// Nobody exposes more at once, and a rubric must not run out of fuel over it.
const MAX_RANGE: u16 = 100;

/// `EXPOSE`'s words → ports. A range is all of its ports. `None`: not a port.
pub(crate) fn ports(word: &str) -> Option<Vec<Port>> {
    let (numbers, protocol) = word.split_once('/').unwrap_or((word, "tcp"));
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let protocol = protocol.to_ascii_lowercase();
    let is_range = first <= last && last - first < MAX_RANGE;
    is_range.then(|| (first..=last).map(|number| Port { number, protocol: protocol.clone() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_a_protocol_and_may_be_a_range() {
        let numbers = |word: &str| ports(word).map(|ports| ports.iter().map(|port| port.number).collect::<Vec<_>>());
        assert_eq!(numbers("8080"), Some(vec![8080]));
        assert_eq!(numbers("53/UDP"), Some(vec![53]));
        assert_eq!(numbers("8000-8002"), Some(vec![8000, 8001, 8002]));
        assert_eq!(ports("53/UDP").map(|ports| ports[0].protocol.clone()), Some("udp".to_owned()));
        for wrong in ["", "x", "70000", "9-8", "1-x", "1-60000"] {
            assert_eq!(ports(wrong), None, "{wrong}");
        }
    }
}
