//! Why evidence is not sufficient, and what a reviewer should know besides. Each has a code, which programs rely on, and
//! docs/promotion.md says of each what it means and what to do.

use std::collections::BTreeSet;
use std::fmt;

use crate::anchor::RecordSignature;
use crate::cassette::Provenance;
use crate::record::Sut;
use crate::verify::State;
use eval_model::ids::{CaseId, Digest, RecordHash, Tier};
use eval_model::money::Usd;
use eval_model::report::{PromotionMetric, Selection};
use eval_model::text::Words;

/// One condition that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    NotTheNextTier { current: Tier, target: Tier },
    NoThreshold { target: Tier },
    BelowThreshold { metric: PromotionMetric, value: f64, threshold: f64 },
    TooFewPassed { passed: u64, needed: u64 },
    BlockSeverity { modes: BTreeSet<String> },
    OtherRubric { recorded: Digest, now: Digest },
    OtherLimits,
    OtherCases { changed: BTreeSet<CaseId> },
    NotEveryCase { missing: BTreeSet<CaseId> },
    NoCases { folders: BTreeSet<String> },
    CasesSelected { selection: Selection },
    SolvedExamples,
    ProvenanceUnknown { claimed: Vec<Provenance> },
    StaleCassettes { cases: BTreeSet<CaseId> },
    ShardsOfOtherStores { count: u64 },
    AgentNotConfined,
    SeveralSystems { suts: BTreeSet<Sut> },
    NoSystem,
    Aborted,
    LoadErrors { count: u64 },
    BenchNotInGit,
    BenchDirty { first: Option<String> },
    BenchWasNotInGit,
    BenchWasDirty,
    Replay { state: State, findings: Vec<String> },
    CannotBeReplayed { cases: BTreeSet<CaseId> },
    Unsigned { signature: RecordSignature },
    ProvenanceUnsigned,
}

