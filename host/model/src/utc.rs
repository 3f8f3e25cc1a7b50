//! Moments in UTC with milliseconds: how a record spells time, and nothing that reads a clock.
//!
//! A moment has exactly one spelling, so that it can stand in hashed bytes and in a file's name. It is a claim of whoever
//! wrote it: order never depends on it.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use serde::{Deserialize, Serialize};

/// A moment in UTC, to the millisecond, between the years 0 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcMillis(Timestamp);

/// Why something is no moment that a record can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UtcMillisError {
    #[error("`{}` is not a time in UTC: it must look like `2026-11-16T09:30:00.000Z`", text.escape_default())]
    Spelling { text: String },
    #[error("the time is outside the years 0 to 9999; set the machine's clock")]
    Range,
}

impl UtcMillis {
    /// Cuts off what is finer than a millisecond.
    pub fn new(timestamp: Timestamp) -> Result<Self, UtcMillisError> {
        let to_millis = TimestampRound::new().smallest(Unit::Millisecond).mode(RoundMode::Floor);
        let rounded = timestamp.round(to_millis).map_err(|_| UtcMillisError::Range)?;
        let year = TimeZone::UTC.to_datetime(rounded).year();
        if (0..=9999).contains(&year) { Ok(Self(rounded)) } else { Err(UtcMillisError::Range) }
    }

    /// The same moment in ISO 8601's basic format, `20261116T093000.000Z`: a file name without colons, which artifact
    /// stores and other filesystems refuse.
    pub fn basic(self) -> String {
        self.0.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
    }

    pub fn timestamp(self) -> Timestamp {
        self.0
    }

    /// The day it is in UTC.
    pub fn date(self) -> Date {
        TimeZone::UTC.to_datetime(self.0).date()
    }
}

impl fmt::Display for UtcMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

impl FromStr for UtcMillis {
    type Err = UtcMillisError;

    fn from_str(text: &str) -> Result<Self, UtcMillisError> {
        let parsed = text.parse::<Timestamp>().ok().and_then(|timestamp| Self::new(timestamp).ok());
        // Printing it again is what makes the spelling unique: offsets, other precisions and leap seconds do not survive it.
        parsed
            .filter(|moment| moment.to_string() == text)
            .ok_or_else(|| UtcMillisError::Spelling { text: text.to_owned() })
    }
}

impl TryFrom<String> for UtcMillis {
    type Error = UtcMillisError;

    fn try_from(text: String) -> Result<Self, UtcMillisError> {
        text.parse()
    }
}

impl From<UtcMillis> for String {
    fn from(moment: UtcMillis) -> Self {
        moment.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_one_spelling() {
        let text = "2026-11-16T09:30:00.120Z";
        let moment: UtcMillis = text.parse().expect("a moment");
        assert_eq!(moment.to_string(), text);
        assert_eq!(moment.basic(), "20261116T093000.120Z");
        for other in [
            "2026-11-16T09:30:00.12Z",
            "2026-11-16T09:30:00Z",
            "2026-11-16T09:30:00.1200Z",
            "2026-11-16T10:30:00.120+01:00",
            "2026-11-16t09:30:00.120z",
            "2026-11-16 09:30:00.120Z",
            "2026-11-16T09:30:60.000Z",
            "-000001-11-16T09:30:00.120Z",
            "",
        ] {
            assert!(other.parse::<UtcMillis>().is_err(), "{other}");
        }
    }

    #[test]
    fn any_clock_of_our_era_gives_a_moment_and_finer_time_is_cut_off() {
        for (nanoseconds, text) in [
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_999_999, "1970-01-01T00:00:00.001Z"),
            (253_402_207_200_000_000_000 - 1, "9999-12-30T21:59:59.999Z"),
        ] {
            let timestamp = Timestamp::from_nanosecond(nanoseconds).expect("in range");
            assert_eq!(UtcMillis::new(timestamp).expect("in range").to_string(), text);
        }
        assert_eq!(UtcMillis::new(Timestamp::MIN), Err(UtcMillisError::Range));
    }
}
