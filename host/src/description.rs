//! What one run is, fixed before its first case: which bench, which cases of it, which part of them, who answers.
//!
//! There is one description of a run. Its plan, its journal, the header of an answer set and the record's facts are views of
//! it. It is a claim about what was asked, and never about what came of it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use eval_evidence::gate::BenchCommit;
use eval_evidence::record::Sut;
use eval_model::confinement::Confinement;
use eval_model::ids::{Digest, RecordHash, TaskClassName};
use eval_model::money::Usd;
use eval_model::report::Selection;
use eval_model::utc::UtcMillis;

use crate::bench::Bench;
use crate::bench::select::Wanted;
use eval_model::shard::Shard;

/// A run as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunDescription {
    pub(crate) harness_version: String,
    pub(crate) task_class: TaskClassName,
    pub(crate) rubric_digest: Digest,
    pub(crate) registration_digest: Digest,
    /// `None` where the bench is in no git repository.
    pub(crate) bench_commit: Option<BenchCommit>,
    /// The patterns that select the same cases again; empty means every case.
    patterns: Vec<String>,
    /// Every selected case by its folder's name, sorted, of all shards.
    selected: Vec<String>,
    cases_in_bench: u64,
    /// Which part of the selected cases this is about; `None` is all of them.
    pub(crate) shard: Option<Shard>,
    /// Who answers; `None` when cassettes are replayed.
    pub(crate) live: Option<LiveDescription>,
    pub(crate) started_at: UtcMillis,
}

/// Who answers in a live run, how far it is confined, and for how much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveDescription {
    pub(crate) sut: Sut,
    #[serde(rename = "cap_nano_usd")]
    pub(crate) cap: Usd,
    #[serde(rename = "per_case_nano_usd")]
    pub(crate) per_case: Option<Usd>,
    pub(crate) confinement: Confinement,
    /// The capped record whose skipped cases are answered.
    pub(crate) continues: Option<RecordHash>,
}

impl RunDescription {
    /// A run of the cases that are wanted of a bench, with cassettes.
    pub(crate) fn new(
        bench: &Bench,
        wanted: &Wanted,
        shard: Option<Shard>,
        bench_commit: Option<BenchCommit>,
        started_at: UtcMillis,
    ) -> Self {
        let selected = wanted.select(bench.case_names());
        Self {
            harness_version: env!("CARGO_PKG_VERSION").to_owned(),
            task_class: bench.registration.task_class.clone(),
            rubric_digest: bench.rubric_digest,
            registration_digest: Digest::of(&bench.registration_bytes),
            bench_commit,
            patterns: wanted.as_patterns(&selected),
            selected,
            cases_in_bench: bench.case_names().len() as u64,
            shard,
            live: None,
            started_at,
        }
    }

    /// The same run of a bench of which it is known now where it stands.
    pub(crate) fn of_bench_at(self, bench_commit: Option<BenchCommit>) -> Self {
        Self { bench_commit, ..self }
    }

    /// The same run, answered by a live system under test.
    pub(crate) fn answered_by(self, live: LiveDescription) -> Self {
        Self { live: Some(live), ..self }
    }

    /// The run that this is a part of.
    pub(crate) fn whole(self) -> Self {
        Self { shard: None, ..self }
    }

    /// The same run from the bench as it is now.
    pub(crate) fn on_bench(&self, bench: &Bench, bench_commit: Option<BenchCommit>) -> Self {
        let wanted = Wanted { among: Some(self.selected.iter().cloned().collect()), ..Wanted::default() };
        let now = Self::new(bench, &wanted, self.shard, bench_commit, self.started_at);
        Self { patterns: self.patterns.clone(), live: self.live.clone(), ..now }
    }

