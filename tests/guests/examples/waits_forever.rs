//! Waits for something that never happens, in the way that is asked for.

use eval_host_test_guests::wasip2::clocks::monotonic_clock::{now, subscribe_duration, subscribe_instant};
use eval_host_test_guests::wasip2::io::poll::poll;
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, perfect, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    now();
    let never = subscribe_duration(u64::MAX);
    match asked(output) {
        "block" => never.block(),
        "poll" => drop(poll(&[&never, &never])),
        "centuries" => subscribe_instant(u64::MAX).block(),
        "nothing" => drop(poll(&[])),
        "either" => assert_eq!(poll(&[&never, &subscribe_duration(5), &subscribe_duration(2)]), [2]),
        other => panic!("no such wait: {other}"),
    }
    Ok(perfect(output))
}
