//! Allocates and touches memory until it is stopped, or until as many MiB as it is asked for.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, observed, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let most = asked(output).parse().unwrap_or(usize::MAX);
    let mut held = Vec::new();
    while held.len() < most {
        held.push(vec![held.len() as u8 | 1; 1 << 20]);
    }
    observed(output, &[("mebibytes", held.len() as f64)])
}
