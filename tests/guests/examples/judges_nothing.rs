//! An empty rubric: what the benchmarks score to see what a call costs before a rubric does anything.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, perfect, rubric};

rubric!(score);

fn score(_case: &BenchCase, output: &HarnessOutput) -> Answer {
    Ok(perfect(output))
}
