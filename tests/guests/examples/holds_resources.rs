//! Opens a million of something and closes none.

use eval_host_test_guests::wasip2::clocks::monotonic_clock::subscribe_duration;
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, open_directory, perfect, root, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let root = root();
    for _ in 0..1_000_000 {
        match asked(output) {
            "descriptors" => std::mem::forget(open_directory(&root, "input").expect("a folder of the case")),
            "listings" => std::mem::forget(root.read_directory().expect("a directory")),
            "pollables" => std::mem::forget(subscribe_duration(1)),
            other => panic!("no such resource: {other}"),
        }
    }
    Ok(perfect(output))
}
