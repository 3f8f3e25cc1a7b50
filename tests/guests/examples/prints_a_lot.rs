//! Writes as many MiB as it is asked for to stdout and half as many to stderr, terminal commands among them.

use std::io::Write;

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, observed, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let mebibytes: usize = asked(output).parse().expect("a number of MiB");
    let block = b"\x1b[2Jhacked\x07 ".repeat((1 << 20) / 12);
    let mut failures = 0_u32;
    for index in 0..mebibytes {
        failures += u32::from(std::io::stdout().write_all(&block).is_err());
        if index % 2 == 0 {
            failures += u32::from(std::io::stderr().write_all(&block).is_err());
        }
    }
    observed(output, &[("failures", f64::from(failures))])
}
