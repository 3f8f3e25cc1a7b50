//! Hands the host more than it takes, in the way that is asked for.

use eval_host_test_guests::{
    Answer, BenchCase, BenchScore, HarnessOutput, RubricError, asked, create, perfect, root, rubric,
};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let long = || "x".repeat(10 << 20);
    match asked(output) {
        "entries" => Ok(BenchScore { breakdown: vec![("key".to_owned(), 1.0); 1_000_000], ..perfect(output) }),
        "mode" => Ok(BenchScore { failure_modes: vec!["x".repeat(100 << 20)], ..perfect(output) }),
        "malformed-output" => Err(RubricError::MalformedOutput(long())),
        "malformed-case" => Err(RubricError::MalformedCase(long())),
        "internal" => Err(RubricError::Internal(long())),
        "argument" => {
            let file = create(&root(), "file").expect("there is room");
            let _refused = file.write(&vec![1; 100 << 20], 0);
            Ok(perfect(output))
        }
        other => panic!("no such way: {other}"),
    }
}
