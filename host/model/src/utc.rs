//! Moments in UTC with milliseconds: how a record spells time, and nothing that reads a clock.
//!
//! A moment has exactly one spelling, so that it can stand in hashed bytes and in a file's name. It is a claim of whoever
//! wrote it: order never depends on it.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Time, date};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
const NANOSECONDS_PER_MILLISECOND: i128 = 1_000_000;

/// A moment in UTC, to the millisecond, from the first one of the year 0 to the last one of the year 9999.
///
/// It is the calendar's own, and no [`Timestamp`]: one of those ends a day before the calendar does, so that its offset to any
/// zone stays within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcMillis(DateTime);

/// Why something is no moment that a record can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UtcMillisError {
    #[error("`{}` is not a time in UTC: it must look like `2026-11-16T09:30:00.000Z`", text.escape_default())]
    Spelling { text: String },
    #[error("the time is outside the years 0 to 9999; set the machine's clock")]
    Range,
}

impl UtcMillis {
    /// So long after 1970 began, or before it. Cuts off what is finer than a millisecond.
    pub fn since_1970(elapsed: SignedDuration) -> Result<Self, UtcMillisError> {
        let millis = elapsed.as_nanos().div_euclid(NANOSECONDS_PER_MILLISECOND);
        let elapsed = i64::try_from(millis).map(SignedDuration::from_millis).map_err(|_| UtcMillisError::Range)?;
        EPOCH.checked_add(elapsed).ok().and_then(Self::of_our_era).ok_or(UtcMillisError::Range)
    }

    /// The first moment of a day.
    pub fn midnight(day: Date) -> Result<Self, UtcMillisError> {
        Self::of_our_era(day.to_datetime(Time::midnight())).ok_or(UtcMillisError::Range)
    }

    /// A moment in any spelling, offset and precision that a person or another program gives it.
    pub fn in_any_spelling(text: &str) -> Result<Self, UtcMillisError> {
        text.parse().or_else(|error| match text.parse::<Timestamp>() {
            Ok(timestamp) => Self::since_1970(timestamp.as_duration()),
            Err(_) => Err(error),
        })
    }

    /// The same for a field of a file, with `deserialize_with`.
    pub fn deserialize_in_any_spelling<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::in_any_spelling(&text).map_err(serde::de::Error::custom)
    }

    fn of_our_era(moment: DateTime) -> Option<Self> {
        (moment.year() >= 0).then_some(Self(moment))
    }

    /// The same moment in ISO 8601's basic format, `20261116T093000.000Z`: a file name without colons, which artifact
    /// stores and other filesystems refuse.
    pub fn basic(self) -> String {
        self.0.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
    }

    /// The day it is in UTC.
    pub fn date(self) -> Date {
        self.0.date()
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
        let parsed = text.strip_suffix('Z').and_then(|civil| civil.parse().ok()).and_then(Self::of_our_era);
        // Printing it again is what makes the spelling unique: other precisions and leap seconds do not survive it.
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
            (253_402_300_800_000_000_000 - 1, "9999-12-31T23:59:59.999Z"),
            (-62_167_219_200_000_000_000, "0000-01-01T00:00:00.000Z"),
        ] {
            let moment = UtcMillis::since_1970(SignedDuration::from_nanos_i128(nanoseconds)).expect("in range");
            assert_eq!(moment.to_string(), text);
            assert_eq!(text.parse(), Ok(moment), "what is written can be read");
            assert_eq!(UtcMillis::in_any_spelling(text), Ok(moment));
        }
    }

    #[test]
    fn a_clock_beyond_the_calendar_is_said_and_no_panic() {
        for elapsed in [
            SignedDuration::from_secs(253_402_300_800),
            SignedDuration::from_nanos_i128(-62_167_219_200_000_000_001),
            SignedDuration::MAX,
            SignedDuration::MIN,
        ] {
            assert_eq!(UtcMillis::since_1970(elapsed), Err(UtcMillisError::Range), "{elapsed:?}");
        }
    }

    #[test]
    fn both_ends_of_the_calendar_have_their_names_and_their_days() {
        for (text, basic, day) in [
            ("0000-01-01T00:00:00.000Z", "00000101T000000.000Z", date(0, 1, 1)),
            ("9999-12-31T23:59:59.999Z", "99991231T235959.999Z", date(9999, 12, 31)),
        ] {
            let moment: UtcMillis = text.parse().expect("a moment");
            assert_eq!((moment.basic().as_str(), moment.date()), (basic, day));
            assert!(UtcMillis::midnight(day).expect("in range") <= moment);
        }
        assert_eq!(UtcMillis::midnight(Date::MIN), Err(UtcMillisError::Range));
        assert_eq!(UtcMillis::midnight(date(-1, 12, 31)), Err(UtcMillisError::Range));
    }

    #[test]
    fn what_others_write_is_read_in_any_spelling() {
        for (text, same) in [
            ("2026-11-16T09:30:00Z", "2026-11-16T09:30:00.000Z"),
            ("2026-11-16T10:30:00.1239+01:00", "2026-11-16T09:30:00.123Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(UtcMillis::in_any_spelling(text).expect("a moment").to_string(), same);
        }
        assert_eq!(UtcMillis::in_any_spelling("-000001-11-16T09:30:00Z"), Err(UtcMillisError::Range));
        assert!(UtcMillis::in_any_spelling("yesterday").is_err());
    }
}
