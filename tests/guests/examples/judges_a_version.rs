//! A small rubric as authors write them: reads one file and parses the answer. The benchmark of scoring measures it.

use eval_host_test_guests::{BenchCase, BenchScore, HarnessOutput, RubricError, perfect, rubric};

#[path = "../shared/small.rs"]
mod small;

use small::{Answer, FACT, Judgement};

rubric!(score);

fn score(_case: &BenchCase, output: &HarnessOutput) -> Result<BenchScore, RubricError> {
    let answer = Answer::parse(&output.json).map_err(|error| RubricError::MalformedOutput(error.to_string()))?;
    let fact = std::fs::read_to_string(format!("/{FACT}"))
        .map_err(|error| RubricError::MalformedCase(format!("{FACT}: {error}")))?;
    let Judgement { passed, score, breakdown, failure_modes } = answer.judge(&fact);
    Ok(BenchScore { passed, score, breakdown, failure_modes, ..perfect(output) })
}
