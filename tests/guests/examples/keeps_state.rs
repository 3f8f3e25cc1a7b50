//! Leaves something for the next case everywhere it can, and reports what the case before left.

use std::sync::atomic::{AtomicU32, Ordering};

use eval_host_test_guests::wasip2::random::random::get_random_u64;
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, create, observed, root, rubric};

rubric!(score);

static CALLS: AtomicU32 = AtomicU32::new(0);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    let found = std::fs::read_dir("/").expect("the root").count();
    let damaged = std::fs::read("/input/a.txt").expect("a file of the case") != b"alpha";
    std::fs::write("/input/a.txt", "overwritten").expect("a rubric may write");
    std::fs::write("/left-behind", "for the next").expect("a rubric may write");
    let held = create(&root(), "held").expect("a rubric may write");
    std::mem::forget(held);
    let memory = vec![0xAB_u8; 8 << 20];
    std::mem::forget(memory);
    observed(
        output,
        &[
            ("calls_before", f64::from(calls)),
            ("entries_found", found as f64),
            ("damaged", f64::from(u8::from(damaged))),
            ("random", (get_random_u64() >> 12) as f64),
        ],
    )
}
