//! Ends without an answer, in the way that is asked for.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, perfect, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    match asked(output) {
        "exit-0" => std::process::exit(0),
        "exit-1" => std::process::exit(1),
        "exit-3" => std::process::exit(3),
        "abort" => std::process::abort(),
        "panic" => panic!("on purpose"),
        "unreachable" => core::arch::wasm32::unreachable(),
        _ => Ok(perfect(output)),
    }
}
