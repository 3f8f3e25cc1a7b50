//! The guest's time: it starts where the case says, and moves only with the guest's own calls.
//!
//! Sleeping costs nothing and a guest that polls the clock in a loop makes progress, because every reading moves it on. There
//! is nothing of the host's clock here, and no call ever waits.

use jiff::civil::{Date, date};

use super::fault::HostFault;

/// When the guest's wall clock begins to count.
const EPOCH: Date = date(1970, 1, 1);

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// How far one reading moves the clock, which is also what it says its resolution is.
pub(super) const TICK_NANOSECONDS: u64 = 1_000;

/// The most virtual time that one call may spend: a day.
const DAY_NANOSECONDS: u64 = 86_400 * NANOSECONDS_PER_SECOND;

/// A moment of the guest's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WallTime {
    pub(super) seconds: u64,
    pub(super) nanoseconds: u32,
}

/// When something becomes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Now,
    At(u64),
    Never,
}

#[derive(Debug)]
pub(super) struct VirtualClock {
    /// Seconds from 1970 to the case's date.
    start_seconds: u64,
    elapsed_nanoseconds: u64,
}

impl VirtualClock {
    /// Starts at midnight UTC of `day`; a day before 1970, which WASI cannot say, starts in 1970.
    pub(super) fn starting_at(day: Date) -> Self {
        // Days are counted by the calendar, which has an answer for each of them; a timestamp ends before 9999-12-31.
        let seconds = day.duration_since(EPOCH).as_secs();
        Self { start_seconds: u64::try_from(seconds).unwrap_or(0), elapsed_nanoseconds: 0 }
    }

    /// The time that every file carries.
    pub(super) fn start(&self) -> WallTime {
        WallTime { seconds: self.start_seconds, nanoseconds: 0 }
    }

    /// Reads the monotonic clock, which moves it.
    pub(super) fn monotonic(&mut self) -> Result<u64, HostFault> {
        self.advance_to(self.elapsed_nanoseconds.saturating_add(TICK_NANOSECONDS))?;
        Ok(self.elapsed_nanoseconds)
    }

    /// Reads the wall clock, which moves both.
    pub(super) fn wall(&mut self) -> Result<WallTime, HostFault> {
        let elapsed = self.monotonic()?;
        let nanoseconds = u32::try_from(elapsed % NANOSECONDS_PER_SECOND).unwrap_or(0);
        Ok(WallTime { seconds: self.start_seconds + elapsed / NANOSECONDS_PER_SECOND, nanoseconds })
    }

    /// When `duration` from now is over; never, if no clock could show it.
    pub(super) fn after(&self, duration: u64) -> Readiness {
        self.elapsed_nanoseconds.checked_add(duration).map_or(Readiness::Never, Readiness::At)
    }

    pub(super) fn is_ready(&self, readiness: Readiness) -> bool {
        match readiness {
            Readiness::Now => true,
            Readiness::At(instant) => instant <= self.elapsed_nanoseconds,
            Readiness::Never => false,
        }
    }

    /// Moves the clock to the first of `waits`, unless one is over already. Fails where a real wait would never end.
    pub(super) fn wait(&mut self, waits: impl Iterator<Item = Readiness> + Clone) -> Result<(), HostFault> {
        if waits.clone().any(|readiness| self.is_ready(readiness)) {
            return Ok(());
        }
        let first = waits.filter_map(|readiness| match readiness {
            Readiness::At(instant) => Some(instant),
            Readiness::Now | Readiness::Never => None,
        });
        self.advance_to(first.min().ok_or(HostFault::Deadlock)?)
    }

    fn advance_to(&mut self, instant: u64) -> Result<(), HostFault> {
        if instant > DAY_NANOSECONDS {
            return Err(HostFault::TooMuchTime);
        }
        self.elapsed_nanoseconds = instant;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> VirtualClock {
        VirtualClock::starting_at(date(2026, 11, 16))
    }

    #[test]
    fn both_clocks_start_at_the_case_and_move_together() {
        let mut clock = clock();
        assert_eq!(clock.start(), WallTime { seconds: 1_794_787_200, nanoseconds: 0 });
        assert_eq!(clock.monotonic(), Ok(1_000));
        assert_eq!(clock.wall(), Ok(WallTime { seconds: 1_794_787_200, nanoseconds: 2_000 }));
    }

    #[test]
    fn a_wait_moves_the_clock_to_the_first_that_is_ready() {
        let mut clock = clock();
        let waits = [Readiness::Never, clock.after(5_000_000_000), clock.after(2_000_000_000)];
        clock.wait(waits.into_iter()).expect("one of them ends");
        assert_eq!(waits.map(|wait| clock.is_ready(wait)), [false, false, true]);
    }

    #[test]
    fn a_wait_that_cannot_end_is_a_deadlock_and_one_beyond_a_day_too_long() {
        let mut clock = clock();
        assert_eq!(clock.wait([Readiness::Never].into_iter()), Err(HostFault::Deadlock));
        let long = clock.after(DAY_NANOSECONDS + 1);
        assert_eq!(clock.wait([long].into_iter()), Err(HostFault::TooMuchTime));
        clock.monotonic().expect("the failed waits did not move the clock");
        assert_eq!(clock.after(u64::MAX), Readiness::Never);
    }

    #[test]
    fn a_date_before_1970_starts_in_1970() {
        for day in [date(1969, 7, 20), date(0, 1, 1), Date::MIN] {
            let clock = VirtualClock::starting_at(day);
            assert_eq!(clock.start(), WallTime { seconds: 0, nanoseconds: 0 }, "{day}");
        }
    }

    #[test]
    fn the_last_day_of_the_calendar_starts_where_it_does_and_has_its_whole_day() {
        for (day, seconds) in [(date(9999, 12, 30), 253_402_128_000), (Date::MAX, 253_402_214_400)] {
            let mut clock = VirtualClock::starting_at(day);
            assert_eq!(clock.start(), WallTime { seconds, nanoseconds: 0 }, "{day}");
            clock.wait([clock.after(DAY_NANOSECONDS - TICK_NANOSECONDS)].into_iter()).expect("a day may pass");
            assert_eq!(clock.wall(), Ok(WallTime { seconds: seconds + 86_400, nanoseconds: 0 }), "{day}");
        }
    }
}
