//! The wall clock that stops a guest: a thread that moves the engine's epoch on every 10 ms.
//!
//! An OS thread of its own, and not a task: a spinning guest may hold every worker of a pool, and must still be stopped. The
//! thread holds the engine weakly and ends soon after it.

#![expect(clippy::disallowed_methods, reason = "this is where the wall clock of a guest is measured")]

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use wasmtime::{Engine, EngineWeak};

pub(super) const TICK: Duration = Duration::from_millis(10);

/// Starts the ticks of an engine.
pub(super) fn start(engine: &Engine) -> io::Result<()> {
    let engine = engine.weak();
    thread::Builder::new().name("eval-host-epoch".to_owned()).spawn(move || tick(&engine))?;
    Ok(())
}

/// Ticks against the clock and not by counting sleeps, which are always a little long: a delayed tick is made up for.
fn tick(engine: &EngineWeak) {
    let mut next = Instant::now() + TICK;
    loop {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let Some(engine) = engine.upgrade() else { return };
        while next <= Instant::now() {
            engine.increment_epoch();
            next += TICK;
        }
    }
}

/// How many ticks from now a deadline is. One more than the division gives, because the first may come at once.
pub(super) fn ticks(deadline: Duration) -> u64 {
    let ticks = deadline.as_millis() / TICK.as_millis() + 1;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_short() {
        assert_eq!(ticks(Duration::ZERO), 1);
        assert_eq!(ticks(Duration::from_millis(10)), 2);
        assert_eq!(ticks(Duration::from_secs(60)), 6_001);
    }
}
