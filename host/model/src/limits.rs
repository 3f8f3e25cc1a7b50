//! What one call of a rubric may use: the defaults, the host's maxima, and the one door from `registration.toml` to them.
//!
//! A [`Limits`] that exists is within the maxima, so nothing behind this module checks again. The maxima are the host's and
//! not the bench's: they size the instance pool and bound what the operator's machine can be made to spend on one case.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The `[limits]` table of `registration.toml` as it is written: every key optional, unknown keys refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RawLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch_mib: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch_entries: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_kib: Option<u64>,
}

impl RawLimits {
    /// Whether every limit is stated, so that no default fills in for one.
    pub const fn is_whole(&self) -> bool {
        let Self { fuel, wall_clock_seconds, memory_mib, scratch_mib, scratch_entries, output_kib } = self;
        fuel.is_some()
            && wall_clock_seconds.is_some()
            && memory_mib.is_some()
            && scratch_mib.is_some()
            && scratch_entries.is_some()
            && output_kib.is_some()
    }
}

/// Why a `[limits]` table is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("limit `{field}` is {value}, above this host's maximum of {maximum}: lower it in `[limits]`")]
    AboveMaximum { field: &'static str, value: u64, maximum: u64 },
    #[error("limit `{field}` is 0, which no rubric can live with: leave it out to get the default of {default}")]
    Zero { field: &'static str, default: u64 },
}

/// The effective limits of a rubric, within the host's maxima by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    whole: WholeUnits,
}

/// The limits in the units of `registration.toml`, none of them missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WholeUnits {
    fuel: u64,
    wall_clock_seconds: u64,
    memory_mib: u64,
    scratch_mib: u64,
    scratch_entries: u64,
    output_kib: u64,
}

/// `fuel`: low enough that it ends before the clock does on any machine.
const DEFAULTS: WholeUnits = WholeUnits {
    fuel: 1_000_000_000,
    wall_clock_seconds: 60,
    memory_mib: 256,
    scratch_mib: 64,
    scratch_entries: 4_096,
    output_kib: 64,
};

const MAXIMA: WholeUnits = WholeUnits {
    fuel: 100_000_000_000,
    wall_clock_seconds: 600,
    memory_mib: 1_024,
    scratch_mib: 1_024,
    scratch_entries: 65_536,
    output_kib: 1_024,
};

impl Limits {
    /// The largest linear memory that any rubric can be given, which is what a slot of the instance pool must hold.
    pub const MAX_MEMORY_BYTES: u64 = MAXIMA.memory_mib * MIB;

    /// Fills in the defaults and checks every value against the host's maximum.
    pub fn within_maxima(raw: RawLimits) -> Result<Self, LimitError> {
        let whole = WholeUnits {
            fuel: pick("fuel", raw.fuel, DEFAULTS.fuel, MAXIMA.fuel)?,
            wall_clock_seconds: pick(
                "wall_clock_seconds",
                raw.wall_clock_seconds,
                DEFAULTS.wall_clock_seconds,
                MAXIMA.wall_clock_seconds,
            )?,
            memory_mib: pick("memory_mib", raw.memory_mib, DEFAULTS.memory_mib, MAXIMA.memory_mib)?,
            scratch_mib: pick("scratch_mib", raw.scratch_mib, DEFAULTS.scratch_mib, MAXIMA.scratch_mib)?,
            scratch_entries: pick(
                "scratch_entries",
                raw.scratch_entries,
                DEFAULTS.scratch_entries,
                MAXIMA.scratch_entries,
            )?,
            output_kib: pick("output_kib", raw.output_kib, DEFAULTS.output_kib, MAXIMA.output_kib)?,
        };
        Ok(Self { whole })
    }

    pub fn fuel(&self) -> u64 {
        self.whole.fuel
    }

    pub fn wall_clock(&self) -> Duration {
        Duration::from_secs(self.whole.wall_clock_seconds)
    }

    pub fn memory_bytes(&self) -> u64 {
        self.whole.memory_mib * MIB
    }

    pub fn scratch_bytes(&self) -> u64 {
        self.whole.scratch_mib * MIB
    }

    pub fn scratch_entries(&self) -> u64 {
        self.whole.scratch_entries
    }

    /// How much of stdout, and how much of stderr, is kept.
    pub fn output_bytes(&self) -> u64 {
        self.whole.output_kib * KIB
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { whole: DEFAULTS }
    }
}

/// The effective limits in the form of `[limits]`, every key present: what a record says a case was scored under.
impl From<Limits> for RawLimits {
    fn from(limits: Limits) -> Self {
        let whole = limits.whole;
        Self {
            fuel: Some(whole.fuel),
            wall_clock_seconds: Some(whole.wall_clock_seconds),
            memory_mib: Some(whole.memory_mib),
            scratch_mib: Some(whole.scratch_mib),
            scratch_entries: Some(whole.scratch_entries),
            output_kib: Some(whole.output_kib),
        }
    }
}

fn pick(field: &'static str, given: Option<u64>, default: u64, maximum: u64) -> Result<u64, LimitError> {
    match given {
        None => Ok(default),
        Some(0) => Err(LimitError::Zero { field, default }),
        Some(value) if value > maximum => Err(LimitError::AboveMaximum { field, value, maximum }),
        Some(value) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_gives_the_defaults() {
        let limits = Limits::within_maxima(RawLimits::default()).expect("the defaults are within the maxima");
        assert_eq!(limits, Limits::default());
        assert_eq!(limits.fuel(), 1_000_000_000);
        assert_eq!(limits.wall_clock(), Duration::from_secs(60));
        assert_eq!(limits.memory_bytes(), 256 << 20);
        assert_eq!(limits.scratch_bytes(), 64 << 20);
        assert_eq!(limits.scratch_entries(), 4_096);
        assert_eq!(limits.output_bytes(), 64 << 10);
    }

    #[test]
    fn a_value_above_the_maximum_is_named_with_both_numbers() {
        let raw = RawLimits { memory_mib: Some(4_096), ..RawLimits::default() };
        let error = Limits::within_maxima(raw).expect_err("more than any host gives");
        assert_eq!(
            error.to_string(),
            "limit `memory_mib` is 4096, above this host's maximum of 1024: lower it in `[limits]`"
        );
    }

    #[test]
    fn zero_is_refused_with_the_default() {
        let raw = RawLimits { fuel: Some(0), ..RawLimits::default() };
        let error = Limits::within_maxima(raw).expect_err("nothing runs on no fuel");
        assert_eq!(error, LimitError::Zero { field: "fuel", default: 1_000_000_000 });
    }

    #[test]
    fn effective_limits_read_back_as_themselves() {
        let raw = RawLimits { fuel: Some(7), output_kib: Some(1), ..RawLimits::default() };
        let limits = Limits::within_maxima(raw).expect("small values");
        assert_eq!(Limits::within_maxima(RawLimits::from(limits)), Ok(limits));
    }
}
