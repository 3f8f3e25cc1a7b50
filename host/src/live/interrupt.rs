//! What an operator asked a live run to do besides running: drain after the first Ctrl-C, stop now after the second.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::live::agent::Stop;

const DRAIN: u8 = 1;
const STOP: u8 = 2;

/// How far a run was interrupted. It never goes back.
#[derive(Debug)]
pub(crate) struct Interrupt {
    level: AtomicU8,
    agents: Stop,
}

impl Interrupt {
    pub(crate) fn new() -> Self {
        Self { level: AtomicU8::new(0), agents: Stop::new() }
    }

    /// Starts no further case, and lets the running ones end. The second call stops them too.
    pub(crate) fn drain_or_stop(&self) {
        if self.level.fetch_max(DRAIN, Ordering::SeqCst) >= DRAIN {
            self.stop();
        }
    }

    /// Ends every running agent.
    pub(crate) fn stop(&self) {
        self.level.fetch_max(STOP, Ordering::SeqCst);
        self.agents.request();
    }

    /// Whether no further case may start.
    pub(crate) fn is_requested(&self) -> bool {
        self.level.load(Ordering::SeqCst) >= DRAIN
    }

    /// Whether running agents are being ended because the operator wants it.
    pub(crate) fn is_stopping(&self) -> bool {
        self.level.load(Ordering::SeqCst) >= STOP
    }

    /// The switch that running agents listen to. Others may throw it for reasons of their own.
    pub(crate) fn agents(&self) -> &Stop {
        &self.agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_drains_and_twice_stops() {
        let interrupt = Interrupt::new();
        assert!(!interrupt.is_requested());
        interrupt.drain_or_stop();
        assert!(interrupt.is_requested() && !interrupt.is_stopping() && !interrupt.agents().is_requested());
        interrupt.drain_or_stop();
        assert!(interrupt.is_stopping() && interrupt.agents().is_requested());
    }
}
