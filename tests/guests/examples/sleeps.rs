//! Sleeps for as many seconds as it is asked to, and says how long it thinks that took.

use std::time::{Duration, Instant, SystemTime};

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, observed, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let seconds = asked(output).parse().expect("a number of seconds");
    let (instant, time) = (Instant::now(), SystemTime::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let wall = time.elapsed().expect("time goes forward");
    observed(output, &[("monotonic", instant.elapsed().as_secs_f64()), ("wall", wall.as_secs_f64())])
}
