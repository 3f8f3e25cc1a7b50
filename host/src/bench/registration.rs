//! `registration.toml`: the registration of a task class, which is data and so a literal by construction.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::strict_toml::{self, TomlError};
use eval_evidence::gate::Standards;
use eval_model::confinement::Network;
use eval_model::ids::{TaskClassName, Tier};
use eval_model::limits::{LimitError, Limits, RawLimits};
use eval_model::outcome::{HostMode, is_mode_name};
use eval_model::report::PromotionMetric;

/// A tier that nobody has raised asks for this many cases.
const DEFAULT_BRONZE_CASES: u64 = 10;

/// How long an agent may take when nobody says.
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;

/// The variables that an agent gets when no registration says which.
const DEFAULT_ENVIRONMENT: [&str; 1] = ["PATH"];

/// Variables that an agent has of its own, whatever they are here.
const OWN_VARIABLES: [&str; 2] = ["HOME", "TMPDIR"];

/// What an agent may take of the machine when nobody says.
const DEFAULT_MEMORY_MIB: u64 = 4096;
const DEFAULT_PROCESSES: u64 = 1024;
const DEFAULT_WORKSPACE_MIB: u64 = 4096;

/// More than any machine has. Below it, no number of bytes overflows.
const MOST_MIB: u64 = 1 << 30;

/// The variable that names the file of the key which records are signed with. An agent that knew it could vouch for itself.
pub(crate) const KEY_VARIABLE: &str = "EVAL_HOST_KEY";

/// How a live system under test is started.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RawSut", description = ""))]
#[serde(deny_unknown_fields)]
pub(crate) struct SutSettings {
    pub(crate) command: Vec<String>,
    #[serde(default)]
    pub(crate) env: Vec<String>,
    #[serde(default)]
    pub(crate) capture: Capture,
    #[serde(default = "default_timeout_seconds")]
    pub(crate) timeout_seconds: u64,
    pub(crate) max_cost_usd_per_case: Option<f64>,
    #[serde(default)]
    pub(crate) read: Vec<String>,
    #[serde(default)]
    pub(crate) write: Vec<String>,
    #[serde(default)]
    pub(crate) network: Network,
    #[serde(default = "default_memory_mib")]
    pub(crate) memory_mib: u64,
    #[serde(default = "default_processes")]
    pub(crate) processes: u64,
    #[serde(default = "default_workspace_mib")]
    pub(crate) workspace_mib: u64,
}

/// Where a live answer is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Capture {
    /// The JSON response on stdout.
    #[default]
    Response,
    /// What changed in the workspace, as a unified diff.
    WorkspaceDiff,
}

