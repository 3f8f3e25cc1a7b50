//! The wall clock that stops a guest: a thread that moves the engine's epoch on every 10 ms.
//!
//! An OS thread of its own, and not a task: a spinning guest may hold every worker of a pool, and must still be stopped. The
//! thread holds the engine weakly and ends soon after it.

#![expect(clippy::disallowed_methods, reason = "this is where the wall clock of a guest is measured")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wasmtime::{Engine, EngineWeak};

pub(super) const TICK: Duration = Duration::from_millis(10);

/// The ticks of an engine, and when each of them is due.
#[derive(Debug)]
pub(super) struct Ticker {
    origin: Instant,
    made: AtomicU64,
}

impl Ticker {
    /// Starts the ticks of an engine.
    pub(super) fn start(engine: &Engine) -> io::Result<Arc<Self>> {
        let ticker = Arc::new(Self { origin: Instant::now(), made: AtomicU64::new(0) });
        let (engine, ticking) = (engine.weak(), Arc::clone(&ticker));
        thread::Builder::new().name("eval-host-epoch".to_owned()).spawn(move || ticking.tick(&engine))?;
        Ok(ticker)
    }

    /// Ticks against the clock and not by counting sleeps, which are always a little long: a delayed tick is made up for.
    fn tick(&self, engine: &EngineWeak) {
        loop {
            let due = TICK.saturating_mul(u32::try_from(self.made() + 1).unwrap_or(u32::MAX));
            thread::sleep(due.saturating_sub(self.origin.elapsed()));
            let Some(engine) = engine.upgrade() else { return };
            while self.made() < ticks_in(self.origin.elapsed()) {
                // The epoch first: whoever arms a deadline in between counts a tick too many, and is never early.
                engine.increment_epoch();
                self.made.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// How many ticks from now a deadline is: those up to its moment that were not made yet, also where ticks are late and
    /// will be made up for, and one more.
    pub(super) fn ticks(&self, deadline: Duration) -> u64 {
        ticks_until(self.origin.elapsed(), self.made(), deadline)
    }
}

fn ticks_until(now: Duration, made: u64, deadline: Duration) -> u64 {
    ticks_in(now.saturating_add(deadline)).saturating_sub(made) + 1
}

fn ticks_in(time: Duration) -> u64 {
    u64::try_from(time.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_short() {
        let millis = Duration::from_millis;
        assert_eq!(ticks_until(millis(0), 0, Duration::ZERO), 1);
        assert_eq!(ticks_until(millis(0), 0, millis(10)), 2);
        assert_eq!(ticks_until(millis(19), 1, millis(10)), 2);
        assert_eq!(ticks_until(millis(0), 0, Duration::from_secs(60)), 6_001);
    }

    #[test]
    fn ticks_that_are_late_and_will_be_made_up_for_shorten_no_deadline() {
        // Seven ticks are due and two were made: the five that follow at once are none of the deadline's.
        assert_eq!(ticks_until(Duration::from_millis(75), 2, Duration::from_secs(1)), 100 + 5 + 1);
    }
}
