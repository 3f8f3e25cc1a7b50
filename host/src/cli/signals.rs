//! Ctrl-C and its relatives, for runs that have something to lose.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

use super::exit::Exit;
use super::problem::Problem;
use crate::interrupt::Interrupt;

/// Watches for signals until the process ends: Ctrl-C once drains and twice stops, a request to terminate stops.
pub(super) fn watch(interrupt: &Arc<Interrupt>) -> Result<(), Problem> {
    let failed = |error: io::Error| Problem::new(Exit::HarnessError, "signals cannot be handled").caused_by(&error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let interrupt = Arc::clone(interrupt);
    let (mut ctrl_c, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt()).map_err(failed)?, signal(SignalKind::terminate()).map_err(failed)?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    Some(()) = ctrl_c.recv() => interrupt.drain_or_stop(),
                    Some(()) = terminate.recv() => interrupt.stop(),
                    else => return,
                }
                tell(&interrupt);
            }
        });
    });
    Ok(())
}

fn tell(interrupt: &Interrupt) {
    let text = if interrupt.is_stopping() {
        "stopping: the running agents are ended"
    } else {
        "draining: no further case starts, the running ones end; press Ctrl-C again to stop now"
    };
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "\n{text}");
}
