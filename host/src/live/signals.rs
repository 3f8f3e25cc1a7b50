//! Ctrl-C and its relatives, for runs that have something to lose.
//!
//! Every signal by which people and machines usually end a program stops the agents too: they would go on spending without
//! anybody who waits for them. What the program was started to ignore, as `nohup` does with a hang-up, stays ignored.

#![expect(clippy::disallowed_methods, reason = "the kernel tells which signals are ignored in a file of its own")]

use std::fs;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::interrupt::Interrupt;

/// Watches for signals until the process ends: Ctrl-C once drains and twice stops; a request to terminate, a terminal that is
/// gone and Ctrl-\ stop. `tell` says to whoever sent one what it does.
pub(crate) fn watch(interrupt: &Arc<Interrupt>, tell: impl Fn(&str) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let interrupt = Arc::clone(interrupt);
    let (mut ctrl_c, mut terminate, mut hang_up, mut quit) = {
        let _inside = runtime.enter();
        let ignored = ignored_signals();
        let unless_ignored = |kind: SignalKind| (!ignored.contains(kind)).then(|| signal(kind)).transpose();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            unless_ignored(SignalKind::hangup())?,
            unless_ignored(SignalKind::quit())?,
        )
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    Some(()) = ctrl_c.recv() => interrupt.drain_or_stop(),
                    Some(()) = terminate.recv() => interrupt.stop(),
                    () = received(&mut hang_up) => interrupt.stop(),
                    () = received(&mut quit) => interrupt.stop(),
                    else => return,
                }
                tell(words(&interrupt));
            }
        });
    });
    Ok(())
}

/// Ready when the signal comes, and never for one that is not listened to.
async fn received(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    pending::<()>().await;
}

/// The signals that whoever started this process told it to ignore, as the kernel counts them; none where it does not say.
struct IgnoredSignals(u64);

fn ignored_signals() -> IgnoredSignals {
    IgnoredSignals(fs::read_to_string("/proc/self/status").ok().as_deref().and_then(ignored_in).unwrap_or(0))
}

fn ignored_in(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

impl IgnoredSignals {
    fn contains(&self, kind: SignalKind) -> bool {
        u32::try_from(kind.as_raw_value() - 1).is_ok_and(|bit| self.0 >> bit & 1 == 1)
    }
}

fn words(interrupt: &Interrupt) -> &'static str {
    if interrupt.is_stopping() {
        "stopping: the running agents are ended"
    } else {
        "draining: no further case starts, the running ones end; press Ctrl-C again to stop now"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        let ignored = IgnoredSignals(ignored_in("SigBlk:\t1\nSigIgn:\t0000000000001001\n").expect("a mask"));
        assert!(ignored.contains(SignalKind::hangup()) && ignored.contains(SignalKind::pipe()));
        assert!(!ignored.contains(SignalKind::quit()) && !ignored.contains(SignalKind::interrupt()));
        assert_eq!(ignored_in("Name:\tx\n"), None);
    }
}
