//! Does nothing wrong: reads the case's files and passes the meter through. Scored after every hostile guest.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, observed, rubric};

rubric!(score);

fn score(case: &BenchCase, output: &HarnessOutput) -> Answer {
    let fact = std::fs::read_to_string("/expected/fact.txt").expect("every test case has this file");
    let listed = std::fs::read_dir("/input").expect("every test case has this folder").count();
    println!("scored {}", case.case_id);
    observed(output, &[("fact_bytes", fact.len() as f64), ("input_files", listed as f64)])
}