impl SutSettings {
    /// How a command is run that no registration says more of.
    pub(crate) fn of_command(command: Vec<String>) -> Self {
        Self {
            command,
            env: DEFAULT_ENVIRONMENT.map(str::to_owned).into(),
            capture: Capture::default(),
            timeout_seconds: DEFAULT_TIMEOUT_SECONDS,
            max_cost_usd_per_case: None,
            read: Vec::new(),
            write: Vec::new(),
            network: Network::Open,
            memory_mib: DEFAULT_MEMORY_MIB,
            processes: DEFAULT_PROCESSES,
            workspace_mib: DEFAULT_WORKSPACE_MIB,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Registration {
    pub(crate) task_class: TaskClassName,
    pub(crate) current_tier: Tier,
    /// What it asks of evidence.
    pub(crate) standards: Standards,
    pub(crate) limits: Limits,
    pub(crate) sut: Option<SutSettings>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RawRegistration {
    task_class: TaskClassName,
    current_tier: Tier,
    promotion_metric: PromotionMetric,
    min_cases_for_promotion: PerTier<u64>,
    tier_thresholds: PerTier<f64>,
    failure_modes: RawFailureModes,
    #[serde(default)]
    limits: RawLimits,
    sut: Option<SutSettings>,
    #[serde(default)]
    evidence: RawEvidence,
}

#[derive(Deserialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema, serde::Serialize))]
#[serde(deny_unknown_fields)]
struct RawEvidence {
    #[serde(default)]
    signed_records: bool,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct PerTier<T> {
    bronze: Option<T>,
    silver: T,
    gold: T,
    platinum: T,
}

impl<T> PerTier<T> {
    fn into_map(self) -> BTreeMap<Tier, T> {
        let above = [(Tier::Silver, self.silver), (Tier::Gold, self.gold), (Tier::Platinum, self.platinum)];
        self.bronze.map(|bronze| (Tier::Bronze, bronze)).into_iter().chain(above).collect()
    }
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct RawFailureModes {
    block: Vec<String>,
}

fn default_timeout_seconds() -> u64 {
    DEFAULT_TIMEOUT_SECONDS
}

fn default_memory_mib() -> u64 {
    DEFAULT_MEMORY_MIB
}

fn default_processes() -> u64 {
    DEFAULT_PROCESSES
}

fn default_workspace_mib() -> u64 {
    DEFAULT_WORKSPACE_MIB
}

impl Registration {
    pub(crate) fn parse(text: &str) -> Result<Self, TomlError> {
        let raw: RawRegistration = strict_toml::parse(text)?;
        let mut min_cases_for_promotion = raw.min_cases_for_promotion.into_map();
        min_cases_for_promotion.entry(Tier::Bronze).or_insert(DEFAULT_BRONZE_CASES);
        let limits = Limits::within_maxima(raw.limits).map_err(|error| limit_error(text, &error))?;
        Ok(Self {
            task_class: raw.task_class,
            current_tier: raw.current_tier,
            standards: Standards {
                promotion_metric: raw.promotion_metric,
                min_cases_for_promotion,
                tier_thresholds: check_thresholds(text, raw.tier_thresholds.into_map())?,
                block_modes: check_block_modes(text, raw.failure_modes.block)?,
                signed_records: raw.evidence.signed_records,
            },
            limits,
            sut: check_sut(text, raw.sut)?,
        })
    }
}

/// Only the name, so that two folders that register one name are found even where the rest of a file is wrong.
pub(super) fn registered_name(text: &str) -> Option<TaskClassName> {
    #[derive(Deserialize)]
    struct OnlyName {
        task_class: TaskClassName,
    }
    strict_toml::parse::<OnlyName>(text).ok().map(|only| only.task_class)
}

fn limit_error(text: &str, error: &LimitError) -> TomlError {
    let (LimitError::AboveMaximum { field, .. } | LimitError::Zero { field, .. }) = error;
    TomlError::of_value(text, &["limits", field], error.to_string())
}

fn check_thresholds(text: &str, thresholds: BTreeMap<Tier, f64>) -> Result<BTreeMap<Tier, f64>, TomlError> {
    let mut lower = 0.0;
    for (tier, threshold) in &thresholds {
        if !(lower..=1.0).contains(threshold) {
            let message = format!(
                "the threshold of {tier}, {threshold}, must lie between that of the tier below it ({lower}) and 1"
            );
            return Err(TomlError::of_value(text, &["tier_thresholds", &tier.to_string()], message));
        }
        lower = *threshold;
    }
    Ok(thresholds)
}

fn check_block_modes(text: &str, modes: Vec<String>) -> Result<BTreeSet<String>, TomlError> {
    let mut checked = BTreeSet::new();
    for (index, mode) in modes.into_iter().enumerate() {
        let wrong = |message| Err(TomlError::of_item(text, &["failure_modes", "block"], index, message));
        if !is_mode_name(&mode) {
            return wrong(format!("`{}` does not match `[a-z][a-z0-9_]{{0,63}}`", mode.escape_default()));
        }
        if HostMode::of(&mode).is_some() {
            return wrong(format!("`{mode}` is the host's own name and has its severity already: leave it out"));
        }
        if let Some(mode) = checked.replace(mode) {
            return wrong(format!("`{mode}` is listed twice"));
        }
    }
    Ok(checked)
}

/// Whether an agent may get a variable.
pub(crate) fn check_variable(name: &str) -> Result<(), String> {
    if name == KEY_VARIABLE {
        return Err(format!(
            "`{KEY_VARIABLE}` names the key that records are signed with, which no agent may know of: leave it out"
        ));
    }
    if OWN_VARIABLES.contains(&name) {
        return Err(format!(
            "`{name}` is the agent's own, fresh for every case: leave it out, and name what the agent needs of yours with `read` or `write`"
        ));
    }
    Ok(())
}

fn check_sut(text: &str, sut: Option<SutSettings>) -> Result<Option<SutSettings>, TomlError> {
    let Some(settings) = &sut else { return Ok(None) };
    let wrong = |key, message: &str| Err(TomlError::of_value(text, &["sut", key], message));
    if settings.command.first().is_none_or(String::is_empty) {
        return wrong("command", "the command is empty: name the program to start");
    }
    for (index, name) in settings.env.iter().enumerate() {
        check_variable(name).map_err(|message| TomlError::of_item(text, &["sut", "env"], index, message))?;
    }
    for (key, value) in [("memory_mib", settings.memory_mib), ("workspace_mib", settings.workspace_mib)] {
        if !(1..=MOST_MIB).contains(&value) {
            return wrong(key, "must be at least 1, and at most what a machine can have");
        }
    }
    if settings.processes == 0 {
        return wrong("processes", "must be at least 1");
    }
    if settings.max_cost_usd_per_case.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
        return wrong("max_cost_usd_per_case", "must be a positive amount of dollars");
    }
    if settings.timeout_seconds == 0 {
        return wrong("timeout_seconds", "must be at least 1");
    }
    Ok(sut)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"task_class = "vuln-remediation"
current_tier = "bronze"
promotion_metric = "lower_bound_95"
[min_cases_for_promotion]
silver = 10
gold = 30
platinum = 100
[tier_thresholds]
silver = 0.80
gold = 0.90
platinum = 0.97
[failure_modes]
block = ["cve_still_present"]
[sut]
command = ["agent", "--json"]
env = ["PATH"]
"#;

    #[test]
    fn a_whole_registration_is_read() {
        let registration = Registration::parse(WHOLE).expect("a registration");
        assert_eq!(registration.task_class.as_str(), "vuln-remediation");
        assert_eq!(registration.standards.promotion_metric, PromotionMetric::LowerBound95);
        assert_eq!(registration.standards.min_cases_for_promotion[&Tier::Bronze], 10);
        assert_eq!(registration.standards.tier_thresholds[&Tier::Platinum], 0.97);
        assert_eq!(registration.limits, Limits::default());
        let sut = registration.sut.expect("a system under test");
        assert_eq!((sut.timeout_seconds, sut.capture), (600, Capture::Response));
    }

    #[test]
    fn a_registration_can_ask_for_signed_records_and_mostly_does_not() {
        let signed_records = |table: &str| {
            Registration::parse(&format!("{WHOLE}{table}")).map(|registration| registration.standards.signed_records)
        };
        for (table, expected) in [("", false), ("[evidence]\n", false), ("[evidence]\nsigned_records = true\n", true)] {
            assert_eq!(signed_records(table), Ok(expected), "{table}");
        }
        let refused = |table: &str| signed_records(table).expect_err(table).to_string();
        assert_eq!(
            refused("[evidence]\nsigned_record = true\n"),
            "line 18: `signed_record`: unknown field `signed_record`, expected `signed_records`"
        );
        assert_eq!(
            refused("[evidence]\nsigned_records = \"yes\"\n"),
            "line 18: `signed_records`: invalid type: string \"yes\", expected a boolean"
        );
    }

    #[track_caller]
    fn refused(from: &str, to: &str, expected: &str) {
        assert!(WHOLE.contains(from), "{from}");
        let error = Registration::parse(&WHOLE.replace(from, to)).expect_err(to);
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_line_and_key() {
        refused(
            "current_tier = \"bronze\"",
            "current_tier = \"iron\"",
            "line 2: `current_tier`: unknown variant `iron`, expected one of `bronze`, `silver`, `gold`, `platinum`",
        );
        refused(
            "task_class = \"vuln-remediation\"",
            "task_class = \"../x\"",
            "line 1: `task_class`: `../x` is not a task class: it must match `[a-z0-9][a-z0-9-]{0,63}`",
        );
        refused(
            "silver = 0.80",
            "silver = 0.95",
            "line 10: `gold`: the threshold of gold, 0.9, must lie between that of the tier below it (0.95) and 1",
        );
        refused(
            "[\"cve_still_present\"]",
            "[\"rubric_trap\"]",
            "line 13: `block`: `rubric_trap` is the host's own name and has its severity already: leave it out",
        );
        refused("[\"agent\", \"--json\"]", "[]", "line 15: `command`: the command is empty: name the program to start");
    }

    #[test]
    fn the_variable_that_names_the_signing_key_is_not_for_agents() {
        refused(
            "[\"PATH\"]",
            "[\n  \"PATH\",\n  \"EVAL_HOST_KEY\",\n]",
            "line 18: `env`: `EVAL_HOST_KEY` names the key that records are signed with, which no agent may know of: leave it out",
        );
    }

    #[test]
    fn a_key_that_stands_in_two_tables_is_named_on_its_own_line() {
        refused(
            "silver = 0.80",
            "silver = 1.80",
            "line 9: `silver`: the threshold of silver, 1.8, must lie between that of the tier below it (0) and 1",
        );
        refused(
            "[sut]\n",
            "[limits]\nfuel = 0\n[sut]\n# fuel = 1\n",
            "line 15: `fuel`: limit `fuel` is 0, which no rubric can live with: leave it out to get the default of 1000000000",
        );
        refused(
            "[tier_thresholds]\nsilver = 0.80",
            "[tier_thresholds]\n# silver = 0.80\n\"silver\" = -1.0",
            "line 10: `silver`: the threshold of silver, -1, must lie between that of the tier below it (0) and 1",
        );
    }

    #[test]
    fn a_failure_mode_is_named_on_its_own_line() {
        refused(
            "[\"cve_still_present\"]",
            "[\n  \"cve_still_present\", # block = []\n  \"cve_still_present\",\n]",
            "line 15: `block`: `cve_still_present` is listed twice",
        );
    }

    #[test]
    fn dotted_keys_and_inline_tables_are_found_too() {
        refused(
            "[sut]\ncommand = [\"agent\", \"--json\"]\nenv = [\"PATH\"]\n",
            "[sut]\nenv = [\"\"\"\ncommand = 1\n\"\"\"]\n\"command\" = []\n",
            "line 18: `command`: the command is empty: name the program to start",
        );
        let dotted = WHOLE.replace("[tier_thresholds]\nsilver = 0.80\ngold = 0.90\nplatinum = 0.97\n", "");
        let dotted = format!(
            "tier_thresholds.gold = 0.9\ntier_thresholds.silver = 0.95\ntier_thresholds.platinum = 1\n{dotted}"
        );
        assert_eq!(
            Registration::parse(&dotted).expect_err("gold lies below silver").to_string(),
            "line 1: `gold`: the threshold of gold, 0.9, must lie between that of the tier below it (0.95) and 1"
        );
    }
}
