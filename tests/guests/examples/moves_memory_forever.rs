//! Copies or fills its memory for ever: few instructions, many bytes.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let mut bytes = vec![1_u8; 64 << 20];
    let half = bytes.len() / 2;
    let mut value = 0;
    loop {
        if asked(output) == "copy" {
            bytes.copy_within(half.., 0);
        } else {
            value = !value;
            bytes.fill(value);
        }
        std::hint::black_box(&mut bytes);
    }
}
