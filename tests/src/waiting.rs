//! Waiting and looking: what tests of running programs have in common.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine, and short enough that a test which hangs is noticed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Fails unless a text has another one in it, and shows the whole.
#[track_caller]
pub fn has(text: &str, expected: &str) {
    assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
}
