//! What a run was asked to do, so that a later process can tell whether it is asked for the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bench::select::Shard;
use crate::live::cost::Usd;
use eval_model::ids::{Digest, TaskClassName};

/// The terms of a run: the state of its bench, and the flags that its results depend on. How many cases run at once, and
/// what is printed, is not among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTerms {
    pub(crate) harness_version: String,
    pub(crate) task_class: TaskClassName,
    pub(crate) rubric_digest: Digest,
    pub(crate) registration_digest: Digest,
    /// The `--cases` as they were given.
    pub(crate) patterns: Vec<String>,
    /// Every selected case by its folder's name, with its digest; `None` for one that did not load.
    pub(crate) cases: BTreeMap<String, Option<Digest>>,
    pub(crate) live: Option<LiveTerms>,
    /// Which part of the cases this is about; `None` is all of them.
    pub(crate) shard: Option<Shard>,
}

/// The terms that only a live run has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveTerms {
    /// The command, how its answer is taken, its time and its allow-list, as one digest.
    pub(crate) command_digest: Digest,
    pub(crate) cap_nano_usd: Usd,
    pub(crate) per_case_nano_usd: Option<Usd>,
}

impl RunTerms {
    /// What differs, in words for whoever has to decide what to do about it.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut differ = |is_other: bool, what: &str| {
            if is_other {
                differences.push(what.to_owned());
            }
        };
        differ(self.harness_version != other.harness_version, "another version of eval-host");
        differ(self.task_class != other.task_class, "another task class");
        differ(self.rubric_digest != other.rubric_digest, "another rubric");
        differ(self.registration_digest != other.registration_digest, "another registration.toml");
        differ(self.patterns != other.patterns, "another selection of cases");
        differ(self.shard != other.shard, "another --shard");
        differ(command(self) != command(other), "another command");
        differ(money(self) != money(other), "another --max-cost-usd or max_cost_usd_per_case");
        differences.extend(self.differing_cases(other));
        differences
    }

    fn differing_cases(&self, other: &Self) -> Option<String> {
        let names = self.cases.keys().chain(other.cases.keys());
        let mut differing: Vec<_> = names.filter(|name| self.cases.get(*name) != other.cases.get(*name)).collect();
        differing.sort_unstable();
        differing.dedup();
        let (first, rest) = differing.split_first()?;
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        Some(format!("other files or another selection: case `{}`{more}", first.escape_default()))
    }
}

fn command(terms: &RunTerms) -> Option<Digest> {
    terms.live.as_ref().map(|live| live.command_digest)
}

fn money(terms: &RunTerms) -> Option<(Usd, Option<Usd>)> {
    terms.live.as_ref().map(|live| (live.cap_nano_usd, live.per_case_nano_usd))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn terms() -> RunTerms {
        RunTerms {
            harness_version: "0.1.0".to_owned(),
            task_class: "vuln-remediation".parse().expect("a task class"),
            rubric_digest: Digest::of(b"rubric"),
            registration_digest: Digest::of(b"registration"),
            patterns: Vec::new(),
            cases: [("001-a", b"a"), ("002-b", b"b")]
                .map(|(name, bytes)| (name.to_owned(), Some(Digest::of(bytes))))
                .into(),
            live: Some(LiveTerms {
                command_digest: Digest::of(b"agent"),
                cap_nano_usd: Usd::from_dollars(5.0).expect("an amount"),
                per_case_nano_usd: None,
            }),
            shard: None,
        }
    }

    #[test]
    fn every_difference_is_named_and_none_is_invented() {
        assert_eq!(terms().differences(&terms()), Vec::<String>::new());
        let mut other = terms();
        other.rubric_digest = Digest::of(b"other");
        other.cases.insert("002-b".to_owned(), None);
        other.cases.insert("003-c".to_owned(), None);
        other.live.as_mut().expect("live").cap_nano_usd = Usd::ZERO;
        let expected = [
            "another rubric",
            "another --max-cost-usd or max_cost_usd_per_case",
            "other files or another selection: case `002-b` and 1 more",
        ];
        assert_eq!(terms().differences(&other), expected);
        assert_eq!(other.differences(&terms()), expected);
    }
}