    /// The cases of this run: the selected ones, or a shard of them.
    pub(crate) fn names(&self) -> Cow<'_, [String]> {
        let all = || Cow::Borrowed(self.selected.as_slice());
        self.shard.map_or_else(all, |shard| Cow::Owned(shard.select(&self.selected)))
    }

    /// What a report says of the selection.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            patterns: self.patterns.clone(),
            cases_in_bench: self.cases_in_bench,
            selected: self.names().len() as u64,
        }
    }

    /// The same run under the cap of another.
    pub(crate) fn under_the_cap_of(&self, other: &Self) -> Self {
        let mut run = self.clone();
        if let (Some(live), Some(other)) = (&mut run.live, &other.live) {
            live.cap = other.cap;
        }
        run
    }

    /// What differs between two runs that should be one, in words for whoever has to decide what to do about it. When each
    /// was started, from which commit, and how many cases the bench has, makes them no different runs.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let sut = |run: &Self| run.live.as_ref().map(|live| live.sut.clone());
        let command = |run: &Self| sut(run).map(|sut| sut.command_digest);
        let name = |run: &Self| sut(run).map(|sut| (sut.name, sut.version));
        let money = |run: &Self| run.live.as_ref().map(|live| (live.cap, live.per_case));
        let confinement = |run: &Self| run.live.as_ref().map(|live| live.confinement.clone());
        let continues = |run: &Self| run.live.as_ref().and_then(|live| live.continues);
        let checks = [
            (self.harness_version == other.harness_version, "another version of eval-host"),
            (self.task_class == other.task_class, "another task class"),
            (self.rubric_digest == other.rubric_digest, "another rubric"),
            (self.registration_digest == other.registration_digest, "another registration.toml"),
            (self.patterns == other.patterns, "another selection of cases"),
            (self.shard == other.shard, "another --shard"),
            (command(self) == command(other), "another command"),
            // A name that no flag gives is part of the command.
            (name(self) == name(other) || command(self) != command(other), "another --sut-name or --sut-version"),
            (money(self) == money(other), "another --max-cost-usd or max_cost_usd_per_case"),
            (confinement(self) == confinement(other), "another confinement"),
            (continues(self) == continues(other), "another --continue"),
        ];
        let differences = checks.into_iter().filter(|(is_same, _)| !is_same).map(|(_, what)| what.to_owned());
        differences.chain(self.differing_files(other)).chain(self.differing_cases(other)).collect()
    }

    /// The first file of the agent's command that is another one, if it is the same command.
    fn differing_files(&self, other: &Self) -> Option<String> {
        let (one, other) = (&self.live.as_ref()?.sut, &other.live.as_ref()?.sut);
        let mut names = one.files.keys().chain(other.files.keys());
        let differs = |name: &&String| one.files.get(*name) != other.files.get(*name);
        let first = names.find(differs).filter(|_| one.command_digest == other.command_digest)?;
        Some(format!("another file `{}`, which the agent's command names", first.escape_default()))
    }

    fn differing_cases(&self, other: &Self) -> Option<String> {
        let only_in = |one: &Self, other: &Self| -> Vec<String> {
            one.selected.iter().filter(|name| !other.selected.contains(name)).cloned().collect()
        };
        let mut differing = [only_in(self, other), only_in(other, self)].concat();
        differing.sort_unstable();
        let (first, rest) = differing.split_first()?;
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        Some(format!("other cases: `{}`{more}", first.escape_default()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use eval_model::confinement::{Cage, Namespace, Network};

    pub(crate) fn description() -> RunDescription {
        RunDescription {
            harness_version: "0.1.0".to_owned(),
            task_class: "vuln-remediation".parse().expect("a task class"),
            rubric_digest: Digest::of(b"rubric"),
            registration_digest: Digest::of(b"registration"),
            bench_commit: None,
            patterns: Vec::new(),
            selected: vec!["001-a".to_owned(), "002-b".to_owned()],
            cases_in_bench: 2,
            live: Some(LiveDescription {
                sut: Sut {
                    name: "agent".to_owned(),
                    version: "1".to_owned(),
                    model: None,
                    command_digest: Some(Digest::of(b"agent")),
                    files: BTreeMap::new(),
                },
                cap: Usd::from_dollars(5.0).expect("an amount"),
                per_case: None,
                confinement: Confinement::None,
                continues: None,
            }),
            shard: None,
            started_at: "2026-11-16T09:30:00.000Z".parse().expect("a time"),
        }
    }

    #[test]
    fn every_difference_is_named_and_none_is_invented() {
        assert_eq!(description().differences(&description()), Vec::<String>::new());
        let mut other = description();
        other.rubric_digest = Digest::of(b"other");
        other.selected = vec!["001-a".to_owned(), "003-c".to_owned()];
        let cage = Cage {
            landlock_abi: 6,
            namespaces: Namespace::ALWAYS.into(),
            network: Network::Open,
            read: BTreeSet::new(),
            write: BTreeSet::new(),
            memory_mib: 4096,
            processes: 512,
            workspace_mib: 1024,
        };
        let live = other.live.as_mut().expect("live");
        live.cap = Usd::ZERO;
        live.confinement = Confinement::Caged(cage);
        live.continues = Some(RecordHash::GENESIS);
        let expected = [
            "another rubric",
            "another --max-cost-usd or max_cost_usd_per_case",
            "another confinement",
            "another --continue",
            "other cases: `002-b` and 1 more",
        ];
        assert_eq!(description().differences(&other), expected);
        assert_eq!(other.differences(&description()), expected);
    }

    #[test]
    fn another_program_behind_the_same_command_makes_another_run() {
        let changed = |change: fn(&mut Sut)| {
            let mut other = description();
            change(&mut other.live.as_mut().expect("live").sut);
            let differences = description().differences(&other);
            assert_eq!(other.differences(&description()), differences);
            differences
        };
        let file = |sut: &mut Sut| sut.files.extend([("agent.py".to_owned(), Digest::of(b"script"))]);
        assert_eq!(changed(file), ["another file `agent.py`, which the agent's command names"]);
        assert_eq!(changed(|sut| sut.version = "2".to_owned()), ["another --sut-name or --sut-version"]);
        let command = |sut: &mut Sut| {
            sut.command_digest = None;
            sut.name = "other".to_owned();
            sut.files.insert("other".to_owned(), Digest::of(b"other"));
        };
        assert_eq!(changed(command), ["another command"]);
    }

    #[test]
    fn when_and_from_which_commit_a_run_was_started_makes_it_no_other_run() {
        let mut later = description();
        later.started_at = "2026-11-17T09:30:00.000Z".parse().expect("a time");
        let commit = "0123456789abcdef0123456789abcdef01234567".parse().expect("a commit");
        later.bench_commit = Some(BenchCommit { commit, is_dirty: true });
        assert_eq!(description().differences(&later), Vec::<String>::new());
    }

    #[test]
    fn a_shard_has_its_part_of_the_cases_and_the_whole_has_all() {
        let shard = RunDescription { shard: Some("2/2".parse().expect("a shard")), ..description() };
        assert_eq!(*shard.names(), ["002-b"]);
        assert_eq!(shard.selection().selected, 1);
        assert_eq!(*shard.whole().names(), ["001-a", "002-b"]);
    }
}
