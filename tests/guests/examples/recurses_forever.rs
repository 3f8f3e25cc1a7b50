//! Uses up its stack.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, observed, rubric};

rubric!(score);

#[expect(unconditional_recursion, reason = "the attack")]
fn deeper(level: u64) -> u64 {
    deeper(std::hint::black_box(level + 1)) + std::hint::black_box(level)
}

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    observed(output, &[("level", deeper(0) as f64)])
}
