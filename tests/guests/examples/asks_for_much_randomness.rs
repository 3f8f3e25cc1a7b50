//! Asks for as many random bytes as it is told, in one call.

use eval_host_test_guests::wasip2::random::insecure::get_insecure_random_bytes;
use eval_host_test_guests::wasip2::random::random::get_random_bytes;
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, observed, rubric};

rubric!(score);

fn score(case: &BenchCase, output: &HarnessOutput) -> Answer {
    let bytes = asked(output).parse().expect("a number of bytes");
    let got = if case.case_id == "insecure" { get_insecure_random_bytes(bytes) } else { get_random_bytes(bytes) };
    observed(output, &[("bytes", got.len() as f64)])
}