impl Reason {
    /// The name by which programs know the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotTheNextTier { .. } => "not_the_next_tier",
            Self::NoThreshold { .. } => "no_threshold",
            Self::BelowThreshold { .. } => "below_threshold",
            Self::TooFewPassed { .. } => "too_few_passed",
            Self::BlockSeverity { .. } => "block_severity_failure_modes",
            Self::OtherRubric { .. } => "other_rubric",
            Self::OtherLimits => "other_limits",
            Self::OtherCases { .. } => "other_cases",
            Self::NotEveryCase { .. } => "not_every_case",
            Self::NoCases { .. } => "no_cases",
            Self::CasesSelected { .. } => "cases_selected",
            Self::SolvedExamples => "solved_examples",
            Self::ProvenanceUnknown { .. } => "provenance_unknown",
            Self::StaleCassettes { .. } => "stale_cassettes",
            Self::ShardsOfOtherStores { .. } => "shards_of_other_stores",
            Self::AgentNotConfined => "agent_not_confined",
            Self::SeveralSystems { .. } => "several_systems_under_test",
            Self::NoSystem => "no_system_under_test",
            Self::Aborted => "aborted",
            Self::LoadErrors { .. } => "load_errors",
            Self::BenchNotInGit => "bench_not_in_git",
            Self::BenchDirty { .. } => "bench_dirty",
            Self::BenchWasNotInGit => "bench_was_not_in_git",
            Self::BenchWasDirty => "bench_was_dirty",
            Self::Replay { state: State::Tampered, .. } => "replay_differs",
            Self::Replay { .. } => "replay_impossible",
            Self::CannotBeReplayed { .. } => "cannot_be_replayed",
            Self::Unsigned { .. } => "unsigned",
            Self::ProvenanceUnsigned => "provenance_unsigned",
        }
    }

    /// Whether it says that the evidence itself does not hold, rather than that it is not enough.
    pub const fn is_broken_evidence(&self) -> bool {
        matches!(self, Self::Replay { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTheNextTier { current, target } => match current.next() {
                Some(next) => write!(f, "{target} is not the tier right above {current}, which is {next}"),
                None => write!(f, "{current} is the highest tier there is, and {target} is not above it"),
            },
            Self::NoThreshold { target } => write!(f, "registration.toml sets no threshold for {target}"),
            Self::BelowThreshold { metric, value, threshold } => {
                write!(f, "{} is {value}, below the threshold of {threshold}", metric.name())
            }
            Self::TooFewPassed { passed, needed } => write!(f, "{passed} cases passed, and {needed} are needed"),
            Self::BlockSeverity { modes } => write!(f, "failure modes of block severity occurred: {}", list(modes)),
            Self::OtherRubric { recorded, now } => {
                write!(f, "the scores are of the rubric `{recorded}`, and the bench has `{now}` now: run it again")
            }
            Self::OtherLimits => f.write_str("the rubric ran under other limits than the registration sets now: run it again"),
            Self::OtherCases { changed } => {
                write!(f, "cases were changed or removed since they were run, or do not load now: {}", list(changed))
            }
            Self::NotEveryCase { missing } => write!(f, "cases of the bench were not run: {}", list(missing)),
            Self::NoCases { folders } => {
                let folders = folders.iter().map(|folder| Words(folder).to_string());
                write!(f, "the bench has folders among its cases whose names are no case's: {}", list(folders))
            }
            Self::CasesSelected { selection } => {
                write!(f, "{} of the bench's {} cases were selected", selection.selected, selection.cases_in_bench)
            }
            Self::SolvedExamples => f.write_str("outputs are solved examples: an answer key, not evidence"),
            Self::ProvenanceUnknown { claimed } => provenance_unknown(f, claimed),
            Self::StaleCassettes { cases } => {
                write!(f, "answers were recorded for other input than the case has: {}", list(cases))
            }
            Self::ShardsOfOtherStores { count } => write!(
                f,
                "{count} shards of the live run were announced in other stores, so nobody can tell here how often they were \
                 tried: run and merge shards in one store"
            ),
            Self::AgentNotConfined => {
                f.write_str("the agent was not confined: it could have read the answer key")
            }
            Self::SeveralSystems { suts } => {
                let names: Vec<_> = suts.iter().map(ToString::to_string).collect();
                write!(f, "outputs are of several systems under test: {}", list(&names))
            }
            Self::NoSystem => f.write_str("no output is of a system under test"),
            Self::Aborted => f.write_str("the run was aborted"),
            Self::LoadErrors { count } => write!(f, "{count} cases did not load"),
            Self::BenchNotInGit => f.write_str(
                "git gives no commit of the bench (it is in no repository, has no commit, is somebody else's, or git is not installed), so \
                 nobody can tell which version of it this is",
            ),
            Self::BenchDirty { first } => {
                f.write_str("the bench's files differ from the commit that it is at: commit or restore them, ignored ones too")?;
                first.as_ref().map_or(Ok(()), |path| write!(f, "; the first is `{}`", Words(path)))
            }
            Self::BenchWasNotInGit => f.write_str("the bench was in no git repository when it was run"),
            Self::BenchWasDirty => f.write_str(
                "the bench's files differed from its commit when it was run: run it again on a clean checkout",
            ),
            Self::Replay { state: State::Tampered, findings } => {
                write!(f, "the scores are not what the record says: {}", findings.join("; "))
            }
            Self::Replay { findings, .. } => {
                write!(f, "the scores cannot be derived again here: {}", findings.join("; "))
            }
            Self::CannotBeReplayed { cases } => write!(
                f,
                "cases ended in a fault of which nothing can be replayed, and no trusted key signed the live record, so nobody can \
                 tell what happened: {}; sign live runs with --key",
                list(cases)
            ),
            Self::Unsigned { signature: RecordSignature::None } => {
                f.write_str("registration.toml demands signed records, and this one is not signed: run with --key")
            }
            Self::Unsigned { .. } => f.write_str(
                "registration.toml demands signed records, and no key that is trusted here signed this one: see --trusted-keys",
            ),
            Self::ProvenanceUnsigned => f.write_str(
                "registration.toml demands signed records, and the live record that the answers are from is not signed by a key \
                 that is trusted here",
            ),
        }
    }
}

