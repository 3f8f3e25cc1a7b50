//! `registration.toml`: the registration of a task class, which is data and so a literal by construction.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::strict_toml::{self, TomlError};
use eval_evidence::gate::Standards;
use eval_model::ids::{TaskClassName, Tier};
use eval_model::limits::{LimitError, Limits, RawLimits};
use eval_model::outcome::{HostMode, is_mode_name};
use eval_model::report::PromotionMetric;

/// A tier that nobody has raised asks for this many cases.
const DEFAULT_BRONZE_CASES: u64 = 10;

/// How long an agent may take when nobody says.
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;

/// The variables that an agent gets when no registration says which.
const DEFAULT_ENVIRONMENT: [&str; 2] = ["PATH", "HOME"];

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
                signed_records: false,
                promotion_metric: raw.promotion_metric,
                min_cases_for_promotion,
                tier_thresholds: check_thresholds(text, raw.tier_thresholds.into_map())?,
                block_modes: check_block_modes(text, raw.failure_modes.block)?,
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

fn check_sut(text: &str, sut: Option<SutSettings>) -> Result<Option<SutSettings>, TomlError> {
    let Some(settings) = &sut else { return Ok(None) };
    let wrong = |key, message: &str| Err(TomlError::of_value(text, &["sut", key], message));
    if settings.command.first().is_none_or(String::is_empty) {
        return wrong("command", "the command is empty: name the program to start");
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
