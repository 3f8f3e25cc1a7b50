//! Reads the clock until some time has passed, which only works because every reading moves it.

use std::time::{Duration, Instant};

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, observed, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let start = Instant::now();
    let mut turns = 0_u32;
    while start.elapsed() < Duration::from_millis(50) {
        turns += 1;
    }
    observed(output, &[("turns", f64::from(turns))])
}