fn provenance_unknown(f: &mut fmt::Formatter<'_>, claimed: &[Provenance]) -> fmt::Result {
    f.write_str("no one live record at hand has exactly these answers, to these inputs")?;
    match claimed {
        [_, _, ..] => write!(
            f,
            ": their cassettes say that they are of {} runs, and answers that were picked from several are none's",
            claimed.len()
        ),
        [Provenance { store_id, started_marker, .. }] => write!(
            f,
            "; their cassettes say that they are of the store `{store_id}`, of the run announced by `{started_marker}`: hand over \
             that record with `--provenance <bundle>`"
        ),
        [] => f.write_str(", and their cassettes name none: run live, or replay what `run --live --record` wrote"),
    }
}

/// What a reviewer should know although it refuses nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    RegistrationChanged,
    EarlierLiveRuns { count: u64 },
    LaterLiveRuns { count: u64 },
    LaterUnknown,
    UnfinishedRuns { count: u64 },
    UnfinishedUnknown { known: u64 },
    LostAgents { usd: Usd },
    Continued { record: RecordHash },
    NotSeenBefore,
    WeakerConfinement { weaknesses: Vec<&'static str> },
    Unsigned,
    NotAnchored,
    OtherFuel { cases: u64 },
    Warnings { count: u64 },
}

impl Remark {
    /// The name by which programs know the remark.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::RegistrationChanged => "registration_changed",
            Self::EarlierLiveRuns { .. } => "earlier_live_runs",
            Self::LaterLiveRuns { .. } => "later_live_runs",
            Self::UnfinishedRuns { .. } => "unfinished_runs",
            Self::LaterUnknown => "later_live_runs_unknown",
            Self::UnfinishedUnknown { .. } => "unfinished_runs_unknown",
            Self::LostAgents { .. } => "lost_agents",
            Self::Continued { .. } => "continued",
            Self::NotSeenBefore => "not_seen_before",
            Self::WeakerConfinement { .. } => "weaker_confinement",
            Self::Unsigned => "not_signed",
            Self::NotAnchored => "not_anchored",
            Self::OtherFuel { .. } => "other_fuel",
            Self::Warnings { .. } => "warnings",
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RegistrationChanged => f.write_str(
                "registration.toml is not the one of the run; thresholds and block severities are those of today",
            ),
            Self::EarlierLiveRuns { count } => write!(f, "live runs that were recorded before: {count}"),
            Self::LaterLiveRuns { count } => write!(f, "live runs that were recorded since: {count}"),
            Self::UnfinishedRuns { count } => write!(f, "live runs that were started and never recorded: {count}"),
            Self::LaterUnknown => f.write_str("nobody can tell from a bundle how many live runs were recorded since"),
            Self::UnfinishedUnknown { known } => write!(
                f,
                "nobody can tell from a bundle how many live runs were started and never recorded: at least {known}"
            ),
            Self::LostAgents { usd } => write!(
                f,
                "{usd} of the run's cost is of agents that were lost with the process that had started them, or stopped at the cost \
                 cap: their cases were answered again"
            ),
            Self::Continued { record } => {
                write!(
                    f,
                    "the run answered what an earlier one had skipped at its cost cap; the other answers are of record `{record}`"
                )
            }
            Self::NotSeenBefore => f.write_str(
                "this machine had not seen the store before, so nobody can tell here whether records are missing",
            ),
            Self::WeakerConfinement { weaknesses } => {
                write!(f, "the agent's confinement was weaker than it can be: {}", weaknesses.join("; "))
            }
            Self::Unsigned => {
                f.write_str("no key that is trusted here signed the record: nobody vouches for who ran it")
            }
            Self::NotAnchored => f.write_str("none of the checkpoints has this record: it was added after them"),
            Self::OtherFuel { cases } => write!(
                f,
                "cases that used other fuel or memory, under another wasmtime or price list than they were recorded with: {cases}"
            ),
            Self::Warnings { count } => {
                write!(f, "warnings in the record's report: {count}; `eval-host show` prints them")
            }
        }
    }
}

fn list(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    items.into_iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}
